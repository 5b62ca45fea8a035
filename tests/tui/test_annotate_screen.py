"""perf annotate on a screen, and what perf report shows of a function: what keys do. The kernel's perf (annotate --tui, its help) says what they are."""
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started
from screened import instructions, make_at


@pytest.fixture(scope="module")
def code(folder):
    """Samples in spin(): most on the sum, then on the jump; and some in warm(), which it calls."""
    spin, warm = instructions(folder, "spin"), instructions(folder, "warm")
    jumps = [address for address, mnemonic in spin if mnemonic.startswith("j") and address > spin[len(spin) // 2][0]]
    total = [address for address, mnemonic in spin if mnemonic == "xor"][-1]
    make_at(folder, "perf.data", {total: 60, jumps[0]: 25, spin[0][0]: 5, warm[1][0]: 10})
    return spin


def chosen(screen):
    """The line under the cursor: it is shown in reverse."""
    found = [line for line in screen.lines("-e")[2:-1] if re.search(r"\x1b\[(\d+;)*7m", line)]
    return re.sub(r"\x1b\[[0-9;]*m|\x0e|\x0f", "", found[0]).split() if len(found) == 1 else []


def until_chosen(screen, *words):
    seen = []

    def is_chosen():
        seen[:] = chosen(screen)
        return set(words) <= set(seen)
    started.until(is_chosen, f"{words} is chosen")
    return seen


def test_the_hottest_first_and_the_next(show, code):
    screen = show("annotate")
    lines = screen.until("h: help", "spin() ")
    assert lines[0].startswith("Samples: 90  of event 'cpu-clock', Event count (approx.): 90, [percent: local period]")
    assert until_chosen(screen, "xor")[0] == "66.67"
    screen.keys("Tab")
    until_chosen(screen, "27.78")
    screen.keys("Tab")
    until_chosen(screen, "5.56")
    screen.keys("BTab")
    until_chosen(screen, "27.78")
    screen.keys("H")
    until_chosen(screen, "xor")


def test_jumps_and_calls(show, code):
    screen = show("annotate", "spin")
    until_chosen(screen, "xor")
    screen.keys("Tab")
    line = until_chosen(screen, "27.78")
    lines = screen.until("+-", "+>")
    target = next(line for line in lines if "+>" in line)
    assert f" {line[-1]}: " in target, (line, target)
    screen.after("j", "h: help", without=["+>"])
    screen.after("j", "+>")
    screen.keys("Enter")
    until_chosen(screen, f"{line[-1]}:")
    screen.after("Enter", "this line neither jumps nor calls")
    screen.after("/", "Search")
    screen.type("call")
    screen.keys("Enter")
    until_chosen(screen, "call")
    screen.after("Enter", "warm() ")
    screen.after("q", "spin() ")
    until_chosen(screen, "call")
    screen.after("J", "\n 1 ")
    screen.after("q", "ended with 0")


def test_what_is_shown(show, code):
    screen = show("annotate", "spin")
    screen.until("66.67", "sum ^= i * n")
    screen.after("s", "66.67", without=["sum ^= i * n"])
    screen.after("s", "sum ^= i * n")
    screen.after("t", " 60 ", without=["66.67"])
    screen.after("t t", "66.67")
    screen.after("p", "60.00", "global period")
    screen.after("b", "60.00", "global hits")
    screen.after("p b", "66.67", "local period")
    address = f"{code[0][0]:x}:"
    screen.after("o", address)
    screen.after("o", "66.67", without=[address])
    screen.after("/", "Search")
    screen.type("nowhere at all")
    screen.after("Enter", "not found")
    screen.after("h", "Keys of instructions", "the next hottest")
    screen.after("q", "spin() ")
    screen.after("x", "this key does nothing")


def test_pages_and_finding_again(show, code):
    """Keys of the kernel tool's help that go by other names as well."""
    screen = show("annotate", "spin", lines=10)
    until_chosen(screen, "xor")
    screen.keys("Home")
    screen.until("spin():")
    first = chosen(screen)
    for down, up in (("Space", "PPage"), ("NPage", "PPage")):
        screen.keys(down)
        started.until(lambda: chosen(screen) not in ([], first), "a page further")
        screen.keys(up)
        started.until(lambda: chosen(screen) == first, "and back")
    screen.after("/", "Search")
    screen.type("%")
    screen.keys("Enter")
    started.until(lambda: chosen(screen) not in ([], first), "found")
    found = chosen(screen)
    screen.keys("n")
    started.until(lambda: chosen(screen) not in ([], found), "found again")
    screen.keys("N")
    started.until(lambda: chosen(screen) == found, "found before")
    screen.after("?", "Search")  # backwards
    screen.keys("C-u")
    screen.type("%")
    screen.keys("Enter")
    started.until(lambda: chosen(screen) not in ([], found), "found further up")
    screen.after("F1", "Keys of instructions")
    screen.after("q", "h: help")
    screen.after("c", "there are no cycles: record with -b")
    first = chosen(screen)
    screen.keys("Up")
    started.until(lambda: chosen(screen) not in ([], first), "a line up")
    screen.keys("Down")
    started.until(lambda: chosen(screen) == first, "and down")
    screen.keys("H")
    until_chosen(screen, "xor")
    screen.keys("f")
    started.until(lambda: any(re.fullmatch("[0-9a-f]{6}:", word) for word in chosen(screen)), "the address as in the file")
    screen.after("C-c", "ended with")


def test_offsets_and_places(show, code, folder):
    """O: three levels; k and l: where source lines are."""
    screen = show("annotate", "spin", lines=60)
    screen.until("66.67", "sum ^= i * n")

    def labels():
        return sum(bool(re.match(r" +[\d.]* +[0-9a-f]+: ", line)) for line in screen.lines()[2:])
    targets = labels()
    screen.keys("O")
    started.until(lambda: labels() > targets, "calls have offsets, too")
    calls = labels()
    screen.keys("O")
    started.until(lambda: labels() == len(code), "all instructions have offsets")
    screen.keys("O")
    started.until(lambda: labels() == targets, "jumps' targets have offsets")
    assert targets < calls < len(code)
    number = next(i for i, line in enumerate((folder / "prog.c").read_text().splitlines(), 1) if "sum ^= i * n" in line)
    lines = screen.after("k", f"{number} ")
    assert any(re.search(rf"\b{number} .*sum \^= i \* n", line) for line in lines)
    screen.after("l", f"{folder}/prog.c:{number} ")
    screen.after("l", "sum ^= i * n", without=[f"prog.c:{number}"])
    screen.after("r", "scripts are run from the table of a recording")


def test_other_functions(show, code):
    screen = show("annotate")
    screen.until("spin() ")
    lines = screen.after("q", "Functions, the hottest first")
    assert any("90.00%  spin  prog" in line for line in lines) and any("10.00%  warm  prog" in line for line in lines)
    screen.after("Down Enter", "warm() ")
    screen.after("Escape", "Functions, the hottest first")
    screen.after("Escape", "ended with 0")


def test_the_hottest_has_neighbours_on_a_small_screen(show, code):
    """As much is seen before it as behind; the last line has no half words."""
    screen = show("annotate", "spin", columns=40, lines=12)
    lines = screen.until("66.67")
    assert next(i for i, line in enumerate(lines) if "66.67" in line) == 2 + 9 // 2
    assert lines[-1] == "h: help   Tab: next hottest"
    screen.after("Down", "66.67")
    top = screen.lines()[2]
    screen.after("PageDown", "h: help")
    started.until(lambda: screen.lines()[2] != top, "the page moves")
    screen.after("PageUp", top)


def test_the_next_function(show, code):
    screen = show("annotate")
    screen.until("spin() ")
    screen.after("<", "no hotter function can be shown", "spin() ")
    screen.after(">", "warm() ")
    screen.after(">", "no colder function can be shown")
    screen.after("<", "spin() ")
    until_chosen(screen, "xor")
    screen.after("q", "Functions, the hottest first")
    screen = show("report", "-s", "sym", "--no-children")
    screen.until("row 1 of 2")
    screen.after("a", "spin() ")
    screen.after(">", "warm() ")
    screen.after("q", "row 1 of 2")


DATA = """
struct node { struct node *next; long key; };
__attribute__((noinline)) long walk(const struct node *node)
{
	long total = 0;
	for (; node; node = node->next)
		total += node->key;
	return total;
}
int main(void) { struct node last = {0, 1}; return (int)walk(&last); }
"""


def test_types_of_data(show, folder, tmp_path):
    """T: what the loads of walk() read is told by debug information; without it T says what is missing."""
    (tmp_path / "prog.c").write_text(DATA)
    for debug, compiled in (("-g", "known"), ("-g0", "unknown")):
        subprocess.run(["gcc", debug, "-O1", "-no-pie", "-o", "prog", "prog.c"], cwd=tmp_path, check=True)
        walk = instructions(tmp_path, "walk")
        make_at(tmp_path, f"{compiled}.data", dict.fromkeys([address for address, _ in walk], 1))
        if debug == "-g":
            screen = show("annotate", "-i", "known.data", "walk", cwd=tmp_path)
            screen.until("h: help", without=["data-type"])
            lines = screen.after("T", "# data-type: struct node +0x8 (key)")
            assert [line.split("# data-type: ")[1] for line in lines if "# data-type: " in line] == ["struct node +0x8 (key)", "struct node +0 (next)"], lines
            screen.after("T", "h: help", without=["data-type"])
            screen.after("h", "type and member of the data")
            screen.after("q q", "ended with 0")
        else:
            screen = show("annotate", "-i", "unknown.data", "walk", cwd=tmp_path)
            screen.until("h: help")
            screen.after("T", "no type of data is known here")


def test_print(show, folder, code, tmp_path):
    screen = show("annotate", "-i", folder / "perf.data", "spin", cwd=tmp_path)
    screen.until("spin() ")
    screen.after("P", "written to spin.annotation")
    assert re.search(r"66.67 .*xor", (tmp_path / "spin.annotation").read_text())


def test_from_report(show, code):
    screen = show("report", "-s", "sym", "--no-children")
    screen.until("row 1 of 2")
    screen.after("a", "spin() ", "66.67")
    screen.after("Left", "row 1 of 2")
    screen.after("Down Enter", "Annotate warm")
    screen.after("Enter", "warm() ")


@pytest.mark.parametrize("words", [["--stdio"], ["--stdio2"], ["-l"], ["--format", "csv"]], ids=" ".join)
def test_what_stays_text(show, code, words):
    lines = show("annotate", *words, "spin", PERF_PAGER="cat").until("ended with 0")
    assert not any("h: help" in line for line in lines)


def test_no_screen_without_a_terminal(perf, folder, code):
    assert perf("annotate", "spin", cwd=folder).stdout == perf("annotate", "--stdio", "spin", cwd=folder).stdout
    done = perf("annotate", "--tui", cwd=folder)
    assert done.returncode == 129 and "must be a terminal" in done.stderr and "use --stdio2" in done.stderr
