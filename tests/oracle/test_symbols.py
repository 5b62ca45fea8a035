"""Names of addresses: every symbol of system libraries and of the kernel, as the kernel's perf names it.

A recording is made up whose samples are at the start, the second byte, the middle, the end and behind each symbol, and at every 256th byte."""
import collections
import pathlib
import shutil
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import alike  # noqa: E402
import recording  # noqa: E402

BASE = 0x7F0000000000
PID = 100


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def string(text):
    data = str(text).encode() + b"\0"
    return data + b"\0" * (-len(data) % 8)


def sample_id(pid, time):
    return struct.pack("<IIQ", pid, pid, time)


def write_recording(path, records, sample_type=7, branch_type=0):
    """One event: cpu-clock with ip, tid and time (or what is asked for); mmap, comm and sample_id_all."""
    flags = 1 << 8 | 1 << 9 | 1 << 18 | 1 << 23
    attr = struct.pack("<IIQQQQQIIQQQ", 1, 112, 0, 1, sample_type, 0, flags, 0, 0, 0, 0, branch_type) + bytes(112 - 80)
    attr += struct.pack("<QQ", 0, 0)
    data = b"".join(records)
    header = struct.pack("<8s8Q", b"PERFILE2", 104, len(attr), 104, len(attr), 104 + len(attr), len(data), 0, 0) + bytes(32)
    path.write_bytes(header + attr + data)


def samples(addresses, misc):
    return [record(9, misc, struct.pack("<QIIQ", address, PID, PID, 1000 + i)) for i, address in enumerate(sorted(addresses))]


def segments(path):
    text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    return [[int(word, 16) for word in line.split()[1:6]] for line in text.splitlines() if line.split()[:1] == ["LOAD"]]


