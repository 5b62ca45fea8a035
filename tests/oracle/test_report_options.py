"""Options of perf report that the kernel's perf 6.1 has too, on a program with debug information: the same rows."""
import collections
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import branches
import recording

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


@pytest.fixture(name="perf", scope="module")
def perf_fixture(kernel_form):
    """Stacks in the kernel tool's form."""
    return kernel_form


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    directory = tmp_path_factory.mktemp("options")
    (directory / "prog.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-no-pie", "-o", "prog", "prog.c"],
                   cwd=directory, check=True)
    return directory / "prog"


def can_be_compared(perf, oracle, path):
    """No sample by chance where the kernel's perf knows less: in a linkage stub, which it doesn't name; and, where it unwinds, at a function's last instruction,
    where it finds no caller as the registers are restored already. And some samples in the functions that are asked for, with their callers."""
    text = perf("script", "-F", "ip,sym", "-i", path).stdout
    if path.stem != "dwarf":
        stacks = [stack.strip("\n").split("\n") for stack in text.split("\n" if path.stem == "flat" else "\n\n")]
        leaf = [stack for stack in stacks if stack[0].endswith(" leaf")]
        return "@plt" not in text and len(leaf) > 10 and (path.stem == "flat" or sum(" main" in "".join(stack) for stack in leaf) > 10)
    stacks = [stack for stack in oracle("script", "-F", "ip,sym,dso", "-i", path).stdout.split("\n\n") if "/prog)" in stack]
    return "@plt" not in text and all(" _start (" in stack for stack in stacks) and sum(" twist (inlined)" in stack for stack in stacks) > 3


@pytest.fixture(scope="module")
def recordings(perf, oracle, live, program):
    made = {}
    for name, words in RECORDINGS.items():
        made[name] = program.parent / f"{name}.data"
        for _ in range(30):
            done = oracle.record(made[name], "-e", "cpu-clock", *words, "--", program)
            assert done.returncode == 0, done.stderr
            if can_be_compared(perf, oracle, made[name]):
                break
        else:
            pytest.fail(f"no recording can be compared: {words}")
    return made


def rows(program, path, words):
    """Without headings."""
    done = program("report", "--stdio", "-i", path, *words)
    assert done.returncode == 0, done.stderr
    # The kernel's perf takes a function that debug information calls otherwise than the symbol table for an inlined one.
    lines = done.stdout.replace("__libc_start_main_impl (inlined)", "__libc_start_main@@GLIBC_2.34").split("\n")
    return [line.rstrip() for line in lines if line.strip() and not line.startswith("#")]


def own_rows(program, path, words):
    """Of the program alone: of libraries it depends on the machine whether their lines are known. The kernel's perf calls entries of the PLT
    _init."""
    blocks = []  # a row, and the lines of its graph
    for line in rows(program, path, [*words, "-d", "prog"]):
        if not blocks or re.match(r" *\d+\.\d+%", line):
            blocks.append([])
        blocks[-1].append(line)
    return [line for block in blocks if not re.search("@plt|_init", block[0]) for line in block if not re.search("@plt|_init", line)]


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
    assert any(row.split()[-2:] == ["twist", "(inlined)"] for row in own_rows(perf, recordings["dwarf"], words[:4]))
    chains = own_rows(perf, recordings["chains"], words)
    assert any(re.search(r"prog\.c:\d+ +\[\.\] main", row) for row in chains)


def text(program, path, words):
    done = program("report", "--stdio", "-i", path, *words)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.split("\n") if line.strip(" #") and not re.match(r"# \((Tip|Cannot)", line)]


@pytest.mark.parametrize("words", ["--no-children --ignore-callees ^vfs", "--no-children --ignore-callees leaf|lookup", "-g callee --ignore-callees leaf",
                                   "--symbol-filter le", "--symbol-filter le --percentage relative -g none", "--stdio-color always",
                                   "--stdio-color always --no-children -n --show-cpu-utilization", "--stdio-color always -g folded", "--disable-order"])
def test_same_text(perf, oracle, recordings, words):
    theirs = text(oracle, recordings["chains"], words.split())
    assert text(perf, recordings["chains"], words.split()) == theirs
    assert any("leaf" in line for line in theirs)


def test_graphs_by_address_tell_lines(perf, oracle, recordings):
    """The program's frames, with their lines. (Of libraries without debug information the kernel's perf says "??:0".)"""
    def frames(program):
        found = re.findall(r"(\w+ prog\.c:\d+)", "\n".join(text(program, recordings["dwarf"], ["-g", "address", "--no-children"])))
        return collections.Counter(found)
    ours = frames(perf)
    assert ours == frames(oracle)
    assert any(frame.startswith("main ") for frame in ours)


def test_counts_of_threads_one_by_one(perf, oracle, tmp_path, live):
    """The kernel's perf forgets the ends of the lines."""
    data = tmp_path / "stat.data"
    assert oracle.record(data, "-s", "-e", "cpu-clock,page-faults", "--", "sh", "-c", "ls / >/dev/null; ls / >/dev/null").returncode == 0

    def words(program):
        out = program("report", "--stdio", "-T", "--pretty", "raw", "-i", data).stdout
        return out[out.index("# ", out.rindex("PID") - 10):].split()
    ours = words(perf)
    assert ours == words(oracle)
    assert ours.count("page-faults") >= 2


