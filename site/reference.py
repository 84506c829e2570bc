"""The C reference: pages made from include/cushim.json and the first page of include/cushim.h."""

import csv
import json
import re

# The pages of functions: what stands in front, and the kinds of handles whose functions are there. Functions of no kind, and those
# of errors, are on "library".
PAGES = {
    "driver": ("Driver", ["driver"]),
    "library": ("Errors, logs, callbacks", ["error", ""]),
    "device": ("Devices", ["device"]),
    "context": ("Contexts", ["context"]),
    "stream": ("Streams", ["stream"]),
    "event": ("Events", ["event"]),
    "resource": ("Resources", ["resource"]),
    "buffer": ("Buffers, virtual memory", ["buffer", "allocation", "reservation"]),
    "graphics": ("OpenGL", ["graphics"]),
    "kernel": ("Code and kernels", ["program", "library", "kernel"]),
    "graph": ("Graphs", ["graph"]),
    "node": ("Nodes and conditions", ["node", "condition"]),
    "exec": ("Execs", ["exec"]),
    "builder": ("Builders", ["builder"]),
}

# Of the driver's table, which belongs to the driver.
DRIVERS_OWN = {"cushim_table_missing", "cushim_symbol_count"}

DIRECTIONS = {"in": "", "out": "written", "inout": "filled"}


class Reference:
    """What the interface is, and where each name of it is explained."""

    def __init__(self, root):
        self.results = csv.DictReader((root / "catalogue/results.csv").read_text().splitlines())
        self.interface = json.loads((root / "include/cushim.json").read_text())
        self.header = (root / "include/cushim.h").read_text()
        self.kinds = [handle["kind"] for handle in self.interface["handles"]]
        self.places = {}  # name: (page, anchor)
        for function in self.functions():
            self.places[function["name"]] = (self.page_of(function), function["name"])
        for handle in self.interface["handles"]:
            page = next(page for page, (_, kinds) in PAGES.items() if handle["kind"] in kinds)
            self.places[handle["type"]] = (f"reference/{page}.md", "")
        for enum in self.enums():
            page = "statuses" if enum["name"] == "cushim_status_code" else "types"
            for name in [enum["name"], *(value["name"] for value in enum["values"])]:
                self.places[name] = (f"reference/{page}.md", "" if page == "statuses" else enum["name"])
        for item in [*self.interface["structs"], *self.interface["callbacks"]]:
            self.places[item["name"]] = ("reference/types.md", item["name"])

    def functions(self):
        return self.interface["functions"]

    def enums(self):
        """Those of cushim; CUDA's own are in NVIDIA's documentation."""
        return [enum for enum in self.interface["enums"] if not enum["driver"]]

    def page_of(self, function):
        name = function["name"]
        word = name.split("_")[1]
        kind = "driver" if name in DRIVERS_OWN else word if word in self.kinds else ""
        return next(f"reference/{page}.md" for page, (_, kinds) in PAGES.items() if kind in kinds)

    def pages(self):
        """All pages: their place and their Markdown."""
        yield "reference/index.md", self.index()
        for page, (title, _) in PAGES.items():
            place = f"reference/{page}.md"
            yield place, self.function_page(title, [it for it in self.functions() if self.page_of(it) == place])
        yield "reference/statuses.md", self.statuses()
        yield "reference/types.md", self.types()

    def index(self):
        lines = ["# The C interface", "", first_page(self.header), "## Functions by task", ""]
        tasks = {}
        for function in self.functions():
            tasks.setdefault(function["task"], []).append(function["name"])
        for task, names in tasks.items():
            lines += [f"**To {task}:** " + ", ".join(f"`{name}`" for name in names), ""]
        return "\n".join(lines)

    def function_page(self, title, functions):
        lines = [f"# {title}", ""]
        handles = {handle["type"]: handle for handle in self.interface["handles"]}
        for handle in handles.values():
            if self.places[handle["type"]][0] == self.page_of(functions[0]):
                lines += [f"`{handle['type']}`: {prose(handle['doc'])}", ""]
        for function in functions:
            lines += function_entry(function)
        return "\n".join(lines)

    def statuses(self):
        enum = next(it for it in self.enums() if it["name"] == "cushim_status_code")
        lines = ["# Statuses", "", "A `cushim_status` is 0 for success, negative for an error of cushim's, or positive: the "
                 "driver's `CUresult`. `cushim_status_name` and `cushim_status_string` name and explain all of them, also "
                 "without a driver; `cushim_last_error_message` says what went wrong in the call.", "",
                 "| status | | meaning |", "|---|---|---|"]
        lines += [f"| `{value['name']}` | {value['value']} | {cell(value['doc'])} |" for value in enum["values"]]
        lines += ["", "## The driver's", "", "| result | | meaning |", "|---|---|---|"]
        lines += [f"| `{it['name']}` | {it['code']} | {cell(it['text'])} |" for it in self.results if it["code"] != "0"]
        return "\n".join(lines)

    def types(self):
        lines = ["# Structs, enumerations, callbacks", "", "## Structs", ""]
        for struct in self.interface["structs"]:
            lines += [f"### {struct['name']}", "", prose(struct["doc"]), ""]
            if struct["grows"]:
                lines += ["It begins with `struct_size` and may grow in later versions: initialise it with "
                          f"`CUSHIM_OPTIONS({struct['name']}, …)`.", ""]
            lines += ["| member | type | |", "|---|---|---|"]
            for field in struct["fields"]:
                count = f"[{field['count']}]" if field["count"] else ""
                lines.append(f"| `{field['name']}` | `{field['type']}{count}` | {cell(field['doc'])} |")
            lines.append("")
        lines += ["## Enumerations", ""]
        for enum in self.enums():
            lines += [f"### {enum['name']}", "", prose(enum["doc"]), "", "| | value | |", "|---|---|---|"]
            lines += [f"| `{value['name']}` | {value['value']} | {cell(value['doc'])} |" for value in enum["values"]]
            lines.append("")
        lines += ["## Callbacks", ""]
        for callback in self.interface["callbacks"]:
            parameters = ", ".join(declared(it["type"], it["name"]) for it in callback["parameters"])
            lines += [f"### {callback['name']}", "", "```c",
                      f"typedef {callback['returns']} (*{callback['name']})({parameters or 'void'});", "```", "",
                      prose(callback["doc"]), ""]
        return "\n".join(lines)


