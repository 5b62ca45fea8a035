"""Traces of Intel PT, written for a small program, against the kernel's perf, which decodes them without libipt: packets, branches, instructions, errors, power."""
import os
import pathlib
import random
import re
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
import traces
from traces import OVERFLOW, PSB, PT_BRANCHES, PT_HEAD, pt_cbr, pt_ip, pt_recording, pt_sync, pt_tnt, pt_tsc, shown

PROGRAM = """
	.globl _start
_start:	mov $3, %ecx
	lea leaf(%rip), %rax
again:	call work
	dec %ecx
	jnz again
	call *%rax
put:	.byte 0xf3, 0x0f, 0xae, 0xe1    # ptwrite %ecx
	mov $60, %eax
	xor %edi, %edi
wait:	syscall
	jmp wait
	.type work, @function
work:	test $1, %ecx
	jz even
	ret
even:	nop
	nop
	ret
	.type leaf, @function
leaf:	nop
	ret
spin:	jmp spin
"""


class Walk:
    """The program, and what happens while it runs."""

    def __init__(self, folder):
        self.path = folder / "walk"
        (folder / "walk.s").write_text(PROGRAM)
        subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id", "-o", self.path, folder / "walk.s"], check=True)
        listed = subprocess.run(["nm", self.path], capture_output=True, text=True, check=True).stdout
        self.at = {line.split()[2]: int(line.split()[0], 16) for line in listed.splitlines()}
        self.records = f"""comm pid=7 tid=7 name=walk exec=1 time=500 id=3 cpu=0
mmap2 pid=7 tid=7 addr=0x401000 len=0x1000 pgoff=0x1000 time=600 id=3 name={self.path}
itrace_start pid=7 tid=7 time=700 id=1 cpu=0
switch out=0 pid=7 tid=7 time=800 id=3 cpu=0
exit pid=7 tid=7 ppid=1 ptid=1 time=9000 id=3 cpu=0
"""

    def start(self, ratio=None):
        return pt_sync(1000, self.at["_start"], ratio) + pt_tsc(1100) + pt_ip("pge", self.at["_start"])

    def rest(self):
        """From the beginning to the call of leaf, and the call that ends it."""
        return pt_tnt("NTTTTT") + pt_tsc(1500) + pt_tnt("NTN") + pt_ip("tip", self.at["leaf"]) + pt_tnt("T")

    def traces(self):
        at = self.at
        again = pt_sync(3000, at["work"]) + pt_tsc(3100) + pt_ip("pge", at["wait"]) + pt_ip("pgd")
        return {
            "whole": self.start() + self.rest() + pt_ip("pgd"),
            "interrupted": self.start() + pt_tnt("NTTT") + pt_ip("fup", at["even"]) + pt_ip("pgd") + pt_tsc(1400) + pt_ip("pge", at["even"]) + pt_tnt("TT")
            + pt_tnt("NTN") + pt_ip("tip", at["leaf"]) + pt_tnt("T") + pt_ip("pgd"),
            "resumed": self.start() + self.rest() + pt_ip("pgd") + pt_tsc(2000) + pt_ip("pge", at["wait"]) + pt_ip("pgd"),
            "synchronized": self.start() + pt_tnt("NTTTTT") + pt_sync(1400, at["work"]) + pt_tnt("N") + pt_ip("tip", at["again"] + 5) + pt_tnt("N") + pt_ip("tip", at["leaf"]) + pt_tnt("T") + pt_ip("pgd") + again,
            "padded": self.start() + bytes(5) + self.rest() + bytes(9) + pt_ip("pgd") + bytes(16),
        }

    def write(self, path, pieces, **how):
        path.write_bytes(pt_recording([(0, 0, -1, pieces)] if isinstance(pieces, bytes) else pieces, self.records, **how))
        return path


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    return Walk(tmp_path_factory.mktemp("walk"))


@pytest.mark.parametrize("letters", ["b", "be", "i1ib", "i3i", "c", "r", "cr", "i1ibs5"])
@pytest.mark.parametrize("name", ["whole", "interrupted", "resumed", "synchronized", "padded"])
def test_flow(perf, oracle, walk, tmp_path, name, letters):
    path = walk.write(tmp_path / "perf.data", walk.traces()[name])
    theirs = shown(oracle, "script", f"--itrace={letters}", "-i", path)
    assert theirs.count("\n") >= 4 and shown(perf, "script", f"--itrace={letters}", "-i", path) == theirs


