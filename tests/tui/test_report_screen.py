"""perf report on a screen: what keys do. The kernel's perf (report --tui, its help) says what they are."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording
from screened import EVIL, head, make, make_stacks, places
from screens import Screen
import started


@pytest.fixture(scope="module")
def data(folder):
    return make(folder, "perf.data")


@pytest.fixture
def report(show, data):
    return lambda *words, **arguments: show("report", *words, **arguments)


def rows(lines):
    """Those of the table, without the sign, as words."""
    return [line[1:].split() for line in lines if re.match(r"[-+ ] +\d+\.\d\d%", line)]


def test_starts_on_a_terminal_and_leaves_it(perf, report, data):
    screen = report()
    lines = screen.until("?: help")
    text = [line.split() for line in perf("report", "--stdio", "-g", "none", "-i", data).stdout.splitlines() if line and line[0] != "#"]
    assert rows(lines) == text
    assert lines[0].startswith("Samples: 1K of event 'cpu-clock', Event count (approx.): 1520")
    assert lines[1].split()[:3] == ["Children", "Self", "Command"]
    screen.after("q", "ended with 0", without=["Samples:"])


def test_pages_and_leaving(report, data):
    """Keys of the kernel tool's help that go by other names as well."""
    screen = report(lines=9)
    screen.until("row 1 of 12")
    for down, up in (("Space", "PPage"), ("NPage", "PPage")):
        screen.after(down, "of 12", without=["row 1 of"])
        screen.after(up, "row 1 of 12")
    screen.after("F1", "Keys of perf report")
    screen.after("q", "row 1 of 12")
    screen.after("C-c", "ended with")


@pytest.mark.parametrize("words", [["--stdio"], ["--format", "csv"], ["--header-only"], ["--stats"], ["--tasks"], ["-t", ","]], ids=" ".join)
def test_what_stays_text(report, words):
    lines = report(*words, PERF_PAGER="cat").until("ended with 0")
    assert not any("?: help" in line for line in lines)


def test_no_screen_without_a_terminal(perf, report, data):
    assert perf("report", "-i", data).stdout == perf("report", "--stdio", "-i", data).stdout
    done = perf("report", "--tui", "-i", data)
    assert done.returncode == 129 and "must be a terminal" in done.stderr and "use --stdio" in done.stderr


@pytest.mark.parametrize("terminal", ["dumb", "nonsense", ""])
def test_terminals_that_cannot(report, terminal, perf, folder):
    with Screen(["env", f"TERM={terminal}", "PERF_PAGER=cat", perf, "report", "-g", "none"], folder) as screen:
        assert "% one" in re.sub(" +", " ", "\n".join(screen.until("ended with 0")))


def test_moving(report):
    screen = report("-g", "none", lines=8)  # five rows at a time
    last = int(re.search(r"of (\d+)", "\n".join(screen.until("row 1 of")))[1])
    assert last > 5
    for keys, row in (("Down", 2), ("Down Down", 4), ("Up", 3), ("Home", 1), ("PageDown", 6), ("PageUp", 1), ("Space", 6), ("End", last), ("Down", last), ("Home", 1),
                      ("Up", 1)):
        screen.after(keys, f"row {row} of")


def test_call_chains(report):
    """+ opens a level, e all of a row, c closes it, E and C are for all rows. The shares are those of the text."""
    screen = report("-s", "sym", "-g", "caller,0.1")
    lines = screen.until("row 1 of", "[.] main")
    assert lines[2].startswith("+ ") and lines[2].endswith("[.] main")
    lines = screen.after("+", "-   94.74%", "+ main")
    assert lines[3] == "   + main"
    lines = screen.after("Down +", "- main", "69.08% warm")
    assert lines[3:6] == ["   - main", "      + 69.08% warm", "        19.74% cold"], lines
    lines = screen.after("Down +", "- 69.08% warm")
    assert lines[4:7] == ["      - 69.08% warm", "           59.21% hot", "        19.74% cold"], lines
    screen.after("+", "+ 69.08% warm", without=["59.21% hot"])
    screen.after("e", "- 69.08% warm", "59.21% hot")
    screen.after("c", "+   94.74%", without=["% warm"])
    screen.after("E", "- 69.08% warm", "-   78.95%", "-   69.08%", "59.21% hot")
    screen.after("C", "+   78.95%", without=["- 69.08% warm"])


