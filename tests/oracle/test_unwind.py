"""Unwinding of user stacks (--call-graph dwarf): small programs of many kinds, built here. Two judges: the kernel's perf on the same
recordings, and a program that knows its own call path."""
import collections
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import alike
import shadow

SOURCES = pathlib.Path(__file__).resolve().parent / "unwind"
pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="user stacks are unwound on x86-64 and arm64 only")

# name → compiler and options, source, words for the program
PROGRAMS = {
    "no frame pointer": ("gcc -O2 -g -fomit-frame-pointer", "calls.c", "700"),
    "not optimized": ("gcc -O0 -fno-omit-frame-pointer", "calls.c", "700"),
    "static": ("gcc -O2 -static", "calls.c", "700"),
    "stripped": ("gcc -O2 -s", "calls.c", "700"),
    "exceptions": ("g++ -O2", "throws.cpp", "4000"),
    "fortran": ("gfortran -O2", "sums.f90", "4000"),
    "rust": ("rustc -O", "lists.rs", ""),
    "sort": (None, "/usr/bin/sort", "-R"),
}

# name → compiler and options of shadow.c
KINDS = {
    "gcc": "gcc -O2 -fomit-frame-pointer",
    "clang": "clang -O2 -fomit-frame-pointer",
    "frame pointers": "gcc -O1 -fno-omit-frame-pointer",
    "fixed address": "gcc -O2 -no-pie",
    "static": "gcc -O2 -static",
    "static PIE": "gcc -O2 -static-pie",
    "debug_frame": "gcc -O2 -g -fno-asynchronous-unwind-tables",
    "static debug_frame": "gcc -O2 -g -static -fno-asynchronous-unwind-tables",
    "compressed debug_frame": "gcc -O2 -g -gz -fno-asynchronous-unwind-tables",
}


def build(folder, command, source):
    """Skips where the compiler is missing or can't do it."""
    words = command.split()
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    libraries = ["-lm", "-pthread"] if words[0] == "gcc" else []
    done = subprocess.run([*words, "-o", "program", SOURCES / source, *libraries], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{command}: {done.stderr.strip()[-200:]}")
    return folder / "program"


def record(recorder, data, size, rate, *words):
    done = recorder("record", "-q", "-N", "-e", "cpu-clock:u", "-F", rate, "--call-graph", f"dwarf,{size}", "-o", data, "--", *words, text=False)
    if done.returncode:
        pytest.skip(f"recording is not possible here: {done.stderr[-300:]}")


def stacks(perf, data):
    """Of each sample its frames, outermost first."""
    text = perf("script", "--no-inline", "-F", "comm,tid,time,ip,sym,symoff,dso", "-i", data).stdout
    blocks = [block.strip("\n").split("\n") for block in text.split("\n\n")]
    return [(lines[0], lines[:0:-1]) for lines in blocks if lines[0]]


NO_CODE = re.compile(r"\((\[stack\]|\[heap\]|\[unknown\])\)$")


def ends_alike(ours, theirs):
    return len(ours) >= len(theirs) and all(map(alike.line, theirs, ours[len(ours) - len(theirs):]))


def kind_of(ours, theirs):
    """How our stack differs. What is ours alone must lead to the function that the thread started in: then it is not made up. Where
    theirs leads out of all code it went wrong there."""
    if len(ours) == len(theirs) and ends_alike(ours, theirs):
        return "same"
    # A stripped program has no name for _start, which calls __libc_start_main.
    whole = any(start in ours[0] for start in ("_start+", "clone")) or (len(ours) > 1 and " __libc_start_main" in ours[1])
    while theirs and NO_CODE.search(theirs[0]):
        theirs = theirs[1:]
    return "whole where theirs is not" if whole and theirs and ends_alike(ours, theirs) else "other"


# x86-64: pop of any register, any number of times, then ret.
POPS_AND_RET = re.compile(rb"(?:\x41?[\x58-\x5f])*(?:\xf3?\xc3|\xc2)", re.DOTALL)


def is_at_a_functions_end(frame):
    """Whether the innermost frame is about to pop registers and return, by the code of its file. The address shown is an offset in the file."""
    place = re.fullmatch(r"\s*([0-9a-f]+) .*\((/.*)\)", frame)
    if not place:
        return False
    with open(place[2], "rb") as code:
        code.seek(int(place[1], 16))
        return POPS_AND_RET.match(code.read(64)) is not None


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_the_kernels_perf(perf, oracle, live, tmp_path, name):
    """Each stack is the same, but where the kernel's perf gives up: in static programs, and at a function's end. What it has popped the rules
    still look for where it was saved, which lies below the stack pointer by then: the copy does not have it, but the register does. There ours
    go on to where the thread began."""
    command, source, words = PROGRAMS[name]
    if command:
        program = [build(tmp_path, command, source), *words.split()]
    else:
        (tmp_path / "text").write_text("".join(f"{i * 7919 % 100003}\n" for i in range(60000)))
        program = [source, words, tmp_path / "text"]
    data = tmp_path / "perf.data"
    record(oracle, data, 16384, 499, *program)
    kinds, other = collections.Counter(), None
    for (head, ours), (their_head, theirs) in zip(stacks(perf, data), stacks(oracle, data), strict=True):
        assert head == their_head
        kind = kind_of(ours, theirs)
        if kind == "whole where theirs is not" and name != "static" and platform.machine() == "x86_64" and not is_at_a_functions_end(ours[-1]):
            kind = "other"
        kinds[kind] += 1
        other = other or (kind == "other" and (ours, theirs))
    if kinds.total() < 20:
        pytest.skip(f"only {kinds.total()} samples: this machine is too busy")
    assert kinds["other"] == 0, (kinds, other)
    if name != "static" and platform.machine() != "x86_64":
        assert kinds["same"] >= 0.985 * kinds.total(), kinds


@pytest.mark.parametrize("kind", KINDS)
def test_knows_its_path(perf, live, tmp_path, kind):
    """Every stack that was copied whole is exactly the program's path."""
    program = build(tmp_path, KINDS[kind], "shadow.c")
    data = tmp_path / "perf.data"
    record(perf, data, 8192, 1999, program, "500")
    counts, wrong = shadow.judge(str(perf), data, program)
    if counts["right"] + counts["wrong"] < 50:
        pytest.skip(f"only {counts} samples: this machine is too busy")
    assert not counts["wrong"], (counts, wrong)


@pytest.mark.parametrize("kind", ["gcc", "static"])
def test_knows_its_path_in_copies_that_grow(perf, live, tmp_path, kind):
    """What is cut off the copies belongs to no stack, and the larger ones come where they are needed."""
    program = build(tmp_path, KINDS[kind], "shadow.c")
    data = tmp_path / "perf.data"
    record(perf, data, "auto", 1999, program, "800")
    counts, wrong = shadow.judge(str(perf), data, program)
    if counts["right"] + counts["wrong"] < 50:
        pytest.skip(f"only {counts} samples: this machine is too busy")
    assert not counts["wrong"] and counts["right"] > 0.9 * sum(counts.values()) - 20, (counts, wrong)


@pytest.mark.parametrize("command", ["gcc -m32 -O2 -fno-pic -no-pie -DSIMPLE", "musl-gcc -O2 -fomit-frame-pointer -DSIMPLE"], ids=["32-bit", "musl"])
def test_knows_its_path_in_its_own_code(perf, live, tmp_path, command):
    """musl has no unwind information for itself. In a 32-bit program what the kernel maps into it, where system calls are made and signals return to, isn't in any file; and the rules
    of Debian's 32-bit memcpy() and of position-independent code's thunks are wrong or missing."""
    if platform.machine() != "x86_64":
        pytest.skip("x86 only")
    program = build(tmp_path, command, "shadow.c")
    data = tmp_path / "perf.data"
    record(perf, data, 8192, 1999, program, "3000")  # a share of few samples says nothing: some 5,000
    counts, wrong = shadow.judge(str(perf), data, program)
    if counts["right"] + counts["wrong"] < 50:
        pytest.skip(f"only {counts} samples: this machine is too busy")
    assert counts["wrong"] <= 0.02 * counts["right"], (counts, wrong)


@pytest.fixture(scope="module")
def shadow_program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("ends"), "gcc -O2 -fomit-frame-pointer", "shadow.c")


