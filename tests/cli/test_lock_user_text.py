"""perf lock contention --user on a recording made by hand: the text is worked out from the times. Its functions and locks are those of two files that are made here."""
import json
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

ENTER, EXIT, WAKING = "__syscall_nr/4,uaddr/8,op/8,val/8", "__syscall_nr/4,ret/8", "comm/16,pid/4,prio/4,target_cpu/4"
WAIT, WAKE, WAIT_BITSET, LOCK_PI, PRIVATE = 0, 1, 9, 6, 128
EAGAIN, ETIMEDOUT = -11, -110
HARDIRQ = 8
HEAP = 0x1000000
PROGRAM = ["work", "other_work", "release", "start"]
LIBRARY = ["__lll_lock_wait", "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait", "start_thread"]
HEAD = "feature nrcpus 2\n" + "".join(
    f"tracepoint {name} id={number} fields={fields}\nevent {name} type=2 config={number} ids={number} "
    f"sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|{'CALLCHAIN|' * (number == 1)}RAW flags=sample_id_all,mmap,mmap_data,comm,task\n"
    for number, (name, fields) in enumerate((("syscalls:sys_enter_futex", ENTER), ("syscalls:sys_exit_futex", EXIT), ("sched:sched_waking", WAKING)), 1))


class Story:
    """Records of two processes (10 with the thread 11, and 20) that run the same program at different places."""

    def __init__(self, folder):
        source = "".join(f"void {name}(void) {{ __asm__ volatile(\"nop; nop; nop; nop\"); }}\n" for name in PROGRAM)
        self.files = {"program": self.make(folder, "program", source + "int table_lock[4] = {1}; int queue_lock = 1;\n"),
                      "libc.so.6": self.make(folder, "libc.so.6", "".join(f"void {name}(void) {{ __asm__ volatile(\"nop; nop; nop; nop\"); }}\n" for name in LIBRARY))}
        self.text = HEAD
        for pid, tid, comm in ((10, 10, "alpha"), (10, 11, "beta"), (20, 20, "gamma")):
            self.text += f"fork pid={pid} ppid={pid} tid={tid} ptid={pid} time=1\n" * (pid != tid) + f"comm pid={pid} tid={tid} name={comm} time=2\n"
        for pid in (10, 20):
            for name, (path, segments, _) in self.files.items():
                for at, offset, size, flags in segments:
                    self.text += (f"mmap pid={pid} tid={pid} addr={self.base(pid, name) + at:#x} len={size:#x} pgoff={offset:#x} misc={2 if 'E' in flags else 2 | 1 << 13} "
                                  f"name={path} time=2\n")
            self.text += f"mmap pid={pid} tid={pid} addr={HEAP:#x} len=0x10000 pgoff=0 misc={2 | 1 << 13} name=[heap] time=2\n"

    @staticmethod
    def make(folder, name, source):
        path = folder / name
        subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", "-Wl,-z,separate-code", "-Wl,-soname," + name, "-x", "c", "-", "-o", path], input=source, text=True, check=True)
        loads = re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ 0x\w+ (0x\w+) ([RWE ]{3})", subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout)
        segments = []
        for offset, address, size, flags in loads:
            into = int(address, 16) % 4096
            segments.append((int(address, 16) - into, int(offset, 16) - into, -(-(int(size, 16) + into) // 4096) * 4096, flags))
        symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.split("\n")
        return path, segments, {line.split()[2]: int(line.split()[0], 16) for line in symbols if len(line.split()) == 3}

    @staticmethod
    def base(pid, name):
        return (0x7f0000000000 if name == "libc.so.6" else 0x550000000000) + (pid << 32)

    def at(self, pid, name, offset=0):
        file = "program" if name in self.files["program"][2] else "libc.so.6"
        return self.base(pid, file) + self.files[file][2][name] + offset

    def add(self, number, us, pid, tid, fields, values, stack=(), flags=0):
        chain = " chain=user," + ",".join(f"{self.at(pid, name, 2):#x}" for name in stack) if stack else ""
        self.text += (f"sample id={number} time={1000000000 + round(us * 1000)} cpu={pid == 20:d} pid={pid} tid={tid} ip=0xffffffff81000000 misc=1{chain} "
                      f"raw={recording.raw_of(number, fields, *values, flags=flags)}\n")

    def enter(self, us, pid, tid, lock, operation, *stack):
        self.add(1, us, pid, tid, ENTER, (202, self.at(pid, lock) if isinstance(lock, str) else lock, operation, 2), stack)

    def leave(self, us, pid, tid, result=0):
        self.add(2, us, pid, tid, EXIT, (202, result))

    def waking(self, us, pid, tid, woken, flags=0):
        self.add(3, us, pid, tid, WAKING, ("", woken, 120, 0), flags=flags)


WORK = ("__lll_lock_wait", "pthread_mutex_lock", "work", "start_thread")
OTHER = ("__lll_lock_wait", "pthread_mutex_lock", "other_work", "start_thread")
RELEASE = ("pthread_mutex_unlock", "release", "start")


@pytest.fixture
def story(perf, tmp_path):
    """alpha waits for table_lock from 1 to 4 ms and from 5 to 6 ms, both times until beta releases it; beta for a condition on the heap, 2 to 3 ms, until alpha signals it.
    gamma, of another process, waits for its table_lock from 2 to 2.5 ms, until a timer ends it; and for queue_lock, PI, from 7 ms on without an end. The call that comes
    too late to wait, alpha's at 9 ms, is none."""
    made = Story(tmp_path)
    made.enter(1000, 10, 10, "table_lock", WAIT | PRIVATE, *WORK)
    made.enter(2000, 20, 20, "table_lock", WAIT | PRIVATE, *WORK)
    made.waking(2490, 20, 20, 20, HARDIRQ)
    made.leave(2500, 20, 20, ETIMEDOUT)
    made.enter(3980, 10, 11, "table_lock", WAKE | PRIVATE, *RELEASE)
    made.waking(3990, 10, 11, 10)
    made.leave(3995, 10, 11, 1)
    made.leave(4000, 10, 10)
    made.enter(4100, 10, 11, HEAP + 0x100, WAIT_BITSET | PRIVATE, "pthread_cond_wait", "work", "start_thread")
    made.enter(4600, 10, 10, HEAP + 0x100, WAKE | PRIVATE, "pthread_mutex_unlock", "other_work")
    made.waking(4610, 10, 10, 11)
    made.leave(4620, 10, 10, 1)
    made.leave(5100, 10, 11)
    made.enter(5200, 10, 10, "table_lock", WAIT | PRIVATE, *OTHER)
    made.enter(6000, 10, 11, "table_lock", WAKE | PRIVATE, *RELEASE)
    made.waking(6100, 10, 11, 10)
    made.leave(6150, 10, 11, 1)
    made.leave(6200, 10, 10)
    made.enter(7000, 20, 20, "queue_lock", LOCK_PI | PRIVATE, *WORK)
    made.enter(9000, 10, 10, "queue_lock", WAIT | PRIVATE, *WORK)
    made.leave(9001, 10, 10, EAGAIN)
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make(made.text))

    def lines(*words):
        done = perf("lock", "contention", "--user", *words, "-i", path)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout.splitlines()
    lines.made, lines.path = made, path
    return lines


TITLES = " contended   total wait     max wait     avg wait"


@pytest.mark.sanitize
def test_callers(story):
    """The same function of two processes is one row."""
    assert story() == [TITLES + "         type   caller", "",
                       "         3      3.50 ms      3.00 ms      1.75 ms        mutex   work+0x2", "         1      1.00 ms      1.00 ms      1.00 ms    condition   work+0x2",
                       "         1      1.00 ms      1.00 ms      1.00 ms        mutex   other_work+0x2"]


@pytest.mark.sanitize
def test_locks(story):
    table, of_gamma, queue = (f"{story.made.at(pid, name):016x}" for pid, name in ((10, "table_lock"), (20, "table_lock"), (20, "queue_lock")))
    assert story("-l") == [
        TITLES + "            address   symbol", "",
        f"         2      4.00 ms      3.00 ms      2.00 ms   {table}   table_lock in program (mutex), released by beta/11",
        "         1      1.00 ms      1.00 ms      1.00 ms   0000000001000100   [heap] (condition), released by alpha/10",
        f"         1    500.00 us    500.00 us    500.00 us   {of_gamma}   table_lock in program (mutex)",
        f"         1         0 ns         0 ns         0 ns   {queue}   queue_lock in program (mutex)"]
    assert story("-l", "-x", ";", "-F", "contended", "-E", 2) == [
        "# output: contended; total wait; address; symbol; type; owner", f"2; 4000000; {table}; table_lock in program; mutex; beta/11",
        "1; 1000000; 0000000001000100; [heap]; condition; alpha/10"]
    row = json.loads(story("-l", "--format", "json", "-E", 1)[0])
    assert row == {"acquired": 2, "contended": 2, "avg_wait": 2000000, "wait_total": 4000000, "wait_max": 3000000, "wait_min": 1000000,
                   "address": story.made.at(10, "table_lock"), "symbol": "table_lock in program", "type": "mutex", "pid": 10, "owner_tid": 11, "owner": "beta"}


@pytest.mark.sanitize
def test_stacks_of_both_sides(story):
    def frames(*names):
        return [f"\t\t\t{story.made.at(10, name, 2):#x}  {name}+0x2" for name in names]
    assert story("-l", "-v", "-q", "-E", 1)[1:] == [
        "\t\twaited: alpha/10: 1 time, 3.00 ms", *frames(*WORK), "\t\twaited: alpha/10: 1 time, 1.00 ms", *frames(*OTHER),
        "\t\treleased by beta/11: 2 times, 4.00 ms", *frames(*RELEASE)]
    assert story("-o", "-v", "-q", "-E", 1)[1:] == story("-l", "-v", "-q", "-E", 1)[1:]
    assert story("-v", "-q", "-S", "cond", "--max-stack", 2)[1:] == [
        "\t\twaited: beta/11: 1 time, 1.00 ms", *frames("pthread_cond_wait", "work"), "\t\treleased by alpha/10: 1 time, 1.00 ms", *frames("pthread_mutex_unlock", "other_work")]


@pytest.mark.sanitize
def test_threads_and_owners(story):
    assert story("-t", "-q") == ["         2      4.00 ms      3.00 ms      2.00 ms           10   alpha", "         1      1.00 ms      1.00 ms      1.00 ms           11   beta",
                                 "         2    500.00 us    500.00 us    500.00 us           20   gamma"]
    assert story("-o") == [TITLES + "          pid   owner", "", "         2      4.00 ms      3.00 ms      2.00 ms           11   beta",
                           "         1      1.00 ms      1.00 ms      1.00 ms           10   alpha", "         2    500.00 us    500.00 us    500.00 us            0   Unknown"]
    assert story("-o", "--format", "csv", "-E", 1)[1:] == ["2,2,2000000,4000000,3000000,1000000,11,beta"]


@pytest.mark.parametrize("words, wanted", [
    ("-Y mutex", [2, 1, 1]), ("-Y condition", [1]), ("-Y rwlock", []), ("-L table_lock", [2, 1]), ("-L table_lock,1000100", [2, 1, 1]), ("-L none", []),
    ("-S other", [1]), ("-S cond,release", [1]), ("-C 1", [1, 1]), ("-C 0", [2, 1])])
def test_filters(story, words, wanted):
    assert [int(line.split(",")[1]) for line in story("-l", "-q", "--format", "csv", *words.split())[1:]] == wanted


def test_nothing(story, perf):
    done = perf("lock", "contention", "--user", "-L", "none", "-i", story.path)
    assert done.returncode == 0 and "There were no waits for locks of programs that pass the filters." in done.stderr


def test_other_recordings(perf, tmp_path):
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make("event cycles type=0 config=0 period=1000 sample=IP|TID|TIME ids=1\nsample ip=0x400000 pid=1 tid=1 time=10\n"))
    done = perf("lock", "contention", "--user", "-i", path)
    assert done.returncode == 255 and "the recording has no syscalls:sys_enter_futex events; record them with 'perf lock record --user'" in done.stderr
    done = perf("lock", "contention", "--user", "--stack-skip", 1, "-i", path)
    assert done.returncode == 129 and "--user leaves out the C library's frames" in done.stderr