def test_hierarchy(perf, report, data):
    """Levels open one by one, or all of them; then the lines are those of the text. What lines of an upper level don't tell they are not asked for."""
    screen = report("--hierarchy", "-g", "none", "--no-children")
    lines = screen.until("row 1 of 2", "+: open")
    assert [line.split() for line in lines[2:4]] == [["+", "65.79%", "one"], ["+", "34.21%", "two"]]
    lines = screen.after("+", "row 1 of 4", "prog")
    assert [line.split() for line in lines[2:6]] == [["-", "65.79%", "one"], ["+", "63.16%", "prog"], ["+", "2.63%", "lib.so"], ["+", "34.21%", "two"]]
    lines = screen.after("Down e", "row 2 of 7")
    assert [line.split()[-1] for line in lines[3:7]] == ["prog", "hot", "warm", "main"] and lines[4][0] == " "
    screen.after("d", "DSO: prog", "row 1 of 6", without=["lib.so"])
    screen.after("Escape c", "row 1 of 2", without=["prog"])
    text = [line.split() for line in perf("report", "--stdio", "--hierarchy", "-g", "none", "--no-children", "-i", data).stdout.splitlines() if line and line[0] not in "#-"]
    lines = screen.after("E", f"row 1 of {len(text)}")
    assert [line.lstrip("-+ ").split() for line in lines[2:2 + len(text)]] == text
    screen.after("d", "the rows don't distinguish that")
    screen.after("a", "this row is not a known function")
    screen.after("Escape Enter", "Zoom into thread one", without=["Zoom into file", "Annotate"])
    screen.after("Escape Down Down a", "Tab: next hottest", "hot")
    screen.after("q", f"row 3 of {len(text)}")
    screen.after("C", "row 1 of 2", without=["prog"])


def test_chains_below_a_hierarchy(report):
    screen = report("--hierarchy", "-g", "caller,0.1", "--no-children")
    screen.until("row 1 of 2")
    screen.after("E Down Down +", "warm", "row 3 of")
    assert any(line.endswith("% warm") for line in screen.after("e", "main", "% warm"))
    screen.after("+", without=["% warm"])


RECURSIVE = [(["hot", *["warm"] * 38, "main"], 60), (["cold", *["warm"] * 3, "main"], 40)]


def test_recursion_is_folded(report, folder):
    """Both ways out of the recursion hang below one line, with the most calls in a row; their shares add up."""
    make_stacks(folder, "recursive.data", RECURSIVE)
    screen = report("-i", "recursive.data", "-s", "dso", "-g", "caller,0.1", lines=60)
    screen.until("row 1 of 1")
    lines = [line.strip() for line in screen.after("e", "60.00% warm")]
    assert sum(line.endswith("warm") for line in lines) == 38, lines
    lines = [line.strip() for line in screen.after("R", "warm ×38")]
    at = lines.index("- warm ×38")
    assert lines[at + 1:at + 3] == ["60.00% hot", "40.00% cold"], lines
    screen.after("R", "60.00% warm", without=["×"])


def test_mouse(report):
    """A click goes to a line, one more opens it; the wheel moves three lines; without M the terminal keeps all that."""
    screen = report("--mouse", "-s", "sym", "-g", "caller,0.1", TERM="screen")
    lines = screen.until("row 1 of", "[.] main")
    at = next(i for i, line in enumerate(lines) if line.endswith("[.] hot"))
    screen.click(at, 20)
    screen.until(f"row {at - 1} of", without=["- main"])
    screen.click(at, 20)
    screen.until("+ main", f"row {at - 1} of")
    screen.click(at + 1, 4)
    screen.click(at + 1, 4)
    screen.until("% warm", f"row {at - 1} of")
    screen.keys("C", "Home")
    screen.until("row 1 of", without=["- main"])
    screen.mouse(65, 3, 3)
    screen.until("row 4 of")
    screen.mouse(64, 3, 3)
    screen.until("row 1 of")
    screen.keys("Enter")
    lines = screen.until("What now?")
    line = next(i for i, text in enumerate(lines) if "Show the recording's header" in text)
    screen.click(line, lines[line].index("recording"))
    screen.until("# hostname : box")


def test_clicks_that_come_together(report):
    """Both of two quick ones count, also when the program got no CPU between them: one goes to the line, one opens it."""
    screen = report("--mouse", "-s", "sym", "-g", "caller,0.1", TERM="screen")
    lines = screen.until("row 1 of", "[.] main")
    at = next(i for i, line in enumerate(lines) if line.endswith("[.] hot"))
    with screen.held():
        for _ in range(2):
            screen.click(at, 20)
    screen.until("+ main", f"row {at - 1} of")
    with screen.held():
        screen.mouse(65, 3, 3)
        screen.click(2, 20)
        screen.mouse(65, 3, 3)
    screen.until("row 3 of")


def test_the_mouse_opens_levels(report):
    screen = report("--mouse", "--hierarchy", "-g", "none", "--no-children", TERM="screen")
    at = next(i for i, line in enumerate(screen.until("row 1 of 2")) if line.endswith("two"))
    screen.click(at, 20)
    screen.until("row 2 of 2", without=["prog"])
    screen.click(at, 20)
    screen.until("row 2 of 4", "prog")
    screen.click(at, 20)
    screen.until("row 2 of 2", without=["prog"])


