"""The README's and the tutorial's way, on a program with a known answer: record, report, flamegraph, script; and names that want to do harm."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def wordcount(tmp_path_factory):
    program = tmp_path_factory.mktemp("wordcount") / "wordcount"
    subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-o", program, ROOT / "examples/wordcount.c"], check=True)
    return program


@pytest.fixture(scope="module")
def recording(perf, live, wordcount):
    folder = wordcount.parent
    done = perf("record", "-g", "-F", 2000, "--", wordcount, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "300000 words read\n"
    return folder


def shares(text):
    """{symbol: percent} of a table without call graphs."""
    return {symbol: float(percent) for percent, symbol in re.findall(r"^\s+([\d.]+)%\s+\S+\s+\S+\s+\[[.k]\] (\S+)", text, re.MULTILINE)}


def test_report_names_the_culprit(perf, recording):
    table = shares(perf("report", "--stdio", "--no-children", "-g", "none", cwd=recording).stdout)
    assert max(table, key=table.get) == "find_word" and table["find_word"] > 80
    graph = perf("report", "--stdio", cwd=recording).stdout
    assert re.search(r"main", graph) and re.search(r"count_slowly", graph)


def test_script_prints_every_sample(perf, recording):
    text = perf("script", cwd=recording).stdout
    samples = re.findall(r"^wordcount +\d+ +\d+\.\d{6}: +\d+ \S+ *$", text, re.MULTILINE)
    assert len(samples) > 100
    assert text.count("find_word+0x") > 0.8 * len(samples)


def test_flame_graphs_agree_with_the_samples(perf, recording):
    samples = len(re.findall(r"^ *wordcount ", perf("script", "-G", cwd=recording).stdout, re.MULTILINE))
    folded = perf("flamegraph", "--folded", "--samples", cwd=recording).stdout
    counts = {stack: int(count) for stack, count in (line.rsplit(" ", 1) for line in folded.splitlines())}
    assert sum(counts.values()) == samples
    assert sum(count for stack, count in counts.items() if stack.endswith(";find_word")) > 0.8 * samples
    for name in ("flame.html", "flame.svg"):
        done = perf("flamegraph", "-o", name, cwd=recording)
        assert done.returncode == 0, done.stderr
        text = (recording / name).read_text()
        assert "find_word" in text
        assert not re.search(r"(src|href)\s*=\s*[\"']?https?:", text), "the picture must not need the network"


def test_record_and_draw_in_one_go(perf, live, wordcount, tmp_path):
    done = perf("flamegraph", "-o", "one.html", "--", wordcount, "-f", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "words read" in done.stdout and (tmp_path / "one.html").stat().st_size > 1000


def test_pipes(perf, live, wordcount, tmp_path):
    for reader in ("report --stdio --no-children -g none -i -", "script -i -"):
        done = subprocess.run(["sh", "-c", f'"$0" record -o - "$1" 100000 2>/dev/null | "$0" {reader}', perf.path, wordcount],
                              capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 0 and "find_word" in done.stdout, done.stderr


def test_hostile_names(perf, live, wordcount, tmp_path):
    """A program's name and path hold escape sequences and HTML: none of it arrives anywhere."""
    folder = tmp_path / "\x1b[31m<img src=x>"
    folder.mkdir()
    evil = folder / "\x1b]0;a\x07<b>&\n"
    shutil.copy(wordcount, evil)
    assert perf("record", "-g", "-o", tmp_path / "data", evil).returncode == 0
    outputs = {}
    for words in (["report", "--stdio"], ["report", "--stdio", "--sort", "comm,dso,sym", "-v"], ["report", "--format", "json"],
                  ["report", "--format", "csv"], ["script"], ["script", "--show-mmap-events", "--show-task-events"], ["script", "-D"], ["evlist", "-v"],
                  ["buildid-list"], ["flamegraph", "--folded"], ["flamegraph", "-o", "-"], ["report", "--header-only"]):
        done = perf(*words, "-i", tmp_path / "data", cwd=tmp_path)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        outputs[" ".join(words)] = done.stdout
        for character in ("\x1b", "\x07"):
            assert character not in done.stdout + done.stderr, f"{words}"
    picture = outputs["flamegraph -o -"]
    assert "<img" not in picture and "<b>&" not in picture


def test_as_somebody_else(perf, live, root, wordcount, tmp_path):
    """A recording of another user is not read without -f."""
    assert perf("record", "-o", tmp_path / "data", "true").returncode == 0
    os.chown(tmp_path / "data", 65534, 65534)
    refused = perf("report", "--stdio", "-i", tmp_path / "data")
    assert refused.returncode == 255 and "-f" in refused.stderr
    assert perf("report", "--stdio", "-f", "-i", tmp_path / "data").returncode == 0
