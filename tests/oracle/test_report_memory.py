"""perf report --mem-mode: sampled memory accesses as the kernel's perf 6.1 shows them. No machine for tests has such samples: they are made for a real program,
whose variables have names."""
import collections
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording
from accesses import PROGRAM, source


# The kernel's perf tells levels apart by the old field alone, and snoops without the newer one: each combination here has a value of its own in these.
KINDS = [source(level=0x0a, snoop=2, tlb=0x0a, lock=2, number=1, block=1), source(level=0x22, snoop=2, tlb=0x12, lock=2, number=2),
         source(level=0x12, snoop=2, tlb=0x24, number=12, block=2), source(level=0x44, snoop=16, tlb=0x1a, lock=4, number=3, block=4),
         source(level=0x82, snoop=8, tlb=0x40, number=13, block=6), source(level=2, number=11, remote=1, hops=2, snoopx=1),
         source(op=4, level=0x0c, snoop=2, tlb=0x0a, lock=1), source(level=1, snoop=1, tlb=1, lock=1, number=15, block=1),
         source(level=0x1002, snoop=4, snoopx=2)]
KEYS = ["", "-s mem", "-s tlb", "-s snoop", "-s locked", "-s blocked", "-s phys_daddr", "-s data_page_size", "-s dso_daddr", "-s weight,mem", "-s sym,dso_daddr",
        "-s local_weight,locked -n --show-total-period", "-s comm,cpu,mem", "-F sample,overhead,snoop", "-s dso_daddr,tlb --percent-limit 3"]