def test_zooming(report):
    screen = report("--no-children", "-g", "none")
    assert len(rows(screen.until("row 1 of"))) == 8
    lines = screen.after("t", ", Thread: one", "Esc: zoom out")
    assert {row[1] for row in rows(lines)} == {"one"}
    assert "65.79% of all is shown" in lines[-1]  # 1000 of 1520
    lines = screen.after("d", ", Thread: one, DSO: prog")
    assert {row[2] for row in rows(lines)} == {"prog"} and len(rows(lines)) == 3
    screen.after("Escape", ", Thread: one", without=["DSO:"])
    screen.after("Left", "row 1 of 8", without=["Thread:"])
    screen.after("d", ", DSO: prog")
    assert len(rows(screen.after("d", "row 1 of 8", without=["DSO:"]))) == 8
    screen.after("k", "row 0 of 0", "DSO: kernel")
    screen.after("k", "row 1 of 8")
    screen.after("S", "don't distinguish that: see --sort")
    screen.after("Escape", "q quits")


@pytest.mark.parametrize("sockets, names", [("0 1 1", ["1", "0"]), (None, ["unknown"])], ids=["known", "unknown"])
def test_zooming_into_a_socket(report, folder, sockets, names):
    """30 samples on the two CPUs of socket 1, 10 on the one of socket 0."""
    at = places(folder)
    text = head(folder, ["cpu-clock"], [("one", 7)]).replace("|PERIOD", "|CPU|PERIOD")
    if sockets:
        text = f"feature nrcpus 3\nfeature cpu_topology {sockets}\n" + text
    for number in range(40):
        text += f"sample event=0 id=1 ip={at['hot']:#x} pid=7 tid=7 cpu={(0, 1, 2, 1)[number % 4]} time={10 + number} period=1 chain=user,{at['hot']:#x}\n"
    (folder / "sockets.data").write_bytes(recording.Maker(text).make())
    screen = report("-i", "sockets.data", "--no-children", "-g", "none", "-s", "socket,sym")
    screen.until(f"row 1 of {len(names)}")
    lines = screen.after("S", f"Processor Socket: {names[0]}", "row 1 of 1")
    assert len(rows(lines)) == 1
    screen.after("m", f"Zoom out of processor socket {names[0]}")
    screen.after("Escape", "row 1 of 1", without=["What now?"])
    screen.after("S", f"row 1 of {len(names)}", without=["Processor Socket"])
    if len(names) > 1:
        screen.after("Down S", f"Processor Socket: {names[1]}", "row 1 of 1")


def test_threads_of_one_name_are_told_apart_where_rows_are(report, folder):
    make(folder, "same.data", threads=(("same", 7), ("same", 8)))
    screen = report("-i", "same.data", "-g", "none", "-s", "tid,sym")
    screen.until("row 1 of")
    lines = screen.after("t", "Thread: same(7)")
    assert {row[2] for row in rows(lines)} == {"7"}


def test_filter_by_name_and_percentages(report):
    screen = report("--no-children", "-g", "none", "-s", "sym")
    screen.until("row 1 of 4")
    screen.after("/", "Symbol to show")
    screen.type("wa")
    lines = screen.after("Enter", "Symbol: wa", "row 1 of 1")
    assert rows(lines) == [["9.87%", "[.]", "warm"]]
    lines = screen.after("F", "percentages of what is shown")
    assert rows(lines) == [["100.00%", "[.]", "warm"]]
    screen.after("/", "Symbol to show", "wa")
    screen.after("C-u Enter", "row 1 of 4", without=["Symbol: "])
    assert rows(screen.lines())[0][0] == "78.95%"
    screen.after("F", "78.95%", without=["of what is shown"])
    screen.after("L", "Percent limit")
    screen.type("10")
    assert len(rows(screen.after("Enter", "rows from 10% on", "row 1 of 1"))) == 1
    screen.after("L", "Percent limit")
    screen.type("much")
    screen.after("Enter", "from 0 to 100")


def test_the_menu(report):
    screen = report("--no-children", "-g", "none")
    screen.until("row 1 of 8")
    screen.after("Enter", "Annotate hot", "Zoom into thread one", "Zoom into file prog", "Browse the symbols of prog", "Exit")
    screen.after("Down Down Enter", "DSO: prog", without=["What now?"])
    screen.after("m", "Zoom out of file prog")
    screen.after("Escape", "row 1 of", without=["What now?"])
    screen.keys("m")
    lines = screen.choose("What now?", "Browse the symbols of prog", "symbols of", "line 1 of")
    assert any(line.split()[2:] == ["hot"] for line in lines[2:])
    screen.after("q", "row 1 of")
    screen.after("Enter End Enter", "ended with 0")


def test_annotate(report):
    screen = report("--no-children", "-g", "none", "-s", "sym")
    screen.until("row 1 of")
    screen.after("a", "ret", "imul")
    screen.after("q", "row 1 of")


