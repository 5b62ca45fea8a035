"""Programs that anybody on the machine can run: what is in their files takes bounded time and memory, and never ends a command."""
import os
import pathlib
import resource
import struct
import subprocess
import sys
import zlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

SANITIZED = "ASAN_OPTIONS" in os.environ  # set by tools/run-tests: address space limits don't go with sanitizers
MEMORY = 1 << 30

def run_bounded(perf, *words, seconds=60, **arguments):
    """Runs a command that may take so much address space and processor time."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return perf(*words, preexec_fn=limit, **arguments)


def doubled_name(levels):
    """A C++ name whose each argument is made of two of the one before it: A<int, int>, A<A<int, int>, A<int, int>>, …"""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    back = ["S" + (digits[i // 36] if i >= 36 else "") + digits[i % 36] + "_" for i in range(levels)]
    return "_Z1fI1AIiiE" + "".join(f"S_I{name}{name}E" for name in back) + "EvT_"


@pytest.mark.parametrize("levels, ending", [(12, None), (22, "...[cut]"), (40, "[too complex to demangle]")])
def test_names_that_stand_for_too_much(perf, tmp_path, levels, ending):
    name = doubled_name(levels)
    (tmp_path / "x.c").write_text(f'int f(void) __asm__("{name}"); int f(void) {{ return 1; }} int main(void) {{ return f(); }}\n')
    subprocess.run(["gcc", "-g0", "-o", "x", "x.c"], cwd=tmp_path, check=True)
    done = run_bounded(perf, "probe", "-x", tmp_path / "x", "-F", "--filter", "*")
    assert done.returncode == 0, done.stderr
    found = [line for line in done.stdout.splitlines() if "A<int, int>" in line or name in line]
    assert len(found) == 1
    if ending:
        assert found[0].endswith(ending) and len(found[0]) < 20000
    else:
        assert found[0] == subprocess.run(["c++filt", "-p", name], capture_output=True, text=True, check=True).stdout.strip()


def sections_of(data):
    """The section headers of a 64-bit file, each as a list, and where their table begins."""
    table, = struct.unpack_from("<Q", data, 0x28)
    count, names = struct.unpack_from("<HH", data, 0x3C)
    headers = [list(struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i)) for i in range(count)]
    start = headers[names][4]
    return headers, [bytes(data[start + header[0]:]).split(b"\0")[0].decode() for header in headers], table


def bomb(path, claimed):
    """Makes all debug sections of a program the same compressed zeros."""
    data = bytearray(path.read_bytes())
    headers, names, table = sections_of(data)
    compressor = zlib.compressobj(1)
    packed = b"".join(compressor.compress(bytes(1 << 20)) for _ in range(claimed >> 20)) + compressor.flush()
    blob = struct.pack("<IIQQ", 1, 0, claimed, 1) + packed
    for i, (header, name) in enumerate(zip(headers, names)):
        if name.startswith(".debug_"):
            header[2], header[4], header[5] = header[2] | 0x800, len(data), len(blob)
            struct.pack_into("<IIQQQQIIQQ", data, table + 64 * i, *header)
    path.write_bytes(data + blob)


@pytest.fixture
def program(tmp_path):
    """A program with debug information and one function, and a recording with a sample in it."""
    (tmp_path / "x.c").write_text("int main(void)\n{\n\tfor (volatile int i = 0; i < 9; i++)\n\t\t;\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-g", "-O1", "-o", "x", "x.c"], cwd=tmp_path, check=True)
    nm = subprocess.run(["nm", "x"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    address = next(int(line.split()[0], 16) for line in nm.splitlines() if line.endswith(" T main"))
    text = ("event cycles:u sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,comm,mmap2\ncomm pid=5 tid=5 name=x time=1\n"
            f"mmap2 pid=5 tid=5 addr=0x{address & ~0xfff:x} len=0x1000 pgoff=0x{address & ~0xfff:x} prot=5 flags=2 time=2 misc=2 "
            f"name={tmp_path / 'x'}\nsample ip=0x{address + 4:x} pid=5 tid=5 time=10 period=1 misc=2\n")
    (tmp_path / "perf.data").write_bytes(recording.make(text))
    return tmp_path


@pytest.mark.sanitize
@pytest.mark.parametrize("words", [["annotate", "--stdio", "main"], ["script", "-F", "ip,sym,srcline"], ["probe", "-L", "main"]])
def test_compressed_sections(perf, program, words):
    bomb(program / "x", 160 << 20)
    where = ["-x", program / "x"] if words[0] == "probe" else ["-f", "-i", program / "perf.data"]
    done = run_bounded(perf, words[0], *where, *words[1:], cwd=program)
    assert "x: ignoring compressed sections" in done.stderr and "limit" in done.stderr
    if words[0] != "probe":
        assert done.returncode == 0 and "main" in done.stdout


def test_compressed_sections_of_compilers(perf, program):
    """What a linker compresses is read as before."""
    plain = perf("script", "-F", "ip,sym,srcline", "-i", program / "perf.data").stdout
    assert "x.c:" in plain
    subprocess.run(["objcopy", "--compress-debug-sections", "x"], cwd=program, check=True)
    done = perf("script", "-F", "ip,sym,srcline", "-f", "-i", program / "perf.data")
    assert done.stdout == plain and not done.stderr


@pytest.mark.parametrize("word", ["man", "mian"])
def test_nearest_function(perf, program, word):
    for words in (["-D", word], ["-L", word]):
        done = perf("probe", "-x", program / "x", *words)
        assert done.returncode and f"{word}: no such function" in done.stderr and "did you mean 'main'?" in done.stderr
    assert "did you mean" not in perf("probe", "-x", program / "x", "-D", "entirely_different").stderr
