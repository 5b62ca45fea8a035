"""perf inject against the kernel's perf: both tools read what both have made of the same recording."""
import operator
import pathlib
import re
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import alike  # noqa: E402
import own  # noqa: E402
import recording  # noqa: E402

CHAIN = "IP|TID|TIME|CALLCHAIN|CPU|PERIOD|IDENTIFIER"
SHOWN = ["script", "--show-mmap-events", "--show-task-events"]


def write(path, lines, **options):
    path.write_bytes(recording.make("\n".join(lines), **options))
    return path


def story():
    """Two processes, samples in two files and the kernel, two events; records out of order within rounds."""
    ids = ["feature build_id 00112233445566778899aabbccddeeff00112233 /opt/known"]
    events = [f"event cpu-clock type=1 config=0 freq=1000 sample={CHAIN} ids=1,2 flags=sample_id_all,comm,mmap,mmap2,task",
              f"event page-faults type=1 config=2 freq=1 sample={CHAIN} ids=3,4 flags=sample_id_all"]
    lines = ["mmap pid=-1 tid=0 addr=0xffffffff81000000 len=0x1000000 pgoff=0xffffffff81000000 misc=1 name=[kernel.kallsyms]_text time=0",
             "comm pid=5 tid=5 name=one time=10 id=1 cpu=0"]
    for start, name in ((0x400000, "/opt/known"), (0x500000, "/opt/unhit"), (0x600000, "/opt/caller")):
        lines.append(f"mmap2 pid=5 tid=5 addr={start:#x} len=0x1000 pgoff=0 maj=8 min=1 ino={start} prot=5 flags=2 name={name} time=20 id=1")
    lines.append("fork pid=6 ppid=5 tid=6 ptid=5 time=30 id=1")
    for turn in range(40):
        time = 100 + 100 * turn
        lines.append(f"sample event=0 ip=0x400123 pid=5 tid=5 time={time + 60} cpu=1 period=7 id=2 chain=user,0x400123,0x600010")
        lines.append(f"sample event=1 ip=0xffffffff81000100 pid=6 tid=6 time={time + 50} cpu=0 period=1 id=3 chain=kernel,0xffffffff81000100,user,0x400200 "
                     "misc=1")
        lines.append(f"comm pid=6 tid=6 name=two{turn} time={time + 10} id=1")
        if turn % 3 == 0:
            lines.append("round")
    lines.append("round")
    return ids, events, lines


FORMS = {"file": {}, "compressed": {"compress": True}, "swapped": {"swap": True}}


def whole_story(path, **how):
    ids, events, lines = story()
    return write(path, ids + ["feature event_desc", "feature hostname box", "feature cmdline perf record -g x"] + events + lines, **how)


def inject(program, data, output, *words):
    done = program("inject", *words, "-i", data, "-o", output)
    assert done.returncode == 0, done.stderr
    return output


@pytest.mark.sanitize
@pytest.mark.parametrize("form", FORMS)
def test_goes_through(perf, oracle, tmp_path, form):
    data = whole_story(tmp_path / "perf.data")
    ours = inject(perf, whole_story(tmp_path / "other.data", **FORMS[form]), tmp_path / "ours")
    for tool in (perf, oracle):
        assert tool(*SHOWN, "-i", ours).stdout == tool(*SHOWN, "-i", data).stdout != ""
        if form == "file":
            assert tool("report", "--stdio", "-s", "comm,dso,sym", "-g", "-i", ours).stdout.split("# (Tip")[0] == \
                tool("report", "--stdio", "-s", "comm,dso,sym", "-g", "-i", data).stdout.split("# (Tip")[0]
        assert tool("evlist", "-v", "-i", ours).stdout == tool("evlist", "-v", "-i", data).stdout
    theirs = inject(oracle, data, tmp_path / "theirs")
    assert perf(*SHOWN, "-i", ours).stdout == perf(*SHOWN, "-i", theirs).stdout
    header = oracle("report", "--header-only", "-i", ours).stdout
    assert "# hostname : box" in header and "# cmdline : perf record -g x" in header and "# compressed" not in header
    # Rounds stay, so that readers need no more memory than before.
    assert perf("report", "--stats", "-i", ours).stdout.count("FINISHED_ROUND events:") == 1


