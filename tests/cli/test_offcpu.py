"""perf offcpu: on recordings made by hand, whose sums are worked out from the times; and live, of programs that wait for a known time."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

FIELDS = "prev_comm/16,prev_pid/4,prev_prio/4,prev_state/8,next_comm/16,next_pid/4,next_prio/4"
NAMES = {0: "swapper", 2: "kthreadd", 10: "alpha", 20: "beta"}
HEAD = (f"feature nrcpus 2\ntracepoint sched:sched_switch id=1 fields={FIELDS}\n"
        "event sched:sched_switch type=2 config=1 ids=1 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN|RAW flags=sample_id_all,comm,task,context_switch\n"
        + "".join(f"comm pid={pid} tid={pid} name={name} time=1\n" for pid, name in NAMES.items() if pid))
KERNEL, USER = "kernel,0xffffffff81000010", "kernel,0xffffffff81000010,user,0x401000,0x402000"


def switch(us, cpu, prev, state, following, chain=USER):
    raw = recording.raw_of(1, FIELDS, NAMES[prev], prev, 120, {"R": 0, "S": 1, "D": 2, "R+": 256}[state], NAMES[following], following, 120)
    return f"sample id=1 time={1000000000 + us * 1000} cpu={cpu} pid={prev} tid={prev} ip=0xffffffff81000010 chain={chain} raw={raw}\n"


# alpha: asleep from 1 to 4 ms (3 ms, S), loses the CPU from 6 to 6.5 ms (R). beta: on disk from 2 to 9 ms (D). kthreadd: from 0 to 8 ms (S).
# At the end alpha, beta and kthreadd are away.
WHOLE = HEAD + "".join((
    switch(0, 1, 2, "S", 20, KERNEL), switch(1000, 0, 10, "S", 0), switch(2000, 1, 20, "D", 0), switch(4000, 0, 0, "R", 10, KERNEL),
    switch(6000, 0, 10, "R", 0), switch(6500, 0, 0, "R", 10, KERNEL), switch(8000, 1, 0, "R", 2, KERNEL), switch(9000, 1, 2, "S", 20, KERNEL),
    switch(9500, 1, 20, "S", 0), switch(9600, 0, 10, "S", 0)))


def out(us, tid):
    return f"switch out=1 pid={tid} tid={tid} time={1000000000 + us * 1000} id=1\n"


def back(us, tid):
    return f"switch pid={tid} tid={tid} time={1000000000 + us * 1000} id=1\n"


# Counters of single threads see only the events of these; SWITCH records tell of the return.
THREADS = HEAD + "".join((
    switch(1000, 0, 10, "S", 0), out(1000, 10), switch(2000, 1, 20, "D", 0), out(2000, 20), back(4000, 10), back(9000, 20), switch(9600, 0, 10, "S", 0),
    out(9600, 10)))


WAKING = "comm/16,pid/4,prio/4,target_cpu/4"
HARDIRQ = 8


def waking(us, cpu, waker, woken, flags=0):
    raw = recording.raw_of(2, WAKING, NAMES[woken], woken, 120, cpu, flags=flags)
    return f"sample id=2 time={1000000000 + us * 1000} cpu={cpu} pid={waker} tid={waker} ip=0xffffffff81000020 chain={USER} raw={raw}\n"


# alpha waits from 1 to 4 ms, beta wakes it up; and from 6 to 8 ms, which an interrupt ends in beta's time. beta waits from 5 to 9 ms, kthreadd wakes it up, then
# alpha, who comes too late.
WOKEN = HEAD.replace("comm pid", f"tracepoint sched:sched_waking id=2 fields={WAKING}\nevent sched:sched_waking type=2 config=2 ids=2 "
                     "sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN|RAW flags=sample_id_all\ncomm pid", 1) + "".join((
                         switch(1000, 0, 10, "S", 0), waking(3900, 1, 20, 10), switch(4000, 0, 0, "R", 10, KERNEL), switch(5000, 1, 20, "D", 2),
                         switch(6000, 0, 10, "S", 0), waking(7900, 1, 20, 10, HARDIRQ), switch(8000, 0, 0, "R", 10, KERNEL), waking(8500, 1, 2, 20),
                         waking(8600, 0, 10, 20), switch(9000, 1, 2, "S", 20, KERNEL)))


@pytest.fixture
def waits(perf, tmp_path):
    def sums(text, *words):
        """Name → nanoseconds."""
        path = tmp_path / "perf.data"
        path.write_bytes(recording.make(text))
        done = perf("offcpu", "-i", path, "-j", *words)
        assert done.returncode == 0, done.stderr
        if not done.stdout:
            assert done.stderr.startswith("No waits"), done.stderr
        return {row["comm"]: row["period"] for row in map(json.loads, done.stdout.splitlines())}
    return sums


ALL = {"alpha": 3500000, "beta": 7000000, "kthreadd": 8000000}


@pytest.mark.sanitize
@pytest.mark.parametrize("words, wanted", [
    ("", ALL),
    ("-u", {"alpha": 3500000, "beta": 7000000}),
    ("-k", {"kthreadd": 8000000}),
    ("-m 3000", {"alpha": 3000000, "beta": 7000000, "kthreadd": 8000000}),
    ("-m 3001", {"beta": 7000000, "kthreadd": 8000000}),
    ("-M 3000", {"alpha": 3500000}),
    ("-m 1000 -M 7000", {"alpha": 3000000, "beta": 7000000}),
    ("--state R", {"alpha": 500000}),
    ("--state 0", {"alpha": 500000}),
    ("--state D", {"beta": 7000000}),
    ("--state 2", {"beta": 7000000}),
    ("--state SD", {"alpha": 3000000, "beta": 7000000, "kthreadd": 8000000}),
    ("--comms beta", {"beta": 7000000}),
    ("-m 8001", {}),
])
def test_sums(waits, words, wanted):
    assert waits(WHOLE, *words.split()) == wanted


def test_sums_of_single_threads(waits):
    assert waits(THREADS) == {"alpha": 3000000, "beta": 7000000}


def test_text(perf, tmp_path):
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make(WHOLE))
    lines = [line.rstrip() for line in perf("offcpu", "-i", path, "-g", "none").stdout.splitlines()]
    assert lines[0] == "# Time off the CPU: 0.018 s in 4 waits; still waiting at the end, not counted: 3 threads. Periods are in nanoseconds."
    assert [line.split() for line in lines if line and not line.startswith("#")] == [
        ["43.24%", "8000000", "kthreadd"], ["37.84%", "7000000", "beta"], ["18.92%", "3500000", "alpha"]]


def folded_lines(perf, tmp_path, text, *words):
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make(text))
    done = perf(*words, "-i", path)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


@pytest.mark.sanitize
@pytest.mark.parametrize("words, wanted", [
    ("", {"alpha": 3000, "beta": 7000, "kthreadd": 8000}),
    ("-p 20", {"beta": 7000}),
    ("-t 10,2", {"alpha": 3000, "kthreadd": 8000}),
    ("-C 1", {"beta": 7000, "kthreadd": 8000}),
    ("--time 1.003,1.0065", {"alpha": 1000, "beta": 3500, "kthreadd": 3500}),
    ("--time ,1.0015", {"alpha": 500, "kthreadd": 1500}),
])
def test_timehist_folded(perf, tmp_path, words, wanted):
    """Microseconds of sleep by stack, as stackcollapse-perf-sched.awk has them: not the 0.5 ms for which alpha had lost the CPU. Waits are cut at the range."""
    lines, _ = folded_lines(perf, tmp_path, WHOLE, "sched", "timehist", "--folded", *words.split())
    depth = {"kthreadd": 1}
    assert lines == [";".join([name] + ["[unknown]"] * depth.get(name, 3)) + f" {us}" for name, us in sorted(wanted.items())]


def test_timehist_folded_depth(perf, tmp_path):
    assert folded_lines(perf, tmp_path, WHOLE, "sched", "timehist", "--folded", "-p", "20", "--max-stack", "1")[0] == ["beta;[unknown] 7000"]
    assert folded_lines(perf, tmp_path, WHOLE, "sched", "timehist", "--folded", "-p", "20", "--no-call-graph")[0] == ["beta;[unknown] 7000"]


def test_timehist_folded_without_stacks(perf, tmp_path):
    text = re.sub(r" chain=\S+", "", WHOLE.replace("|CALLCHAIN", ""))
    lines, said = folded_lines(perf, tmp_path, text, "sched", "timehist", "--folded", "-p", "20")
    assert lines == ["beta;[unknown] 7000"] and "The recording has no call chains: record them with perf sched record -g." in said


def test_timehist_folded_nothing(perf, tmp_path):
    lines, said = folded_lines(perf, tmp_path, WHOLE, "sched", "timehist", "--folded", "-p", "4711")
    assert not lines and "No task was blocked and woken up again of those that -p and -t choose." in said
    done = perf("sched", "timehist", "--folded", "-w", "-i", tmp_path / "perf.data")
    assert done.returncode == 129 and "--folded shows stacks, not lines" in done.stderr


@pytest.mark.sanitize
def test_flamegraph_of_waits(perf, tmp_path):
    """All waits, in nanoseconds; without a filter of events in between."""
    lines, _ = folded_lines(perf, tmp_path, WHOLE, "flamegraph", "--off-cpu", "--folded")
    assert lines == ["alpha;[unknown];[unknown];[unknown] 3500000", "beta;[unknown];[unknown];[unknown] 7000000", "kthreadd;[unknown] 8000000"]
    lines, _ = folded_lines(perf, tmp_path, WHOLE, "flamegraph", "--off-cpu", "--folded", "--samples", "--comms", "alpha")
    assert lines == ["alpha;[unknown];[unknown];[unknown] 2"]
    lines, _ = folded_lines(perf, tmp_path, THREADS, "flamegraph", "--off-cpu", "--folded", "--merge-comms")
    assert lines == ["[unknown];[unknown];[unknown] 10000000"]


def test_picture_of_waits(perf, tmp_path):
    """In blue: colours have more of it than of red, but for those that are grey."""
    lines, _ = folded_lines(perf, tmp_path, WHOLE, "flamegraph", "--off-cpu", "-o", "-")
    svg = "\n".join(lines)
    assert "time off the CPU, 4 waits" in svg and " ns, " in svg
    colours = {tuple(int(part, 16) for part in colour) for colour in re.findall(r"fill:#(..)..(..)\b", svg)}
    assert any(red < blue for red, blue in colours) and all(red <= blue for red, blue in colours)


def test_waits_of_a_command_as_a_picture(perf, live_system, tracefs, tmp_path):
    done = perf("flamegraph", "--off-cpu", "--folded", "--", "sleep", "0.2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [ns] = [int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines() if line.startswith("sleep;") and "nanosleep" in line]
    assert ns >= 200000000


@pytest.mark.sanitize
def test_wakers(waits, perf, tmp_path):
    """Who ended the waits, with how long these were; what an interrupt ended is nobody's."""
    assert waits(WOKEN, "--wakers") == {"beta": 3000000, "kthreadd": 4000000}
    assert waits(WOKEN, "--wakers", "-m", "3500") == {"kthreadd": 4000000}
    assert waits(WOKEN) == {"alpha": 5000000, "beta": 4000000}
    done = perf("offcpu", "-i", tmp_path / "perf.data", "--wakers")
    assert done.returncode == 0 and done.stdout.splitlines()[0] == (
        "# Time off the CPU: 0.009 s in 3 waits; still waiting at the end, not counted: 1 thread; ended by no thread, but by timers or devices: 1, 0.002 s. What ended "
        "them; periods are the nanoseconds that they lasted.")
    (tmp_path / "perf.data").write_bytes(recording.make(WHOLE))
    done = perf("offcpu", "-i", tmp_path / "perf.data", "--wakers")
    assert done.returncode == 255 and "no sched:sched_waking events; record them with 'perf record -e sched:sched_switch,sched:sched_waking -a -g'" in done.stderr


