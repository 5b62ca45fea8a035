"""Chains whose callers came before, in the same process or in another one with the same file elsewhere: each sample has its own stack."""
import collections
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

LIBRARY, SIZE, PROCESSES, SAMPLES = 0x7f0000000000, 0x100000, 6, 3000


def library():
    """The C library of this Python."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split()[-1] for line in maps if "/libc.so" in line)


def bases():
    """Where each process has the library, at first and after it has mapped it anew."""
    return {pid: (LIBRARY + pid * 0x10000000, LIBRARY + pid * 0x10000000 + 0x4000000) for pid in range(1, PROCESSES + 1)}


def make(path, name):
    """Returns how many samples each process has of each stack, innermost address first."""
    rng = random.Random(5)
    paths = [[rng.randrange(SIZE) for _ in range(rng.randrange(1, 40))] for _ in range(30)]
    paths += [path[:-1] + [rng.randrange(SIZE)] for path in paths] + [[rng.randrange(SIZE), *path[1:]] for path in paths]
    lines = ["event cycles:u sample=IP|TID|TIME|CALLCHAIN|PERIOD flags=sample_id_all,mmap,comm"]
    for pid, (base, _) in bases().items():
        lines += [f"comm pid={pid} tid={pid} name=p{pid} time=1", f"mmap pid={pid} tid={pid} addr={base} len={SIZE} pgoff=0 time=1 name={name}"]
    expected = collections.Counter()
    for i in range(SAMPLES):
        if i == SAMPLES // 2:
            lines += [f"mmap pid={pid} tid={pid} addr={later} len={SIZE} pgoff=0 time={i + 10} name={name}" for pid, (_, later) in bases().items()]
        pid = rng.randrange(PROCESSES) + 1
        base = bases()[pid][i >= SAMPLES // 2 and rng.randrange(2)]
        chain = [base + at for at in rng.choice(paths)]
        expected[pid, tuple(chain)] += 1
        lines.append(f"sample ip={chain[0]} pid={pid} tid={pid} time={i + 10} period=1 chain=user,{','.join(map(str, chain))}")
    path.write_bytes(recording.make("\n".join(lines)))
    return expected


def folded(perf, data):
    """The stacks of the report, outermost frame first: {(process, stack): samples}."""
    done = perf("report", "-i", data, "--stdio", "--no-children", "--no-inline", "-s", "pid", "-g", "folded,0,caller,count")
    stacks, pid = collections.Counter(), 0
    for words in (line.split(None, 1) for line in done.stdout.splitlines() if line and not line.startswith("#")):
        if words[0].endswith("%"):
            pid = int(words[1].split(":")[0])
        else:
            stacks[pid, words[1]] += int(words[0])
    return stacks


def test_addresses_in_memory(perf, tmp_path):
    """No symbols: places are known by their addresses in memory, which no two processes share."""
    expected = make(tmp_path / "perf.data", "/nonexistent/library.so")
    assert folded(perf, tmp_path / "perf.data") == {(pid, ";".join(map(hex, reversed(chain)))): count for (pid, chain), count in expected.items()}


def test_functions(perf, tmp_path):
    """With symbols, and some places that have none: as each sample is printed on its own, with addresses in the file."""
    data, expected, found = tmp_path / "perf.data", collections.Counter(), collections.Counter()
    make(data, library())
    for sample in perf("script", "-i", data, "--no-inline", "-F", "pid,ip,sym").stdout.strip().split("\n\n"):
        pid, *frames = sample.splitlines()
        names = [name if name != "[unknown]" else hex(int(ip, 16) % SIZE) for ip, name in (frame.split(None, 1) for frame in frames)]
        expected[int(pid), ";".join(reversed(names))] += 1
    for (pid, stack), count in folded(perf, data).items():
        names = [hex(int(name, 16) % SIZE) if name.startswith("0x") else name for name in stack.split(";")]
        found[pid, ";".join(names)] += count
    assert sum(expected.values()) == SAMPLES
    assert found == expected
