"""What ours and bcc's tools say of one program: waits for a CPU (runqlat, both at once), time off the CPU (offcputime, so as well), outstanding allocations
(memleak, which compiles its program and
needs the kernel's headers: BCC_KERNEL_SOURCE, or those of the kernel that runs)."""
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
pytestmark = pytest.mark.alone  # programs at sched_switch slow down all that others measure


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bcc")
    for name in ("queues", "sleepers", "leaky"):
        subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o", folder / name, HERE / f"{name}.c"], check=True)
    return folder


@pytest.fixture(autouse=True)
def may_measure(perf, root, live_system, tracefs):
    if perf("check", "feature", "-q", "bpf").returncode:
        pytest.skip("this build has no BPF programs")
    if not re.search(r"BPF programs +(?!.*only).*\btracepoint", perf("doctor", "bpf").stdout):
        pytest.skip("this kernel has no BPF programs at tracepoints")


def find(name):
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
    if not path:
        pytest.skip(f"bcc's {name} is not installed (package libbpf-tools, or bpfcc-tools)")
    return path


def has_programs(pid):
    """The process has BPF programs, and each is at work: they are loaded some time before they are attached, which they are one after the other."""
    try:
        files = [os.readlink(entry) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    except FileNotFoundError:
        return False
    return 0 < sum("bpf-prog" in name for name in files) <= sum("bpf_link" in name for name in files)


class Watcher:
    """One of bcc's tools that watches a process, from when it can be asked until it is told to end."""

    def __init__(self, name, *words):
        self.process = subprocess.Popen([find(name), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        started.until(lambda: self.process.poll() is not None or has_programs(self.process.pid), f"{name} watches")
        if self.process.poll() is not None:
            pytest.skip(f"{name} can't run on this kernel: {self.process.stderr.read().strip().splitlines()[-1:]}")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate()[0]


def test_waits_for_a_cpu(perf, programs):
    """Delays of milliseconds, in which it is of no importance who of both looks at the clock first: the same buckets within 3 %."""
    with subprocess.Popen([perf.path, "sched", "runqlat", "-j", "--", programs / "queues", "700"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ours:
        pid = started.child_named(ours.pid, "queues")
        started.until(lambda: started.waits(pid), "the program waits for the signal")
        theirs = Watcher("runqlat", "-p", str(pid))
        os.kill(pid, signal.SIGUSR1)
        rows, errors = ours.communicate()
        assert ours.returncode == 0, errors
        text = theirs.end()
    mine = {row["from"] // 1000: row["count"] for row in map(json.loads, rows.splitlines())}
    other = {int(first): int(count) for first, count in re.findall(r"^\s*(\d+) -> \d+\s*:\s*(\d+)", text, re.M)}
    whole = sum(other.values())
    assert whole > 200 and sum(count for first, count in other.items() if first >= 1024) > whole / 2
    for first in {first for first in [*mine, *other] if first >= 64}:
        assert abs(mine.get(first, 0) - other.get(first, 0)) <= max(1, 0.03 * whole), (first, mine, other)
    assert abs(sum(mine.values()) / whole - 1) < 0.03, (mine, other)


CALLS = {"naps": "nanosleep", "polls": "do_sys_poll", "reads": "pipe_read", "writes": "nanosleep"}
PREEMPTED = re.compile(r"preempt_schedule|irqentry_exit|exit_to_user_mode")  # runnable, so not asleep: theirs has these in stacks of their own


def both_of_sleepers(perf, programs, path, times):
    """{thread: ns} by the program's own clock, by ours and by theirs, all at the same time; how many waits ours tells that it has not seen end."""
    with subprocess.Popen([perf.path, "record", "--off-cpu", "--off-cpu-thresh", "0", "-e", "dummy", "-o", path, "--", programs / "sleepers", str(times)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as record:
        pid = started.child_named(record.pid, "sleepers")
        started.until(lambda: started.waits(pid), "the program waits for the signal")
        theirs = Watcher("offcputime", "-p", str(pid), "--stack-storage-size", "65536", "--perf-max-stack-depth", "32")
        os.kill(pid, signal.SIGUSR1)
        told, errors = record.communicate()
        assert record.returncode == 0 and "missing" not in errors, errors
        blocks = theirs.end().split("\n\n")
    own = {name: int(ns) for name, ns in re.findall(r"^(\w+) (\d+)$", told, re.M)}
    mine, other = dict.fromkeys(own, 0), dict.fromkeys(own, 0)
    for block in perf("script", "--no-inline", "-i", path, "-F", "comm,period,ip,sym").stdout.split("\n\n"):
        head = re.match(r"\s*(\w+) +(\d+) ", block)
        if head and head[1] in own and CALLS[head[1]] in block:
            mine[head[1]] += int(head[2])
    for block in blocks:
        tail = re.search(r"^ +-? +(\w+) \(\d+\)\n +(\d+)$", block, re.M)
        if tail and tail[1] in own and CALLS[tail[1]] in block and not PREEMPTED.search(block):
            other[tail[1]] += int(tail[2]) * 1000
    return own, mine, other, sum(map(int, re.findall(r"(\d+) waits? (?:is|are) not counted", errors)))


def test_time_off_the_cpu(perf, programs, tmp_path):
    """By stack, the same within 2 %, and no wait longer than the call in which it is. Each program's clock is read before it walks the stack; which comes
    second begins that much later: some microseconds of waits of two milliseconds. What can't be compared: stacks for which their map has no room (two with
    the same hash: "[Missed Kernel Stack]", which a larger map makes rare), threads that lost the CPU (theirs adds them as well), and waits of whose end the
    kernel doesn't tell programs at tracepoints, as ours is, though it does tell theirs: ours counts them."""
    for _ in range(5):
        own, mine, other, unseen = both_of_sleepers(perf, programs, tmp_path / "perf.data", 300)
        assert set(own) == set(CALLS)
        for name, ns in own.items():
            assert 0 < mine[name] <= ns, (name, own, mine)
        if not unseen and all(other.values()):
            for name in own:
                assert abs(mine[name] / other[name] - 1) < 0.02, (name, own, mine, other)
            return
    pytest.skip("the kernel lost switches, or offcputime stacks, in each of five runs")


def test_outstanding_allocations(perf, programs):
    """memleak takes the mapping that malloc() makes for a large piece for one of the program's: all but that is the same."""
    tool, source = find("memleak-bpfcc"), os.environ.get("BCC_KERNEL_SOURCE", f"/lib/modules/{platform.release()}/build")
    if not os.path.isdir(source):
        pytest.skip("memleak needs the kernel's headers: there are none at /lib/modules or BCC_KERNEL_SOURCE")
    done = perf("leaks", "--top", 0, "--format", "json", "--", programs / "leaky")
    if done.returncode:
        pytest.skip(done.stderr.strip())
    mine = {}
    for row in map(json.loads, done.stdout.splitlines()):
        names = [frame.split(" ")[0] for frame in row["stack"].split(";")]
        mine[next(name for name in names if name.startswith("leak_")), row["allocations"], row["bytes"]] = True
    with subprocess.Popen([programs / "leaky", "later"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as leaky:
        with subprocess.Popen([tool, "-p", str(leaky.pid), "-T", "100", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as theirs:
            shown = []
            while "Top 100" not in (shown or [""])[-1]:
                shown.append(theirs.stdout.readline())
                if not shown[-1]:
                    pytest.skip(f"memleak can't run here: {theirs.stderr.read().strip().splitlines()[-1:]}")
            leaky.stdin.write("\n")
            leaky.stdin.flush()
            assert leaky.stdout.readline() == "done\n"
            while shown.count("end\n") < 2:  # what is shown next may have begun before
                line = theirs.stdout.readline()
                shown.append("end\n" if "Top 100" in line else line)
            theirs.send_signal(signal.SIGINT)
            theirs.communicate()
        leaky.stdin.close()
    last = "".join(shown).split("end\n")[1]
    other = {(name, int(count), int(size)): True for size, count, name in re.findall(
        r"(\d+) bytes in (\d+) allocations from stack\n(?:(?!\t\d).*\n)*?.*?\b(leak_\w+)\+", last)}
    assert len(other) >= 8
    assert {row for row in mine if row != ("leak_malloc", 1, 1000000)} == set(other)