def test_wakers_of_a_command(perf, live_system, tracefs):
    """Whoever is not asked for waits and wakes, too: only the command's waits count, and the shell's child ends one of them. In buffers that hold all that the
    machine does meanwhile."""
    buffers = ["--mmap-pages", "128M"]
    done = perf("offcpu", "--wakers", *buffers, "--format", "json", "--", "sh", "-c", "sleep 0.4; true")
    assert done.returncode == 0 and "lost" not in done.stderr, done.stderr
    rows = {row["comm"]: row["period"] for row in map(json.loads, done.stdout.splitlines())}
    assert rows["sleep"] > 0  # its end wakes the shell up
    done = perf("offcpu", "--wakers", *buffers, "--", "sleep", "0.05")  # only the timer wakes it up
    assert done.returncode == 0 and ("timers or devices ended all" in done.stderr or "ended by no thread, but by timers" in done.stdout), done.stderr
    done = perf("offcpu", "--wakers", "--uid", "0", "true")
    assert done.returncode == 129 and "--wakers and --uid" in done.stderr


@pytest.mark.parametrize("words, text", [
    (["--off-cpu", "--show-event", "cycles"], "--off-cpu chooses the event"),
    (["--off-cpu", "--time", "1,2"], "perf sched timehist --folded --time START,STOP"),
])
def test_mistakes_about_pictures_of_waits(perf, tmp_path, words, text):
    (tmp_path / "perf.data").write_bytes(recording.make(WHOLE))
    done = perf("flamegraph", *words, cwd=tmp_path)
    assert done.returncode == 129 and text in done.stderr