@pytest.mark.parametrize("letters", ["i1il", "i3il4", "i1iblc", "i2il1"])
@pytest.mark.parametrize("name", ["whole", "interrupted", "resumed", "synchronized"])
def test_last_branches(perf, oracle, walk, tmp_path, name, letters):
    """The newest one first; as many as are asked for."""
    path = walk.write(tmp_path / "perf.data", walk.traces()[name])
    words = ("script", f"--itrace={letters}", "-F", "event,ip,brstack", "-i", path)
    theirs = [line for line in shown(oracle, *words).splitlines() if "instructions" in line]
    assert any("/-/" in line for line in theirs)
    assert [line for line in shown(perf, *words).splitlines() if "instructions" in line] == theirs


def test_last_branches_as_a_recording(perf, oracle, walk, tmp_path):
    """What tools that optimize by profiles take."""
    path, made = walk.write(tmp_path / "perf.data", walk.traces()["whole"]), tmp_path / "made.data"
    shown(perf, "inject", "--itrace=i1il", "--strip", "-i", path, "-o", made)
    words = ("script", "-F", "ip,brstack", "-i", made)
    assert shown(perf, *words).count("/-/") > 10 and shown(perf, *words) == shown(oracle, *words)
    assert "spin" not in shown(perf, "report", "--stdio", "-b", "-i", made) and "leaf" in shown(perf, "report", "--stdio", "-b", "-i", made)


@pytest.mark.parametrize("words", [["--insn-trace"], ["--itrace=i3i", "-F", "+insn,+insnlen"]], ids=" ".join)
def test_instructions(perf, oracle, walk, tmp_path, words):
    """With their bytes, but for PTWRITE, which our disassembler may be too old for. Times are compared elsewhere."""
    path = walk.write(tmp_path / "perf.data", walk.traces()["resumed"])
    ours, theirs = ([re.sub(r"\d+\.\d+:", "", line) for line in shown(program, "script", *words, "-i", path).splitlines() if "put+0x0" not in line] for program in (perf, oracle))
    assert len(theirs) > 5 and ours == theirs


