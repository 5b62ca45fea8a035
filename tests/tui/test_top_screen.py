"""perf top on a screen: what keys do, of a program that is known. Tests wait for what the screen shows, whenever that comes."""
import contextlib
import pathlib
import re
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import sparing
import started
from screened import EVIL

pytestmark = pytest.mark.usefixtures("live")

# Is in one(), called by outer(); after SIGUSR1 in two(); with an argument as well in a thread of that name.
SPIN = r"""
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>
volatile int second;
volatile unsigned long turns;
__attribute__((noinline)) void one(void) { while (!second) { turns++; if (!(turns & 0xffff)) getppid(); } }
__attribute__((noinline)) void two(void) { for (;;) turns++; }
__attribute__((noinline)) void outer(void) { one(); two(); __asm__(""); }
static void change(int number) { second = 1; }
static void *work(void *name) { prctl(PR_SET_NAME, name); two(); return NULL; }
int main(int count, char **words)
{
	pthread_t thread;
	signal(SIGUSR1, change);
	if (count > 1) pthread_create(&thread, NULL, work, words[1]);
	outer();
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("top")
    (folder / "spin.c").write_text(SPIN)
    subprocess.run(["gcc", "-g", "-O0", "-fno-omit-frame-pointer", "-pthread", "-o", folder / "spin", folder / "spin.c"], check=True)
    return folder / "spin"


@pytest.fixture
def spin(program):
    """spin("name of a thread", …): a process of the program, until the test has ended."""
    with contextlib.ExitStack() as processes:
        def start(*words):
            process = processes.enter_context(sparing.now_and_then(subprocess.Popen([program, *words])))
            started.until(lambda: started.minds(process.pid, signal.SIGUSR1), "the program runs")
            return process
        yield start


@pytest.fixture
def top(show, spin):
    """top("-g", …): of such a process."""
    def start(*words, process=None, **arguments):
        return show("top", "-e", "cpu-clock", "-F", "999", "-d", "1", "-p", (process or spin()).pid, *words, **arguments)
    return start


def rows(lines):
    """Those of the table, without the sign, as words."""
    return [line[1:].split() for line in lines if re.match(r"[-+ ] +\d+\.\d\d%", line)]


def until_rows(screen, condition):
    seen = []

    def are_there():
        seen[:] = rows(screen.lines())
        return bool(seen) and condition(seen)
    started.until(are_there, "rows are as they should be")
    return seen


PLAIN = re.compile(r"\x1b\[[0-9;]*m|\x0e|\x0f")


def chosen_of(lines):
    """The line under the cursor: it is shown in reverse."""
    found = [line for line in lines[2:-1] if re.search(r"\x1b\[(\d+;)*7m", line)]
    return PLAIN.sub("", found[0]).split() if len(found) == 1 else []


def chosen(screen):
    return chosen_of(screen.lines("-e"))


def answer(screen, key, title, text, *wanted, **arguments):
    """What the screen shows after a question was answered."""
    screen.after(key, title)
    screen.keys("C-u")
    screen.type(text)
    return screen.after("Enter", *wanted, **arguments)


def test_starts_on_a_terminal_and_leaves_it(top, spin):
    process = spin()
    screen = top(process=process)
    until_rows(screen, lambda rows: rows and rows[0][-1] == "one")
    lines = screen.until("?: help")
    assert re.fullmatch(r"\d+ samples/s  kernel: \d+\.\d%  exact: 0\.0%  lost: 0/0  \[999Hz cpu-clock\] \(target_pid: (\d+)\)", lines[0]), lines[0]
    assert lines[0].endswith(f": {process.pid})") and lines[1].split() == ["Overhead", "Shared", "Object", "Symbol"]
    screen.after("y", "this key does nothing: ? lists those that do")
    screen.after("q", "ended with 0", without=["samples/s"])


def test_keys_that_report_has_as_well(top, spin):
    """Those of the kernel tool's help that no other test presses."""
    process = spin("worker")
    screen = top(process=process)
    until_rows(screen, lambda rows: {"one", "two"} <= {row[-1] for row in rows})
    screen.after("F1", "Keys of perf top")
    screen.after("q", "?: help")
    screen.after("m", "What now?", "Annotate")
    screen.after("Escape", "?: help")
    screen.after("/", "Symbol to show")
    screen.type("two")
    screen.keys("Enter")
    until_rows(screen, lambda rows: rows and {row[-1] for row in rows} == {"two"})
    screen.keys("Escape")
    until_rows(screen, lambda rows: "one" in {row[-1] for row in rows})
    screen.keys("V")
    until_rows(screen, lambda rows: any(re.fullmatch("0x[0-9a-f]+", row[2]) for row in rows))
    screen.keys("V")
    until_rows(screen, lambda rows: rows and not any(re.fullmatch("0x[0-9a-f]+", row[2]) for row in rows))
    answer(screen, "L", "Percent limit", "100", "?: help")
    started.until(lambda: not rows(screen.lines()), "no row has so much")
    answer(screen, "L", "Percent limit", "0", "?: help")
    until_rows(screen, lambda rows: "one" in {row[-1] for row in rows})
    screen.after("End", "?: help")
    screen.after("Home", "?: help")
    screen.after("Space", "?: help", without=["this key does nothing"])
    screen.after("PPage", "?: help", without=["this key does nothing"])


