"""Call chains, last branches and transactions of Intel PT, and which errors are told, against the kernel's perf."""
import pathlib
import re
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[2] / "lib")]
import test_pt
from traces import OVERFLOW, PT_BRANCHES, PT_HEAD, TSC_BIT, pt_ip, pt_recording, pt_sync, pt_tnt, pt_tsc, shown

DEEP = """
deep:	dec %edx
	js 1f
	call deep
1:	ret
"""


def begins(*flags):
    """A transaction: what stands in a MODE.TSX packet."""
    return b"\x99" + bytes([0x20 | sum({"inside": 1, "abort": 2}[flag] for flag in flags)])


def branches(bits):
    return b"".join(pt_tnt(bits[at:at + 6]) for at in range(0, len(bits), 6))


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    whole, test_pt.PROGRAM = test_pt.PROGRAM, test_pt.PROGRAM + DEEP
    try:
        return test_pt.Walk(tmp_path_factory.mktemp("walk"))
    finally:
        test_pt.PROGRAM = whole


def traces(walk):
    at = walk.at
    later = pt_sync(3000, at["even"]) + pt_tsc(3100) + pt_ip("pge", at["even"]) + pt_ip("tip", at["again"] + 5) + pt_tnt("N") + pt_ip("fup", at["again"] + 9) + pt_ip("pgd")
    first = walk.start() + pt_tnt("NTTT") + pt_ip("fup", at["even"]) + pt_ip("pgd")
    return {
        **walk.traces(),
        "deep": pt_sync(1000, at["deep"]) + pt_tsc(1100) + pt_ip("pge", at["deep"]) + branches("N" * 20 + "T" + "T" * 20) + pt_ip("fup", at["deep"] + 9)
        + pt_ip("pgd"),
        "snapshots": [(0, 0, -1, first), (0, 0, -1, later)],
        "transactions": walk.start() + begins("inside") + pt_ip("fup", at["again"]) + pt_tnt("N") + begins() + pt_ip("fup", at["work"] + 8) + pt_tnt("TT")
        + begins("inside") + pt_ip("fup", at["work"]) + begins("abort") + pt_ip("fup", at["work"] + 6) + pt_ip("tip", at["even"]) + pt_tnt("TTNTN") + pt_ip("tip", at["leaf"]) + pt_tnt("T")
        + pt_ip("pgd"),
        "overflow": walk.start() + pt_tnt("N") + OVERFLOW + pt_ip("fup", at["even"]) + pt_ip("tip", at["again"] + 5) + pt_tnt("N") + pt_ip("fup", at["again"] + 9) + pt_ip("pgd"),
    }


@pytest.mark.parametrize("letters", ["i1ig", "i1ig3", "i3ig1", "i1ibg", "peg", "i1igxe", "i1igl2"])
@pytest.mark.parametrize("name", ["whole", "interrupted", "resumed", "synchronized", "deep", "snapshots", "transactions"])
def test_chains(perf, oracle, walk, tmp_path, name, letters):
    """Of instructions and of what tells of power, but not of branches."""
    if (name, letters) == ("snapshots", "peg"):
        pytest.skip("theirs has the calls of the snapshot before at the second one's begin")
    path = walk.write(tmp_path / "perf.data", traces(walk)[name], snapshots=int(name == "snapshots"))
    theirs = shown(oracle, "script", f"--itrace={letters}", "-i", path)
    assert shown(perf, "script", f"--itrace={letters}", "-i", path) == theirs
    assert re.search(r"\n\t +[0-9a-f]+ [a-z_]+\+0x", theirs)


def moves(walk):
    """What a thread does on a CPU, and how it goes on on another one: [packets, packets]."""
    at = walk.at
    there = pt_sync(3000, at["even"]) + pt_tsc(3100) + pt_ip("pge", at["even"])
    return [walk.start(), pt_tnt("NTTT") + pt_ip("fup", at["even"]) + pt_ip("pgd")], [there, pt_ip("tip", at["again"] + 5) + pt_tnt("N") + pt_ip("fup", at["again"] + 9) + pt_ip("pgd")]


