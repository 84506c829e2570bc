"""What goes to another process with a file descriptor."""

from typing import Any, NamedTuple, Tuple


class Exported(NamedTuple):
    """What another process needs to import a pool or virtual memory: the bytes, and a file descriptor, which is closed by whoever has it,
    with `os.close`.

    It can be pickled where `multiprocessing` sends objects: as an argument of a `Process`, and through its queues, pipes and connections. The
    other process gets a file descriptor of its own. Elsewhere send both parts, for example by `socket.send_fds`.
    """

    descriptor: bytes
    file: int

    def __reduce__(self) -> Tuple[Any, ...]:
        from multiprocessing.reduction import DupFd

        return _arrived, (self.descriptor, DupFd(self.file))


def _arrived(descriptor: bytes, file: Any) -> Exported:
    """What was sent."""
    return Exported(descriptor, file.detach())


__all__ = ["Exported"]
