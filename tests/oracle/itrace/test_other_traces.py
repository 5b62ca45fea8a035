"""Traces of Intel BTS and HiSilicon PTT, made by hand, against the kernel's perf: branches and what kind they are, packets."""
import pathlib
import platform
import random
import re
import resource
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
import recording

CODE = """.globl _start
_start:
b_call: call target
b_jump: jmp target
b_short: jmp b_jump
b_conditional: jz target
b_near: jnz b_short
b_loop: loop b_near
b_return: ret
b_indirect: jmp *%rax
b_icall: call *16(%rax,%rbx,4)
b_icall2: call *%r12
b_notrack: notrack jmp *%rdx
b_bnd: bnd call target
b_syscall: syscall
b_sysret: sysretq
b_iret: iretq
b_int: int $0x80
b_trap: int3
b_other: nop
b_inc: incl (%rax)
b_far: lcall *(%rax)
b_vm: vmresume
target: ret
"""
HEAD = """feature hostname box
feature arch x86_64
feature nrcpus 2
feature auxtrace
event intel_bts//u type=7 period=1 sample=IP|TID|TIME|IDENTIFIER flags=sample_id_all,exclude_kernel ids=1
event dummy:u type=1 config=9 period=1 sample=IP|TID|TIME|IDENTIFIER flags=sample_id_all,mmap,comm,task,mmap2,exclude_kernel ids=3
auxtrace_info type=2 words=7,10,1000,77,1,0
"""
PACKETS = re.compile(r"^\.  [0-9a-f]{8}: .*|^\. \.\.\. HISI.*", re.M)
KERNEL, INFO = 0xffffffff81000000, "auxtrace index=0 reference=0x100000 cpu=-1 tid=7 trace="


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program with each kind of branch, and where these are."""
    if platform.machine() != "x86_64":
        pytest.skip("the code of the test is x86-64's")
    folder = tmp_path_factory.mktemp("bts")
    (folder / "code.s").write_text(CODE)
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,-Ttext=0x401000", "-o", folder / "code", folder / "code.s"], check=True)
    lines = subprocess.run(["nm", folder / "code"], check=True, capture_output=True, text=True).stdout
    return folder / "code", {name: int(place, 16) for place, name in re.findall(r"^(\w+) \w (b_\w+|target)$", lines, re.M)}


def bts(records, padding=24):
    """The kernel's perf leaves out the last record of a piece: one of zeros is none."""
    return b"".join(struct.pack("<3Q", *record) for record in records) + bytes(padding)


def made(tmp_path, program, *traces, head=HEAD):
    text = f"comm pid=7 tid=7 name=prog exec=1 time=100 id=3\nmmap2 pid=7 tid=7 addr=0x401000 len=0x1000 pgoff=0x1000 time=101 id=3 name={program}\n"
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make(head + text + "".join(f"{INFO}{trace.hex()}\n" for trace in traces)))
    return path


def shown(run, *words):
    done = run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_branches(perf, oracle, program, tmp_path):
    path, places = program
    records = [(0, places["b_call"], 0)]
    records += [(place, places["target"], 0x10 * (number % 2)) for number, place in enumerate(places.values())]
    records += [(places["b_other"], KERNEL, 0), (places["b_syscall"], KERNEL, 0), (places["target"], 0, 0)]
    path = made(tmp_path, path, bts(records))
    for words in (["--itrace=b"], ["--itrace=c"], ["--itrace=r"], ["--itrace=cr"], []):
        lines = ["script", *words, "-i", path, "-F", "comm,tid,event,ip,sym,addr,flags"]
        theirs = shown(oracle, *lines)
        assert theirs.count("\n") >= 5 and shown(perf, *lines) == theirs
    flags = shown(perf, "script", "--itrace=b", "-F", "flags", "-i", path)
    assert flags.count("\n") == len(records) and "vmentry" in flags and "syscall" in flags and "hw int" in flags
    assert re.search(r"^ +3\.85% +\[\.\] b_icall2 *$", shown(perf, "report", "--stdio", "--itrace=b", "-i", path, "-s", "sym"), re.M)
    assert "target" in shown(perf, "script", "--call-trace", "-i", path)


def test_what_it_has_nothing_for_is_said(perf, program, tmp_path):
    """Instead of an empty answer that looks as if nothing had run."""
    path, places = program
    path = made(tmp_path, path, bts([(places["b_jump"], places["target"], 0)]))
    for letters, lines, words in (("i", 0, "--itrace=b shows them"), ("l", 0, "--itrace=b shows them"), ("ib", 1, "makes no events of it"), ("b", 1, ""),
                                  ("bg", 1, "'g' and 'l' of --itrace add nothing to what is made of Intel BTS"), ("bl", 1, "add nothing"), ("bG", 1, "need a trace of Intel PT")):
        done = perf("script", f"--itrace={letters}", "-i", path)
        assert done.stdout.count("\n") == lines, letters
        assert words in done.stderr and (words or not done.stderr), letters


def test_interrupts_return(perf, oracle, program, tmp_path):
    """Behind the instruction that asked for one, of whatever length: what is called next isn't deeper."""
    path, places = program
    records = [(places["b_int"], places["target"], 0), (places["b_iret"], places["b_trap"], 0), (places["b_trap"], places["target"], 0),
               (places["b_iret"], places["b_other"], 0), (places["b_call"], places["target"], 0)]
    path = made(tmp_path, path, bts(records))
    lines = ["script", "--itrace=b", "-F", "ip,callindent", "-i", path]
    theirs = shown(oracle, *lines)
    assert theirs.count("\n") == 5 and shown(perf, *lines) == theirs


