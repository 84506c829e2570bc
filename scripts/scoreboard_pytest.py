"""What scripts/scoreboard.py has pytest do: leave out the tests that are in the record already, and write there what becomes of the others, so that it
is known even if one of them ends the process.

A line of JSON each: a test that begins, its outcome, the end of the session.
"""

import json
import os
import time
from pathlib import Path

import pytest

RECORD = Path(os.environ["SCOREBOARD_RECORD"])
REPORTS = []


def write(**line):
    with open(RECORD, "a") as file:
        print(json.dumps(line), file=file)


def name_of(item):
    """By its file, which the identifier lacks of tests from a package."""
    return f"{item.path}::{item.nodeid.partition('::')[2]}"


def outcome():
    """What a test's reports, and those of its parts, come to; and what its failures say."""
    failed = [report.longreprtext for report in REPORTS if report.failed]
    if failed:
        return "failed", "\n".join(failed)
    return "skipped" if any(report.skipped for report in REPORTS) else "passed", ""


def pytest_collection_modifyitems(config, items):
    begun = {json.loads(line).get("test") for line in RECORD.read_text().splitlines()} if RECORD.exists() else set()
    config.hook.pytest_deselected(items=[item for item in items if name_of(item) in begun])
    items[:] = [item for item in items if name_of(item) not in begun]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    began = time.time()
    REPORTS.clear()
    write(test=name_of(item), begins=began)
    result = yield
    what, text = outcome()
    write(test=name_of(item), outcome=what, text=text, seconds=time.time() - began)
    return result


def pytest_runtest_logreport(report):
    REPORTS.append(report)


def pytest_sessionfinish(exitstatus):
    write(session=int(exitstatus))