def moved(walk):
    return walk.records.replace("exit", "switch out=0 pid=7 tid=7 time=2500 id=4 cpu=1\nexit")


@pytest.mark.parametrize("parts", [(1, 2), (2, 1), (1, 1), (2, 2)], ids=str)
def test_calls_go_along(perf, oracle, walk, tmp_path, parts):
    """A thread that moves takes its calls along, in however many parts the trace of a CPU was written. The kernel's perf forgets them: it is asked about one CPU."""
    path, other = tmp_path / "perf.data", tmp_path / "one.data"
    one, two = moves(walk)
    pieces = [(cpu, cpu, -1, part) for cpu, packets in enumerate((one, two)) for part in (packets if parts[cpu] == 2 else [b"".join(packets)])]
    path.write_bytes(pt_recording(pieces, moved(walk)))
    walk.write(other, b"".join(one + two))
    words = ("script", "--itrace=i1igl3", "-F", "event,ip,sym,brstack", "-i")
    theirs = shown(oracle, *words, other)
    assert shown(perf, *words, path) == theirs and len(re.findall(r" even\n\t +[0-9a-f]+ again", theirs)) == 3


@pytest.mark.parametrize("letters", ["i1ig", "i1il3", "i1igl"])
@pytest.mark.parametrize("cpu", [0, 1])
def test_nothing_goes_along(perf, oracle, walk, tmp_path, letters, cpu):
    """Neither calls nor branches of one snapshot belong to the next one, nor to another CPU's."""
    path = tmp_path / "perf.data"
    pieces = [(place, place, -1, b"".join(packets)) for place, packets in zip((0, cpu), moves(walk))]
    path.write_bytes(pt_recording(pieces, moved(walk), snapshots=1))
    words = ("script", f"--itrace={letters}", "-F", "event,ip,sym" + (",brstack" if "l" in letters else ""), "-i", path)
    assert shown(perf, *words) == shown(oracle, *words)


def test_chains_in_reports(perf, oracle, walk, tmp_path):
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"])
    words = ("report", "--stdio", "--itrace=i1ige", "-i", path)
    theirs, ours = ([line.rstrip() for line in shown(program, *words).splitlines() if line.strip("# .") and "(Tip:" not in line] for program in (oracle, perf))
    assert sorted(ours) == sorted(theirs) and any("|--27.59%--work" in line for line in ours)


def test_what_reports_make_unasked(perf, oracle, walk, tmp_path):
    """Instructions with call chains, and no branches."""
    at = walk.at
    rounds = b"".join(pt_tsc(time) + pt_tnt("N") + pt_ip("tip", at["again"] + 5) + pt_tnt("T") for time in range(100000, 1000000, 100000))
    path = walk.write(tmp_path / "perf.data", pt_sync(1000, at["_start"]) + pt_tsc(1100) + pt_ip("pge", at["_start"]) + rounds + pt_ip("fup", at["again"]) + pt_ip("pgd"))
    theirs, ours = (shown(program, "report", "--stdio", "-i", path) for program in (oracle, perf))
    for text in (theirs, ours):
        assert "of event 'instructions:uh'" in text and "branches" not in text and "Children" in text


def test_what_is_injected_unasked(perf, oracle, walk, tmp_path):
    """All kinds of events, branches too: who reads the file may want them. What was recorded gets nothing added."""
    path = recorded_beside(walk, tmp_path / "perf.data")
    made = {program: tmp_path / f"made{i}.data" for i, program in enumerate((oracle, perf))}
    for program, out in made.items():
        shown(program, "inject", "--itrace", "-i", path, "-o", out)
    fields = ("-F", "event,ip,sym")
    theirs, ours = ([line.split() for line in shown(perf, "script", *fields, "-i", out).splitlines() if re.search("branches|cycles:u|faults", line)] for out in made.values())
    assert ours == theirs and sum("branches" in words[0] for words in theirs) > 10 and sum("cycles" in words[0] for words in theirs) == 2


