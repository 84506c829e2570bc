"""Graphs: operations as nodes, and what is instantiated from them."""

from __future__ import annotations

from . import _attributes
from ._arguments import Frame, Parameter, number
from ._endpoint import Pair, pattern, target
from ._errors import GraphRefused, InvalidArgument
from ._handles import BufferBase, ConditionBase, EventBase, ExecBase, GraphBase, KernelBase, NodeBase, StreamBase
from ._object import borrowed, check, Closing, failure, ffi, found, handle, lib, owned, perhaps, sized
from ._region import Rows, Sides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

    from ._enums import ConditionalKind, NodeType
    from ._event import Event
    from ._kernel import Dim, Kernel
    from ._memory import Buffer
    from ._memory_operations import MemoryOperation
    from ._stream import Stream

    After = Union[None, "Node", Iterable["Node"]]


class Graph(GraphBase, Closing, of=True):
    """A graph. It keeps alive what its nodes use. `after` is a node, or several, that a new node comes after."""

    __slots__ = ()

    def _add(self, function: Any, after: After, *arguments: Any) -> Node:
        before = _nodes(after)
        return found("node", function, self._h, before, len(before), *arguments, keeps=self)

    def add_empty(self, after: After = None) -> Node:
        """A node that does nothing."""
        return self._add(lib.cushim_graph_add_empty, after)

    def add_kernel(self, kernel: Kernel, grid: Dim, block: Dim, *arguments: Any, after: After = None, **config: Any) -> Node:
        """A node that runs a kernel; the arguments are those of `cushim.launch`."""
        handle(kernel, KernelBase, "kernel")
        frame = Frame(kernel, keeps=True)
        try:
            frame.set(grid, block, arguments, config)
            node = self._add(lib.cushim_graph_add_kernel, after, kernel._h, frame.config, frame.items, frame.count)
            frame.lent.clear()
            return node
        finally:
            frame.done()

    def add_copy(self, to: Any, source: Any, bytes: Optional[int] = None, after: After = None) -> Node:
        """A node that copies; the ends are those of `Stream.copy`."""
        with Pair(to, source, bytes) as pair:
            return self._add(lib.cushim_graph_add_copy, after, pair.to, pair.source, pair.bytes)

    def add_fill(self, to: Any, value: int, value_bytes: int = 1, count: Optional[int] = None, after: After = None) -> Node:
        """A node that sets memory to a value."""
        end = target(to)
        try:
            return self._add(lib.cushim_graph_add_fill, after, end.place, pattern(value, value_bytes), value_bytes, end.count(value_bytes, count))
        except BaseException:
            end.back()
            raise

    def add_copy_3d(self, to: Any, source: Any, width: int, height: int, depth: int = 1, after: After = None) -> Node:
        """A node that copies rows; see `Stream.copy_3d`."""
        with Sides(to, source, width, height, depth) as sides:
            return self._add(lib.cushim_graph_add_copy_3d, after, *sides.all)

    def add_fill_2d(self, to: Any, value: int, width: int, height: int, value_bytes: int = 1, pitch: int = 0,
                    after: After = None) -> Node:
        """A node that sets rows to a value; see `Stream.fill_2d`."""
        with Rows(to, value, width, height, value_bytes, pitch) as rows:
            return self._add(lib.cushim_graph_add_fill_2d, after, *rows.all)

    def add_memory_operations(self, operations: Iterable[MemoryOperation], after: After = None) -> Node:
        """A node that waits for values in memory and writes such; see `Stream.memory_operations`."""
        from ._memory_operations import Operations

        with Operations(operations) as given:
            return self._add(lib.cushim_graph_add_memory_operations, after, given.items, given.count)

    def add_edges(self, edges: Iterable[Tuple[Node, Node]]) -> None:
        """Adds edges, all or none: each is a node and one that comes after it."""
        given = _edges(edges)
        check(lib.cushim_graph_add_edges(self._h, given, len(given)))

    def remove_edges(self, edges: Iterable[Tuple[Node, Node]]) -> None:
        """Removes edges, all or none."""
        given = _edges(edges)
        check(lib.cushim_graph_remove_edges(self._h, given, len(given)))

    def add_event_record(self, event: Event, after: After = None) -> Node:
        """A node that records an event."""
        return self._add(lib.cushim_graph_add_event_record, after, handle(event, EventBase, "event"))

    def add_event_wait(self, event: Event, after: After = None) -> Node:
        """A node that waits for an event."""
        return self._add(lib.cushim_graph_add_event_wait, after, handle(event, EventBase, "event"))

    def add_callback(self, function: Callable[..., Any], *arguments: Any, after: After = None) -> Node:
        """A node that has `cushim.drain()` call a function after each launch; see `Stream.add_callback`."""
        from ._callbacks import lend

        with lend((function, arguments), call=True) as owner:
            return self._add(lib.cushim_graph_add_host_function, after, ffi.NULL, owner.data, owner)

    def add_child(self, graph: Graph, after: After = None, move: bool = False) -> Node:
        """A node that runs a copy of another graph, or with `move` that graph itself, whose handle ends."""
        before = _nodes(after)
        place = ffi.new("cushim_node *")
        h = handle(graph, GraphBase, "graph")
        check(lib.cushim_graph_add_child(self._h, before, len(before), h, int(move), place, ffi.NULL))
        node: Node = borrowed("node", place[0], self)
        return node

    def add_allocation(self, bytes: int, device: int = 0, after: After = None) -> Tuple[Node, int]:
        """A node that allocates memory of a device at each launch, and the address of that."""
        allocation = sized("cushim_graph_allocation")
        allocation.bytes = bytes
        allocation.location.kind, allocation.location.id = 1, device
        before = _nodes(after)
        place, pointer = ffi.new("cushim_node *"), ffi.new("uint64_t *")
        check(lib.cushim_graph_add_allocation(self._h, before, len(before), allocation, place, pointer))
        return borrowed("node", place[0], self), pointer[0]

    def add_free(self, pointer: int, after: After = None) -> Node:
        """A node that frees what another one allocates."""
        return self._add(lib.cushim_graph_add_free, after, pointer)

    def create_condition(self, initial: int = 0, reset: bool = False) -> Condition:
        """A condition, which kernels set; with `reset` each launch starts with the initial value. Needs CUDA 12.3."""
        options = sized("cushim_condition_options")
        options.initial, options.flags = initial, int(reset)
        return found("condition", lib.cushim_condition_create, self._h, options, keeps=self)

    def add_conditional(self, condition: Condition, kind: Union[int, ConditionalKind], bodies: int = 1,
                        after: After = None) -> Tuple[Node, List[Graph]]:
        """A node that runs one of its bodies, or one again and again, as a condition says; and the bodies, to be filled."""
        before = _nodes(after)
        place, graphs = ffi.new("cushim_node *"), ffi.new("cushim_graph[]", bodies)
        h = handle(condition, ConditionBase, "condition")
        check(lib.cushim_graph_add_conditional(self._h, before, len(before), h, kind, bodies, place, graphs))
        return borrowed("node", place[0], self), [borrowed("graph", graphs[i]) for i in range(bodies)]

    @property
    def edges(self) -> List[Tuple[Node, Node]]:
        """Which node comes after which."""
        from ._object import array_of

        edges = array_of(lib.cushim_graph_get_edges, "cushim_edge", self._h)
        return [(borrowed("node", edge.from_node, self), borrowed("node", edge.to_node, self)) for edge in edges]

    def instantiate(self, flags: int = 0, upload: Optional[Stream] = None) -> Exec:
        """What can be launched. Later changes of the graph do not reach it. `flags` are `ExecFlags`."""
        options, result = sized("cushim_exec_options"), sized("cushim_exec_result")
        options.flags = flags
        options.upload_stream = perhaps(upload, StreamBase, "upload")
        place = ffi.new("cushim_exec *")
        _accepted(lib.cushim_exec_create(self._h, options, place, result), result, self)
        made: Exec = owned("exec", place[0])
        return made


