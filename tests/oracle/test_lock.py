"""perf lock tells what the kernel's perf tells of the same recording. Rows of equal figures may stand in any order there; it forgets the names of threads that have
ended; its debug lines about waits without a beginning are left out."""
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import locks  # noqa: E402
import recording  # noqa: E402


@pytest.fixture(scope="module")
def load(live_system, tracefs):
    command = locks.load()
    if not command:
        pytest.skip("this kernel holds no lock while it waits for a page")
    return command


def rows(tool, path, *words):
    """The titles, and the other lines in an order of their own."""
    done = subprocess.run([tool, "lock", *words, "-i", path, "--kallsyms", path.parent / "kallsyms"], capture_output=True, text=True, errors="replace", check=True)
    lines = (done.stdout + done.stderr).split("\n\n=== output for debug")[0].rstrip("\n").split("\n")
    return lines[:2] + sorted(lines[2:])


@pytest.fixture(scope="module")
def recordings(perf, oracle, load, tmp_path_factory):
    """By the kernel's perf and by this one. Without user stacks: where their frames are no frames, a wait's end has another stack than its beginning, and the
    kernel's perf leaves out the time. The kernel's symbols, too: BPF programs of others come and go."""
    folder = tmp_path_factory.mktemp("lock")
    (folder / "kallsyms").write_bytes(pathlib.Path("/proc/kallsyms").read_bytes())
    for name, tool in (("theirs", oracle), ("ours", perf)):
        done = tool("lock", "record", "--kernel-callchains", "-q", "-o", folder / name, "--", *load)
        assert done.returncode == 0, done.stderr
    return folder


WORDS = ["", "--stack-skip 0", "--stack-skip 2 --max-stack 4", "-k contended", "-k wait_min -F wait_min,wait_max,contended", "-k avg_wait -F contended"]


@pytest.mark.parametrize("recorder", ("theirs", "ours"))
@pytest.mark.parametrize("words", WORDS)
def test_contention(perf, oracle, recordings, recorder, words):
    ours, theirs = (rows(tool, recordings / recorder, "contention", *words.split()) for tool in (perf, oracle))
    assert ours == theirs
    assert len([line for line in ours if "mutex" in line]) >= 1


@pytest.mark.parametrize("words", ["report", "report -F acquired,wait_max", "report -k wait_total", "info -m"])
def test_report(perf, oracle, recordings, words):
    ours, theirs = (rows(tool, recordings / "theirs", *words.split()) for tool in (perf, oracle))
    assert ours == theirs and len(ours) > 2


@pytest.mark.parametrize("words, name", [("contention -t", slice(63, None)), ("report -t", slice(0, 20)), ("info -t", slice(12, None))])
def test_threads(perf, oracle, recordings, words, name):
    """Names of threads that have ended are ":123" there."""
    nameless = [sorted(line.replace(line[name], "") for line in rows(tool, recordings / "theirs", *words.split())) for tool in (perf, oracle)]
    assert nameless[0] == nameless[1] and len(nameless[0]) > 20


@pytest.mark.parametrize("words", [*("contention " + words for words in WORDS), "contention -t", "report", "report -c", "report -t", "info -t", "info -m"])
def test_made_by_hand(perf, oracle, tmp_path, words):
    path = tmp_path / "lock.data"
    path.write_bytes(recording.make(locks.STORY))
    (tmp_path / "kallsyms").write_text(locks.KALLSYMS)
    ours, theirs = (rows(tool, path, *words.split()) for tool in (perf, oracle))
    assert ours == theirs and len(ours) > 2


@pytest.mark.parametrize("words", ["report", "report -c", "report -t", "report -k wait_max -F contended", "info -t", "info -m"])
def test_lockdep(perf, oracle, tmp_path, words):
    path = tmp_path / "lock.data"
    path.write_bytes(recording.make(locks.LOCKDEP_STORY))
    (tmp_path / "kallsyms").write_text(locks.KALLSYMS)
    ours, theirs = (rows(tool, path, *words.split()) for tool in (perf, oracle))
    assert ours == theirs and len(ours) > 2
