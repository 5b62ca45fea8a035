"""perf agent symbolize: frames of stripped files get their names in the database, from wherever the file is found by its build-id."""
import csv
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "lib")]
import recording  # noqa: E402
from test_clickhouse import END, MINUTE, SPAN, create, report, server  # noqa: E402, F401

PROGRAM = r"""
__attribute__((noinline)) int inner(int n) { volatile int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; }
__attribute__((noinline)) int outer(int n) { return inner(n) + 1; }
int main(int count, char **words) { return outer(count) & 1; }
"""
BASE = 0x555555554000


def output_of(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


class Built:
    """A program at /…/prog without its names, and `full`, the same with them."""
    def __init__(self, folder, seed):
        self.path, self.full = folder / f"prog{seed}", folder / f"full{seed}"
        (folder / "prog.c").write_text(PROGRAM + f"int seed = {seed};\n", encoding="ascii")
        subprocess.run(["gcc", "-g", "-O1", "-pie", "-fPIE", "-Wl,--build-id=sha1", "-o", self.full, folder / "prog.c"], check=True)
        subprocess.run(["strip", "-s", "-o", self.path, self.full], check=True)
        self.id = re.search(r"Build ID: ([0-9a-f]{40})", output_of("readelf", "-n", self.full))[1]
        self.symbols = {words[2]: int(words[0], 16) for words in map(str.split, output_of("nm", self.full).splitlines()) if len(words) == 3}
        # One mapping for all, of which the offset in the file is the address: the program's text lies in the file where it lies in memory.
        text = next(line.split() for line in output_of("readelf", "-lW", self.full).splitlines() if "LOAD" in line and "R E" in line)
        self.offset, self.vaddr, self.size = (int(word, 16) for word in (text[1], text[2], text[4]))


def record(folder, program, name):
    start = BASE + program.vaddr
    places = [BASE + program.symbols[word] + 4 for word in ("inner", "outer", "main")]
    text = ("event cpu-clock type=1 config=0 ids=1 freq=1000 sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|CALLCHAIN flags=sample_id_all,comm,task\n"
            f"feature hostname web1\nfeature build_id {program.id} {program.path}\ncomm pid=1 tid=1 name={program.path.name}\n"
            f"mmap2 pid=1 tid=1 addr={start:#x} len={program.size + 0x1000:#x} pgoff={program.offset:#x} prot=5 flags=2 misc=2 name={program.path}\n")
    for number in range(10):
        text += f"sample event=0 id=1 ip={places[0]:#x} pid=1 tid=1 time={1000 + number * MINUTE // 10} cpu=0 period=1000000 misc=2 chain=user,{','.join(map(hex, places))}\n"
    path = folder / name
    path.write_bytes(recording.make(text))
    os.utime(path, (END, END))
    return path


def symbolized(perf, url, *words, **arguments):
    """By build-id: frames, how many were named, from where."""
    done = perf("agent", "symbolize", "--from", url, "--format", "csv", *words, **arguments)
    assert done.returncode == 0, done.stderr
    return {row["build_id"]: (int(row["frames"]), int(row["named"]), row["symbols"]) for row in csv.DictReader(io.StringIO(done.stdout))}


def names(perf, url):
    done = perf("report", "--from", url, "--time", SPAN, "-g", "--format", "folded")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def elsewhere(tmp_path):
    """A home and a cache of nobody: neither the build-id cache nor what was fetched before."""
    return {**{name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}, "HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "fetched"),
            "DEBUGINFOD_CACHE_PATH": str(tmp_path / "fetched")}


def test_names_come_later(perf, server, tmp_path, elsewhere):  # noqa: F811
    """From the build-id cache and from a server of debug files; each file once, and only what has no name."""
    first, second, third = (Built(tmp_path, seed) for seed in range(3))
    url = create(perf, server, "naming")
    for number, program in enumerate((first, second, third)):
        done = perf("agent", "push", "--sink", url, "--label", "service=shop", record(tmp_path, program, f"data{number}"), env=elsewhere)
        assert done.returncode == 0, done.stderr
        program.path.unlink()  # the machine is far away
    before = names(perf, url)
    assert "inner" not in before and before.count("0x") == 9
    found = symbolized(perf, url, env=elsewhere)
    assert {build: numbers[:2] for build, numbers in found.items()} == {program.id: (3, 0) for program in (first, second, third)}
    assert names(perf, url) == before

    added = perf("buildid-cache", "-a", first.full, env=elsewhere)
    assert added.returncode == 0, added.stderr
    place = tmp_path / "debug" / "buildid" / second.id
    place.mkdir(parents=True)
    shutil.copy(second.full, place / "debuginfo")
    shutil.copy(second.full, place / "executable")
    found = symbolized(perf, url, env={**elsewhere, "DEBUGINFOD_URLS": f"file://{tmp_path}/debug/"})
    assert {build: numbers[:2] for build, numbers in found.items()} == {first.id: (3, 3), second.id: (3, 3), third.id: (3, 0)}
    after = names(perf, url)
    assert sorted(line.rpartition(" ")[0].split(";")[1:] for line in after.splitlines() if "inner" in line) == [["main", "outer", "inner"]] * 2
    assert after.count("0x") == 3
    assert list(symbolized(perf, url, env=elsewhere)) == [third.id], "what has names isn't looked for again"

    # The same frames are sent again, on another day: names stay.
    server.ask("INSERT INTO naming.frames SELECT id, day + 1, version + 1, build_id, address, file, '', source, line, kind, inlined FROM naming.frames WHERE function = ''")
    server.ask("OPTIMIZE TABLE naming.frames FINAL")
    assert names(perf, url) == after
    assert list(symbolized(perf, url, env=elsewhere)) == [third.id]


def test_a_file_at_its_path(perf, server, tmp_path, elsewhere):  # noqa: F811
    """That has its names again; a file of another build-id gives none."""
    first, second = Built(tmp_path, 4), Built(tmp_path, 5)
    url = create(perf, server, "naming2")
    for number, program in enumerate((first, second)):
        assert perf("agent", "push", "--sink", url, record(tmp_path, program, f"data{number}"), env=elsewhere).returncode == 0
    shutil.copy(first.full, first.path)
    shutil.copy(first.full, second.path)
    root = tmp_path / "root"
    (root / str(tmp_path).lstrip("/")).mkdir(parents=True)
    assert symbolized(perf, url, "--symfs", root, env=elsewhere)[first.id][1] == 0
    found = symbolized(perf, url, env=elsewhere)
    assert found[first.id] == (3, 3, str(first.path)) and found[second.id][1] == 0
    people = perf("agent", "symbolize", "--from", url, env=elsewhere)
    assert people.returncode == 0 and re.search(rf"^\s+3\s+0\s+{second.id}\s+{re.escape(str(second.path))}\s+\S", people.stdout, re.MULTILINE)


def test_mistakes(perf):
    for words, said in (([], "--from clickhouse://HOST/DATABASE"), (["--from", "http://x/"], "clickhouse://"), (["--from", "clickhouse://127.0.0.1:1/perf"], "127.0.0.1")):
        done = perf("agent", "symbolize", *words)
        assert done.returncode != 0 and said in done.stderr
