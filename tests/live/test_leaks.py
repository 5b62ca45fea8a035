"""perf leaks of a program that knows what it leaks: exact without sampling, near with it."""
import json
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent / "leaky.c"
# Bytes and allocations by the function that leaks them.
EXPECTED = {"leak_malloc": (1100000, 101), "leak_calloc": (2000, 10), "leak_realloc": (21000, 7), "leak_reallocarray": (550, 1), "leak_aligned": (9600, 4),
            "leak_mapping": (65536, 1)}


@pytest.fixture(scope="module")
def leaky(tmp_path_factory, perf):
    path = tmp_path_factory.mktemp("leaks") / "leaky"
    subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", path, SOURCE], check=True)
    done = perf("leaks", "--json", "--", path)
    if done.returncode and ("BPF" in done.stderr or "refuses" in done.stderr or "bpf" in done.stderr):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return path


def sums(text):
    """{function: (bytes, allocations)} of the functions that leak."""
    found = {}
    for line in text.splitlines():
        row = json.loads(line)
        for frame in row["stack"].split(";"):
            name = frame.split(" ")[0]
            if name.startswith(("leak_", "free_all")):
                before = found.get(name, (0, 0))
                found[name] = (before[0] + row["bytes"], before[1] + row["allocations"])
    return found


def test_exact(perf, leaky):
    done = perf("leaks", "--top", 0, "--format", "json", "--", leaky)
    assert done.returncode == 0 and sums(done.stdout) == EXPECTED, done.stderr


def test_sums_only(perf, leaky):
    assert sums(perf("leaks", "--combined-only", "--top", 0, "--format", "json", "--", leaky).stdout) == EXPECTED


def test_text(perf, leaky):
    text = perf("leaks", "--top", 1, "--", leaky).stdout
    assert text.startswith("Outstanding after ") and "1,000,000 bytes in 1 allocations, the oldest for " in text
    assert text.index("leak_malloc [leaky]") < text.index("main [leaky]") and "leak_calloc" not in text


BRANCHING = r"""
#include <stdlib.h>
static void *volatile kept;
#define APART __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls"))) void
APART leak_by_0(int depth, int path);
APART leak_by_1(int depth, int path);
static inline __attribute__((always_inline)) void leak_on(int depth, int path)
{
	if (!depth)
		kept = malloc(1);
	else if (path & 1)
		leak_by_1(depth - 1, path >> 1);
	else
		leak_by_0(depth - 1, path >> 1);
	__asm__ volatile("");
}
APART leak_by_0(int depth, int path) { leak_on(depth, path); }
APART leak_by_1(int depth, int path) { leak_on(depth, path); }
int main(void)
{
	for (int path = 0; path < 256; path++)
		leak_by_0(8, path);
}
"""


def test_many_stacks(perf, leaky, tmp_path):
    """256 stacks, of which most often two have another one's place in the kernel's table: each one is told."""
    program = tmp_path / "branching"
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-x", "c", "-o", program, "-"], input=BRANCHING, text=True, check=True)
    rows = [json.loads(line) for line in perf("leaks", "--top", 0, "--format", "json", "--", program).stdout.splitlines()]
    assert len([row for row in rows if row["allocations"] == 1 and row["stack"].count("leak_by_") == 9]) == 256, [row for row in rows if row["allocations"] != 1]


def test_sampled(perf, leaky):
    """20,000 allocations of 256 bytes, every second of which is noted: 5 % are seven standard deviations of what is estimated. What is larger than --sample is exact."""
    found = sums(perf("leaks", "--sample", 512, "--top", 0, "--format", "json", "--", leaky, "small").stdout)
    bytes_, count = found["leak_small"]
    assert abs(bytes_ / (20000 * 256) - 1) < 0.05 and abs(count / 20000 - 1) < 0.05
    assert found["leak_mapping"] == EXPECTED["leak_mapping"] and found["leak_realloc"] == EXPECTED["leak_realloc"] and "free_all" not in found


def test_running_process(perf, leaky):
    """-p, until there were enough intervals; what was allocated before isn't known. --older: nothing is as old."""
    with subprocess.Popen([leaky, "later"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        with subprocess.Popen([perf.path, "leaks", "-p", str(process.pid), "--interval", "1", "--top", "0"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              text=True) as watcher:
            first = watcher.stdout.readline()
            process.stdin.write(b"\n")
            process.stdin.flush()
            assert first.startswith("Outstanding after") and " 0 bytes in 0 allocations" in first
            assert process.stdout.readline() == b"done\n"
            process.stdin.close()
            rest = watcher.communicate()[0]
    last = rest[rest.rindex("Outstanding"):]
    assert "21,000 bytes in 7 allocations" in last and "bytes since the interval before" in last and "leak_realloc [leaky]" in last
    done = perf("leaks", "--older", 3600, "--", leaky)
    assert " 0 bytes in 0 allocations by 0 stacks" in done.stdout


TOGGLING = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	char line[16];
	char *block = NULL;
	setvbuf(stdin, line, _IOLBF, sizeof(line));
	for (int key; (key = getchar()) != EOF;) {
		if (key == 'a') *(volatile char *)(block = malloc(7777)) = 1;
		if (key == 'f') free(block);
	}
}
"""


def test_growth_since_the_interval_before(perf, leaky, tmp_path):
    """Of what comes again after nothing was left."""
    program = tmp_path / "toggling"
    subprocess.run(["gcc", "-O1", "-x", "c", "-o", program, "-"], input=TOGGLING, text=True, check=True)

    def send(key):
        process.stdin.write(key)
        process.stdin.flush()

    with subprocess.Popen([program], stdin=subprocess.PIPE) as process:
        with subprocess.Popen([perf.path, "leaks", "-p", str(process.pid), "--interval", "1"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as text:
            try:
                heads = (line for line in text.stdout if line.startswith("Outstanding"))
                next(heads)
                send(b"a")
                next(line for line in heads if " 7,777 bytes in 1 " in line)
                send(b"f")
                next(line for line in heads if " 0 bytes in 0 " in line)
                send(b"a")
                row = next(line for line in text.stdout if line.startswith("7,777 bytes"))
            finally:
                process.kill()
    assert " +7777 bytes since the interval before" in row


def test_cut_stacks_are_told(perf, leaky, tmp_path):
    path = tmp_path / "flat"
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-o", path, SOURCE], check=True)
    assert "-fno-omit-frame-pointer" in perf("leaks", "--", path).stdout


@pytest.mark.parametrize("words", ([], ["-p", "x"], ["-p", "1", "true"], ["--count", "1", "true"], ["--combined-only", "--older", "1", "true"], ["--sample", "0", "true"],
                                   ["--interval", "99999999999", "true"], ["--older", "99999999999", "true"]),
                         ids=" ".join)
def test_mistakes(perf, words):
    done = perf("leaks", *words)
    assert done.returncode == 129 and done.stderr.startswith("perf leaks: ") and not done.stdout


def test_object_without_allocator(perf, leaky):
    done = perf("leaks", "--object", leaky, "--", leaky)
    assert done.returncode == 255 and "has no function 'malloc'" in done.stderr and "--object" in done.stderr
