"""Traces of Arm SPE, made by hand, against the kernel's perf, which decodes them on any processor: packets, samples, reports; and what only we tell."""
import pathlib
import random
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
import traces
from traces import L1D_ACCESS, LLC_ACCESS, LOAD, RETIRED, TLB_ACCESS, spe_operations, spe_record, spe_recording

PROGRAMS = """comm pid=7 tid=7 name=prog exec=1 time=500 id=3 cpu=0
comm pid=8 tid=8 name=other exec=1 time=500 id=3 cpu=0
mmap2 pid=7 tid=7 addr=0x400000 len=0x1000 pgoff=0 time=600 id=3 name=/absent/prog
mmap2 pid=8 tid=8 addr=0x400000 len=0x1000 pgoff=0 time=600 id=3 name=/absent/other
itrace_start pid=7 tid=7 time=700 id=1 cpu=0
"""
NAMES = "".join(f"comm pid=7 tid=7 name=p{i} time={i * 1000} id=3 cpu=0\n" for i in range(2, 30))
CORES = {"neoverse": "0x00000000410fd0c0", "other": "0x00000000410fd030"}
EVERYTHING = "tid,time,event,ip,addr,data_src,weight,phys_addr,cpu,period"


@pytest.fixture(scope="module", params=CORES)
def spe(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("spe") / "perf.data"
    choose = random.Random(5)
    path.write_bytes(spe_recording([(cpu, -1, spe_operations(100, choose, cpu)) for cpu in range(2)], PROGRAMS + NAMES, cpuid=CORES[request.param]))
    return path


def shown(program, *words):
    done = program(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("words", [[], ["--itrace"], ["--itrace=i1i"], ["--itrace=i7iMt"], ["--itrace=fmab"], ["--show-task-events"], ["-F", EVERYTHING],
                                   ["--itrace=i3iM", "-F", EVERYTHING]], ids=" ".join)
def test_samples(perf, oracle, spe, words):
    """They stand among the other records, in the order of time over both CPUs."""
    theirs = shown(oracle, "script", *words, "-i", spe)
    assert theirs.count("\n") > 50 and shown(perf, "script", *words, "-i", spe) == theirs


def table(program, path, *words):
    text = shown(program, "report", "--stdio", "-i", path, "--itrace=i1i", *words)
    return [line.rstrip() for line in text.splitlines() if line.strip("# .") and "(Tip:" not in line]


def test_report(perf, oracle, spe):
    for words in (["-F", "overhead,sample,sym"], ["-s", "comm,dso", "-F", "+period"]):
        assert len(table(oracle, spe, *words)) > 5 and table(perf, spe, *words) == table(oracle, spe, *words)


def test_accesses(perf, spe):
    """Commands about memory take the one event that has each access once."""
    memory = shown(perf, "script", "--itrace=M", "-i", spe).count("\n")
    assert f"Samples: {memory}  of event 'memory'" in (tables := shown(perf, "mem", "report", "-i", spe)) and "l1d" not in tables
    assert shown(perf, "mem", "-D", "report", "-i", spe).count("\n") == memory + 1


def test_cache_lines(perf, oracle, tmp_path):
    """Sources of Neoverse that are in caches of others; the kernel's perf needs the nodes."""
    path = tmp_path / "perf.data"
    head = traces.SPE_HEAD.replace("feature auxtrace", "feature auxtrace\nfeature numa_topology 0-1\nfeature mem_topology 0x8000000 0-3")
    path.write_bytes(spe_recording([(0, -1, spe_operations(100, random.Random(7)))], PROGRAMS, cpuid=CORES["other"], head=head))
    theirs = shown(oracle, "c2c", "report", "--stdio", "-i", path)
    assert "Load Operations" in theirs and shown(perf, "c2c", "report", "--stdio", "-i", path) == theirs


def random_packets(choose):
    def some(count):
        return choose.randbytes(count)

    def number(count):
        return choose.randbytes(count - 1) + bytes([choose.randrange(128)])

    return b"".join(choose.choice([
        lambda: bytes(choose.randrange(40)), lambda: b"\x01", lambda: b"\x71" + number(8), lambda: bytes([0xb0 | choose.randrange(4)]) + some(8),
        lambda: bytes([0x98 | choose.randrange(3)]) + some(2), lambda: bytes([0x64 | choose.randrange(2)]) + some(4), lambda: b"\x42" + some(1),
        lambda: b"\x52" + some(2), lambda: b"\x62" + some(4), lambda: b"\x48" + some(1), lambda: b"\x49" + some(1), lambda: b"\x4a" + some(1),
        lambda: b"\x4b" + some(1), lambda: b"\x43" + some(1), lambda: bytes([0x20 | choose.randrange(4), 0xb0 | choose.randrange(4)]) + some(8), lambda: b"\xff"])()
        for _ in range(400))


def trace_lines(text):
    return [line for line in text.splitlines() if "ARM SPE data" in line or line.startswith(".  0000") and "|" not in line or "PMU Type" in line]


@pytest.mark.parametrize("command", ["report", "script"])
def test_packets(perf, oracle, tmp_path, command):
    path = tmp_path / "perf.data"
    path.write_bytes(spe_recording([(0, -1, random_packets(random.Random(seed))) for seed in range(3)], PROGRAMS))
    theirs = trace_lines(shown(oracle, command, "-D", "-i", path))
    assert len(theirs) > 1000 and trace_lines(shown(perf, command, "-D", "-i", path)) == theirs


def test_threads_without_times(perf, oracle, tmp_path):
    path = tmp_path / "perf.data"
    head = traces.SPE_HEAD.replace("|TIME", "")
    made = [(-1, tid, spe_operations(20, random.Random(tid), cores=False, times=False)) for tid in (7, 8)]
    path.write_bytes(spe_recording(made, PROGRAMS.replace("time=", "x="), head=head, conversion=None))
    theirs = shown(oracle, "script", "-i", path)
    assert theirs.count("\n") > 50 and shown(perf, "script", "-i", path) == theirs


def test_who_runs(perf, tmp_path):
    """Without contexts in the trace: whoever was switched to. The kernel's perf looks at records of switches away only, so that whose the first samples are stays
    unknown there."""
    path = tmp_path / "perf.data"
    trace = b"".join(spe_record(LOAD, 0x400100, RETIRED | L1D_ACCESS, time, data=0x7000) for time in (650, 1000, 2000, 3000, 4000, 5000))
    path.write_bytes(spe_recording([(0, -1, trace)], PROGRAMS + """switch_cpu_wide other_pid=7 other_tid=7 pid=8 tid=8 time=2500 id=1 cpu=0
switch_cpu_wide out=1 other_pid=7 other_tid=7 pid=8 tid=8 time=3500 id=1 cpu=0
switch out=0 pid=8 tid=8 time=4500 id=1 cpu=0
"""))
    assert shown(perf, "script", "--itrace=M", "-F", "tid", "-i", path).split() == ["-1", "7", "7", "8", "7", "8"]


def test_clock(perf, oracle, tmp_path):
    """Counters' ticks in the recording's time: as they are written, and short ones."""
    path = tmp_path / "perf.data"
    trace = b"".join(spe_record(LOAD, 0x400100, RETIRED | TLB_ACCESS, time, data=0x7000, context=7) for time in (2000, 1 << 20, 1 << 40))
    words = ("script", "--ns", "--itrace=t", "-F", "time,ip", "-i", path)
    short = "time_conv shift=10 multiplier=4097 zero=12345 cycles=0x700000000 mask=0xffffffff cap_zero=1 cap_short=1\n"
    times = set()
    for how in ({"conversion": (10, 4097, 12345)}, {"conversion": None, "head": traces.SPE_HEAD + short}):
        path.write_bytes(spe_recording([(0, -1, trace)], PROGRAMS, **how))
        assert shown(perf, *words) == shown(oracle, *words) != ""
        times.add(shown(perf, *words))
    assert len(times) == 2


def test_full_buffer(perf, tmp_path):
    """That the processor lost a part is told."""
    path = tmp_path / "perf.data"
    trace = spe_record(LOAD, 0x400100, RETIRED | TLB_ACCESS, 2000, data=0x7000, context=7)
    path.write_bytes(spe_recording([(0, -1, trace)], PROGRAMS + "".join(f"aux offset=0 size=64 flags={flags} time=900 id=1 cpu=0\n" for flags in (1, 0, 3))))
    assert "buffer of the hardware trace was full 2 times" in perf("script", "-i", path).stderr


def test_injected(perf, oracle, spe, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    assert not oracle("inject", "--itrace", "-i", spe, "-o", theirs).returncode
    done = perf("inject", "--itrace", "-i", spe, "-o", ours)
    assert not done.returncode, done.stderr
    text = shown(oracle, "script", "--show-mmap-events", "-i", theirs)
    assert text.count("\n") > 300 and shown(oracle, "script", "--show-mmap-events", "-i", ours) == text
    assert shown(perf, "script", "--show-mmap-events", "-i", ours) == text


@pytest.mark.sanitize
def test_damaged(perf, tmp_path):
    """Bytes that make no packets are told; the operations around them aren't lost."""
    path = tmp_path / "perf.data"
    whole = spe_record(LOAD, 0x400100, RETIRED | LLC_ACCESS, 2000, data=0x7000)
    path.write_bytes(spe_recording([(0, -1, whole + b"\xff" * 7 + whole + whole[:24])], PROGRAMS))
    done = perf("script", "--itrace=m", "-i", path)
    assert done.stdout.count("llc-access") == 2 and "8 bytes of the hardware trace aren't packets of Arm SPE" in done.stderr
    choose = random.Random(3)
    for _ in range(20):
        path.write_bytes(spe_recording([(0, -1, choose.randbytes(2000))], PROGRAMS))
        done = perf("script", "-i", path)
        assert done.returncode == 0 and "aren't packets" in done.stderr


@pytest.mark.sanitize
def test_hostile_descriptions(perf, tmp_path):
    """What describes the trace is cut short, or of no known kind, or its clock can't be."""
    path = tmp_path / "perf.data"
    trace = spe_record(LOAD, 0x400100, RETIRED | LLC_ACCESS, 2000, data=0x7000)
    good = spe_recording([(0, -1, trace)], PROGRAMS)
    info = struct.pack("<IHHII", 70, 2, 32, 4, 0)
    assert info in good
    for other, message in ((struct.pack("<IHHII", 70, 2, 32, 99, 0), "(an unknown kind) isn't decoded"), (struct.pack("<IHHII", 70, 2, 32, 3, 0), "(CoreSight) isn't decoded"),
                           (struct.pack("<IHHIIQ", 70, 2, 32, 4, 0, 77), "no event of that PMU (type 77)")):
        path.write_bytes(good.replace(good[good.index(info):good.index(info) + len(other)], other))
        done = perf("script", "--show-task-events", "-i", path)
        assert message in done.stderr and "PERF_RECORD_COMM" in done.stdout and not done.returncode
    path.write_bytes(spe_recording([(0, -1, trace)], PROGRAMS, conversion=(200, 1 << 63, 1)))
    assert "llc-access" in shown(perf, "script", "-i", path)


def test_streams(perf, tmp_path):
    """A stream with a trace is read to its end first; --no-itrace leaves the trace alone."""
    path = tmp_path / "perf.data"
    trace = spe_record(LOAD, 0x400100, RETIRED | LLC_ACCESS, 2000, data=0x7000)
    path.write_bytes(spe_recording([(0, -1, trace)], PROGRAMS, pipe=True))
    assert "llc-access" in shown(perf, "script", "-i", path)
    done = subprocess.run([perf.path, "script", "-i", "-"], input=path.read_bytes(), capture_output=True, check=True)
    assert done.stdout.decode() == shown(perf, "script", "-i", path)
    assert "llc-access" not in shown(perf, "script", "--no-itrace", "-i", path)


@pytest.mark.parametrize("form", [{"swap": True}, {"swap": True, "pipe": True}, {"pipe": True}], ids=" ".join)
@pytest.mark.parametrize("described", [True, False], ids=["described", "not described"])
def test_forms(perf, tmp_path, form, described):
    """Of the other byte order, as a stream: the same trace, which is passed over where no record says what it is, and the records behind it."""
    made = [(0, -1, spe_operations(20, random.Random(5)))]
    for name, how in (("plain", {}), ("other", form)):
        (tmp_path / name).write_bytes(spe_recording(made, PROGRAMS + NAMES, described=described, **how))
    for words, wanted in ((["script", "--show-task-events"], "l1d-access" if described else "p29"), (["report", "--tasks"], "other")):
        text = shown(perf, *words, "-i", tmp_path / "plain")
        assert wanted in text and shown(perf, *words, "-i", tmp_path / "other") == text
        if "pipe" in form:
            done = subprocess.run([perf.path, *words, "-i", "-"], input=(tmp_path / "other").read_bytes(), capture_output=True, check=True)
            assert done.stdout.decode() == text


def test_what_is_not_added(perf, tmp_path):
    (tmp_path / "perf.data").write_bytes(spe_recording([(0, -1, spe_operations(20, random.Random(5)))], PROGRAMS))
    for letters, words in (("i1ig", "made of Arm SPE"), ("i1iL", "need a trace of Intel PT"), ("i1ixM", "'x' of --itrace: nothing is made of it from a trace of Arm SPE"), ("i1ifmtabMesZ".replace("s", "s1"), "")):
        told = perf("script", f"--itrace={letters}", "-i", tmp_path / "perf.data").stderr
        assert words in told and (words or not told)


@pytest.mark.parametrize("letters, message", [("q", "code is always followed"), ("d", "script -D"), ("A", "no IPC"), ("T", "CoreSight"), ("R", "where the trace"), ("i5b", "unit"), ("i5h", "unit"), ("s", "number of events"), ("bK", "unknown letter 'K'"), ("y", "i1000t"),
                                              ("il0", "from 1 to 1024"), ("il1025", "from 1 to 1024"), ("i99999999999999999999ms", "unit")])
def test_refused(perf, letters, message):
    done = perf("script", f"--itrace={letters}", "-i", "/absent")
    assert done.returncode and message in done.stderr