def early(perf, data, *words):
    """What report --stats=stacks says of stacks that end early: (how many, of how many, lines of reasons)."""
    text = perf("report", "--stats=stacks", "-i", data, *words).stdout
    if "Stacks that end early: " not in text:
        return 0, 0, []
    lines = text.split("Stacks that end early: ")[1].splitlines()
    counts = [int(line.split()[0]) for line in lines[1:]]
    few, _, all_of_them = lines[0].split()
    assert sum(counts) == int(few) and counts == sorted(counts, reverse=True), text
    return int(few), int(all_of_them), lines[1:]


def test_tells_that_the_copy_was_too_short(perf, live, tmp_path, shadow_program):
    """With what to record instead. Then nearly all are whole."""
    data = tmp_path / "perf.data"
    record(perf, data, 1024, 999, shadow_program, "300")
    few, stacks_all, lines = early(perf, data)
    if stacks_all < 20:
        pytest.skip("too few samples: this machine is too busy")
    assert few > stacks_all / 3
    assert "the copied stack was too short (" in lines[0] and lines[0].endswith(": record with --call-graph dwarf,2048)"), lines
    hint = perf("report", "--stdio", "-v", "-i", data).stderr
    assert "of the stacks end early, before main() or the start of their thread: the copied stack was too short (" in hint, hint
    record(perf, data, 16384, 999, shadow_program, "300")
    few, stacks_all, lines = early(perf, data)
    assert few * 20 <= stacks_all, lines
    few, stacks_all, lines = early(perf, data, "--max-stack", "3")
    assert few > stacks_all / 3 and "more frames than the limit" in lines[0] and "--max-stack N" in lines[0], lines


def test_tells_that_there_is_no_unwind_information(perf, live, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # no cache of files
    program = build(tmp_path, "gcc -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables", "shadow.c")
    data = tmp_path / "perf.data"
    record(perf, data, 8192, 999, program, "300")
    few, stacks_all, lines = early(perf, data)
    if few < 20:
        pytest.skip("too few samples: this machine is too busy")
    assert few > stacks_all / 2 and any(f"no unwind information ({program}, " in line and "-fasynchronous-unwind-tables" in line for line in lines), lines
    program.rename(tmp_path / "elsewhere")
    lines = early(perf, data)[2]
    assert any(f"the file was not found ({program}, " in line and "--symfs DIR" in line for line in lines), lines


def test_tells_that_frame_pointers_are_missing(perf, live, tmp_path, shadow_program):
    data = tmp_path / "perf.data"
    done = perf("record", "-q", "-e", "cpu-clock:u", "-F", "999", "--call-graph", "fp", "-o", data, "--", shadow_program, "300")
    if done.returncode:
        pytest.skip(f"recording is not possible here: {done.stderr[-300:]}")
    few, stacks_all, lines = early(perf, data)
    if stacks_all < 20:
        pytest.skip("too few samples: this machine is too busy")
    assert few > stacks_all / 2 and any("no frame pointer (" in line and "record with --call-graph dwarf" in line for line in lines), lines
