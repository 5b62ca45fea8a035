"""Names that want to do harm, wherever a name can come from, through every screen and page: terminals aren't told anything, and pages run nothing.

Names of threads, files, functions (one of a megabyte), events, the machine and its command have escape sequences that would set the terminal's title,
elements of HTML that would run, line breaks and bytes that aren't UTF-8."""
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording
import started
from browser import Page
from screened import head, instructions, make_at, places

TITLE = b"\x1b]2;pwned\x07"
ELEMENT = b"<script>pwned=1</script><img src=x onerror=pwned=1>"
FUNCTION = TITLE + ELEMENT + b"\n\"';&\xff\xc0\x80"
LONG = b"l" * (1 << 20) + TITLE
# Of the length that the recording's maker gave them room for.
THREAD = (TITLE + b"\n\xff<b>")[:15]
FILE = b"/tmp/" + TITLE + ELEMENT + b"\n\xff.so"
SHOWN = r"\x1b]2;pwned\x07"


def rename(folder):
    """The program's functions get their names."""
    (folder / "names").write_bytes(b"warm " + LONG.replace(b"\n", b"") + b"\n")
    subprocess.run([b"objcopy", b"--redefine-sym", b"hot=" + FUNCTION, b"--redefine-syms", bytes(folder / "names"), bytes(folder / "prog")], check=True)


@pytest.fixture(scope="module")
def evil(folder):
    """Two recordings of one program."""
    if not shutil.which("objcopy"):
        pytest.skip("objcopy is not installed")
    at = places(folder)
    room = {b"T" * 15: THREAD, b"/" + b"F" * (len(FILE) - 1): FILE, b"E" * 40: (TITLE + ELEMENT)[:40], b"H" * 60: (ELEMENT + TITLE)[:60], b"C" * 60: (TITLE + ELEMENT)[:60]}
    text = head(folder, ["E" * 40, "other"], [("T" * 15, 7), ("two", 8)]).replace("/nowhere/lib.so", (b"/" + b"F" * (len(FILE) - 1)).decode())
    text = text.replace("feature hostname box", "feature hostname " + "H" * 60 + "\nfeature cmdline " + "C" * 60)
    for i in range(300):
        chain = [at[name] for name in (("hot", "warm", "main") if i % 3 else ("hot", "cold", "main"))] if i % 7 else [0x7f0000000010]
        tid = 7 + i % 2
        text += f"sample event={i % 5 == 0:d} id={1 + (i % 5 == 0)} ip={chain[0]:#x} pid={tid} tid={tid} time={10 + i} period=1 chain=user,{','.join(map(hex, chain))}\n"
    data = recording.Maker(text).make()
    for before, after in room.items():
        assert before in data and len(before) == len(after), before
        data = data.replace(before, after)
    rename(folder)
    for name in (b"perf.data", b"perf.data.old", TITLE.replace(b"\x1b]2;", b"\x1b]2;<b>\n")):
        (folder / name.decode()).write_bytes(data)
    return folder


def check(screen):
    """What tmux says of its terminal: the title is what it was."""
    title = subprocess.run([*screen.tmux, "display-message", "-p", "#{pane_title}"], check=True, capture_output=True, text=True).stdout
    assert "pwned" not in title


def press(screen, *sequences):
    """One after the other, while the program still runs; then it is left from whatever window is open."""
    for count, keys in enumerate(sequences, 1):
        before = screen.text()
        screen.keys(*keys.split())
        assert "ended with" not in "".join(screen.until()), f"ended after {sequences[:count]}; before the last:\n{before}"
        check(screen)
    screen.keys("C-c")
    screen.until("ended with")
    check(screen)


# Esc leaves any window, and the table never.
REPORT = ["Enter", "Down Down Enter", "Escape", "Escape", "i", "End", "Escape", "t", "d", "Escape", "Escape", "+", "E", "V", "Down Down Right Right", "a", "Escape", "Escape",
          "f", "Down", "Enter", "Escape", "Escape", "s", "Escape", "r", "Escape", "/ p w n Enter", "Escape", "P", "x Enter", "Escape", "?", "Escape", "Tab", "E", "Home"]


@pytest.mark.parametrize("words", [["report"], ["report", "-s", "comm,dso,sym", "--no-children"], ["report", "-g", "caller", "-s", "sym"]], ids=" ".join)
def test_report_screen(evil, show, tmp_path, words):
    screen = show(*words, "-i", evil / "perf.data", cwd=tmp_path, columns=120)
    screen.until("Events of the recording", SHOWN)
    screen.after("Enter", "row 1 of", SHOWN)
    press(screen, *REPORT)


def test_annotate_screen(evil, show):
    screen = show("annotate", "-i", evil / "perf.data", columns=120)
    screen.until("h: help", SHOWN)
    press(screen, "Tab", "o", "O", "J", "s", "s", "k", "l", "/ p w n Enter", "n", "q", "Down Enter", "Tab", "Enter")  # Esc would leave it


def test_types_of_data(show, tmp_path):
    """T: names from debug information."""
    name = TITLE + ELEMENT[:20] + b"\n\xff"
    room = b"T" * len(name)
    (tmp_path / "prog.c").write_bytes(b"struct %s { long a, key; }; __attribute__((noinline)) long walk(struct %s *x) { return x->key; }\nint main(void) { return (int)walk(0); }\n" % (room, room))
    subprocess.run(["gcc", "-g", "-O1", "-no-pie", "-o", "prog", "prog.c"], cwd=tmp_path, check=True)
    (tmp_path / "prog").write_bytes((tmp_path / "prog").read_bytes().replace(room + b"\0", name + b"\0"))
    make_at(tmp_path, "perf.data", {instructions(tmp_path, "walk")[0][0]: 1})
    screen = show("annotate", cwd=tmp_path, columns=120)
    screen.until("h: help")
    screen.after("T", "# data-type: struct " + SHOWN)
    press(screen, "P", "s")


