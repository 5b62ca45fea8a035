"""perf kwork prints what the kernel's perf prints of the same recording, character by character.

6.1 writes letters into some names of work items which don't belong there, behind the first 18, and a load average that is a hundredth of what it is in percent: both
are left out when texts are compared. Callers are compared in the kernel alone: whose code an interrupt came to is a neighbour's business."""
import json
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started  # noqa: E402

# Raises what it needs by itself, on a quiet machine and where the folder is in memory, too: interrupts by reading disks past the page cache, work by what a terminal is
# sent, RCU's on CPU 0 by waiting there for a grace period (membarrier). No CPU is idle meanwhile: of interrupts of the idle task the kernel counts events, but records none.
# What keeps them from it gives way to all others, above all to what raises the work, which would wait for it at each turn.
LOAD = """
import ctypes, mmap, os, platform, signal, sys
spinners = []
for cpu in os.sched_getaffinity(0):
    pid = os.fork()
    if not pid:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL) # PR_SET_PDEATHSIG
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        os.sched_setaffinity(0, {cpu})
        while True:
            pass
    spinners.append(pid)
page = mmap.mmap(-1, 4096)
disks = []
files = sorted(entry.path for entry in os.scandir("/usr/bin") if entry.is_file(follow_symlinks=False))[::64] # disks may not be opened, and some files be in memory
for path in ["/dev/" + name for name in os.listdir("/sys/block")] + files:
    try:
        disks.append(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        pass
master, slave = os.openpty()
membarrier = {"x86_64": 324, "aarch64": 283}[platform.machine()]
for i in range(20):
    for disk in disks:
        try:
            os.preadv(disk, [page], i * 4096)
        except OSError:
            pass
    os.write(master, b"line\\n")
    os.read(slave, 100)
    if i == 10:
        try:
            os.sched_setaffinity(0, {0})
        except OSError:
            pass
    if i > 10:
        ctypes.CDLL(None).syscall(membarrier, 1, 0, 0)
    with open(sys.argv[1], "wb") as file:
        file.write(b"x" * (1 << 20))
        os.fsync(file.fileno())
for pid in spinners:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
"""
KINDS = {"irq": r"irq:irq_handler_exit: ", "workqueue": r"workqueue:workqueue_execute_end: ", "RCU on CPU 0": r"\[000\] +irq:softirq_exit: .*RCU"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, live_system, tracefs):
    for event in ("irq/softirq_raise", "workqueue/workqueue_activate_work"):
        if not (tracefs / "events" / event).exists():
            pytest.skip(f"this kernel has no {event}")
    return tmp_path_factory.mktemp("kwork")


def missing_kinds(oracle, path):
    """Work that ends is there of each kind, and RCU on CPU 0, of which little is heard while it is idle."""
    shown = oracle("script", "-G", "-F", "cpu,event,trace", "-i", path).stdout
    return [kind for kind, pattern in KINDS.items() if len(re.findall(pattern, shown)) <= 3]


@pytest.fixture(scope="module")
def recorded(perf, oracle, folder):
    path = folder / "kwork.data"
    for _ in range(20):
        done = perf("kwork", "record", "-g", "-q", "-m", "16M", "-o", path, "--", "python3", "-c", LOAD, folder / "file")
        assert done.returncode == 0, done.stderr
        missing = missing_kinds(oracle, path)
        if not missing:
            return path
    pytest.fail(f"no recording has work of each kind: {', '.join(missing)}")


def text(tool, path, *words):
    done = subprocess.run([str(tool), "kwork", *words, "-i", str(path)], capture_output=True, text=True, errors="surrogateescape", check=False)
    assert done.returncode == 0 and done.stdout, done.stderr
    return done.stdout.splitlines()


def mended(lines):
    """What is wrong with theirs, out of both."""
    cut = [re.sub(r"^(  \(w\)\S{1,15})[^|]*\|", r"\1|", line) for line in lines]
    return [re.sub(r"\((\d+\.\d+)% load average\)", "(LOAD)", line) for line in cut]


