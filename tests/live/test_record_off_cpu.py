"""perf record --off-cpu: programs that sleep for a known time, measured by a BPF program."""
import collections
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

pytestmark = pytest.mark.alone  # a program at sched_switch slows down all that others measure

# A wait begins when the thread leaves the CPU, which may be after its timer has begun to run: all that a nap is sure to have is a part of its time.
NAPS = "import time\nfor _ in range(20): time.sleep(0.05)"
THREADS = "import threading, time\nt = threading.Thread(target=lambda: time.sleep(1))\nt.start()\nt.join()"


@pytest.fixture(autouse=True)
def tracepoint_programs(request):
    if "sleeping" not in request.fixturenames:
        return
    for need in ("root", "live_system", "tracefs"):
        request.getfixturevalue(need)
    perf = request.getfixturevalue("perf")
    if perf("check", "feature", "-q", "bpf").returncode:
        pytest.skip("this build has no BPF programs")
    if not re.search(r"BPF programs +(?!.*only).*\btracepoint", perf("doctor", "bpf").stdout):
        pytest.skip("this kernel has no BPF programs at tracepoints")


@pytest.fixture
def sleeping(perf, tmp_path):
    def samples(*words, show="comm,tid,period,event", events=("-e", "dummy")):
        """[(comm, tid, period, rest)] of the event."""
        path = tmp_path / "perf.data"
        done = perf("record", "--off-cpu", *events, "-o", path, *words)
        assert done.returncode == 0 and "missing" not in done.stderr, done.stderr
        samples.unseen = sum(map(int, re.findall(r"(\d+) waits? (?:is|are) not counted", done.stderr)))
        text = perf("script", "-i", path, "-F", show).stdout
        heads = re.findall(r"^ *(\S+) +(\d+) +(\d+) offcpu-time:(.*)$", text, re.M)
        return [(comm, int(tid), int(period), rest) for comm, tid, period, rest in heads]
    return samples


def test_sums_of_short_waits(sleeping):
    """All are below the threshold: they are added up, and nothing is lost of them."""
    naps = [period for comm, _, period, _ in sleeping("--", "/usr/bin/python3", "-c", NAPS) if comm == "python3"]
    assert sum(naps) >= 20 * 25_000_000
    assert len(naps) < 20 or min(naps) < 10_000_000


def test_long_waits_one_by_one(sleeping):
    """The sum tells of 20 waits in few samples, a threshold of 1 ms in one each. There are kernels that now and then don't report a switch from the idle
    task, which ends a nap: that is told."""
    naps = [period for comm, _, period, _ in sleeping("--off-cpu-thresh", "1", "--", "/usr/bin/python3", "-c", NAPS) if comm == "python3"]
    assert sum(period >= 1_000_000 for period in naps) + sleeping.unseen >= 20


def test_threads_and_children_are_followed(sleeping):
    waits = sleeping("--", "sh", "-c", f"/usr/bin/python3 -c '{THREADS}'; sleep 1")
    sleepers = {tid for comm, tid, period, _ in waits if period >= 140_000_000 and comm in ("python3", "sleep", "sh")}
    # Both threads, sleep, and the shell that waits for both; who waits for another may begin late. Switches that the kernel doesn't report are told.
    assert len(sleepers) + sleeping.unseen >= 4, waits
    alone = sleeping("-i", "--", "sh", "-c", "for i in 1 2 3 4 5; do sleep 0.05; done")  # more waits than switches that may be missing
    assert {comm for comm, *_ in alone} == {"sh"}


def test_a_process_that_runs(sleeping):
    with subprocess.Popen(["sh", "-c", "while :; do sleep 0.02; done"]) as shell:
        waits = sleeping("-p", str(shell.pid), "--", "sleep", "1")
        shell.kill()
    assert waits and {comm for comm, *_ in waits} <= {"sh", "sleep"}
    assert all(period < 900_000_000 for comm, _, period, _ in waits if comm == "sleep"), "the command is no target"