class Node(NodeBase, of=True):
    """A node of a graph, which it keeps alive. `exec` names an exec that is changed, or asked, instead of the graph."""

    __slots__ = ()

    def close(self) -> None:
        """Does nothing: a node lives as long as its graph. `remove` takes it out."""

    @property
    def type(self) -> NodeType:
        """What the node does."""
        from ._enums import NodeType

        kind = ffi.new("cushim_node_type *")
        check(lib.cushim_node_get_type(self._h, kind))
        return NodeType(kind[0])

    @property
    def dependencies(self) -> List[Node]:
        """The nodes that it comes after."""
        from ._object import array_of

        edges = array_of(lib.cushim_node_get_dependencies, "cushim_edge", self._h)
        return [borrowed("node", edge.from_node, self) for edge in edges]

    @property
    def dependents(self) -> List[Node]:
        """The nodes that come after it."""
        from ._object import array_of

        edges = array_of(lib.cushim_node_get_dependents, "cushim_edge", self._h)
        return [borrowed("node", edge.to_node, self) for edge in edges]

    def set_dependencies(self, after: After) -> None:
        """Has the node come after these, and no others."""
        before = _nodes(after)
        check(lib.cushim_node_set_dependencies(self._h, before, len(before)))

    def set_dependents(self, before: After) -> None:
        """Has these nodes come after it, and no others."""
        later = _nodes(before)
        check(lib.cushim_node_set_dependents(self._h, later, len(later)))

    def is_enabled(self, exec: Exec) -> bool:
        """Whether an exec runs the node."""
        place = ffi.new("int32_t *")
        check(lib.cushim_exec_get_enabled(handle(exec, ExecBase, "exec"), self._h, place))
        return bool(place[0])

    def enable(self, exec: Exec, enabled: bool = True) -> None:
        """Has an exec run the node, or leave it out."""
        check(lib.cushim_exec_set_enabled(handle(exec, ExecBase, "exec"), self._h, int(enabled)))

    def _call(self, what: str, exec: Optional[Exec], *arguments: Any) -> int:
        """Reads or changes the node in an exec, or in its graph."""
        if exec is None:
            return getattr(lib, "cushim_node_" + what)(self._h, *arguments)
        return getattr(lib, "cushim_exec_" + what)(handle(exec, ExecBase, "exec"), self._h, *arguments)

    def set_kernel(self, kernel: Kernel, grid: Dim, block: Dim, *arguments: Any, exec: Optional[Exec] = None,
                   **config: Any) -> None:
        """Changes which kernel runs, and how."""
        handle(kernel, KernelBase, "kernel")
        frame = Frame(kernel, keeps=True)
        try:
            frame.set(grid, block, arguments, config)
            check(self._call("set_kernel", exec, kernel._h, frame.config, frame.items, frame.count))
            frame.lent.clear()
        finally:
            frame.done()

    def set_argument(self, index: int, value: Any, exec: Optional[Exec] = None) -> None:
        """Changes one argument of a kernel."""
        kernel = self._kernel(exec)
        frame = Frame(kernel, keeps=True)
        try:
            # The argument stands alone in its frame, and has the size of its parameter.
            if type(value) in (int, float, bool) or isinstance(value, Parameter):
                frame.sizes = (frame.known(1)[index],)
            frame.set(1, 1, (value,), {})
            check(self._call("set_argument", exec, index, frame.items))
            frame.lent.clear()
        finally:
            frame.done()

    def _kernel(self, exec: Optional[Exec]) -> Kernel:
        params = sized("cushim_kernel_node")
        check(self._call("get_kernel", exec, params))
        kernel: Kernel = borrowed("kernel", params.kernel)
        return kernel

    @property
    def kernel(self) -> Kernel:
        """The kernel that the node runs."""
        return self._kernel(None)

    def set_copy(self, to: Any, source: Any, bytes: Optional[int] = None, exec: Optional[Exec] = None) -> None:
        """Changes what is copied."""
        with Pair(to, source, bytes) as pair:
            check(self._call("set_copy", exec, pair.to, pair.source, pair.bytes))

    def set_fill(self, to: Any, value: int, value_bytes: int = 1, count: Optional[int] = None,
                 exec: Optional[Exec] = None) -> None:
        """Changes what is set to a value."""
        end = target(to)
        try:
            check(self._call("set_fill", exec, end.place, pattern(value, value_bytes), value_bytes, end.count(value_bytes, count)))
        except BaseException:
            end.back()
            raise

    def set_copy_3d(self, to: Any, source: Any, width: int, height: int, depth: int = 1, exec: Optional[Exec] = None) -> None:
        """Changes what is copied to rows; see `Stream.copy_3d`."""
        with Sides(to, source, width, height, depth) as sides:
            check(self._call("set_copy_3d", exec, *sides.all))

    def set_fill_2d(self, to: Any, value: int, width: int, height: int, value_bytes: int = 1, pitch: int = 0,
                    exec: Optional[Exec] = None) -> None:
        """Changes what is set to rows; see `Stream.fill_2d`."""
        with Rows(to, value, width, height, value_bytes, pitch) as rows:
            check(self._call("set_fill_2d", exec, *rows.all))

    def set_memory_operations(self, operations: Iterable[MemoryOperation], exec: Optional[Exec] = None) -> None:
        """Changes which values are waited for and written."""
        from ._memory_operations import Operations

        with Operations(operations) as given:
            check(self._call("set_memory_operations", exec, given.items, given.count))

    def set_callback(self, function: Callable[..., Any], *arguments: Any, exec: Optional[Exec] = None) -> None:
        """Changes which function `cushim.drain()` calls after each launch."""
        from ._callbacks import lend

        with lend((function, arguments), call=True) as owner:
            check(self._call("set_host_function", exec, ffi.NULL, owner.data, owner))

    def get_attribute(self, id: int) -> bytes:
        """An attribute of a kernel node, a `LaunchAttributeID`, as the bytes of the driver's `CUlaunchAttributeValue`."""
        return _attributes.get(lib.cushim_node_get_attribute, self._h, id)

    def set_attribute(self, id: int, value: bytes) -> None:
        """Sets an attribute of a kernel node. Execs that exist keep theirs."""
        _attributes.put(lib.cushim_node_set_attribute, self._h, id, value)

    def event(self, exec: Optional[Exec] = None) -> Optional[Event]:
        """The event that the node records or waits for; None if nobody here knows it."""
        place = ffi.new("cushim_event *")
        check(self._call("get_event", exec, place, ffi.NULL))
        event: Optional[Event] = borrowed("event", place[0])
        return event

    @property
    def condition(self) -> Tuple[Optional[Condition], ConditionalKind]:
        """The condition that the node looks at, and how it decides."""
        from ._enums import ConditionalKind

        place, kind = ffi.new("cushim_condition *"), ffi.new("cushim_conditional_kind *")
        check(lib.cushim_node_get_condition(self._h, place, kind))
        return borrowed("condition", place[0], self), ConditionalKind(kind[0])

    @property
    def allocation(self) -> Tuple[int, int]:
        """The address and the bytes of what an allocation node allocates."""
        place = sized("cushim_allocation_node")
        check(lib.cushim_node_get_allocation(self._h, place, ffi.NULL, 0))
        return place.pointer, place.bytes

    @property
    def freed(self) -> int:
        """The address that a free node frees."""
        place = ffi.new("uint64_t *")
        check(lib.cushim_node_get_free(self._h, place))
        return int(place[0])

    def set_event(self, event: Event, exec: Optional[Exec] = None) -> None:
        """Changes which event is recorded or waited for."""
        check(self._call("set_event", exec, handle(event, EventBase, "event")))

    def set_child(self, graph: Graph, exec: Exec) -> None:
        """Changes the parameters of a child graph's nodes in an exec."""
        check(lib.cushim_exec_set_child(handle(exec, ExecBase, "exec"), self._h, handle(graph, GraphBase, "graph")))


