"""What works with which driver, and how that was tested: from cushim.json, the catalogue and the results in docs/verified/."""

import csv
import re

# Versions that softcuda can be, which are those that all C programs are tried with.
VERSIONS = re.compile(r'\("([\d.]+)", (\d+)\)')

# The releases whose libraries tests/real_drivers.rs looks up every ABI in, without a GPU, and their versions.
LIBRARIES = {"470": 11040, "525": 12000, "535": 12020, "550": 12040, "555": 12050}

# The version of the driver of the GPUs that the programs ran on.
GPU = 13000

# The one function that no driver for a PC has, whatever its version: 572 of the 573 ABIs up to 13.0 were found on a GPU.
LACKING = "cuEventCreateFromEGLSync"

MARKS = {"G": "**G**", "L": "**L**", "s": "**s**", "·": "·", "": ""}


def pages(root, reference):
    tested = [(name, int(number)) for name, number in VERSIONS.findall((root / "softcuda/src/abi/versions.rs").read_text())]
    yield "reference/versions.md", of_functions(root, reference, tested)
    yield "reference/abis.md", of_abis(root, tested)


def of_functions(root, reference, tested):
    """The functions of cushim.h that need a driver, those with the same marks in one row."""
    seen = {line.split()[0] for line in (root / "docs/verified/record-580.txt").read_text().splitlines() if line.endswith(" 0")}
    lines = ["# Versions", "", "Which functions of `cushim.h` work with which version of CUDA, and what has shown it. A function that the "
             "driver lacks returns `CUSHIM_ERROR_UNSUPPORTED`, and the message names the version that has it. What depends on the version "
             "*within* a function is on the pages of [kernels](../kernels.md#what-each-driver-has), "
             "[managed memory](../managed.md#which-function-of-the-driver-is-called) and [graphs](../graphs.md#what-needs-which-driver). "
             "Functions that call no driver, or work with the driver \"none\", too, are left out: they work everywhere.", "",
             *legend({
                 "G": "succeeded on GPUs (H100, H200, driver branch 580) by the [record](../verified/record-580.txt), and on softcuda",
                 "L": "NVIDIA's own library of this version has the driver's functions; the function itself ran on softcuda",
                 "s": "ran on softcuda",
                 "": "not in this version"}),
             "The record is made function by function. What ran on GPUs without one, such as the programs about graphs, is in "
             "[runs on real GPUs](../verified/README.md).", ""]
    tasks = {}
    for function in reference.functions():
        if function["driver"] and function["driver"] != "none":
            since, has = number(function["driver"]), {GPU} if function["name"] in seen else set()
            marks = tuple(mark(since, version, has, set(LIBRARIES.values()), True) for _, version in tested)
            tasks.setdefault(function["task"], {}).setdefault(marks, []).append(f"`{function['name']}`")
    for task, rows in tasks.items():
        lines += [f"## To {task}", "", head("functions", tested), *(row(", ".join(names), marks) for marks, names in rows.items()), ""]
    return "\n".join(lines)


def legend(meanings):
    return ["| mark | meaning |", "|---|---|", *(f"| {MARKS[mark]} | {meaning} |" for mark, meaning in meanings.items()), ""]


def of_abis(root, tested):
    """The driver's own functions, in each of their forms."""
    modelled = set(modelled_names((root / "softcuda/src/interface/exports.rs").read_text()))
    rows = table(root / "catalogue/abis.csv")
    libraries = found_in_libraries(root)
    lines = ["# Driver functions by version", "", f"All {len(rows)} ABIs of the driver's functions, as the table of `cushim_driver.h` has them. "
             "The number of an ABI is the CUDA version that introduced it; two ABIs of one function differ in their parameters.", "",
             *legend({
                 "G": "found on GPUs (H100, H200, driver branch 580) by `cuGetProcAddress`, at the address of its exported name",
                 "L": "found in NVIDIA's own library of this version, without a GPU",
                 "s": "softcuda implements it",
                 "·": "declared by NVIDIA's header of this version; softcuda returns `CUDA_ERROR_NOT_SUPPORTED` (801)",
                 "": "not in this version"})]
    groups = {}
    for abi in rows:
        groups.setdefault(abi["group"], []).append(abi)
    for group in sorted(groups):
        lines += [f"## {group.capitalize()}", "", head("function, ABI", tested)]
        for abi in groups[group]:
            found = libraries[abi["base"], abi["abi"]]
            on_gpu = set() if abi["base"] == LACKING else {GPU}
            marks = [mark(int(abi["abi"]), version, on_gpu, found, abi["exported"] in modelled) for _, version in tested]
            lines.append(row(f"`{abi['base']}` {abi['abi']}", marks))
        lines.append("")
    return "\n".join(lines)


def mark(since, version, on_gpu, in_library, on_softcuda):
    if version < since:
        return ""
    if version in on_gpu:
        return "G"
    if version in in_library:
        return "L"
    return "s" if on_softcuda else "·"


def found_in_libraries(root):
    """For each ABI the versions of the libraries that have it."""
    rows = table(root / "tests/data/real_drivers.csv")
    releases = {name: LIBRARIES[name.split(".")[0]] for name in rows[0] if name[0].isdigit()}
    return {(row["base"], row["abi"]): {version for name, version in releases.items() if row[name]} for row in rows}


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def modelled_names(exports):
    """The exported functions whose body does not refuse."""
    for name, body in re.findall(r'extern "C" fn (\w+)\((.*?)\n}\n', exports, re.DOTALL):
        if "entry::refuse" not in body:
            yield name


def number(version):
    major, minor = version.split(".")
    return int(major) * 1000 + int(minor) * 10


def head(first, tested):
    return row(first, [name for name, _ in tested]) + "\n" + "|---" + "|:-:" * len(tested) + "|"


def row(first, cells):
    return f"| {first} | " + " | ".join(cells) + " |"