def test_the_kernels_perf_reads_it(sleeping, perf, oracle, tmp_path):
    """Also beside another event; same sums by name."""
    sleeping("--", "sh", "-c", "(sleep 0.1; echo; sleep 0.1; echo; sleep 0.1) | cat", events=("-e", "cpu-clock"))
    path = tmp_path / "perf.data"
    ours, theirs = ({(row.split()[0], row.split()[1]) for row in program(
        "report", "-i", path, "--stdio", "-g", "none", "--no-children", "-s", "comm", "-F", "overhead,comm", "-q").stdout.splitlines() if row.strip()}
        for program in (perf, oracle))
    assert ours == theirs and any(name == "cat" for _, name in ours)
    ours, theirs = (program("script", "--no-inline", "-i", path, "-F", "comm,tid,period,event,time,ip").stdout.split() for program in (perf, oracle))
    assert ours == theirs and "offcpu-time:" in ours
    assert oracle("evlist", "-i", path).stdout.split("\n")[1] == "offcpu-time"


@pytest.mark.parametrize("words, kernel, user", [((), True, True), (("--all-user",), False, True), (("--kernel-callchains",), True, False)])
def test_parts_of_stacks(sleeping, perf, tmp_path, words, kernel, user):
    sleeping(*words, "--", "sh", "-c", "for i in 1 2 3 4 5; do sleep 0.05; done")
    text = perf("script", "-i", tmp_path / "perf.data", "-F", "comm,period,event,ip,sym").stdout
    stack = max(re.split(r"\n\n", text), key=lambda part: max(map(int, re.findall(r"^ *sleep +(\d+) offcpu-time:", part, re.M)), default=0))
    assert ("hrtimer_nanosleep" in stack) == kernel and bool(re.search(r" clock_nanosleep", stack)) == user, stack


DEEP = """#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int dive(int left, int many) { return left ? dive(left - 1, many) + 1 : usleep(2000 * many); }
int main(int argc, char **argv) { volatile int sum = 0; for (int i = 0; i < 20; i++) sum += dive(argc > 1 ? atoi(argv[1]) : 500, 1); return !sum; }
"""


@pytest.fixture
def deep(tmp_path):
    """A program without frame pointers that sleeps 20 times with 502 functions of its own on the stack."""
    if tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups())) < (6, 1):
        pytest.skip("BPF programs can't look up what is mapped before Linux 6.1")
    (tmp_path / "deep.c").write_text(DEEP)
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-fomit-frame-pointer", "-o", tmp_path / "deep", tmp_path / "deep.c"], check=True)
    return tmp_path / "deep"


def stacks_of(perf, path, event, comm):
    """[[(function, file)]] of the event's samples of a program, user parts only."""
    text = perf("script", "--no-inline", "--max-stack", "2000", "-i", path, "-F", "comm,event,ip,sym,dso").stdout
    blocks = [block.strip().splitlines() for block in re.split(r"\n\n", text)]
    frames = [[re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line).groups() for line in block[1:]] for block in blocks if block and re.match(rf"{comm} +{event}:", block[0])]
    return [[frame for frame in stack if not frame[1].startswith("[kernel")] for stack in frames]


def test_complete_stacks(sleeping, perf, tmp_path, deep):
    """Without frame pointers, and deeper than the kernel's chains: sums as well as single waits; each stack that sleeps there has all of its callers."""
    for threshold in ("500", "0"):
        sleeping("--off-cpu-thresh", threshold, "--", deep)
        stacks = [stack for stack in stacks_of(perf, tmp_path / "perf.data", "offcpu-time", "deep") if any("nanosleep" in name for name, _ in stack)]
        assert stacks
        for stack in stacks:
            names = [name for name, _ in stack]
            assert names.count("dive") == 501 and names.count("main") == 1 and names[-1] == "_start", names


def test_same_stacks_as_of_switches(sleeping, perf, tmp_path, deep):
    """The scheduler's events, whose stacks are walked as all others are, tell of the same waits."""
    sleeping("-g", "--off-cpu-thresh", "0", "--", deep, events=("-e", "sched:sched_switch"))
    waits, switches = ({tuple(stack) for stack in stacks_of(perf, tmp_path / "perf.data", event, "deep")} for event in ("offcpu-time", "sched:sched_switch"))
    assert any(len(stack) > 500 for stack in waits) and waits <= switches


