"""perf sched tells what the kernel's perf tells of the same recording, line by line.

What the kernel's perf can't judge is left out line by line, and how many lines were compared is asserted:
 - It forgets the names of threads that have ended: ":123" or ":-1". Their times are 0 then, and -p misses them.
 - Before 6.10 `timehist` has no delay for a task that was preempted: it is ready to run all the time. What is expected is then made of the kernel's own
   figures: the delay of a run whose task left the CPU before as runnable is its whole wait time.
 - `latency` of 6.1 doesn't read sched_waking, and takes the state R+ of a preempted task from behind the end of a string: the recording has sched_wakeup,
   and tasks that were ever preempted are left out."""
import collections
import functools
import os
import re
import subprocess

import pytest

EVENTS = ["sched_switch", "sched_stat_runtime", "sched_process_fork", "sched_wakeup_new", "sched_migrate_task"]
# Processes that sleep and wake up; above the others where that is allowed, so that they aren't preempted. Two that talk to each other, and threads that compute.
LOAD = """
import os, subprocess, threading, time
def sleeper():
    if len(children) % 2:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except OSError:
        pass
    for _ in range(10):
        time.sleep(0.003)
    os.read(stay, 1)
def answer():
    for _ in range(200):
        os.write(back, os.read(question, 1))
    os.read(stay, 1)
def spin():
    begin = time.thread_time()
    while time.thread_time() - begin < 0.03:
        pass
stay, end = os.pipe()
question, ask = os.pipe()
reply, back = os.pipe()
children = []
for work in [sleeper] * 12 + [answer]:
    child = os.fork()
    if not child:
        os.close(end)
        work()
        os._exit(0)
    children.append(child)
threads = [threading.Thread(target=spin) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(200):
    os.write(ask, b"x")
    os.read(reply, 1)
for thread in threads:
    thread.join()
for _ in range(5):
    subprocess.run(["true"])
os.close(end)
for child in children:
    os.waitpid(child, 0)
"""


# Room for all of it, however late a busy machine lets the recorder read: where events are missing, the two judge differently.
ROOM = ["-m", "64M"]


def record(perf, path, *words):
    done = perf(*words, "-q", "-o", path, "--", "python3", "-c", LOAD)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory, live_system, tracefs):
    return tmp_path_factory.mktemp("sched")


@pytest.fixture(scope="module")
def recording(perf, folder):
    return record(perf, folder / "sched.data", "sched", "record", *ROOM)


@pytest.fixture(scope="module")
def stacks(perf, folder):
    return record(perf, folder / "stacks.data", "sched", "record", "-g", *ROOM)


LOST = re.compile(r" *\d+\.\d+ lost \d+ events on cpu \d+")  # as the kernel's perf tells between the others what a busy machine has dropped


def lines(tool, path, *words):
    done = subprocess.run([tool, "sched", *words, "-i", path], capture_output=True, text=True, errors="replace", check=True)
    return [line for line in done.stdout.splitlines() if not LOST.fullmatch(line)]


SWITCH = re.compile(r"\s*\[(?P<number>\d+)\]\s+(?P<time>\d+\.\d+):\s+sched:sched_switch: .*prev_pid=(?P<prev_pid>\d+) prev_prio=(?P<prev_prio>-?\d+) "
                    r"prev_state=(?P<prev_state>\S+) ==> .*next_pid=(?P<next_pid>\d+) next_prio=(?P<next_prio>-?\d+)")


@functools.lru_cache(maxsize=None)
def events(oracle, path):
    """The fields of each sched_switch event, in order, as the kernel's perf prints them: one answer for all tests."""
    done = subprocess.run([oracle, "script", "-F", "cpu,time,event,trace", "-i", path], capture_output=True, text=True, errors="replace", check=True)
    found = [SWITCH.match(line) for line in done.stdout.splitlines() if "sched:sched_switch:" in line]
    assert found and all(found)
    return [dict(match.groupdict(), cpu=f"[{int(match['number']):04}]") for match in found]


def switches(oracle, path):
    """(time in µs as text, CPU, previous task, its state, the next task) of each sched_switch event, in order, as the kernel's perf prints them."""
    return [(event["time"], event["cpu"], int(event["prev_pid"]), event["prev_state"], int(event["next_pid"])) for event in events(oracle, path)]


def preempted_before(oracle, path):
    """The (time, CPU, task) of switches whose task had left the CPU before as runnable. A CPU may switch twice in a microsecond."""
    states, found = {}, set()
    for time, cpu, prev, state, _ in switches(oracle, path):
        task = prev or cpu  # each CPU has an idle task
        if states.get(task, "S")[0] == "R":
            found.add((time, cpu, prev))
        states[task] = state
    return found


# time, [cpu], the rest up to wait with the task's number but for the idle task's, delay and run time
TIMES = re.compile(r"^( +(\d+\.\d+) (\[\d+\]) .*?(?:\[(\d+)(?:/\d+)?\])? +)(\d+\.\d{3}) ( *\d+\.\d{3}) ( *\d+\.\d{3} .*)$")


def with_delays(theirs, preempted):
    """The kernel's lines, with the delays of those who had been preempted."""
    for line in theirs:
        match = TIMES.match(line)
        if match and (match[2], match[3], int(match[4] or 0)) in preempted:
            yield f"{match[1]}{match[5]} {match[5]:>10} {match[7]}"
        else:
            yield line


def has_name(line):
    return not re.search(r"(^| ):-?\d+\[", line)


def compare(ours, theirs, judged=has_name):
    """How many lines were compared; the others, which the kernel's perf can't make, must be as many here."""
    assert len(ours) == len(theirs)
    pairs = [(mine, other) for mine, other in zip(ours, theirs) if judged(other)]
    for mine, other in pairs:
        assert mine == other
    return len(pairs)