def test_dump_in_the_order_of_the_file(perf, recordings):
    """Offsets only grow; in the order of time they needn't."""
    out = perf("report", "-D", "--disable-order", "-i", recordings["chains"]).stdout
    offsets = [int(offset, 16) for offset in re.findall(r"^(?:\d+ )*(0x[0-9a-f]+) \[0x[0-9a-f]+\]: PERF_RECORD", out, re.M)]
    assert len(offsets) > 100 and offsets == sorted(offsets)


@pytest.fixture(scope="module")
def branch_data(oracle, tmp_path_factory):
    """A program's true branches as branch records."""
    if not shutil.which("gcc") or not shutil.which("objdump"):
        pytest.skip("gcc or objdump is not installed")
    directory = tmp_path_factory.mktemp("branches")
    _, script = branches.make(directory)
    (directory / "perf.data").write_bytes(recording.Maker(script).make())
    return directory / "perf.data"


@pytest.mark.parametrize("words", ["", "-s srcline_from,srcline_to", "-s addr_from,addr_to", "-s dso_from,mispredict,comm", "-s in_tx,abort,comm",
                                   "-s srcline_to,cycles -n", "-s dso", "-s sym", "-s comm,dso,sym -n"])
def test_branches(perf, oracle, branch_data, words):
    theirs = text(oracle, branch_data, words.split())
    assert text(perf, branch_data, words.split()) == theirs
    assert len(theirs) > 6


@pytest.mark.parametrize("words", ["--branch-history --no-children", "--branch-history --no-children -s sym -g graph,2"])
def test_history_of_branches(perf, oracle, branch_data, words):
    """Loops are folded alike. The kernel's perf puts cycles and predictions behind the names."""
    theirs = [re.sub(r" \([a-z:0-9. %_]*\)$", "", line) for line in text(oracle, branch_data, words.split())]
    assert text(perf, branch_data, words.split()) == theirs
    assert len(theirs) > 100


def test_reference_call_graphs(perf, oracle, program):
    """An event without chains gets the graphs of the one that has them: each row that of its own function. The kernel's perf only says so in the heading."""
    symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    at = {name: int(re.search(rf"(\w+) T {name}\n", symbols)[1], 16) + 4 for name in ("main", "middle", "leaf", "fib")}
    lines = ["feature event_desc", "event cpu-clock type=1 config=0 sample=IP|TID|TIME|PERIOD|CALLCHAIN|IDENTIFIER flags=sample_id_all,mmap,mmap2 ids=1 period=100",
             "event task-clock/call-graph=no/ type=1 config=1 sample=IP|TID|TIME|PERIOD|IDENTIFIER flags=sample_id_all,mmap,mmap2 ids=2 period=100",
             f"mmap2 pid=7 tid=7 addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name={program} id=1"]
    stacks = {"leaf": ["leaf", "middle", "main"], "fib": ["fib", "main"]}
    for i in range(30):
        name = "leaf" if i % 3 else "fib"
        chain = ",".join(["user", *(f"{at[frame]:#x}" for frame in stacks[name])])
        lines.append(f"sample event=0 id=1 ip={at[name]:#x} pid=7 tid=7 time={10 + i} period=100 chain={chain}")
        lines.append(f"sample event=1 id=2 ip={at['leaf' if i % 5 else 'fib']:#x} pid=7 tid=7 time={10 + i} period=100")
    path = program.parent / "reference.data"
    path.write_bytes(recording.make(recording.of_absent("\n".join(lines) + "\n")))

    def tables(tool, *words):
        done = tool("report", "--stdio", "--no-children", "-i", path, *words)
        assert done.returncode == 0, done.stderr
        found = re.split(r"^# Samples: ", done.stdout, flags=re.M)
        return [[line.rstrip() for line in part.splitlines() if line.strip() and "(Tip:" not in line and line.strip() != "#"] for part in found[1:]]
    ours, theirs = tables(perf, "--show-ref-call-graph"), tables(oracle, "--show-ref-call-graph")
    assert ours[0] == theirs[0] and ours[1][0] == theirs[1][0] and ours[1][0].endswith(", show reference callgraph")
    assert [line for line in ours[1][1:] if "%" in line or "#" in line] == theirs[1][1:]
    graph = {table: [line for line in ours[table][1:] if "%" not in line and "#" not in line] for table in (0, 1)}
    assert graph[0] == graph[1] and [line.strip("-| ") for line in graph[0]] == ["", *stacks["leaf"], "", *stacks["fib"]]
    assert "show reference" not in str(tables(perf)) and [line.rstrip() for line in tables(perf)[1][1:]] == theirs[1][1:]


@pytest.mark.parametrize("keys", ["dso", "sym", "sym,dso", "comm,dso,sym", "dso_from,sym"])
@pytest.mark.parametrize("name", ["GrapheneOS+platform_system_extras/simpleperf/testdata/perf_b.data",
                                  "google+perf_data_converter/src/quipper/testdata/perf.data.branch-4.14"])
def test_rows_are_where_branches_went(perf, oracle, corpus, name, keys):
    """Without any file of the recorded machine."""
    theirs = text(oracle, corpus / name, ["-s", keys])
    assert text(perf, corpus / name, ["-s", keys]) == theirs
    assert len(theirs) > 6
