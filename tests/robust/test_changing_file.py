"""A recording that somebody writes to or cuts short while it is read: no command crashes or hangs, and what was seen is said."""
import os
import pathlib
import random
import shutil
import subprocess
import sys

import pytest


COMMANDS = {
    "report": ["report", "--stdio"],
    "jobs": ["report", "--stdio", "--jobs", "4", "--sort", "comm,pid,dso,sym,cpu"],
    "tasks": ["report", "--tasks"],
    "mmaps": ["report", "--mmaps"],
    "threads": ["report", "-T", "--stdio"],
    "stats": ["report", "--stats"],
    "script": ["script", "--show-mmap-events", "--show-task-events"],
    "dump": ["script", "-D"],
    "annotate": ["annotate", "--stdio"],
    "flamegraph": ["flamegraph", "-o", "/dev/null"],
    "evlist": ["evlist", "-v"],
    "buildid-list": ["buildid-list"],
    "inject": ["inject", "-b", "-o", "/dev/null"],
    "trace": ["trace"],
    "stat": ["stat", "report"],
}
RECORDING = pathlib.Path(__file__).resolve().parent.parent / "lib/recording.py"
SAID = "modified or truncated while it was read"
# Writes to the file given until it is killed: a word after the other becomes something else for a moment.
WRITER = """
import mmap, random, struct, sys
chance = random.Random(int(sys.argv[2]))
with open(sys.argv[1], "r+b") as file:
    memory = mmap.mmap(file.fileno(), 0)
words = [struct.pack("<Q", word) for word in (0, 1, 0xffff, 2**64 - 1, 0xfff8000000000009, 0x0008000000000001, 0x4141414141414141)]
sys.stdout.write("r"); sys.stdout.flush()
while True:
    at = 8 * chance.randrange(64, len(memory) // 8)
    before = memory[at : at + 8]
    memory[at : at + 8] = chance.choice(words)
    memory[at : at + 8] = before
"""


def text():
    """Two events, call chains, processes that come and go; some 400 KB."""
    lines = ["event one type=1 config=0 freq=1000 sample=IP|TID|TIME|ID|CALLCHAIN|PERIOD ids=1 flags=sample_id_all,mmap,comm",
             "event two type=1 config=2 freq=1000 sample=IP|TID|TIME|ID|CALLCHAIN|PERIOD ids=2 flags=sample_id_all", "feature event_desc", "feature nrcpus 4"]
    for i in range(1, 2500):
        pid = 10 + i % 90
        if i % 4 == 0:
            lines.append(f"fork pid={pid} ppid=1 tid={pid} ptid=1 time={i}0 id=1")
            lines.append(f"comm pid={pid} tid={pid} name=name-{i} time={i}1 id=1")
            lines.append(f"mmap2 pid={pid} tid={pid} addr=0x400000 len=0x10000 pgoff=0 prot=5 flags=2 time={i}2 id=1 name=/bin/none-{i % 7}")
        lines.append(f"sample event={i % 2} id={1 + i % 2} ip={0x400000 + i * 8:#x} pid={pid} tid={pid} time={i}5 period=7 chain=user,{0x400000 + i * 8:#x},0x400100,0x400200")
    return "\n".join(lines) + "\n"


def make(folder, content):
    """A recording of the text."""
    (folder / "text").write_text(content)
    subprocess.run([sys.executable, RECORDING, folder / "text", folder / "plain"], check=True)
    return folder / "plain"


@pytest.fixture(scope="session")
def recordings(perf, tmp_path_factory):
    """What each command reads: NAME → path."""
    folder = tmp_path_factory.mktemp("changing")
    found = dict.fromkeys(COMMANDS, make(folder, text()))
    for name, words in (("trace", ["trace", "record"]), ("stat", ["stat", "record"])):
        done = perf(*words, "-o", folder / name, "ls", "-R", "/usr/share/man")
        found[name] = folder / name if done.returncode == 0 and (folder / name).exists() else None
    return found


def check(perf, name, path):
    done = perf(*COMMANDS[name], "-f", "-i", path, text=False)
    assert done.returncode in (0, 255), (name, done.returncode, done.stderr[-2000:])
    assert b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr, done.stderr[-3000:]


@pytest.fixture
def copy(recordings, tmp_path, request):
    name = request.node.callspec.params["name"]
    if not recordings[name]:
        pytest.skip("such a recording can't be made here")
    return lambda: shutil.copy(recordings[name], tmp_path / "perf.data")


@pytest.mark.sanitize
@pytest.mark.parametrize("name", COMMANDS)
def test_somebody_writes(perf, copy, name):
    for seed in range(3):
        path = copy()
        with subprocess.Popen([sys.executable, "-c", WRITER, path, str(seed)], stdout=subprocess.PIPE) as writer:
            try:
                writer.stdout.read(1)
                check(perf, name, path)
            finally:
                writer.kill()


@pytest.mark.sanitize
@pytest.mark.parametrize("name", COMMANDS)
def test_somebody_cuts_it(perf, copy, name):
    chance = random.Random(name)
    for _ in range(4):
        path = copy()
        size = os.path.getsize(path)
        with subprocess.Popen([sys.executable, "-c", "import os, sys, time; sys.stdout.write('r'); sys.stdout.flush(); time.sleep(float(sys.argv[2])); "
                               "os.truncate(sys.argv[1], int(sys.argv[3]))", path, str(chance.random() / 50), str(chance.randrange(size))],
                              stdout=subprocess.PIPE) as cutter:
            cutter.stdout.read(1)
            check(perf, name, path)


@pytest.fixture(scope="session")
def long_recording(tmp_path_factory):
    """Its text is some MB: far more than a pipe holds and than a command makes ready ahead of it."""
    folder = tmp_path_factory.mktemp("long")
    lines = text().split("\n")
    return make(folder, "\n".join(lines[:4] + [line for line in lines[4:] for _ in range(6)]))


@pytest.mark.sanitize
@pytest.mark.parametrize("way", ["cut", "zeros"])
@pytest.mark.parametrize("words", [["script"], ["script", "-D"]], ids=["script", "dump"])
def test_it_is_said(perf, long_recording, tmp_path, words, way):
    """All that was read first waits for its turn, since no round ends. When the first byte comes out of the pipe the rest is overwritten, most of which is still
    to be looked at a second time."""
    path = shutil.copy(long_recording, tmp_path / "perf.data")
    size = os.path.getsize(path)
    with subprocess.Popen([perf.path, *words, "-i", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
        reader.stdout.read(1)
        if way == "cut":
            os.truncate(path, 4096)
        else:
            with open(path, "r+b") as file:
                file.seek(4096)
                file.write(bytes(size - 4096))
        _, said = reader.communicate(timeout=300)
    assert reader.returncode in (0, 255) and SAID in said.decode(), (reader.returncode, said[-2000:])
