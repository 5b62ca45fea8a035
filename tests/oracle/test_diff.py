"""perf diff against the kernel's perf 6.1: the same recordings, many sets of options, line by line.

Recordings are made by hand: in live ones it is chance what is on which processor and in which part of the time, and where the older one has nothing at all the
kernel's perf divides by zero and shows -nan%.

On purpose different: srcline (ours names places without debug information by file and address, the kernel's tool all of them ??:0), keys that the kernel's tool shows
nothing for, and -v, where letters beside addresses are those of our `perf report`."""
import json
import pathlib
import random
import shutil
import subprocess
import sys

import alike
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording

KERNEL = 0xffffffff81000000
KERNEL_FUNCTIONS = ["do_syscall_64", "clear_page_erms", "strncpy_from_user", "handle_softirqs", "ext4_file_getattr", "finish_task_switch", "__schedule"]
FUNCTIONS = {"prog": ["main", "slow", "quick", "old", "new"], "libc.so.6": ["malloc", "__GI___fstatat64", "_int_free"], "stripped": []}
# What takes how much of the time: place, weight in the recording made with the factor 1, weight for each more. What is rare has equals.
TIME = [("prog slow", 300, 300), ("prog quick", 300, 0), ("prog old", 90, -90), ("prog new", 0, 90), ("stripped 0x40", 200, 200), ("stripped 0x80", 3, 0),
        ("libc.so.6 malloc", 5, 0), ("libc.so.6 __GI___fstatat64", 40, 0), ("libc.so.6 _int_free", 1, 1), ("kernel do_syscall_64", 40, 0),
        ("kernel clear_page_erms", 80, 0), ("kernel strncpy_from_user", 5, 0), ("kernel handle_softirqs", 0, 2), ("kernel ext4_file_getattr", 1, 0),
        ("kernel 0x100", 1, 0), ("nowhere 0x10", 1, 0), ("nowhere 0x20", 1, 1)]
FAULTS = [("prog main", 200, 0), ("libc.so.6 malloc", 30, 10), ("stripped 0x40", 200, 0), ("nowhere 0x10", 1, 0)]
SWITCHES = [("kernel __schedule", 50, 0), ("kernel finish_task_switch", 3, 1)]
EVENTS = {"cpu-clock": ("type=1 config=0 freq=2000", TIME, 500000), "page-faults": ("type=1 config=2 freq=2000", FAULTS, 3),
          "sched:sched_switch": ("type=2 config=7 period=1", SWITCHES, 1), "sched:sched_wakeup": ("type=2 config=8 period=1", SWITCHES, 1)}
# name → events, factor, samples; with call chains, if the name has them
RECORDINGS = {
    "a": (["cpu-clock"], 1, 900),
    "b": (["cpu-clock"], 2, 1500),
    "c": (["cpu-clock"], 3, 1000),
    "several": (["cpu-clock", "page-faults"], 1, 1200),
    "group": (["cpu-clock", "page-faults"], 2, 1500),
    "chains": (["cpu-clock"], 1, 400),
    "more-chains": (["cpu-clock"], 2, 700),
    "switches": (["sched:sched_switch", "sched:sched_wakeup"], 1, 90),
    "more-switches": (["sched:sched_switch"], 1, 60),
    "pinned": (["cpu-clock"], 1, 300),
}


def library(folder, name, functions):
    """Each function has 256 bytes. Returns where they are in the file."""
    text = ".text\n" + "".join(f".globl {each}\n.type {each},@function\n.size {each},200\n{each}: .fill 256,1,0x90\n" for each in functions or ["_start"])
    (folder / f"{name}.s").write_text(text)
    subprocess.run(["gcc", "-shared", "-nostdlib", *([] if functions else ["-s"]), "-o", folder / name, folder / f"{name}.s"], check=True)
    headers = subprocess.run(["readelf", "-lW", folder / name], check=True, capture_output=True, text=True).stdout
    return next(int(line.split()[1], 16) for line in headers.splitlines() if "LOAD" in line and " E " in line)


def address_of(place, bases):
    """(address, misc)"""
    where, name = place.split()
    if where == "kernel":
        at = 0x1000 * (1 + KERNEL_FUNCTIONS.index(name)) if name in KERNEL_FUNCTIONS else int(name, 0)
        return KERNEL + at, 1
    return bases[where] + (int(name, 0) if name.startswith("0x") else 256 * FUNCTIONS[where].index(name)), 2


