"""One recording in all its forms: the same text; and what the kernel's perf writes in its forms: the text that it prints of them."""
import itertools
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import pytest

@pytest.fixture(name="perf", scope="module")
def perf_fixture(kernel_form):
    """Stacks in the kernel tool's form."""
    return kernel_form


LIB = pathlib.Path(__file__).resolve().parent.parent / "lib"
sys.path.insert(0, str(LIB))
import alike  # noqa: E402
import recording  # noqa: E402

FORMS = [dict(zip(("swap", "pipe", "compress"), values)) for values in itertools.product((False, True), repeat=3)]


def named(name, event):
    """A recording with a sample of a thread, a program and an event of their own."""
    return (f"event {event} sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,mmap2,comm ids=1 period=1\ncomm pid=4000007 tid=4000007 time=1 name={name}\n"
            f"mmap2 pid=4000007 tid=4000007 addr=0x401000 len=0x1000 pgoff=0x1000 time=2 prot=5 flags=2 name=/nowhere/{name}\n"
            "sample ip=0x401010 pid=4000007 tid=4000007 time=17 period=3\n")


FILE, PIPED = named("file", "cpu-clock type=1 config=0"), named("piped", "page-faults type=1 config=2")


def form_name(form):
    return "-".join(name for name, on in form.items() if on) or "plain"


@pytest.fixture(scope="module")
def text():
    return (LIB / "small.txt").read_text(encoding="utf-8")


@pytest.mark.sanitize
@pytest.mark.parametrize("form", FORMS, ids=form_name)
def test_every_form_says_the_same(perf, tmp_path, text, form):
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.write_bytes(recording.make(text))
    other.write_bytes(recording.make(text, **form))
    words = ["script", "--show-mmap-events", "--show-task-events", "--show-lost-events", "-F", "+brstack,+addr,+period,+data_src"]
    wanted = perf(*words, "-i", plain)
    assert wanted.returncode == 0 and len(wanted.stdout.splitlines()) > 10, wanted.stderr
    assert perf(*words, "-i", other).stdout == wanted.stdout
    # … and through a pipe, whatever the form
    with open(other, "rb") as file:
        piped = subprocess.run(["sh", "-c", 'cat | "$@"', "sh", perf.path, *words, "-i", "-"], stdin=file, capture_output=True, text=True,
                               check=False)
    assert piped.stdout == wanted.stdout


# The same samples: with their whole call chains, and with the user parts in records of their own, as Linux 6.19 writes them: one for two samples of
# one stay in the kernel, one of another thread with the same cookie, and one sample whose record is lost.
CHAINS = """
event cycles type=0 config=0 period=1000 sample=IP|TID|TIME|CALLCHAIN|IDENTIFIER flags=sample_id_all,mmap,comm{flags} ids=1
event dummy type=1 config=9 period=1 sample=IP|TID|TIME|IDENTIFIER flags=sample_id_all,mmap,comm{flags} ids=2
mmap pid=5 tid=5 addr=0x400000 len=0x10000 pgoff=0 time=1 misc=2 name=/bin/none
sample id=1 ip=0xffffffff81000010 misc=1 pid=5 tid=5 time=10 chain=kernel,0xffffffff81000010,0xffffffff81000020,{a}
sample id=1 ip=0xffffffff81000030 misc=1 pid=5 tid=5 time=11 chain=kernel,0xffffffff81000030,{a}
sample id=1 ip=0xffffffff81000040 misc=1 pid=5 tid=6 time=12 chain=kernel,0xffffffff81000040,{b}
{records}
sample id=1 ip=0x400100 pid=5 tid=5 time=30 chain=user,0x400100,0x400200
sample id=1 ip=0xffffffff81000050 misc=1 pid=5 tid=5 time=31 chain=kernel,0xffffffff81000050{lost}
"""
WHOLE = CHAINS.format(flags="", a="user,0x400300,0x400400", b="user,0x400500", records="", lost="")
DEFERRED = CHAINS.format(flags=",defer_callchain", a="deferred,0x700000001", b="deferred,0x700000001", lost=",deferred,0x900000001", records="""
deferred id=2 pid=5 tid=6 cookie=0x700000001 time=20 chain=user,0x400500
deferred id=2 pid=5 tid=5 cookie=0x700000001 time=21 chain=user,0x400300,0x400400
""")


