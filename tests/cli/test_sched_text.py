"""perf sched on recordings made by hand: the text is worked out from the times; and recordings that nothing good made."""
import json
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

FIELDS = {
    "sched_switch": (1, "prev_comm/16,prev_pid/4,prev_prio/4,prev_state/8,next_comm/16,next_pid/4,next_prio/4"),
    "sched_waking": (2, "comm/16,pid/4,target_cpu/4"),
    "sched_migrate_task": (3, "comm/16,pid/4,prio/4,orig_cpu/4,dest_cpu/4"),
    "sched_stat_runtime": (4, "comm/16,pid/4,runtime/8"),
}
# The kernel's perf learns the letters of states from here.
PRINT = """ 'print="%s", __print_flags(REC->prev_state & 255, "|", { 1, "S" }, { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "X" }, { 32, "Z" }, { 64, "P" }, { 128, "I" })'"""
HEAD = "feature nrcpus 2\n" + "".join(
    f"tracepoint sched:{name} id={number} fields={fields}{PRINT if number == 1 else ''}\n"
    f"event sched:{name} type=2 config={number} ids={number} sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW flags=sample_id_all,comm,task\n"
    for name, (number, fields) in FIELDS.items())
NAMES = {0: "swapper", 10: "alpha", 20: "beta", 21: "beta-2"}
PROCESSES = {0: 0, 10: 10, 20: 20, 21: 20}


def event(name, ms, cpu, tid, *values):
    """A sample, so many milliseconds after the first second."""
    number, fields = FIELDS[name]
    return (f"sample id={number} time={1000000000 + round(ms * 1000000)} cpu={cpu} pid={PROCESSES.get(tid, tid)} tid={tid} "
            f"raw={recording.raw_of(number, fields, *values)}\n")


def switch(ms, cpu, prev, state, following, priority=120):
    return event("sched_switch", ms, cpu, prev, NAMES[prev], prev, 120, {"R": 0, "S": 1, "D": 2}[state], NAMES[following], following, priority)


def waking(ms, cpu, tid, woken):
    return event("sched_waking", ms, cpu, tid, NAMES[woken], woken, 0)


def runtime(ms, cpu, tid, ran):
    return event("sched_stat_runtime", ms, cpu, tid, NAMES[tid], tid, round(ran * 1000000))


# Priorities are 120, but beta-2 comes with 139 at 4 ms.
#   ms   0     1     2     3     4     5     6     7     8     9    10    11    12
# CPU 0  |alpha ───────────────────────D idle ······|alpha ────S beta-2 ────────S idle
# CPU 1        |beta ────────────S beta-2 ───R beta ───────────────────S idle
#                          ^3 wakes beta-2   ^5.5 beta   ^7 alpha, runs at 7.25   ^8 beta-2 moves to CPU 0
STORY = HEAD + "".join(f"comm pid={PROCESSES[tid]} tid={tid} name={name} time=1\n" for tid, name in NAMES.items() if tid) + "".join((
    switch(0, 0, 0, "R", 10), switch(1, 1, 0, "R", 20), waking(3, 0, 10, 21),
    runtime(4, 1, 20, 3), switch(4, 1, 20, "S", 21, 139), runtime(5, 0, 10, 5), switch(5, 0, 10, "D", 0),
    waking(5.5, 1, 21, 20), runtime(6, 1, 21, 2), switch(6, 1, 21, "R", 20), waking(7, 0, 0, 10), switch(7.25, 0, 0, "R", 10),
    event("sched_migrate_task", 8, 1, 20, "beta-2", 21, 120, 1, 0),
    runtime(9, 0, 10, 1.75), switch(9, 0, 10, "S", 21), runtime(10, 1, 20, 4), switch(10, 1, 20, "S", 0),
    runtime(12, 0, 21, 3), switch(12, 0, 21, "S", 0)))


def make(folder, text):
    path = folder / "sched.data"
    path.write_bytes(recording.make(text))
    return path


@pytest.fixture
def story(perf, tmp_path):
    path = make(tmp_path, STORY)

    def lines(*words):
        done = perf("sched", *words, "-i", path)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout.splitlines()
    return lines


@pytest.mark.sanitize
def test_latency(story):
    """A task that is first met when it is switched in has a delay of 0. alpha: 0 and 7 → 7.25. beta: 0 and 5.5 → 6. beta-2: 3 → 4 and, preempted, 6 → 9."""
    assert [line.rstrip() for line in story("latency")[4:-1]] == [
        "  beta-2:21             |      5.000 ms |        2 | avg:   2.000 ms | max:   3.000 ms | max start:     1.006000 s | max end:     1.009000 s",
        "  beta:20               |      7.000 ms |        2 | avg:   0.250 ms | max:   0.500 ms | max start:     1.005500 s | max end:     1.006000 s",
        "  alpha:10              |      6.750 ms |        2 | avg:   0.125 ms | max:   0.250 ms | max start:     1.007000 s | max end:     1.007250 s",
        " -----------------------------------------------------------------------------------------------------------------",
        "  TOTAL:                |     18.750 ms |        6 |",
        " ---------------------------------------------------"]
    assert [line.split()[0] for line in story("latency", "-p", "-s", "runtime")[4:7]] == ["beta:20", "alpha:10", "beta-2:21"]