def head(name, events, pid, bases, offsets, folder):
    fields = "IDENTIFIER|IP|TID|TIME|CPU|PERIOD" + ("|CALLCHAIN" if "chains" in name else "|RAW" if "switches" in name else "")
    yield f"feature event_desc\nfeature nrcpus 2\nfeature arch x86_64\nfeature sample_time 500000 {500000 * RECORDINGS[name][2]}"
    if name == "group":
        yield "feature group_desc"
    for i, event in enumerate(events):
        yield (f"event {event} {EVENTS[event][0]} ids={i + 1} sample={fields} flags=sample_id_all,comm,task,mmap{',' if i == 0 else ',exclude_guest,'}mmap2 "
               f"members={len(events) if name == 'group' and i == 0 else 1}")
        if "sched" in event:
            yield f"tracepoint {event} id={EVENTS[event][0].split('config=')[1].split()[0]} fields=comm/16,pid/4"
    yield f"mmap pid=-1 tid=0 addr={KERNEL:#x} len=0x100000 pgoff={KERNEL:#x} misc=1 name=[kernel.kallsyms]_text"
    yield f"comm pid={pid} tid={pid} name=prog exec=1 time=1"
    for file in FUNCTIONS:
        yield f"mmap2 pid={pid} tid={pid} addr={bases[file]:#x} len=0x1000 pgoff={offsets[file]:#x} prot=5 flags=2 time=2 name={folder}/{file}"


def make_recording(folder, name, offsets, seed):
    """A program that becomes another after half of the time. Now and then it goes to the other processor, but "pinned"."""
    events, factor, count = RECORDINGS[name]
    chance = random.Random(f"{seed} {name}")
    pid = 100 + list(RECORDINGS).index(name)
    bases = {file: (i + 1) * 0x10000000 + chance.randrange(256) * 0x1000 for i, file in enumerate([*FUNCTIONS, "nowhere"])}
    lines = list(head(name, events, pid, bases, offsets, folder))
    cpu = 0
    for i in range(count):
        if i == count // 2:
            lines.append(f"comm pid={pid} tid={pid} name=stripped exec=1 time={500000 * i + 1}")
            lines += [line.replace("time=2", f"time={500000 * i + 1}") for line in head(name, events, pid, bases, offsets, folder) if line.startswith("mmap2")]
        event = chance.randrange(len(events))
        _, places, period = EVENTS[events[event]]
        own = "stripped" if i < count // 2 else "prog"  # the other one isn't running
        weights = [0 if place.startswith(own) else max(first + (factor - 1) * more, 0) for place, first, more in places]
        address, misc = address_of(chance.choices(places, weights)[0][0], bases)
        cpu ^= name != "pinned" and chance.random() < 0.1
        chain = f" chain={'kernel' if misc == 1 else 'user'},{address:#x},user,{bases['prog'] + 0x10:#x}" if "chains" in name else ""
        raw = f" raw={recording.raw_of(7 + event, 'comm/16,pid/4', 'other', 1)}" if "switches" in name else ""
        lines.append(f"sample event={event} id={event + 1} ip={address:#x} pid={pid} tid={pid} cpu={cpu} period={period} misc={misc} time={500000 * (i + 1)}{chain}{raw}")
    (folder / name).write_bytes(recording.make(recording.of_absent("\n".join(lines))))
