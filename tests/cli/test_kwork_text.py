"""perf kwork on recordings made by hand: the text is worked out from the times; and recordings that nothing good made."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

FIELDS = {
    "irq:irq_handler_entry": (1, "irq/4,name/16"),
    "irq:irq_handler_exit": (2, "irq/4,ret/4"),
    "irq:softirq_raise": (3, "vec/4"),
    "irq:softirq_entry": (4, "vec/4"),
    "irq:softirq_exit": (5, "vec/4"),
    "workqueue:workqueue_activate_work": (6, "work/8,function/8"),
    "workqueue:workqueue_execute_start": (7, "work/8,function/8"),
    "workqueue:workqueue_execute_end": (8, "work/8,function/8"),
    "sched:sched_switch": (9, "prev_comm/16,prev_pid/4,prev_prio/4,prev_state/8,next_comm/16,next_pid/4,next_prio/4"),
}
HEAD = "feature nrcpus 2\n" + "".join(
    f"tracepoint {name} id={number} fields={fields}\n"
    f"event {name} type=2 config={number} ids={number} sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW flags=sample_id_all,comm,task\n"
    for name, (number, fields) in FIELDS.items())
KERNEL = 0xffffffff81000000
MAP = f"mmap pid=-1 tid=0 addr={KERNEL:#x} len=0x100000 pgoff={KERNEL:#x} misc=1 name=[kernel.kallsyms]_text\n"
FUNCTIONS = {0: "_text", 0x1000: "vmstat_update", 0x2000: "a_function_with_a_name_that_is_too_long", 0x3000: "_etext"}
RULE = " " + "-" * 128


def event(name, us, cpu, *values, tid=0):
    number, fields = FIELDS[name]
    return f"sample id={number} time={1000000000 + us * 1000} cpu={cpu} pid={tid} tid={tid} raw={recording.raw_of(number, fields, *values)}\n"


def irq(us, length, number=36, name="disk", cpu=1):
    return event("irq:irq_handler_entry", us, cpu, number, name) + event("irq:irq_handler_exit", us + length, cpu, number, 1)


def softirq(raised, us, length, vec=9, cpu=0):
    return (event("irq:softirq_raise", raised, cpu, vec) + event("irq:softirq_entry", us, cpu, vec) + event("irq:softirq_exit", us + length, cpu, vec))


def work(raised, us, length, function, address=0xffff888000001000, cpu=0):
    return "".join(event(f"workqueue:workqueue_{step}", time, cpu, address, KERNEL + function if function else 0)
                   for step, time in (("activate_work", raised), ("execute_start", us), ("execute_end", us + length)))


# The disk interrupts twice (10 and 30 µs); RCU runs twice, having waited for 5 and 15 µs; a work without a function; an interrupt without its end.
STORY = HEAD + MAP + irq(100, 10) + irq(200, 30) + softirq(295, 300, 20) + softirq(385, 400, 40) + work(500, 600, 250, 0x1000) \
    + work(900, 901, 5, 0x2000, 0xffff888000002000) + work(950, 960, 1, 0, 0xffff888000003000) + event("irq:irq_handler_entry", 1000, 0, 5, "timer")


def make(folder, text):
    (folder / "kallsyms").write_text("".join(f"{KERNEL + at:x} T {name}\n" for at, name in FUNCTIONS.items()))
    path = folder / "kwork.data"
    path.write_bytes(recording.make(text))
    return path


@pytest.fixture
def run(perf, tmp_path):
    path = make(tmp_path, STORY)

    def lines(*words):
        done = perf("kwork", *words, "-i", path, "--kallsyms", tmp_path / "kallsyms")
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout.splitlines()
    return lines


@pytest.mark.sanitize
def test_report(run):
    """One of 46 records is an entry without its exit."""
    found = run("report", "-S")
    assert found[:9] == [
        "", "  Kwork Name                     | Cpu  | Total Runtime | Count     | Max runtime   | Max runtime start   | Max runtime end     |", RULE,
        "  (w)vmstat_update               | 0000 |      0.250 ms |         1 |      0.250 ms |          1.000600 s |          1.000850 s |",
        "  (s)RCU:9                       | 0000 |      0.060 ms |         2 |      0.040 ms |          1.000400 s |          1.000440 s |",
        "  disk:36                        | 0001 |      0.040 ms |         2 |      0.030 ms |          1.000200 s |          1.000230 s |",
        "  (w)a_function_with_a_name_tha  | 0000 |      0.005 ms |         1 |      0.005 ms |          1.000901 s |          1.000906 s |",
        "  (w)0xffff888000003000          | 0000 |      0.001 ms |         1 |      0.001 ms |          1.000960 s |          1.000961 s |", RULE]
    assert found[9:13] == ["  Total count            :         7", "  Total runtime   (msec) :     0.356 (39.556% load average)",
                           "  Total time span (msec) :     0.900", RULE]
    assert found[13].endswith("skipped events (1 including 0 raise, 1 entry, 0 exit)")


def test_latency(run):
    rows = [line.split("|")[0].strip() + line.split("|")[2] for line in run("latency") if "ms |" in line]
    assert rows == ["(w)vmstat_update      0.100 ms ", "(s)RCU:9      0.010 ms ", "(w)0xffff888000003000      0.010 ms ",
                    "(w)a_function_with_a_name_tha      0.001 ms "]
    assert [line.split("|")[0].strip() for line in run("latency", "-s", "count") if "ms |" in line][0] == "(s)RCU:9"


def test_timehist(run):
    assert run("timehist")[3:] == [
        "          1.000100           1.000110  [0001]  disk:36                              0.010             ",
        "          1.000200           1.000230  [0001]  disk:36                              0.030             ",
        "          1.000300           1.000320  [0000]  (s)RCU:9                             0.020       0.005 ",
        "          1.000400           1.000440  [0000]  (s)RCU:9                             0.040       0.015 ",
        "          1.000600           1.000850  [0000]  (w)vmstat_update                     0.250       0.100 ",
        "          1.000901           1.000906  [0000]  (w)a_function_with_a_name_tha        0.005       0.001 ",
        "          1.000960           1.000961  [0000]  (w)0xffff888000003000                0.001       0.010 "]
    assert len(run("-k", "irq", "timehist")) == 5 and len(run("timehist", "--time", "1.0003,1.0005")) == 5 and len(run("timehist", "-C", 1)) == 5
    assert len(run("timehist", "-n", "RCU")) == 5


def test_for_programs(run):
    rows = [json.loads(line) for line in run("report", "--format", "json")]
    assert run("report", "--json") == run("report", "--format", "json")
    assert rows[1] == {"class": "softirq", "name": "(s)RCU:9", "cpu": 0, "runtime": 60000, "count": 2, "max": 40000, "max_start": 1000400000, "max_end": 1000440000}
    assert rows[3]["name"] == "(w)a_function_with_a_name_that_is_too_long"
    assert run("latency", "--format", "csv")[1] == "workqueue,(w)vmstat_update,0,100000,1,100000,1000500000,1000600000"
    assert json.loads(run("timehist", "--format", "json")[2])["delay"] == 5000


def switch(us, cpu, before, after):
    return event("sched:sched_switch", us, cpu, "", before, 120, 0, "", after, 120, tid=before)


# CPU 0: alpha for 0–600 µs, in which an interrupt takes 100 and a soft one 50, 20 of which are another interrupt; then idle until 1000. CPU 1: beta all the time.
TOP = HEAD + "comm pid=10 tid=10 name=alpha time=1\ncomm pid=20 tid=20 name=beta time=1\n" + switch(0, 0, 0, 10) + switch(0, 1, 0, 20) + irq(100, 100, cpu=0) \
    + event("irq:softirq_entry", 300, 0, 9) + irq(310, 20, cpu=0) + event("irq:softirq_exit", 350, 0, 9) + switch(600, 0, 10, 0) + switch(1000, 1, 20, 20)


@pytest.mark.sanitize
def test_top(perf, tmp_path):
    path = make(tmp_path, TOP)
    assert perf("kwork", "top", "-i", path).stdout.splitlines() == [
        "", "Total  :      2.000 ms, 2 cpus", "%Cpu(s):  20.00% id,   6.00% hi,   1.50% si",
        "%Cpu0   [||||||||||||||||||            ]  60.00%", "%Cpu1   [||||||||||||||||||||||||||||||] 100.00%", "",
        "      PID    TID   %CPU          RUNTIME  COMMAND", "  -------------------------------------------------",
        "       20     20 100.00         1.000 ms  beta", "       10     10  45.00         0.450 ms  alpha", "        0      0  40.00         0.400 ms  [swapper/0]", ""]
    assert [json.loads(line)["comm"] for line in perf("kwork", "top", "-s", "tid", "--format", "json", "-i", path).stdout.splitlines()] == [
        "[swapper/0]", "alpha", "beta"]
    assert "  10     10  60.00 " in perf("kwork", "-k", "sched", "top", "-n", "alpha", "-i", path).stdout
    assert "1 cpus" in perf("kwork", "top", "-C", 1, "-i", path).stdout


@pytest.mark.sanitize
def test_odd_recordings(perf, tmp_path):
    """Impossible numbers and CPUs, ends before beginnings, hostile names; and recordings of something else."""
    path = make(tmp_path, HEAD + MAP + event("irq:irq_handler_entry", 1, 0xffffffff, 1, "\x1b[2J") + event("irq:irq_handler_exit", 2, 0xffffffff, 1, 1)
                + event("irq:softirq_exit", 1, 0, 0xffffffff) + event("irq:softirq_entry", 5, 0, 0xffffffff) + event("irq:softirq_exit", 4, 0, 0xffffffff)
                + event("workqueue:workqueue_execute_end", 9, 3, 0, 0) + switch(9, 0xffffffff, 1, 2))
    for words in (["report", "-S"], ["latency"], ["timehist", "-g"], ["top"]):
        done = perf("kwork", *words, "-i", path)
        assert done.returncode == 0 and "\x1b" not in done.stdout and "nan" not in done.stdout, done.stderr
    path.write_bytes(recording.make("event cycles type=0 config=0 ids=1 sample=IDENTIFIER|IP|TID|TIME\n"))
    for words in (["report"], ["latency"], ["timehist"], ["top"]):
        done = perf("kwork", *words, "-i", path)
        assert done.returncode == 255 and "record" in done.stderr


@pytest.mark.parametrize("words", (["report", "-s", "avg"], ["latency", "-s", "runtime"], ["top", "-s", "x"], ["-k", "sched", "report"], ["-k", "foo", "latency"],
                                   ["report", "-b", "-i", "x"], ["top", "-b", "-D"], ["latency", "-b", "--time", "1,2"], ["report", "sleep"], ["report", "--time", "x"], ["nonsense"], ["-C", "0", "record"], []), ids=" ".join)
def test_mistakes(perf, tmp_path, words):
    path = make(tmp_path, STORY)
    done = perf("kwork", *words, *(["-i", path] if words and "record" not in words else []))
    assert done.returncode == 129 and done.stderr.startswith("perf kwork") and not done.stdout