@pytest.mark.parametrize("option", ["-b", "--buildid-all"])
def test_build_ids(perf, oracle, tmp_path, option):
    known = tmp_path / "ids"
    known.write_text(f"{'aa' * 20} /opt/caller\n{'bb' * 20} /opt/unhit\n{'cc' * 20} [kernel.kallsyms]\n{'dd' * 20} /opt/elsewhere\n")
    ids, events, lines = story()
    data = write(tmp_path / "perf.data", ids + ["feature event_desc", "feature osrelease another"] + events + lines)
    for words in (["--known-build-ids", f"file://{known}"], ["--known-build-ids", known.read_text().strip().replace("\n", ",")]):
        done = perf("inject", option, *words, "-i", data, "-o", tmp_path / "ours")
        assert done.returncode == 0, done.stderr
        wanted = {"/opt/known": "00112233445566778899aabbccddeeff00112233", "/opt/caller": "aa" * 20, "[kernel.kallsyms]": "cc" * 20}
        if option != "-b":
            wanted["/opt/unhit"] = "bb" * 20
        for tool in (perf, oracle):
            found = dict(reversed(line.split()) for line in tool("buildid-list", "-i", tmp_path / "ours").stdout.splitlines())
            assert found == wanted
            shown = [tool("script", "-F", "comm,tid,time,event,ip", "-i", path).stdout for path in (tmp_path / "ours", data)]
            assert shown[0] == shown[1] != ""


def test_build_ids_of_this_machine(perf, oracle, live, tmp_path):
    done = oracle.record(tmp_path / "perf.data", "-q", "-N", "-B", "-F", "5000", "-g", "--", "ls", "-lR", "/usr/lib")
    if done.returncode:
        pytest.skip(f"nothing can be recorded: {done.stderr[-200:]}")
    ours, theirs = (inject(tool, tmp_path / "perf.data", tmp_path / name, "-b") for tool, name in ((perf, "ours"), (oracle, "theirs")))
    listed = [set(oracle("buildid-list", "-i", path).stdout.splitlines()) for path in (ours, theirs)]
    # Ours has those of the callers' files, too; the oracle's list has the vDSO of its own.
    assert listed[1] and listed[0] >= {line for line in listed[1] if "[vdso]" not in line}
    # Each stack in a line: in what order it shows those of equal shares the oracle doesn't say.
    shown = [oracle("report", "--stdio", "-g", "folded,0", "-i", path).stdout.split("# (Tip")[0].splitlines() for path in (ours, theirs)]
    assert sorted(shown[0]) == sorted(shown[1]) and len(shown[0]) > 100


@pytest.mark.parametrize("target", ["pipe", "file"])
@pytest.mark.parametrize("source", ["file", "pipe"])
def test_pipes(perf, oracle, tmp_path, source, target):
    _, events, lines = story()
    known = ["--known-build-ids", f"{'aa' * 20} /opt/known,{'bb' * 20} /opt/unhit"]
    data = write(tmp_path / "perf.data", ["feature event_desc", "feature osrelease another"] + events + lines, pipe=source == "pipe")
    with open(data, "rb") as stdin:
        out = subprocess.run([perf.path, "inject", "-b", *known] + (["-o", tmp_path / "out"] if target == "file" else []), stdin=stdin,
                             stdout=subprocess.PIPE, check=True).stdout
    if target == "pipe":
        (tmp_path / "out").write_bytes(out)
    for tool in (perf, oracle):
        with open(tmp_path / "out", "rb") as stdin:
            shown = tool(*SHOWN, "-i", "-" if target == "pipe" else tmp_path / "out", stdin=stdin).stdout
        assert len(re.findall("cpu-clock:|page-faults:", shown)) == 80
        assert [line.split()[0] for line in shown.splitlines() if "PERF_RECORD_COMM" in line] == ["one"] + [f"two{turn}" for turn in range(40)]
        with open(tmp_path / "out", "rb") as stdin:
            listed = tool("buildid-list", "-i", "-" if target == "pipe" else tmp_path / "out", stdin=stdin).stdout
        assert f"{'aa' * 20} /opt/known" in listed and "bb" * 20 not in listed



