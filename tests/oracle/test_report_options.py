"""Options of perf report that the kernel's perf 6.1 has too, on a program with debug information: the same rows."""
import re
import shutil
import subprocess

import pytest

PROGRAM = r"""
#include <stdlib.h>
#include <sys/stat.h>
volatile long sink;
static inline __attribute__((always_inline)) void twist(int i)
{
	sink += i * i;
	sink ^= 3;
}
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) void leaf(int n)
{
	for (int i = 0; i < n; i++)
		twist(i);
}
__attribute__((noinline)) void middle(int n)
{
	leaf(n);
	leaf(n / 2);
}
int main(void)
{
	struct stat st;
	for (int i = 0; i < 30; i++) {
		sink += fib(24);
		middle(1000000);
		for (int j = 0; j < 2000; j++)
			stat("/usr/bin/perf", &st);
	}
	return 0;
}
"""
RECORDINGS = {
    "flat": ["-F", "2000"],
    "chains": ["-g", "-F", "2000"],
    "dwarf": ["--call-graph", "dwarf,4096", "-F", "500"],
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    directory = tmp_path_factory.mktemp("options")
    (directory / "prog.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-no-pie", "-o", "prog", "prog.c"],
                   cwd=directory, check=True)
    return directory / "prog"


@pytest.fixture(scope="module")
def recordings(oracle, live, program):
    made = {}
    for name, words in RECORDINGS.items():
        made[name] = program.parent / f"{name}.data"
        done = oracle("record", "-o", made[name], "-e", "cpu-clock", *words, "--", program)
        assert done.returncode == 0, done.stderr
    return made


def rows(program, path, words):
    """Without headings."""
    done = program("report", "--stdio", "-i", path, *words)
    assert done.returncode == 0, done.stderr
    return [line.rstrip() for line in done.stdout.split("\n") if line.strip() and not line.startswith("#")]


def own_rows(program, path, words):
    """Of the program alone: of libraries it depends on the machine whether their lines are known."""
    return rows(program, path, [*words, "-d", "prog"])


LINE_CASES = ["srcline", "srcfile", "srcline,sym", "dso,srcfile", "comm,srcline,srcfile"]


@pytest.mark.parametrize("keys", LINE_CASES)
def test_source_lines(perf, oracle, recordings, keys):
    for name, path in recordings.items():
        words = ["-s", keys, "--no-children", "-g", "none"]
        ours = own_rows(perf, path, words)
        assert ours == own_rows(oracle, path, words), name
        assert any("prog.c" in row for row in ours), name


def test_source_lines_with_their_paths(perf, oracle, recordings, program):
    words = ["-s", "srcline", "--full-source-path"]
    ours = own_rows(perf, recordings["flat"], words)
    assert ours == own_rows(oracle, recordings["flat"], words)
    assert any(f"{program.parent}/prog.c:7" in row for row in ours)


def test_call_graphs_of_lines_are_of_functions(perf, oracle, recordings):
    """Rows are lines; the graphs below them aren't split by address."""
    words = ["-s", "srcline,sym", "--no-children"]
    assert own_rows(perf, recordings["dwarf"], words) == own_rows(oracle, recordings["dwarf"], words)


def test_lines_of_callers(perf, oracle, recordings):
    """In unwound stacks every inlined function and what is around it have lines of their own. (Of frame-pointer stacks the kernel's perf
    doubles the start of the function.)"""
    words = ["-s", "srcline,sym", "-g", "none", "--percent-limit", "5"]

    def callers(program):
        return [row.split() for row in own_rows(program, recordings["dwarf"], words) if "prog.c" in row]
    ours = callers(perf)
    assert ours == callers(oracle)
    assert any(row[-2:] == ["twist", "(inlined)"] for row in ours)
    chains = own_rows(perf, recordings["chains"], words)
    assert any(re.search(r"prog\.c:\d+ +\[\.\] main", row) for row in chains)