ALL = ["a b", "b a", "a b c"]
# options → recordings
CASES = [
    ("", ALL + ["several group", "group several", "several a", "a several", "chains more-chains", "switches more-switches", "more-switches switches", "a switches"]),
    ("-c delta", ALL + ["several group"]),
    ("-c delta-abs", ["a b"]),
    ("-c ratio", ALL),
    ("-c wdiff:1,2", ALL),
    ("-c wdiff:3,-1 -p -s comm,dso,sym", ALL),
    ("-c ratio -F -p", ALL),
    ("-c ratio -b", ALL),
    ("-c ratio -o 0", ALL),
    ("-c ratio -o 2", ["a b c"]),
    ("-F", ALL),
    ("-p", ALL + ["several group"]),
    ("-b", ALL),
    ("-b -c delta -F -p", ALL),
    ("-o 0", ALL),
    ("-o 2", ["a b c"]),
    ("-q", ALL + ["several group"]),
    ("-t ;", ALL + ["several group"]),
    ("-t , -q -p", ALL),
    ("-t , -c wdiff:1,2", ALL),
    ("-s comm", ALL + ["chains more-chains"]),
    ("-s comm,dso", ["chains more-chains"]),
    ("-s pid", ALL),
    ("-s sym", ["a b", "b a"]),
    ("-s sym,dso", ["chains more-chains"]),
    ("-s cpu", ["chains more-chains", "a b"]),
    ("-s parent", ["chains more-chains"]),
    ("-C prog", ALL),
    ("-C prog,stripped --percentage relative", ALL),
    ("-C prog --percentage absolute", ["a b"]),
    ("-C nosuch", ["a b"]),
    ("-d prog", ALL),
    ("-d prog,stripped --percentage relative", ALL),
    ("-S slow", ALL),
    ("-S slow,quick -s comm", ["a b"]),
    ("--time 10%-50%", ALL),
    ("--time 10%-50%:30%-60%", ["a b"]),
    ("--time 0%-10%,20%-50%", ["a b"]),
    ("--cpu 0", ALL + ["chains more-chains"]),
    ("--cpu 1", ALL),
    ("--pid 1", ["a b"]),
]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    return make_recordings(tmp_path_factory.mktemp("diff"), 1)


def make_recordings(folder, seed):
    names = ["_text", *KERNEL_FUNCTIONS, "_etext"]
    (folder / "kallsyms").write_text("".join(f"{KERNEL + 0x1000 * i:016x} T {name}\n" for i, name in enumerate(names)))
    offsets = {file: library(folder, file, functions) for file, functions in FUNCTIONS.items()}
    for name in RECORDINGS:
        make_recording(folder, name, offsets, seed)
    return folder


def diff(program, directory, *words):
    done = program("diff", "--kallsyms", directory / "kallsyms", *words, cwd=directory)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("options,sets", CASES, ids=[case[0] or "defaults" for case in CASES])
def test_same_text(perf, oracle, recordings, options, sets):
    for files in sets:
        words = [*options.split(), *files.split()]
        alike.lines(diff(oracle, recordings, *words), diff(perf, recordings, *words), words)


def test_default_files(perf, oracle, recordings, tmp_path):
    for target, name in (("perf.data.old", "a"), ("perf.data", "b"), ("third", "c"), ("kallsyms", "kallsyms")):
        (tmp_path / target).symlink_to(recordings / name)
    for words in ([], ["third"]):
        alike.lines(diff(oracle, tmp_path, *words), diff(perf, tmp_path, *words), words)
    assert diff(perf, tmp_path, "-i", "third") == diff(perf, tmp_path, "third")


def test_pid_filter(perf, oracle, recordings):
    pids = {line.split()[0] for line in perf("script", "-i", recordings / "a", "-F", "pid").stdout.splitlines()}
    for option in ("--pid", "--tid"):
        words = [option, ",".join(sorted(pids)), "a", "b"]
        alike.lines(diff(oracle, recordings, *words), diff(perf, recordings, *words), words)


def test_the_older_one_has_nothing(perf, oracle, recordings):
    """All is new, as JSON and text say it; the kernel's perf divides by zero."""
    words = ["-s", "dso,sym", "--cpu", "1", "pinned", "b"]
    assert "-nan%" in diff(oracle, recordings, *words)
    rows = [json.loads(line) for line in diff(perf, recordings, "--format", "json", *words).splitlines()]
    assert all(row["baseline_period"] == 0 and row["delta"] == row["overhead"] for row in rows) and abs(sum(row["delta"] for row in rows) - 100) < 0.1
    assert [line.split()[0] for line in diff(perf, recordings, "-q", *words).splitlines()] == [f"+{row['delta']:.2f}%" for row in rows]


LIVE = r"""
#include <sys/stat.h>
volatile long sink;
__attribute__((noinline)) void spin(int n) { for (int i = 0; i < n; i++) sink += i; }
int main(void)
{
	struct stat st;
	for (int i = 0; i < 100; i++) {
		spin(1000000);
		for (int j = 0; j < 1000; j++)
			stat("/usr/bin/perf", &st);
	}
	return 0;
}
"""