def test_sleep(perf, oracle, live_system, tmp_path):
    """The kernel's own events: without scheduler statistics sched_stat_runtime is there, which both tools take like the others."""
    events = "sched:sched_stat_runtime,sched:sched_switch,sched:sched_process_exit"
    done = oracle.record(tmp_path / "perf.data", "-q", "-a", "-e", events, "-g", "--", "sh", "-c", "for i in 1 2 3 4 5; do sleep 0.02; ls; done")
    if done.returncode:
        pytest.skip(f"tracepoints can't be recorded: {done.stderr[-200:]}")
    ours, theirs = (inject(tool, tmp_path / "perf.data", tmp_path / name, "-s") for tool, name in ((perf, "ours"), (oracle, "theirs")))
    before = perf("script", "-F", "event", "-G", "-i", tmp_path / "perf.data").stdout
    after = perf("script", "-F", "event,period", "-G", "-i", ours).stdout
    assert "sched_stat_runtime" in before and set(re.findall(r"sched:\w+", after)) == {"sched:sched_switch"}
    for tool in (perf, oracle):  # (the oracle's script dies of what it has made itself)
        for words in (["report", "--stdio", "--no-children", "-g", "caller"], ["report", "--stdio", "-s", "comm", "-n", "--show-total-period"]):
            assert tool(*words, "-i", ours).stdout.split("# (Tip")[0] == tool(*words, "-i", theirs).stdout.split("# (Tip")[0]
    assert perf("script", "-i", ours).stdout == perf("script", "-i", theirs).stdout


HAND_OVER = """
import os, time
def spin(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
def sleeps(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "S"
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
for _ in range(3):
    get, put = os.pipe()
    pid = os.fork()
    if not pid:
        os.read(get, 1)
        os._exit(0)
    while not sleeps(pid):
        os.sched_yield()
    spin(0.02)
    os.write(put, b"x")
    os.waitpid(pid, 0)
"""
SWITCH = re.compile(r"(\d+)\.(\d{9}): .*sched_switch: .*prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> .*next_pid=(\d+) ")
WAKING = re.compile(r"(\d+)\.(\d{9}): .*sched_wak\w+: .* pid=(\d+) prio=")


def sleeps_of(text):
    """(thread, end, length) of each sleep that ends, by the events as the kernel's perf prints them."""
    begun, found = {}, []

    def wake(pid, now):
        if pid in begun:
            found.append((pid, now, now - begun.pop(pid)))
    for line in text.splitlines():
        if match := SWITCH.search(line):
            now = int(match[1]) * 10**9 + int(match[2])
            begun.pop(match[3], None)
            if match[4] in ("S", "D") and match[3] != "0":
                begun[match[3]] = now
            wake(match[5], now)
        elif match := WAKING.search(line):
            wake(match[3], int(match[1]) * 10**9 + int(match[2]))
    return found


@pytest.mark.parametrize("events", ["sched:sched_switch", "sched:sched_switch,sched:sched_waking"])
def test_sleep_without_statistics(perf, oracle, live_system, tracefs, tmp_path, events):
    """Kernels without scheduler statistics: from leaving the CPU asleep until the wake-up, or until the task is back where that isn't recorded."""
    path = tmp_path / "perf.data"
    done = perf("record", "-o", path, "-q", "-a", "-m", "32M", "-e", events, "-g", "--", sys.executable, "-c", HAND_OVER)
    assert done.returncode == 0, done.stderr
    own.drop_kernel_code(path) # neighbours stay: a switch to one of ours may be theirs
    expected = sleeps_of(oracle("script", "--ns", "-G", "-F", "time,event,trace", "-i", path).stdout)
    after = inject(perf, path, tmp_path / "slept", "-s")
    shown = perf("script", "--ns", "-G", "-F", "tid,time,period,event", "-i", after).stdout
    found = re.findall(r"^ *(\d+) +(\d+)\.(\d{9}): +(\d+) +sched:sched_switch:", shown, re.MULTILINE)
    assert sorted((tid, int(seconds + nanoseconds), int(period)) for tid, seconds, nanoseconds, period in found) == sorted(expected)
    assert len([sleep for sleep in expected if sleep[2] >= 20_000_000]) >= 3