# Waits of many kinds, in turn and again: at the same places of the thread's stack lie other functions each time.
MANY_WAYS = """import os, select, signal, threading, time
reader, writer = os.pipe()
poll, epoll = select.poll(), select.epoll()
poll.register(reader); epoll.register(reader, select.EPOLLIN)
def wake(): time.sleep(0.002); os.write(writer, b"x")
def until(wait):
    thread = threading.Thread(target=wake); thread.start(); wait(); os.read(reader, 1); thread.join()
def child():
    if not (pid := os.fork()): time.sleep(0.002); os._exit(0)
    os.waitpid(pid, 0)
for _ in range(6):
    time.sleep(0.001); child()
    for wait in (lambda: None, lambda: poll.poll(), lambda: select.select([reader], [], []), lambda: epoll.poll(), lambda: os.readv(reader, [bytearray(1)]) and os.write(writer, b"x")): until(wait)
    signal.sigtimedwait([signal.SIGUSR1], 0.001); threading.Event().wait(0.001)
"""


def test_kernel_stacks_of_each_wait(sleeping, perf, tmp_path):
    """Each wait has the kernel's part of the stack that the switch has with which it began: the one that follows first, since programs run before events are written."""
    sleeping("-g", "--off-cpu-thresh", "0", "--", "/usr/bin/python3", "-c", MANY_WAYS, events=("-e", "sched:sched_switch"))
    text = perf("script", "-i", tmp_path / "perf.data", "--ns", "-F", "tid,time,period,event,ip,sym").stdout
    switches, waits = collections.defaultdict(list), []
    for block in filter(str.strip, text.split("\n\n")):
        head, *frames = block.strip("\n").splitlines()
        tid, seconds, nanoseconds, period, event = re.match(r" *(\d+) +(\d+)\.(\d{9}): +(\d+) +(\S+):", head).groups()
        time, kernel = int(seconds) * 10**9 + int(nanoseconds), tuple(frame for frame in frames if frame.split()[0].startswith("ffff"))
        if event == "offcpu-time":
            waits.append((tid, time - int(period), kernel))
        else:
            switches[tid].append((time, kernel))
    assert len({kernel for _, _, kernel in waits}) > 6 and all(kernel for _, _, kernel in waits)
    for tid, since, kernel in waits:
        assert kernel == next(stack for time, stack in switches[tid] if time >= since), (tid, since)


TIMED = """#include <stdio.h>
#include <time.h>
static long now(void) { struct timespec at; clock_gettime(CLOCK_MONOTONIC, &at); return at.tv_sec * 1000000000 + at.tv_nsec; }
static long times[80][2];
__attribute__((noinline)) int dive(int left, int i) {
    if (left) return dive(left - 1, i) + 1;
    times[i][0] = now(); nanosleep(&(struct timespec){0, 2000000}, 0); times[i][1] = now();
    return 0;
}
int main(void) {
    volatile int sum = 0;
    for (int i = 0; i < 80; i++) sum += dive(i % 2 ? 900 : 0, i);
    for (int i = 0; i < 80; i++) printf("call %ld %ld\\n", times[i][0], times[i][1]);
}
"""


def test_walks_are_no_part_of_what_is_missing(sleeping, perf, tmp_path, deep):
    """A timer runs on while the stack is walked: a wait lasts from before the walk, so that of a call with 900 callers no more is missing than of one with
    none. The least that is missing of 40 calls each: neighbours only add to it. A walk of 900 frames takes tens of microseconds."""
    (tmp_path / "timed.c").write_text(TIMED)
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-fomit-frame-pointer", "-o", tmp_path / "timed", tmp_path / "timed.c"], check=True)
    done = perf("record", "--off-cpu", "--off-cpu-thresh", "0", "-e", "dummy", "-o", tmp_path / "perf.data", "--", tmp_path / "timed")
    assert done.returncode == 0, done.stderr
    calls = [tuple(map(int, line.split()[1:])) for line in done.stdout.splitlines() if line.startswith("call ")]
    text = perf("script", "-i", tmp_path / "perf.data", "-F", "comm,time,period,event", "--ns", "-G").stdout
    waits = [(int(end.replace(".", "")), int(period)) for end, period in re.findall(r"^ *timed +([\d.]+): +(\d+) offcpu-time:", text, re.M)]
    missing = {0: [], 1: []}
    for i, (begin, end) in enumerate(calls):
        missing[i % 2].extend(end - begin - period for last, period in waits if begin <= last - period and last <= end)
    assert len(calls) == 80 and all(missing.values()), (calls, waits)
    assert 0 <= min(missing[1]) < min(missing[0]) + 10_000, missing


