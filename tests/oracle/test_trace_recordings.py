"""perf trace -i against the kernel's perf: the same recording, the same lines and sums. What we know besides (full addresses, names of more flags) is left out."""
import re

import pytest

CALL = re.compile(r"^( *[\d.]+|         \?) (\([^)]*\)): (\S+/\d+)  ?(?:\.\.\. \[continued\]: )?(\w+)\(.*?\) +(= .*|\.\.\.)$")


@pytest.fixture
def recording(oracle, root, tracefs, tmp_path):
    if not (tracefs / "events/raw_syscalls").is_dir():
        pytest.skip("this kernel has no raw_syscalls tracepoints")
    path = tmp_path / "perf.data"
    done = oracle("trace", "-F", "all", "--syscalls", "record", "-o", path, "ls", "-l", "/usr")
    assert done.returncode == 0, done.stderr
    return path


def shown(program, path, *words):
    done = program("trace", *words, "-i", path)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if "+++ exited with 0 +++" not in line]


def shape(line):
    """What can be compared of a line: of a call all but its arguments, and whether it was shown as waiting before."""
    match = CALL.match(line)
    return match.groups() if match else re.sub(r"\([dx]([.k])\)$", r"(\1)", line)


def test_lines(perf, oracle, recording):
    """Times, durations, threads, calls, results, and page faults with their places."""
    theirs, ours = ([line for line in map(shape, shown(program, recording)) if line[-1] != "..."] for program in (oracle, perf))
    assert len(theirs) > 200 and sum("minfault" in line for line in theirs if isinstance(line, str)) > 50
    different = [pair for pair in zip(theirs, ours) if pair[0] != pair[1]]
    assert len(ours) == len(theirs) and len(different) <= len(theirs) / 200, different[:10]


def test_full_times(perf, oracle, recording):
    theirs, ours = ([line.split("(")[0] for line in shown(program, recording, "-T") if "minfault" in line] for program in (oracle, perf))
    assert len(theirs) > 50 and theirs == ours


def test_sums(perf, oracle, recording):
    theirs, ours = ([line for line in shown(program, recording, "-s") if re.match(r"   \w+ +\d+ +\d+ ", line)] for program in (oracle, perf))
    assert len(theirs) > 15 and sorted(theirs) == sorted(ours)