SWITCH_FIELDS = "prev_comm/16,prev_pid/4,prev_prio/4,prev_state/8,next_comm/16,next_pid/4,next_prio/4"


@pytest.mark.sanitize
@pytest.mark.parametrize("seen,told", [(0, "No sleep both begins and ends"), (1, "2 of 3 sleeps are missing: their ends were not recorded"), (3, None)])
def test_sleeps_without_an_end(perf, tmp_path, seen, told):
    """A recording of a command has a switch back to one of its threads only when another of them ran before."""
    def switch(time, cpu, prev, state, following):
        raw = recording.raw_of(7, SWITCH_FIELDS, "prev", prev, 120, state, "next", following, 120)
        return f"sample ip=0xffffffff81000100 pid={prev} tid={prev} time={time} cpu={cpu} period=1 chain=kernel,0xffffffff81000100,user,0x400{prev:03} raw={raw}"
    lines = [f"tracepoint sched:sched_switch id=7 fields={SWITCH_FIELDS}", "event sched:sched_switch type=2 config=7 period=1 sample=IP|TID|TIME|CPU|PERIOD|CALLCHAIN|RAW flags=sample_id_all,comm ids=1"]
    for i in range(3):
        lines += [switch(1000 * i + 100, 0, 70, 1, 0), *([switch(1000 * i + 600, 0, 71, 0, 70)] if i < seen else [])]
    lines.append(switch(5000, 0, 70, 0, 0))
    done = perf("inject", "-s", "-i", write(tmp_path / "perf.data", lines), "-o", tmp_path / "slept")
    assert done.returncode == 0 and (told is None and not done.stderr or told in done.stderr and "perf record -a -e sched:sched_switch,sched:sched_waking" in done.stderr), done.stderr
    shown = perf("script", "-F", "tid,period,ip", "-i", tmp_path / "slept").stdout.split()
    assert shown == ["70", "500", "ffffffff81000100", "400070"] * seen


def test_sleep_needs_switches(perf, live, tmp_path):
    """Advice names what there is."""
    path = tmp_path / "perf.data"
    assert perf("record", "-q", "-e", "page-faults", "-o", path, "true").returncode == 0
    done = perf("inject", "-s", "-i", path, "-o", tmp_path / "out")
    assert done.returncode and "sched:sched_switch,sched:sched_waking" in done.stderr and "sched_stat" not in done.stderr


def test_kernel_symbols_of_inject(perf, live, tmp_path):
    """Nothing that is put in has names: a list of them changes nothing, which -v tells; the image has a build-id."""
    path = tmp_path / "perf.data"
    assert perf("record", "-q", "-e", "page-faults", "-o", path, "true").returncode == 0
    assert perf("inject", "-b", "-i", path, "-o", tmp_path / "plain").returncode == 0
    done = perf("inject", "--kallsyms", "/no/list", "-b", "-i", path, "-o", tmp_path / "out")
    assert done.returncode == 0 and not done.stderr and (tmp_path / "out").read_bytes() == (tmp_path / "plain").read_bytes()
    assert "/no/list isn't read" in perf("inject", "-v", "--kallsyms", "/no/list", "-b", "-i", path, "-o", tmp_path / "out").stderr
    assert perf("inject", "-b", "-k", "/nowhere", "-i", path, "-o", tmp_path / "out").returncode
    assert perf("inject", "-b", "-k", "/nowhere", "--ignore-vmlinux", "-i", path, "-o", tmp_path / "out").returncode == 0