def test_stacks_that_end_early_say_why(sleeping, perf, tmp_path, deep):
    done = perf("record", "--off-cpu", "--off-cpu-thresh", "0", "-e", "dummy", "-o", tmp_path / "cut", "--", deep, "1500")
    assert re.search(r"Unwound \d+ stacks, \d+\.\d % complete; \d+\.\d %: more frames than the limit", done.stderr), done.stderr
    assert max(map(len, stacks_of(perf, tmp_path / "cut", "offcpu-time", "deep"))) == 1024


# "odd" has, once it has pushed a register, an expression for its frame (DW_CFA_def_cfa_expression, DW_OP_breg7 16), which no row of the kernel's program has.
COPIED = r"""#include <unistd.h>
int rest(int left) { return usleep(100 * left); }
__asm__(".globl odd\n.type odd,@function\nodd: .cfi_startproc\npush %rbx\n.cfi_escape 0x0f, 2, 0x77, 16\ncall rest\npop %rbx\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n.size odd, .-odd");
int odd(int);
int main(void) { volatile int sum = 0; for (int i = 0; i < 300; i++) sum += odd(1); return sum; }
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program is written for x86-64")
def test_copied_stacks_are_not_kept(perf, sleeping, tmp_path, deep):
    """Each wait of this program has a copy of its own: the stack it makes is complete, and gone with the wait's sample."""
    (tmp_path / "copied.c").write_text(COPIED)
    subprocess.run(["gcc", "-O1", "-fomit-frame-pointer", "-o", tmp_path / "copied", tmp_path / "copied.c"], check=True)
    done = perf("record", "-vv", "--off-cpu", "-e", "dummy", "-o", tmp_path / "perf.data", "--", tmp_path / "copied")
    stacks = [stack for stack in stacks_of(perf, tmp_path / "perf.data", "offcpu-time", "copied") if any(name == "rest" for name, _ in stack)]
    assert len(stacks) > 100 and all(stack[-1][0] == "_start" for stack in stacks), done.stderr
    assert int(re.search(r"(\d+) copied and unwound", done.stderr).group(1)) >= len(stacks)
    assert int(re.search(r"stacks: (\d+) of waits were kept to the end", done.stderr).group(1)) < 50, done.stderr


