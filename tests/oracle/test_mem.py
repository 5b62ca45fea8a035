"""perf mem: what recordings tell of memory accesses, as the kernel's perf 6.1 shows it; and the options of both subcommands."""
import json
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording
from accesses import source
from test_report_memory import made  # noqa: F401

HEAD = ("feature hostname box\nfeature arch x86_64\nfeature nrcpus 2\n"
        "event mem-loads type=4 config=0x1cd period=1000 sample=IP|TID|TIME|ADDR|CPU|PERIOD|WEIGHT|DATA_SRC|PHYS_ADDR|DATA_PAGE_SIZE "
        "flags=sample_id_all,mmap,mmap_data,comm,mmap2\ncomm pid=7 tid=7 name=data exec=1 time=1\n")
# Each value that one part of a data source can have, beside usual ones.
PARTS = {"op": [1 << bit for bit in range(5)], "level": [1 << bit for bit in range(14)] + [2 | 1 << bit for bit in range(3, 14)] + [4 | 1 << bit for bit in range(3, 14)],
         "snoop": [1 << bit for bit in range(5)], "lock": [0, 1, 2], "tlb": [1 << bit for bit in range(7)] + [2 | 1 << bit for bit in range(3, 7)],
         "number": range(16), "remote": [0, 1], "snoopx": [0, 1], "block": [1, 2, 4, 6], "hops": range(5)}
WHAT = [{"op": 2, "level": 0xa, "snoop": 2, "lock": 0, "tlb": 0x1a, "block": 1, part: value} for part, values in PARTS.items() for value in values]
WORDS = [[], ["-t", "store"], ["-t", "load", "-p"], ["-p", "--data-page-size"], ["-t", "store", "--data-page-size"]]


def lines(program, *words):
    done = program("mem", *words)
    assert done.returncode == 0, done.stderr
    # The kernel's perf has a column about annotation where keys are named.
    kept = [re.sub(r"(IPC \[IPC Coverage\]|,ipc_null| - +-)? *$", "", re.sub(r" +", " ", line)).strip() for line in done.stdout.splitlines() if "(Tip:" not in line]
    return [line for line in kept if line and not re.fullmatch(r"[#. ]*", line) and "Lost Samples" not in line and "--header" not in line]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_report_tables(perf, oracle, made, words):
    path = made[0] / "mixed.data"
    theirs = lines(oracle, "-i", path, *words, "report", "--stdio")
    assert len(theirs) > 20 and lines(perf, "-i", path, *words, "report", "--stdio") == theirs
    assert lines(perf, "report", "-i", path, *words) == theirs


def test_chosen_cpus(perf, oracle, made):
    """With tables and with the dump; the kernel's perf overlooks -C of perf mem."""
    path = made[0] / "mixed.data"
    theirs = lines(lambda *words: oracle("report", "--mem-mode", "-n", *words[1:]), "-i", path, "--stdio", "-C", "1")
    assert len(theirs) > 20 and lines(perf, "-i", path, "-C", "1", "report") == lines(perf, "report", "-C", "1", "-i", path) == theirs
    dumped = perf("mem", "-D", "-C", "1", "-i", path, "report").stdout.splitlines()
    assert dumped[1:] == perf("mem", "-D", "-i", path, "report").stdout.splitlines()[2::2]  # every other sample is on CPU 1


def test_each_source(perf, oracle, tmp_path):
    """Each value of each part: costs that differ keep rows apart where the kernel's perf sees no difference in the source. It writes a gigabyte as 1024M."""
    path = tmp_path / "x.data"
    path.write_bytes(recording.Maker(HEAD + "".join(
        f"sample ip=0x401000 pid=7 tid=7 time={10 + i} addr={0x5000 + i * 8:#x} cpu=0 period=1 weight={i + 1} data_src={source(**what):#x} "
        f"phys={i << 12:#x} data_page={[0, 4096, 1 << 21, 1 << 30, 512][i % 5]}\n" for i, what in enumerate(WHAT))).make())
    for words in ([], ["-p", "--data-page-size"]):
        theirs = [line.replace(" 1024M", " 1G") for line in lines(oracle, "-i", path, *words, "report", "--stdio")]
        assert len(theirs) > len(WHAT) and lines(perf, "-i", path, *words, "report", "--stdio") == theirs


