"""perf report on a screen as people use it after `perf record`: what a program did that fetches a page (acceptance rows 6 and 72)."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started

# Page faults come whatever the machine does meanwhile.
FAULTS = ["-e", "page-faults", "-c", "1"]


@pytest.fixture(scope="module")
def recorded(perf, live, fetch, tmp_path_factory):
    """The folder with flat.data and perf.data, which has call chains."""
    folder = tmp_path_factory.mktemp("fetched")
    for name, words in (("flat.data", []), ("perf.data", ["-g"])):
        done = perf("record", *FAULTS, *words, "-o", folder / name, *fetch, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def heads(lines):
    """Signs of the table's rows and percentages."""
    return [line[0] for line in lines if "%" in line[:12]]


def until(screen, condition, what):
    """The lines of the screen that fulfils it."""
    seen = []

    def is_there():
        seen[:] = screen.lines()
        return condition(seen)
    started.until(is_there, what)
    return seen


def test_table(show, recorded):
    """perf record wget …, perf report: the table, the menu, instructions, into a file and out of it."""
    screen = show("report", "-i", "flat.data", cwd=recorded, columns=160)
    lines = screen.until("of event 'page-faults", "row 1 of", "Overhead")
    assert heads(lines)
    screen.after("Enter", "What now?", "Zoom into thread", "Zoom into file", "Run a script on what is shown", "Exit")
    screen.after("Escape", "row 1 of", without=["What now?"])
    screen.after("t", "Thread: ", "Esc: zoom out")
    screen.after("d", "Thread: ", "DSO: ")
    screen.after("Escape Escape", "row 1 of", without=["Thread: ", "DSO: "])
    screen.after("r", "Script to run")
    screen.after("Escape", "row 1 of")
    screen.after("q", "ended with 0")


def test_call_chains(show, recorded):
    """perf record -g wget …, perf report: + opens a level, E all, C closes them."""
    screen = show("report", "--no-children", cwd=recorded, columns=160)
    lines = screen.until("row 1 of")
    assert "+" in heads(lines) and "-" not in heads(lines)
    first = next(i for i, line in enumerate(lines[2:]) if line.startswith("+"))
    screen.keys(*["Down"] * first)
    screen.until(f"row {first + 1} of")
    screen.keys("+")
    until(screen, lambda seen: seen[2 + first].startswith("-"), "the row is open")
    screen.keys("E")
    until(screen, lambda seen: "+" not in heads(seen), "all are open")
    screen.keys("C")
    until(screen, lambda seen: "-" not in heads(seen), "all are closed")
    screen.after("q", "ended with 0")
