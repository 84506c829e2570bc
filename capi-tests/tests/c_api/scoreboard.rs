//! What `scripts/scoreboard.py` makes of a suite whose tests end their process, hang, or fail.

use capi_tests::repository;
use std::path::Path;
use std::process::Command;

/// Tests that end in every way. Nothing interrupts the one that hangs, as nothing does one that waits for a kernel.
const SUITE: &str = r#"
import os, signal, time, unittest
import pytest

def test_passes(): pass
def test_hangs():
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.valid_signals()))
    time.sleep(600)
def test_says_why(): assert 0, "CUDA_ERROR_NO_BINARY_FOR_GPU"
def test_crashes(): os.kill(os.getpid(), signal.SIGSEGV)

@pytest.mark.xfail
def test_fails_as_expected(): assert 0

@pytest.fixture
def none_such(): import no_such_module
def test_is_not_set_up(none_such): pass

class Parts(unittest.TestCase):
    def test_parts(self):
        for part in range(3):
            with self.subTest(part=part):
                self.assertEqual(part, 1)

@pytest.mark.parametrize("value", ["a::b", "c"])
def test_with(value): pass
def test_leaves(): os._exit(0)
"#;

/// Runs the suite as the script does, and prints what it then counts.
const PROGRAM: &str = r#"
import os, shutil, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import scoreboard
shutil.copy(scoreboard.PLUGIN, ".")
record = Path("record").resolve()
command = [sys.executable, "-m", "pytest", "-p", "scoreboard_pytest", "-p", "no:cacheprovider", *scoreboard.limited(5), "test_ends.py"]
path = os.pathsep.join([".", os.environ["PYTHONPATH"]])
with open("log", "w") as log:
    environment = {**os.environ, "PYTHONPATH": path, "SCOREBOARD_RECORD": str(record)}
    print(scoreboard.run_tests(command, record, 5, env=environment, stdout=log, stderr=log))
counts, causes, unknown = scoreboard.read(record)
print(sorted(counts.items()))
for words in sorted(causes):
    print([(words, [test.rpartition("::")[2] for test in causes[words]])])
print([test.rpartition("::")[2] for test, _ in unknown])
"#;

const COUNTED: &str = r#"True
[('failed', 6), ('passed', 3), ('skipped', 1)]
[("machine code without PTX (a library of NVIDIA's that is linked)", ['test_says_why'])]
[('needs a package that was not installed', ['test_is_not_set_up'])]
[('not known yet', ['test_crashes', 'test_parts', 'test_leaves'])]
[('takes longer than the limit of a test', ['test_hangs'])]
['test_crashes', 'test_parts', 'test_leaves']
"#;

#[test]
fn tests_that_end_their_process_are_counted() {
    if !super::python::has("pytest") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("test_ends.py"), SUITE).expect("the folder takes a file");
    let mut command = Command::new("python3");
    command.args([Path::new("-c"), Path::new(PROGRAM), &repository("scripts")]).current_dir(folder.path());
    command.env("PYTHONPATH", repository("target/python")).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, COUNTED, "{}", String::from_utf8_lossy(&output.stderr));
}
