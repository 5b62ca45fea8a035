"""Tables of names in recordings that somebody else has made: whatever is in them takes bounded time and memory, and never ends a command."""
import os
import pathlib
import random
import resource
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import protobuf  # noqa: E402
import recording  # noqa: E402

FEATURE, PLACE = 240, 72 + 240 // 8  # the bit's byte in the file's head
MEMORY = 1 << 30
SANITIZED = "ASAN_OPTIONS" in os.environ
COMMANDS = [["report", "--stdio", "-v"], ["script", "-F", "+srcline,+srccode,+insn"], ["annotate", "--stdio"], ["flamegraph", "-o", "-"], ["report", "--header-only"]]
HEAD = ("event cpu-clock type=1 config=0 ids=1 freq=1000 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN flags=sample_id_all,comm,task\n"
        "comm pid=1 tid=1 name=prog\nmmap pid=1 tid=1 addr=0x1000 len=0x10000 pgoff=0 misc=2 name=/bin/prog\n")


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def unzstd(data):
    return subprocess.run(["zstd", "-q", "-d", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def sections(data):
    """Where each feature's entry in the table of sections is."""
    offset, size = struct.unpack_from("<QQ", data, 40)
    bits = int.from_bytes(data[72:104], "little")
    return {feature: offset + size + 16 * i for i, feature in enumerate(f for f in range(256) if bits >> f & 1)}


def table_of(data):
    offset, size = struct.unpack_from("<QQ", data, sections(data)[FEATURE])
    return unzstd(data[offset + 16:offset + size])


def with_section(data, section):
    """The recording with another table, at its end."""
    data = bytearray(data)
    struct.pack_into("<QQ", data, sections(data)[FEATURE], len(data), len(section))
    return bytes(data) + section


def with_table(data, table):
    return with_section(data, struct.pack("<QQ", 1, len(table)) + zstd(table))


def run_bounded(perf, *words, **arguments):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return perf(*words, preexec_fn=limit, text=False, **arguments)


@pytest.fixture(scope="module")
def whole(perf, live, tmp_path_factory):
    """A program's recording with unwinding, inlined functions, code and text in its table."""
    folder = tmp_path_factory.mktemp("whole")
    source = pathlib.Path(__file__).resolve().parent.parent / "export/inlined.cc"
    subprocess.run(["g++", "-O2", "-g", "-o", "prog", source], cwd=folder, check=True)
    done = perf("record", "-N", "--self-contained", "-F", "500", "--call-graph", "dwarf,4096", "-o", "perf.data", "--", "./prog", "60", cwd=folder)
    assert done.returncode == 0, done.stderr
    return (folder / "perf.data").read_bytes()


MAGIC = b"carried\0" + protobuf.encode_varint(1)
MANY = 60 << 20
BOMBS = {
    "not compressed": struct.pack("<QQ", 1, 1000) + bytes(1000),
    "cut": struct.pack("<QQ", 1, 1000) + zstd(bytes(1000))[:-3],
    "shorter than it says": struct.pack("<QQ", 1, 1000) + zstd(bytes(999)),
    "longer than it says": struct.pack("<QQ", 1, 1000) + zstd(bytes(1001)),
    "larger than may be": struct.pack("<QQ", 1, 1 << 40) + zstd(bytes(1 << 20)),
    "another version": struct.pack("<QQ", 2, 5) + zstd(bytes(5)),
    "nothing": b"",
    "zeros": struct.pack("<QQ", 1, MANY) + zstd(bytes(MANY)),
    "texts": struct.pack("<QQ", 1, MANY) + zstd(MAGIC + protobuf.encode_varint(MANY // 2) + bytes(MANY - len(MAGIC) - len(protobuf.encode_varint(MANY // 2)))),
    "many texts": struct.pack("<QQ", 1, MANY) + zstd(MAGIC + protobuf.encode_varint(MANY - 100) + bytes(MANY - len(MAGIC) - len(protobuf.encode_varint(MANY - 100)))),
    "lists": struct.pack("<QQ", 1, MANY) + zstd((MAGIC + protobuf.encode_varint(0) + protobuf.encode_varint(2) + protobuf.encode_varint(1 << 60)).ljust(MANY, b"\x01")),
    "numbers without end": struct.pack("<QQ", 1, MANY) + zstd(MAGIC.ljust(MANY, b"\xff")),
}


@pytest.mark.parametrize("name", sorted(BOMBS))
def test_no_table(perf, whole, tmp_path, name):
    """Files of this machine are used instead, and it is told."""
    (tmp_path / "perf.data").write_bytes(with_section(whole, BOMBS[name]))
    for words in COMMANDS:
        done = run_bounded(perf, *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert b"own names are damaged" in done.stderr, words


@pytest.mark.sanitize
def test_changed_tables(perf, whole, tmp_path):
    chance, table, read = random.Random("table"), table_of(whole), 0
    for _ in range(40):
        changed = bytearray(table)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(changed)) if chance.random() < 0.5 else chance.randrange(min(len(changed), 3000))
            how = chance.randrange(3)
            if how == 0:
                changed[at] = chance.choice([0, 1, 0x7f, 0x80, 0xff, changed[at] ^ 1 << chance.randrange(8)])
            elif how == 1:
                del changed[at:at + chance.randint(1, 9)]
            else:
                changed[at:at] = changed[at:at + chance.randint(1, 9)]
        (tmp_path / "perf.data").write_bytes(with_table(whole, bytes(changed)))
        words = chance.choice(COMMANDS[:4])
        done = run_bounded(perf, *words, cwd=tmp_path)
        assert done.returncode in (0, 255), (words, done.stderr)
        read += b"own names are damaged" not in done.stderr
    assert read > 5


def test_names_are_made_safe(perf, tmp_path):
    """An escape sequence in a name that a table brings doesn't reach the terminal."""
    (tmp_path / "in").write_bytes(b"main;\x1b]0;evil\x07\x1b[2Jbad 7\n")
    assert perf("import", "folded", "in", cwd=tmp_path).returncode == 0
    for words in (["report", "--stdio", "-v"], ["script"], ["annotate", "--stdio"], ["flamegraph", "-o", "-"]):
        done = perf(*words, cwd=tmp_path, text=False)
        assert b"\x1b" not in done.stdout + done.stderr and b"\x07" not in done.stdout + done.stderr


def test_a_table_without_the_rest(perf, whole, tmp_path):
    """A table of other files than the recording's is none for them."""
    (tmp_path / "other.data").write_bytes(recording.make(HEAD + "sample event=0 id=1 ip=0x1010 pid=1 tid=1 time=1000 cpu=0 period=1 misc=2 chain=user,0x1010\n"))
    done = perf("inject", "--self-contained", "-i", "other.data", "-o", "perf.data", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "perf.data").write_bytes(with_table((tmp_path / "perf.data").read_bytes(), table_of(whole)))
    done = run_bounded(perf, "report", "--stdio", cwd=tmp_path)
    assert done.returncode == 0 and b"main" not in done.stdout
