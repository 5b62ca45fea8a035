"""Traces of CoreSight, written for a small program of arm64, against the kernel's perf, which decodes them through libopencsd, too."""
import os
import pathlib
import random
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
import traces
from traces import ETM_ON, ETM_SYNC, etm_address, etm_atoms, etm_frames, etm_recording, shown

PROGRAM = """
	.globl _start
_start:	mov x1, #3
again:	bl work
	subs x1, x1, #1
	b.ne again
	adr x2, leaf
	blr x2
	mov x8, #93
wait:	svc #0
	b wait
	.type work, %function
work:	tbz x1, #0, even
	ret
even:	nop
	ret
	.type leaf, %function
leaf:	nop
	ret
"""


class Walk:
    """The program, and what happens while it runs."""

    def __init__(self, folder, program=PROGRAM, size=0x1000):
        self.path = folder / "walk"
        (folder / "walk.s").write_text(program)
        subprocess.run(["aarch64-linux-gnu-gcc", "-nostdlib", "-static", "-Wl,--build-id", "-o", self.path, folder / "walk.s"], check=True)
        listed = subprocess.run(["aarch64-linux-gnu-nm", self.path], capture_output=True, text=True, check=True).stdout
        self.at = {line.split()[2]: int(line.split()[0], 16) for line in listed.splitlines()}
        self.records = f"""comm pid=7 tid=7 name=walk exec=1 id=3 cpu=0
mmap2 pid=7 tid=7 addr={self.at["_start"] & ~0xfff} len={size:#x} pgoff=0 prot=5 id=3 cpu=0 name={self.path}
itrace_start pid=7 tid=7 id=1 cpu=0
exit pid=7 tid=7 ppid=1 ptid=1 id=3 cpu=0
"""

    def start(self, name="_start"):
        return ETM_SYNC + ETM_ON + etm_address(self.at[name], 7)

    def traces(self):
        at, back = self.at, etm_address(self.at["again"] + 4)
        called = self.start() + etm_atoms("ENE") + back + etm_atoms("EEEE") + back
        rest = etm_atoms("EENE") + back + etm_atoms("NE") + etm_address(at["leaf"]) + etm_atoms("E") + etm_address(at["wait"] - 4)
        return {
            "whole": called + rest,
            "paused": called + ETM_ON + etm_address(at["wait"]) + etm_atoms("E") + ETM_ON + etm_address(at["again"], 7) + etm_atoms("ENE") + back,
            "synchronized": called + ETM_SYNC + etm_address(at["again"] + 4, 7) + rest,
            "lost": called + etm_atoms("EENE") + etm_address(0x555555000) + etm_atoms("E") + etm_address(at["leaf"]) + etm_atoms("E") + back + etm_atoms("N"),
        }

    def write(self, path, pieces, **how):
        path.write_bytes(etm_recording([(0, -1, 7, etm_frames(pieces))] if isinstance(pieces, bytes) else pieces, self.records, **how))
        return path


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    return Walk(tmp_path_factory.mktemp("walk"))


@pytest.mark.sanitize
@pytest.mark.parametrize("words", ["--itrace=b", "--itrace=i1i", "--itrace=i3i", "--itrace=i1ib", "--itrace=b -F +flags"])
@pytest.mark.parametrize("name", ["whole", "paused", "synchronized", "lost"])
def test_flow(perf, oracle, walk, tmp_path, name, words):
    path = walk.write(tmp_path / "perf.data", walk.traces()[name])
    theirs = shown(oracle, "script", *words.split(), "-i", path)
    assert theirs.count("\n") >= 5 and shown(perf, "script", *words.split(), "-i", path) == theirs


@pytest.mark.parametrize("version", [0, 1])
def test_streams_of_several_processors(perf, oracle, walk, tmp_path, version):
    """In the frames of one buffer, and what describes them in both forms."""
    whole, other = walk.traces()["whole"], walk.start("again") + etm_atoms("ENE") + etm_address(walk.at["again"] + 4)
    path = walk.write(tmp_path / "perf.data", [(0, -1, 7, etm_frames(whole) + etm_frames(other, 0x12))], version=version)
    theirs = shown(oracle, "script", "--itrace=b", "-i", path)
    assert "[001]" in theirs and shown(perf, "script", "--itrace=b", "-i", path) == theirs


def test_report(perf, oracle, walk, tmp_path):
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"])
    words = ("report", "--stdio", "--itrace=i1i", "-F", "overhead,sample,period,sym", "-i", path)
    theirs, ours = ([line.rstrip() for line in shown(program, *words).splitlines() if line.strip("# .") and "(Tip:" not in line] for program in (oracle, perf))
    assert ours == theirs and any("instructions" in line for line in ours)