def test_how_instructions_are_shown(report):
    """-M, --asm-raw and --percent-type, as of perf annotate."""
    screen = report("--no-children", "-g", "none", "-s", "sym")
    screen.until("row 1 of")
    assert any("%" in line for line in screen.after("a", "imul"))
    screen.after("q", "row 1 of")
    screen.after("q", "ended with 0")
    screen = report("--no-children", "-g", "none", "-s", "sym", "-M", "intel", "--asm-raw", "--percent-type", "global-hits")
    screen.until("row 1 of")
    lines = screen.after("a", "imul", without=["%eax", "%rax", "%edi"])
    assert any(re.search(r"\b0f af [0-9a-f]{2}\b.*imul", line) for line in lines)
    assert "global" in "\n".join(lines) or "hits" in "\n".join(lines)


def test_text_tells_where_instructions_are(perf, folder, data):
    """A person who asks how to show them, where none are shown; no program that reads."""
    with Screen(["env", "PERF_PAGER=cat", perf, "report", "--stdio", "-g", "none", "-M", "intel"], folder) as screen:
        screen.until("'perf annotate --stdio' does, with these options", "ended with 0")
    assert not perf("report", "--stdio", "-M", "intel", "-i", data).stderr


def test_header_help_and_unknown_keys(report):
    screen = report(columns=200) # wide enough for the full names of files
    screen.until("row 1 of")
    screen.after("i", "# hostname : box")
    screen.after("Escape", "row 1 of")
    screen.after("?", "Keys of perf report", "PgUp, PgDn", "call chains")
    screen.after("q", "row 1 of")
    screen.after("y", "this key does nothing: ? lists those that do")
    screen.after("H", "row 1 of", without=["Shared Object"])
    screen.after("H", "Shared Object")
    screen.after("V", "/prog ")


def test_every_key_is_in_the_help(report):
    """And the kernel's help screen has none that ours lacks."""
    screen = report(lines=60)
    screen.until("row 1 of")
    text = "\n".join(screen.after("h", "q, Ctrl-C"))
    for key in ("+", "a", "C", "d", "e", "E", "F", "H", "k", "L", "m", "S", "i", "P", "t", "V", "/", "0-9", "c", "r", "s", "x", "R"):
        assert re.search(rf"^  (.*, )?{re.escape(key)}(,| ) ?", text, re.MULTILINE), key


def test_print(report, folder, tmp_path):
    """To the first file that isn't there; the process itself may write none."""
    screen = report("-i", folder / "perf.data", "--no-children", "-g", "none", cwd=tmp_path)
    screen.until("row 1 of")
    (tmp_path / "perf.hist.0").write_text("mine")
    screen.after("d P", "written to perf.hist.1")
    text = (tmp_path / "perf.hist.1").read_text()
    assert (tmp_path / "perf.hist.0").read_text() == "mine"
    assert "[.] hot" in text and "lib.so" not in text


