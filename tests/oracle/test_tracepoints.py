"""Tracepoint records are printed as the kernel's perf prints them."""
import pathlib
import subprocess

import pytest

# Not more: the kernel waits a while for each tracepoint that is closed.
EVENTS = ["sched:*", "irq:*", "timer:*", "signal:*", "task:*", "filemap:*", "raw_syscalls:*", "syscalls:sys_*_open*", "kmem:k*", "sock:*"]
# Programs do something that tracepoints see: files, a signal, a connection.
WORKLOAD = """
import os, signal, socket, tempfile
signal.signal(signal.SIGUSR1, lambda *_: None)
os.kill(os.getpid(), signal.SIGUSR1)
with tempfile.TemporaryFile() as file:
    file.write(b"x" * 100000)
    file.flush()
    os.fsync(file.fileno())
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].send(b"hello")
client.recv(10)
"""


def system_of(event):
    return event.split(":")[0]


def wrong_in_the_library(line):
    """The library takes `flags & (A | B)` for `(flags & A) | B`: its flags of timer_start are always D|P|I."""
    return "timer:timer_start:" in line


@pytest.fixture(scope="module")
def recording(perf, tmp_path_factory):
    folder = pathlib.Path("/sys/kernel/tracing/events")
    if not folder.is_dir():
        pytest.skip("no tracefs at /sys/kernel/tracing")
    events = [event for event in EVENTS if (folder / system_of(event)).is_dir()]
    path = tmp_path_factory.mktemp("tracepoints") / "perf.data"
    done = perf("record", "-q", "-m", "1M", "-o", path, "-e", ",".join(events), "python3", "-c", WORKLOAD)
    if done.returncode:
        pytest.skip(f"tracepoints cannot be recorded here: {done.stderr}")
    return path


def script(tool, path):
    done = subprocess.run([tool, "script", "-F", "comm,tid,time,event,trace", "-i", path], capture_output=True, text=True, errors="replace", check=True)
    return [line for line in done.stdout.splitlines() if not wrong_in_the_library(line)]


def test_same_text(perf, oracle, recording):
    ours, theirs = script(perf, recording), script(oracle, recording)
    assert len(ours) > 1000
    assert len({line.split()[3] for line in ours}) > 30
    assert ours == theirs


def test_filters_and_refusals(perf, tmp_path):
    path = tmp_path / "x"
    done = perf("record", "-o", path, "-e", "sched:sched_switch", "--filter", "prev_pd == 1", "true")
    assert done.returncode == 129 and "unknown field 'prev_pd'" in done.stderr and "prev_pid" in done.stderr and "^" in done.stderr
    assert perf("record", "-q", "-o", path, "-a", "-e", "sched:sched_switch", "--filter", 'prev_comm == "nobody" || next_pid == -5', "true").returncode == 0
    assert perf("script", "-i", path).stdout == ""