def dumped(text):
    """What describes the trace, and its packets."""
    lines = [line.expandtabs() for line in text.split("Aggregated stats")[0].splitlines()]
    return [line for line in lines if line.startswith("        ") or "CoreSight" in line]


@pytest.mark.parametrize("version, magic", [(0, traces.ETM_MAGIC), (1, traces.ETM_MAGIC), (1, traces.ETM_MAGIC + 0x1010101010101010)])
@pytest.mark.parametrize("command", ["script", "report"])
def test_dump(perf, oracle, walk, tmp_path, command, version, magic):
    """Packets of two streams in one buffer, and registers of each ETM; of ETE one more."""
    registers = {"architecture": 0x47724a13} if magic != traces.ETM_MAGIC else {}
    whole, lost = walk.traces()["whole"], walk.traces()["lost"]
    path = walk.write(tmp_path / "perf.data", [(0, -1, 7, etm_frames(whole) + etm_frames(lost, 0x12))], version=version, magic=magic, registers=registers)
    theirs = dumped(shown(oracle, command, "-D", "-i", path))
    assert sum("I_ATOM" in line for line in theirs) > 20 and sum("TRCTRACEIDR" in line for line in theirs) == 2
    assert dumped(shown(perf, command, "-D", "-i", path)) == theirs


def test_dump_of_what_is_damaged(perf, walk, tmp_path):
    """Bytes that libopencsd dies of, descriptions that are cut, and another kind of ETM: what is known is shown, and the rest is named."""
    bad = ETM_SYNC + etm_address(walk.at["again"]) + b"\x30"
    path = walk.write(tmp_path / "perf.data", [(0, -1, 7, etm_frames(bad + b"\x71" * 400))])
    assert "I_ADDR_L_64IS0" in shown(perf, "script", "-D", "-i", path)
    good = etm_recording([(0, -1, 7, etm_frames(walk.traces()["whole"]))], walk.records)
    (tmp_path / "cut.data").write_bytes(good.replace((7 << 32 | 2).to_bytes(8, "little"), (7 << 32 | 900).to_bytes(8, "little")))
    text = shown(perf, "script", "-D", "-i", tmp_path / "cut.data")
    assert text.count("TRCTRACEIDR") == 2 and "Its packets aren't shown: its description is cut" in text
    text = shown(perf, "script", "-D", "-i", walk.write(tmp_path / "perf.data", walk.traces()["whole"], magic=0x3030303030303030))
    assert text.count("Unknown register") == 14 and "Its packets aren't shown: it is neither" in text


def test_dump_without_frames(perf, corpus):
    """A buffer with the stream of one ETM alone, of which the kernel's perf shows nothing."""
    folder = corpus / "GrapheneOS+platform_system_extras/simpleperf/testdata/etm"
    for name, stream in (("perf_with_unformatted_trace.data", "ID:10;"), ("perf_with_unformatted_trace.data@dcd4c62", "ID:14;")):  # the stream of the CPU's own ETM
        lines = dumped(shown(perf, "script", "-D", "-i", folder / name))
        assert sum(stream in line for line in lines) > 20 and not any(re.search(r"ID:(?!1[04];)", line) for line in lines) and not any("makes no sense" in line for line in lines)


@pytest.mark.parametrize("name", ["perf.data", "perf.data@2cae4b2", "perf_etm.data"])
def test_dump_of_others(perf, oracle, corpus, name):
    path = corpus / "GrapheneOS+platform_system_extras/simpleperf/testdata/etm" / name
    theirs = dumped(shown(oracle, "script", "-D", "-i", path))
    assert len(theirs) > 100 and dumped(shown(perf, "script", "-D", "-i", path)) == theirs