# While the recorder stands still, one thread waits so often that copies of its stack could fill the ring twice, then another one waits for the first time.
CROWDED = COPIED[:COPIED.index("int main")].replace("100 * left", "left").replace("#include", "#include <pthread.h>\n#include <signal.h>\n#include", 1) + r"""
__attribute__((noinline)) int patient(void) { return odd(100000) + 1; }
static void *wait_once(void *unused) { patient(); return unused; }
int main(void)
{
	pthread_t thread;
	volatile int sum = 0;
	kill(getppid(), SIGSTOP);
	for (int i = 0; i < 3000; i++)
		sum += odd(1);
	pthread_create(&thread, NULL, wait_once, NULL);
	pthread_join(thread, NULL);
	kill(getppid(), SIGCONT);
	return sum;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program is written for x86-64")
def test_who_waits_often_leaves_room_for_others(perf, sleeping, tmp_path, deep):
    """The stack of the only wait of a thread is complete, though another one had thousands meanwhile."""
    (tmp_path / "crowded.c").write_text(CROWDED)
    subprocess.run(["gcc", "-O1", "-fomit-frame-pointer", "-pthread", "-o", tmp_path / "crowded", tmp_path / "crowded.c"], check=True)
    for _ in range(10):  # the kernel may not report the end of a wait, least of all where neighbours measure, too: then it may be that of the only one
        done = perf("record", "-v", "--off-cpu", "-e", "dummy", "-o", tmp_path / "perf.data", "--", tmp_path / "crowded")
        if "the kernel did not report" not in done.stderr:
            break
    stacks = [[name for name, _ in stack] for stack in stacks_of(perf, tmp_path / "perf.data", "offcpu-time", "crowded")]
    assert any("main" in stack for stack in stacks) and any("main" not in stack and stack[-1] == "odd" for stack in stacks), "there isn't room for all"
    assert [stack for stack in stacks if "patient" in stack], done.stderr


def test_frame_pointers_for_those_who_ask(sleeping, perf, tmp_path, deep):
    done = perf("record", "--off-cpu", "--call-graph", "fp", "-e", "dummy", "-o", tmp_path / "fp", "--", deep)
    assert done.returncode == 0 and "Unwound" not in done.stderr
    assert max(map(len, stacks_of(perf, tmp_path / "fp", "offcpu-time", "deep"))) < 127


def test_flamegraph_in_one_go_of_a_recording(sleeping, perf, tmp_path):
    sleeping("--", "sh", "-c", "for i in 1 2 3 4 5; do sleep 0.05; done")
    done = perf("flamegraph", "--off-cpu", "--folded", "-i", tmp_path / "perf.data")
    assert sum(int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines() if "nanosleep" in line) >= 100_000_000, done.stderr


# Children end while they watch a file: that is closed behind sched_process_exit, and waits until the kernel has done away with the watch. Prints which of
# them the program's map still has.
LATE_WAITS = """
import ctypes, json, os, subprocess, time
before = {found["id"] for found in json.loads(os.environ["MAPS"])}
libc, children = ctypes.CDLL(None), []
for _ in range(5):
    child = os.fork()
    if not child:
        libc.inotify_add_watch(libc.inotify_init(), b"/proc/self/exe", 2)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
tool = lambda *words: json.loads(subprocess.run([os.environ["BPFTOOL"], "-j", *words], capture_output=True, check=True).stdout)
waits, = (found["id"] for found in tool("map", "show") if found.get("name") == "waits" and found["id"] not in before)
until = time.monotonic() + 300
while time.monotonic() < until:  # who is waited for may not have left the CPU for good yet
    known = [int.from_bytes(bytes(int(byte, 16) for byte in entry["key"]), "little") for entry in tool("map", "dump", "id", str(waits))]
    if not set(known) & set(children):
        break