def test_preempted_threads(perf, tmp_path):
    """Kernels tell of threads that lost the CPU with a bit of its own, above those of states: R+ is R."""
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make(HEAD + switch(1000, 0, 10, "R+", 0) + switch(3000, 0, 0, "R", 10, KERNEL)))
    sums = [json.loads(perf("offcpu", "-i", path, "--format", "json", "--state", state).stdout or "{}").get("period") for state in ("R", "S", "511")]
    assert sums == [2000000, None, None]
    assert perf("sched", "timehist", "--folded", "-i", path).stdout == ""


def test_lost_return(perf, tmp_path):
    """alpha leaves at 1 and at 4 ms: when it came back between them nobody knows. It is back from the second wait at 6 ms."""
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make(HEAD + "".join((
        switch(1000, 0, 10, "S", 0), switch(4000, 0, 10, "S", 0), switch(6000, 0, 0, "R", 10, KERNEL)))))
    first = perf("offcpu", "-i", path).stdout.splitlines()[0]
    assert first == "# Time off the CPU: 0.002 s in 1 wait; not counted because their end was not recorded: 1. Periods are in nanoseconds."


def test_folded(perf, tmp_path):
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make(WHOLE))
    folded = dict(line.rsplit(" ", 1) for line in perf("offcpu", "-f", "-u", "-i", path).stdout.splitlines())
    assert {stack.split(";")[0]: int(ns) for stack, ns in folded.items()} == {"alpha": 3500000, "beta": 7000000}
    assert all(len(stack.split(";")) == 4 for stack in folded)


