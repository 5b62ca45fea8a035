"""Generated code by jitdumps and perf maps: names, lines and instructions of the code that was there at the time of a sample, without inject.

The kernel's perf is asked after its inject --jit."""
import pathlib
import re
import shutil
import struct
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import jitdump  # noqa: E402
import recording  # noqa: E402

MONOTONIC = 1
CODE = bytes.fromhex("554889e5" "4883ec10" "90909090" "e8f3ffffff" "c9" "c3") + b"\x90" * 13  # 32 bytes: push, mov, sub, nops, call itself, leave, ret
AREA, PLACE, OTHER = 0x7F1000000000, 0x7F1000001000, 0x7F1000003000
SECOND = 1000000000
PID, CHILD = recording.ABSENT + 5, recording.ABSENT + 6


def event(clock=MONOTONIC, sample="IP|TID|TIME|PERIOD|IDENTIFIER"):
    flags = "sample_id_all,comm,mmap,mmap2,task" + (",use_clockid" if clock else "")
    return [f"event cpu-clock type=1 config=0 freq=1000 sample={sample} ids=1 flags={flags} clock={clock}", "feature event_desc",
            "feature arch x86_64"]


def process(path, pid=PID, start=1):
    return [f"comm pid={pid} tid={pid} name=jit time={start * SECOND}",
            f"mmap2 pid={pid} tid={pid} addr={AREA:#x} len=0x10000 pgoff=0 prot=7 name=//anon time={start * SECOND + 1}",
            f"mmap2 pid={pid} tid={pid} addr=0x7f2000000000 len=0x1000 pgoff=0 maj=8 min=1 ino=9 prot=5 name={path} time={start * SECOND + 2}"]


def sample(seconds, address, pid=PID):
    return f"sample ip={address:#x} pid={pid} tid={pid} time={int(seconds * SECOND)} period=1"


def write(path, lines, **options):
    path.write_bytes(recording.make("\n".join(lines), **options))
    return path


def names(program, data, *words):
    """(seconds, symbol+offset) of the samples."""
    text = program("script", "-i", data, "-F", "time,ip,sym,symoff", *words).stdout
    return [(float(time), name) for time, name in re.findall(r"^ *(\d+\.\d+): +[0-9a-f]+ (\S+)", text, re.M)]


@pytest.fixture(name="story")
def story_fixture(tmp_path):
    """One place in memory: f(), then g() over its end, then f() moves away; each second a sample. A fork in between, and the memory is protected anew."""
    path = tmp_path / f"jit-{PID}.dump"
    dump = jitdump.Dump(PID, time=1 * SECOND)
    dump.load(2 * SECOND, PLACE, CODE, "f")
    dump.load(4 * SECOND, PLACE + 16, CODE, "g")
    dump.move(6 * SECOND, 0, OTHER)
    dump.load(8 * SECOND, PLACE, CODE[:16], "h")
    path.write_bytes(dump.data)
    lines = process(path)
    for second in range(1, 10):
        lines += [sample(second + 0.5, address) for address in (PLACE + 4, PLACE + 20, OTHER + 8)]
    lines += [f"fork pid={CHILD} ppid={PID} tid={CHILD} ptid={PID} time={5 * SECOND}"]
    lines += [sample(second + 0.6, PLACE + 4, pid=CHILD) for second in range(5, 10)]
    lines += [f"mmap2 pid={PID} tid={PID} addr={AREA:#x} len=0x10000 pgoff=0 prot=5 name=//anon time={7 * SECOND}"]
    return lines, path


EXPECTED = {  # by second: at PLACE + 4, PLACE + 20, OTHER + 8
    1: ("[unknown]", "[unknown]", "[unknown]"),
    2: ("f+0x4", "f+0x14", "[unknown]"), 3: ("f+0x4", "f+0x14", "[unknown]"),
    4: ("f+0x4", "g+0x4", "[unknown]"), 5: ("f+0x4", "g+0x4", "[unknown]"),
    6: ("f+0x4", "g+0x4", "f+0x8"), 7: ("f+0x4", "g+0x4", "f+0x8"),
    8: ("h+0x4", "g+0x4", "f+0x8"), 9: ("h+0x4", "g+0x4", "f+0x8"),
}