@pytest.mark.sanitize
@pytest.mark.parametrize("form", FORMS, ids=form_name)
def test_call_chains_that_are_completed_later(perf, tmp_path, form):
    whole, deferred = tmp_path / "whole", tmp_path / "deferred"
    whole.write_bytes(recording.make(WHOLE))
    deferred.write_bytes(recording.make(DEFERRED, **form))
    kernel = ["--kallsyms", "/dev/null"]
    for words in (["script"], ["report", "--stdio", "--no-children", "-s", "sym", "-q"], ["report", "--stdio", "--children", "-s", "comm", "-q"],
                  ["flamegraph", "--folded"], ["script", "--max-stack", "2"]):
        wanted = perf(*words, *kernel, "-i", whole)
        assert wanted.returncode == 0 and len(wanted.stdout.splitlines()) > 3, wanted.stderr
        assert perf(*words, *kernel, "-i", deferred).stdout == wanted.stdout
        with open(deferred, "rb") as file:
            piped = subprocess.run(["sh", "-c", 'cat | "$@"', "sh", perf.path, *words, *kernel, "-i", "-"], stdin=file, capture_output=True, text=True,
                                   check=False)
        assert piped.stdout == wanted.stdout
    dump = perf("script", "-D", *kernel, "-i", deferred).stdout
    assert "PERF_RECORD_CALLCHAIN_DEFERRED(IP, 0x2): 5/6: 0x700000001\n... FP chain: nr:2\n" in dump


def piped(tool, data, *words, cwd):
    read, write = os.pipe()
    with os.fdopen(read, "rb") as file:
        os.write(write, data)  # less than a pipe holds
        os.close(write)
        return tool(*words, stdin=file, cwd=cwd)


@pytest.mark.parametrize("words", [["report", "--stdio", "-g", "none"], ["script"], ["evlist"], ["buildid-list"]], ids=" ".join)
def test_a_pipe_is_read_without_being_named(perf, oracle, tmp_path, words):
    """As by the kernel's perf: what comes through standard input, not the perf.data that lies there as well."""
    (tmp_path / "perf.data").write_bytes(recording.make(FILE))
    data = recording.make(PIPED, pipe=True)
    ours, theirs = ([line.rstrip() for line in piped(tool, data, *words, cwd=tmp_path).stdout.splitlines() if line.strip(" #") and "Tip:" not in line]
                    for tool in (perf, oracle))
    assert ours == theirs and re.search("piped|page-faults", "\n".join(ours))
    file = piped(perf, data, *words, "-i", "perf.data", cwd=tmp_path)
    assert file.returncode == 0 and not re.search("piped|page-faults", file.stdout), file.stderr


def test_folded_stacks_from_a_pipe(perf, tmp_path):
    (tmp_path / "perf.data").write_bytes(recording.make(FILE))
    drawn = piped(perf, b"main;piped 3\nmain 1\n", "flamegraph", "--folded", cwd=tmp_path)
    assert drawn.stdout.splitlines() == ["main 1", "main;piped 3"], drawn.stderr


@pytest.mark.parametrize("data", [b"", b"nothing like a recording"])
def test_a_pipe_without_a_recording(perf, tmp_path, data):
    """Who is started with a pipe at standard input hears how to read the file."""
    (tmp_path / "perf.data").write_bytes(recording.make(FILE))
    failed = piped(perf, data, "report", cwd=tmp_path)
    assert failed.returncode != 0 and "standard input (a pipe; -i perf.data reads the file instead): " in failed.stderr
    assert "standard input: " in piped(perf, data, "report", "-i", "-", cwd=tmp_path).stderr


@pytest.fixture(scope="module")
def lister(tmp_path_factory):
    """ls under a name that no neighbour has."""
    return shutil.copy(shutil.which("ls"), tmp_path_factory.mktemp("lister") / "lister")


def record(oracle, path, lister, *words, **arguments):
    done = oracle.record(path, "-q", "-F", "2000", "-g", "-a", *words, "--", lister, "/usr/share/doc", **arguments)
    if done.returncode:
        pytest.skip(f"the kernel's perf can't record this here: {done.stderr.strip()[-200:]}")


@pytest.mark.parametrize("words", [["--threads=cpu"], ["--threads=cpu", "-z"], ["-z"], ["-z1", "-e", "sched:sched_switch,cpu-clock"]],
                         ids=lambda words: " ".join(words))
def test_forms_of_the_kernels_perf(perf, oracle, live_system, tmp_path, lister, words):
    path = tmp_path / "out.data"
    record(oracle, path, lister, *words)
    # Neighbours are still in compressed recordings and in folders.
    for output in (["script", "--comms", "lister"], ["script", "--header", "--comms", "lister"], ["evlist", "-v"]):
        alike.lines(oracle(*output, "-i", path).stdout, perf(*output, "-i", path).stdout, output)