@pytest.mark.parametrize("words, text", [
    (["-u", "-k"], "-u and -k cannot be combined"),
    (["-m", "5", "-M", "4"], "-m exceeds -M"),
    (["-m", "x"], "invalid number of microseconds 'x'"),
    (["--state", "Q"], "invalid state 'Q'"),
    (["--state", "RS"], "cannot be combined"),
    (["-i", "x", "true"], "-i reads a recording"),
])
def test_mistakes(perf, words, text):
    done = perf("offcpu", *words)
    assert done.returncode == 129 and text in done.stderr


def test_recording_without_switches(perf, tmp_path):
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make("event cycles type=0 config=0 sample=IP|TID|TIME flags=sample_id_all\n"))
    done = perf("offcpu", "-i", path)
    assert done.returncode == 255 and "no sched:sched_switch events; record them with 'perf record -e sched:sched_switch -a -g'" in done.stderr


def test_program_that_sleeps(perf, live_system, tracefs, tmp_path):
    """It waits at least as long as it asks for, in nanosleep, below main's caller: at once, or also for others that get the CPU when the timer has begun."""
    done = perf("offcpu", "-f", "--", "sleep", "0.2")
    assert done.returncode == 0, done.stderr
    stacks = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    found = {stack: int(ns) for stack, ns in stacks.items() if "nanosleep" in stack}
    assert sum(found.values()) >= 200000000
    assert all(re.match(r"sleep;.*__libc_start_main", stack) for stack in found), found


def test_process_by_number(perf, live_system, tracefs, tmp_path):
    """Only threads of the process, while it waits five times. It starts others when the command has begun: all counters of the process are open then."""
    log, go = tmp_path / "log", tmp_path / "go"
    log.touch()
    os.mkfifo(go)
    until = f"echo >{go}; while [ $(wc -l <{log}) -lt 5 ]; do sleep 0.01; done"
    with subprocess.Popen(["sh", "-c", f"read line <{go}; while :; do sleep 0.01; echo >>{log}; done"]) as shell:
        done = perf("offcpu", "-p", shell.pid, "--format", "json", "--", "bash", "-c", until)
        shell.kill()
    names = {json.loads(line)["comm"] for line in done.stdout.splitlines()}
    assert names and names <= {"sh", "sleep"}, done.stderr
