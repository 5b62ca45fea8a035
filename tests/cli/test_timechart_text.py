"""perf timechart of recordings made by hand: rows and times are worked out on paper; the page in a browser; and what nothing good made."""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402
from browser import Page  # noqa: E402

FIELDS = {
    "sched:sched_switch": (1, "prev_comm/16,prev_pid/4,prev_prio/4,prev_state/8,next_comm/16,next_pid/4,next_prio/4"),
    "sched:sched_wakeup": (2, "comm/16,pid/4,prio/4,target_cpu/4"),
    "power:cpu_idle": (3, "state/4,cpu_id/4"),
    "power:cpu_frequency": (4, "state/4,cpu_id/4"),
    "syscalls:sys_enter_read": (5, "__syscall_nr/8,fd/8,buf/8,count/8"),
    "syscalls:sys_exit_read": (6, "__syscall_nr/8,ret/8"),
}
HEAD = "feature nrcpus 2\n" + "".join(
    f"tracepoint {name} id={number} fields={fields}\n"
    f"event {name} type=2 config={number} ids={number} sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW flags=sample_id_all,comm,task\n"
    for name, (number, fields) in FIELDS.items())
SECOND = 1000000000
SVG = "{http://www.w3.org/2000/svg}"


def event(name, ms, cpu, tid, *values):
    number, fields = FIELDS[name]
    return f"sample id={number} time={SECOND + round(ms * 1e6)} cpu={cpu} pid={tid} tid={tid} raw={recording.raw_of(number, fields, *values)}\n"


def switch(ms, cpu, before, state, after):
    return event("sched:sched_switch", ms, cpu, before, "", before, 120, {"R": 0, "S": 1, "D": 2}[state], "", after, 120)


def wake(ms, cpu, waker, tid):
    return event("sched:sched_wakeup", ms, cpu, waker, "", tid, 120, cpu)


def comm(tid, name, ms=-1000):
    return f"comm pid={tid} tid={tid} name='{name}' time={SECOND + round(ms * 1e6) or 1}\n"


# alpha runs 0–20, blocked 20–30, waits 30–40, runs 40–70; beta runs 20–40 and sleeps; then it is gamma, which first counts when it comes back.
#   ms   0        10        20        30        40        50        60        70        80
# CPU 0  |alpha ────────────D beta ──────────────S alpha ───────────────────────S idle, gamma 80–90
# CPU 1    idle C2 10–60                 ^30 alpha is woken               2 GHz from 50 on
STORY = HEAD + comm(10, "alpha") + comm(20, "beta") + "".join((
    switch(0, 0, 0, "R", 10), event("power:cpu_idle", 10, 1, 0, 2, 1), switch(20, 0, 10, "D", 20), wake(30, 0, 20, 10), switch(40, 0, 20, "S", 10),
    event("power:cpu_frequency", 50, 1, 0, 2000000, 1), event("power:cpu_idle", 60, 1, 0, 0xffffffff, 1), comm(20, "gamma", 65), switch(70, 0, 10, "S", 0),
    switch(80, 0, 0, "R", 20), switch(90, 0, 20, "S", 0), f"exit pid=10 ppid=1 tid=10 ptid=1 time={SECOND + 95000000}\n", switch(100, 0, 0, "R", 10)))
CALLS = HEAD + comm(10, "reader") + "".join(
    event("syscalls:sys_enter_read", at, 0, 10, 0, fd, 0, 100) + event("syscalls:sys_exit_read", at + 1, 0, 10, 0, result)
    for at, fd, result in ((0, 3, 100), (10, 3, 1948), (20, 4, -11), (50, 4, 10)))


@pytest.fixture
def story(tmp_path):
    path = tmp_path / "story.data"
    path.write_bytes(recording.make(STORY))
    return path


def boxes(text, kind):
    """[(x, y, width, title), …] of a kind, in pixels: a recording of 100 ms from a whole second on is 1000 wide."""
    root = xml.etree.ElementTree.fromstring(text.encode())
    return [(round(float(box.get("x"))), float(box.get("y")), round(float(box.get("width"))), box.find(f"{SVG}title").text)
            for box in root.iter(f"{SVG}rect") if box.get("class") == kind]


@pytest.mark.sanitize
def test_rows(perf, story):
    done = perf("timechart", "-i", story, "--format", "csv")
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout.splitlines() == [
        "comm,tid,begin,end,running,waiting,blocked,bytes",
        f"alpha,10,{SECOND},{SECOND + 95000000},50000000,10000000,10000000,0",
        f"beta,20,{SECOND + 20000000},{SECOND + 65000000},20000000,0,0,0",
        f"gamma,20,{SECOND + 80000000},{SECOND + 100000000},10000000,0,0,0"]
    rows = [json.loads(line) for line in perf("timechart", "-i", story, "--format", "json", "-p", 20).stdout.splitlines()]
    assert perf("timechart", "-i", story, "--json", "-p", 20).stdout == perf("timechart", "-i", story, "--format", "json", "-p", 20).stdout
    assert [(row["comm"], row["running"]) for row in rows] == [("beta", 20000000), ("gamma", 10000000)]