def test_pipe_of_the_kernels_perf(perf, oracle, live_system, tmp_path):
    path = tmp_path / "pipe.data"
    path.write_bytes(oracle.record("-", "-q", "-a", "-g", "-e", "cpu-clock,sched:sched_switch", "--", "ls", "-R", "/usr/share/doc").stdout)
    with open(path, "rb") as ours, open(path, "rb") as theirs:
        mine = perf("script", "-i", "-", stdin=ours)
        other = oracle("script", "-i", "-", stdin=theirs)
    alike.lines(other.stdout, mine.stdout)


PLAIN = """
event cycles type=0 config=0 period=1000 sample=IP|TID|TIME|PERIOD ids=1 size={size} flags={flags}
comm pid=10 tid=10 name=prog
mmap pid=10 tid=10 addr=0x400000 len=0x2000 name=/bin/prog
sample ip=0x400123 pid=10 tid=10 time=1000000000 period=7
sample ip=0x400456 pid=10 tid=10 time=2000000000 period=8
exit pid=10 ppid=1 tid=10 ptid=1
"""


@pytest.mark.parametrize("flags", ["sample_id_all", ""])
@pytest.mark.parametrize("size", [64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 4096])
@pytest.mark.parametrize("form", FORMS[:4], ids=form_name)
def test_attribute_sizes(perf, oracle, tmp_path, form, size, flags):
    """From the oldest attributes to such as nobody knows yet, with and without times in the side-band."""
    path, usual = tmp_path / "some.data", tmp_path / "usual.data"
    path.write_bytes(recording.make(PLAIN.format(size=size, flags=flags), **form))
    usual.write_bytes(recording.make(PLAIN.format(size=112, flags=flags), **form))
    words = ["script", "--show-mmap-events", "--show-task-events"]
    ours = perf(*words, "-i", path)
    assert ours.stdout == perf(*words, "-i", usual).stdout
    if not form["swap"] and size <= 128:
        assert ours.stdout == oracle(*words, "-i", path).stdout


def test_events_of_different_formats(perf, oracle, tmp_path):
    """Each event its own fields; what they share is where the id is."""
    path = tmp_path / "mixed.data"
    path.write_bytes(recording.make("""
event cycles type=0 config=0 period=1000 sample=IDENTIFIER|IP|TID|TIME|CALLCHAIN ids=1
event instructions type=0 config=1 freq=99 sample=IDENTIFIER|IP|TID|TIME|ADDR|CPU|PERIOD|READ read=ID|ENABLED|RUNNING|LOST ids=2
event page-faults type=1 config=2 period=1 sample=IDENTIFIER|IP|TID|TIME|WEIGHT|DATA_SRC ids=3
feature event_desc
comm pid=10 tid=10 name=prog
sample event=0 ip=0x400123 pid=10 tid=10 time=1000000000 chain=user,0x400123,0x400456
sample event=1 ip=0x400124 pid=10 tid=10 time=1000001000 addr=0x77 cpu=1 period=5 read=9 enabled=1 running=1
sample event=2 ip=0x400125 pid=10 tid=10 time=1000002000 weight=3 data_src=0x68100142
"""))
    ours = perf("script", "-i", path)
    assert len(ours.stdout.splitlines()) > 4
    assert ours.stdout == oracle("script", "-i", path).stdout


def sample(number, period, raw):
    body = struct.pack("<QIIQQI", 0x400000 + number % 64, 5, 5, 10 + number, period, len(raw)) + raw
    return struct.pack("<IHH", 9, 2, 8 + len(body)) + body


def large(parts):
    """Runs of samples, large and small ones, with other records in between. What is in the large ones looks like samples too."""
    disguised = bytes(4) + b"".join(sample(i, 1, bytes(4)) for i in range(300))
    others = [struct.pack("<IHH", 68, 0, 8), struct.pack("<IHHQ", 73, 0, 16, 0), struct.pack("<IHHQ", 9, 2, 16, 0x400000),
              struct.pack("<IHHII8s", 3, 0, 24, 9, 9, b"name"), struct.pack("<IHHQQ", 2, 0, 24, 1, 3)]
    for part in range(parts):
        yield from (sample(part * 100 + i, part + 1, disguised if i % 4 == 0 else bytes(4)) for i in range(100))
        yield others[part % 5]