def test_moving_and_zooming(top, spin):
    """Pages both ways; t, d and S zoom in, and out again."""
    process = spin("worker")
    screen = top("-s", "comm,dso,socket,sym", process=process, lines=6)
    until_rows(screen, lambda rows: len(rows) > 1)
    for keys in (["NPage", "PPage"], ["Space", "PPage"], ["Down", "Up"]):
        screen.keys("Home")
        started.until(lambda: any("row 1 of" in line for line in screen.lines()), "the first row")
        screen.keys(keys[0])
        started.until(lambda: any(re.search(r"row ([2-9]|\d\d+) of", line) for line in screen.lines()), "further down")
        screen.keys(keys[1])
        started.until(lambda: any("row 1 of" in line for line in screen.lines()), "and back")
    screen.resize(120, 30)
    screen.after("Home t", "Thread: ")
    screen.after("d", "Thread: ", "DSO: ")
    screen.after("Escape Escape", "?: help", without=["Thread: ", "DSO: "])
    screen.after("Home S", "Processor Socket: ")
    screen.after("S", "?: help", without=["Processor Socket: "])


def test_what_stays_text(top):
    screen = top("--stdio")
    assert not any("?: help" in line for line in screen.until("PerfTop:"))
    screen.after("q", "ended with 0")


def test_no_screen_without_a_terminal(perf):
    done = perf("top", "--tui")
    assert done.returncode == 129 and "must be a terminal" in done.stderr and "use --stdio" in done.stderr


def test_ctrl_c_ends_it_whichever_window_is_open(top):
    screen = top()
    screen.until("?: help")
    screen.after("?", "Keys of perf top")
    screen.after("C-c", "ended with 0", without=["Keys of"])


def test_the_cursor_stays_on_its_row(top, spin):
    """And so do open call chains, when another function gets the first place."""
    process = spin()
    screen = top("--call-graph", "fp,caller", "-s", "sym", "--no-children", process=process)
    until_rows(screen, lambda rows: rows and rows[0][-1] == "one")
    screen.after("Home e", "- ", "outer")
    screen.keys("Down", "Up")  # from now on it is meant, not just the first one
    started.until(lambda: chosen(screen)[-1:] == ["one"], "the cursor is on one")
    process.send_signal(signal.SIGUSR1)
    seen = []

    def is_second():
        """On a screen that isn't being drawn."""
        seen[:] = [screen.lines("-e"), screen.lines("-e")]
        found = rows([PLAIN.sub("", line) for line in seen[0]])
        return seen[0] == seen[1] and found and found[0][-1] == "two"
    started.until(is_second, "two is in front")
    under = chosen_of(seen[0])
    assert under[:1] == ["-"] and under[-1:] == ["one"], seen[0]
    lines = [PLAIN.sub("", line).rstrip() for line in seen[0]]
    at = next(i for i, line in enumerate(lines) if line.startswith("-") and line.endswith(" one"))
    assert any("outer" in line for line in lines[at + 1:at + 5]), lines
    screen.keys("Home")
    started.until(lambda: chosen(screen)[-1:] == ["two"], "the cursor is on two")


def test_levels_of_a_hierarchy_stay_open(top, spin):
    """When there are newer samples, of another function."""
    process = spin()
    screen = top("--hierarchy", "-s", "comm,sym", process=process)
    screen.until("row 1 of 1", "%")
    assert not any("[.] one" in line for line in screen.lines())
    screen.after("+", "[.] one")
    process.send_signal(signal.SIGUSR1)
    lines = screen.until("[.] two")
    assert lines[2].startswith("-"), lines


def test_the_first_row_is_the_first_row_until_the_cursor_moves(top, spin):
    process = spin()
    screen = top("-s", "sym", process=process)
    until_rows(screen, lambda rows: rows and rows[0][-1] == "one")
    process.send_signal(signal.SIGUSR1)
    until_rows(screen, lambda rows: rows[0][-1] == "two")
    started.until(lambda: chosen(screen)[-1:] == ["two"], "the cursor is on two")


