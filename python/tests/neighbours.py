"""Other libraries, which some tests need.

CUSHIM_TEST_NEIGHBOURS=cupy,torch names those that have to be there; without it, each that is not installed is skipped, and on softcuda all
of them are. With CUSHIM_REQUIRE what is installed has to work: that it does not is a failure.
"""

import importlib
import importlib.util
import os

import pytest

WANTED = [name for name in os.environ.get("CUSHIM_TEST_NEIGHBOURS", "").split(",") if name]
REQUIRED = bool(os.environ.get("CUSHIM_REQUIRE"))


def is_installed(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # nor what it would be in
        return False


def neighbour(name):
    """A library; to go without it is a skip, or a failure where it has to be there."""
    if not WANTED and os.environ["CUSHIM_DRIVER"].startswith(("software", "softcuda")):
        pytest.skip("the neighbours are tried on a GPU")
    if name.split(".")[0] in WANTED or (REQUIRED and is_installed(name)):
        return importlib.import_module(name)
    return pytest.importorskip(name, exc_type=ImportError)
