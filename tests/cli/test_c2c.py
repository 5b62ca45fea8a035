"""perf c2c report on recordings made by hand, byte for byte (but for spaces) as the kernel's perf 6.1 prints them; and the options of both subcommands."""
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

SHARED, HEAP, UNMAPPED = 0x7f0000000040, 0x1c00010, 0x5000
OPTIONS = [[], ["-d", "lcl"], ["-d", "rmt"], ["-d", "peer"], ["-d", "lcl", "-N", "-c", "pid,tid"], ["-d", "rmt", "-NN", "-c", "iaddr,dso,pid"], ["-d", "peer", "-N", "--show-all"],
           ["-NNN", "--no-source", "--full-symbols", "-c", "tid"], ["-c", "dso", "--show-all"], ["-c", "tid,dso,iaddr,pid", "--no-source"], ["--stats"], ["--stats", "-d", "peer"]]


def a_source(chance):
    if chance.random() < .25:
        return source(op=4, level=chance.choice([0xa, 0xc, 1, 0x2002, 2]))
    levels = [0xa, 0x12, 0x22, 0x42, 0x42, 0x42, 0x82, 0x102, 0x202, 0x402, 0x402, 0x802, 0x404, 0x1002, 0x2002, 4, 2]
    return source(level=chance.choice(levels), snoop=chance.choice([1, 2, 4, 8, 16, 16]), lock=chance.choice([0, 1, 2]), remote=chance.choice([0, 0, 0, 1]),
                  snoopx=chance.choice([0, 0, 0, 1, 2]), block=chance.choice([1, 1, 2, 4, 6]), hops=chance.choice([0, 0, 0, 1]))


def head(program, fields, arch="x86_64"):
    """Two processes of two threads each, on two nodes of CPUs and of memory."""
    text = [f"feature hostname box\nfeature arch {arch}\nfeature nrcpus 4\nfeature numa_topology 0-1 2-3\nfeature mem_topology 0x100000 0-0 1-1\nfeature event_desc",
            f"event mem-loads type=4 config=0x1cd period=1000 sample=IP|TID|TIME|ADDR|CPU|PERIOD|WEIGHT|DATA_SRC{fields} ids=1 flags=sample_id_all,mmap,mmap_data,comm,mmap2"]
    for pid in (77, 78):
        text += [f"comm pid={pid} tid={pid} name=data exec=1 time=1", f"fork pid={pid} tid={pid + 100} ppid={pid} ptid={pid} time=1",
                 f"mmap2 pid={pid} tid={pid} addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name={program}",
                 f"mmap2 pid={pid} tid={pid} addr=0x403000 len=0x3000 pgoff=0x2000 time=2 prot=3 flags=2 misc=0x2002 name={program}",
                 f"mmap2 pid={pid} tid={pid} addr=0x7f0000000000 len=0x10000 pgoff=0 time=2 prot=3 flags=1 maj=8 min=1 ino=99 misc=0x2002 name=/dev/shm/shared",
                 f"mmap2 pid={pid} tid={pid} addr=0x1c00000 len=0x21000 pgoff=0 time=2 prot=3 flags=2 misc=0x2002 name=[heap]"]
    return text


