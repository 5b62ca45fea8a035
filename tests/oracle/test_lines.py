"""Source lines and inlined functions from every form of debug information, as llvm-symbolizer tells them of the same program."""
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "bench"))
import lines

SOURCES = {
    "x.cc": r"""
#include "x.h"
volatile long sink;
static inline __attribute__((always_inline)) void twist(int i)
{
	sink += i * i;
	sink ^= 3;
}
namespace deep { template <class T> struct Box { T value; inline __attribute__((always_inline)) T get(int i) const { twist(i); return value + i; } }; }
__attribute__((noinline)) int loops(int n)
{
	deep::Box<long> box{n};
	for (int i = 0; i < n; i++) {
		twist(i);
		if (i % 3)
			sink += box.get(i) + shared(i);
	}
	return n ? loops(n / 2) + 1 : 0;
}
int main(int argc, char **argv)
{
	auto each = [&](int i) __attribute__((always_inline)) { sink += other(i) + loops(i); };
	for (int i = 0; i < argc; i++)
		each(i);
	return 0;
}
""",
    "y.cc": r"""
#include "x.h"
__attribute__((noinline)) int other(int n)
{
	return shared(n) +
		shared(n + 1);
}
__attribute__((cold, noinline, section(".text.elsewhere"))) int elsewhere(int n) { return shared(n) * 2; }
""",
    "x.h": r"""
extern volatile long sink;
int other(int);
static inline __attribute__((always_inline)) int shared(int i)
{
	sink -= i;
	return (int)sink & 7;
}
""",
}

# compiler, its options; what is done with the program x afterwards
CASES = {f"DWARF {version}, {compiler}": (compiler, f"-gdwarf-{version}", []) for version in (2, 3, 4, 5) for compiler in ("g++", "clang++")}
CASES |= {
    "compressed": ("g++", "-g -gz=zlib", []),
    "compressed, older form": ("g++", "-g -gz=zlib-gnu", []),
    "type units": ("g++", "-g -fdebug-types-section", []),
    "64-bit DWARF": ("g++", "-g -gdwarf64", []),
    "lines only": ("clang++", "-gline-tables-only", []),
    "debug link": ("g++", "-g", ["objcopy --only-keep-debug x x.dbg", "strip x", "objcopy --add-gnu-debuglink=x.dbg x"]),
    "debug link, directory": ("g++", "-g", ["mkdir .debug", "objcopy --only-keep-debug x .debug/x.dbg", "strip x",
                                            "objcopy --add-gnu-debuglink=.debug/x.dbg x"]),
    "link to compressed file": ("g++", "-g", ["objcopy --only-keep-debug --compress-debug-sections=zlib x x.dbg", "strip x",
                                              "objcopy --add-gnu-debuglink=x.dbg x"]),
    "split, DWARF 5, gcc": ("g++", "-gdwarf-5 -gsplit-dwarf", []),
    "split, DWARF 4, gcc": ("g++", "-gdwarf-4 -gsplit-dwarf", []),
    "split, DWARF 5, clang": ("clang++", "-gdwarf-5 -gsplit-dwarf", []),
    "split, DWARF 4, clang": ("clang++", "-gdwarf-4 -gsplit-dwarf", []),
    "split package, DWARF 5": ("clang++", "-gdwarf-5 -gsplit-dwarf", ["llvm-dwp -e x -o x.dwp", "rm x.dwo y.dwo"]),
    "split package, DWARF 4": ("g++", "-gdwarf-4 -gsplit-dwarf", ["dwp -e x -o x.dwp", "rm x.dwo y.dwo"]),
    "common file of dwz": ("g++", "-g", ["cp x z", "dwz -m common.debug x z", "rm z"]),
    "common file of dwz, DWARF 4": ("g++", "-gdwarf-4", ["cp x z", "dwz -m common.debug x z", "rm z"]),
    "packed by dwz": ("g++", "-g", ["dwz x"]),
}


