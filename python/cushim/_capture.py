"""Captures: what is enqueued in a stream, as a graph."""

from __future__ import annotations

from ._handles import BuilderBase, ConditionBase, GraphBase
from ._object import check, ffi, found, handle, lib, owned, sized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional, Union

    from ._enums import ConditionalKind
    from ._graph import Condition, Graph, Node
    from ._stream import Stream


class Capture(BuilderBase, of=True):
    """A capture, from where its `with` statement begins to where that ends. `stream` is the stream that is captured, and `graph` is
    the graph afterwards. After an exception there is none, and the stream can be used again.

        with context.capture() as capture:
            cushim.launch(kernel, capture.stream, grid, block, buffer)
        capture.graph.instantiate().launch(stream)
    """

    __slots__ = ("_graph", "_parent", "_again")
    _graph: Optional[Graph]
    _parent: Optional[Capture]
    _again: Optional[Graph]

    def _set(self, h: Any, owned: bool = True, keeps: Any = None) -> None:
        super()._set(h, owned, keeps)
        self._graph = None
        self._parent = None
        self._again = None

    @property
    def stream(self) -> Stream:
        """The stream that is captured: what is enqueued in it becomes nodes."""
        from ._stream import Stream

        h = lib.cushim_builder_stream(self._h)
        if not h:
            raise ValueError(f"{self!r} does not capture: its stream is there inside its `with` statement")
        return Stream._take(h, owned=False, keeps=self)

    @property
    def graph(self) -> Graph:
        """The graph. While it is captured, it is there to be looked at."""
        if self._graph is not None:
            return self._graph
        return found("graph", lib.cushim_builder_get_graph, self._h)

    def __enter__(self) -> Capture:
        if self._again is not None:
            check(lib.cushim_builder_recapture(self._h, handle(self._again, GraphBase, "graph")))
        elif self._parent is None:
            check(lib.cushim_builder_begin(self._h))
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self.stop()
        elif self._parent is not None:
            others = ffi.new("cushim_builder[]", [self._h])
            check(lib.cushim_builder_join(self._parent._h, others, 1))
        else:
            place = ffi.new("cushim_graph *")
            try:
                check(lib.cushim_builder_end(self._h, place))
            except BaseException:
                self.stop()
                raise
            self._graph = owned("graph", place[0])

    def stop(self) -> None:
        """Gives up what is captured."""
        check(lib.cushim_builder_close(self._h))

    def into(self, graph: Graph) -> Capture:
        """Has the `with` statement capture into a graph that exists: `with context.capture().into(graph) as capture:`. The same operations
        are captured in the order in which the nodes were added, and each takes the place of what its node does; `exec.update(graph)` then
        has an exec do it. If the capture fails or is given up, the graph is lost. Needs CUDA 13.3."""
        self._again = graph
        return self

    def fork(self) -> Capture:
        """A capture beside this one, from here on, with a stream of its own; it is joined where its `with` statement ends."""
        place = ffi.new("cushim_builder[]", 1)
        check(lib.cushim_builder_fork(self._h, place, 1))
        fork: Capture = owned("builder", place[0])
        fork._parent = self
        return fork

    def add_child(self, graph: Graph) -> Node:
        """A node that runs a copy of another graph."""
        return found("node", lib.cushim_builder_add_child, self._h, handle(graph, GraphBase, "graph"), 0, keeps=self)

    def create_condition(self, initial: int = 0, reset: bool = False) -> Condition:
        """A condition of the graph; see `Graph.create_condition`."""
        options = sized("cushim_condition_options")
        options.initial, options.flags = initial, int(reset)
        return found("condition", lib.cushim_builder_create_condition, self._h, options, keeps=self)

    def add_conditional(self, condition: Condition, kind: Union[int, ConditionalKind], bodies: int = 1) -> List[Capture]:
        """A conditional node, and captures of its bodies: `with` each of them, or leave it empty."""
        place = ffi.new("cushim_builder[]", bodies)
        h = handle(condition, ConditionBase, "condition")
        check(lib.cushim_builder_add_conditional(self._h, h, kind, bodies, ffi.new("cushim_node *"), place))
        return [owned("builder", place[i]) for i in range(bodies)]


__all__ = ["Capture"]
