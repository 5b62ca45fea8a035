"""BPF programs of others at tracepoints decide which events anyone sees: whose tracepoint has one is told so, and who holds it."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import started

HOLDER = pathlib.Path(__file__).resolve().parents[1] / "lib/attached.py"
EVENT = "oom:mark_victim"

pytestmark = pytest.mark.alone # doctor tells of such programs wherever they are


def hold(tracefs, event, *words):
    number = (tracefs / "events" / event.replace(":", "/") / "id").read_text().strip()
    with subprocess.Popen(["/usr/bin/python3", HOLDER, number, "hide_calls", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout.readline() != "ready\n":
            pytest.skip("a BPF program can't be attached to a tracepoint here")
        yield process.pid
        process.stdin.close()


@pytest.fixture
def holder(root, live, tracefs):
    yield from hold(tracefs, EVENT)


@pytest.fixture
def harmless(root, live, tracefs):
    yield from hold(tracefs, EVENT, "always")


@pytest.fixture
def holder_of_calls(root, live, tracefs):
    yield from hold(tracefs, "raw_syscalls:sys_enter")


@pytest.mark.parametrize("words", [("stat", "-e"), ("record", "-o", "/dev/null", "-e"), ("trace", "-e")], ids=lambda words: words[0])
def test_told(perf, holder, words):
    name = pathlib.Path(f"/proc/{holder}/comm").read_text().strip()
    done = perf(*words, f"sched:sched_process_exit,{EVENT}", "true")
    warnings = [line for line in done.stderr.splitlines() if "BPF program" in line]
    assert done.returncode == 0 and len(warnings) == 1, done.stderr
    assert f"attached to {EVENT}: 'hide_calls' of {name} ({holder})." in warnings[0]


def test_doctor(perf, holder):
    row, = [row for row in json.loads(perf("doctor", "-j").stdout)["rows"] if row["id"] == "bpf-others"]
    assert row["state"] == "limited" and f"'hide_calls' of " in row["found"] and f"({holder}) at mark_victim" in row["found"] and row["cost"]


def test_silent_of_what_can_hide_nothing(perf, harmless):
    """A program whose code returns 1 whatever happens hands on all events."""
    for words in (("stat", "-e"), ("record", "-o", "/dev/null", "-e"), ("trace", "-e")):
        done = perf(*words, f"sched:sched_process_exec,{EVENT}", "true")
        assert done.returncode == 0 and "BPF program" not in done.stderr
    row, = [row for row in json.loads(perf("doctor", "-j").stdout)["rows"] if row["id"] == "bpf-others"]
    assert f"({harmless})" not in row["found"]


def test_silent_without(perf, root, live, tracefs):
    for words in (("stat", "-e"), ("record", "-o", "/dev/null", "-e")):
        assert "BPF program" not in perf(*words, "oom:oom_score_adj_update", "true").stderr


def test_calls_beside_events(perf, bpf, holder_of_calls, tmp_path):
    """What decides about the tracepoint of system calls does not matter: they are seen by a BPF program of our own."""
    words = ("-o", tmp_path / "trace.txt", "-e", "write,sched:sched_process_exit", "sh", "-c", "echo text >/dev/null")
    done = perf("trace", *words)
    assert done.returncode == 0 and not done.stderr and ' write(fd: 1</dev/null>, buf: "text\\n", count: 5)' in (tmp_path / "trace.txt").read_text()
    assert f"attached to raw_syscalls:sys_enter: 'hide_calls' of " in perf("trace", "--no-bpf", *words).stderr


@pytest.mark.parametrize("words", [("record", "--off-cpu", "-e", "dummy", "-o", "{folder}/off-cpu.data", "-a"), ("sched", "runqlat", "-a")], ids=lambda words: words[1])
def test_ours_hide_nothing(perf, bpf, root, live, tmp_path, words):
    """Programs of ours at scheduler's tracepoints leave their events to whoever else counts or records them."""
    events = "sched:sched_switch,sched:sched_wakeup,task:task_newtask,sched:sched_process_exit"
    begun, end = tmp_path / "begun", tmp_path / "end"
    command = ["sh", "-c", f"touch {begun}; until [ -e {end} ]; do sleep 0.05; done"]
    with subprocess.Popen([perf, *(word.format(folder=tmp_path) for word in words), "--", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        started.until(begun.exists, "perf measures")
        done = perf("stat", "-x,", "-a", "-e", events, "sh", "-c", "sleep 0.01; true & wait")
        end.touch()
        assert not process.wait()
    counts = {line.split(",")[2]: int(line.split(",")[0]) for line in done.stderr.splitlines() if line.count(",") > 3}
    assert len(counts) == 4 and all(counts.values()), counts
    assert "BPF program" not in done.stderr


EXCHANGE = """
import os, subprocess, sys
there, back = os.pipe(), os.pipe()
if not os.fork():
    for _ in range(5000):
        os.read(there[0], 1)
        os.write(back[1], b"x")
    os._exit(0)
for _ in range(5000):
    os.write(there[1], b"x")
    os.read(back[0], 1)
os.wait()
with subprocess.Popen([sys.argv[1], "record", "-q", "-a", "-e", "dummy", "-o", sys.argv[2], "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
    other.stdin.write(b"x")
    other.stdin.flush()
    other.stdout.read(1)
    for _ in range(3):
        subprocess.run([sys.argv[1], "record", "-q", "-g", "-o", sys.argv[2] + ".stacks", "--", "true"], check=True)
    other.stdin.close()
"""


def test_records_of_programs_beside_another_recorder(perf, oracle, root, live_system, tracefs, tmp_path):
    """The kernel makes records of BPF programs longer for each recorder that it told before, and leaves what lay in the buffer in them: the kernel's perf can't read its
    own recording then. Ours it can, and it has all that is there; and we can read both."""
    def programs(tool, path):
        done = tool("script", "--show-bpf-events", "-i", path)
        return done.returncode, [line for line in done.stdout.splitlines() if "PERF_RECORD_BPF_EVENT" in line or "PERF_RECORD_KSYMBOL" in line]
    ours = tmp_path / "ours"
    # A small buffer, in which something lies everywhere after the exchange.
    done = perf("record", "-q", "-a", "-m", 8, "-e", "sched:sched_switch", "-c", 1, "-o", ours, "--", "/usr/bin/python3", "-c", EXCHANGE, perf.path, tmp_path / "other")
    assert done.returncode == 0, done.stderr
    status, theirs = programs(oracle, ours)
    assert status == 0 and programs(perf, ours) == (0, theirs)
    if not any(line.split()[0] == "perf" for line in theirs):
        pytest.skip("this kernel does not tell of BPF programs")
    assert all(re.match(r" *\S.* \d+ \[\d+\] +\d+\.\d+: PERF_RECORD_", line) for line in theirs if " type 0" not in line)