@pytest.mark.parametrize("options", ([], ["--compact"]))
def test_map(perf, oracle, recording, options):
    ours, theirs = (lines(tool, recording, "map", *options) for tool in (perf, oracle))
    assert compare(ours, theirs, lambda line: not re.search(r"=> :-?\d+:", line)) > 500
    assert len(ours) == len(switches(oracle, recording))


@pytest.mark.parametrize("options", ([], ["-V"], ["-M"], ["-w"], ["-n"], ["-w", "-M", "-V", "-n"], ["-C", "CPU"]), ids=" ".join)
def test_timehist(perf, oracle, recording, options):
    options = [str(min(os.sched_getaffinity(0))) if word == "CPU" else word for word in options]
    ours, theirs = (lines(tool, recording, "timehist", *options) for tool in (perf, oracle))
    assert compare(ours, list(with_delays(theirs, preempted_before(oracle, recording)))) > (50 if options else 500)


def busiest(oracle, path, count):
    """The threads that left a CPU most often."""
    found = collections.Counter(prev for _, _, prev, _, _ in switches(oracle, path) if prev)
    return [str(tid) for tid, _ in found.most_common(count)]


@pytest.mark.parametrize("option", ("-p", "-t"))
def test_timehist_of_some(perf, oracle, recording, option):
    """The kernel's perf also forgets of which process a thread was that has ended."""
    ids = ",".join(busiest(oracle, recording, 3))
    preempted = preempted_before(oracle, recording)
    forgotten = {line.split()[0] for line in lines(oracle, recording, "timehist") if not has_name(line)}
    ours, theirs = ([line for line in lines(tool, recording, "timehist", option, ids) if line.split()[0] not in forgotten] for tool in (perf, oracle))
    assert compare(ours, list(with_delays(theirs, preempted))) > 50
    assert len(ours) < len(lines(perf, recording, "timehist"))


@pytest.mark.parametrize("form", ("{0},{1}", "{0},", ",{1}"))
def test_timehist_of_a_time(perf, oracle, recording, form):
    """Runs that reach into the range are cut at its ends; those that are cut at its end have lost the time by which preempted_before() knows them."""
    times = [time for time, *_ in switches(oracle, recording)]
    end = times[len(times) // 2]
    ours, theirs = (lines(tool, recording, "timehist", "--time", form.format(times[len(times) // 4], end)) for tool in (perf, oracle))
    delays = with_delays(theirs, preempted_before(oracle, recording))
    assert compare(ours, list(delays), lambda line: has_name(line) and line.split()[0] != end) > len(times) // 6


def test_timehist_priorities(perf, oracle, recording):
    """6.1 doesn't show them: they are put into the lines without, from the events as the kernel's perf prints them: that of the switch to the task, too,
    where it was another."""
    priorities, first = {}, {}
    for event in events(oracle, recording):
        first_prio = first.get((event["prev_pid"], event["prev_pid"] == "0" and event["cpu"]), event["prev_prio"])
        changed = f"{first_prio}->" if first_prio != event["prev_prio"] else ""
        priorities[event["time"], event["cpu"]] = changed + event["prev_prio"]
        first[event["next_pid"], event["next_pid"] == "0" and event["cpu"]] = event["next_prio"]
    with_priority = []
    for line in lines(perf, recording, "timehist")[3:]:
        time, cpu = line.split()[:2]
        before, after = line[:-33], line[-33:]
        with_priority.append(f"{before} {priorities[time, cpu]:<8} {after}")
    assert lines(perf, recording, "timehist", "--show-prio")[3:] == with_priority
    assert len(with_priority) > 500 and len(set(priorities.values())) > 1


def test_timehist_stacks(perf, oracle, stacks):
    """The kernel's perf doesn't know some functions of threads that have ended."""
    ours = lines(perf, stacks, "timehist")
    theirs = list(with_delays(lines(oracle, stacks, "timehist"), preempted_before(oracle, stacks)))
    frames = []
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        if not has_name(other):
            continue
        mine, other = mine.split(" <- "), other.split(" <- ")
        assert mine[0] == other[0]
        assert len(mine) == len(other)
        for name, others in zip(mine[1:], other[1:]):
            assert others in (name, "[unknown]")
        frames += [name for name in other[1:] if name != "[unknown]"]
    assert len(frames) > 1000 and len(set(frames)) > 30


def test_timehist_without_stacks(perf, oracle, stacks):
    for words in (["--no-call-graph"], ["--no-call-graph", "-w"]):
        ours, theirs = (lines(tool, stacks, "timehist", *words) for tool in (perf, oracle))
        assert compare(ours, list(with_delays(theirs, preempted_before(oracle, stacks)))) > 500
        assert not any(" <- " in line for line in ours)


def test_latency(perf, oracle, folder):
    path = record(perf, folder / "latency.data", "record", "-a", "-R", *ROOM, "-c", "1", "-e",
                  ",".join("sched:" + event for event in EVENTS + ["sched_wakeup"]))
    preempted = {prev for _, _, prev, state, _ in switches(oracle, path) if state.startswith("R")}

    def rows(tool):
        """By the task's id; those that the kernel's perf can judge."""
        found = {}
        for line in lines(tool, path, "latency", "-p"):
            match = re.match(r"  (.+?):(\d+) +\|", line)
            if match and int(match[2]) not in preempted:
                found[match[2]] = line
        return found
    ours, theirs = rows(perf), rows(oracle)
    nameless = {tid for tid, line in theirs.items() if line.startswith(f"  :{tid}:")}
    assert set(ours) == set(theirs)
    assert len(ours) - len(nameless) >= 3
    for tid in set(theirs) - nameless:
        assert ours[tid] == theirs[tid]
