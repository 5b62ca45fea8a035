"""The flame graph of perf report's screen."""
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from screened import make, make_stacks


@pytest.fixture(scope="module")
def data(folder):
    return make(folder, "perf.data")


@pytest.fixture
def flame(show, data):
    screen = show("report")
    screen.until("row 1 of")
    screen.after("f", "Flame graph of all samples of cpu-clock")
    return screen


def boxes(line):
    """[(name, width)] of a line of the graph."""
    return [(box.strip(), len(box)) for box in re.findall(r"\|[^|]*", line + " " * (100 - len(line)))]


def test_widths_are_shares(flame):
    """one has 1000 of the 1520 samples, 960 of them below main; then 700 below warm, 200 below cold."""
    lines = flame.until("all: 100.00%")
    assert lines[1].startswith("|all")
    assert [(name, round(width)) for name, width in boxes(lines[2])] == [("|one", 66), ("|two", 34)]
    assert lines[3].startswith("|[l|main ")
    assert lines[4].index("|cold") == 3 and abs(lines[4].index("|warm") - 3 - 13) <= 1  # the two files come first, by name
    assert lines[4].split() == ["|cold", "|warm", "|cold", "|warm"] and lines[5].split() == ["|hot"] * 4


def test_moving_and_zooming(flame):
    flame.until("all: 100.00%")
    flame.after("Down", "one: 65.79%, itself 0.00%")
    flame.after("Right", "two: 34.21%")
    flame.after("Left Down", "main: 63.16%, itself 3.95%")
    flame.after("Down", "warm: 46.05%, itself 6.58%")
    flame.after("Left", "cold: 13.16%")
    lines = flame.after("Enter", "cold: 13.16%", without=["|all", "|warm"])
    assert lines[1].startswith("|cold") and lines[2].startswith("|hot")
    flame.after("Escape", "|main", "|warm", without=["|all"])
    flame.after("Home", "|all", "all: 100.00%")
    flame.after("Up", "all: 100.00%")
    flame.after("Escape", "row 1 of", without=["Flame"])


def test_marking(flame):
    """What is called by a marked function isn't counted again."""
    flame.after("/", "functions' names")
    flame.type("warm")
    flame.after("Enter", "marked: 69.08%")
    flame.after("?", "Keys of the flame graph", "zoom out")
    flame.after("q", "marked: 69.08%")
    flame.after("q", "row 1 of", without=["Flame"])


def test_recursion_is_folded(show, folder):
    make_stacks(folder, "deep.data", [(["hot", *["warm"] * 9, "main"], 60), (["cold", "warm", "main"], 40)])
    screen = show("report", "-i", "deep.data")
    screen.until("row 1 of")
    assert sum("|warm" in line for line in screen.after("f", "all: 100.00%")) == 9
    lines = screen.after("R", "warm ×9")
    assert [sorted(name for name, _ in boxes(line)) for line in lines[3:6]] == [["|main"], ["|warm ×9"], ["|cold", "|hot"]]
    assert sum("|warm" in line for line in screen.after("R", "all: 100.00%", without=["×"])) == 9


def test_mouse(show, data):
    """A click chooses a box, one more zooms into it."""
    screen = show("report", "--mouse", TERM="screen")
    screen.until("row 1 of")
    lines = screen.after("f", "all: 100.00%")
    screen.click(2, lines[2].index("|two") + 3)
    screen.until("two: 34.21%")
    screen.click(2, lines[2].index("|two") + 3)
    assert screen.until("two: 34.21%", without=["|all", "|one"])[1].startswith("|two")