def test_what_was_interrupted_goes_on(perf, program, tmp_path):
    """Where it was interrupted, not behind that."""
    file, places = program
    calm = [(0, places["b_other"], 0), (places["b_call"], places["target"], 0)]
    texts = [shown(perf, "script", "--itrace=b", "-F", "ip,callindent", "-i", made(tmp_path, file, bts(records))).splitlines()
             for records in (calm, [(places["b_other"], KERNEL, 0), *calm])]
    assert texts[0][-1] == texts[1][-1] and "target" in texts[0][-1]


def test_dump(perf, oracle, program, tmp_path):
    path = made(tmp_path, program[0], bts([(1, 2, 0x10), (0xffffffff81000000, 3, 0)], padding=5))
    theirs, ours = (re.findall(r"^(?:\.  [0-9a-f]{8}: .*|\. \.\.\. Intel BTS.*|  [A-Z][\w ]+\d+)$", shown(run, "script", "-D", "-i", path), re.M) for run in (oracle, perf))
    assert ours == theirs and len(ours) == 6 + 1 + 3 and "Bad record!" in ours[-1]


def test_code_that_is_missing(perf, oracle, tmp_path):
    path = made(tmp_path, "/nowhere/code", bts([(0x401000, 0x401010, 0)]), head=HEAD)
    lines = ["script", "--itrace=be", "-i", path, "-F", "ip,addr,flags", "--show-task-events"]
    ours = perf(*lines)
    assert "Failed to get instruction" in ours.stdout + ours.stderr and "because the code is not at hand" in ours.stderr
    assert shown(perf, "script", "--itrace=b", "-i", path, "-F", "ip,addr") == shown(oracle, "script", "--itrace=b", "-i", path, "-F", "ip,addr")


def test_snapshots_overlap(perf, oracle, program, tmp_path):
    """What is in two snapshots is told once; what is cut off is counted."""
    path, places = program
    records = [(place, places["target"], 0) for place in places.values()]
    first, second = bts(records[:12], 0), bts(records[6:], 0)
    path = made(tmp_path, path, first, second + b"cut", head=HEAD.replace("77,1,0", "77,1,1"))
    done = perf("script", "--itrace=b", "-F", "ip", "-i", path)
    assert [int(line, 16) for line in done.stdout.split()] == [record[0] for record in records]
    assert "3 bytes of the hardware trace aren't packets of Intel BTS" in done.stderr


SNAPSHOTS = HEAD.replace("77,1,0", "77,1,1")


@pytest.mark.parametrize("first, second, whole", [("aab", "abc", "aabc"), ("aaaa", "aab", "aaaab"), ("ababa", "abac", "ababac"), ("abc", "abc", "abc"), ("aabaab", "aabaaa", "aabaabaaa")])
def test_snapshots_of_loops_overlap(perf, program, tmp_path, first, second, whole):
    """As many records as can be are taken for the same."""
    path, places = program
    where = dict(zip("abc", list(places.values())))
    path = made(tmp_path, path, *(bts([(where[letter], places["target"], 0) for letter in letters], 0) for letters in (first, second)), head=SNAPSHOTS)
    assert [int(line, 16) for line in shown(perf, "script", "--itrace=b", "-F", "ip", "-i", path).split()] == [where[letter] for letter in whole]


def test_long_snapshots_that_nearly_overlap(perf, tmp_path):
    """Records that are looked at again from each one on would take minutes."""
    trace = bytes(24 * 250000)
    path = made(tmp_path, "/nowhere", trace[1:] + b"x", trace, head=SNAPSHOTS)
    done = subprocess.run([perf.path, "script", "--itrace=b", "-i", path], capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 10)))
    assert done.returncode == 0, done.stderr


def test_loops_are_no_overlap(perf, oracle, program, tmp_path):
    """Without snapshots a piece is what came behind the one before, even where it is the same."""
    path, places = program
    trace = bts([(places["b_jump"], places["target"], 0)] * 3)
    path = made(tmp_path, path, trace, trace)
    lines = ["script", "--itrace=b", "-F", "ip,addr", "-i", path]
    theirs = shown(oracle, *lines)
    assert theirs.count("\n") == 6 and shown(perf, *lines) == theirs


@pytest.mark.parametrize("words", [4, 8])
def test_packets_of_pcie(perf, oracle, tmp_path, words):
    """They are shown, and are no samples."""
    choose = random.Random(words)
    packets = b""
    for _ in range(5):
        packet = [choose.randrange(1 << 31) for _ in range(words)]
        packet[0] = packet[0] & 0x7ff | 0xfffff800 if words == 8 else packet[0]
        packets += struct.pack(f"<{words}I", *packet)
    head = HEAD.replace("intel_bts//u type=7", "hisi_ptt0_2// type=12").replace("auxtrace_info type=2 words=7,10,1000,77,1,0", "auxtrace_info type=6 words=12")
    path = made(tmp_path, "/nowhere", packets + b"rest", head=head)
    ours = PACKETS.findall(shown(perf, "script", "-D", "-i", path))
    assert len(ours) == 1 + 5 * (4 if words == 4 else 6) and f"size {5 * words * 4} bytes" in ours[0]
    if "HISI PTT data" in (theirs := oracle("script", "-D", "-i", path).stdout):  # Linux 6.2
        assert ours == PACKETS.findall(theirs)
    assert "makes no samples" in perf("script", "-i", path).stderr