@pytest.mark.sanitize
@pytest.mark.threads
def test_large_recordings_in_which_samples_look_like_many(perf, oracle, tmp_path):
    """They are looked through in pieces, whose beginnings are guessed."""
    path = tmp_path / "perf.data"
    head = bytearray(recording.make("""
event cycles type=0 config=0 period=1000 sample=IP|TID|TIME|PERIOD|RAW flags=mmap,comm ids=1
mmap pid=5 tid=5 addr=0x400000 len=0x100000 pgoff=0 time=1 misc=2 name=/bin/none
"""))
    offset, size = struct.unpack_from("<QQ", head, 40)
    assert offset + size == len(head)
    records = b"".join(large(60))
    assert len(records) > 16 << 20
    struct.pack_into("<Q", head, 48, size + len(records))
    path.write_bytes(head + records)
    stats = perf("report", "--stats", "-i", path)
    assert re.search("SAMPLE events: +6012 ", stats.stdout)
    assert re.search("LOST events: +12 ", stats.stdout) and re.search("COMM events: +12 ", stats.stdout)
    periods = [int(line) for line in perf("script", "-F", "period", "-i", path).stdout.splitlines()]
    assert len(periods) == 6000
    assert f"# Event count (approx.): {sum(periods)}\n" in perf("report", "--stdio", "-i", path).stdout


@pytest.mark.threads
def test_threads_of_which_records_speak_late(perf, oracle, tmp_path):
    """First only samples of a thread, then a map of another thread of its process: one thread or many show the same, which is what the kernel's perf shows."""
    samples = "\n".join(f"sample ip=0x{0x400000 + i:x} misc=2 pid=100 tid={101 + i % 2 * 9} time={{0}}{i:03}" for i in range(400))
    text = f"""
event cycles type=0 config=0 period=1000 sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,comm,mmap2 ids=1
{samples.format(1)}
mmap2 pid=100 tid=102 addr=0x400000 len=0x1000 pgoff=0 time=2000 misc=2 name=/opt/none
comm pid=100 tid=110 name=late time=2001
{samples.format(3)}
"""
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make(text))
    words = ["script", "-F", "comm,tid,time,ip,dso", "-i", path]
    wanted = oracle(*words).stdout
    assert wanted.count("/opt/none") == 400 and wanted.count("late") == 200
    for jobs in ("1", "2", "5"):
        assert perf(*words, "--jobs", jobs).stdout == wanted


def test_types_of_programs_by_their_numbers(perf, oracle, tmp_path):
    """The older program may have the newer types: they are told in the order of their numbers."""
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make("""
feature bpf_btf 900 7 45
event cycles type=0 config=0 period=1000 sample=IP|TID|TIME|PERIOD flags=sample_id_all ids=1
sample ip=0x400000 pid=5 tid=5
"""))
    theirs, ours = [re.findall("# btf info.*", tool("report", "--header-only", "-I", "-i", path).stdout) for tool in (oracle, perf)]
    assert ours == theirs == [f"# btf info of id {number}" for number in (7, 45, 900)]


def test_programs_that_the_kernel_has_dropped(perf, oracle, tmp_path):
    """BPF programs are named where they were, also when they are gone at the end and another one has their place."""
    path = tmp_path / "perf.data"
    path.write_bytes(recording.make("""
event cycles type=0 config=0 period=1000 sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,comm,ksymbol ids=1
ksymbol addr=0xffffffffc0025c64 len=0x100 name=bpf_prog_1_first time=10
sample ip=0xffffffffc0025c74 misc=1 pid=5 tid=5 time=11
ksymbol addr=0xffffffffc0025c64 len=0x100 flags=1 name=bpf_prog_1_first time=20
ksymbol addr=0xffffffffc0025c60 len=0x100 name=bpf_prog_2_second time=30
sample ip=0xffffffffc0025c70 misc=1 pid=5 tid=5 time=31
ksymbol addr=0xffffffffc0025c60 len=0x100 flags=1 name=bpf_prog_2_second time=40
"""))
    wanted = oracle("script", "-F", "time,ip,sym,symoff,dso", "-i", path).stdout
    assert "bpf_prog_1_first+0x10 (bpf_prog_1_first)" in wanted and "bpf_prog_2_second+0x10 (bpf_prog_2_second)" in wanted
    assert perf("script", "-F", "time,ip,sym,symoff,dso", "-i", path).stdout == wanted
    rows = perf("report", "--stdio", "-q", "-s", "sym", "-i", path).stdout
    assert "bpf_prog_1_first" in rows and "bpf_prog_2_second" in rows