def story(program, symbols, seed, count, physical):
    chance = random.Random(seed)
    text = head(program, "|PHYS_ADDR" if physical else "")
    for i in range(count):
        pid = chance.choice([77, 78])
        start, size = symbols[chance.choice(["walk", "fill"])]
        variable, room = symbols[chance.choice(["table", "nodes", "counter"])]
        address = chance.choices([variable + 8 * chance.randrange(max(1, min(room, 192) // 8)), HEAP + 8 * chance.randrange(12), SHARED + 8 * chance.randrange(16), 0, UNMAPPED],
                                 [60, 15, 15, 3, 7])[0]
        where = 0 if chance.random() > physical else 0x1000 * chance.randrange(3) + chance.choice([0, 0x100000, 0x200000]) + address % 4096
        text.append(f"sample ip={start + 4 * chance.randrange(size // 4):#x} pid={pid} tid={pid + chance.choice([0, 100])} time={10 + i} addr={address:#x} cpu={chance.randrange(4)} "
                    f"period=1 weight={chance.randrange(300)} data_src={a_source(chance):#x} phys={where:#x}")
    return "\n".join(text) + "\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The program, its symbols, and recordings by name: with all physical addresses, with some, without."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("sharing")
    (folder / "data.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-no-pie", "-o", "data", "data.c"], cwd=folder, check=True)
    listing = subprocess.run(["nm", "-S", "--defined-only", "data"], cwd=folder, check=True, capture_output=True, text=True).stdout
    symbols = {name: (int(a, 16), int(b, 16)) for a, b, name in re.findall(r"^(\w+) (\w+) \w (\w+)$", listing, re.M)}
    for name, seed, count, physical in (("all", 1, 900, 1), ("some", 2, 500, .7), ("none", 3, 2500, 0), ("few", 4, 6, 1)):
        (folder / f"{name}.data").write_bytes(recording.Maker(story(folder / "data", symbols, seed, count, physical)).make())
    return folder, symbols


def lines(program, path, *words):
    done = program("c2c", "report", "--stdio", "-i", path, *words)
    assert done.returncode == 0, done.stderr
    return [re.sub(r" +", " ", line).strip() for line in done.stdout.splitlines() if not line.startswith("# ..")]


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("name", ["all", "some", "none", "few"])
def test_text(perf, oracle, made, name, words):
    theirs = lines(oracle, made[0] / f"{name}.data", *words)
    assert len(theirs) > 50 and lines(perf, made[0] / f"{name}.data", *words) == theirs


def test_columns(perf, oracle, made):
    """With the spaces between them."""
    ours, theirs = (program("c2c", "report", "--stdio", "-i", made[0] / "all.data").stdout for program in (perf, oracle))
    assert ours == theirs


@pytest.fixture(scope="module")
def chains(made):
    """Two lines, each with two places, which three callers call often, less often and seldom."""
    folder, symbols = made
    text = head(folder / "data", "|CALLCHAIN")
    (walk, _), (fill, _), (main, _), (table, _) = (symbols[name] for name in ("walk", "fill", "main", "table"))
    for i in range(300):
        code = (walk, fill)[i % 2] + 4
        caller = main + 4 if i % 3 else fill + 8 if i % 15 else 0x401ff0
        text.append(f"sample ip={code:#x} pid=77 tid=77 time={10 + i} addr={table + 8 * (i % 2) + 64 * (i % 5 > 2):#x} cpu={i % 4} period={1 + i % 7} weight=30 "
                    f"data_src={source(level=0x402, snoop=16, remote=i % 2):#x} chain=user,{code:#x},{caller:#x},{main + 12:#x}")
    path = folder / "chains.data"
    path.write_bytes(recording.Maker("\n".join(text) + "\n").make())
    return path


@pytest.mark.parametrize("words", [["-g"], ["-g", "caller"], ["-g", "callee"], ["-g", "graph,0,period"], ["-g", "fractal,0,caller,count"], ["-g", "flat,0"], ["-g", "folded,0,caller"],
                                   ["-g", "graph,0,2"], ["-g", "none"]], ids=" ".join)
def test_call_graphs(perf, oracle, chains, words):
    """With the spaces between them, but for those at the end of a line and what spaces before a column are too many (it makes room for names that it cuts)."""
    ours, theirs = (program("c2c", "report", "--stdio", "-i", chains, *words).stdout for program in (perf, oracle))
    ours, theirs = ([line.rstrip() for line in text.splitlines() if line.startswith("            ") or ";" in line] for text in (ours, theirs))
    assert ours == theirs and ("none" in words or any("main" in line for line in ours))


def test_light_branches(perf, chains):
    """Branches below the percentage aren't shown; the kernel's perf shows them all the same."""
    full, some, half = (perf("c2c", "report", "-g", f"graph,{least},caller", "-i", chains).stdout for least in (0, 8, 60))
    assert "--_fini" in full and "--_fini" not in some and "--main" not in half and len(half) < len(some) < len(full)


def test_any_source(perf, oracle, made, tmp_path):
    """Each bit of a data source at random: what it counts as."""
    chance = random.Random(9)
    text = head(made[0] / "data", "|PHYS_ADDR")
    for i in range(4000):
        bits = chance.getrandbits(46) & chance.getrandbits(46) if i % 2 else chance.getrandbits(46)
        text.append(f"sample ip={made[1]['walk'][0]:#x} pid=77 tid=77 time={10 + i} addr={made[1]['table'][0]:#x} cpu=0 period=1 weight=1 data_src={bits & ~0x1f | chance.choice([2, 4, 8, 6]):#x} phys=0x5000")
    (tmp_path / "x.data").write_bytes(recording.Maker("\n".join(text) + "\n").make())
    for words in (["--show-all"], ["-d", "peer"]):
        assert lines(perf, tmp_path / "x.data", *words) == lines(oracle, tmp_path / "x.data", *words)


def test_order_of_equals(perf, oracle, made, tmp_path):
    """One access each: lines of files before those of nobody, those of one process together, by address."""
    for seed in range(4):
        chance = random.Random(seed)
        samples = [(pid, base + 64 * i) for pid in (77, 78) for base in (0x404000, 0x1c00000, 0x7f0000000000, 0x5000) for i in range(3)]
        chance.shuffle(samples)
        text = head(made[0] / "data", "|PHYS_ADDR") + [
            f"sample ip={made[1]['walk'][0]:#x} pid={pid} tid={pid} time={10 + i} addr={address:#x} cpu=0 period=1 weight=5 data_src={source(level=0x402, snoop=16):#x} phys=0x1000"
            for i, (pid, address) in enumerate(samples)]
        (tmp_path / "x.data").write_bytes(recording.Maker("\n".join(text) + "\n").make())
        for words in ([], ["-c", "pid"]):
            assert lines(perf, tmp_path / "x.data", *words) == lines(oracle, tmp_path / "x.data", *words)


def test_of_others(perf, oracle, corpus):
    """A server's loads. The kernel's perf doesn't find a program's data that the kernel reads: one access less is without a map, and that line stands elsewhere."""
    path = corpus / "google+perf_data_converter/src/quipper/testdata/perf.data.weight_struct"
    for words in ([], ["--show-all", "-c", "pid,iaddr", "--no-source"]):  # it dies of files that are not here
        ours, theirs = (lines(program, path, *words) for program in (perf, oracle))
        own = re.compile("No Page Map Rejects|0x55ffba5cda00|0xffffffffa4470d46")
        ours, theirs = ([re.sub(r"^\d+ ((0 ){5})?(0x\w+)", r"\3", line) for line in text if line.strip("- ") and not own.search(line)] for text in (ours, theirs))
        assert len(theirs) > 60 and ours == theirs


def test_arm(perf, oracle, made, tmp_path):
    """Arm's processors tell which core answered, not what it had modified: that ranks lines without being asked for."""
    text = head(made[0] / "data", "|PHYS_ADDR", "aarch64") + [
        f"sample ip={made[1]['walk'][0]:#x} pid=77 tid=77 time={10 + i} addr={made[1]['table'][0] + 64 * (i % 2):#x} cpu=0 period=1 weight=5 "
        f"data_src={source(level=0x42, snoopx=2):#x} phys=0x1000" for i in range(9)]
    (tmp_path / "x.data").write_bytes(recording.Maker("\n".join(text) + "\n").make())
    assert lines(perf, tmp_path / "x.data") == lines(oracle, tmp_path / "x.data", "-d", "peer")


def test_double_lines(perf, made, tmp_path):
    """Two neighbouring lines are one of 128 bytes: the kernel's perf has that since 6.2."""
    base = made[1]["table"][0] & ~127
    text = head(made[0] / "data", "|PHYS_ADDR") + [
        f"sample ip={made[1]['walk'][0]:#x} pid=77 tid=77 time={10 + i} addr={base + offset:#x} cpu=0 period=1 weight=5 data_src={source(level=0x402, snoop=16):#x} phys=0x1000"
        for i, offset in enumerate((0x8, 0x48, 0x88))]
    (tmp_path / "x.data").write_bytes(recording.Maker("\n".join(text) + "\n").make())

    def found(*words):
        rows = [json.loads(line) for line in perf("c2c", "report", "-j", "-i", tmp_path / "x.data", *words).stdout.splitlines()]
        return sorted((row["line_address"] - base, row["offset"]) for row in rows if row["table"] == "places")
    assert found() == [(0, 8), (64, 8), (128, 8)] and found("--double-cl") == [(0, 8), (0, 0x48), (128, 8)]


def test_programs_read_it(perf, made):
    """JSON and CSV say what the text says."""
    path = made[0] / "all.data"
    rows = [json.loads(line) for line in perf("c2c", "report", "-j", "-i", path).stdout.splitlines()]
    tables = collections.Counter(row["table"] for row in rows)
    text = lines(perf, path)
    assert tables["lines"] == sum(re.match(r"\d+ 0x\w+ [\dN]", line) is not None for line in text) > 5
    assert tables["places"] == sum("[.]" in line for line in text) > 100
    figures = {row["figure"]: row["value"] for row in rows if row["table"] == "figures"}
    assert figures["records"] == 900 and f"Load Remote HITM : {figures['remote_hitm']:.0f}" in text
    assert sum(row["snoops"] for row in rows if row["table"] == "lines") == figures["remote_hitm"] + figures["local_hitm"]
    assert perf("c2c", "report", "--format", "csv", "--stats", "-i", path).stdout.splitlines()[:2] == ["table,figure,value", "figures,records,900.0000"]


def test_the_kernel_accesses_data_of_programs(perf, made, tmp_path):
    """That is the program's line, which its own threads wait for as well."""
    address = made[1]["table"][0]
    text = head(made[0] / "data", "|PHYS_ADDR") + [
        f"sample ip={ip:#x} pid=77 tid=77 time={10 + i} addr={address:#x} cpu={i} period=1 weight=5 data_src={source(level=0x402, snoop=16):#x} phys=0x1000 misc={misc}"
        for i, (ip, misc) in enumerate(((made[1]["walk"][0], 2), (0xffffffff81000100, 1)))]
    (tmp_path / "x.data").write_bytes(recording.Maker("\n".join(text) + "\n").make())
    rows = [json.loads(line) for line in perf("c2c", "report", "-j", "-i", tmp_path / "x.data").stdout.splitlines()]
    assert [row["snoops"] for row in rows if row["table"] == "lines"] == [2]


def test_hostile(perf, made, tmp_path):
    """Numbers of CPUs and nodes without end, names with escapes."""
    text = ("feature arch x86_64\nfeature numa_topology 0-1 4000000-4000003 99999999999999999999\nfeature mem_topology 0x1 0-3\n"
            "event m type=4 sample=IP|TID|TIME|ADDR|CPU|WEIGHT|DATA_SRC|PHYS_ADDR flags=sample_id_all,comm,mmap2\n"
            "comm pid=7 tid=7 name='\x1b[31mred' time=1\nmmap2 pid=7 tid=7 addr=0x401000 len=0x1000 pgoff=0 time=2 prot=5 flags=2 name=/tmp/\x1b[31mx\n" + "".join(
                f"sample ip=0x401000 pid=7 tid=7 time={9 + i} addr={i * 8:#x} cpu={cpu} weight=1 data_src={source(level=0x402, snoop=16):#x} phys={cpu}\n"
                for i, cpu in enumerate((0, 1, 4000000000, 70000, 8191))))
    (tmp_path / "x.data").write_bytes(recording.Maker(text).make())
    for words in ([], ["-N"], ["-NN"], ["-c", "tid,dso"], ["-j"]):
        done = perf("c2c", "report", "-i", tmp_path / "x.data", *words)
        assert done.returncode == 0 and "\x1b" not in done.stdout, done.stderr


def test_refusals(perf, made, tmp_path):
    (tmp_path / "flat.data").write_bytes(recording.Maker("event cycles type=0 config=0\nsample ip=0x400100 pid=1 tid=1 time=5\n").make())
    for words, sentence in ((["report", "-d", "all"], "use tot, lcl, rmt or peer"), (["report", "-c", "cpu"], "invalid key 'cpu': use pid, tid, iaddr or dso"), ([], "which subcommand?"),
                            (["reprot"], "unknown subcommand 'reprot'"), (["report", "-i", tmp_path / "flat.data"], "no memory accesses; record them with 'perf c2c record'"),
                            (["report", "-i", tmp_path / "no"], "no"),
                            (["report", "-g", "-i", made[0] / "few.data"], "no call chains; record them with 'perf c2c record -g'"),
                            (["report", "-g", "-j"], "-g: call graphs are shown below the places of the text only"), (["report", "-g", "address"], "'address' is not possible"),
                            (["report", "--stitch-lbr"], "give -g as well")):
        done = perf("c2c", *words)
        assert done.returncode != 0 and sentence in done.stderr, (words, done.stderr)
    if not any(pathlib.Path("/sys/bus/event_source/devices").glob("*/events/mem-loads")) and not pathlib.Path("/sys/bus/event_source/devices/ibs_op").exists():
        done = perf("c2c", "record", "--", "true")
        assert done.returncode != 0 and "Intel processors since Nehalem" in done.stderr


def test_record(perf, tmp_path):
    """What the report needs is recorded: CPUs and physical addresses, too."""
    done = perf("c2c", "record", "-u", "-e", "page-faults", "-c", "1", "-o", tmp_path / "x.data", "--", "true")
    assert done.returncode == 0, done.stderr
    listed = perf("evlist", "-v", "-i", tmp_path / "x.data").stdout
    assert all(name in listed for name in ("ADDR", "CPU", "WEIGHT", "DATA_SRC", "PHYS_ADDR", "exclude_kernel: 1"))