@pytest.mark.sanitize
@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
@pytest.mark.parametrize("option", ["-B", "--mmap2-buildid-all"])
def test_build_ids_in_maps(perf, oracle, tmp_path, option, pipe):
    """Maps that cover parts of others, that are inherited, that samples of one process hit and not those of another; what is unhit is dropped by -B."""
    _, events, lines = story()

    def at(time, address, pid=5):
        return f"sample event=0 ip={address:#x} pid={pid} tid={pid} time={time} cpu=1 period=7 id=2 chain=user,{address:#x}"

    lines += [at(10000, 0x400800), "mmap2 pid=5 tid=5 addr=0x400400 len=0x200 pgoff=0 maj=8 min=1 ino=77 prot=5 flags=2 name=/opt/middle time=10010 id=1",
              at(10020, 0x400800), at(10030, 0x400100, 6), at(10040, 0x400500, 6), "fork pid=7 ppid=5 tid=7 ptid=5 time=10050 id=1", at(10060, 0x400500, 7),
              at(10070, 0x400500), at(10080, 0x400700), "mmap pid=5 tid=5 addr=0x800000 len=0x1000 pgoff=0 name=//anon time=10090 id=1", at(10100, 0x800010),
              "mmap pid=8 tid=8 addr=0x900000 len=0x1000 pgoff=0x5000 name=/opt/old time=10110 id=1", at(10120, 0x900010, 8)]
    known = {"/opt/known": "aa" * 20, "/opt/middle": "bb" * 20, "/opt/old": "cc" * 20, "/opt/unhit": "dd" * 20}
    data = write(tmp_path / "perf.data", ["feature event_desc", "feature osrelease another"] + events + lines, pipe=pipe)
    words = [option, "--known-build-ids", ",".join(f"{number} {name}" for name, number in known.items())]
    with open(data, "rb") as stdin:
        (tmp_path / "ours").write_bytes(subprocess.run([perf.path, "inject", *words], stdin=stdin, capture_output=True, check=True).stdout)
    for tool in (perf, oracle):
        shown = [tool("script", "-F", "comm,tid,time,event,ip,sym,dso", "-i", "-", stdin=open(path, "rb")).stdout for path in (data, tmp_path / "ours")]
        if pipe:
            assert shown[0] == shown[1] != ""
        maps = re.findall(r"MMAP2.*\[(0x\w+)\((0x\w+)\) @ (\S+) <(\w+)>\]: \S+ (\S+)",
                          tool("script", "--show-mmap-events", "-i", "-", stdin=open(tmp_path / "ours", "rb")).stdout)
        assert all(known[name] == number for *_, number, name in maps)
        assert {name for *_, name in maps} == set(known) - ({"/opt/unhit"} if option == "-B" else set())
        assert ("0x900000", "0x1000", "0x5000", "cc" * 20, "/opt/old") in maps
        assert (option == "-B") == (("0x400600", "0xa00", "0x600", "aa" * 20, "/opt/known") in maps)
    assert perf("script", "-F", "comm,tid,time,event,ip,sym,dso", "-i", data).stdout == perf("script", "-F", "comm,tid,time,event,ip,sym,dso", "-i", "-",
                                                                                            stdin=open(tmp_path / "ours", "rb")).stdout


def feature(path, number):
    """The bytes of a header feature of a file."""
    data = path.read_bytes()
    header = struct.unpack_from("<13Q", data)
    table = header[5] + header[6]
    for place, bit in enumerate(bit for bit in range(64) if header[9] >> bit & 1):
        if bit == number:
            offset, size = struct.unpack_from("<QQ", data, table + 16 * place)
            return data[offset:offset + size]
    return None


@pytest.mark.sanitize
@pytest.mark.parametrize("form", ["file", "stream", "cut"])
def test_hardware_trace(perf, oracle, tmp_path, form):
    """What follows a record without being counted in its size goes through, and the header's index finds it; a stream leaves it out with a word."""
    AUXTRACE, INDEX = 71, 18
    trace = bytes(range(64))
    fields = struct.pack("<QQQIIII", len(trace) if form != "cut" else 1 << 40, 0, 0, 0, 5, 0, 0)
    _, events, lines = story()
    lines.insert(30, f"record type={AUXTRACE} misc=0 size=48 data={(fields + trace).hex()}")
    data = write(tmp_path / "perf.data", ["feature event_desc"] + events + lines, pipe=form == "stream")
    ours = tmp_path / "ours"
    done = subprocess.run([perf.path, "inject", "-i", "-" if form == "stream" else data, "-o", ours], input=data.read_bytes(), capture_output=True,
                          check=True)
    if form == "file":
        count, offset, size = struct.unpack("<QQQ", feature(ours, INDEX))
        assert (count, size) == (1, 48) and ours.read_bytes()[offset:offset + 48 + len(trace)] == struct.pack("<IHH", AUXTRACE, 0, 48) + fields + trace
        assert b"skipped" not in done.stderr
    assert perf("script", "-i", ours).stdout == perf("script", "-i", data).stdout != ""
    if form == "stream":
        assert b"hardware trace" in done.stderr and feature(ours, INDEX) is None
        assert oracle("script", "-F", "comm,tid,time,event,ip", "-i", ours).stdout.count("cpu-clock") == 40


