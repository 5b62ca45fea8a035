"""perf data convert: the same JSON as the kernel's perf makes, and traces of which babeltrace2 tells the same.

Of the kernel's tool 6.1 it is known:
 - It crashes on recordings that don't tell who made them and on pipes, or writes a trace that can't be read: these are compared with nothing.
 - It has no fields of tracepoints in JSON, which later ones have.
 - In place of a processor's id that isn't recorded it tells its own; in place of the functions of a foreign vdso, those of its own.
 - Bytes above 0x7f become \\uffffffXX, which is no JSON of them.
 - It doesn't name all entries of procedure linkage tables.
 - A weight that came with others (PERF_SAMPLE_WEIGHT_STRUCT) isn't in its traces."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording as made  # noqa: E402

HEAD = """
feature hostname box
feature osrelease 6.1.0
feature version 6.1
feature arch x86_64
feature nrcpus 4
feature cpudesc Some CPU
feature cpuid GenuineIntel,6,1,1
feature cmdline perf record "a  b"
"""
# Of a program of ours: neighbours' files may be others, or gone, when the second tool looks.
EVENTS = {"calls": ["-g", "-e", "cpu-clock,context-switches"], "cpus": ["--sample-cpu", "-d", "-e", "cpu-clock,page-faults"],
          "clock": ["--sample-cpu", "-k", "mono", "-e", "cpu-clock"], "tracepoints": ["--sample-cpu", "-g", "-e", "raw_syscalls:sys_enter,sched:sched_switch,sched:sched_process_exec,task:task_newtask,kmem:kmalloc"]}
LOAD = "import os, subprocess; [subprocess.run(['true']) for i in range(20)]"


@pytest.fixture(scope="module")
def record(perf, live, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")

    def make(name):
        path = folder / f"{name}.data"
        if not path.exists():
            done = perf.record(path, *EVENTS[name], "--", "python3", "-c", LOAD, cwd=folder)
            if done.returncode:
                pytest.skip(f"this machine can't record {EVENTS[name]}: {done.stderr.strip()}")
        return path
    return make


def write(path, text):
    path.write_bytes(made.make(text))
    return path


def to_json(program, path, out):
    done = program("data", "convert", "-f", "-i", path, "--to-json", out)
    assert done.returncode == 0, done.stderr
    out.write_bytes(re.sub(rb',\s*"symbol": "[^"]*@plt",\s*"dso": ".*"', b"", out.read_bytes()))
    return json.loads(out.read_bytes())


def without_fields(document):
    """Fields of tracepoints come behind the call chain."""
    for i, sample in enumerate(document["samples"]):
        names = list(sample)
        document["samples"][i] = {name: sample[name] for name in names[:names.index("callchain") + 1]}
    return document


@pytest.fixture(scope="module")
def babeltrace():
    if not shutil.which("babeltrace2"):
        pytest.skip("babeltrace2 isn't installed")

    def read(folder, *words):
        done = subprocess.run(["babeltrace2", *words, folder], capture_output=True, text=True, errors="surrogateescape", check=False)
        return done.stdout if done.returncode == 0 else None
    return read


def to_ctf(program, path, folder, *words):
    shutil.rmtree(folder, ignore_errors=True)
    return program("data", "convert", "-f", "-i", path, *words, "--to-ctf", folder)


@pytest.mark.parametrize("name", EVENTS)
def test_json_of_recordings(perf, oracle, record, tmp_path, name):
    ours, theirs = to_json(perf, record(name), tmp_path / "ours"), to_json(oracle, record(name), tmp_path / "theirs")
    assert ours["samples"] and without_fields(ours) == theirs
    if name in ("calls", "cpus"):
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_json_of_others(perf, oracle, corpus, tmp_path):
    """Recordings of others, as far as the kernel's perf can convert them; of the rest it is JSON with all samples."""
    compared = 0
    for row in (corpus / "MANIFEST.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        path, kind = row.split("\t")[:2]
        done = perf("data", "convert", "-f", "-i", corpus / path, "--to-json", tmp_path / "ours")
        assert done.returncode in (0, 255), (path, done.stderr)
        if done.returncode or kind != "perf.data":
            continue
        ours = json.loads((tmp_path / "ours").read_bytes())
        assert f"({len(ours['samples'])} samples" in done.stderr
        if oracle("data", "convert", "-f", "-i", corpus / path, "--to-json", tmp_path / "theirs").returncode:
            continue
        theirs = json.loads((tmp_path / "theirs").read_bytes())
        theirs["headers"] = {name: value for name, value in theirs["headers"].items() if name != "cpuid" or name in ours["headers"]}
        for frame in (frame for sample in theirs["samples"] for frame in sample["callchain"] if frame.get("dso") == "[vdso]"):
            del frame["symbol"], frame["dso"]
        assert without_fields(ours) == theirs, path
        compared += 1
    assert compared > 5


def test_json_text(perf, oracle, tmp_path):
    """Names that need escapes, and what a sample may lack."""
    path = write(tmp_path / "x.data", HEAD + """
event cycles:u type=0 config=0 freq=1000 sample=IP|TID|TIME|CPU|CALLCHAIN flags=sample_id_all,mmap,comm ids=1
comm pid=1 tid=1 name='a"\\c\x01\x7f\b\td/'
mmap2 pid=1 tid=1 addr=0x400000 len=0x1000 misc=2 name=/no/such
sample event=0 ip=0x400123 pid=1 tid=1 time=10 cpu=0 chain=kernel,0xffffffff81000000,user,0x400123,0x1
sample event=0 ip=0x400123 pid=-1 tid=-1 time=11 cpu=-1 chain=0x400123
sample event=0 ip=0x400123 pid=7 tid=8 time=0x8000000000000001 cpu=3 chain=guest,0x5
sample event=0 ip=0x400123 pid=7 tid=8 time=0x8000000000000002 cpu=3 chain=
""")
    ours = to_json(perf, path, tmp_path / "ours")
    assert ours == to_json(oracle, path, tmp_path / "theirs") and ours["samples"][0]["comm"] == 'a"\\c\x01\x7f\b\td/'
    path = write(tmp_path / "y.data", HEAD + "event cycles type=0 config=0 freq=1000 sample=IP ids=1\nsample event=0 ip=0x400123\n")
    assert to_json(perf, path, tmp_path / "ours") == to_json(oracle, path, tmp_path / "theirs")


def test_json_of_pipes(perf, tmp_path):
    """A pipe tells less of itself; and what is to be standard output is nothing else."""
    text = HEAD + "event cycles type=0 config=0 freq=1000 sample=IP|TID|TIME ids=1\ncomm pid=1 tid=1 name=é\nsample event=0 ip=0x400123 pid=1 tid=1 time=10\n"
    path = tmp_path / "pipe.data"
    path.write_bytes(made.make(text, pipe=True))
    with open(path, "rb") as file:
        done = perf("data", "convert", "-i", "-", "--to-json", "-", stdin=file)
    document = json.loads(done.stdout)
    assert document["headers"] == {"header-version": 1, "hostname": "box", "os-release": "6.1.0", "arch": "x86_64", "cpu-desc": "Some CPU", "cpuid": "GenuineIntel,6,1,1",
                                   "nrcpus-online": 4, "nrcpus-avail": 4, "perf-version": "6.1", "cmdline": ["perf", "record", "a  b"]}
    assert document["samples"] == [{"timestamp": 10, "pid": 1, "tid": 1, "comm": "é", "callchain": [{"ip": "0x400123"}]}]


def test_json_fields(perf, tmp_path):
    fields = {"id": "7", "fields": "comm/16,pid/4,runtime/8"}
    path = write(tmp_path / "x.data", f"""
tracepoint sched:sched_stat id=7 fields={fields["fields"]}
event sched:sched_stat type=2 config=7 period=1 sample=IP|TID|TIME|RAW ids=1
sample event=0 ip=0x1 pid=1 tid=1 time=10 raw={made.raw_of(7, fields["fields"], 'a"b', -5, 1 << 40)}
""")
    sample = to_json(perf, path, tmp_path / "out")["samples"][0]
    assert list(sample)[-7:] == ["common_type", "common_flags", "common_preempt_count", "common_pid", "field_comm", "field_pid", "runtime"]
    assert (sample["common_type"], sample["field_comm"], sample["pid"], sample["field_pid"]) == ("7", 'a"b', 1, "-5")


def by_time(text):
    """Of what happened in the same nanosecond on several processors babeltrace2 shows any first; without the distances, which depend on that."""
    return sorted(re.sub(r"^(\[[^]]*\]) \(\+[^)]*\)", r"\1", line) for line in text.splitlines())


@pytest.mark.parametrize("words", [[], ["--all"]])
@pytest.mark.parametrize("name", EVENTS)
def test_traces_of_recordings(perf, oracle, record, babeltrace, tmp_path, name, words):
    words = words + ["--tod"] if name == "clock" else words
    ours, theirs = to_ctf(perf, record(name), tmp_path / "ours", *words), to_ctf(oracle, record(name), tmp_path / "theirs", *words)
    assert ours.returncode == theirs.returncode == 0, ours.stderr
    text = babeltrace(tmp_path / "ours", "--clock-date", "--clock-gmt")
    assert text and by_time(text) == by_time(babeltrace(tmp_path / "theirs", "--clock-date", "--clock-gmt"))
    assert ours.stderr.replace("ours", "theirs").splitlines()[:2] == theirs.stderr.splitlines()[-2:]


def events_of(text):
    """Events of several CPUs at one time are in any order."""
    return sorted(re.sub(r" \(\+[^)]*\)", "", line) for line in text.splitlines())


def test_traces_of_others(perf, oracle, corpus, babeltrace, tmp_path):
    compared = 0
    for row in (corpus / "MANIFEST.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        path, kind = row.split("\t")[:2]
        done = to_ctf(perf, corpus / path, tmp_path / "ours", "--all") if kind == "perf.data" else None
        if not done or done.returncode:
            continue
        text = babeltrace(tmp_path / "ours")
        assert text is not None, path
        counted = re.search(r"\((\d+) samples(?:, (\d+) non-samples)?\)", done.stderr)
        assert len(text.splitlines()) == int(counted[1]) + int(counted[2] or 0), path
        theirs = babeltrace(tmp_path / "theirs") if to_ctf(oracle, corpus / path, tmp_path / "theirs", "--all").returncode == 0 else None
        if theirs is not None and (tmp_path / "theirs/metadata").exists():
            assert events_of(theirs) in (events_of(text), events_of(re.sub("perf_weight = [0-9]*, ", "", text))), path
            compared += 1
    assert compared > 5


def test_traces_that_the_kernels_tool_cannot_write(perf, babeltrace, tmp_path):
    """Times, processors, stacks and fields as the text of the recording has them; names that CTF doesn't allow, and those that two fields have."""
    fields = "align/8,pid/4,perf_ip/8,comm/16,string/4"
    path = write(tmp_path / "x.data", f"""
feature event_desc
tracepoint odd:one id=7 fields={fields}
event odd:one type=2 config=7 period=1 sample=IDENTIFIER|IP|TID|TIME|CPU|RAW|CALLCHAIN|WEIGHT_STRUCT ids=1
event out type=1 config=10 period=1 sample=IDENTIFIER|IP|TID|TIME|RAW ids=2
sample event=0 id=1 ip=0x1 pid=1 tid=2 time=1000000010 cpu=3 weight=9 chain=user,0x1,0x2 raw={made.raw_of(7, fields, 5, -6, 7, 'x"' + chr(1), 8)}
sample event=1 id=2 ip=0x4 pid=1 tid=2 time=2000000011 raw=010203040506070809000000
sample event=0 id=1 ip=0x1 pid=1 tid=2 time=0xffffffffffffff00 cpu=4000000000 chain= raw=00000000
""")
    assert to_ctf(perf, path, tmp_path / "trace").returncode == 0
    text = babeltrace(tmp_path / "trace", "--clock-seconds")
    first, second, third = text.splitlines()
    assert first == ("[1.000000010] (+?.?????????) odd:one: { cpu_id = 3 }, { perf_ip = 0x1, perf_tid = 2, perf_pid = 1, perf_id = 1, perf_weight = 9, perf_callchain_size = 3, "
                     "perf_callchain = [ [0] = 0xFFFFFFFFFFFFFE00, [1] = 0x1, [2] = 0x2 ], common_type = 7, common_flags = 0, common_preempt_count = 0, common_pid = 0, "
                     'align = 5, pid = -6, field_perf_ip = 7, comm = "x\\"\\\\x01", string = 8 }')
    assert second.split(": ", 1)[1] == ("out: { cpu_id = 0 }, { perf_ip = 0x4, perf_tid = 2, perf_pid = 1, perf_id = 2, raw_len = 3, raw_data = [ [0] = 0x4030201, [1] = 0x8070605, [2] = 0x9 ] }".split(": ", 1)[1])
    assert "cpu_id = 0" in third and third.startswith("[4611686018.427387903]") and "perf_callchain = [ ]" in third and 'comm = ""' in third