def test_export(perf, report, folder, tmp_path):
    """What is zoomed into, as the same filters give it without a screen."""
    data = folder / "perf.data"
    screen = report("-i", data, "--no-children", cwd=tmp_path)
    screen.until("row 1 of")
    screen.after("t d", "Thread: one, DSO: prog")
    filters = ["--no-children", "-i", data, "--comms", "one", "--dsos", "prog"]
    for number, (suffix, words) in enumerate((("csv", ["--format", "csv"]), ("json", ["--format", "json"]), ("folded", ["--format", "folded"]))):
        screen.after("x " + "Down " * number + "Enter", f"written to perf.hist.0.{suffix}")
        theirs = perf("report", *words, *filters).stdout
        assert len(theirs.splitlines()) >= 3
        written = (tmp_path / f"perf.hist.0.{suffix}").read_text()
        if suffix == "folded":
            assert written == theirs
        else: # the columns of filters with one name are left out there
            assert len(written.splitlines()) == len(theirs.splitlines()) and "lib.so" not in written and "two" not in written
    screen.after("x End Enter", "written to perf.hist.0.html")
    page = (tmp_path / "perf.hist.0.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "Thread: one, DSO: prog" in page


def test_scripts(perf, report, data):
    """A process outside of the sandbox runs them, on the threads and files that are zoomed into."""
    screen = report("--no-children", "-g", "none", lines=50)
    screen.until("row 1 of")
    screen.after("t r", "Script to run", "perf script: all events as text", "syscall-counts")
    lines = screen.after("Enter", "perf script --comms=one", "line 1 of")
    theirs = [line.expandtabs().rstrip() for line in perf("script", "-i", data, "--comms", "one").stdout.splitlines()]
    assert lines[1:20] == theirs[:19] and lines[1].split()[0] == "one"
    assert f"of {len(theirs)}" in lines[-1]
    screen.after("q", "row 1 of")
    screen.keys("r")
    screen.choose("Script to run", "event_analyzing_sample", "perf script report event_analyzing_sample --comms=one")
    screen.after("q", "row 1 of", "Thread: one")


def test_scripts_get_the_filters(perf, report, data):
    """Those of the command line, too; what scripts have no option for is said."""
    filters = ["--time", "0.0000001,", "--tid", "7,8", "--no-demangle", "--comms", "one,two"]
    screen = report("--no-children", "-g", "none", *filters, "--symbol-filter", "hot", lines=50, columns=140)
    screen.until("row 1 of")
    words = "perf script --no-demangle --comms=one,two --tid=7,8 --time=0.0000001,"
    lines = screen.after("r Enter", f"{words} (not applied: --symbol-filter)", "line 1 of")
    theirs = [line.expandtabs().rstrip() for line in perf("script", "-i", data, *filters).stdout.splitlines()]
    everything = perf("script", "-i", data).stdout.splitlines()
    assert f"of {len(theirs)}" in lines[-1] and 0 < len(theirs) < len(everything)
    assert lines[1:20] == theirs[:19]
    screen.after("q", "row 1 of")
    screen.after("t r Enter", "--comms=one --tid=7,8 --time=0.0000001, (not applied: --symbol-filter)")
    screen.after("q", "row 1 of")
    screen.after("k r Enter", "(not applied: --symbol-filter, the kernel only)")


def test_scripts_from_the_instructions(perf, report, data):
    """Of what the table is zoomed into; then the instructions are there again."""
    screen = report("--no-children", "-g", "none", lines=50)
    screen.until("row 1 of")
    screen.after("t a", "Tab: next hottest")
    screen.after("r", "Script to run")
    lines = screen.after("Enter", "perf script --comms=one", "line 1 of")
    theirs = [line.expandtabs().rstrip() for line in perf("script", "-i", data, "--comms", "one").stdout.splitlines()]
    assert lines[1:20] == theirs[:19]
    screen.after("q", "Tab: next hottest")
    screen.after("q", "row 1 of", "Thread: one")


@pytest.fixture
def own_scripts(tmp_path):
    """A script that fails, and two that don't end; they make a file when they are so far."""
    folder = tmp_path / "own/scripts/python/bin"
    folder.mkdir(parents=True)
    (folder / "failing-report").write_text("echo what it found\nexit 3\n")
    (folder / "hanging-report").write_text(f"echo what it has\nsleep 1000 &\ntouch {tmp_path}/hanging\nsleep 1000\n")
    (folder / "stubborn-report").write_text(f"trap '' TERM\necho so far\ntouch {tmp_path}/stubborn\nsleep 1000\n")
    return tmp_path / "own"


def test_scripts_that_fail(report, own_scripts):
    screen = report(PERF_EXEC_PATH=str(own_scripts))
    screen.until("row 1 of")
    screen.keys("r")
    screen.choose("Script to run", "failing", "what it found", "(ended with exit status 3)")
    screen.after("q q", "ended with 0")


@pytest.mark.parametrize("key", ["q", "Escape", "C-c"])
def test_scripts_are_stopped(report, own_scripts, tmp_path, key):
    """With all that they have started; the screen goes on."""
    screen = report(PERF_EXEC_PATH=str(own_scripts))
    screen.until("row 1 of")
    screen.keys("r")
    screen.choose("Script to run", "hanging", "running …   q: stop it")
    started.until((tmp_path / "hanging").exists, "the script runs")
    screen.after(key, "what it has", "(stopped)")
    screen.after("q", "row 1 of")
    screen.keys("r")
    screen.choose("Script to run", "stubborn", "running …   q: stop it")
    started.until((tmp_path / "stubborn").exists, "the script runs")
    screen.after(key, "stopping …   q: at once")
    screen.after(key, "so far", "(stopped)")
    screen.after("q", "row 1 of")
    screen.after("r Enter", "line 1 of")
    screen.after("q q", "ended with 0")


def test_scripts_end_with_the_screen(report, own_scripts):
    """When it is killed while they run."""
    screen = report(PERF_EXEC_PATH=str(own_scripts))
    screen.until("row 1 of")
    screen.keys("r")
    screen.choose("Script to run", "hanging", "running …   q: stop it")
    family = []

    def read(pid, name):
        try:
            return pathlib.Path(f"/proc/{pid}/{name}").read_text(encoding="ascii")
        except OSError:  # it has ended
            return ""

    def look():
        family[:] = [int(screen.run("display-message", "-p", "#{pane_pid}"))]
        for pid in family:
            family.extend(int(child) for child in read(pid, f"task/{pid}/children").split())
        return [pid for pid in family if read(pid, "comm") == "sleep\n"]
    started.until(lambda: len(look()) == 2, "the script and what it has started sleep")
    sleeps = look()
    os.kill(family[1], signal.SIGTERM)
    screen.until("ended with")
    started.until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in sleeps), "what the script has started is gone")


