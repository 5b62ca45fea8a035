"""perf is gone as soon as its command is: what strace tells of the time after it. Closing counters of tracepoints takes the kernel long, which is left to a child."""
import pathlib
import re
import shutil
import subprocess

import pytest


def calls_of(folder, perf, words):
    """{process: its calls} of perf, which comes first, and of all that it started."""
    log = folder / "strace"
    subprocess.run(["strace", "-ff", "-qq", "-e", "signal=none", "-o", log, perf, *words], capture_output=True, check=True)
    found = {path: path.read_text(errors="replace").splitlines() for path in folder.glob("strace.*")}
    for path in found:
        path.unlink()
    return sorted(found.values(), key=lambda lines: not lines[0].startswith(f'execve("{perf}"'))


WAITING = r"(clock_)?nanosleep|pause|p?select|p?poll|epoll_p?wait|rt_sigtimedwait"


def check(folder, perf, words, slowly):
    """Runs perf words…: it waits for nothing once its command has ended, and leaves counters that close slowly to a child without its input and outputs."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    main, *others = calls_of(folder, pathlib.Path(perf), words)
    end = next(number for number, line in enumerate(main) if re.match(r"wait4\(\d+, \[\{WIFEXITED", line))
    counters = set()
    for line in main[:end]:
        if opened := re.match(r"perf_event_open\(.*\) = (\d+)$", line):
            counters.add(opened[1])
        elif closed := re.match(r"close\((\d+)\)", line):
            counters.discard(closed[1])
    assert counters
    assert not [line for line in main[end:] if re.match(rf"({WAITING})\w*\(", line)]
    if slowly:
        assert not counters.intersection(re.findall(r"^close\((\d+)\)", "\n".join(main[end:]), re.MULTILINE))
        assert not any(line.startswith("close_range(") for line in main[end:])
        keepers = [lines for lines in others if any(line.startswith("prctl(PR_SET_PDEATHSIG") for line in lines)]
        assert len(keepers) == 1 and {"close(0)", "close(1)", "close(2)"} <= {line.split(" ")[0] for line in keepers[0]}
