from typing import Any

class Base:
    _n: int
    _sizes_low: int
    _sizes_high: int

unused_capsule: int

def attach(name: str, kind: Any, python: Any, address: int, /) -> Any: ...
def give(name: str, what: Any, /) -> None: ...
def configure(size: int, grid: int, block: int, /) -> None: ...
