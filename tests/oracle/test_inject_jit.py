"""perf inject --jit: generated code as ELF files, for the kernel's perf and other tools; compared with what the kernel's perf makes of the same recording."""
import pathlib
import re
import shutil
import stat
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import jitdump  # noqa: E402
import recording  # noqa: E402

SECOND = 1000000000
PID = recording.ABSENT + 5
AREA, PLACE, OTHER = 0x7F1000000000, 0x7F1000001000, 0x7F1000003000
CODE = bytes.fromhex("554889e5" "4883ec10" "90909090" "e8f3ffffff" "c9" "c3") + b"\x90" * 13  # 32 bytes: push, mov, sub, nops, call itself, leave, ret
EH_FRAME = bytes.fromhex("1400000000000000017a5200017810011b0c070890010000"  # CIE: CFA = rsp + 8, return address at CFA - 8
                         "180000001c000000c0ffffff20000000" "00" "410e10" "8602" "430d06" "000000")  # push rbp; mov rsp,rbp
LINES = [(0, 3, "/src/f.c"), (4, 4, "/src/f.c"), (12, 9, "/src/g.c"), (17, 5, "/src/f.c")]


def events(clock=1):
    return [f"event cpu-clock type=1 config=0 freq=1000 sample=IP|TID|TIME|CPU|PERIOD|IDENTIFIER ids=1 flags=sample_id_all,comm,mmap,mmap2,task"
            f"{',use_clockid' if clock else ''} clock={clock}", "feature event_desc", "feature arch x86_64"]


def process(path, pid=PID):
    return [f"comm pid={pid} tid={pid} name=jit time={SECOND}",
            f"mmap2 pid={pid} tid={pid} addr={AREA:#x} len=0x10000 pgoff=0 prot=7 name=//anon time={SECOND + 1}",
            f"mmap2 pid={pid} tid={pid} addr=0x7f2000000000 len=0x1000 pgoff=0 maj=8 min=1 ino=9 prot=5 name={path} time={SECOND + 2}"]


def write(path, lines, **options):
    path.write_bytes(recording.make("\n".join(lines), **options))
    return path


def story(folder):
    """f(), then g() over its end, then f() moves away, then h() in its place; each second a sample; the memory is mapped anew in between."""
    dump = jitdump.Dump(PID, time=SECOND)
    dump.load(2 * SECOND, PLACE, CODE, "f", LINES, EH_FRAME)
    dump.load(4 * SECOND + 123456, PLACE + 16, CODE, "g")
    dump.move(6 * SECOND, 0, OTHER)
    dump.load(8 * SECOND, PLACE, CODE[:16], "h")
    (folder / f"jit-{PID}.dump").write_bytes(dump.data)
    lines = process(folder / f"jit-{PID}.dump")
    for second in range(1, 10):
        lines += [f"sample ip={address:#x} pid={PID} tid={PID} time={second * SECOND + SECOND // 2} period=1 id=1" for address in (PLACE + 4, PLACE + 20, OTHER + 8)]
    lines += [f"mmap2 pid={PID} tid={PID} addr={AREA:#x} len=0x10000 pgoff=0 prot=5 name=//anon time={7 * SECOND}"]
    return lines


NAMES = {1: ["[unknown]"] * 3, 2: ["f", "f", "[unknown]"], 3: ["f", "f", "[unknown]"], 4: ["f", "g", "[unknown]"], 5: ["f", "g", "[unknown]"],
         6: ["f", "g", "f"], 7: ["f", "g", "f"], 8: ["h", "g", "f"], 9: ["h", "g", "f"]}


def names(program, data, **arguments):
    found = {}
    for second, name in re.findall(r"^ *(\d+)\.\d+: +[0-9a-f]+ (\S+)", program("script", "-i", data, "-F", "time,ip,sym", **arguments).stdout, re.M):
        found.setdefault(int(second), []).append(name)
    return found


@pytest.mark.sanitize
@pytest.mark.parametrize("clock", [1, 0], ids=["monotonic", "other clock"])
def test_both_tools_read_it(perf, oracle, tmp_path, clock):
    """The kernel's perf refuses to inject without -k mono, but reads what we put in."""
    data = write(tmp_path / "perf.data", events(clock) + story(tmp_path))
    done = perf("inject", "-j", "-i", data, "-o", tmp_path / "ours")
    assert done.returncode == 0 and not done.stderr, done.stderr
    for tool in (perf, oracle):
        assert names(tool, tmp_path / "ours") == NAMES
        shown = tool("script", "-i", tmp_path / "ours", "--show-mmap-events").stdout
        assert "//anon" not in re.sub("7f1000.*//anon", "", shown) and f"jit-{PID}.dump" not in shown
        maps = re.findall(rf" (\d+\.\d+): PERF_RECORD_MMAP2 {PID}/{PID}: \[0x(\w+)\(0x(\w+)\) @ 0x80 .*jitted-{PID}-(\d)\.so", shown)
        assert maps == [("2.000000", f"{PLACE:x}", "68", "0"), ("4.000123", f"{PLACE + 16:x}", "20", "1"), ("6.000000", f"{OTHER:x}", "68", "0"),
                        ("8.000000", f"{PLACE:x}", "10", "2")]
    if clock:
        assert oracle("inject", "-j", "-i", data, "-o", tmp_path / "theirs", cwd=tmp_path).returncode == 0
        assert names(oracle, tmp_path / "theirs") == NAMES