print(json.dumps([children, known]))
"""


# Main sleeps with so many stacks that those of earlier waits are forgotten. Meanwhile one thread goes on waiting where it always waits, and one that has waited runs.
PATIENT = """#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
static int ends[2];
__attribute__((noinline)) int await_byte(void) { char byte; return read(ends[0], &byte, 1) == 1 && byte; }
static void *wait_patiently(void *unused) { prctl(PR_SET_NAME, "patient"); while (await_byte()); return unused; }
static volatile int is_done;
static void nap(long ns) { nanosleep(&(struct timespec){.tv_nsec = ns}, NULL); }
__attribute__((noinline)) int rest(void) { nap(100000000); return !ends[0]; }
static void *run_busily(void *unused) { prctl(PR_SET_NAME, "busy"); for (int i = 0; i < 4; i++) { rest(); while (!is_done); } return unused; }
int even(unsigned way, int left);
__attribute__((noinline)) int odd(unsigned way, int left) { if (!left) nap(20000); else if (way & 1) odd(way >> 1, left - 1); else even(way >> 1, left - 1); return left + 1; }
__attribute__((noinline)) int even(unsigned way, int left) { if (!left) nap(20000); else if (way & 1) odd(way >> 1, left - 1); else even(way >> 1, left - 1); return left + 2; }
int main(void)
{
	pthread_t thread, busy;
	if (pipe(ends) || pthread_create(&thread, NULL, wait_patiently, NULL) || pthread_create(&busy, NULL, run_busily, NULL)) return 1;
	for (int i = 0; i < 3; i++) { nap(300000000); if (write(ends[1], "x", 1) != 1) return 1; }
	prctl(PR_SET_TIMERSLACK, 1);
	for (unsigned way = 0; way < 1 << 15; way++) even(way, 15);
	is_done = 1;
	for (int i = 0; i < 3; i++) { nap(300000000); if (write(ends[1], "x", 1) != 1) return 1; }
	if (write(ends[1], "", 1) != 1) return 1;
	return pthread_join(thread, NULL) || pthread_join(busy, NULL);
}
"""


def test_stacks_of_waits_that_last_are_kept(sleeping, perf, tmp_path):
    """Stacks that no wait began with for long are forgotten: not that of a wait which goes on, and who waits there again has it."""
    (tmp_path / "patient.c").write_text(PATIENT)
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer", "-pthread", "-o", tmp_path / "many", tmp_path / "patient.c"], check=True)
    waits = sleeping("-m", "32M", "--", tmp_path / "many")  # which holds all of them
    assert len(waits) > 1 << 14
    for comm, place, count in (("patient", "await_byte", 3), ("busy", "rest", 2)):
        stacks = stacks_of(perf, tmp_path / "perf.data", "offcpu-time", comm)
        assert len(stacks) + sleeping.unseen >= count
        for stack in stacks:
            assert place in [name for name, _ in stack], (comm, stacks)


def test_waits_of_ended_threads_are_forgotten(sleeping, perf, tmp_path):
    """Also when they have waited after their end was told of."""
    bpftool = shutil.which("bpftool")
    if not bpftool:
        pytest.skip("bpftool is not installed")
    maps = subprocess.run([bpftool, "-j", "map", "show"], capture_output=True, text=True, check=True).stdout
    done = perf("record", "--off-cpu", "-a", "-e", "dummy", "-o", tmp_path / "perf.data", "--", "/usr/bin/python3", "-c", LATE_WAITS, env={**os.environ, "MAPS": maps, "BPFTOOL": bpftool})
    assert done.returncode == 0, done.stderr
    children, known = json.loads(done.stdout)
    assert len(children) == 5 and known
    assert not set(children) & set(known)


def test_nothing_is_left_behind(sleeping):
    """No program, no map."""
    sleeping("--", "true")
    assert "perf" not in subprocess.run(["sh", "-c", "ls /sys/fs/bpf 2>&1"], capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("words, text", [
    (["--off-cpu", "--threads"], "omit --threads, --overwrite and -n"),
    (["--off-cpu", "-n"], "omit --threads, --overwrite and -n"),
    (["--off-cpu", "-k", "real"], "use -k mono, or omit -k"),
    (["--off-cpu-thresh", "5"], "--off-cpu-thresh requires --off-cpu"),
    (["--off-cpu", "--off-cpu-thresh", "x"], "off-cpu-thresh"),
])
def test_mistakes(perf, tmp_path, words, text):
    done = perf("record", *words, "true", cwd=tmp_path)
    assert done.returncode == 129 and text in done.stderr and not list(tmp_path.iterdir())


MADE = """feature event_desc
event offcpu-time type=1 config=10 ids=1 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN flags=sample_id_all,comm,task
comm pid=10 tid=10 name=alpha time=1
sample id=1 time=1000 cpu=0 pid=10 tid=10 period=5000 ip=0xffffffff81000010 chain=kernel,0xffffffff81000010,user,0x401000
sample id=1 time=2000 cpu=1 pid=10 tid=10 period=7000 ip=0xffffffff81000010 chain=kernel,0xffffffff81000010,user,0x401000
"""


@pytest.mark.sanitize
def test_recordings_of_others(perf, tmp_path):
    """flamegraph --off-cpu draws the event, in ns."""
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make(MADE))
    assert perf("flamegraph", "--off-cpu", "--folded", "-i", path).stdout == "alpha;[unknown];[unknown] 12000\n"
    svg = perf("flamegraph", "--off-cpu", "-o", "-", "-i", path).stdout
    assert "offcpu-time, 2 samples" in svg and "12,000 ns" in svg