def test_svg(perf, story, tmp_path):
    done = perf("timechart", "-i", story, "-o", tmp_path / "out.svg")
    assert done.returncode == 0 and done.stderr == f"Written 0.1 seconds of trace to {tmp_path / 'out.svg'}.\n"
    text = (tmp_path / "out.svg").read_text()
    assert boxes(text, "running") == [
        (0, 30, 200, "alpha:10 running on CPU 0 20.0 ms"), (400, 30, 300, "alpha:10 running on CPU 0 30.0 ms"), (200, 30, 200, "beta:20 running on CPU 0 20.0 ms"),
        (800, 30, 100, "gamma:20 running on CPU 0 10.0 ms"),
        (0, 180, 200, "alpha:10 running on CPU 0 20.0 ms"), (400, 180, 300, "alpha:10 running on CPU 0 30.0 ms"),
        (200, 210, 200, "beta:20 running on CPU 0 20.0 ms"), (800, 240, 100, "gamma:20 running on CPU 0 10.0 ms")]
    assert boxes(text, "blocked") == [(200, 180, 100, "alpha:10 blocked until woken on CPU 0 10.0 ms")]
    assert boxes(text, "waiting") == [(300, 180, 100, "alpha:10 waiting for CPU 0 10.0 ms")]
    assert boxes(text, "idle idle2") == [(100, 90, 500, "idle C2 50.0 ms")]
    assert boxes(text, "process") == [(0, 180, 950, "alpha:10 (50.0ms)"), (200, 210, 450, "beta:20 (20.0ms)"), (800, 240, 200, "gamma:20 (10.0ms)")]
    assert re.search(r'd="M500\.00 90\.0H1000\.00"><title>2000 MHz<', text)
    assert re.search(r'class="wakeup" d="M300\.\d+ 175\.0V180\.0"><title>\[0\] wakes up alpha\[10\]<', text), "in recordings made by hand common_pid is 0"


def test_what_is_drawn(perf, story):
    def kinds(*words):
        text = perf("timechart", "-i", story, "-o", "-", *words).stdout
        return set(re.findall(r'<rect class="([^"]*)"', text)), re.findall(r'class="label"[^>]*>([^ ]*)', text)
    assert kinds("-T")[0] == {"cpu", "running", "process", "blocked", "waiting"}
    assert kinds("-P") == ({"cpu", "running", "idle idle2"}, [])
    assert kinds("-n", 1)[1] == ["alpha:10", "beta:20", "gamma:20"], "all of them ran for 10 ms"
    assert kinds("-p", "beta")[1] == ["beta:20"] and kinds("-p", "10")[1] == ["alpha:10"]
    assert "running highlight" in kinds("--highlight", "lph")[0] and "running highlight" in kinds("--highlight", "25000000")[0]
    assert "running highlight" not in kinds("--highlight", "30000000")[0] and "running highlight" not in kinds("--highlight", "nobody")[0]


def test_calls(perf, tmp_path):
    """Bytes count; the third call failed. Two calls of a file with less than --io-merge-dist between them are one."""
    path = tmp_path / "calls.data"
    path.write_bytes(recording.make(CALLS))
    text = perf("timechart", "-i", path, "-o", "-").stdout
    assert ">reader:10 (2.0 Kbytes)<" in text
    assert [(box[0], box[3]) for box in boxes(text, "read")] == [
        (0, "read fd=3 bytes=100 error=0 merges=0 1.0 ms"), (196, "read fd=3 bytes=1948 error=0 merges=0 1.0 ms"), (980, "read fd=4 bytes=10 error=0 merges=0 1.0 ms")]
    assert [box[3] for box in boxes(text, "error")] == ["read fd=4 bytes=0 error=-11 merges=0 1.0 ms"]
    assert not boxes(perf("timechart", "-i", path, "-o", "-", "--io-skip-eagain").stdout, "error")
    assert boxes(perf("timechart", "-i", path, "-o", "-", "--io-min-time", "5ms").stdout, "read")[0][3].endswith("5.0 ms")
    assert boxes(perf("timechart", "-i", path, "-o", "-", "--io-merge-dist", "9ms").stdout, "read")[0][3] == "read fd=3 bytes=2048 error=0 merges=1 11.0 ms"