@pytest.mark.parametrize("fields", [[], ["-F", "+flags"], ["-F", "event,ip,brstack"]], ids=" ".join)
@pytest.mark.parametrize("letters", ["x", "xge", "bx", "i1ix", "xl"])
def test_transactions(perf, oracle, walk, tmp_path, letters, fields):
    """Begun, committed, begun and given up."""
    if fields[-1:] == ["event,ip,brstack"] and letters != "xl":
        pytest.skip("there are no branches to show")
    path = walk.write(tmp_path / "perf.data", traces(walk)["transactions"])
    theirs, ours = (shown(program, "script", f"--itrace={letters}", *fields, "-i", path).replace("tr end  syscall", "syscall        ") for program in (oracle, perf))
    assert [line.split() for line in ours.splitlines()] == [line.split() for line in theirs.splitlines()] and theirs.count("transactions") == 4


def test_interrupts_behind_an_abort(perf, oracle, walk, tmp_path):
    """Where an abort ends tracing, the next interrupt isn't another one."""
    at = walk.at
    trace = walk.start() + begins("inside") + pt_ip("fup", at["again"]) + begins("abort") + pt_ip("fup", at["work"]) + pt_ip("pgd")
    trace += pt_tsc(1400) + pt_ip("pge", at["even"]) + pt_ip("fup", at["even"] + 1) + pt_ip("tip", at["leaf"]) + pt_ip("fup", at["leaf"]) + pt_ip("pgd")
    path = walk.write(tmp_path / "perf.data", trace)
    theirs, ours = (shown(program, "script", "--itrace=be", "-F", "flags,ip,addr", "-i", path).splitlines() for program in (oracle, perf))
    assert ours[-2:] == theirs[-2:] and "hw int" in theirs[-2]


@pytest.mark.parametrize("letters", ["be", "e-o", "e+o", "e-l", "e-o-l", "e-o+o"])
@pytest.mark.parametrize("name", ["overflow", "lost"])
def test_kinds_of_errors(perf, oracle, walk, tmp_path, name, letters):
    path = tmp_path / "perf.data"
    lost = walk.records.replace("exit", "aux offset=0 size=64 flags=1 time=1300 id=1 cpu=0 pid=7 tid=7\nexit")
    trace = traces(walk)["overflow" if name == "overflow" else "whole"]
    path.write_bytes(pt_recording([(0, 0, -1, trace)], lost if name == "lost" else walk.records))
    theirs, ours = (re.sub(r" ip 0x40102[ce] code 7", " code 7", shown(program, "script", f"--itrace={letters}", "-i", path)) for program in (oracle, perf))
    assert ours == theirs
    assert ("error" in theirs) == (not {"overflow": "-o", "lost": "-l"}[name] in letters)


def test_losses_of_a_thread(perf, oracle, walk, tmp_path):
    """Where a thread has its own buffer (--per-thread) no CPU is told."""
    path = tmp_path / "perf.data"
    records = "".join(line + "\n" for line in walk.records.splitlines() if line.split()[0] not in ("itrace_start", "switch"))
    records = records.replace("exit", "aux offset=0 size=56 flags=1 time=1300 id=1 pid=7 tid=7\nexit")
    path.write_bytes(pt_recording([(0, -1, 7, traces(walk)["whole"])], records, head=PT_HEAD.replace("|CPU", ""), switches=0))
    errors = [[line for line in shown(program, "script", "--itrace=e", "-i", path).splitlines() if "error" in line] for program in (oracle, perf)]
    assert errors[0] == errors[1] and len(errors[0]) == 1 and "Lost trace data" in errors[0][0]
    assert "was full 1 times" in perf("script", "--itrace=e", "-i", path).stderr


