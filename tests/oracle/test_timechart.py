"""perf timechart draws what the kernel's perf draws of the same recording: the same rows with the same times, and each span where it stands there.

Left out, since 6.1 gets it wrong: who woke somebody (it always says 0), and where a row without a known beginning begins. Threads that a program starts are rows of
ours; there they have none unless they give themselves a name, so the programs recorded here have no threads of other names."""
import collections
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import own  # noqa: E402

LOAD = "for i in 1 2 3; do sleep 0.01; cat /etc/passwd >/dev/null; done; seq 1 100000 | sort -n | tail -n 1"
IO_LOAD = """
import os, select, socket, tempfile
left, right = socket.socketpair()
with tempfile.TemporaryFile(buffering=0) as file:
    file.write(b"x" * 100000)
    os.fsync(file.fileno())
    for i in range(20):
        os.pread(file.fileno(), 1000, 0)
        os.pwrite(file.fileno(), b"q" * 200, 0)
left.send(b"hello")
right.recv(10)
right.setblocking(False)
for i in range(3):
    try:
        right.recv(10)
    except BlockingIOError:
        pass
poll = select.poll()
poll.register(right.fileno(), select.POLLIN)
poll.poll(20)
left.sendmsg([b"a", b"bb"])
right.recvmsg(100)
try:
    os.read(99, 5)
except OSError:
    pass
"""
SVG = "{http://www.w3.org/2000/svg}"
Span = collections.namedtuple("Span", "kind x width")
KINDS = {"WAITING": "waiting", "sample": "running", "sample_hi": "running highlight", "disk": "disk", "net": "net"}
OURS = {"read": "disk", "write": "disk", "send": "net", "receive": "net"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, live_system, tracefs):
    return tmp_path_factory.mktemp("timechart")