@pytest.mark.parametrize("target", ["pipe", "file"])
def test_pipes(perf, oracle, tmp_path, target):
    data = write(tmp_path / "perf.data", events() + story(tmp_path), pipe=True)
    with open(data, "rb") as stdin:
        out = subprocess.run([perf.path, "inject", "--jit"] + (["-o", tmp_path / "ours"] if target == "file" else []), stdin=stdin, capture_output=True, cwd=tmp_path,
                             check=True).stdout
    if target == "file":
        assert names(oracle, tmp_path / "ours") == NAMES
        return
    (tmp_path / "ours").write_bytes(out)
    for tool in (perf, oracle):
        assert names(tool, "-", stdin=open(tmp_path / "ours", "rb")) == NAMES


def test_what_is_in_the_files(perf, oracle, tmp_path):
    """Code, symbol, lines, call frame information and build-id, as binutils and the kernel's annotate see them."""
    data = write(tmp_path / "perf.data", events() + story(tmp_path))
    assert perf("inject", "-j", "-b", "-i", data, "-o", tmp_path / "ours").returncode == 0
    image = tmp_path / "ours.jit" / f"jitted-{PID}-0.so"
    lines = subprocess.run(["addr2line", "-e", image, "0x80", "0x83", "0x84", "0x8c", "0x91", "0x9f"], capture_output=True, text=True, check=True).stdout
    assert lines.split() == ["/src/f.c:3", "/src/f.c:3", "/src/f.c:4", "/src/g.c:9", "/src/f.c:5", "/src/f.c:5"]
    for number, name, code in ((0, "f", CODE), (1, "g", CODE), (2, "h", CODE[:16])):
        path = tmp_path / "ours.jit" / f"jitted-{PID}-{number}.so"
        done = subprocess.run(["readelf", "-W", "-hSsn", "--debug-dump=frames", path], capture_output=True, text=True, check=True)
        assert not done.stderr and re.search(rf"0000000000000080 +{len(code)} FUNC .* {name}\n", done.stdout)
        assert ("DW_CFA_def_cfa_register: r6 (rbp)" in done.stdout and "pc=0000000000000080..00000000000000a0" in done.stdout) == (name == "f")
        assert path.read_bytes()[0x80:0x80 + len(code)] == code
        build_id = re.search(r"Build ID: (\w{40})", done.stdout).group(1)
        assert f"{build_id} {path}" in oracle("buildid-list", "-i", tmp_path / "ours").stdout
    listing = oracle("annotate", "--stdio", "-i", tmp_path / "ours", "-s", "g").stdout
    assert "mov" in listing and "push" in listing and "leave" in listing
    # The same code gets the same name, so that it is kept once in caches.
    again = subprocess.run(["readelf", "-n", image], capture_output=True, text=True, check=True).stdout
    assert perf("inject", "-j", "-i", data, "-o", tmp_path / "ours").returncode == 0
    assert subprocess.run(["readelf", "-n", image], capture_output=True, text=True, check=True).stdout == again


def test_other_byte_order(perf, tmp_path):
    dump = jitdump.Dump(PID, time=SECOND, machine=22, order=">")  # s390
    dump.load(2 * SECOND, PLACE, CODE, "f", LINES)
    (tmp_path / f"jit-{PID}.dump").write_bytes(dump.data)
    data = write(tmp_path / "perf.data", events() + process(tmp_path / f"jit-{PID}.dump") + [f"sample ip={PLACE:#x} pid={PID} tid={PID} time={3 * SECOND} period=1 id=1"])
    assert perf("inject", "-j", "-i", data, "-o", tmp_path / "ours").returncode == 0
    done = subprocess.run(["readelf", "-W", "-hSsn", "--debug-dump=decodedline", tmp_path / "ours.jit" / f"jitted-{PID}-0.so"], capture_output=True, text=True, check=True)
    assert not done.stderr and "big endian" in done.stdout and "IBM S/390" in done.stdout and re.search(r"/src/g.c +9 +0x8c", done.stdout)