def recorded_beside(walk, path):
    """Samples of two events at known times; with the kernel's trace the interrupts with which they were taken are in it."""
    at = walk.at
    trace = walk.start() + pt_tnt("N") + pt_tsc(1400) + pt_tnt("TTTTT") + pt_tsc(1500) + pt_tnt("NTN") + pt_ip("tip", at["leaf"]) + pt_tsc(1600) + pt_tnt("T") + pt_tsc(1800)
    trace += pt_ip("pgd") + pt_tsc(2000) + pt_ip("pge", at["wait"]) + pt_ip("pgd")
    head = PT_HEAD + """event cycles:u config=0 type=0 period=1 sample=IP|TID|TIME|CPU|IDENTIFIER flags=sample_id_all ids=5,6
event faults config=2 type=1 period=1 sample=IP|TID|TIME|CPU|IDENTIFIER|RAW|WEIGHT flags=sample_id_all ids=7,8
event chained config=3 type=1 period=1 sample=IP|TID|TIME|CPU|IDENTIFIER|CALLCHAIN flags=sample_id_all ids=9,10
"""
    samples = [(1150, 5, at["work"]), (1300, 7, at["work"]), (1350, 9, at["work"]), (1550, 5, at["leaf"]), (1900, 7, at["wait"])]
    lines = ""
    for time, number, ip in samples:
        more = {5: "event=2", 7: "event=3 raw=0011223344556677 weight=9", 9: "event=4 chain=user,0x401000"}[number]
        lines += f"sample {more} ip={ip} pid=7 tid=7 time={time} cpu=0 id={number}\n"
    before, after = walk.records[:walk.records.index("exit")], walk.records[walk.records.index("exit"):]
    path.write_bytes(pt_recording([(0, 0, -1, trace)], before + lines + after, head=head))
    return path


def chains_of(text, event):
    """The call chains of an event's samples, as functions."""
    return [re.findall(r"\n\t +[0-9a-f]+ (\w+)", block) for block in text.split("\n\n") if re.search(rf" {event}:", block)]


def test_chains_of_recorded_samples(perf, oracle, walk, tmp_path):
    """Theirs leaves out where the sample was, unless the trace has an interrupt there: reports would take its caller for it. What has a chain keeps it."""
    path = recorded_beside(walk, tmp_path / "perf.data")
    theirs, ours = (shown(program, "script", "--itrace=i1iG", "-i", path) for program in (oracle, perf))
    assert chains_of(theirs, "cycles:u") == [["again"], ["put"]]
    assert chains_of(ours, "cycles:u") == [["work", "again"], ["leaf", "put"]]
    assert chains_of(ours, "faults") == [["work", "again"], ["wait"]] and chains_of(ours, "chained") == chains_of(theirs, "chained") == [["_start"]]
    without = [re.sub(r"(faults|cycles:u): *\n(\t.*\n)+", "", text) for text in (theirs, ours)]
    assert without[0] == without[1]


@pytest.mark.parametrize("letters", ["L", "L3", "GL2"])
def test_branches_of_recorded_samples(perf, oracle, walk, tmp_path, letters):
    path = recorded_beside(walk, tmp_path / "perf.data")
    theirs, ours = (shown(program, "script", f"--itrace={letters}", "-F", "event,ip,brstack,time", "-i", path) for program in (oracle, perf))
    assert re.findall(r"\d+/-/.*", ours) == re.findall(r"\d+/-/.*", theirs) and "0x40100c/0x401026/-" in ours


def test_added_parts_as_a_recording(perf, oracle, walk, tmp_path):
    """All else that a sample has stays where it belongs; the kernel's perf reads what is written."""
    path, made = recorded_beside(walk, tmp_path / "perf.data"), tmp_path / "made.data"
    shown(perf, "inject", "--itrace=GL2", "-i", path, "-o", made)
    words = ("script", "-F", "event,time,ip,sym,brstack", "-i", made)
    assert shown(perf, *words) == shown(oracle, *words)
    assert shown(perf, *words).count("/-/") > 4
    behind_raw = b"\x00\x11\x22\x33\x44\x55\x66\x77" + bytes(4)
    assert re.search(re.escape(behind_raw) + b"\2.{7}.{48}\t" + bytes(7), made.read_bytes(), re.S), "raw data, two branches, the weight"