def record(perf, path, *words):
    """Neighbours are taken out: their threads are rows of ours alone, and may be many."""
    with subprocess.Popen([perf.path, "timechart", "record", *words[:-3], "-q", "-m", "1024", "-o", path, "--", *words[-3:]], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        _, errors = process.communicate()
    assert process.returncode == 0, errors
    path.write_bytes(own.of(path.read_bytes(), process.pid))
    return path


@pytest.fixture(scope="module")
def tasks(perf, folder):
    return record(perf, folder / "tasks.data", "sh", "-c", LOAD)


@pytest.fixture(scope="module")
def calls(perf, folder, tracefs):
    if not (tracefs / "events/syscalls/sys_enter_read").exists():
        pytest.skip("no events of system calls here")
    return record(perf, folder / "calls.data", "-I", "python3", "-c", IO_LOAD)


def draw(tool, recording, path, *words):
    path.unlink(missing_ok=True)
    done = subprocess.run([str(tool), "timechart", "-f", "-i", str(recording), "-o", str(path), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Ours tells of losses behind that: calls of the whole machine are recorded, which may be more than the buffers hold.
    said = re.search(r"^(Written \d+\.\d seconds) of trace to .*\.svg\.$", done.stderr, re.M)
    assert said, done.stderr
    return said[1]


def base(y):
    """Rows stand 30 pixels apart, and what is in them anywhere in the upper 25."""
    return y // 30 * 30


def theirs(path):
    """{place in the picture: [Span, …]} of CPUs and of rows, and the labels of rows by place."""
    text = path.read_text(errors="replace").replace("<![CDATA[", "").replace("]]>", "")
    spans, labels, shift = collections.defaultdict(list), {}, 0.0
    for match in re.finditer(r'<g transform="translate\(([-0-9.]+),([0-9.]+)\)">|<g>|<rect ([^>]*)/>|<text x="[^"]*" y="([0-9.]+)">([^<]*)</text>', text):
        if match[1]:
            shift, top = float(match[1]), float(match[2])
        elif match[3]:
            values = dict(re.findall(r'(\w+)="([^"]*)"', match[3]))
            y = float(values["y"])
            if (y or shift) and 0 <= float(values["width"]) < 1e6:  # calls that haven't ended have none
                spans[base(top if shift else y)].append(Span(KINDS.get(values["class"], values["class"]), shift + float(values["x"]), float(values["width"])))
        elif match[4] and "(" in match[5]:
            labels[float(match[4]) - 12.5] = match[5].replace("&lt;", "<").replace("&gt;", ">")
        elif not match[4]:
            shift = 0.0
        if match[3]:
            shift = 0.0
    return spans, labels


def ours(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    spans, labels = collections.defaultdict(list), {}
    for box in root.iter(f"{SVG}rect"):
        kind = box.get("class")
        spans[base(float(box.get("y")))].append(Span(OURS.get(kind, kind), float(box.get("x")), float(box.get("width"))))
    for text in root.iter(f"{SVG}text"):
        if text.get("class") == "label":
            labels[float(text.get("y")) - 12] = text.text
    return spans, labels


def of_rows(spans, labels):
    """{label: spans in the order of time}, without the bars behind them. Theirs highlights names only in the CPUs' bars."""
    found = collections.defaultdict(list)
    for place, label in labels.items():
        found[label] += [span._replace(kind=span.kind.split()[0]) for span in spans[place] if not span.kind.startswith("process")]
    return {label: sorted(found[label], key=lambda span: (span.x, span.width)) for label in found}


def same(left, right):
    return len(left) == len(right) and all(a.kind == b.kind and abs(a.x - b.x) < 1e-4 and abs(a.width - b.width) < 1e-4 for a, b in zip(left, right))


def cpus(spans, idle):
    """{place: spans} of CPUs; idle states are one kind."""
    found = {}
    for place in (place for place in spans if place % 60 == 30):
        if any(span.kind == "cpu" for span in spans[place]):
            kinds = [span._replace(kind="idle" if re.fullmatch(r"c\d|idle.*", span.kind) else span.kind) for span in spans[place]]
            found[place] = sorted((span for span in kinds if span.kind != "cpu" and (idle or span.kind != "idle")), key=lambda span: (span.x, span.width, span.kind))
    return found


WORDS = ([], ["-n", "3"], ["-n", "100000"], ["-T"], ["-P"], ["-p", "sort"], ["-p", "sort", "-p", "tail"], ["-w", "4000"], ["-t"], ["--highlight", "so"],
         ["--highlight", "100000"])


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_tasks(perf, oracle, tasks, folder, words):
    assert draw(perf, tasks, folder / "ours.svg", *words) == draw(oracle, tasks, folder / "theirs.svg", *words)
    (expected, their_labels), (found, labels) = theirs(folder / "theirs.svg"), ours(folder / "ours.svg")
    assert sorted(labels.values()) == sorted(their_labels.values()), "the same rows with the same times"
    assert len(labels) >= {"-P": 0, "-p": 1}.get(words[0] if words else "", 3)
    rows, their_rows = of_rows(found, labels), of_rows(expected, their_labels)
    for label, spans in their_rows.items():
        assert same(rows[label], sorted(spans, key=lambda span: (span.x, span.width))), label
    their_cpus, our_cpus = cpus(expected, "-T" not in words), cpus(found, "-T" not in words)
    assert their_cpus.keys() == our_cpus.keys() and their_cpus
    for place, spans in their_cpus.items():
        assert same(our_cpus[place], spans), place


@pytest.mark.parametrize("words", ([], ["--io-skip-eagain"], ["--io-min-time", "10us"], ["--io-merge-dist", "1ms"], ["-n", "1"]), ids=" ".join)
def test_calls(perf, oracle, calls, folder, words):
    draw(perf, calls, folder / "ours.svg", *words)
    draw(oracle, calls, folder / "theirs.svg", *words)
    rows, their_rows = of_rows(*ours(folder / "ours.svg")), of_rows(*theirs(folder / "theirs.svg"))
    assert rows.keys() == their_rows.keys() and any(label.startswith("python3:") for label in rows)
    for label, spans in their_rows.items():
        assert same(rows[label], spans), label
    assert ("error" in {span.kind for spans in rows.values() for span in spans})


def test_stacks(perf, folder, live_system, tracefs):
    """record -g: what is pointed at names the functions."""
    path = folder / "stacks.data"
    assert perf("timechart", "record", "-g", "-T", "-q", "-o", path, "--", "sleep", "0.01").returncode == 0
    assert "power" not in perf("evlist", "-i", path).stdout
    text = perf("timechart", "-i", path, "-o", "-").stdout
    assert re.search(r"<title>sleep:\d+ running on CPU \d+ .*\n(?:.*\n)*?__schedule\n", text) or "__schedule" in text


def test_power_only(perf, folder, live_system, tracefs):
    path = folder / "power.data"
    done = perf("timechart", "-P", "record", "-q", "-o", path, "--", "true")
    assert done.returncode == 0, done.stderr
    events = perf("evlist", "-i", path).stdout
    assert "power:cpu_idle" in events and "sched" not in events