def test_page(perf, story, tmp_path):
    """The page is strict about what it loads, finds its lanes, zooms, and says what the pointer rests on."""
    path = tmp_path / "out.html"
    assert perf("timechart", "-i", story, "-o", path).returncode == 0
    text = path.read_text()
    assert "default-src 'none'" in text and "http" not in text.replace("http-equiv", "")
    page = Page(path, tmp_path)
    try:
        told = "document.getElementById('range').textContent"
        assert page.evaluate(told) == "0 ns – 100.000 ms of 100.000 ms, 5 lanes"
        assert page.evaluate("document.getElementById('chart').height > 100")
        page.evaluate("document.getElementById('chart').dispatchEvent(new KeyboardEvent('keydown', {key: '+'}))")
        assert page.evaluate(told) == "25.000 ms – 75.000 ms of 100.000 ms, 5 lanes" and page.evaluate("location.hash") == "#t=25000000,75000000"
        page.evaluate("document.getElementById('reset').click()")
        page.evaluate("var s = document.getElementById('search'); s.value = 'BETA'; s.dispatchEvent(new Event('input'))")
        assert page.evaluate(told).endswith("3 lanes") and page.evaluate("location.hash") == "#s=beta"
        at = """(function (x, y) { var c = document.getElementById('chart'), b = c.getBoundingClientRect();
            c.dispatchEvent(new MouseEvent('mousemove', {clientX: b.left + b.width * x, clientY: b.top + y, bubbles: true}));
            return document.getElementById('details').textContent; })"""
        assert page.evaluate(f"{at}(0.1, 40)").startswith("alpha:10 (50.0ms): running on CPU 0, 20.000 ms from 0 ns")
        assert page.evaluate(f"{at}(0.3, 70)").startswith("CPU 1: idle C2, 50.000 ms from 10.000 ms")
        assert page.evaluate(f"{at}(0.1, 110)") == ""
    finally:
        page.close()


def test_hostile_names_stay_text(perf, tmp_path):
    path = tmp_path / "evil.data"
    evil = "<b>]]>&\x1b[2J"
    path.write_bytes(recording.make(STORY.replace("name='alpha'", f"name='{evil}'")))
    for form in ("out.svg", "out.html"):
        assert perf("timechart", "-i", path, "-o", tmp_path / form).returncode == 0
        text = (tmp_path / form).read_text()
        assert "<b>" not in text and "\x1b" not in text
    xml.etree.ElementTree.parse(tmp_path / "out.svg")


@pytest.mark.sanitize
def test_odd_recordings(perf, tmp_path):
    """Impossible CPUs and frequencies, calls without an end, ends without a call; and nothing that belongs into a timechart."""
    path = tmp_path / "odd.data"
    path.write_bytes(recording.make(HEAD.replace("nrcpus 2", "nrcpus 4294967295") + comm(1, "x") + event("power:cpu_idle", 1, 0, 0, 1, 0x7fffffff)
                                    + event("power:cpu_frequency", 2, 0, 0, -1, 0) + event("syscalls:sys_exit_read", 3, 0, 1, 0, 5)
                                    + event("syscalls:sys_enter_read", 4, 0, 1, 0, 3, 0, 5) * 2 + switch(5, 0xffffffff, 1, "D", 1) + wake(6, 0, 1, 1)
                                    + switch(7, 70000, 1, "R", 1)))
    for words in ([], ["--html"], ["-t"]):
        done = perf("timechart", "-i", path, "-o", "-", *words)
        assert done.returncode == 0 and "nan" not in done.stdout, done.stderr
    path.write_bytes(recording.make(STORY + event("power:cpu_idle", 1000, 0, 0, 1, 0).replace(f"time={2 * SECOND}", f"time={2 ** 64 - 2}")))
    done = perf("timechart", "-i", path, "-o", "-", timeout=60)
    assert done.returncode == 0 and 10 <= done.stdout.count('class="grid"') <= 110, "a recording of 584 years"
    path.write_bytes(recording.make(HEAD + event("power:cpu_idle", 1, 0, 0, 1, 0) + event("power:cpu_idle", 2, 0, 0, -1, 0)))
    assert perf("timechart", "-i", path, "-o", tmp_path / "idle.svg").returncode == 0, "no process did anything"
    path.write_bytes(recording.make("event cycles type=0 config=0 ids=1 sample=IDENTIFIER|IP|TID|TIME\n"))
    done = perf("timechart", "-i", path, "-o", tmp_path / "none.svg")
    assert done.returncode == 255 and "perf timechart record" in done.stderr and not (tmp_path / "none.svg").exists()


@pytest.mark.parametrize("words", (["-w", "5"], ["-P", "-T"], ["--highlight", "a", "--highlight", "b"], ["--io-min-time", "soon"], ["nonsense"],
                                   ["record", "-P", "-T"], ["record", "-I", "-P"], ["-i", "x", "record"]), ids=" ".join)
def test_mistakes(perf, words):
    done = perf("timechart", *words)
    assert done.returncode == 129 and done.stderr.startswith("perf timechart") and not done.stdout