def test_live_recordings(perf, oracle, live, tmp_path):
    """… with the libraries and the kernel of this machine."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    (tmp_path / "prog.c").write_text(LIVE)
    # Stubs of a PLT have names in ours only: there are none.
    subprocess.run(["gcc", "-O1", "-fno-plt", "prog.c", "-o", "prog"], cwd=tmp_path, check=True)
    for name in ("old", "new"):
        assert oracle.record(tmp_path / name, "-g", "-F", "2000", "-e", "cpu-clock", "--", tmp_path / "prog", cwd=tmp_path).returncode == 0
    for words in ([], ["-s", "comm,dso,sym", "-p"]):
        theirs, ours = (program("diff", *words, "old", "new", cwd=tmp_path).stdout for program in (oracle, perf))
        alike.lines(theirs, ours, words)
        assert " spin" in ours


def test_configuration(perf, recordings, tmp_path, monkeypatch):
    (tmp_path / "config").write_text("[diff]\n\tcompute = ratio\n\torder = 0\n")
    expected = diff(perf, recordings, "-c", "ratio", "-o", "0", "a", "b")
    monkeypatch.setenv("PERF_CONFIG", str(tmp_path / "config"))
    assert diff(perf, recordings, "a", "b") == expected


def test_formats_hold_the_same_rows(perf, recordings):
    text = [line.split() for line in diff(perf, recordings, "-q", "-p", "-s", "comm", "a", "b").splitlines()]
    objects = [json.loads(line) for line in diff(perf, recordings, "--format", "json", "-s", "comm", "a", "b").splitlines()]
    assert [one["comm"] for one in objects] == [row[-1] for row in text]
    both = [(one, row) for one, row in zip(objects, text) if one["baseline_period"] and one["period"]]
    assert both
    for one, row in both:
        assert one["event"] == "cpu-clock" and str(one["baseline_period"]) == row[1] and str(one["period"]) == row[3]
        assert abs(one["baseline"] - float(row[0].rstrip("%"))) <= 0.0051 and abs(one["delta"] - float(row[2].rstrip("%"))) <= 0.0051
        assert abs(one["overhead"] - one["baseline"] - one["delta"]) <= 0.0051
    csv = diff(perf, recordings, "--format", "csv", "-s", "comm", "-c", "ratio", "a", "b", "c").splitlines()
    assert csv[0] == "event,baseline_0,baseline_period_0,baseline_samples_0,overhead_1,delta_1,ratio_1,period_1,samples_1,overhead_2,delta_2,ratio_2,period_2,samples_2,comm"


def test_dump(perf, recordings):
    dumps = [perf("script", "-D", "-i", recordings / name).stdout.count("PERF_RECORD_SAMPLE(") for name in "ab"]
    assert diff(perf, recordings, "-D", "a", "b").count("PERF_RECORD_SAMPLE(") == sum(dumps) > 0


@pytest.mark.parametrize("words,sentence", [
    (["-c", "cycles"], "no branch records; record with -b"), (["-c", "nosuch"], "wdiff:OLD,NEW"), (["-c", "wdiff"], "wdiff:OLD,NEW"), (["-c", "wdiff:1"], "two numbers"),
    (["-c", "wdiff:0,1"], "two numbers"), (["-o", "2"], "only 2 recordings"), (["-o", "x"], "number of a recording"), (["--stream"], "no branch records; record with -b"),
    (["--cycles-hist"], "requires -c cycles"), (["--time", "1,2:3,4:5,6"], "more ranges"), (["-s", "nosuch"], "unknown key"), (["-i", "c"], "as words"),
    (["--percentage", "x"], "relative or absolute"), (["-s", "symbol_from"], "branch records")])
def test_mistakes(perf, recordings, words, sentence):
    done = perf("diff", *words, "a", "b", cwd=recordings)
    assert done.returncode in (129, 255) and sentence in done.stderr and not done.stdout, done.stderr


def test_a_recording_is_missing(perf, tmp_path):
    done = perf("diff", cwd=tmp_path)
    assert done.returncode == 255 and "perf.data.old" in done.stderr