def describe(program, weights, count):
    chance = random.Random(5)
    listing = subprocess.run(["nm", "-S", "--defined-only", program], check=True, capture_output=True, text=True).stdout
    symbols = {name: (int(a, 16), int(b, 16)) for a, b, name in re.findall(r"^(\w+) (\w+) \w (\w+)$", listing, re.M)}
    text = ["feature hostname box", "feature arch x86_64", "feature nrcpus 2",
            "event mem-loads type=4 config=0x1cd period=1000 sample=IP|TID|TIME|ADDR|CPU|PERIOD|WEIGHT|DATA_SRC|PHYS_ADDR|DATA_PAGE_SIZE "
            "flags=sample_id_all,mmap,mmap_data,comm,mmap2",
            "comm pid=77 tid=77 name=data exec=1 time=1",
            f"mmap2 pid=77 tid=77 addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name={program}",
            f"mmap2 pid=77 tid=77 addr=0x403000 len=0x3000 pgoff=0x2000 time=2 prot=3 flags=2 misc=0x2002 name={program}",
            "mmap2 pid=77 tid=77 addr=0x7f0000000000 len=0x10000 pgoff=0 time=2 prot=3 flags=1 maj=8 min=1 ino=99 misc=0x2002 name=/dev/shm/shared",
            "mmap2 pid=77 tid=77 addr=0x1c00000 len=0x21000 pgoff=0 time=2 prot=3 flags=2 misc=0x2002 name=[heap]"]
    for i in range(count):
        start, size = symbols[chance.choice(["walk", "fill"])]
        where = chance.random()
        variable, room = symbols[chance.choice(["table", "nodes", "counter"])]
        address = (variable + 8 * chance.randrange(max(1, min(room, 128) // 8)) if where < .7 else 0x1c00010 + 64 * chance.randrange(4) if where < .8
                   else 0x7f0000000040 + 8 * chance.randrange(8) if where < .9 else 0x5000 + chance.randrange(3) * 8)
        text.append(f"sample ip={start + chance.randrange(size):#x} pid=77 tid=77 time={10 + i} addr={address:#x} cpu={i % 2} period={1000 + i % 3} "
                    f"weight={chance.choice(weights)} data_src={chance.choice(KINDS):#x} phys={0x100000 + address % 0x100000:#x} "
                    f"data_page={chance.choice([0, 4096, 1 << 21])}")
    return recording.of_absent("\n".join(text) + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Texts and recordings by name: costs that differ, and costs that are all the same."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("memory")
    (folder / "data.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-no-pie", "-o", "data", "data.c"], cwd=folder, check=True)
    texts = {"mixed": describe(folder / "data", [0, 7, 12, 30, 250], 400), "even": describe(folder / "data", [10], 120)}
    for name, text in texts.items():
        (folder / f"{name}.data").write_bytes(recording.Maker(text).make())
    return folder, texts


def lines(program, path, words):
    done = program("report", "--stdio", "--mem-mode", "-i", path, *words)
    assert done.returncode == 0, done.stderr
    kept = [re.sub(r" +", " ", line).strip() for line in done.stdout.splitlines() if "(Tip:" not in line and not re.fullmatch(r"[#. ]*", line)]
    return [line for line in kept if "Lost Samples" not in line and "--header" not in line]


@pytest.mark.parametrize("name", ["mixed", "even"])
@pytest.mark.parametrize("words", KEYS)
def test_tables(perf, oracle, made, words, name):
    """Line by line, headings too, rows of the same weight in the same order. With -F nothing is sorted by the default keys, which the kernel's perf names."""
    theirs = [line for line in lines(oracle, made[0] / f"{name}.data", words.split()) if not words.startswith("-F") or "Sort order" not in line]
    assert len(theirs) > 5 and lines(perf, made[0] / f"{name}.data", words.split()) == theirs


@pytest.mark.parametrize("key", ["symbol_daddr", "symbol_iaddr", "symbol_daddr,mem"])
def test_symbols(perf, oracle, made, key):
    """The kernel's perf adds a column about annotation to such keys, and tells functions apart for it."""
    def sums(program):
        total = collections.Counter()
        for line in lines(program, made[0] / "mixed.data", ["-s", key, "-n"]):
            found = re.fullmatch(r"[0-9.]+% (\d+) (\[.*?)( - -)?", line)
            if found:
                total[found[2]] += int(found[1])
        return total
    theirs = sums(oracle)
    assert len(theirs) > 1 and sum(theirs.values()) == 400 and sums(perf) == theirs


def test_cache_lines(perf, oracle, made):
    """The same lines with the same costs. The kernel's perf subtracts addresses of two kinds for a line's distance from the variable."""
    def rows(program):
        return [re.fullmatch(r"([0-9.]+%) (\[.\]) (\w+)(\+0x\w+)?", line) for line in lines(program, made[0] / "mixed.data", ["-s", "dcacheline"])]
    ours, theirs = [row for row in rows(perf) if row], [row for row in rows(oracle) if row]
    assert len(ours) > 8 and [row.group(1, 2) for row in ours] == [row.group(1, 2) for row in theirs]
    assert [row[3] for row in ours if not row[4]] == [row[3] for row in theirs if not row[4]]
    places = {row.group(3, 4) for row in ours if row[4]}
    assert ("table", "+0x0") in places and ("table", "+0x40") in places and {"nodes", "table"} <= {name for name, _ in places}


def test_weights(perf, made):
    """Counted here: an access without a cost counts 1."""
    folder, texts = made
    total = collections.Counter()
    for line in texts["mixed"].splitlines():
        found = re.search(r"weight=(\d+) .*data_page=(\d+)", line)
        if found:
            total[{"0": "N/A", "4096": "4K", "2097152": "2M"}[found[2]]] += max(1, int(found[1]))
    done = perf("report", "--mem-mode", "--format", "json", "-F", "period,data_page_size", "-i", folder / "mixed.data")
    assert {row["data_page_size"]: row["period"] for row in map(json.loads, done.stdout.splitlines())} == total


def test_whose_data(perf, tmp_path):
    """The kernel writes to a program's memory: that is named, and marked as user space; the kernel's perf looks for it in the kernel."""
    (tmp_path / "x.data").write_bytes(recording.Maker(
        "event mem-loads type=4 config=0x1cd sample=IP|TID|TIME|ADDR|WEIGHT|DATA_SRC flags=sample_id_all,mmap,mmap2\n"
        "mmap2 pid=7 tid=7 addr=0x1c00000 len=0x21000 time=2 prot=3 flags=2 misc=0x2002 name=[heap]\n"
        "sample ip=0xffffffff81000100 pid=7 tid=7 time=5 addr=0x1c00020 weight=9 data_src=0x2 misc=1\n").make())
    done = perf("report", "--mem-mode", "-s", "sym,symbol_daddr,dso_daddr", "-i", tmp_path / "x.data")
    assert re.search(r"100\.00% +\[k\] 0xffffffff81000100 +\[\.\] 0x0000000001c00020 +\[heap\]", done.stdout)


def test_refusals(perf, made, tmp_path):
    (tmp_path / "flat.data").write_bytes(recording.Maker("event cycles type=0 config=0\nsample ip=0x400100 pid=1 tid=1 time=5\n").make())
    for words, sentence in ((["--mem-mode"], "no memory accesses; record with -d -W"), (["-s", "mem"], "report with --mem-mode"),
                            (["--mem-mode", "-b"], "--mem-mode and -b cannot be combined")):
        done = perf("report", "-i", tmp_path / "flat.data", *words)
        assert done.returncode != 0 and sentence in done.stderr