def test_freezing(top, spin):
    """Nothing that happens meanwhile is counted."""
    process = spin()
    screen = top("-s", "sym", process=process)
    until_rows(screen, lambda rows: rows and rows[0][-1] == "one")
    screen.after("f", "frozen: f goes on")
    process.send_signal(signal.SIGUSR1)
    before = started.ran(process.pid)
    started.until(lambda: started.ran(process.pid) > before + 1.5, "two has run")
    assert not any(row[-1] == "two" for row in rows(screen.lines()))
    screen.after("f", "two", without=["frozen"])


def test_what_came_before_is_forgotten_with_z(top, spin):
    process = spin()
    screen = top("-s", "sym", process=process)
    until_rows(screen, lambda rows: rows and rows[0][-1] == "one")
    screen.after("z", "each time from zero")
    process.send_signal(signal.SIGUSR1)
    until_rows(screen, lambda rows: rows and rows[0][-1] == "two" and not any(row[-1] == "one" for row in rows))
    screen.after("z", "?: help", without=["from zero"])


def test_hidden_modes(top):
    screen = top("-e", "context-switches", "-s", "sym")
    screen.until("[k]", "[.]")
    screen.after("K", "kernel hidden", without=["[k]"])
    screen.after("K U", "programs hidden", "[k]", without=["[.]"])
    screen.after("U", "[.]", without=["hidden"])


def test_questions(top, spin):
    process = spin("other")
    screen = top("-s", "sym", process=process)
    until_rows(screen, lambda rows: {row[-1] for row in rows} >= {"one", "two"})
    screen.after("D", "Seconds between two tables", " 1 ")
    screen.after("Escape", "?: help", without=["Delay"])
    answer(screen, "D", "Delay", "0", "A number from 1 to")
    screen.after("Escape", "?: help", without=["A number"])
    answer(screen, "D", "Delay", "2", "?: help", without=["Delay"])
    answer(screen, "N", "Rows", "1", "row 1 of 1", without=["At most"])
    answer(screen, "N", "Rows", "", "two", "one", without=["At most"])
    answer(screen, "n", "Least samples", "1000000000", "row 0 of 0", "rows of more than 1000000000 samples")
    answer(screen, "n", "Least samples", "", "two", without=["rows of more"])
    answer(screen, "T", "Thread", str(process.pid), f"thread {process.pid} ")
    until_rows(screen, lambda rows: rows and all(row[-1] != "two" for row in rows))
    answer(screen, "T", "Thread", "", "two", without=["thread"])
    answer(screen, "p", "Process", "1", "process 1 ", "row 0 of 0")
    answer(screen, "p", "Process", "", "two", "one", without=["process 1"])


def test_keys_of_the_report(top):
    screen = top("-g", "-s", "dso,sym")
    until_rows(screen, lambda rows: any(row[-1] == "one" for row in rows))
    screen.after("E", "- ")
    screen.after("C", "+ ", without=["- "])
    screen.after("H", "?: help", without=["Overhead", "Children"])
    screen.after("H", "Children")
    answer(screen, "/", "Symbol to show", "one", "Symbol: one", "row 1 of 1")
    screen.after("F", "100.00%", "percentages of what is shown")
    screen.after("F", "Esc: zoom out", without=["percentages of"])
    screen.after("d", "DSO: spin")
    screen.after("Escape Escape", "?: help", without=["DSO: ", "Symbol: "])
    screen.after("k", "DSO: kernel")
    screen.after("k", "?: help", without=["DSO: "])
    answer(screen, "L", "Percent limit", "60", "rows from 60% on")
    screen.after("t", "don't distinguish that")
    screen.after("S", "don't distinguish that")
    screen.after("Enter", "What now?", "Zoom into file", "Exit")
    screen.after("Escape", "rows from 60% on", without=["What now?"])
    screen.after("G", "Flame graph of all samples of cpu-clock", "one")
    screen.after("q", "rows from 60% on", without=["Flame"])
    screen.after("i", "hostname")
    screen.after("q", "rows from 60% on", without=["hostname"])


def test_every_key_is_in_the_help(top):
    """And the kernel's help screen has none that ours lacks."""
    screen = top(lines=70)
    text = "\n".join(screen.after("h", "q, Ctrl-C"))
    for key in ("+", "a", "C", "d", "e", "E", "F", "H", "k", "L", "m", "S", "P", "t", "V", "z", "f", "/", "?", "Tab", "D", "p", "T", "K", "U", "n", "N", "s", "G"):
        assert re.search(rf"^  (.*, )?{re.escape(key)}(,| ) ?", text, re.MULTILINE), key
    screen.after("q", "?: help", without=["Keys of"])