@pytest.mark.sanitize
@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
def test_names_at_the_time(perf, tmp_path, story, pipe):
    data = write(tmp_path / "perf.data", event() + story[0], pipe=pipe)
    if pipe:
        text = perf("script", "-i", "-", "-F", "time,tid,ip,sym,symoff", stdin=open(data, "rb")).stdout
    else:
        text = perf("script", "-i", data, "-F", "time,tid,ip,sym,symoff").stdout
    rows = re.findall(r"^ *(\d+) +(\d+)\.\d+: +[0-9a-f]+ (\S+)", text, re.M)
    ours = {second: tuple(name for tid, time, name in rows if tid == str(PID) and int(time) == second) for second in range(1, 10)}
    assert ours == EXPECTED
    # The child has what was there when it was made.
    assert [name for tid, _, name in rows if tid == str(CHILD)] == ["f+0x4"] * 5


def test_same_as_injected(perf, oracle, tmp_path, story):
    """… but where the kernel's perf, which makes a file of each function, keeps the whole old function's file below a part of a new one."""
    data = write(tmp_path / "perf.data", event() + story[0])
    done = oracle("inject", "--jit", "-i", data, "-o", tmp_path / "injected.data", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ours, theirs = names(perf, data), names(oracle, tmp_path / "injected.data")
    assert len(ours) == len(theirs) == 32
    # Its names have the offset of the code in the file of each.
    assert [(time, name.split("+")[0]) for time, name in ours] == [(time, name.split("+")[0]) for time, name in theirs]


@pytest.mark.parametrize("clock, wall", [(0, False), (0, True), (4, True)], ids=["default", "wall-clock header", "other clock"])
def test_other_clocks(perf, tmp_path, story, clock, wall):
    """Recordings whose clock isn't the dump's: both begin when the dump is mapped."""
    lines, path = story
    data = bytearray(path.read_bytes())
    at = 40
    while at < len(data):  # the dump's clock is 1000 s ahead
        size, time = struct.unpack_from("<IQ", data, at + 4)
        struct.pack_into("<Q", data, at + 8, time + 1000 * SECOND)
        at += size
    struct.pack_into("<Q", data, 24, 1795270486802565 if wall else 1001 * SECOND)
    path.write_bytes(data)
    ours = names(perf, write(tmp_path / "perf.data", event(clock) + lines))
    by_second = {second: tuple(name for time, name in ours if int(time) == second and time % 1 < 0.55) for second in range(1, 10)}
    if wall:  # the first function is taken for written when the dump was begun: all is a second early
        assert [by_second[second] for second in range(1, 8)] == [EXPECTED[second + 1] for second in range(1, 8)]
    else:
        assert by_second == EXPECTED


def test_attached(perf, tmp_path):
    """The process ran already, its maps have no time: with another clock the newest code counts from the beginning."""
    path = tmp_path / f"jit-{PID}.dump"
    dump = jitdump.Dump(PID, time=1)
    dump.load(2 * SECOND, PLACE, CODE, "f")
    dump.load(3 * SECOND, PLACE, CODE, "g")
    path.write_bytes(dump.data)
    lines = [re.sub(r" time=\d+", " time=0", line) for line in process(path)] + [sample(second, PLACE + 1) for second in (1, 2.5, 5)]
    assert [name for _, name in names(perf, write(tmp_path / "perf.data", event(0) + lines))] == ["g+0x1"] * 3
    assert [name for _, name in names(perf, write(tmp_path / "perf.data", event() + lines))] == ["[unknown]", "f+0x1", "g+0x1"]


def test_several_processes(perf, tmp_path):
    """Their code comes in the order of time, whoever mapped the dump first; a pid that is used again is another process."""
    lines = []
    for pid in (PID, CHILD):
        dump = jitdump.Dump(pid, time=SECOND)
        for second in range(2, 9):
            dump.load(second * SECOND, PLACE + 0x100 * second, CODE, f"f{pid}_{second}")
        (tmp_path / f"jit-{pid}.dump").write_bytes(dump.data)
        lines += process(tmp_path / f"jit-{pid}.dump", pid)
        lines += [sample(second + 0.5, PLACE + 0x100 * second, pid) for second in range(2, 9)]
    lines += [f"exit pid={PID} ppid=1 tid={PID} ptid=1 time={20 * SECOND}", f"fork pid={PID} ppid=1 tid={PID} ptid=1 time={21 * SECOND}",
              f"comm pid={PID} tid={PID} name=other exec=1 time={22 * SECOND}", sample(23, PLACE + 0x200)]
    ours = names(perf, write(tmp_path / "perf.data", event() + lines))
    wanted = sorted([f"f{pid}_{second}+0x0" for pid in (PID, CHILD) for second in range(2, 9)] + ["[unknown]"])
    assert sorted(name for _, name in ours) == wanted


@pytest.mark.parametrize("form", ["plain", "V8", "foreign"])
def test_lines_and_instructions(perf, tmp_path, form):
    """Source lines, code and calls of generated functions; V8's addresses of lines are 64 too large; the other byte order."""
    source = tmp_path / "f.js"
    source.write_text("".join(f"line {number};\n" for number in range(1, 20)))
    path = tmp_path / f"jit-{PID}.dump"
    dump = jitdump.Dump(PID, time=SECOND, padding=0xDEADBEEF if form == "V8" else 0, order=">" if form == "foreign" else "<")
    lines = [(0, 3, str(source)), (4, 4, str(source)), (12, 9, str(source))]
    dump.load(2 * SECOND, PLACE, CODE, "f", lines, shift=64 if form == "V8" else 0)
    dump.load(2 * SECOND, PLACE + 0x100, CODE[:8], "g")
    path.write_bytes(dump.data)
    text = event() + process(path) + [sample(3, PLACE + at) for at in (0, 1, 1, 4, 12, 12, 12, 12)] + [sample(3, PLACE + 0x101)]
    data = write(tmp_path / "perf.data", text)
    table = perf("report", "-i", data, "--stdio", "-s", "sym,srcline").stdout
    found = {line: float(percent) for percent, line in re.findall(r"^ +([\d.]+)%  \[\.\] f +(\S+)", table, re.M)}
    assert found == {"f.js:3": 33.33, "f.js:4": 11.11, "f.js:9": 44.44}
    if form == "foreign":
        return
    done = perf("annotate", "-i", data, "f")
    assert done.returncode == 0, done.stderr
    assert re.search(r": 3 +line 3;\n +12\.50 : +7f1000001000: +push +%rbp\n +25\.00 : +7f1000001001: +mov +%rsp,%rbp\n", done.stdout)
    assert re.search(r": 9 +line 9;\n +50\.00 : +7f100000100c: +call +7f1000001004 <f\+0x4>\n", done.stdout)
    assert f"[JIT] tid {PID}" in perf("report", "-i", data, "--stdio", "-s", "dso").stdout


EH_FRAME = bytes.fromhex(
    "1400000000000000017a5200017810011b0c070890010000"  # CIE: CFA = rsp + 8, return address at CFA - 8
    "140000001c000000c0ffffff20000000" "00" "410e10" "8602" "430d06" "000000")  # FDE, 64 bytes before itself: push rbp; mov rsp,rbp


def test_stacks_through_generated_code(perf, tmp_path):
    """Call frame information from the dump: the caller of a generated function whose frame pointer isn't the processor's."""
    path = tmp_path / f"jit-{PID}.dump"
    dump = jitdump.Dump(PID, time=SECOND)
    frame = EH_FRAME[:24] + struct.pack("<IIiI", 0x18, 0x1C, -(32 + 32), 32) + bytes.fromhex("00" "410e18" "000000" "00000000000000")[:12]
    dump.load(2 * SECOND, PLACE, CODE, "f", eh_frame=frame)
    dump.load(2 * SECOND, PLACE + 0x100, CODE, "caller", eh_frame=frame)
    path.write_bytes(dump.data)
    regs = (1 << 9) - 1
    stack = struct.pack("<QQQQ", 0, 0, PLACE + 0x111, 0) + bytes(64)
    attr = event(sample="IP|TID|TIME|PERIOD|IDENTIFIER|CALLCHAIN|REGS_USER|STACK_USER")
    attr[0] += f" regs_user={regs} stack=128"
    values = [0] * 7 + [0x7FFF0000, PLACE + 4]
    text = sample(3, PLACE + 4) + " regs=" + ",".join(map(hex, values)) + f" stack={stack.hex()} chain=user"
    out = perf("script", "-i", write(tmp_path / "perf.data", attr + process(path) + [text]), "-F", "ip,sym,symoff").stdout
    assert re.findall(r"[0-9a-f]+ (\S+)", out)[:2] == ["f+0x4", "caller+0x10"], out


@pytest.mark.sanitize
def test_broken_dumps(perf, tmp_path):
    """Cut short anywhere, sizes and counts that lie, names with harm in them: what is good is used, nothing breaks."""
    path = tmp_path / f"jit-{PID}.dump"
    dump = jitdump.Dump(PID, time=SECOND)
    dump.load(2 * SECOND, PLACE, CODE, b"\033[31mf\n", lines=[(0, 1, "/dev/zero"), (4, 2, "/proc/self/mem")], eh_frame=EH_FRAME)
    dump.load(2 * SECOND, PLACE + 0x100, CODE, "g")
    whole = dump.data
    text = event() + process(path) + [sample(3, PLACE + 1), sample(3, PLACE + 0x101)]
    data = write(tmp_path / "perf.data", text)
    seen = set()
    places = [*range(0, 60), *range(60, len(whole), 37), len(whole)]
    for cut in places:
        path.write_bytes(whole[:cut])
        done = perf("report", "-i", data, "--stdio", "-s", "sym,srcline")
        assert done.returncode == 0 and "\033" not in done.stdout
        seen.add(("g" in done.stdout, "31mf" in done.stdout))
    assert (True, True) in seen and (False, False) in seen
    for offset in range(40, len(whole) - 8, 8):
        path.write_bytes(whole[:offset] + b"\xff" * 8 + whole[offset + 8:])
        for words in (["report", "--stdio", "-s", "sym,srcline"], ["annotate"]):
            assert perf(*words, "-i", data).returncode in (0, 255)


def test_whose_dumps(perf, tmp_path, root):
    """A dump that belongs to somebody else could say anything: only with -f."""
    path = tmp_path / f"jit-{PID}.dump"
    dump = jitdump.Dump(PID, time=SECOND)
    dump.load(2 * SECOND, PLACE, CODE, "f")
    path.write_bytes(dump.data)
    shutil.chown(path, 12345, 12345)
    data = write(tmp_path / "perf.data", event() + process(path) + [sample(3, PLACE)])
    done = perf("script", "-i", data, "-F", "ip,sym")
    assert "another user" in done.stderr and "[unknown]" in done.stdout
    done = perf("script", "-f", "-i", data, "-F", "ip,sym")
    assert not done.stderr and " f" in done.stdout


def test_newest_line_of_a_perf_map(perf, tmp_path):
    """Memory is used again: the later line of the map is what was there last. (The kernel's perf takes the better name.)"""
    (tmp_path / "tmp").mkdir()
    (tmp_path / f"tmp/perf-{PID}.map").write_text(
        f"{PLACE:x} 100 an_old_function_with_a_long_name\n{PLACE + 0x200:x} 80 kept\n{PLACE:x} 40 new\n{PLACE + 0x60:x} 20 third\n")
    lines = process(f"/nowhere/jit-{PID}.dump") + [sample(3, PLACE + at) for at in (0, 0x3F, 0x40, 0x60, 0x80, 0xFF, 0x200)]
    ours = names(perf, write(tmp_path / "perf.data", event() + lines), "--symfs", tmp_path)
    old = "an_old_function_with_a_long_name"
    assert [name.split("+")[0] for _, name in ours] == ["new", "new", old, "third", old, old, "kept"]