def test_added_behind_raw_data_of_any_size(perf, walk, tmp_path):
    """Which no kernel writes: it ends with a word all the same."""
    path, made = recorded_beside(walk, tmp_path / "perf.data"), tmp_path / "made.data"
    raw = bytes(range(0, 0x88, 0x11))
    path.write_bytes(path.read_bytes().replace(b"\x0c\0\0\0" + raw, b"\x09\0\0\0" + raw))
    shown(perf, "inject", "--itrace=L2", "-i", path, "-o", made)
    assert re.search(b"\x09\0\0\0" + re.escape(raw) + bytes(4) + b"\2.{7}.{48}\t" + bytes(7), made.read_bytes(), re.S), "raw data, two branches, the weight"


def test_where_nothing_is_added(perf, walk, tmp_path):
    """Without times nobody knows which calls were open when a sample was taken."""
    path = recorded_beside(walk, tmp_path / "perf.data")
    told = {letters: perf("script", f"--itrace={letters}", "-i", path).stderr for letters in ("i1iGLZ", "i1iGL", "i1iglZ")}
    assert "need a trace of Intel PT with times" in told["i1iGLZ"] and not told["i1iGL"] and not told["i1iglZ"]


def test_no_room_for_more(perf, walk, tmp_path):
    """No record is larger than 64 KB: one that almost is gets an empty chain."""
    head = PT_HEAD + "event cycles:u config=0 type=0 period=1 sample=IP|TID|TIME|CPU|IDENTIFIER|RAW flags=sample_id_all ids=5,6\n"
    before, after = walk.records[:walk.records.index("exit")], walk.records[walk.records.index("exit"):]
    lines = "".join(f"sample event=2 ip={walk.at['leaf']} pid=7 tid=7 time={1600 + size} cpu=0 id=5 raw={bytes(size).hex()}\n" for size in (65476, 65460, 4))
    path = tmp_path / "perf.data"
    path.write_bytes(pt_recording([(0, 0, -1, walk.start() + walk.rest() + pt_ip("pgd"))], before + lines + after, head=head))
    done = perf("script", "--itrace=G", "-F", "event,ip,sym", "-i", path)
    assert done.stdout.count("cycles:u") == 2 and done.stdout.count("leaf") == 1 and "no room" in perf("script", "-v", "--itrace=G", "-i", path).stderr


def test_what_is_not_decoded(perf, oracle, walk, tmp_path):
    """Records of PEBS and event packets: asked for they make nothing, and it is said where the trace may have them."""
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"])
    done = perf("script", "--itrace=i1ibxwpoIe", "-i", path)
    assert done.returncode == 0 and not done.stderr and done.stdout == shown(oracle, "script", "--itrace=i1ibxwpoIe", "-i", path)
    path = walk.write(tmp_path / "events.data", walk.traces()["whole"], config=PT_BRANCHES | TSC_BIT | 1 << 31)
    assert "event packets" in perf("script", "--itrace=bI", "-i", path).stderr and "event packets" not in perf("script", "--itrace=b", "-i", path).stderr
    head = PT_HEAD + "event cycles:u config=0 type=0 period=1 sample=IP|TID|TIME|CPU|IDENTIFIER flags=sample_id_all,aux_output ids=5,6\n"
    (tmp_path / "pebs.data").write_bytes(pt_recording([(0, 0, -1, walk.traces()["whole"])], walk.records, head=head))
    assert "records of PEBS" in perf("script", "--itrace=bo", "-i", tmp_path / "pebs.data").stderr and "PEBS" in perf("report", "--stdio", "-i", tmp_path / "pebs.data").stderr


@pytest.mark.parametrize("letters,message", [("g0", "from 1 to 1024"), ("G1025", "addresses from 1 to 1024"), ("L0", "branches from 1 to 1024"), ("e+", "e-o without overflows"), ("be-", "with a sign"), ("e-O", "with a sign")])
def test_refused(perf, oracle, walk, tmp_path, letters, message):
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"])
    done = perf("script", f"--itrace={letters}", "-i", path)
    assert done.returncode == 129 and message in done.stderr and oracle("script", f"--itrace={letters}", "-i", path).returncode