def test_of_others(perf, oracle, corpus):
    """Loads of a server. The kernel's perf doesn't find a program's data that the kernel reads."""
    path = corpus / "google+perf_data_converter/src/quipper/testdata/perf.data.weight_struct"
    ours, theirs = (lines(program, "-i", path, "report", "--stdio") for program in (perf, oracle))
    assert [line for line in ours if "000055ffba5cda08" not in line] == [line for line in theirs if "000055ffba5cda08" not in line]
    assert len(ours) == len(theirs) == 18


@pytest.mark.parametrize("words", [[], ["-p"], ["-p", "--data-page-size"], ["-U"]], ids=" ".join)
@pytest.mark.parametrize("separator", [",", None])
def test_dump(perf, oracle, made, words, separator):
    """The kernel's perf writes the first line otherwise than the others when there is no separator."""
    path, between = made[0] / "mixed.data", ["-x", separator] if separator else []
    ours, theirs = (program("mem", "-D", *between, *words, "-i", path, "report").stdout.splitlines() for program in (perf, oracle))
    assert len(theirs) > 100 or "-U" in words
    first = 1 if separator else 2
    assert ours[0] == theirs[0] and ours[first:] == theirs[first:]


def test_dump_of_other_events(perf, oracle, tmp_path):
    """Of what has no data source the dump has the value that says so."""
    path = tmp_path / "flat.data"
    path.write_bytes(recording.Maker("event cycles type=0 config=0 sample=IP|TID|TIME\ncomm pid=7 tid=7 name=flat time=1\nsample ip=0x401000 pid=7 tid=7 time=5\n").make())
    ours, theirs = (program("mem", "-D", "-x", ",", "-i", path, "report").stdout for program in (perf, oracle))
    assert ours == theirs and "0x5080021" in ours


def test_dump_of_some(perf, made):
    """-t chooses by what the data source tells; samples that tell neither are of no kind. Nothing sorts the lines."""
    path, counts = made[0] / "mixed.data", {}
    for kind in ("load", "store", "load,store"):
        lines = perf("mem", "-D", "-x", ",", "-t", kind, "-i", path, "report").stdout.splitlines()[1:]
        operations = {int(line.split(",")[5], 0) & 0x1f for line in lines}
        assert lines and operations <= {"load": {2, 6}, "store": {4, 6}, "load,store": {2, 4, 6}}[kind]
        counts[kind] = len(lines)
    assert counts["load,store"] == counts["load"] + counts["store"] and counts["load"] != counts["store"]
    done = perf("mem", "report", "-D", "-s", "mem", "-i", path)
    assert done.returncode == 129 and "-s sorts tables" in done.stderr


def test_programs_read_it(perf, made):
    done = perf("mem", "report", "-t", "load", "--format", "json", "-s", "mem", "-i", made[0] / "mixed.data")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) > 5 and {"mem", "sample"} <= set(rows[0]) and sum(row["sample"] for row in rows) == 400


def test_record_any_event(perf, tmp_path):
    """First accesses to pages are sampled anywhere."""
    path = tmp_path / "faults.data"
    done = perf("mem", "-p", "record", "-e", "page-faults", "-c", "1", "-o", path, "--", "true")
    assert done.returncode == 0, done.stderr
    listed = perf("evlist", "-v", "-i", path).stdout
    assert all(name in listed for name in ("page-faults", "ADDR", "WEIGHT", "DATA_SRC", "PHYS_ADDR"))
    assert "page-faults" in perf("mem", "report", "-i", path).stdout


def test_refusals(perf, made, tmp_path):
    for words, sentence in ((["-t", "x", "report"], "use load, store or load,store"), (["report", "-D", "-T"], "-T is for tables"), ([], "which subcommand?"),
                            (["reprot"], "unknown subcommand 'reprot'"), (["report", "-D", "-i", tmp_path / "no"], "no"), (["record", "--ldlat", "x", "true"], "--ldlat")):
        done = perf("mem", *words)
        assert done.returncode != 0 and sentence in done.stderr, (words, done.stderr)
    if not any(pathlib.Path("/sys/bus/event_source/devices").glob("*/events/mem-loads")) and not pathlib.Path("/sys/bus/event_source/devices/ibs_op").exists():
        for words in ([], ["-e", "list"], ["-e", "ldlat-loads"]):
            done = perf("mem", "record", *words, "--", "true")
            assert done.returncode != 0 and "Intel processors since Nehalem" in done.stderr and "page-faults" in done.stderr


def test_help(perf):
    for words in (["mem", "-h"], ["mem", "record", "-h"], ["mem", "report", "-h"]):
        assert "--data-page-size" in perf(*words).stdout + perf(*words).stderr