def test_calls(perf, walk, tmp_path):
    """The kernel's perf has no depths of such traces, and shows each branch, whatever letters there are."""
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"])
    lines = shown(perf, "script", "--call-ret-trace", "-F", "-dso,-comm,-tid,-cpu", "-i", path).splitlines()
    assert [(line[:23].strip(), (len(line[24:]) - len(line[24:].lstrip())) // 4, line[24:].strip()) for line in lines] == [
        ("tr strt", 0, "_start"), ("call", 1, "work"), ("return", 1, "work"), ("call", 1, "work"), ("return", 1, "even"), ("call", 1, "work"), ("return", 1, "work"), ("call", 1, "leaf")]
    assert shown(perf, "script", "--itrace=c", "-F", "flags", "-i", path).split() == ["call"] * 4


def test_what_is_lost_is_told(perf, walk, tmp_path):
    """… and where, if that is asked for: the kernel's perf has no such lines."""
    path = walk.write(tmp_path / "perf.data", walk.traces()["lost"])
    assert shown(perf, "script", "--itrace=e", "-i", path) == " instruction trace error type 1 cpu 0 pid 7 tid 7 ip 0x555555000 code 5: Failed to get instruction\n"
    assert "trace error" not in shown(perf, "script", "-i", path)
    assert "'x' of --itrace: nothing is made of it from a trace of CoreSight" in perf("script", "--itrace=bx", "-i", path).stderr
    done = perf("script", "--itrace=b", "-i", walk.write(tmp_path / "perf.data", walk.traces()["lost"]))
    assert "1 times the hardware trace couldn't be followed (1 times because the code is not at hand)" in done.stderr
    done = perf("script", "--itrace=b", "-i", walk.write(tmp_path / "perf.data", walk.traces()["whole"], magic=0x3030303030303030))
    assert not done.returncode and "(CoreSight) isn't decoded: it is neither of an ETM of version 4 nor of an ETE" in done.stderr


def test_without_the_library(perf, walk, tmp_path):
    """It is named, and what was recorded is shown."""
    path = walk.write(tmp_path / "perf.data", walk.traces()["whole"])
    (tmp_path / "libopencsd_c_api.so.1").write_text("no library")
    done = subprocess.run([perf.path, "script", "--show-task-events", "-i", path], env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert "(CoreSight) isn't decoded: cannot load libopencsd_c_api" in done.stderr and "PERF_RECORD_EXIT" in done.stdout


def test_what_the_library_dies_of(perf, walk, tmp_path):
    """A branch that was predicted wrongly, where there was none, makes libopencsd read where nothing is. What comes in the next block of the trace is decoded."""
    bad = ETM_SYNC + etm_address(walk.at["again"]) + b"\x30"
    bad += b"\x71" * (14 * 128 - len(bad))
    whole = shown(perf, "script", "--itrace=b", "-i", walk.write(tmp_path / "whole.data", walk.traces()["whole"]))
    done = perf("script", "--itrace=b", "-i", walk.write(tmp_path / "perf.data", [(0, -1, 7, etm_frames(bad)[:2048] + etm_frames(walk.traces()["whole"]))]))
    assert done.returncode == 0 and done.stdout == whole and "1 times the hardware trace couldn't be followed" in done.stderr


@pytest.mark.parametrize("instructions, errors", [(60_000, 0), (70_000, 1)])
def test_code_without_an_end(perf, tmp_path, instructions, errors):
    """More than 256 KB without a branch are no code that ran: a trace can't make perf read through a library with each of its packets."""
    walk = Walk(tmp_path, f".globl _start\n_start: .rept {instructions}\nnop\n.endr\nb _start\n", 0x100000)
    done = perf("script", "--itrace=b", "-i", walk.write(tmp_path / "perf.data", walk.start() + etm_atoms("EE")))
    assert done.returncode == 0 and ("code is not at hand" in done.stderr) == bool(errors)


def test_hostile(perf, walk, tmp_path):
    """Any bytes, and descriptions that are cut, end soon and don't stop what was recorded from being shown. (The AddressSanitizer can't bear libopencsd's exceptions
    in a program of C, which loads it.)"""
    choose, path = random.Random(5), tmp_path / "perf.data"
    whole = walk.traces()["whole"]
    for _ in range(15):
        trace = bytearray(etm_frames(whole * choose.randrange(1, 4)))
        for _ in range(choose.randrange(1, 9)):
            trace[choose.randrange(len(trace))] = choose.randrange(256)
        walk.write(path, [(0, -1, 7, bytes(trace)), (1, 1, -1, choose.randbytes(16 * 9))])
        assert "PERF_RECORD_EXIT" in perf("script", "--itrace=i1ib", "--show-task-events", "-i", path, timeout=60).stdout
    good = etm_recording([(0, -1, 7, etm_frames(whole))], walk.records)
    cpus = (7 << 32 | 2).to_bytes(8, "little")
    assert cpus in good
    for wrong, sentence in ((7 << 32 | 900, "its description is cut"), (9 << 32 | 2, r"there is no event of that PMU \(type 9\)")):
        path.write_bytes(good.replace(cpus, wrong.to_bytes(8, "little")))
        done = perf("script", "--show-task-events", "-i", path)
        assert re.search(rf"\(CoreSight\) isn't decoded: {sentence}", done.stderr) and "PERF_RECORD_EXIT" in done.stdout