class Condition(ConditionBase, of=True):
    """A condition of a graph."""

    __slots__ = ()

    def close(self) -> None:
        """Does nothing: a condition lives as long as its graph."""


class Exec(ExecBase, Closing, of=True):
    """What is instantiated from a graph: it is launched as often as one likes, and keeps what its nodes use."""

    __slots__ = ("_sizes",)
    _sizes: Dict[str, int]

    def _set(self, h: Any, owned: bool = True, keeps: Any = None) -> None:
        super()._set(h, owned, keeps)
        self._sizes = {}

    def launch(self, stream: Stream) -> None:
        """Enqueues the graph in a stream."""
        try:
            status = lib.cushim_exec_launch(self._h, stream._h)
        except (AttributeError, TypeError):
            status = lib.cushim_exec_launch(self._h, handle(stream, StreamBase, "stream"))
        if status:
            raise failure(status)

    def set(self, **values: Any) -> None:
        """Gives parameters other values, from the next launch on: `exec.set(n=5, scale=2.0)`. A number of Python gets the size that
        the parameter has."""
        for name, value in values.items():
            if isinstance(value, (int, float)) and not hasattr(value, "dtype"):
                self._set_number(name, value)
            else:
                data = number(value, 0, 0)
                check(lib.cushim_exec_set_parameter(self._h, name.encode(), data, len(data), ffi.NULL))

    def _set_number(self, name: str, value: Union[int, float]) -> None:
        """A value of any other size than the parameter's is refused, so all are tried; the one that fits is tried first next time."""
        sizes = [4, 8, 2] if isinstance(value, float) else [4, 8, 1, 2]
        known = self._sizes.get(name)
        if known in sizes:
            sizes.insert(0, known)
        refused: Optional[Exception] = None
        for size in sizes:
            try:
                data = number(value, size, 0)
            except OverflowError:
                continue
            status = lib.cushim_exec_set_parameter(self._h, name.encode(), data, size, ffi.NULL)
            if not status:
                self._sizes[name] = size
                return
            refused = refused or failure(status)
            if not isinstance(refused, InvalidArgument):
                break
        raise refused or OverflowError(f"{name} is {value}, which takes more than 64 bits")

    def rebind(self, old: Buffer, new: Buffer) -> int:
        """Has every node use one buffer in place of another, from the next launch on; returns how many nodes there are."""
        nodes = ffi.new("size_t *")
        check(lib.cushim_exec_rebind(self._h, handle(old, BufferBase, "old"), handle(new, BufferBase, "new"), nodes))
        return int(nodes[0])

    def update(self, graph: Graph) -> None:
        """Takes over the parameters of a graph with the same nodes and edges."""
        result = sized("cushim_exec_result")
        _accepted(lib.cushim_exec_update(self._h, handle(graph, GraphBase, "graph"), result), result, graph)


def _nodes(after: After) -> Any:
    if after is None:
        after = ()
    elif isinstance(after, NodeBase):
        after = (after,)
    return ffi.new("cushim_node[]", [handle(node, NodeBase, "after") for node in after])


def _edges(edges: Iterable[Tuple[Node, Node]]) -> Any:
    pairs = [(handle(first, NodeBase, "edges"), handle(then, NodeBase, "edges")) for first, then in edges]
    array = ffi.new("cushim_edge[]", len(pairs))
    for edge, (first, then) in zip(array, pairs):
        edge.from_node, edge.to_node = first, then
    return array


def _accepted(status: int, result: Any, graph: Graph) -> None:
    """Raises why a graph was refused."""
    if status:
        error = failure(status, GraphRefused if result.reason or result.node else None)
        if isinstance(error, GraphRefused):
            error.reason = result.reason
            error.node = borrowed("node", result.node, graph)
            error.other = borrowed("node", result.other, graph)
        raise error


__all__ = ["Condition", "Exec", "Graph", "Node"]