def test_instructions(top):
    screen = top("-s", "sym")
    until_rows(screen, lambda rows: rows and rows[0][-1] == "one")
    screen.after("a", "one() ", "turns", "jmp")
    screen.after("q", "?: help", "samples/s")
    answer(screen, "s", "Function to show", "one", "one() ", "turns")
    screen.after("q", "?: help", "samples/s")
    answer(screen, "s", "Function to show", "nosuch", "no function that is called nosuch has samples")
    screen.after("Escape", "?: help", without=["nosuch"])


def test_print(top, tmp_path):
    screen = top("-s", "sym", cwd=tmp_path)
    until_rows(screen, lambda rows: rows and rows[0][-1] == "one")
    screen.after("P", "written to perf.hist.0")
    assert re.search(r"^ +\d+\.\d\d% +\[\.\] one$", (tmp_path / "perf.hist.0").read_text(), re.MULTILINE)


def test_recording(top, perf, spin, tmp_path):
    """W writes what perf record would, of the same event, at the same rate and with stacks; again, or at the end."""
    process = spin()
    screen = top("-g", "--call-graph", "fp", process=process, cwd=tmp_path)
    screen.until("?: help", " one")
    for number, last in ((0, "W"), (1, "q")):
        screen.after("W", f"recording into perf.data.{number}: W ends it")
        path = tmp_path / f"perf.data.{number}"
        started.until(lambda path=path: path.exists() and path.stat().st_size > 500, "the recorder has begun")
        enough = started.ran(process.pid) + 0.5
        started.until(lambda enough=enough: started.ran(process.pid) > enough, "the process has run for a while")
        screen.after(last, f"written to perf.data.{number}")
        told = perf("report", "--stdio", "-i", f"perf.data.{number}", "-s", "sym", "--no-children", "-g", "caller", cwd=tmp_path).stdout
        assert re.search(r"\d\d\.\d\d% +\[\.\] one", told) and "outer" in told
        header = perf("evlist", "-v", "-i", f"perf.data.{number}", cwd=tmp_path).stdout
        assert header.startswith("cpu-clock") and "sample_freq }: 999" in header
    screen.until("ended with 0")


def test_what_cannot_be_recorded(top, spin, tmp_path):
    """A folder that isn't there any more: it is told, and top goes on."""
    folder = tmp_path / "gone"
    folder.mkdir()
    screen = top(process=spin(), cwd=folder)
    screen.until("?: help", " one")
    folder.rmdir()
    screen.after("W", "nothing was recorded")


def test_several_events(top):
    screen = top("-e", "task-clock", "-s", "sym")
    until_rows(screen, lambda rows: rows and rows[0][-1] == "one")
    assert "[999Hz cpu-clock]" in screen.until("Tab: next event")[0]
    screen.after("Tab", "[999Hz task-clock]", "one")
    screen.after("BTab", "[999Hz cpu-clock]")
    screen.after("BTab", "[999Hz task-clock]")
    lines = screen.after("Left", "Events of")
    assert sum(bool(re.search(r"\d+ samples of (cpu|task)-clock", line)) for line in lines) == 2
    screen.after("Up Enter", "[999Hz cpu-clock]")


def test_the_process_ends(top, spin):
    """What it did can still be looked at."""
    process = spin()
    screen = top("-s", "sym", process=process)
    until_rows(screen, lambda rows: rows and rows[0][-1] == "one")
    process.kill()
    process.wait()
    screen.until("what was measured has ended", "one")
    screen.after("a", "one() ")
    screen.after("q", "what was measured has ended")
    screen.after("q", "ended with 0")


@pytest.mark.alone
def test_hostile_names(top, spin):
    """Names are shown by their bytes, and reach no terminal. Alone: the kernel's perf prints such a neighbour as it is, in other tests' recordings."""
    process = spin(EVIL)
    screen = top("-s", "tid,comm", process=process)
    lines = screen.until(r"ev\x1b[31m\x07é")
    assert any(r"ev\x1b[31m\x07é" in row for row in rows(lines))


def test_other_sizes(top):
    screen = top()
    until_rows(screen, lambda rows: rows and rows[0][-1] == "one")
    screen.resize(40, 6)
    screen.until("row 1 of")
    screen.resize(20, 3)
    screen.keys("?", "q", "Enter", "Escape", "Home", "Down", "D", "Escape")
    screen.resize(120, 40)
    screen.until("?: help", " one")