WORDS = (["report"], ["report", "-S"], ["report", "-s", "count,max"], ["report", "-C", "0"], ["report", "-n", "RCU"], ["-k", "softirq", "report", "-S"],
         ["-k", "irq,workqueue", "report"], ["latency"], ["latency", "-s", "max"], ["latency", "-s", "count,avg"], ["-k", "irq", "latency"], ["timehist"],
         ["-k", "workqueue", "timehist"], ["timehist", "-C", "0", "-n", "RCU"])


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_text(perf, oracle, recorded, words):
    expected = mended(text(oracle.path, recorded, *words))
    assert mended(text(perf.path, recorded, *words)) == expected
    assert len(expected) > 3


def test_time_range(perf, oracle, recorded):
    lines = text(oracle.path, recorded, "timehist")[3:]
    span = f"{lines[len(lines) // 4].split()[0]},{lines[len(lines) // 2].split()[0]}"
    for words in (["report", "-S"], ["latency"], ["timehist"]):
        found = mended(text(perf.path, recorded, *words, "--time", span))
        assert found == mended(text(oracle.path, recorded, *words, "--time", span)) and len(found) > 3


def test_stacks(perf, oracle, recorded):
    """Up to where user space begins. 6.1 shows the stack of what began last anywhere: only runs are compared during which nothing else began, and none ended that began
    earlier."""
    def cut(lines):
        return [re.sub(r"(asm_\w+|ret_from_fork\w*|entry_SYSCALL\w*) <- .*", r"\1", line) for line in lines[3:]]
    ours, theirs = (cut(text(tool.path, recorded, "timehist", "-g", "--max-stack", "2")) for tool in (perf, oracle))
    assert [line[:90] for line in ours] == [line[:90] for line in theirs]
    times = [tuple(map(float, line.split()[:2])) for line in ours]
    alone = [i for i, (begin, end) in enumerate(times) if not any(j != i and (begin <= other[0] <= end or begin <= other[1] <= end) for j, other in enumerate(times))]
    assert [ours[i] for i in alone] == [theirs[i] for i in alone] and any(" <- " in ours[i] for i in alone)


def test_load(perf, recorded):
    lines = "\n".join(text(perf.path, recorded, "report", "-S"))
    total, load = re.search(r"Total runtime   \(msec\) : +([\d.]+) \(([\d.]+)% load average\)", lines).groups()
    span = re.search(r"Total time span \(msec\) : +([\d.]+)", lines)[1]
    assert abs(float(load) - 100 * float(total) / float(span)) < 0.01


def test_record(perf, folder, live_system, tracefs):
    """-k chooses the events, before `record` and behind it."""
    for words in (["-k", "sched,irq", "record"], ["record", "-k", "sched,irq"]):
        assert perf("kwork", *words, "-q", "-o", folder / "few.data", "--", "true").returncode == 0
        found = perf("evlist", "-i", folder / "few.data").stdout.split()
        assert {"irq:irq_handler_entry", "irq:irq_handler_exit", "sched:sched_switch"} <= set(found) and "irq:softirq_entry" not in found
    done = perf("kwork", "top", "-i", folder / "few.data")
    assert done.returncode == 0 and "%Cpu(s):" in done.stdout


def test_measured_now(perf, folder):
    """-b: the same tables, of what happens until the command ends, in the times of the kernel's clock; and of the command what it ran for itself."""
    spin = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass\n"
    for command in ("report", "latency"):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        done = perf("kwork", command, "-b", "--format", "json", "--", "python3", "-c", LOAD, folder / "file")
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.returncode == 0 and not done.stderr and rows, done.stderr
        value = "runtime" if command == "report" else "delay"
        for row in rows:
            assert row["count"] > 0 and row["max"] <= row[value] and row["max"] == row["max_end"] - row["max_start"]
            assert before - 10**9 < row["max_start"] <= row["max_end"] < after + 10**9
    assert {row["class"] for row in rows} == {"softirq", "workqueue"}
    only = perf("kwork", "report", "-b", "-k", "workqueue", "--format", "json", "--", "python3", "-c", LOAD, folder / "file").stdout
    assert {json.loads(line)["class"] for line in only.splitlines()} == {"workqueue"}
    rows = [json.loads(line) for line in perf("kwork", "top", "-b", "--format", "json", "--", "python3", "-c", spin).stdout.splitlines()]
    assert any(row["comm"].startswith("python3") and row["runtime"] > 190_000_000 for row in rows)


def test_measured_until_a_signal(perf, folder):
    with subprocess.Popen([perf.path, "kwork", "report", "-b"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        started.until_it_records(process, signal.SIGINT)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 0 and "Kwork Name" in out and not err