def symbol_addresses(path):
    for flags in ("-P", "-PD"):
        text = subprocess.run(["nm", flags, "--no-demangle", path], capture_output=True, text=True, check=False).stdout
        for line in text.splitlines():
            words = line.split()
            if len(words) >= 3 and words[2]:
                start, size = int(words[2], 16), int(words[3], 16) if len(words) > 3 else 0
                yield from (start, start + 1, start + size // 2, start + size - 1 if size else start, start + size)


def record_file(path, out):
    records = [record(3, 0, struct.pack("<II", PID, PID) + string("x") + sample_id(PID, 1))]
    wanted, parts = set(), segments(path)
    for time, (offset, start, _, filesz, memsz) in enumerate(parts, 2):
        first, last = start & ~0xFFF, (start + memsz + 0xFFF) & ~0xFFF
        where = struct.pack("<IIQQQIIQQII", PID, PID, BASE + first, last - first, offset & ~0xFFF, 8, 1, 5, 0, 5, 2)
        records.append(record(10, 2, where + string(path) + sample_id(PID, time)))
        wanted.update(range(start, start + filesz, 256))
    wanted.update(a for a in symbol_addresses(path) if any(p[1] <= a < p[1] + p[4] for p in parts))
    write_recording(out, records + samples({BASE + address for address in wanted}, 2))
    return len(wanted)


def names(program, path):
    return program("script", "-i", path, "-F", "ip,sym,symoff", timeout=300).stdout.splitlines()


def compare(perf, oracle, path, expect_lines):
    ours, theirs = names(perf, path), names(oracle, path)
    assert len(theirs) == expect_lines
    different = [(a, b) for a, b in zip(ours, theirs) if not alike.line(b, a)]
    # Where symbols overlap, the oracle's answer depends on the shape of its search tree: a handful of addresses.
    assert len(ours) == len(theirs) and len(different) * 5000 <= len(theirs), f"{len(different)} of {len(theirs)}: {different[:10]}"


LIBRARIES = ["libc.so.6", "ld-linux-x86-64.so.2", "libm.so.6", "libstdc++.so.6", "libcrypto.so.3", "libz.so.1", "libelf.so.1"]


@pytest.mark.parametrize("name", LIBRARIES + ["bash", "perf"])
def test_library(perf, oracle, tmp_path, name):
    places = [pathlib.Path("/usr/lib/x86_64-linux-gnu") / name, pathlib.Path("/usr/bin") / name]
    found = next((place.resolve() for place in places if place.exists()), None)
    if not found or not shutil.which("readelf"):
        pytest.skip(f"{name} or readelf is not installed")
    count = record_file(found, tmp_path / "perf.data")
    compare(perf, oracle, tmp_path / "perf.data", count)


def test_compiled(perf, oracle, tmp_path):
    """C++ names, aliases, stripped and with a separate debug file by debug link."""
    if not shutil.which("g++"):
        pytest.skip("no C++ compiler")
    (tmp_path / "x.cc").write_text("""
        #include <map>
        #include <string>
        namespace n { template <class T> struct A { T x; A(T t) : x(t) {} __attribute__((noinline)) T get(const std::string &s) const { return x + s.size(); } }; }
        extern "C" { int one(int i) { return i + 1; } int _one(int) __attribute__((alias("one"))); int weak_one(int) __attribute__((weak, alias("one"))); }
        int operator+(const n::A<int> &a, const n::A<int> &b) { return a.x + b.x; }
        int main(int c, char **v) { std::map<int, std::string> m; m[c] = v[0]; n::A<long> a(c); return a.get(m[c]) + one(c); }
    """)
    for case, commands in {
        "plain": ["g++ -O1 -g -o plain x.cc"],
        "static": ["g++ -O1 -static -o static x.cc"],
        "stripped": ["g++ -O1 -o stripped x.cc", "strip stripped"],
        "linked": ["g++ -O1 -g -Wl,--build-id=none -o linked x.cc", "objcopy --only-keep-debug linked linked.debug",
                   "strip linked", "objcopy --add-gnu-debuglink=linked.debug linked"],
        "fixed": ["g++ -O1 -no-pie -o fixed x.cc"],
        "lld": ["clang++ -O1 -fuse-ld=lld -o lld x.cc"],
    }.items():
        if any(subprocess.run(command.split(), cwd=tmp_path, capture_output=True, check=False).returncode for command in commands):
            continue
        count = record_file(tmp_path / case, tmp_path / "perf.data")
        compare(perf, oracle, tmp_path / "perf.data", count)


def test_kernel(perf, oracle, tmp_path):
    listed = [line.split() for line in pathlib.Path("/proc/kallsyms").read_text().splitlines()]
    text = next((int(words[0], 16) for words in listed if words[2] == "_text"), 0)
    if not text:
        pytest.skip("/proc/kallsyms hides its addresses")
    addresses = {address for words in listed for address in (int(words[0], 16), int(words[0], 16) + 1) if address >= text}
    start = struct.pack("<IIQQQ", 0xFFFFFFFF, 0, text, 0x1000000, text) + string("[kernel.kallsyms]_text") + sample_id(0, 1)
    comm = struct.pack("<II", PID, PID) + string("x") + sample_id(PID, 1)
    write_recording(tmp_path / "perf.data", [record(1, 1, start), record(3, 0, comm)] + samples(addresses, 1))
    compare(perf, oracle, tmp_path / "perf.data", len(addresses))


@pytest.mark.parametrize("moved", [0, 0x1000000])
def test_kernel_files(perf, oracle, tmp_path, moved):
    """A vmlinux (loaded elsewhere than linked) and a module, both made up."""
    if not shutil.which("gcc"):
        pytest.skip("no C compiler")
    (tmp_path / "foo.c").write_text("""
        __attribute__((noinline)) int mod_a(int x) { return x * 3; }
        static __attribute__((noinline, used)) int mod_b(int x) { return mod_a(x) + 1; }
        __attribute__((section(".init.text"))) int mod_init(void) { return mod_b(2); }
        int mod_data[10] = {1};
        struct { char n[64]; } __this_module __attribute__((section(".gnu.linkonce.this_module")));
    """)
    (tmp_path / "vmlinux.c").write_text("""
        void _start(void) {}
        __attribute__((noinline)) int kern_a(int x) { return x + 2; }
        static __attribute__((noinline, used)) int kern_b(int x) { return x * 7; }
        asm(".globl _text\\n.set _text,_start\\n.globl _stext\\n.set _stext,_start");
    """)
    subprocess.run(["gcc", "-O1", "-c", "-o", "foo.ko", "foo.c"], cwd=tmp_path, check=True)
    link = "-O1 -fno-pic -nostdlib -static -no-pie -Wl,-Ttext=0xffffffff81000000 -Wl,--build-id -mcmodel=kernel -o vmlinux vmlinux.c"
    if subprocess.run(["gcc", *link.split()], cwd=tmp_path, check=False).returncode:
        pytest.skip("this compiler cannot link at kernel addresses")
    text, module = 0xFFFFFFFF81000000 + moved, 0xFFFFFFFFC0001000
    records = [
        record(1, 1, struct.pack("<IIQQQ", 0xFFFFFFFF, 0, text, 0x1000000, text) + string("[kernel.kallsyms]_text") + sample_id(0, 1)),
        record(1, 1, struct.pack("<IIQQQ", 0xFFFFFFFF, 0, module, 0x2000, 0) + string(tmp_path / "foo.ko") + sample_id(0, 1)),
        record(3, 0, struct.pack("<II", PID, PID) + string("x") + sample_id(PID, 1)),
    ]
    addresses = {text + i for i in range(0x20)} | {module + i for i in range(0x40)}
    write_recording(tmp_path / "perf.data", records + samples(addresses, 1))
    command = ["script", "-k", tmp_path / "vmlinux", "-i", tmp_path / "perf.data", "-F", "ip,sym,symoff"]
    ours, theirs = perf(*command).stdout, oracle(*command).stdout
    assert ours == theirs and "kern_b+0x1" in ours and "mod_b+0x2" in ours


def stacks(program, path, *options):
    text = program("script", *options, "-i", path, timeout=300).stdout
    return [block.splitlines() for block in text.split("\n\n") if block.strip()]


def own_name(ours, theirs):
    """The kernel's perf takes a function that debug information calls otherwise than the symbol table for an inlined one."""
    return theirs.endswith("(inlined)") and not ours.endswith("(inlined)") and ours.split()[0] == theirs.split()[0]


@pytest.mark.parametrize("inlines", ["--no-inline", "--inline=unwound"])
def test_unwinding(perf, oracle, tmp_path, inlines):
    """User stacks by call frame information: the kernel's perf gives up early or guesses now and then; never are ours shorter than its own,
    and nearly all are the same or continue where it stopped."""
    if not shutil.which("gcc"):
        pytest.skip("no C compiler")
    (tmp_path / "x.c").write_text("""
        #include <math.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        static volatile double s;
        static int cmp(const void *a, const void *b) { for (int i = 0; i < 20; i++) s += sin(i); return *(int *)a - *(int *)b; }
        static inline __attribute__((always_inline)) void more(int n, char *b) { for (int i = 0; i < n; i++) s += b[i] * cos(i); }
        __attribute__((noinline)) static void rec(int n) { char b[n * 16 + 1]; memset(b, n, sizeof b); more(n * 16, b); if (n) { rec(n - 1); s += b[n]; }
            else { int a[256]; for (int i = 0; i < 256; i++) a[i] = rand(); qsort(a, 256, 4, cmp); } }
        static void handler(int sig) { for (int i = 0; i < 100000; i++) s += sqrt(i); }
        int main(void) { signal(SIGUSR1, handler); for (int i = 0; i < 60; i++) { rec(i % 30); if (i % 3 == 0) raise(SIGUSR1); } return 0; }
    """)
    subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-o", "x", "x.c", "-lm"], cwd=tmp_path, check=True)
    done = oracle("record", "-q", "-F", "1000", "--call-graph", "dwarf,16384", "-o", tmp_path / "perf.data", tmp_path / "x")
    if done.returncode:
        pytest.skip(f"recording is not possible here: {done.stderr}")
    kinds = collections.Counter()
    expected = stacks(oracle, tmp_path / "perf.data", inlines.split("=")[0])
    for ours, theirs in zip(stacks(perf, tmp_path / "perf.data", inlines), expected, strict=True):
        theirs = [mine if own_name(mine, line) else line for mine, line in zip(ours, theirs)] + theirs[len(ours):]
        assert ours[0] == theirs[0] and len(ours) >= len(theirs)
        kinds["same" if ours == theirs else "longer" if ours[: len(theirs)] == theirs else "other"] += 1
    assert kinds["same"] > 10 and kinds["other"] * 20 <= kinds.total(), kinds


def test_branch_call_graphs(perf, oracle, tmp_path):
    """Chains whose user part is replaced by a branch stack (LBR), made up; with stacks cut at several depths."""
    library = pathlib.Path("/usr/lib/x86_64-linux-gnu/libc.so.6").resolve()
    listed = pathlib.Path("/proc/kallsyms").read_text().splitlines()
    text = next((int(line.split()[0], 16) for line in listed if line.endswith(" _text")), 0)
    if not text or not library.exists():
        pytest.skip("no C library at its usual place, or /proc/kallsyms hides its addresses")
    kernel_marker, user_marker, user_ip = 2**64 - 128, 2**64 - 512, BASE + 0x26000
    records = [
        record(3, 0, struct.pack("<II", PID, PID) + string("x") + sample_id(PID, 1)),
        record(1, 1, struct.pack("<IIQQQ", 0xFFFFFFFF, 0, text, 0x1000000, text) + string("[kernel.kallsyms]_text") + sample_id(0, 1)),
    ]
    for time, (offset, start, _, _, memsz) in enumerate(segments(library), 2):
        first, last = start & ~0xFFF, (start + memsz + 0xFFF) & ~0xFFF
        where = struct.pack("<IIQQQIIQQII", PID, PID, BASE + first, last - first, offset & ~0xFFF, 8, 1, 5, 0, 5, 2)
        records.append(record(10, 2, where + string(library) + sample_id(PID, time)))
    for i in range(60):
        chain = [kernel_marker] + [text + 0x1000 * (i + k) for k in range(i % 5 + 1)] if i % 3 else []
        chain += [user_marker] + [user_ip + 0x100 * (i + k) for k in range(i % 4 + 1)] if i % 3 != 2 else []
        branches = [(user_ip + 0x111 * (i + k), user_ip + 0x77 * (i * k + 1), 0) for k in range(i % 31 + 1)]
        body = struct.pack("<QIIQQ", chain[1], PID, PID, 1000 + i, len(chain)) + struct.pack(f"<{len(chain)}Q", *chain)
        body += struct.pack("<Q", len(branches)) + b"".join(struct.pack("<3Q", *branch) for branch in branches)
        records.append(record(9, 1 if i % 3 else 2, body))
    write_recording(tmp_path / "perf.data", records, sample_type=7 | 1 << 5 | 1 << 11, branch_type=1 | 1 << 11)
    for depth in (2, 3, 5, 40, 127):
        command = ["--max-stack", depth, "-i", tmp_path / "perf.data"]
        ours, theirs = perf("script", "--inline=unwound", *command).stdout, oracle("script", *command).stdout
        assert ours == theirs and theirs.count("\n") > 100, f"--max-stack {depth}"


STRIPPED = {
    "debug file by build-id": ["objcopy --only-keep-debug x d", "install -D d sym/usr/lib/debug/.build-id/{id:.2}/{rest}.debug"],
    "debug file by path": ["objcopy --only-keep-debug x d", "install -D d sym/usr/lib/debug{path}.debug"],
    "fetched by a debuginfod client": ["objcopy --only-keep-debug x d", "install -D d cache/debuginfod_client/{id}/debuginfo"],
    "mini debug information": ["objcopy -S --keep-symbol=hidden x d", "xz -f d", "objcopy --add-section .gnu_debugdata=d.xz x.stripped"],
    "copy in the build-id cache": ["install -D x home/.debug/.build-id/{id:.2}/{rest}/elf"],
    "nothing": [],
}


@pytest.mark.parametrize("place", STRIPPED)
def test_places(perf, tmp_path, monkeypatch, place):
    """The name of a function of a stripped program, from each place where it can be; never from a file of another build."""
    if not all(shutil.which(tool) for tool in ("gcc", "objcopy", "xz", "readelf")):
        pytest.skip("gcc, objcopy, xz or readelf is missing")
    source = "static __attribute__((noinline)) int hidden(int x) {{ return x * {factor}; }} int main(int c, char **v) {{ return hidden(c); }}"
    start = None
    for factor in (5, 7):  # two builds of one name: what belongs to the second must not be used for the first
        (tmp_path / "x.c").write_text(source.format(factor=factor))
        subprocess.run(["gcc", "-O1", "-Wl,--build-id", "-o", "x", "x.c"], cwd=tmp_path, check=True)
        subprocess.run(["strip", "-o", "x.stripped", "x"], cwd=tmp_path, check=True)
        notes = subprocess.run(["readelf", "-n", "x"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        build_id = notes.split("Build ID:")[1].split()[0]
        if factor == 5:
            recorded_id = build_id
            (tmp_path / "x.stripped").rename(tmp_path / "first")
            (tmp_path / "x").rename(tmp_path / "x.first")
    for use, expected in (("second", False), ("first", True)):
        for name in ("sym", "cache", "home"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        if use == "first":
            (tmp_path / "first").rename(tmp_path / "x.stripped")
            (tmp_path / "x.first").rename(tmp_path / "x")
        path = tmp_path / "x.stripped"
        words = {"id": recorded_id, "rest": recorded_id[2:], "path": path}
        for command in STRIPPED[place]:
            subprocess.run(command.format(**words).split(), cwd=tmp_path, check=True)
        table = subprocess.run(["nm", "x"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        start = next(int(line.split()[0], 16) for line in table.splitlines() if line.endswith(" t hidden"))
        where = struct.pack("<IIQQQ", PID, PID, BASE, 0x1000000, 0) + bytes([20, 0, 0, 0]) + bytes.fromhex(recorded_id) + struct.pack("<II", 5, 2)
        records = [
            record(3, 0, struct.pack("<II", PID, PID) + string("x") + sample_id(PID, 1)),
            record(10, 2 | 1 << 14, where + string(path) + sample_id(PID, 2)),
        ]
        write_recording(tmp_path / "perf.data", records + samples({BASE + start}, 2))
        symfs = tmp_path / "sym"
        if place.startswith("debug file"):
            (symfs / str(path)[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, symfs / str(path)[1:])
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        options = ["--symfs", symfs] if place.startswith("debug file") else []
        lines = names(perf, tmp_path / "perf.data") if not options else perf(
            "script", *options, "-i", tmp_path / "perf.data", "-F", "ip,sym,symoff").stdout.splitlines()
        found = "hidden+0x0" in lines[0]
        assert found == (expected and place != "nothing"), (use, lines)


def test_kernel_that_lies_elsewhere_after_a_reboot(perf, tmp_path):
    """A recording without build-ids, and the list of the same kernel moved by 256 MB, as KASLR does."""
    with open("/proc/kallsyms", encoding="utf-8") as file:
        lines = [line.split(" ", 1) for line in file]
    if not any(int(address, 16) for address, _ in lines):
        pytest.skip("/proc/kallsyms shows no addresses")
    moved = tmp_path / "kallsyms"
    moved.write_text("".join(f"{int(address, 16) + (0x10000000 if int(address, 16) >> 31 == 0x1ffffffff else 0):016x} {rest}" for address, rest in lines))
    data = tmp_path / "perf.data"
    done = perf("record", "-q", "-B", "-e", "cpu-clock:k", "-F", "10000", "-o", data, "--", "ls", "-lR", "/usr/lib")
    if done.returncode:
        pytest.skip(done.stderr)
    plain = perf("script", "-i", data, "-F", "ip,sym").stdout
    assert plain.count("\n") > 5 and plain.count("[unknown]") < plain.count("\n") / 2
    assert perf("script", "-i", data, "-F", "ip,sym", "--kallsyms", moved).stdout == plain


def test_debug_file_of_a_static_program(perf, tmp_path):
    """Debug files don't tell where the contents of the program were: the stripped program does, even if it has no symbol of its own. (The kernel's perf takes
    the debug file's word, and names other functions.)"""
    if not all(shutil.which(tool) for tool in ("gcc", "objcopy", "nm", "readelf")):
        pytest.skip("gcc or binutils is missing")
    (tmp_path / "x.c").write_text("static __attribute__((noinline)) int hidden(int x) { return x * 5; } int main(int c, char **v) { return hidden(c); }")
    subprocess.run(["gcc", "-static", "-g", "-O1", "-no-pie", "-o", "x", "x.c"], cwd=tmp_path, check=True)
    for command in ("objcopy --only-keep-debug x x.debug", "strip -o y x", "objcopy --add-gnu-debuglink=x.debug y"):
        subprocess.run(command.split(), cwd=tmp_path, check=True)
    table = subprocess.run(["nm", "x"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    start = next(int(line.split()[0], 16) for line in table.splitlines() if line.endswith(" t hidden"))
    segments = subprocess.run(["readelf", "-lW", "y"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    offset, address, size = next((int(line.split()[1], 16), int(line.split()[2], 16), int(line.split()[4], 16)) for line in segments.splitlines()
                                 if line.split()[:1] == ["LOAD"] and " R E " in line)
    text = ("event cpu-clock type=1 config=0 sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,mmap2\n"
            f"mmap2 pid=7 tid=7 addr={address:#x} len={size:#x} pgoff={offset:#x} time=2 prot=5 flags=2 name={tmp_path / 'y'}\n"
            f"sample ip={start + 1:#x} pid=7 tid=7 time=5 period=1\n")
    (tmp_path / "perf.data").write_bytes(recording.Maker(text).make())
    done = perf("report", "--stdio", "-s", "sym,srcline", "-i", tmp_path / "perf.data")
    assert "100.00%  [.] hidden  x.c:1" in done.stdout