def test_without_the_library(perf, walk, tmp_path):
    """It is named, and what was recorded is shown."""
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"])
    (tmp_path / "libipt.so.2").write_text("no library")
    done = subprocess.run([perf.path, "script", "--show-task-events", "-i", path], env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert "(Intel PT) isn't decoded: cannot load libipt" in done.stderr and "PERF_RECORD_EXIT" in done.stdout


def test_period_without_a_unit(perf, oracle, walk, tmp_path):
    """At the end: nanoseconds."""
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"])
    theirs = shown(oracle, "script", "--itrace=i0", "-i", path)
    assert theirs.count("\n") > 20 and shown(perf, "script", "--itrace=i0", "-i", path) == theirs == shown(oracle, "script", "--itrace=i0ns", "-i", path)
    assert shown(perf, "script", "--itrace=i300", "-i", path) == shown(perf, "script", "--itrace=i300ns", "-i", path) != theirs


def test_letters_without_a_meaning(perf, walk, tmp_path):
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"])
    assert "'M', 'f' of --itrace: nothing is made of it from a trace of Intel PT" in perf("script", "--itrace=bfM", "-i", path).stderr
    assert not perf("script", "--itrace=i0ibcrwxpoIegGlLs0", "-i", path).stderr


def test_report(perf, oracle, walk, tmp_path):
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"])
    words = ("report", "--stdio", "--itrace=i1i", "-F", "overhead,sample,period,sym", "-i", path)
    theirs, ours = ([line.rstrip() for line in shown(program, *words).splitlines() if line.strip("# .") and "(Tip:" not in line] for program in (oracle, perf))
    assert ours == theirs and any("instructions" in line for line in ours)


def test_without_return_compression(perf, oracle, walk, tmp_path):
    at = walk.at
    trace = walk.start() + pt_tnt("N") + pt_ip("tip", at["again"] + 5) + pt_tnt("TT") + pt_ip("tip", at["again"] + 5) + pt_tnt("TN") + pt_ip("tip", at["again"] + 5) + pt_tnt(
        "N") + pt_ip("tip", at["leaf"]) + pt_ip("tip", at["put"]) + pt_ip("pgd")
    path = walk.write(tmp_path / "perf.data", trace, config=PT_BRANCHES | traces.TSC_BIT | traces.NO_RETURN_COMPRESSION)
    theirs = shown(oracle, "script", "--itrace=b", "-i", path)
    assert theirs.count("\n") == 13 and shown(perf, "script", "--itrace=b", "-i", path) == theirs


@pytest.mark.parametrize("begin", [0, 8, 51, -3, 0.5])
def test_snapshots_that_overlap(perf, oracle, walk, tmp_path, begin):
    """Each has what the area held, so that the second one begins in the middle of the first: with any byte, and with a point of synchronization in both."""
    at = walk.at
    block = walk.start() + walk.rest() + pt_ip("pgd")
    pauses = [pt_sync(time) + pt_tsc(time + 100) + pt_ip("pge", at["wait"]) + pt_ip("pgd") for time in (1600, 1800)]
    begin = len(block) + begin if begin in (-3, 0.5) else begin
    first, second = block + pauses[0], (block + pauses[0] + pauses[1])[int(begin):]
    assert len(first) % 8
    path = walk.write(tmp_path / "perf.data", [(0, 0, -1, first), (0, 0, -1, second)], snapshots=1)
    theirs = shown(oracle, "script", "--itrace=be", "-i", path)
    assert theirs.count("\n") >= 14 and "error" not in theirs and shown(perf, "script", "--itrace=be", "-i", path) == theirs


def test_snapshots_with_nothing_in_common(perf, walk, tmp_path):
    """Cut anywhere: each goes on at its first point of synchronization, and all whole blocks are decoded."""
    stream = b"".join(pt_sync(time) + pt_ip("pge", walk.at["wait"]) + pt_ip("fup", walk.at["wait"]) + pt_ip("pgd") for time in range(2000, 5000, 100))
    size = len(stream) // 30
    pieces = [stream[begin:begin + 4 * size - 7] for begin in range(11, len(stream), 5 * size)]
    path = walk.write(tmp_path / "perf.data", [(0, 0, -1, piece) for piece in pieces], snapshots=1)
    assert shown(perf, "script", "--itrace=b", "-i", path).count("0 [unknown] ([unknown]) =>") == 3 * len(pieces)


def test_traces_in_samples(perf, walk, tmp_path):
    """What samples bring is decoded as snapshots are, and samples are there beside it. The kernel's perf shows such traces only with their samples."""
    at = walk.at
    block = walk.start() + walk.rest() + pt_ip("pgd")
    more = pt_sync(1600) + pt_tsc(1700) + pt_ip("pge", at["wait"]) + pt_ip("pgd")
    pieces = [block, (block + more)[8:]]
    snapshots = walk.write(tmp_path / "snapshots.data", [(0, 0, -1, piece) for piece in pieces], snapshots=1)
    head = PT_HEAD + "event cycles:u config=0 type=0 period=1 sample=IP|TID|TIME|CPU|IDENTIFIER|AUX flags=sample_id_all ids=5,6\n"
    samples = "".join(f"sample ip={at['wait']} pid=7 tid=7 time={time} cpu=0 id=5 aux={traces.padded(piece).hex()}\n" for time, piece in zip((1550, 1750), pieces))
    in_samples = walk.path.parent / "samples.data"
    before, after = walk.records[:walk.records.index("exit")], walk.records[walk.records.index("exit"):]
    in_samples.write_bytes(pt_recording([], before + samples + after, head=head))
    shown_lines = [shown(perf, "script", "--itrace=be", "-i", path).splitlines() for path in (snapshots, in_samples)]
    assert len(shown_lines[0]) == 15 and [line for line in shown_lines[1] if "cycles:u" not in line] == shown_lines[0]
    assert sum("cycles:u" in line for line in shown_lines[1]) == 2


def test_threads_without_times(perf, oracle, walk, tmp_path):
    trace = walk.start() + walk.rest() + pt_ip("pgd")
    path = tmp_path / "perf.data"
    records = "".join(line.replace("time=", "x=") + "\n" for line in walk.records.splitlines() if line.split()[0] not in ("itrace_start", "switch"))
    path.write_bytes(pt_recording([(0, -1, 7, trace)], records, config=PT_BRANCHES, head=PT_HEAD.replace("|TIME|CPU", ""), switches=0))
    for letters, fields in (("b", "comm,tid,event,ip,addr,period,sym"), ("i1i", "comm,tid,event,ip,period,sym")):
        theirs = shown(oracle, "script", f"--itrace={letters}", "-F", fields, "-i", path)
        assert theirs.count("\n") >= 13 and shown(perf, "script", f"--itrace={letters}", "-F", fields, "-i", path) == theirs


def test_whose_it_is_without_times(perf, oracle, walk, tmp_path):
    """What was recorded of a thread, for each CPU, is decoded when it ends: who runs there later has nothing to do with it."""
    path = tmp_path / "perf.data"
    pieces = [(cpu, cpu, 7, walk.start() + walk.rest() + pt_ip("pgd")) for cpu in (1, 0)]
    records = walk.records + "switch out=0 pid=0 tid=0 time=9500 id=3 cpu=0\n"
    path.write_bytes(pt_recording(pieces, records))
    theirs = shown(oracle, "script", "--itrace=bZ", "-i", path)
    assert theirs.count("walk") >= 13 and shown(perf, "script", "--itrace=bZ", "-i", path) == theirs
    theirs = shown(oracle, "script", "--itrace=bZ", "--show-task-events", "-i", path)
    assert shown(perf, "script", "--itrace=bZ", "--show-task-events", "-i", path) == theirs


def test_time(perf, oracle, walk, tmp_path):
    """Ticks in the recording's time. Between time stamps the kernel's perf guesses from how many instructions ran, so that only what comes first is the same."""
    path = walk.write(tmp_path / "perf.data", walk.traces()["resumed"], conversion=(1, 3, 5))
    ours, theirs = (shown(program, "script", "--ns", "--itrace=b", "-F", "time,ip,addr", "-i", path).splitlines() for program in (perf, oracle))
    assert ours[0] == theirs[0] and len(ours) == len(theirs)
    for line, other in zip(ours, theirs):
        (time, where), (guess, there) = line.split(":", 1), other.split(":", 1)
        assert where == there and 0 <= float(guess) - float(time) < 1e-6


# Of what happens when nothing runs, the kernel's perf tells the address that comes next.
PLACELESS = "pwr|mwait|exstop|cbr"


def test_power_and_writes(perf, oracle, walk, tmp_path):
    at = walk.at
    written = b"\x02\xb2" + struct.pack("<Q", 0x61626364) + pt_ip("fup", at["put"])
    power = (b"\x02\xc2" + struct.pack("<Q", 0x100000020) + b"\x02\x22" + struct.pack("<H", 0x2180) + b"\x02\x62" + pt_cbr(15) + b"\x02\xa2" + (0x134).to_bytes(5, "little"))
    trace = walk.start(20) + pt_cbr(30) + walk.rest() + written + pt_ip("pgd") + power + pt_tsc(2000) + pt_ip("pge", at["wait"]) + pt_ip("pgd")
    path = walk.write(tmp_path / "perf.data", trace, config=PT_BRANCHES | traces.TSC_BIT | 0x10)  # with power events
    ours, theirs = (shown(program, "script", "--itrace=bwp", "-i", path).splitlines() for program in (perf, oracle))
    assert [line for line in ours if not re.search(PLACELESS, line)] == [line for line in theirs if not re.search(PLACELESS, line)]

    def fields(lines):
        return [re.sub(r" +(0|[0-9a-f]{6}) \S+ \(.*", "", line.split(": ", 1)[1]).split() for line in lines if re.search(PLACELESS, line)]
    entered = "pwre: hw: 0 cstate: 2 sub-cstate: 1".split()  # which the kernel's perf leaves out when an exit follows at once
    assert entered in fields(ours) and [words for words in fields(ours) if words != entered] == fields(theirs) and len(fields(theirs)) == 5


def errors(text):
    return [re.sub(r" time \S+| ip \S+", "", line) for line in text.splitlines() if "trace error" in line]


@pytest.mark.sanitize
@pytest.mark.parametrize("what, code, message", [("no code", 5, "Failed to get instruction"), ("overflow", 7, "Overflow packet"), ("mismatch", 6, "Trace doesn't match instruction"),
                                                 ("bytes", 3, "Bad packet")])
def test_errors(perf, oracle, walk, tmp_path, what, code, message):
    """Where the trace can't be followed, and what comes behind the next point of synchronization."""
    at = walk.at
    lost = {"no code": pt_tnt("NTTTTT") + pt_tnt("NTN") + pt_ip("tip", 0x555555000), "overflow": pt_tnt("NT") + OVERFLOW + pt_ip("fup", at["again"]) + pt_tnt("NTN"),
            "mismatch": pt_ip("tip", at["leaf"]), "bytes": pt_tnt("NT") + b"\xd9"}[what]
    again = pt_ip("pgd") + pt_sync(3000) + pt_tsc(3100) + pt_ip("pge", at["wait"]) + pt_ip("pgd")
    path = walk.write(tmp_path / "perf.data", walk.start() + lost + again)
    theirs, done = shown(oracle, "script", "--itrace=be", "-i", path), perf("script", "--itrace=be", "-i", path)
    expected = f" instruction trace error type 1 cpu 0 pid 7 tid 7 code {code}: {message}"
    assert errors(done.stdout)[0] == expected and errors(theirs)[0] == expected
    assert done.stdout.splitlines()[-2:] == theirs.splitlines()[-2:] and "wait" in done.stdout.splitlines()[-1]
    assert "couldn't be followed" in done.stderr and ("because the code" in done.stderr) and "trace error" not in shown(perf, "script", "--itrace=b", "-i", path)


@pytest.mark.sanitize
@pytest.mark.parametrize("points", [1, 3])
def test_damaged_synchronization(perf, walk, tmp_path, points):
    """Where points of synchronization are damaged, first ones too, decoding goes on at the next whole one."""
    at = walk.at
    bad, again = (PSB + b"\xd9" + bytes(7)) * points, pt_sync(3000) + pt_tsc(3100) + pt_ip("pge", at["wait"]) + pt_ip("pgd")
    for before in (walk.start() + walk.rest() + pt_ip("pgd"), b""):
        done = perf("script", "--itrace=be", "-i", walk.write(tmp_path / "perf.data", before + bad + again))
        assert "wait" in done.stdout.splitlines()[-1] and len(errors(done.stdout)) == 1 and "1 times the hardware trace couldn't be followed" in done.stderr


def test_resynchronization(perf, oracle, walk, tmp_path):
    """What ran before an error isn't told twice, whether or not points of synchronization were passed on the way, or read ahead."""
    at = walk.at
    again, nowhere = pt_ip("pgd") + pt_sync(3000) + pt_tsc(3100) + pt_ip("pge", at["wait"]) + pt_ip("pgd"), pt_ip("tip", 0x555555000)
    passed, rest = pt_sync(1400, at["work"]), pt_tnt("N") + pt_ip("tip", at["again"] + 5)
    for trace in (passed + rest + pt_tnt("N") + nowhere, nowhere + passed + rest):
        path = walk.write(tmp_path / "perf.data", walk.start() + pt_tnt("NTTTTT") + trace + again)
        theirs, ours = (re.sub(r" time \S+", "", shown(program, "script", "--itrace=be", "-F", "ip,addr", "-i", path)) for program in (oracle, perf))
        assert "trace error" in theirs and ours == theirs


NOWHERE = pt_ip("tip", 0x555555000)


def lost(walk):
    """What can't be followed, and packets of which only some tell where it goes on: whole addresses, behind the one with which the error was found out."""
    at = walk.at
    unknown = pt_tnt("NTTTTT") + pt_tnt("NTN") + NOWHERE
    return {
        "tip": unknown + pt_ip("tip", at["put"]) + pt_ip("pgd"),
        "fup": unknown + pt_ip("fup", at["again"]) + pt_tnt("NT"),
        "tnt, tip": unknown + pt_tnt("TTT") + pt_ip("tip", at["work"]) + pt_tnt("NT"),
        "tnt, fup": unknown + pt_tnt("TTT") + pt_ip("fup", at["work"]) + pt_tnt("NT"),
        "tnt, fup, tip": unknown + pt_tnt("TTT") + pt_ip("fup", at["work"]) + pt_ip("tip", at["again"]) + pt_tnt("NT"),
        "pgd, pge": unknown + pt_ip("pgd") + pt_ip("pge", at["again"]) + pt_tnt("NT"),
        "tnt, pgd, pge": unknown + pt_tnt("TTT") + pt_ip("pgd", at["work"]) + pt_ip("pge", at["again"]) + pt_tnt("NT"),
        "part of an address": unknown + pt_tnt("TTT") + b"\x2d" + struct.pack("<H", at["put"] & 0xffff) + pt_tnt("T") + pt_ip("tip", at["again"]) + pt_tnt("NT") + pt_tnt("T") + pt_ip(
            "tip", at["put"]),
        "synchronized": unknown + pt_tnt("TTT") + pt_sync(2000, at["work"]) + pt_tnt("N") + pt_ip("tip", at["put"]),
        "synchronized without an address": unknown + pt_tnt("TTT") + pt_sync(2000) + pt_ip("tip", at["put"]),
        "mismatch, tip": pt_ip("tip", at["leaf"]) + pt_tnt("T") + pt_ip("tip", at["work"]) + pt_tnt("NT"),
        "mismatch, pgd": pt_tnt("NTTTTT") + pt_tnt("NTN") + pt_tnt("N") + pt_ip("tip", at["work"]) + pt_tnt("NT"),
        "mismatch, synchronized": pt_ip("tip", at["leaf"]) + pt_sync(2000, at["work"]) + pt_tnt("N") + pt_ip("tip", at["put"]),
        "again and again": unknown + NOWHERE + NOWHERE + pt_tsc(1700) + pt_ip("tip", at["work"]) + pt_tnt("NT"),
    }


@pytest.mark.sanitize
def test_going_on(perf, oracle, walk, tmp_path):
    """Errors, with their times, and where it goes on behind them, with the calls that are open: returns tell no address."""
    again = pt_ip("pgd") + pt_sync(3000) + pt_tsc(3100) + pt_ip("pge", walk.at["wait"]) + pt_ip("pgd")
    for name, trace in lost(walk).items():
        path = walk.write(tmp_path / "perf.data", walk.start() + trace + again)
        for words in (["--itrace=be", "-F", "ip,addr,time,flags", "--ns"], ["--call-ret-trace"]):
            ours, theirs = (shown(program, "script", *words, "-i", path) for program in (perf, oracle))
            assert ours == theirs and "trace error" in theirs, name


def test_going_on_in_a_long_call(perf, oracle, walk, tmp_path):
    """More open calls than processors remember: the newest are known behind an error."""
    (tmp_path / "deep.s").write_text("""
	.globl _start
_start:	call deep
	nop
deep:	dec %ecx
	jz out
	call deep
	nop
	jmp *%rax
out:	ret
""")
    path = tmp_path / "deep"
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id", "-o", path, tmp_path / "deep.s"], check=True)
    at = {line.split()[2]: int(line.split()[0], 16) for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()}
    records = walk.records.replace(str(walk.path), str(path))
    for depth in (3, 70):
        trace = pt_sync(1000, at["_start"]) + pt_tsc(1100) + pt_ip("pge", at["_start"]) + pt_tnt("N") * depth + NOWHERE + pt_tnt("T") + pt_ip("tip", at["out"]) + pt_tnt("T") + pt_ip("tip", at["out"]) + pt_tnt(
            "T") + pt_ip("pgd", at["deep"])
        (tmp_path / "perf.data").write_bytes(pt_recording([(0, 0, -1, trace)], records))
        ours, theirs = (shown(program, "script", "--itrace=be", "-F", "ip,addr,flags", "-i", tmp_path / "perf.data") for program in (perf, oracle))
        assert ours == theirs and theirs.count("return") == 2


@pytest.mark.parametrize("words", ["--call-trace", "--call-ret-trace", "--call-trace -F +ip", "--call-trace -F +addr,-dso", "--itrace=b -F +flags,+callindent", "--call-ret-trace -G"])
@pytest.mark.parametrize("name", ["whole", "interrupted", "resumed", "synchronized", "padded"])
def test_calls(perf, oracle, walk, tmp_path, name, words):
    path = walk.write(tmp_path / "perf.data", walk.traces()[name])
    ours, theirs = (shown(program, "script", *words.split(), "-i", path) for program in (perf, oracle))
    assert ours == theirs and "work" in theirs


@pytest.mark.parametrize("words", ["--call-trace --graph-function work", "--call-ret-trace --graph-function work", "--call-trace --graph-function leaf,nowhere", "--call-ret-trace --graph-function _start"])
def test_chosen_functions(perf, oracle, walk, tmp_path, words):
    for name, trace in walk.traces().items():
        path = walk.write(tmp_path / "perf.data", trace)
        ours, theirs = (shown(program, "script", *words.split(), "-i", path) for program in (perf, oracle))
        assert ours == theirs and ("psb" not in theirs), name


def test_long_names(perf, oracle, tmp_path):
    """Names of files are cut, columns for functions grow and shrink."""
    folder = tmp_path / "a-folder-with-a-long-name" / "another-folder-with-a-long-name"
    folder.mkdir(parents=True)
    walk = Walk(folder)
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"])
    ours, theirs = (shown(program, "script", "--call-trace", "-i", path) for program in (perf, oracle))
    assert ours == theirs and str(walk.path) not in theirs


def test_code_of_this_machine(perf, walk, tmp_path):
    """The vDSO is in no file: its code is that of the kernel that runs."""
    walk.records, kept = walk.records + "mmap2 pid=7 tid=7 addr=0x7ffff7fc0000 len=0x1000 pgoff=0 time=601 id=3 name=[vdso]\n", walk.records
    (tmp_path / "copy.c").write_text('#include <sys/auxv.h>\n#include <unistd.h>\nint main(void) { write(1, (void *)getauxval(AT_SYSINFO_EHDR), 8192); }')
    subprocess.run(["gcc", "-o", tmp_path / "copy", tmp_path / "copy.c"], check=True)
    (tmp_path / "vdso").write_bytes(subprocess.run([tmp_path / "copy"], capture_output=True, check=True).stdout)
    listed = subprocess.run(["objdump", "-d", "--disassemble=__vdso_getcpu", tmp_path / "vdso"], capture_output=True, text=True, check=False).stdout
    first, second = (0x7ffff7fc0000 + int(address, 16) for address in re.findall(r"^ +([0-9a-f]+):\t", listed, re.MULTILINE)[:2])
    path = walk.write(tmp_path / "perf.data", pt_sync(1000, first) + pt_tsc(1100) + pt_ip("pge", first) + pt_ip("fup", second) + pt_ip("pgd"))
    walk.records = kept
    assert shown(perf, "script", "--itrace=i1i", "-F", "ip", "-i", path).split() == [f"{first:x}"]


def test_code_of_the_cache(perf, walk, tmp_path):
    """Also perf inject takes code from the build-id cache."""
    identity = re.search("Build ID: ([0-9a-f]+)", subprocess.run(["readelf", "-n", walk.path], capture_output=True, text=True, check=True).stdout)[1]
    path, out, cache = tmp_path / "perf.data", tmp_path / "out", ("--buildid-dir", tmp_path / "cache")
    path.write_bytes(pt_recording([(0, 0, -1, walk.traces()["whole"])], walk.records.replace(str(walk.path), "/absent/walk"), head=f"feature build_id {identity} /absent/walk\n{PT_HEAD}"))
    shown(perf, *cache, "buildid-cache", "-a", walk.path)
    shown(perf, *cache, "inject", "--itrace=b", "-i", path, "-o", out)
    assert shown(perf, "script", "-F", "event", "-i", out).count("branches") == shown(perf, *cache, "script", "--itrace=b", "-F", "event", "-i", path).count("branches") == 13


def test_pieces(perf, walk, tmp_path):
    """A trace that was written in pieces, cut within packets, is the same trace."""
    whole = walk.write(tmp_path / "whole", walk.traces()["whole"])
    trace = traces.padded(walk.traces()["whole"])
    for cut in range(8, len(trace), 8):
        path = walk.write(tmp_path / "cut", [(0, 0, -1, trace[:cut]), (0, 0, -1, trace[cut:])])
        assert shown(perf, "script", "--itrace=i1ib", "-i", path) == shown(perf, "script", "--itrace=i1ib", "-i", whole)


def test_streams(perf, walk, tmp_path):
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"], pipe=True)
    subprocess.run([perf.path, "inject", "-b", "-o", tmp_path / "kept"], input=path.read_bytes(), capture_output=True, check=True)
    assert shown(perf, "script", "--itrace=b", "-i", tmp_path / "kept").count("branches") == 13
    through = subprocess.run([perf.path, "script", "--itrace=b", "-i", "-"], input=path.read_bytes(), capture_output=True, check=True).stdout.decode()
    assert through == shown(perf, "script", "--itrace=b", "-i", path) and through.count("branches") == 13


def test_of_others(perf, oracle, corpus):
    """A recording whose code nobody has: its packets; and that it can't be followed is told. The kernel's perf takes the code of the kernel that runs now."""
    path = corpus / "google+perf_data_converter/src/quipper/testdata/perf.data.piped.intel_pt-4.14"

    def packets(text):
        return [line for line in text.splitlines() if re.match(r"\.  [0-9a-f]{8}:|  [A-Z][A-Za-z :.-]+  +(0x)?[0-9a-f]+$", line)]
    theirs = subprocess.run([oracle.path, "report", "-D", "-i", "-"], input=path.read_bytes(), capture_output=True, check=True).stdout.decode(errors="replace")
    assert len(packets(theirs)) > 30000 and packets(shown(perf, "report", "-D", "-i", path)) == packets(theirs)
    done = perf("script", "-i", path)
    assert "because the code is not at hand" in done.stderr and done.stdout.count("cycles:") == 11
    # The kernel's perf 6.1 can't read what is made of this stream; 6.12 tells as many branches, and the first and the last at these places and times.
    lines = [line.split() for line in shown(perf, "script", "--kallsyms", "/dev/null", "--itrace=b", "-F", "comm,tid,time,event,ip,addr", "--ns", "-i", path).splitlines() if "branches:" in line]
    assert len(lines) == 603
    assert lines[0][2:] == ["3314.127895312:", "branches:", "0", "=>", "ffffffffb960d302"] and lines[-1][2:] == ["3314.129110794:", "branches:", "0", "=>", "ffffffffb960d300"]


def random_packets(walk, choose):
    places = list(walk.at.values()) + [0, 1 << 63, 0x555555000]
    return b"".join(choose.choice([
        lambda: pt_ip(choose.choice(["tip", "pge", "pgd", "fup"]), choose.choice(places)), lambda: pt_tnt("".join(choose.choice("TN") for _ in range(6))),
        lambda: pt_tsc(choose.randrange(1 << 50)), lambda: pt_sync(choose.randrange(1 << 50), choose.choice(places)), lambda: choose.randbytes(choose.randrange(20)),
        lambda: OVERFLOW, lambda: PSB, lambda: traces.pt_write(5), lambda: pt_cbr(choose.randrange(256))])() for _ in range(200))


@pytest.mark.sanitize
def test_hostile_traces(perf, walk, tmp_path):
    """Any bytes end soon and don't stop what was recorded from being shown; so does code that runs in a circle without a packet."""
    choose = random.Random(11)
    for _ in range(6 if "ASAN_OPTIONS" in os.environ else 30):  # a sanitizer takes a second for each
        path = walk.write(tmp_path / "perf.data", [(0, 0, -1, random_packets(walk, choose)), (1, 1, -1, choose.randbytes(500))])
        assert "PERF_RECORD_EXIT" in perf("script", "--itrace=i1ibewp", "--show-task-events", "-i", path, timeout=60).stdout
        shown(perf, "report", "-D", "-i", path)
    path = walk.write(tmp_path / "perf.data", walk.start() + pt_tnt("NT") + pt_ip("fup", walk.at["again"] + 5) + pt_ip("tip", walk.at["spin"]) + pt_tnt("TTT") + pt_ip("pgd"))
    done = perf("script", "--itrace=e", "-i", path, timeout=60)
    assert "code 10: Never-ending loop" in done.stdout


@pytest.mark.sanitize
def test_hostile_descriptions(perf, walk, tmp_path):
    good = pt_recording([(0, 0, -1, walk.traces()["whole"])], walk.records)
    info = struct.pack("<IHHIIQ", 70, 2, 16 + 8 * 17, 1, 0, 8)
    assert info in good
    path = tmp_path / "perf.data"
    path.write_bytes(good.replace(info, struct.pack("<IHHIIQ", 70, 2, 16 + 8 * 17, 1, 0, 77)))
    done = perf("script", "--show-task-events", "-i", path)
    assert "(Intel PT) isn't decoded: there is no event of that PMU (type 77)" in done.stderr and "PERF_RECORD_EXIT" in done.stdout and not done.returncode
    walk.write(path, walk.traces()["whole"], conversion=(200, 1 << 63, 1))
    assert "branches" in shown(perf, "script", "--itrace=b", "-i", path)


def test_injected(perf, oracle, walk, tmp_path):
    """The kernel's perf reads what we put in as what it puts in itself; --strip leaves recorded samples out."""
    path, ours, theirs, stripped = (tmp_path / name for name in ("perf.data", "ours", "theirs", "stripped"))
    head = PT_HEAD + "event cpu-clock:u type=1 config=0 period=1 sample=IP|TID|TIME|CPU|IDENTIFIER flags=sample_id_all,exclude_kernel ids=5,6\n"
    records = walk.records + "sample event=2 ip=0x401000 pid=7 tid=7 time=900 id=5 cpu=0\n"
    path.write_bytes(pt_recording([(0, 0, -1, walk.traces()["resumed"])], records, head=head))
    for program, out, more in ((oracle, theirs, []), (perf, ours, []), (perf, stripped, ["--strip"])):
        shown(program, "inject", "--itrace=i2ib", *more, "-i", path, "-o", out)
    text = shown(oracle, "script", "--show-task-events", "-i", theirs)
    assert text.count("instructions") == 15 and "cpu-clock" in text
    assert shown(oracle, "script", "--show-task-events", "-i", ours) == shown(perf, "script", "--show-task-events", "-i", ours) == text
    assert shown(perf, "script", "--show-task-events", "-i", stripped).count("\n") == text.count("\n") - 1
    assert "AUX" not in shown(perf, "report", "-D", "-i", ours)
