"""perf import: profiles written by hand from the descriptions of their formats, by others, and by perf export."""
import collections
import csv
import gzip
import io
import json
import os
import pathlib
import random
import re
import resource
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import test_export  # noqa: E402
import protobuf  # noqa: E402


def table(perf, folder, path, *words):
    """Rows of the report, as dictionaries; each event has a head of its own."""
    done = perf("report", "-i", path, "--format", "csv", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [row for row in csv.DictReader(io.StringIO(done.stdout)) if row["event"] != "event"]
    return [{**row, "symbol": re.sub(r"^\[.\] ", "", row.get("symbol") or "")} for row in rows]


def run_import(perf, folder, kind, name, *words, output="perf.data"):
    done = perf("import", kind, name, "-o", output, *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stderr


def samples(perf, folder, path):
    """Of each sample: event, thread and stack, the outermost frame first, and the period."""
    done = perf("export", "ndjson", "-i", path, cwd=folder, text=False)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [(row["event"], row["comm"], tuple(row["stack"]), row["period"]) for row in rows]


def sums(rows):
    found = collections.Counter()
    for _, _, stack, period in rows:
        found[stack] += period
    return found


def check_totals(perf, folder, path, wanted, children=True):
    """The report's rows: a part of all in percent, of each function; with what it calls, too."""
    whole = sum(sums(samples(perf, folder, path)).values())
    rows = table(perf, folder, path, "-s", "sym", "--children" if children else "--no-children")
    found = {row["symbol"]: row["overhead_children" if children else "overhead"] for row in rows}
    assert found == {name: f"{100 * period / whole:.4f}" for name, period in wanted.items()}


# ---- protocol buffers, as pprof has them ----

varint, field = protobuf.encode_varint, protobuf.encode_field


class Pprof:
    """A profile of locations that are (mapping, [(function, file, line), …innermost first])."""

    def __init__(self, types):
        self.strings, self.functions, self.mappings, self.locations, self.out = [""], {}, {}, {}, b""
        for name, unit in types:
            self.out += field(1, field(1, self.string(name)) + field(2, self.string(unit)))

    def string(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def number(self, table, key, base):
        return table.setdefault(key, base + 10 * len(table))

    def location(self, mapping, lines):
        return self.number(self.locations, (self.number(self.mappings, mapping, 3) if mapping else 0, tuple(lines)), 100)

    def sample(self, stack, values, labels=(), packed=True):
        """The stack innermost first."""
        numbers = [self.location(*place) for place in stack]
        message = field(1, b"".join(map(varint, numbers))) if packed else b"".join(field(1, number) for number in numbers)
        message += field(2, b"".join(map(varint, values)))
        for key, value in labels:
            message += field(3, field(1, self.string(key)) + (field(2, self.string(value)) if isinstance(value, str) else field(3, value)))
        self.out += field(2, message)

    def finish(self):
        for (mapping, lines), number in self.locations.items():
            message = field(1, number) + field(2, mapping) + field(3, 0x1000 + number)
            for name, file, line in lines:
                function = self.number(self.functions, (name, file), 7)
                message += field(4, field(1, function) + field(2, line))
            self.out += field(4, message)
        for name, number in self.mappings.items():
            self.out += field(3, field(1, number) + field(5, self.string(name)))
        for (name, file), number in self.functions.items():
            self.out += field(5, field(1, number) + field(2, self.string(name)) + field(4, self.string(file)))
        return self.out + b"".join(field(6, text.encode()) for text in self.strings)


@pytest.mark.parametrize("packed", [False, True])
def test_pprof(perf, tmp_path, packed):
    """As Go writes it: number of samples and CPU time; a location with an inlined function; one without names."""
    profile = Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    main, work = ("/bin/app", [("main.main", "main.go", 10)]), ("/bin/app", [("inner", "work.go", 5), ("main.work", "work.go", 30)])
    other = ("/lib/libother.so", [("other", "other.c", 3)])
    profile.sample([work, main], [3, 30000001], [("thread_id", 8), ("thread", "worker")], packed)
    profile.sample([other, work, main], [1, 10000000], (), packed)
    profile.sample([("/bin/app", []), main], [2, 5], (), packed)
    (tmp_path / "cpu.pb.gz").write_bytes(gzip.compress(profile.finish()))
    assert run_import(perf, tmp_path, "pprof", "cpu.pb.gz") == ""
    shown = table(perf, tmp_path, "perf.data", "-s", "comm,pid,tid,dso,sym", "--no-children", "-n")
    unnamed = f"{0x1000 + 130:#x}"
    assert sorted((row["comm"], row["dso"], row["symbol"], int(row["sample"])) for row in shown) == sorted([
        ("worker", "app", "main.work", 3), ("pprof", "libother.so", "other", 1), ("pprof", "app", unnamed, 2)])
    assert sums(samples(perf, tmp_path, "perf.data")) == {("main.main", "main.work", "inner"): 30000001, ("main.main", unnamed): 5,
                                                          ("main.main", "main.work", "inner", "other"): 10000000}
    check_totals(perf, tmp_path, "perf.data", {"main.work": 30000001, "other": 10000000, unnamed: 5}, children=False)
    lines = perf("script", "-F", "ip,sym,srcline", cwd=tmp_path).stdout
    assert re.search(r"inner.*\n\s+work.go:5.*\n.*main\.work.*\n\s+work.go:30.*\n.*main\.main.*\n\s+main.go:10\b", lines), lines
    assert "cpu" in perf("evlist", cwd=tmp_path).stdout


def test_pprof_of_several_values(perf, tmp_path):
    """A heap profile: each value is an event, and a number of samples isn't told."""
    profile = Pprof([("alloc_objects", "count"), ("alloc_space", "bytes")])
    profile.sample([("", [("make", "", 0)]), ("", [("main", "", 0)])], [4, 4096])
    profile.sample([("", [("main", "", 0)])], [0, 100])
    (tmp_path / "heap.pb").write_bytes(profile.finish())
    run_import(perf, tmp_path, "pprof", "heap.pb")
    assert [(event, stack, period) for event, _, stack, period in samples(perf, tmp_path, "perf.data")] == [
        ("alloc_objects", ("main", "make"), 4), ("alloc_space", ("main", "make"), 4096), ("alloc_space", ("main",), 100)]


SPEEDSCOPE = {
    "$schema": "https://www.speedscope.app/file-format-schema.json",
    "profiles": [
        {"type": "sampled", "weights": [2, 3, 4], "samples": [[0, 1], [0, 1, 1], [0]], "name": "first", "unit": "milliseconds", "startValue": 0, "endValue": 9},
        {"type": "evented", "name": "worker 17/18", "unit": "microseconds", "startValue": 5, "endValue": 50, "events": [
            {"type": "O", "frame": 0, "at": 5}, {"type": "O", "frame": 2, "at": 10}, {"type": "C", "frame": 2, "at": 30.5}, {"type": "C", "frame": 0, "at": 50}]},
        {"type": "sampled", "name": "heap", "unit": "bytes", "startValue": 0, "endValue": 7, "samples": [[2]], "weights": [7]}],
    "shared": {"frames": [{"name": "main", "file": "a.py", "line": 3, "col": 1}, {"name": "r\u00e9cur\"se\\", "file": "b.py"}, {"name": "\ud83d\ude00\tx"}]},
}


@pytest.mark.parametrize("indent", [None, 2])
def test_speedscope(perf, tmp_path, indent):
    (tmp_path / "profile.json").write_text(json.dumps(SPEEDSCOPE, indent=indent))
    assert run_import(perf, tmp_path, "speedscope", "profile.json") == ""
    again, smile = "r\u00e9cur\"se\\", "\U0001f600\tx"
    found = [(event, stack, period) for event, _, stack, period in samples(perf, tmp_path, "perf.data")]
    assert sorted(found) == sorted([
        ("time", ("main", again), 2000000), ("time", ("main", again, again), 3000000), ("time", ("main",), 4000000),
        ("time", ("main",), 5000), ("time", ("main", smile), 20500), ("time", ("main",), 19500), ("bytes", (smile,), 7)])
    assert {row[1] for row in samples(perf, tmp_path, "perf.data")} == {"first", "worker", "heap"}
    assert re.search(r"^\s*worker\s+17/18\s", perf("script", "-F", "comm,pid,tid,event", cwd=tmp_path).stdout, re.MULTILINE)


def test_folded(perf, tmp_path):
    (tmp_path / "in").write_text("# comment\nmain;parse;read 5\nmain;parse 2.6\n\nno weight\nmain;write_[k];down_[i] 4\nmain;java_[j] 1\nmain;work;small_[i] 2\n")
    told = run_import(perf, tmp_path, "folded", "in")
    assert "1 entries were not understood" in told
    assert sums(samples(perf, tmp_path, "perf.data")) == {("main", "parse", "read"): 5, ("main", "parse"): 3, ("main", "write", "down"): 4, ("main", "java"): 1,
                                                          ("main", "work", "small"): 2}
    check_totals(perf, tmp_path, "perf.data", {"parse": 3, "read": 5, "down": 4, "java": 1, "work": 2}, children=False)
    check_totals(perf, tmp_path, "perf.data", {"main": 15, "parse": 8, "read": 5, "write": 4, "down": 4, "java": 1, "work": 2,
                                              "small (inlined)": 2})
    rows = table(perf, tmp_path, "perf.data", "-s", "dso,sym", "--no-children")
    assert {row["symbol"]: row["dso"] for row in rows} == {"parse": "imported", "read": "imported", "work": "imported", "down": "[kernel.kallsyms]",
                                                           "java": "jit"}
    run_import(perf, tmp_path, "folded", "in", "--comm")
    assert {row[1:] for row in samples(perf, tmp_path, "perf.data")} == {("main", ("parse", "read"), 5), ("main", ("parse",), 3),
                                                                         ("main", ("write", "down"), 4), ("main", ("java",), 1),
                                                                         ("main", ("work", "small"), 2)}


def test_folded_of_others(perf, corpus, tmp_path):
    """What goes in comes out, of every text that the scripts of others have made."""
    names = sorted([*corpus.glob("brendangregg+FlameGraph/test/results/*collapsed*.txt"), *corpus.glob("jonhoo+inferno/tests/data/*/results/*.txt")])
    seen = 0
    for name in names:
        wanted = collections.Counter()
        for line in name.read_text(errors="surrogateescape").splitlines():
            match = re.fullmatch(r"([^#].*?) +(\d+)", line)
            if match:
                wanted[tuple(re.sub(r"_\[[kjiw]\]$", "", frame) for frame in match[1].split(";") if frame)] += int(match[2])
        if not wanted or any(ord(c) < 32 for stack in wanted for frame in stack for c in frame):
            continue
        seen += 1
        run_import(perf, tmp_path, "folded", name)
        assert sums(samples(perf, tmp_path, "perf.data")) == wanted, name
    assert seen > 20


@pytest.mark.parametrize("kind", ["folded", "pprof", "speedscope"])
def test_round_trip(perf, tmp_path, kind):
    """Exported and imported: the same totals of each function."""
    test_export.write(tmp_path)
    words = [] if kind == "folded" else ["--show-event", test_export.CLOCK]
    done = perf("export", kind, "--kallsyms", "kallsyms", *words, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run_import(perf, tmp_path, kind, "out", *(["--comm"] if kind == "folded" else []), output="again.data")
    for children in (False, True):
        wanted = collections.Counter()
        for event, _, _, stack, period in test_export.SAMPLES:
            for name in (set(stack.split()) if children else {stack.split()[-1]}) if event == 0 else ():
                wanted[name] += period
        check_totals(perf, tmp_path, "again.data", wanted, children)
    assert {row[1] for row in samples(perf, tmp_path, "again.data")} == {"prog", "helper", "other"}
    assert {row[0] for row in samples(perf, tmp_path, "again.data")} == {"samples" if kind == "folded" else test_export.CLOCK}


def test_diff_and_flamegraph_take_it(perf, tmp_path):
    (tmp_path / "before").write_text("main;quick 10\nmain;slow 90\n")
    (tmp_path / "after").write_text("main;quick 10\nmain;slow 30\n")
    for name in ("before", "after"):
        run_import(perf, tmp_path, "folded", name, output=f"{name}.data")
    diff = perf("diff", "before.data", "after.data", cwd=tmp_path)
    assert diff.returncode == 0 and re.search(r"90\.00%\s+-15\.00%\s+imported\s+\[\.\] slow", diff.stdout), diff.stdout
    graph = perf("flamegraph", "-i", "after.data", "-o", "-", cwd=tmp_path)
    assert graph.returncode == 0 and re.search(r"slow \(1 samples?, 75\.00%\)|slow \(30[^)]*75\.00%\)", graph.stdout), graph.stderr


def test_the_kernels_perf_takes_it(perf, oracle, tmp_path):
    """Without names, which it doesn't look for in the recording; but events, threads and weights are the same."""
    (tmp_path / "in").write_text("main;parse;read 5\nmain;parse 3\n")
    run_import(perf, tmp_path, "folded", "in")
    done = oracle("report", "--stdio", "-s", "comm", "--no-children", "-g", "none", cwd=tmp_path)
    assert done.returncode == 0 and re.search(r"100\.00%\s+folded", done.stdout) and "Event count (approx.): 8\n" in done.stdout, done.stdout + done.stderr


def test_from_a_pipe_and_to_the_default(perf, tmp_path):
    for _ in range(2):
        done = perf("import", "folded", "-", cwd=tmp_path, stdin=None, input="main;a 3\n")
        assert done.returncode == 0, done.stderr
    assert sums(samples(perf, tmp_path, "perf.data")) == {("main", "a"): 3} and (tmp_path / "perf.data.old").exists()


@pytest.mark.parametrize("words, status, sentence", [
    (["xml", "in"], 129, "unknown format 'xml': choose one of folded, pprof, speedscope"),
    (["folded"], 129, "give one file to import"),
    (["folded", "in", "in"], 129, "give one file to import"),
    (["folded", "in", "-o", "-"], 129, "cannot be a stream: give a file with -o"),
    (["folded", "missing"], 255, "missing: No such file"),
    (["folded", "empty"], 255, "empty is empty"),
    (["folded", "json"], 255, "is neither a recording nor folded stacks"),
    (["folded", "two"], 255, "two has two weights a line"),
    (["pprof", "in"], 255, "in is not a pprof profile"),
    (["speedscope", "in"], 255, "in is not a speedscope file"),
    (["speedscope", "json"], 255, "json has no samples: nothing to import"),
    (["pprof", "in", "--comm"], 129, "--comm is for folded stacks; pprof has names of threads of its own"),
    (["speedscope", "json", "--comm"], 129, "--comm is for folded stacks"),
    (["pprof", "zeros"], 255, "zeros cannot be unpacked: it is damaged, or unpacks to more than 2 MB"),
])
def test_refused(perf, tmp_path, words, status, sentence):
    (tmp_path / "in").write_text("main;a 3\n")
    (tmp_path / "two").write_text("main;a 3 4\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "json").write_text('{"shared": {"frames": []}, "profiles": []}')
    (tmp_path / "zeros").write_bytes(gzip.compress(bytes(64 << 20)))
    done = perf("import", *words, cwd=tmp_path)
    assert done.returncode == status and sentence in done.stderr and not done.stdout, done.stderr
    assert not (tmp_path / "perf.data").exists()


def test_list(perf):
    done = perf("import")
    assert done.returncode == 0 and [line.split()[0] for line in done.stdout.splitlines()] == ["folded", "pprof", "speedscope"]


def test_deep_stacks_are_cut(perf, tmp_path):
    (tmp_path / "in").write_text(";".join(f"f{i}" for i in range(20000)) + " 7\n")
    assert "1 stacks are cut" in run_import(perf, tmp_path, "folded", "in")
    done = perf("report", "--stdio", "-g", "none", "--no-children", cwd=tmp_path)
    assert done.returncode == 0 and "f19999" in done.stdout


def test_deeply_inlined(perf, tmp_path):
    """At an address a recording has 256 functions; what is further inside is a function of its own, and nothing loses its name."""
    (tmp_path / "in").write_text("main;" + ";".join(f"f{i}_[i]" for i in range(600)) + " 7\n")
    run_import(perf, tmp_path, "folded", "in")
    [(_, _, stack, period)] = samples(perf, tmp_path, "perf.data")
    assert stack == ("main", *(f"f{i}" for i in range(600))) and period == 7


def test_names_of_mappings(perf, tmp_path):
    """Those that nothing is left of, and one that is longer than a name in a record: functions keep their names."""
    profile = Pprof([("cpu", "nanoseconds")])
    for i, mapping in enumerate(["[", "//", "[]", "/" + "x" * 5000, "[heap]", "/bin/app"]):
        profile.sample([(mapping, [(f"f{i}", "a.go", i)])], [10])
    (tmp_path / "in").write_bytes(profile.finish())
    run_import(perf, tmp_path, "pprof", "in")
    assert {stack for _, _, stack, _ in samples(perf, tmp_path, "perf.data")} == {(f"f{i}",) for i in range(6)}
    assert {row["dso"] for row in table(perf, tmp_path, "perf.data", "-s", "dso")} >= {"imported", "heap", "app"}


def test_self_contained_again(perf, tmp_path):
    """Names that nobody has but the recording are not replaced by what is here."""
    (tmp_path / "in").write_text("main;a 3\n")
    run_import(perf, tmp_path, "folded", "in")
    done = perf("inject", "--self-contained", "-i", "perf.data", "-o", "again.data", cwd=tmp_path)
    assert done.returncode == 0 and "names of its own already" in done.stderr
    assert samples(perf, tmp_path, "again.data") == samples(perf, tmp_path, "perf.data") and "a" in samples(perf, tmp_path, "again.data")[0][2]


def test_a_stream_loses_names(perf, tmp_path):
    """And it is told."""
    (tmp_path / "in").write_text("main;a 3\n")
    run_import(perf, tmp_path, "folded", "in")
    done = perf("inject", "-i", "perf.data", "-o", "-", cwd=tmp_path, text=False)
    assert done.returncode == 0 and b"a stream has no place for the names" in done.stderr
    assert not perf("inject", "-b", "-i", "perf.data", "-o", "file.data", cwd=tmp_path).stderr


def import_bounded(perf, folder, kind, data):
    """With little processor time, memory, and room for what is written."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
        if "ASAN_OPTIONS" not in os.environ:
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    (folder / "in").write_bytes(data)
    return perf("import", kind, "in", cwd=folder, preexec_fn=limit)


def test_a_large_location_in_many_stacks(perf, tmp_path):
    profile = Pprof([("cpu", "nanoseconds")])
    profile.sample([("/bin/app", [("f", "a.go", 1)])] * 5000, [10])
    number = next(iter(profile.locations.values()))
    large = field(4, field(1, number) + field(9, 1) * (2 << 20))
    done = import_bounded(perf, tmp_path, "pprof", large + profile.out + b"".join(field(6, text.encode()) for text in profile.strings))
    assert done.returncode == 0, done.stderr


def test_many_mappings_and_processes(perf, tmp_path):
    """Each process has the mappings that its stacks go through."""
    profile = Pprof([("cpu", "nanoseconds")])
    for i in range(6000):
        profile.sample([(f"m{i}", [(f"f{i}", "a.go", 1)])], [10], [("pid", i + 1)])
    done = import_bounded(perf, tmp_path, "pprof", profile.finish())
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "perf.data").stat().st_size < 8 << 20
    rows = samples(perf, tmp_path, "perf.data")
    assert {stack for _, _, stack, _ in rows} == {(f"f{i}",) for i in range(6000)}


def test_a_value_that_stands_for_many_deep_stacks(perf, tmp_path):
    profile = Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    profile.sample([("/bin/app", [("f", "a.go", 1)])] * 7000, [4000000, 4000000])
    done = import_bounded(perf, tmp_path, "pprof", profile.finish())
    assert done.returncode == 0, done.stderr
    assert [row[3] for row in samples(perf, tmp_path, "perf.data")] == [4000000]


def test_many_events(perf, tmp_path):
    """Each profile may have one of its own: beyond a bound they are taken for the first, and it is told."""
    profiles = [{"type": "sampled", "name": f"e{i}: x 1/2", "unit": "none", "samples": [[0]], "weights": [1]} for i in range(2000)]
    done = import_bounded(perf, tmp_path, "speedscope", json.dumps({"shared": {"frames": [{"name": "f"}]}, "profiles": profiles}).encode())
    assert done.returncode == 0 and "976 entries were not understood" in done.stderr
    rows = samples(perf, tmp_path, "perf.data")
    assert len(rows) == 2000 and len({row[0] for row in rows}) == 1024


def test_many_samples_of_deep_stacks(perf, tmp_path):
    """Told before anything is written."""
    opened = [{"type": "O", "frame": 0, "at": i} for i in range(8000)]
    changed = [{"type": "OC"[i % 2], "frame": 0, "at": 8000 + i} for i in range(150000)]
    profile = {"type": "evented", "name": "x", "unit": "none", "startValue": 0, "endValue": 200000, "events": opened + changed}
    done = import_bounded(perf, tmp_path, "speedscope", json.dumps({"shared": {"frames": [{"name": "f"}]}, "profiles": [profile]}).encode())
    assert done.returncode == 255 and "GB in a recording, and 8 GB is the most" in done.stderr, done.stderr
    assert not (tmp_path / "perf.data").exists()


@pytest.mark.sanitize
@pytest.mark.parametrize("kind", ["folded", "pprof", "speedscope"])
def test_damaged_profiles(perf, tmp_path, kind):
    """Bytes changed, cut out and put in: an error or a recording that can be read, never a signal."""
    chance = random.Random(kind)
    profile = Pprof([("samples", "count"), ("cpu", "nanoseconds")])
    for i in range(8):
        profile.sample([("/bin/app", [(f"f{i}", "a.go", i), ("main", "a.go", 1)])], [1, 1000 + i], [("pid", 5), ("comm", "x")])
    whole = {"folded": b"main;a_[k];b 3\nmain;c_[i] 4\nx 1\n" * 3, "pprof": profile.finish(), "speedscope": json.dumps(SPEEDSCOPE).encode()}[kind]
    imported = 0
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data))
            how = chance.randrange(3)
            if how == 0:
                data[at] = chance.choice([0, 0x7f, 0x80, 0xff, data[at] ^ 1 << chance.randrange(8)])
            elif how == 1:
                del data[at:at + chance.randint(1, 9)]
            else:
                data[at:at] = data[at:at + chance.randint(1, 9)]
        (tmp_path / "in").write_bytes(data)
        done = perf("import", kind, "in", "-o", "out.data", cwd=tmp_path)
        assert done.returncode in (0, 255), done
        if not done.returncode:
            imported += 1
            assert perf("report", "--stdio", "-i", "out.data", cwd=tmp_path, text=False).returncode == 0
    assert imported