def test_place_of_the_files(perf, tmp_path):
    """In a folder beside the output, wherever the dump is; what has the name is replaced itself. Names are made of numbers only."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "dumps"
    folder.mkdir()
    dump = jitdump.Dump(PID, time=SECOND)
    dump.load(2 * SECOND, PLACE, CODE, "../../../../../../tmp/evil")
    (folder / f"jit-{PID}.dump").write_bytes(dump.data)
    data = write(tmp_path / "perf.data", events() + process(folder / f"jit-{PID}.dump") + [f"sample ip={PLACE:#x} pid={PID} tid={PID} time={3 * SECOND} period=1 id=1"])
    images = tmp_path / "ours.jit"
    images.mkdir()
    (images / f"jitted-{PID}-0.so").symlink_to(victim)
    done = perf("inject", "-v", "-j", "-i", data, "-o", tmp_path / "ours")
    assert done.returncode == 0 and f"1 files of JIT-compiled code are in {images}" in done.stderr
    assert victim.read_text() == "precious" and stat.S_ISREG((images / f"jitted-{PID}-0.so").lstat().st_mode)
    assert [path.name for path in images.iterdir()] == [f"jitted-{PID}-0.so"] and [path.name for path in folder.iterdir()] == [f"jit-{PID}.dump"]
    # Something that can't be replaced is an error, not a hole in the result.
    (images / f"jitted-{PID}-0.so").unlink()
    (images / f"jitted-{PID}-0.so").mkdir()
    done = perf("inject", "-j", "-i", data, "-o", tmp_path / "ours")
    assert done.returncode == 255 and f"jitted-{PID}-0.so" in done.stderr
    shutil.rmtree(images)
    images.symlink_to(folder)
    done = perf("inject", "-j", "-i", data, "-o", tmp_path / "ours")
    assert done.returncode == 255 and "ours.jit is in the way" in done.stderr and [path.name for path in folder.iterdir()] == [f"jit-{PID}.dump"]


def test_dumps_of_one_number(perf, tmp_path):
    """Of two containers: their code goes into files of different names."""
    lines = events()
    for name, pid in (("a", PID), ("b", PID + 1)):
        (tmp_path / name).mkdir()
        dump = jitdump.Dump(7, time=SECOND)
        dump.load(2 * SECOND, PLACE, CODE, name)
        (tmp_path / name / "jit-7.dump").write_bytes(dump.data)
        lines += process(tmp_path / name / "jit-7.dump", pid) + [f"sample ip={PLACE:#x} pid={pid} tid={pid} time={3 * SECOND} period=1 id=1"]
    data = write(tmp_path / "perf.data", lines)
    assert perf("inject", "-j", "-i", data, "-o", tmp_path / "ours").returncode == 0
    assert sorted(path.name for path in (tmp_path / "ours.jit").iterdir()) == ["jitted-7-0-2.so", "jitted-7-0.so"]
    assert re.findall(r"(\d+)\s+[0-9a-f]+ (\w+)", perf("script", "-i", tmp_path / "ours", "-F", "pid,ip,sym").stdout) == [(str(PID), "a"), (str(PID + 1), "b")]


def test_whose_dumps(perf, tmp_path, root):
    data = write(tmp_path / "perf.data", events() + story(tmp_path))
    shutil.chown(tmp_path / f"jit-{PID}.dump", 12345, 12345)
    done = perf("inject", "-j", "-i", data, "-o", tmp_path / "ours")
    assert "another user" in done.stderr and "no readable jitdump" in done.stderr and not list(tmp_path.rglob("jitted*"))
    done = perf("inject", "-j", "-f", "-i", data, "-o", tmp_path / "ours")
    assert done.returncode == 0 and not done.stderr and len(list(tmp_path.rglob("jitted*"))) == 3


@pytest.mark.sanitize
def test_broken_dumps(perf, tmp_path):
    """Cut short anywhere, numbers that lie: what is good is written, nothing breaks, no file has another name."""
    lines = events() + story(tmp_path)
    whole = (tmp_path / f"jit-{PID}.dump").read_bytes()
    data = write(tmp_path / "perf.data", lines)
    seen = set()
    for cut in [*range(0, 60, 7), *range(60, len(whole), 61)]:
        (tmp_path / f"jit-{PID}.dump").write_bytes(whole[:cut])
        done = perf("inject", "-j", "-i", data, "-o", tmp_path / "ours")
        assert done.returncode == 0, done.stderr
        seen.add(len(list(tmp_path.rglob("jitted*"))))
        shutil.rmtree(tmp_path / "ours.jit", ignore_errors=True)
    assert seen == {0, 1, 2}
    for offset in range(40, len(whole) - 8, 8):
        (tmp_path / f"jit-{PID}.dump").write_bytes(whole[:offset] + struct.pack("<q", -1) + whole[offset + 8:])
        assert perf("inject", "-j", "-b", "-i", data, "-o", tmp_path / "ours").returncode == 0
    for path in tmp_path.rglob("*"):
        assert re.fullmatch(rf"perf\.data|ours(\.old|\.jit)?|jit-{PID}\.dump|jitted-{PID}-\d+\.so", path.name)


def test_without_dumps(perf, tmp_path):
    data = write(tmp_path / "perf.data", events() + [f"sample ip=0x1000 pid={PID} tid={PID} time={SECOND} period=1 id=1"])
    done = perf("inject", "-j", "-i", data, "-o", tmp_path / "ours")
    assert done.returncode == 0 and "no JIT-compiled code" in done.stderr
    assert perf("script", "-i", tmp_path / "ours").stdout == perf("script", "-i", data).stdout