def test_single_samples(perf, report, data):
    """Some of a row's, in the order of time, and what was recorded around the one that is chosen; all when there are fewer."""
    of_hot = [line.split() for line in perf("script", "--ns", "-F", "time,tid,comm,ip,sym", "-G", "-i", data).stdout.splitlines() if line.split()[-1:] == ["hot"]]
    times = {words[2].rstrip(":") for words in of_hot}
    screen = report("--samples", "4", "--no-children", "-g", "none", "-s", "sym", lines=40)
    screen.until("row 1 of", "[.] hot")
    screen.after("/", "Symbol to show")
    screen.type("hot")
    screen.after("Enter", "row 1 of 1")
    screen.keys("m")
    lines = screen.choose("What now?", "Show individual samples", f"4 of the {len(of_hot)} samples")
    shown = [re.search(r"(\d+\.\d{9}) +(\d+) (one|two)  \+0x", line) for line in lines]
    shown = [found for found in shown if found]
    assert len(shown) == 4 and [found[1] for found in shown] == sorted(found[1] for found in shown) and {found[1] for found in shown} <= times
    second = int(float(shown[1][1]) * 1e9)
    lines = screen.after("Down Enter", "perf script ", "line 1 of")
    assert re.search(r"--time=([\d.]+),([\d.]+)", lines[0]) and "hot" in "\n".join(lines)
    begin, end = (round(float(word) * 1e9) for word in re.search(r"--time=([\d.]+),([\d.]+)", lines[0]).groups())
    assert begin <= second <= end and end - second == 10000000
    screen.after("q", f"4 of the {len(of_hot)} samples")
    screen.after("Escape", "row 1 of 1")


def test_single_samples_are_only_offered_when_asked_for(perf, report, data):
    screen = report("--no-children", "-g", "none")
    screen.until("row 1 of")
    screen.after("m", "Print the table", without=["individual"])
    done = perf("report", "--stdio", "--samples", "3", "-i", data)
    assert done.returncode == 0 and "on the screen only" in done.stderr and done.stdout == perf("report", "--stdio", "-i", data).stdout


def test_another_recording(report, folder, tmp_path):
    """Those of the current folder, told by what is in them; each is shown by a process of its own."""
    for name in ("a.data", "b.data"):
        (tmp_path / name).write_bytes((folder / "perf.data").read_bytes())
    make_stacks(folder, "other.data", [(["warm", "main"], 5)])
    (tmp_path / "c").write_bytes((folder / "other.data").read_bytes())
    (tmp_path / "text").write_text("PERF what")
    screen = report("-i", "b.data", "--no-children", "-g", "none", cwd=tmp_path)
    screen.until("row 1 of 8")
    lines = screen.after("s", "Recordings of this folder", "a.data", "b.data")
    assert not any("text" in line for line in lines)
    screen.after("Down Enter", "Samples: 5", "row 1 of 1")
    screen.after("m", "Switch to another recording")
    screen.after("Escape s Home Enter", "row 1 of 8")
    screen.after("q", "ended with 0")


def test_files_of_the_folder_are_not_read_before_they_are_asked_for(report, folder, tmp_path):
    for name in ("a.data", "b.data"):
        (tmp_path / name).write_bytes((folder / "perf.data").read_bytes())
    trace = tmp_path / "trace"
    screen = report("-i", "b.data", cwd=tmp_path, before=["strace", "-f", "-qq", "-e", "trace=open,openat", "-o", trace])
    screen.until("row 1 of")
    assert "a.data" not in trace.read_text() and "b.data" in trace.read_text()
    screen.after("s", "Recordings of this folder", "a.data")
    assert "a.data" in trace.read_text()


def test_no_other_recording(report, folder, tmp_path):
    (tmp_path / "only.data").write_bytes((folder / "perf.data").read_bytes())
    screen = report("-i", "only.data", cwd=tmp_path)
    screen.until("row 1 of")
    screen.after("s", "there is no other recording in this folder")


@pytest.fixture(name="large", scope="module")
def large_recording(folder, data):
    path = folder / "large.data"
    repeat = pathlib.Path(__file__).resolve().parents[2] / "bench/repeat.py"
    subprocess.run([sys.executable, repeat, data, path, "1600"], check=True)
    assert path.stat().st_size > 192 << 20
    yield path
    path.unlink()


def test_large_recordings_show_a_part_first(perf, report, large, tmp_path):
    """Until all is read, what needs all is refused; then the rows are those of the text, and the cursor is where it was."""
    data = large
    screen = report("-i", data, "--no-children", "-g", "none", cwd=tmp_path)
    lines = screen.until("row 1 of", without=["reading all"])
    text = [line.split() for line in perf("report", "--stdio", "--no-children", "-g", "none", "-i", data).stdout.splitlines() if line and line[0] != "#"]
    assert rows(lines) == text
    assert lines[0].startswith("Samples: 2M of event 'cpu-clock'")
    screen.after("Down Down", "row 3 of")
    screen.after("q", "ended with 0")


def go_on(trace, number):
    """Once strace says that the signal it injects has stopped perf for the number-th time, perf goes on."""
    started.until(lambda: trace.exists() and trace.read_text().count("--- SIGSTOP") == number, "perf gets SIGSTOP")
    started.until(lambda: "stopped by SIGSTOP" in trace.read_text().rpartition("--- SIGSTOP")[2], "perf is stopped")
    os.kill(int(re.findall(r"^(\d+) +--- SIGSTOP", trace.read_text(), re.MULTILINE)[-1]), signal.SIGCONT)


