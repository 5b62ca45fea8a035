"""perf annotate on what was recorded here: the tutorials' commands, as they are typed."""
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("annotate")
    subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-o", "wordcount", ROOT / "examples/wordcount.c"], cwd=folder, check=True)
    return folder


def shares(text):
    """{instruction: percent} of all instructions with samples."""
    return {line: float(percent) for percent, line in re.findall(r"^ +([\d.]+) : +[0-9a-f]+: +(.*)$", text, re.M) if float(percent)}


def share_of_loops(text):
    """Percent of the samples between the targets of jumps back and these jumps: at which of the instructions there an interrupt finds a processor is its own affair."""
    rows = [(float(percent), int(address, 16), code) for percent, address, code in re.findall(r"^ +([\d.]+) : +([0-9a-f]+): +(.*)$", text, re.M)]
    jumps = [(int(target[1], 16), address) for _, address, code in rows if (target := re.match(r"j\w+ +([0-9a-f]+) <", code))]
    return sum(percent for percent, address, _ in rows if any(first <= address <= last for first, last in jumps))


def test_report_annotate_script(perf, live, folder):
    """Row 33: the three views of one recording."""
    assert perf("record", "./wordcount", cwd=folder).returncode == 0
    for command in (["report", "--stdio"], ["annotate", "--stdio"], ["script"]):
        done = perf(*command, cwd=folder)
        assert done.returncode == 0 and "find_word" in done.stdout, done.stderr


def test_assembly_with_percentages_and_source(perf, live, folder):
    """Row 38: without a name, the hottest function comes first, its loop has nearly all samples, and the source stands between."""
    assert perf("record", "./wordcount", cwd=folder).returncode == 0
    done = perf("annotate", "--stdio", cwd=folder)
    first = done.stdout.split(" Percent |")[1]
    assert re.search(r"<find_word>:", first) and "if (word->letters == letters)" in first
    table = shares(first)
    assert sum(table.values()) == pytest.approx(100, abs=0.5)
    assert share_of_loops(first) > 90
    lines = perf("annotate", "--stdio", "-l", "find_word", cwd=folder).stdout
    assert re.search(r"Sorted summary for file .*/wordcount\n-+\n\n +\d\d\.\d\d wordcount\.c:3[5-7]\n", lines)


def test_precise_cycles(perf, live, folder):
    """Row 61: precise cycles with call graphs; where there are none, it is said what is counted instead."""
    done = perf("record", "-v", "-e", "cycles:pp", "-g", "./wordcount", cwd=folder)
    assert done.returncode == 0, done.stderr
    events = perf("evlist", cwd=folder).stdout
    assert "cycles:pp" in events or "clock" in done.stderr, done.stderr
    table = perf("report", "--sort=sym,dso", "--stdio", "-g", "none", "--no-children", cwd=folder).stdout
    assert re.search(r"^ +[6-9]\d\.\d\d% +\[\.\] find_word +wordcount", table, re.M)
    text = perf("annotate", "--stdio", cwd=folder).stdout
    assert "<find_word>:" in text and re.search(r"Disassembly of wordcount for (cycles|cpu-clock|task-clock)", text)


def test_first_line_before_the_others(perf, live, folder):
    """Output is not held back: the first function is there while the others are taken apart."""
    assert perf("record", "./wordcount", cwd=folder).returncode == 0
    text = subprocess.run(["sh", "-c", '"$0" annotate --stdio | head -1', perf.path], cwd=folder, capture_output=True, text=True, check=True)
    others = [line for line in text.stderr.splitlines() if "cannot be shown" not in line]  # of functions of the kernel, if it comes so far
    assert text.stdout.startswith(" Percent |") and not others, others