@pytest.fixture(scope="module")
def imported(perf, tmp_path_factory):
    """Profiles of other tools: what they say of names is text that may be anything."""
    folder = tmp_path_factory.mktemp("imported")
    (folder / "folded").write_bytes(b"proc" + TITLE + b";main" + FUNCTION.replace(b"\n", b"").replace(b";", b"") + b";" + ELEMENT + b" 50\nproc;main;" + LONG.replace(b";", b"") + b" 30\n;;x 4\n\xff\xfe;\xff 3\n")
    frames = [{"name": (TITLE + ELEMENT + b"\n").decode(), "file": (b"/f\n" + TITLE + ELEMENT).decode(), "line": 3}, {"name": LONG.decode()}]
    profile = {"type": "sampled", "name": "p\n" + TITLE.decode(), "unit": "milliseconds", "startValue": 0, "endValue": 10, "samples": [[0, 1], [1], [0]], "weights": [3, 4, 3]}
    (folder / "speedscope").write_text(json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames}, "profiles": [profile]}))
    for kind in ("folded", "speedscope"):
        done = perf("import", kind, kind, "-o", f"{kind}.data", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("kind", ["folded", "speedscope"])
def test_imported(imported, perf, show, tmp_path, kind):
    data = imported / f"{kind}.data"
    for words in (["report", "--stdio"], ["report", "--hierarchy", "--stdio"], ["script"], ["report", "--format", "csv"], ["report", "--header-only"]):
        done = subprocess.run([perf.path, *words, "-i", data], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert done.returncode == 0 and done.stdout, done.stderr
        assert not {byte for byte in done.stdout + done.stderr if (byte < 32 and byte not in b"\n\t") or byte == 127}
        done.stdout.decode()
    for words in (["flamegraph", "-o", "-"], ["report", "--html", "/dev/stdout"]):
        text = subprocess.run([perf.path, *words, "-i", data], capture_output=True, check=True).stdout
        assert b"<script>pwned" not in text and b"<img" not in text and b"\x1b" not in text
    screen = show("report", "-i", data, cwd=tmp_path, columns=120)
    screen.until("row 1 of", r"pwned\x07")
    press(screen, *REPORT)


@pytest.mark.alone
@pytest.mark.usefixtures("live")
def test_top_screen(evil, show, tmp_path):
    """A program of that name and with these functions, while it runs."""
    source = (evil / "prog.c").read_text().replace("int main(int argc, char **argv) {", "#include <sys/prctl.h>\nint main(int argc, char **argv) { prctl(PR_SET_NAME, argv[1]); for (;;) hot(argc);")
    (evil / "spin.c").write_text("#include <stdio.h>\n" + source)
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-w", "-o", "spin", "spin.c"], cwd=evil, check=True)
    subprocess.run([b"objcopy", b"--redefine-sym", b"hot=" + FUNCTION, bytes(evil / "spin")], check=True)
    with subprocess.Popen([bytes(evil / "spin"), THREAD]) as process:
        try:
            screen = show("top", "-e", "cpu-clock:u", "-d", "1", "-p", str(process.pid), "-s", "comm,dso,sym", cwd=tmp_path, columns=120)
            screen.until("row 1 of", SHOWN)
            press(screen, "Enter", "Escape", "t", "d", "Escape", "Escape", "a", "Tab", "Escape", "Escape", "G", "Escape", "i", "Escape", "P", "x Enter", "Escape", "V")
        finally:
            process.kill()


TEXTS = [["report", "--stdio"], ["report", "--stdio", "-s", "comm,dso,sym", "-v"], ["report", "--header-only"], ["annotate", "--stdio"], ["annotate", "--stdio2"], ["diff"],
         ["report", "--format", "csv"], ["report", "--format", "json"], ["report", "--format", "folded"], ["script"], ["report", "--hierarchy", "--stdio"]]


@pytest.mark.parametrize("words", TEXTS, ids=" ".join)
def test_text(evil, perf, words):
    done = subprocess.run([perf.path, *words], cwd=evil, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 0 and len(done.stdout) > 100, done.stderr
    for text in (done.stdout, done.stderr):
        assert not {byte for byte in text if (byte < 32 and byte not in b"\n\t") or byte == 127}
        text.decode()


PAGES = [["report", "--html", "page.html"], ["flamegraph", "-o", "page.html"], ["flamegraph", "--reverse", "-o", "page.svg"], ["diff", "--html", "page.html", "perf.data.old", "perf.data"],
         ["diff", "--flamegraph", "page.svg", "perf.data.old", "perf.data"]]


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_page(evil, perf, tmp_path, words):
    done = perf(*words, cwd=evil)
    assert done.returncode == 0, done.stderr
    name = next(word for word in words if word.startswith("page"))
    text = (evil / name).read_bytes()
    text.decode()
    assert b"<script>pwned" not in text and b"<img" not in text and b"\x1b" not in text
    page = Page(evil / name, tmp_path)
    try:
        started.until(lambda: page.evaluate("document.readyState") == "complete", "the page is there")
        if words[0] == "report":
            page.evaluate("profile.ready")
            page.evaluate("Array.from(document.querySelectorAll('#functions tbody tr')).forEach(row => row.click())")
        assert page.evaluate("typeof pwned") == "undefined"
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert page.evaluate("performance.getEntriesByType('resource').length") == 0
    finally:
        page.close()