def stacks(program, data, stdin=None):
    """What is shown of stacks, but for the mark of one that was cut off, which chains can't have."""
    text = program("script", "--no-inline", "-F", "comm,tid,time,event,ip,sym,symoff,dso", "-i", data, stdin=stdin).stdout
    return [line for line in text.splitlines() if line.split()[:1] != ["f" * 16]]


@pytest.fixture(scope="module", name="copies")
def copies_fixture(oracle, live, tmp_path_factory):
    path = tmp_path_factory.mktemp("copies") / "perf.data"
    done = oracle.record(path, "-q", "-e", "cpu-clock,page-faults", "-F", "1999", "--call-graph", "dwarf,4096", "--", "ls", "-lR", "/usr/lib")
    if done.returncode:
        pytest.skip(f"stacks can't be copied here: {done.stderr[-200:]}")
    return path


@pytest.mark.parametrize("target", ["file", "pipe"])
def test_chains(perf, oracle, copies, tmp_path, target):
    """Both tools show the same stacks of a small part of the bytes."""
    ours = tmp_path / "ours"
    if target == "file":
        inject(perf, copies, ours, "--convert-callchain")
    else:
        ours.write_bytes(subprocess.run([perf.path, "inject", "--convert-callchain", "-i", copies], capture_output=True, check=True).stdout)
    assert ours.stat().st_size < copies.stat().st_size / 4
    before = stacks(perf, copies)
    assert len([line for line in before if "libc.so" in line]) > 100
    for tool in (perf, oracle):
        after = stacks(tool, ours) if target == "file" else stacks(tool, "-", open(ours, "rb"))
        alike.lines(after, before, same=operator.eq if tool is perf else alike.line)
        assert "REGS_USER" not in tool("evlist", "-v", "-i", ours).stdout
    if target == "file":  # what unwinding has found counts as hit
        inject(perf, copies, tmp_path / "with", "--convert-callchain", "-b", "-B")
        assert stacks(perf, tmp_path / "with") == before


def test_refusals(perf, tmp_path):
    data = write(tmp_path / "perf.data", [f"event cpu-clock type=1 config=0 freq=1000 sample={CHAIN} ids=1 flags=sample_id_all", "feature event_desc"])
    for words, reason in ((["-s"], "perf record -a -e"), (["--convert-callchain"], "--call-graph dwarf"), (["--itrace=q"], "code is always followed"), (["--strip"], "--itrace"), (["--vm-time-correlation"], "never rewritten"),
                          (["--guest-data=x,1"], "No such file"), (["--known-build-ids", "x y"], "-b"), (["-b", "--known-build-ids", "xy z"], "build-id"),
                          (["-b", "--known-build-ids", "file:///nonexistent"], "No such file"), (["-k", "/nonexistent"], "No such file"), (["word"], "-i")):
        done = perf("inject", "-i", data, "-o", tmp_path / "out", *words)
        assert done.returncode and reason in done.stderr and not (tmp_path / "out").exists(), (words, done.stderr)


def test_place_of_the_output(perf, tmp_path):
    """The recording itself: it is kept as .old, as 'record' does it."""
    ids, events, lines = story()
    data = write(tmp_path / "perf.data", ids + ["feature event_desc"] + events + lines)
    shown = perf("script", "-i", data).stdout
    assert perf("inject", "-i", data, "-o", data).returncode == 0
    assert perf("script", "-i", data).stdout == perf("script", "-i", f"{data}.old").stdout == shown != ""