def stopped_at(path, folder):
    """(file, words in front of a command): strace stops it each time it opens the file."""
    trace = folder / "trace"
    return trace, ["strace", "-f", "-o", trace, "-P", path, "-e", "trace=openat", "-e", "inject=openat:signal=SIGSTOP"]


def test_the_beginning_of_a_large_recording_is_shown_before_the_rest_is_opened(perf, report, large, tmp_path):
    """What is zoomed into then, and the row of the cursor, are found again in the rest. strace stops perf each time it opens the recording."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    trace, gate = stopped_at(large, tmp_path)
    screen = report("-i", large, "--no-children", "-g", "none", cwd=tmp_path, before=gate)
    go_on(trace, 1)
    lines = screen.until("row 1 of", "reading all: 0%   the first 8 MB of the recording are shown")
    assert rows(lines)[0][-1] == "hot" and re.search(r"Samples: \d\dK of event", lines[0])
    screen.keys("t", "Down", "a")
    go_on(trace, 2)
    lines = screen.until("Samples: 2M", "Thread: one", "row 2 of", without=["reading all"])
    theirs = perf("report", "--stdio", "--no-children", "-g", "none", "--comms", "one", "-i", large).stdout.splitlines()
    assert [row[0] for row in rows(lines)] == [line.split()[0] for line in theirs if line and line[0] != "#"]
    screen.after("d", "Thread: one, DSO: prog")
    screen.after("q", "ended with 0")


def test_levels_of_the_beginning_of_a_large_recording_stay_open(report, large, tmp_path):
    """What is open, and the line of the cursor, are found again by their names in the session that reads all."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    trace, gate = stopped_at(large, tmp_path)
    screen = report("-i", large, "--hierarchy", "--no-children", "-g", "none", cwd=tmp_path, before=gate)
    go_on(trace, 1)
    screen.until("row 1 of", "reading all: 0%   the first 8 MB of the recording are shown")
    screen.keys("+", "Down", "+", "Down", "a")
    go_on(trace, 2)
    lines = screen.until("Samples: 2M", "row 3 of", without=["reading all"])
    assert [line.lstrip("-+ ").split()[-1] for line in lines[2:6]] == ["one", "prog", "hot", "warm"], lines
    assert [line[0] for line in lines[2:6]] == ["-", "-", " ", " "], lines
    screen.after("q", "ended with 0")


@pytest.mark.threads
def test_a_large_recording_is_looked_at_while_it_is_read(report, large, tmp_path):
    """What a person does to the first rows is in nobody's way who makes all of them: chains are opened, rows zoomed into, functions asked for their names."""
    screen = report("-i", large, "--no-children", "-g", "caller,0.1", cwd=tmp_path)
    screen.until("row 1 of", "Samples: ")
    for keys in ("E Down Down Up", "C e Down +", "t", "Escape", "d", "Escape", "E End Home"):
        screen.keys(*keys.split())
    screen.until("row 1 of", "Samples: 2M", without=["reading all"])
    screen.after("C E", "39.47% warm")
    screen.after("q", "ended with 0")


def test_a_large_recording_is_left_while_it_is_read(report, large, tmp_path):
    screen = report("-i", large, cwd=tmp_path)
    screen.until("Samples: ")
    screen.after("q", "ended with 0")


def test_several_events(report, folder):
    make(folder, "two.data", events=("cpu-clock", "task-clock"))
    screen = report("-i", "two.data", "-g", "none")
    lines = screen.until("Events of the recording")
    assert any("1520 samples of cpu-clock" in line for line in lines)
    screen.after("Down Enter", "of event 'task-clock'")
    screen.after("Tab", "of event 'cpu-clock'")
    screen.after("BTab", "of event 'task-clock'")
    screen.after("Left", "Events of the recording")
    screen.after("Escape", "row 1 of")
    screen.after("Left", "Events of the recording")
    screen.after("Up Enter", "of event 'cpu-clock'")


def test_hostile_names(report, folder):
    """Names are shown by their bytes, and reach no terminal; letters of other languages do."""
    make(folder, "evil.data", threads=((EVIL, 7), ("two", 8)))
    screen = report("-i", "evil.data", "-g", "none", "-s", "comm")
    lines = screen.until("row 1 of 2")
    assert rows(lines)[0][-1] == r"ev\x1b[31m\x07é"
    assert r"Thread: ev\x1b[31m\x07é" in screen.after("t", "Thread: ")[0]


def test_other_sizes(report):
    screen = report("-g", "none", lines=30)
    screen.until("row 1 of", "lib.so")
    screen.resize(60, 7)
    screen.until("row 1 of", without=["lib.so"])
    screen.after("End", "lib.so")
    screen.resize(20, 3)
    screen.keys("?", "q", "Enter", "Escape", "Home", "E", "Down")
    screen.resize(120, 40)
    screen.until("?: help", "[.] main")


