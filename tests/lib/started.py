"""Waits for programs that were just started: on a busy machine that takes longer than any sleep."""
import os
import pathlib
import re
import time


def until(condition, what, seconds=300):
    """Waits until condition() is true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.02)


def child_named(pid, name):
    """The process's first child, once it has this name: programs that start others in namespaces fork first and execute then."""
    def children():
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    until(lambda: children() and pathlib.Path(f"/proc/{children()[0]}/comm").read_text(encoding="ascii") == f"{name}\n", f"{name} runs")
    return int(children()[0])


def ran(pid):
    """Seconds that the process's first thread has been on a CPU, up to some milliseconds ago."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


def while_it_runs(pid, seconds):
    """A command that ends when the process has been on a CPU for so long: what happens meanwhile doesn't depend on its neighbours."""
    path = f"/proc/{pid}/schedstat"
    return ["sh", "-c", f"read enough rest <{path}; enough=$((enough + {int(seconds * 1e9)})); now=0; "
                        f"while [ $now -lt $enough ]; do sleep 0.02; read now rest <{path} || exit; done"]


def minds(pid, number):
    """The process has a handler for the signal, or has blocked it to read it from a descriptor."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return any(int(mask, 16) >> (number - 1) & 1 for mask in re.findall(r"^Sig(?:Blk|Cgt):\s*([0-9a-f]+)", status, re.MULTILINE))


def measures(pid):
    """The process has opened counters."""
    try:
        return any(os.readlink(entry) == "anon_inode:[perf_event]" for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:  # closed in between
        return False


def until_it_measures(pid, *signals):
    """Until a perf that was started minds these signals and has its counters, which are enabled soon after."""
    for number in signals:
        until(lambda: minds(pid, number), f"process {pid} minds signal {number}")
    until(lambda: measures(pid), f"process {pid} has counters")


# Calls that wait for something to happen: poll, rt_sigtimedwait, epoll_wait, ppoll, epoll_pwait (x86-64); ppoll, rt_sigtimedwait, epoll_pwait (arm64).
WAITING = {"x86_64": {7, 128, 232, 271, 281}, "aarch64": {22, 73, 137}}


def waits(pid):
    """The process's first thread is in such a call."""
    number = pathlib.Path(f"/proc/{pid}/syscall").read_text(encoding="ascii").split()[0]
    return number.isdigit() and int(number) in WAITING.get(os.uname().machine, set())


def until_it_waits(process):
    """Until a perf that was started has all that it needs and waits for what is to come, or has ended."""
    until(lambda: process.poll() is not None or waits(process.pid), f"process {process.pid} waits")


def until_it_records(process, *signals):
    """Until a perf that was started minds these signals, has its counters and waits for what they tell: they are enabled."""
    until_it_measures(process.pid, *signals)
    until_it_waits(process)


def until_it_traces(process):
    """Until the BPF program of a `perf trace` that was started is told of both ends of system calls, and all else is prepared, or the trace has ended."""
    def attached():
        found = set()
        for entry in pathlib.Path(f"/proc/{process.pid}/fdinfo").iterdir():
            try:
                found.update(re.findall(r"^tp_name:\t(sys_enter|sys_exit)$", entry.read_text(encoding="ascii"), re.MULTILINE))
            except FileNotFoundError:  # closed in between
                pass
        return len(found) == 2
    until(lambda: process.poll() is not None or attached(), f"process {process.pid} traces system calls")
    until_it_waits(process)
