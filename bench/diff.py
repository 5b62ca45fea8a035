#!/usr/bin/python3
"""Does perf diff --significance find what has changed, and nothing else?

    bench/diff.py [--pairs 200] [--real RUNS]

Recordings are made up from a program of 40 functions whose shares are 1/n, in three kinds of noise: samples that don't depend on each other, bursts of
one function, and phases (what comes first and last is the same in each run). Of equal runs, each pair with a row that is called significant is a false
alarm: one in a hundred may be. Then the first function, a quarter of the program, takes 2 %, 5 % or 20 % more, with as many samples as it takes to
see that; how often it is found is told, and how often something else is that didn't change by more than what the first one took from it.

--real: as many runs of a real program, whose functions do a random amount of work, are recorded here and compared, 200 pairs of them; then as many of
one in which one function does 20 % more. All its functions are alike: what a neighbour on the same core slows down, it slows down in all of them. Where
it doesn't, runs are not equal, and --significance says so."""
import argparse
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/lib"))
import recording  # noqa: E402

PERF = os.environ.get("PERF", str(ROOT / "build/perf"))
KERNEL = 0xffffffff81000000
FUNCTIONS = 40
HEAD = ("event cpu-clock type=1 config=0 ids=1 freq=1000 sample=IDENTIFIER|IP|TID|TIME|PERIOD flags=sample_id_all,comm,task\n"
        f"mmap pid=-1 tid=0 addr={KERNEL:#x} len=0x100000 pgoff={KERNEL:#x} misc=1 name=[kernel.kallsyms]_text\n"
        "comm pid=1 tid=1 name=prog\n")
SAMPLE = struct.Struct("<IHHQQIIQQ")
PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
volatile long sink;
#define F(n) __attribute__((noinline, aligned(64))) void f##n(long k) { for (long i = 0; i < k; i++) sink += i ^ n; }
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9)
static void (*const all[])(long) = {f0, f1, f2, f3, f4, f5, f6, f7, f8, f9};
int main(int argc, char **argv)
{
	srand(getpid());
	for (int i = 0; i < 40000; i++) {
		int n = rand() % 10;
		all[n]((5000 + rand() % 30000) * (n ? 1 : strtod(argv[1], NULL)));
	}
}
"""


def draws(chance, samples, kind, weights):
    """The function of each sample."""
    order = list(range(FUNCTIONS))
    if kind == "independent":
        return chance.choices(order, weights, k=samples)
    halves = [(order, weights)]
    if kind == "phases":
        halves = [(half, [weights[f] for f in half]) for half in (order[::2], order[1::2] + [0])]
    drawn = []
    for half, half_weights in halves:
        want = len(drawn) + samples // len(halves)
        for function in chance.choices(half, half_weights, k=samples // len(halves)):
            drawn += [function] * chance.choice((1, 2, 3, 6))
            if len(drawn) >= want:
                break
        del drawn[want:]
    return drawn


def write_run(path, seed, samples, kind, planted=0.0):
    chance = random.Random(seed)
    weights = [1 / (i + 1) for i in range(FUNCTIONS)]
    weights[0] *= 1 + planted
    places = [KERNEL + 0x1000 * (function + 1) + 0x10 for function in range(FUNCTIONS)]
    pack, period = SAMPLE.pack, 900000
    data = b"".join(pack(9, 1, 48, 1, places[function], 1, 1, 1000000 * (i + 1), period + i * 7919 % 200000)
                    for i, function in enumerate(draws(chance, samples, kind, weights)))
    head = bytearray(recording.make(HEAD))
    struct.pack_into("<Q", head, 48, struct.unpack_from("<Q", head, 48)[0] + len(data))
    path.write_bytes(bytes(head) + data)


def significant(folder, old, new, *words):
    done = subprocess.run([PERF, "diff", "--significance", "--format", "json", "-q", *words, old, new], cwd=folder, capture_output=True, text=True, check=True)
    return [row["symbol"].split()[-1] for row in map(json.loads, done.stdout.splitlines()) if row["significant"] == "yes"]


def made_up(folder, pairs):
    names = ["_text", *(f"function_{i}" for i in range(FUNCTIONS)), "_etext"]
    (folder / "kallsyms").write_text("".join(f"{KERNEL + 0x1000 * i:016x} T {name}\n" for i, name in enumerate(names)), encoding="utf8")
    for kind in ("independent", "bursts", "phases"):
        alarms = 0
        for pair in range(pairs):
            for run in ("old", "new"):
                write_run(folder / run, f"{kind} {pair} {run}", 4000, kind)
            alarms += bool(significant(folder, "old", "new", "--kallsyms", "kallsyms"))
        print(f"{kind}: {alarms} false alarms of {pairs} pairs ({100 * alarms / pairs:.1f} %)", flush=True)
    for planted, samples, count in ((0.2, 12000, pairs // 4), (0.05, 200000, pairs // 10), (0.02, 1000000, pairs // 40)):
        found = others = 0
        for pair in range(count):
            for run in ("old", "new"):
                write_run(folder / run, f"{planted} {pair} {run}", samples, "independent", planted if run == "new" else 0)
            rows = significant(folder, "old", "new", "--kallsyms", "kallsyms")
            found += "function_0" in rows
            others += len(set(rows) - {"function_0"})
        print(f"{100 * planted:.0f} % more in a quarter of the program, {samples} samples: found in {found} of {count} pairs; {others} other functions, whose shares shrink, too", flush=True)


def real(folder, runs):
    (folder / "noisy.c").write_text(PROGRAM, encoding="utf8")
    subprocess.run(["gcc", "-O1", "-o", folder / "noisy", folder / "noisy.c"], check=True)
    for kind, factor in (("same", "1"), ("more", "1.2")):
        for run in range(runs):
            subprocess.run([PERF, "record", "-q", "-e", "cpu-clock:u", "-F", "20000", "-o", folder / f"{kind}{run}", "--", folder / "noisy", factor], check=True)
    chance = random.Random(1)
    pairs = [chance.sample(range(runs), 2) for _ in range(200)]
    alarms = sum(bool(significant(folder, f"same{a}", f"same{b}")) for a, b in pairs)
    found = sum("f0" in significant(folder, f"same{a}", f"more{b}") for a, b in pairs)
    print(f"a real program: {alarms} false alarms of {len(pairs)} pairs; 20 % more in a tenth of it found in {found} of {len(pairs)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--real", type=int, default=0, metavar="RUNS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perf-bench-diff-") as folder:
        if options.pairs:
            made_up(pathlib.Path(folder), options.pairs)
        if options.real:
            real(pathlib.Path(folder), options.real)
    return 0


if __name__ == "__main__":
    sys.exit(main())