def test_who_bears_an_id_after_another(perf, tmp_path):
    """beta ends at 5 ms, and gamma, which gets its number, has run for 2 ms: not beta."""
    path = make(tmp_path, HEAD + "comm pid=20 tid=20 name=beta time=1\n" + "".join((
        switch(1, 1, 0, "R", 20), runtime(4, 1, 20, 3), switch(4, 1, 20, "S", 0), "exit pid=20 tid=20 ppid=10 ptid=10 time=1005000000\n",
        "fork pid=20 tid=20 ppid=10 ptid=10 time=1005500000\n", "comm pid=20 tid=20 name=gamma exec=1 time=1005600000\n",
        switch(6, 1, 0, "R", 20), runtime(8, 1, 20, 2), switch(8, 1, 20, "S", 0))))
    rows = [json.loads(line) for line in perf("sched", "latency", "-p", "-j", "-i", path).stdout.splitlines()]
    assert sorted((row["comm"], row["runtime"], row["count"]) for row in rows) == [("beta", 3000000, 1), ("gamma", 2000000, 1)]


# From a small process: the memory of who starts a program counts as the program's.
LARGEST = "import os, sys; status, usage = os.wait4(os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]), 0)[1:]; print(status, usage.ru_maxrss)"


def test_a_long_recording_stays_out_of_memory(perf, tmp_path):
    """What was read isn't kept: much less than the recording is there at any time, some 30 MB however long it is."""
    maker, path = recording.Maker(STORY + "round\n"), tmp_path / "sched.data"
    records = maker.data()
    maker.data = lambda: records * ((128 << 20) // len(records))
    path.write_bytes(maker.make())
    done = subprocess.run([sys.executable, "-SEc", LARGEST, perf.path, "sched", "latency", "-i", path], capture_output=True, text=True, check=True)
    status, kilobytes = map(int, done.stdout.splitlines()[-1].split())
    assert status == 0 and "beta" in done.stdout and kilobytes < 64 << 10


@pytest.mark.sanitize
def test_timehist(story):
    """wait: since the last switch-out; delay: since the wake-up, or since being preempted (beta-2 at 6, the idle task at 5)."""
    assert [line.rstrip() for line in story("timehist")[3:]] == [
        "       1.000000 [0000]  <idle>                              0.000      0.000      0.000",
        "       1.001000 [0001]  <idle>                              0.000      0.000      0.000",
        "       1.004000 [0001]  beta[20]                            0.000      0.000      3.000",
        "       1.005000 [0000]  alpha[10]                           0.000      0.000      5.000",
        "       1.006000 [0001]  beta-2[21/20]                       0.000      1.000      2.000",
        "       1.007250 [0000]  <idle>                              5.000      5.000      2.250",
        "       1.009000 [0000]  alpha[10]                           2.250      0.250      1.750",
        "       1.010000 [0001]  beta[20]                            2.000      0.500      4.000",
        "       1.012000 [0000]  beta-2[21/20]                       3.000      3.000      3.000"]
    full = [line.rstrip() for line in story("timehist", "-w", "-M", "-n", "--state", "--show-prio")[3:]]
    assert full[2] == "       1.003000 [0000]  alpha[10]                                                        awakened: beta-2[21/20]"
    assert full[6] == "       1.006000 [0001]  beta-2[21/20]                   139->120      0.000      1.000      2.000      R  next: beta[20]"
    assert full[9] == "       1.008000 [0001]  beta[20]                                                         migrated: beta-2[21/20] cpu 1 => 0"
    assert full[10] == "       1.009000 [0000]  alpha[10]                       120           2.250      0.250      1.750      S  next: beta-2[21]"
    assert len(full) == 13


def test_timehist_before_migrations(story, perf):
    """beta-2 is preempted on CPU 1 at 6, moved at 8, and runs on CPU 0 from 9 on."""
    title, units, dashes, *lines = story("timehist", "--pre-migrations", "-M", "--state")
    assert [line[54:] for line in (title, units, dashes)] == ["  wait time  sch delay  pre-mig time   run time  state", "     (msec)     (msec)        (msec)     (msec)       ",
                                                              "  ---------  ---------  ------------  ---------  -----"]
    assert lines[-1].rstrip() == "       1.012000 [0000]  beta-2[21/20]                       3.000      3.000         2.000      3.000      S"
    assert [line.split()[5] for line in lines[:-1] if "migrated" not in line] == ["0.000"] * 8
    moved, = (line for line in lines if "migrated" in line)
    assert moved.index("migrated:") == 14 + next(line for line in story("timehist", "-M", "--state") if "migrated" in line).index("migrated:")
    for words in (["-s"], ["--folded"]):
        assert perf("sched", "timehist", "--pre-migrations", *words).returncode == 129


def test_timehist_time(story):
    """4.5 to 8.25 ms: runs are cut at both ends; the first of CPU 0, which began before, is shown from 4.5 on; beta-2 was woken at 3."""
    assert [line.split()[:1] + line.split()[2:] for line in story("timehist", "--time", "1.0045,1.00825")[3:]] == [
        ["1.005000", "alpha[10]", "0.000", "0.000", "0.500"], ["1.006000", "beta-2[21/20]", "0.000", "1.500", "1.500"],
        ["1.007250", "<idle>", "5.000", "5.000", "2.250"], ["1.008250", "alpha[10]", "2.250", "0.250", "1.000"],
        ["1.008250", "beta[20]", "2.000", "0.500", "2.250"]]
    first = story("timehist", "--time", ",1.0045")[3:]
    assert [line.split()[0] for line in first] == ["1.004000", "1.004500", "1.004500"], "where runs began isn't known of the first switches"


@pytest.mark.sanitize
def test_timehist_sums(story):
    """alpha ran 5 and 1.75: mean 3.375, standard error of the mean |5 - 1.75| / 2 = 1.625, which is 48.15 %. CPU 0 was idle for 2.25 of 12 ms."""
    sums = story("timehist", "-s")
    assert [line.split() for line in sums[5:8]] == [
        "alpha[10] -1 2 6.750 1.750 3.375 5.000 48.15 0".split(), "beta[20] -1 2 7.000 3.000 3.500 4.000 14.29 0".split(),
        "beta-2[21/20] -1 2 5.000 2.000 2.500 3.000 20.00 1".split()]
    assert sums[8:] == ["", "Idle stats:", "    CPU  0 idle for      2.250  msec  ( 18.75%)", "    CPU  1 idle for      0.000  msec  (  0.00%)", "",
                        "    Total number of unique tasks: 3", "Total number of context switches: 9", "           Total run time (msec): 18.750 ",
                        "    Total scheduling time (msec): 12.000  (x 2)"]
    waits = story("timehist", "-s", "--state")
    assert waits[2].split()[3:] == "run-time sleep iowait preempt delay".split()
    assert [line.split() for line in waits[5:8]] == [
        "alpha[10] -1 2 6.750 0.000 2.250 0.000 0.250".split(), "beta[20] -1 2 7.000 2.000 0.000 0.000 0.500".split(),
        "beta-2[21/20] -1 2 5.000 0.000 0.000 3.000 4.000".split()]
    assert story("timehist", "-S")[3:] == story("timehist")[3:] + sums


def test_timehist_idle(story):
    """Who left CPU 0 at 5 is alpha; who left the CPUs before the first switches isn't known."""
    assert [line.split() for line in story("timehist", "-I")[3:]] == ["1.007250 [0000] <idle> 5.000 5.000 2.250".split()]
    assert story("timehist", "-I", "-s")[5].split() == "alpha[10] -1 1 2.250 2.250 2.250 2.250 0.00 0".split()


@pytest.fixture
def rows(story, perf, tmp_path):
    """The rows of a subcommand as values, in the order of its columns."""
    def read(*words):
        done = perf("sched", *words, "-j", "-i", tmp_path / "sched.data")
        assert done.returncode == 0 and not done.stderr
        made = [json.loads(line) for line in done.stdout.splitlines()]
        csv = perf("sched", *words, "--format", "csv", "-i", tmp_path / "sched.data").stdout.splitlines()
        assert {tuple(row) for row in made} <= {tuple(line.split(",")) for line in csv}, "the same columns"
        return made
    return read


MS = 1000000


@pytest.mark.sanitize
def test_timehist_for_programs(rows):
    """Line by line what the text says, to the nanosecond; columns are those that were asked for."""
    made = rows("timehist")
    assert list(made[0]) == ["time", "cpu", "comm", "tid", "pid", "wait", "delay", "run"]
    assert [tuple(row.values()) for row in made[2:]] == [
        (1004 * MS, 1, "beta", 20, 20, 0, 0, 3 * MS), (1005 * MS, 0, "alpha", 10, 10, 0, 0, 5 * MS), (1006 * MS, 1, "beta-2", 21, 20, 0, MS, 2 * MS),
        (1007250000, 0, "<idle>", 0, 0, 5 * MS, 5 * MS, 2250000), (1009 * MS, 0, "alpha", 10, 10, 2250000, 250000, 1750000),
        (1010 * MS, 1, "beta", 20, 20, 2 * MS, 500000, 4 * MS), (1012 * MS, 0, "beta-2", 21, 20, 3 * MS, 3 * MS, 3 * MS)]
    full = rows("timehist", "-w", "-M", "-n", "--state", "--show-prio", "--pre-migrations")
    assert list(full[0]) == ["time", "cpu", "comm", "tid", "pid", "prio", "wait", "delay", "pre_migration", "run", "state", "next_comm", "next_tid", "event",
                             "other_comm", "other_tid", "from_cpu", "to_cpu"]
    assert [row["event"] for row in full].count("switch") == 9 and len(full) == 13
    assert tuple(full[2].values()) == (1003 * MS, 0, "alpha", 10, 10, 0, 0, 0, 0, 0, "", "", 0, "wakeup", "beta-2", 21, 0, 0)
    assert tuple(full[9].values()) == (1008 * MS, 1, "beta", 20, 20, 0, 0, 0, 0, 0, "", "", 0, "migration", "beta-2", 21, 1, 0)
    assert tuple(full[10].values()) == (1009 * MS, 0, "alpha", 10, 10, 120, 2250000, 250000, 0, 1750000, "S", "beta-2", 21, "switch", "", 0, 0, 0)
    assert (full[-1]["pre_migration"], full[-1]["comm"]) == (2 * MS, "beta-2")


@pytest.mark.sanitize
def test_timehist_sums_for_programs(rows):
    sums = rows("timehist", "-s")
    assert [tuple(row.values()) for row in sums] == [
        ("tasks", "alpha", 10, 10, 0, 2, 6750000, 1750000, 3375000, 5 * MS, 48.1481, 0, 2250000, 0, 250000, 0),
        ("tasks", "beta", 20, 20, 0, 2, 7 * MS, 3 * MS, 3500000, 4 * MS, 14.2857, 2 * MS, 0, 0, 500000, 0),
        ("tasks", "beta-2", 21, 20, 0, 2, 5 * MS, 2 * MS, 2500000, 3 * MS, 20.0, 0, 0, 3 * MS, 4 * MS, 1),
        ("cpus", 0, 2, 2250000, 12 * MS), ("cpus", 1, 1, 0, 12 * MS)]
    both = rows("timehist", "-S")
    assert [row for row in both if row["table"] != "lines"] == sums
    assert [{"table": "lines", **row} for row in rows("timehist")] == [row for row in both if row["table"] == "lines"]


@pytest.mark.sanitize
def test_map_for_programs(rows):
    assert [tuple(row.values()) for row in rows("map")] == [
        (1000 * MS, 0, "A0", "alpha", 10), (1001 * MS, 1, "B0", "beta", 20), (1004 * MS, 1, "C0", "beta-2", 21), (1005 * MS, 0, ".", "swapper", 0),
        (1006 * MS, 1, "B0", "beta", 20), (1007250000, 0, "A0", "alpha", 10), (1009 * MS, 0, "C0", "beta-2", 21), (1010 * MS, 1, ".", "swapper", 0),
        (1012 * MS, 0, ".", "swapper", 0)]
    assert [(row["time"], row["name"]) for row in rows("map", "--cpus", "1", "--task-name", "beta")] == [
        (1001 * MS, "A0"), (1004 * MS, "-"), (1006 * MS, "A0"), (1010 * MS, ".")]


def test_rows_of_a_long_recording(perf, tmp_path):
    """More than are kept: the header of csv comes once, no row is missing."""
    path = make(tmp_path, HEAD + "comm pid=10 tid=10 name=alpha time=1\n" + "".join(
        switch(number, 0, 10, "S", 0) + switch(number + 0.5, 0, 0, "R", 10) for number in range(3000)))
    lines = perf("sched", "map", "--format", "csv", "-i", path).stdout.splitlines()
    assert lines[0] == "time,cpu,name,comm,tid" and lines.count(lines[0]) == 1 and len(lines) == 6001
    assert [line.split(",")[0] for line in lines[1:]] == [str(1000 * MS + number * MS // 2) for number in range(6000)]


def test_rows_refuse_what_is_for_people(perf, story, tmp_path):
    for words in (("timehist", "-V"), ("timehist", "--folded"), ("timehist", "-s", "--state"), ("timehist", "-s", "--show-prio"), ("map", "--compact"),
                  ("map", "--color-cpus", "1"), ("map", "--color-pids", "10")):
        done = perf("sched", *words, "--json", "-i", tmp_path / "sched.data")
        assert done.returncode == 129 and "--format " in done.stderr and not done.stdout


@pytest.mark.sanitize
def test_map(story):
    lines = story("map")
    assert [line.rstrip() for line in lines] == [
        "  *A0           1.000000 secs A0 => alpha:10", "   A0 *B0       1.001000 secs B0 => beta:20", "   A0 *C0       1.004000 secs C0 => beta-2:21",
        "  *.   C0       1.005000 secs .  => swapper:0", "   .  *B0       1.006000 secs", "  *A0  B0       1.007250 secs", "  *C0  B0       1.009000 secs",
        "   C0 *.        1.010000 secs", "  *.   .        1.012000 secs"]
    assert story("map", "--cpus", "1")[1].rstrip() == "   A0 *C0       1.004000 secs C0 => beta-2:21"
    assert [line.split()[-1] for line in story("map", "--task-name", "beta") if "=>" in line] == ["beta:20"]


def map_lines(switches, columns, compact):
    """What `map` prints of switches (ms, cpu, previous, next) of tasks alpha, beta and beta-2: worked out step by step, with nothing kept of the line before."""
    names, running, order, lines = {0: ". "}, {}, [], []
    for ms, cpu, _, task in switches:
        is_new = task not in names
        names.setdefault(task, chr(ord("A") + len(names) - 1) + "0")
        is_first = cpu not in order
        order += [cpu] * is_first
        running[cpu] = task
        columns = max(columns, cpu + 1)
        cells = "".join(f"{'*' if at == cpu else ' '}{names.get(running.get(at), '  ')} " for at in (order if compact else range(columns)))
        explained = f"{names[task]} => {NAMES[task]}:{task}" if is_new or (task == 0 and not any(" => swapper" in line for line in lines)) else ""
        lines.append(f"  {cells}  {1 + ms / 1000:12.6f} secs {explained}" + (f" (CPU {cpu})" if compact and is_first else ""))
    return lines


@pytest.mark.sanitize
@pytest.mark.parametrize("compact", [False, True])
def test_map_of_many_cpus(perf, tmp_path, compact):
    """More columns than the recording's machine has CPUs come where they are needed; each line has those of the line before, but for one."""
    switches = [(number, (number * 37 + number // 7) % 150, (10, 20, 21, 0)[number % 4], (20, 21, 0, 10)[number * 5 // 3 % 4]) for number in range(1, 900)]
    path = make(tmp_path, HEAD + "".join(f"comm pid={PROCESSES[tid]} tid={tid} name={name} time=1\n" for tid, name in NAMES.items() if tid) + "".join(
        switch(ms, cpu, before, "S", following) for ms, cpu, before, following in switches))
    done = perf("sched", "map", *["--compact"] * compact, "-i", path)
    assert done.returncode == 0 and done.stdout.splitlines() == map_lines(switches, 2, compact)


SUBCOMMANDS = (["latency"], ["latency", "-p"], ["latency", "--format", "json"], ["timehist", "-w", "-M", "-n", "-V", "--state", "--show-prio"],
               ["timehist", "-s", "--state"], ["timehist", "-I", "-S"], ["map"], ["map", "--compact"], ["script"])


def bad_switch(ms, cpu, prev, state, following, name="x", priority=120):
    return event("sched_switch", ms, cpu, 5, name, prev, priority, state, name, following, priority)


HOSTILE = {
    "names": "".join(bad_switch(i, 0, i, 0, i + 1, name="\x1b[31m\n\t\x07|\udcff") + f'comm pid={i} tid={i} time=1 name="\x1b]0;x\x07"\n' for i in range(9)),
    "CPUs": "".join(bad_switch(i, cpu, i, 1, i + 1) for i, cpu in enumerate((1 << 31, (1 << 32) - 1, 1 << 20, 4096, 65535, 65536, 0))),
    "pids": "".join(bad_switch(i, 0, pid, 1, -pid) + event("sched_waking", i, 0, 5, "x", -pid, -1) for i, pid in enumerate((-1, -2, -1 << 31, 1 << 30, 0))),
    "states": "".join(bad_switch(i, 0, 1, state, 2) for i, state in enumerate((-1, 1 << 63, 1 << 62, 1 << 9, 1 << 8))),
    "priorities": "".join(bad_switch(i, 0, 1, 1, 2, priority=priority) for i, priority in enumerate((-1, 140, 1 << 30, -1 << 31))),
    "times backwards": "".join(switch(100 - i, i % 2, 10, "S", 20) + waking(90 - i, 0, 10, 10) for i in range(30)),
    "the end of time": "".join(switch(18446744072709 - i, 0, 10, "S", 20) for i in range(3)) + switch(0, 0, 20, "R", 10),
    "no time": "".join(switch(-1000, 0, 10, "S", 20) + switch(-1000, 0, 20, "R", 10) for _ in range(3)),
    "short": "".join(f"sample id={number} time=1000 cpu=0 pid=1 tid=1 raw={'01' * size}\n" for number in (1, 2, 3, 4) for size in (0, 1, 9, 20)),
    "many CPUs": "".join(bad_switch(i / 100, i * 13, i, i % 3, i + 1) for i in range(500)),
    "nothing": "",
}


@pytest.mark.sanitize
@pytest.mark.parametrize("words", SUBCOMMANDS, ids=" ".join)
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile(perf, tmp_path, what, words):
    """Status 0, or an error in a sentence; no escape sequence comes through."""
    path = make(tmp_path, HEAD + HOSTILE[what])
    done = perf("sched", *words, "-i", path)
    assert done.returncode in (0, 255), done.stderr
    assert done.returncode == 0 or done.stderr.startswith("perf "), done.stderr
    assert not any(character in done.stdout + done.stderr for character in "\x1b\x07")


def test_many_cpus_of_the_machine(perf, tmp_path):
    """A header of four billion CPUs makes no line of four billion columns."""
    path = make(tmp_path, STORY.replace("nrcpus 2", f"nrcpus {(1 << 32) - 1}"))
    for words in SUBCOMMANDS:
        done = perf("sched", *words, "-i", path)
        assert done.returncode == 0 and len(done.stdout) < 1 << 20


def test_what_is_missing(perf, tmp_path):
    """No sched_switch events; fields that the format lacks are 0."""
    path = make(tmp_path, "event cycles type=0 config=0 sample=IP|TID|TIME\nsample event=0 ip=1 pid=1 tid=1 time=5\n")
    for words in (["latency"], ["timehist"], ["map"]):
        done = perf("sched", *words, "-i", path)
        assert done.returncode == 255 and "no sched:sched_switch events; record them with 'perf sched record'" in done.stderr and not done.stdout
        missing = perf("sched", *words, cwd=tmp_path)
        assert missing.returncode == 255 and "make one with 'perf sched record' first" in missing.stderr
    path = make(tmp_path, STORY.replace("next_prio/4", "other/4").replace("runtime/8", "walltime/8"))
    done = perf("sched", "latency", "-i", path)
    assert done.returncode == 0 and "|      0.000 ms |        2 | avg:   2.000 ms" in done.stdout
    assert "139->" not in perf("sched", "timehist", "--show-prio", "-i", path).stdout


def test_several_events_of_one_name(perf, story, tmp_path):
    """As two -e of one event make them: both are followed."""
    lines = STORY.splitlines()
    twin = next(line for line in lines if line.startswith("event sched:sched_switch")).replace("ids=1 ", "ids=9 ")
    lines = [line.replace("sample id=1 ", "sample id=9 ") if number % 2 else line for number, line in enumerate(lines)]
    lines.insert(1, twin)
    path = make(tmp_path, "\n".join(lines))
    assert sum(line.startswith("sample id=9 ") for line in lines) not in (0, 9)
    for words in (["latency"], ["timehist"], ["map"]):
        assert perf("sched", *words, "-i", path).stdout.splitlines() == story(*words)


def test_words(perf, story, tmp_path):
    """Help, abbreviations, and words that are wrong."""
    short, long = perf("sched", "latency", "-h"), perf("sched", "lat", "--help")
    assert short.returncode == perf("report", "-h").returncode and short.stdout == long.stdout and "--sort" in short.stdout and "perf sched latency" in short.stdout
    assert "latency" in perf("sched", "-h").stdout and perf("help", "sched", "latency").returncode == 0
    assert "sched" in perf("--list-cmds").stdout.split()
    assert story("lat") == story("latency") and story("tim") == story("timehist")
    for words, said in (((), "which subcommand?"), (("nothing",), "unknown subcommand 'nothing'"), (("latency", "x"), "unexpected argument 'x'"),
                        (("latency", "-s", "x", "-i", tmp_path / "sched.data"), "unknown sort key 'x'"), (("timehist", "--time", "x"), "expected START,STOP"),
                        (("map", "--cpus", "x"), "expected a list"), (("map", "--cpus", "3,4096"), "4096 is too large, at most 4095"), (("latency", "--format", "x"), "invalid format 'x': use csv or json"),
                        (("timehist", "--time", "5,3"), "ends before it begins"), (("timehist", "-s", "-w"), "-s shows no lines"),
                        (("map", "--fuzzy-name"), "--fuzzy-name requires --task-name"), (("-i", "x", "record", "true"), "options of 'perf sched record' follow its name")):
        done = perf("sched", *words)
        assert done.returncode == 129 and said in done.stderr, done.stderr
    refused = perf("help", "sched", "nothing")
    assert refused.returncode == 129 and "no such subcommand" in refused.stderr
    assert story("latency", "-s", "avg, max") == story("latency", "-s", "avg,max")
    assert perf("sched", "record", "--list-opts").stdout == perf("record", "--list-opts").stdout


def test_range_without_events(perf, story, tmp_path):
    """No time passes in it."""
    story("timehist")
    done = perf("sched", "timehist", "-s", "--time", ",0.5", "-i", tmp_path / "sched.data")
    assert "    Total scheduling time (msec):  0.000  (x 2)\n" in done.stdout


def test_nothing(perf, tmp_path):
    """Also for programs, which get no row, it is told."""
    path = make(tmp_path, HEAD)
    for words in (["latency"], ["map"], ["timehist"]):
        for form in ([], ["--json"]):
            done = perf("sched", *words, *form, "-i", path)
            assert not done.returncode and done.stderr == "perf: There are no context switches in the recording.\n", words
            assert not form or not done.stdout


def test_switches_alone(perf, tmp_path):
    """A recording without wake-ups: nothing can be said of their order."""
    path = make(tmp_path, "\n".join(line for line in STORY.splitlines() if not line.startswith("sample id=2 ")))
    done = perf("sched", "latency", "-i", path)
    assert done.returncode == 0 and "inf" not in done.stdout and "nan" not in done.stdout


def test_latency_of_some_cpus(perf, story, tmp_path):
    """What happened on other CPUs is known all the same: the delays of all CPUs one by one are those of all together."""
    def rows(*words):
        done = perf("sched", "latency", "-p", "--format", "json", "-i", tmp_path / "sched.data", *words)
        assert done.returncode == 0, done.stderr
        return {row["tid"]: row for row in map(json.loads, done.stdout.splitlines())}
    story("latency")
    assert perf("sched", "latency", "--format", "csv", "-i", tmp_path / "sched.data").stdout.startswith("comm,tid,tasks,runtime,")
    whole, parts = rows(), [rows("-C", cpu) for cpu in (0, 1)]
    assert len(whole) > 1 and all(parts)
    for tid, row in whole.items():
        own = [part[tid] for part in parts if tid in part]
        assert sum(part["count"] for part in own) == row["count"] and max(part["max"] for part in own) == row["max"]


@pytest.mark.parametrize("words, options", [(("timehist", "-p", 999999), "-C, -p, -t, --prio and --time"), (("map", "--cpus", 77), "--cpus and --task-name"),
                                            (("map", "--task-name", "nosuch"), "--cpus and --task-name"), (("latency", "-C", 77), "-C and --time")])
def test_nothing_is_chosen(perf, story, tmp_path, words, options):
    story("latency")
    done = perf("sched", *words, "-i", tmp_path / "sched.data")
    assert done.returncode == 0 and f"No context switch in the recording matches {options}." in done.stderr
    assert "No context switch" not in perf("sched", words[0], "-i", tmp_path / "sched.data").stderr


def test_map_of_a_very_large_machine(perf, story, tmp_path):
    lines = story("map")
    path = make(tmp_path, STORY + switch(13, 5000, 0, "R", 10))
    done = perf("sched", "map", "-i", path)
    assert done.returncode == 0 and done.stdout.splitlines() == lines and "Switches on CPUs above 4095 are not shown: 1." in done.stderr


@pytest.mark.sanitize
@pytest.mark.threads
def test_replay(story):
    """Steps of STORY: the idle CPU 0 wakes alpha (7), beta-2 wakes beta (5.5); the wake-up of beta-2, of which no sleep is known, is none. No run can be
    shorter than beta's 3 + 4 ms, and none takes less CPU time than the 18.75 ms that tasks ran; the 2.25 ms of the idle CPU are slept through."""
    lines = story("replay", "-r", "3")
    assert re.fullmatch(r"run measurement overhead: \d+ nsecs", lines[0]) and re.fullmatch(r"sleep measurement overhead: \d+ nsecs", lines[1])
    assert lines[2:10] == [
        "nr_run_events:        9", "nr_sleep_events:      2", "nr_wakeup_events:     2",
        "task      0 (             swapper:         0), nr_events: 3",
        "task      1 (               alpha:        10), nr_events: 3",
        "task      2 (                beta:        20), nr_events: 3",
        "task      3 (              beta-2:        21), nr_events: 4",
        "------------------------------------------------------------"]
    runs = [re.fullmatch(r"#(\d)  : ([\d.]+), ravg: ([\d.]+), cpu: ([\d.]+) / ([\d.]+)", line) for line in lines[10:]]
    assert [run[1] for run in runs] == ["1", "2", "3"]
    walls, cpus = [float(run[2]) for run in runs], [float(run[4]) for run in runs]
    assert min(walls) >= 7 and min(cpus) >= 18.75
    assert abs(float(runs[2][3]) - sum(walls) / 3) < 0.1 and abs(float(runs[2][5]) - sum(cpus) / 3) < 0.1


def test_wake_ups_that_are_told_twice(perf, story, tmp_path):
    """sched_wakeup tells later of what sched_waking has told: where a recording has both, it counts for nothing."""
    number, fields = 5, FIELDS["sched_waking"][1]
    head = (f"tracepoint sched:sched_wakeup id={number} fields={fields}\nevent sched:sched_wakeup type=2 config={number} ids={number} "
            "sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW flags=sample_id_all,comm,task\n")
    # Also of a thread that runs by then, alpha's at 7.3 ms, after 7.25; and one that sched_waking doesn't tell of, at 6.
    later = "".join(f"sample id={number} time={1000000000 + round(ms * 1000000)} cpu=0 pid=0 tid=0 raw={recording.raw_of(number, fields, NAMES[woken], woken, 0)}\n"
                    for ms, woken in ((3.1, 21), (5.6, 20), (6, 10), (7.3, 10)))
    (tmp_path / "again").mkdir()
    again = make(tmp_path / "again", head + STORY + later)
    for words in (["latency", "-p"], ["timehist"], ["replay", "-r", "1"]):
        done = perf("sched", *words, "-i", again)
        assert done.returncode == 0, done.stderr
        timed = re.compile(r"overhead: \d+|^#.*", re.M)  # of the replay, what the machine took
        assert timed.sub("", done.stdout) == timed.sub("", "".join(line + "\n" for line in story(*words)))


def test_replay_mistakes(perf, tmp_path):
    path = make(tmp_path, STORY)
    for words, text in ((["-r", "0"], "-r 0: a number of runs, or -1"), (["-r", "-2"], "-r -2: a number")):
        done = perf("sched", "replay", *words, "-i", path)
        assert done.returncode == 129 and text in done.stderr
    done = perf("sched", "replay", "-i", make(tmp_path, HEAD))
    assert done.returncode == 255 and "no context switches to repeat" in done.stderr


# Two snapshots of two CPUs with one domain each, as version 15 has them: what was counted between them is a tenth of the second one's numbers.
def stats_snapshot(times, time, version=15, scale=1):
    lines = []
    for cpu in (0, 1):
        names = ("yld_count", "array_exp", "sched_count", "sched_goidle", "ttwu_count", "ttwu_local", "rq_cpu_time", "run_delay", "pcount")
        values = [0, 0, 1000, 250, 800, 200, 5_000_000_000, 500_000_000, 700]
        lines.append(f"schedstat_cpu timestamp={time} cpu={cpu} version={version} " + " ".join(f"{name}={value * times * scale}" for name, value in zip(names, values)))
        fields = ",".join(str((i + 1) * times) for i in range(36 if version < 17 else 46))
        lines.append(f"schedstat_domain timestamp={time} cpu={cpu} version={version} domain=0 values={fields}")
    return "\n".join(lines) + "\n"


STATS_HEAD = "event dummy type=1 config=9 sample=IP|TID|TIME flags=sample_id_all\n"


@pytest.mark.sanitize
def test_stats_report(perf, tmp_path):
    """Sums of both CPUs, then each of them; percentages of what a count is a part of; jiffies between two occurrences."""
    done = perf("sched", "stats", "report", "-i", make(tmp_path, STATS_HEAD + stats_snapshot(1, 1000) + stats_snapshot(2, 3000)))
    assert done.returncode == 0 and not done.stderr, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line and not line.startswith("---")]
    assert lines[0] == "Time between the snapshots: 2000 jiffies. Times are in nanoseconds.".split()
    assert lines[1:11] == [
        ["All", "CPUs,", "added", "up"],
        ["yld_count", ":", "0"], ["array_exp", ":", "0"], ["sched_count", ":", "2000"],
        ["sched_goidle", ":", "500", "25.00", "%", "of", "sched_count"], ["ttwu_count", ":", "1600"],
        ["ttwu_local", ":", "400", "25.00", "%", "of", "ttwu_count"], ["rq_cpu_time", ":", "10000000000"],
        ["run_delay", ":", "1000000000", "10.00", "%", "of", "rq_cpu_time"], ["pcount", ":", "1400"]]
    assert lines[11] == ["All", "CPUs,", "domain", "0"]
    names = [line[0] for line in lines[12:48]]
    assert names[0] == "idle_lb_count" and names[8] == "busy_lb_count" and names[16] == "newidle_lb_count" and names[35] == "ttwu_move_balance"
    assert lines[12] == ["idle_lb_count", ":", "2", "every", "1000.00", "jiffies"] and lines[13] == ["idle_lb_balanced", ":", "4"]
    assert lines[48] == ["CPU", "0"] and lines[58] == ["CPU", "0,", "domain", "0"] and lines[95] == ["CPU", "1"]


def test_stats_of_newer_kernels(perf, tmp_path):
    """Version 16 has the busy CPU first, 17 four kinds of imbalance."""
    def names(version):
        done = perf("sched", "stats", "report", "-i", make(tmp_path, STATS_HEAD + stats_snapshot(1, 1000, version) + stats_snapshot(2, 3000, version)))
        text = done.stdout.split("All CPUs, domain 0")[1].split("\n\n")[0]
        return [line.split()[0] for line in text.splitlines()[2:]]
    assert names(16)[0] == "busy_lb_count" and names(16)[8] == "idle_lb_count" and len(names(16)) == 36
    assert names(17)[3:7] == ["busy_lb_imbalance_load", "busy_lb_imbalance_util", "busy_lb_imbalance_task", "busy_lb_imbalance_misfit"]
    assert len(names(17)) == 45


def test_stats_diff(perf, tmp_path):
    for name, scale in (("perf.data.old", 1), ("perf.data", 3)):
        (tmp_path / name).write_bytes(recording.make(STATS_HEAD + stats_snapshot(1, 1000, 15, scale) + stats_snapshot(2, 3000, 15, scale)))
    done = perf("sched", "stats", "diff", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["sched_count", ":", "2000", "6000", "+200.00", "%"] in lines and ["yld_count", ":", "0", "0"] in lines
    assert done.stdout == perf("sched", "stats", "diff", "perf.data.old", "perf.data", cwd=tmp_path).stdout


def test_stats_for_programs(perf, tmp_path):
    """The jiffies, then a row for each value: of each CPU and of its domains; of two recordings of all together."""
    for name, scale in (("perf.data.old", 1), ("perf.data", 3)):
        (tmp_path / name).write_bytes(recording.make(STATS_HEAD + stats_snapshot(1, 1000, 15, scale) + stats_snapshot(2, 3000, 15, scale)))

    def rows(*words):
        done = perf("sched", "stats", *words, cwd=tmp_path)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]
    first, *values = rows("report", "-j", "-i", "perf.data.old")
    assert first == {"jiffies": 2000} and len(values) == 2 * (9 + 36)
    assert values[2] == {"cpu": 0, "value": 1000, "domain": "", "name": "sched_count"}
    assert values[45 + 9] == {"cpu": 1, "value": 1, "domain": "0", "name": "idle_lb_count"}
    first, *values = rows("diff", "--format", "json")
    assert first == {"before": 2000, "now": 2000} and len(values) == 9 + 36
    assert {"before": 2000, "now": 6000, "domain": "", "name": "sched_count"} in values
    assert {"before": 2, "now": 2, "domain": "0", "name": "idle_lb_count"} in values


@pytest.mark.parametrize("words, text", [
    (["report"], "has no two snapshots of scheduler statistics; record them with: perf sched stats record"),
    (["diff", "a"], "diff compares two recordings: name both, or none"),
    (["record", "-j"], "record writes a recording: --format and -j are for report and diff"),
    (["rope"], "which one: record, report or diff?"),
    ([], "which one: record, report or diff?"),
])
def test_stats_mistakes(perf, tmp_path, words, text):
    (tmp_path / "perf.data").write_bytes(recording.make(STATS_HEAD + stats_snapshot(1, 1000)))
    done = perf("sched", "stats", *words, cwd=tmp_path)
    assert done.returncode and text in done.stderr


def test_stats_where_there_are_none(perf, tmp_path):
    if pathlib.Path("/proc/schedstat").exists():
        pytest.skip("this kernel has /proc/schedstat")
    done = perf("sched", "stats", "record", "--", "true", cwd=tmp_path)
    assert done.returncode == 255 and "keeps no statistics of its scheduler" in done.stderr and not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["latency"], ["timehist"], ["map"], ["replay"], ["timehist", "-s"]], ids=" ".join)
def test_raw_dump(perf, tmp_path, words):
    """-D, also in front of the subcommand: each record as `report -D` shows it, and nothing of the analysis."""
    path = make(tmp_path, STORY)
    done = perf("sched", *words, "-D", "-i", path)
    assert done.returncode == 0 and "PERF_RECORD_SAMPLE" in done.stdout and perf("report", "-D", "-i", path).stdout.startswith(done.stdout.rstrip("\n"))
    assert perf("sched", "-D", "-i", path, *words).stdout == done.stdout