def tools(*names):
    missing = [name for name in names if not shutil.which(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} isn't installed")


def build(folder, compiler, options):
    tools(compiler, "readelf", "objcopy", "llvm-symbolizer", "c++filt")
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    for name in ("x", "y"):
        subprocess.run([compiler, "-O2", "-std=c++14", *options.split(), "-c", f"{name}.cc", "-o", f"{name}.o"], cwd=folder, check=True)
    subprocess.run([compiler, *options.split(), "-Wl,--build-id", "x.o", "y.o", "-o", "x"], cwd=folder, check=True)


def prepare(folder):
    """The recording, and what llvm-symbolizer says."""
    start, offset, size = lines.text_section(folder / "x")
    addresses = range(start, start + size)
    lines.write_recording(folder / "perf.data", str(folder / "x"), addresses, start - offset)
    asked = "\n".join(map(hex, addresses))
    text = subprocess.run(["llvm-symbolizer", "-i", "-f", "--no-demangle", "-e", "x"], cwd=folder, input=asked, capture_output=True, text=True, check=True)
    theirs = lines.their_frames(text.stdout)
    lines.readable(theirs)
    return theirs


def compare(perf, folder, theirs, *words):
    done = perf("script", *words, "-i", folder / "perf.data", "-F", "time,ip,sym,srcline", "--full-source-path", "--ns")
    ours = lines.our_frames(done.stdout)
    assert len(ours) == len(theirs)

    def places(stacks):
        """Without code of the compiler's own files: those may or may not have a line 0. Paths from here."""
        return [[(name, os.path.relpath(place, folder)) for name, place in stack] for stack in stacks if str(folder) in stack[-1][1]]
    theirs, ours = places(theirs), places([mine if str(folder) in other[-1][1] else [["", ""]] for mine, other in zip(ours, theirs)])
    assert ours == theirs
    return theirs


@pytest.mark.parametrize("case", CASES)
def test_forms(perf, tmp_path, case):
    compiler, options, commands = CASES[case]
    tools(*(command.split()[0] for command in commands))
    build(tmp_path, compiler, options)
    theirs = prepare(tmp_path)
    for command in commands:
        subprocess.run(command.split(), cwd=tmp_path, check=True)
    same = compare(perf, tmp_path, theirs)
    names = {name for stack in same for name, _ in stack}
    if "only" not in case:
        assert {"twist", "main", "loops", "deep::Box<long>::get", "shared", "other", "elsewhere"} <= names
    assert len(same) > 100
    assert max(map(len, same)) >= 3


def test_build_id_directory(perf, tmp_path, monkeypatch):
    """Below --symfs, by build-id; the program itself is stripped."""
    build(tmp_path, "g++", "-g")
    theirs = prepare(tmp_path)
    notes = subprocess.run(["readelf", "-n", "x"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    build_id = notes.split("Build ID:")[1].split()[0]
    root = tmp_path / "root"
    debug = root / "usr/lib/debug/.build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", "x", debug], cwd=tmp_path, check=True)
    subprocess.run(["strip", "x"], cwd=tmp_path, check=True)
    (root / str(tmp_path)[1:]).mkdir(parents=True)
    shutil.copy(tmp_path / "x", root / str(tmp_path)[1:] / "x")
    compare(perf, tmp_path, theirs, "--symfs", root)
    with pytest.raises(AssertionError):
        compare(perf, tmp_path, theirs)


def test_forms_of_chains(perf, tmp_path):
    """Inlined functions in stacks of frame pointers, those of callers too: by default, not in the kernel's form, and not at all."""
    build(tmp_path, "g++", "-g -fno-omit-frame-pointer")
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "x"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    body = text.split("<main>:")[1].split("\n\n")[0]
    listing = [line.strip().split(":")[0] for line in body.splitlines() if line.strip()]
    calls = [i for i, line in enumerate(body.splitlines()[1:]) if "call" in line and "loops" in line]
    back = int(listing[calls[0] + 1], 16)
    start, offset, _ = lines.text_section(tmp_path / "x")
    lines.write_recording(tmp_path / "perf.data", str(tmp_path / "x"), [start], start - offset)
    data = bytearray((tmp_path / "perf.data").read_bytes())
    leaf = int(text.split(" <_Z5loopsi>:")[0].split("\n")[-1], 16)
    base = lines.BASE - (start - offset)
    chain = struct.pack("<QIIQ4Q", base + leaf, 100, 100, 1000, 3, 2**64 - 512, base + leaf, base + back)
    cut = data.rindex(struct.pack("<IHH", 9, 2, 8 + 24 + 24))
    data[cut:] = lines.record(9, 2, chain)
    size = struct.unpack_from("<Q", data, 48)[0]
    struct.pack_into("<Q", data, 48, size + 8)
    (tmp_path / "perf.data").write_bytes(data)

    def frames(*words):
        return lines.our_frames(perf("script", *words, "-i", tmp_path / "perf.data", "-F", "time,ip,sym,srcline", "--ns").stdout)[0]
    each = "operator()"  # the compiler gives functions that it inlines everywhere no name for the linker
    expected = [["loops", "x.cc:11"], [each, "x.cc:22"], ["main", "x.cc:24"]]
    assert frames() == expected
    assert [name for name, _ in frames("--inline=unwound")] == ["loops", "main"]
    assert [name for name, _ in frames("--no-inline")] == ["loops", "main"]
    report = perf("report", "--stdio", "-i", tmp_path / "perf.data", "--children").stdout
    assert f"{each} (inlined)" in report
    assert "inlined" not in perf("report", "--stdio", "-i", tmp_path / "perf.data", "--inline=unwound").stdout
    assert "main;operator;loops 1" in perf("flamegraph", "--folded", "-i", tmp_path / "perf.data", "--merge-comms").stdout