def test_words_are_whole_where_the_screen_is_narrow(report, perf, folder):
    """The last line leaves out what has no room, help and messages are broken at spaces, for the size that the screen has now."""
    screen = report("-g", "caller,0.1", columns=80)
    last = screen.until("row 1 of")[-1]
    assert re.fullmatch(r"\?: help   q: quit   Enter: menu   \+: call chains   a: instructions +row 1 of \d+", last), last
    lines = screen.after("?", "Keys of perf report", "hierarchy")
    assert all(re.match(r"  \S|$|[A-Z]|line| {21}\S", line) for line in lines), lines
    screen.keys("q")
    screen.resize(40, 20)
    screen.until("?: help   q: quit  ", without=["Enter"])
    screen.after("End a", "Press any key")
    screen.resize(30, 20)
    screen.until("| this row is not a known    |", "| function                   |")


def test_arrows_are_arrows_after_it_was_stopped(perf, folder, data):
    """Ctrl-Z and fg of a shell."""
    with Screen(["env", "PS1=prompt>", "bash", "--norc", "--noprofile", "-i"], folder) as screen:
        screen.until("prompt>")
        screen.type(f"{perf} report -g none -i {data}")
        screen.after("Enter", "row 1 of")
        screen.after("C-z", "Stopped", "prompt>")
        screen.type("fg")
        screen.after("Enter", "row 1 of")
        screen.after("Down", "row 2 of")
        screen.after("Up", "row 1 of")


def test_stops_when_the_screen_is_left(report):
    """The process that waits for who shows stops after it: the shell would write on its screen otherwise."""
    def pending(pid):
        return int(re.search(r"^ShdPnd:\s*(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii"), re.MULTILINE)[1], 16)
    screen = report("-g", "none")
    screen.until("row 1 of")
    waiting, showing = screen.processes()[:2]
    os.kill(showing, signal.SIGSTOP)
    for pid in (waiting, showing):
        os.kill(pid, signal.SIGTSTP)
    assert all(pending(pid) >> (signal.SIGTSTP - 1) & 1 for pid in (waiting, showing))


def test_names_are_seen_where_the_screen_is_narrow(report):
    """Columns that leave them no room aren't shown, until one scrolls there."""
    screen = report("-g", "none", columns=40, lines=12)
    lines = screen.until("row 1 of")
    assert lines[1].split() == ["Children", "Self", "Symbol"] and lines[2].endswith("[.] main"), lines
    lines = screen.after("Right Right", "Command")
    assert lines[1].split()[0] == "Command" and lines[1].split()[-1] == "Symbol" and lines[2].endswith("[.] main"), lines
    lines = screen.after("Right", "Shared Object", "[.] main")
    screen.resize(70, 12)
    screen.after("Left Left Left", "Command", "Shared Object", "[.] main")


def test_no_color(report):
    """NO_COLOR: bold, underlined and reversed text, but no colours."""
    def colors(screen):
        codes = re.findall(r"\x1b\[([\d;]*)m", "\n".join(screen.lines("-e")))
        return {code for codes in codes for code in codes.split(";") if re.fullmatch(r"[349][0-7]|[34]8", code)}
    for environment, wanted in (({"NO_COLOR": "1"}, False), ({}, True)):
        screen = report("-g", "none", **environment)
        screen.until("row 1 of")
        assert bool(colors(screen)) == wanted
        screen.after("f", "Flame graph")
        assert bool(colors(screen)) == wanted


def test_columns_scroll(report):
    screen = report("-g", "none", columns=60)
    assert "Children" in screen.until("row 1 of")[1]
    assert "Children" not in screen.after("Right", "Self", without=["Children"])[1]
    screen.after("Left", "Children")


def test_ascii_where_the_locale_has_no_more(report, folder):
    make(folder, "evil.data", threads=((EVIL, 7), ("two", 8)))
    assert rows(report("-i", "evil.data", "-g", "none", "-s", "comm", LC_ALL="C").until("row 1 of 2"))[0][-1] == r"ev\x1b[31m\x07?"


def test_functions_are_seen_beside_long_names_of_files(show, tmp_path):
    """They get half of the screen; on a wider one the files' names are whole."""
    long = "a_library_with_a_name_of_its_own_that_is_rather_long.so"
    text = "event cpu-clock type=1 config=0 sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,mmap2,comm ids=1 period=1\n"
    text += "comm pid=4000007 tid=4000007 time=1 name=prog\n"
    text += f"mmap2 pid=4000007 tid=4000007 addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name=/nowhere/{long}\n"
    text += "sample ip=0x401010 pid=4000007 tid=4000007 time=17 period=3\n"
    (tmp_path / "perf.data").write_bytes(recording.make(text))
    screen = show("report", "-i", tmp_path / "perf.data", columns=80)
    assert "[.] 0x0000000000001010" in "\n".join(screen.until("a_library_with", "?: help"))
    screen.resize(140, 30)
    screen.until(long, "[.] 0x0000000000001010")