def function_entry(function):
    """What is known of a function."""
    parameters = function["parameters"]
    lines = [f"## {function['name']}", "", "```c", *prototype(function), "```", "", prose(function["doc"]), ""]
    if parameters:
        lines += ["| parameter | | |", "|---|---|---|"]
        lines += [f"| `{it['name']}` | {', '.join(traits(it))} | {cell(it['doc'])} |" for it in parameters]
        lines.append("")
    if function["returns"]["doc"]:
        lines += [f"**Returns** {prose(function['returns']['doc'])}", ""]
    if function["on_errors"]:
        lines += [f"**Errors** {prose(function['on_errors'])}", ""]
    facts = []
    if function["driver"] == "none":
        facts.append('works with every driver, "none" included')
    elif function["driver"] == "11.4":
        facts.append("works with every driver since CUDA 11.4")
    elif function["driver"]:
        facts.append(f"CUDA {function['driver']} or later")
    if function["sync"]:
        when = f" ({function['sync']['when']})" if function["sync"]["when"] else ""
        facts.append(f"synchronous{when}: see [what it waits for](../streams.md#synchronous-calls)")
    if function["driver"] and function["callback"]:
        facts.append("may be called in a host function")
    if function["threads"] != "any":
        facts.append(f"threads: {function['threads']}")
    if facts:
        lines += [f"*{facts[0][0].upper() + facts[0][1:]}{''.join('; ' + fact for fact in facts[1:])}.*", ""]
    return lines


def prototype(function):
    """The declaration, in lines that fit a page."""
    head = declared(function["returns"]["type"], function["name"])
    parameters = [declared(it["type"], it["name"]) for it in function["parameters"]] or ["void"]
    line = f"{head}({', '.join(parameters)});"
    if len(line) <= 100:
        return [line]
    return [f"{head}(", *(f"    {it}," for it in parameters[:-1]), f"    {parameters[-1]});"]


def declared(type_name, name):
    return type_name + name if type_name.endswith("*") else f"{type_name} {name}"


def traits(parameter):
    """What the type of a parameter does not say."""
    words = [DIRECTIONS[parameter["direction"]]]
    if parameter["role"] in ("owned", "borrowed", "ended"):
        words.append({"owned": "owning handle: destroy it once", "borrowed": "borrowed handle",
                      "ended": "destroyed by this call"}[parameter["role"]])
    if parameter.get("owned"):
        words.append("owning handles: destroy each once")
    if parameter.get("taken"):
        words.append("belongs to cushim if the call succeeds")
    if parameter.get("nullable"):
        words.append("may be NULL")
    if parameter.get("nullable_if_zero"):
        words.append(f"may be NULL if `{parameter['nullable_if_zero']}` is 0")
    if parameter.get("freed_by"):
        words.append(f"freed by `{parameter['freed_by']}`")
    return [word for word in words if word]


def prose(text):
    """A comment as Markdown: nothing outside backquotes is markup."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*<\[])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts).replace("\n", "\n\n")


def cell(text):
    return prose(text).replace("\n\n", "<br>").replace("|", "\\|")


def first_page(header):
    """The rules that are common to all functions, from the header's first comment, without what is about the file."""
    comment = header.split("*/")[0].split("\n")
    comment = comment[comment.index(" *") + 1:]
    text = "\n".join(line.removeprefix(" *").removeprefix(" ") for line in comment)
    lines = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("  "):
            lines.append(table_of_rules(paragraph))
            continue
        flat = " ".join(paragraph.split())
        title = re.match(r"([A-Z][a-z]+)\. ", flat)
        if title:
            name = "Tags in the headers" if title[1] == "Tags" else title[1]
            lines.append(f"## {name}\n\n{names_as_code(flat[title.end():])}")
        else:
            lines.append(names_as_code(flat))
    return "\n\n".join(lines) + "\n"


def table_of_rules(paragraph):
    """`  NAME    text`, continued in deeper lines, as a table."""
    rows = []
    for line in paragraph.split("\n"):
        begins = re.match(r"  (\S.*?)  +(\S.*)", line)
        if begins:
            rows.append([begins[1], begins[2]])
        else:
            rows[-1][1] += " " + line.strip()
    head = ["| status | returned for |", "|---|---|"]
    return "\n".join(head + [f"| {names_as_code(name)} | {names_as_code(text)} |" for name, text in rows])


def names_as_code(text):
    text = re.sub(r"([*<\[])", r"\\\1", text)
    return re.sub(r"(?<![`\w])((?:cushim|CUSHIM|cu[A-Z])\w*(?:\.h|\.json)?|struct_size|@\w+)", r"`\1`", text)
