"""perf bench: each benchmark does its work and tells it as the kernel's tool does: the same lines, numbers apart. What the numbers are is this machine's affair."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started

# As little as shows the text. None: the kernel's tool of Debian 12 doesn't have it.
QUICK = {
    "sched messaging": "-g 1 -l 2", "sched pipe": "-l 50", "syscall basic": "-l 100", "mem memcpy": "-s 4KB -f default", "mem memset": "-s 4KB -f default",
    "mem find_bit": "-i 2 -j 1", "futex hash": "-r 1 -t 2 -f 8", "futex wake": "-t 2", "futex wake-parallel": "-t 2", "futex requeue": "-t 2",
    "futex lock-pi": "-r 1 -t 2", "epoll wait": "-r 1 -t 1 -f 2", "epoll ctl": "-r 1 -t 2 -f 2", "internals synthesize": "-i 2",
    "internals kallsyms-parse": "-i 1", "internals inject-build-id": "-i 1 -m 3 -n 2", "internals evlist-open-close": "-i 2", "breakpoint thread": "-t 2",
    "breakpoint enable": "", "numa mem": "-P 1 -l 2 -s 60 -q",
}
OURS_ALONE = {"sched seccomp-notify": "-l 50", "syscall getpgid": "-l 100", "syscall fork": "-l 2", "syscall execve": "-l 2", "mem mmap": "-s 64KB",
              "internals pmu-scan": "-i 1", "uprobe baseline": "-l 2", "uprobe empty": "-l 2", "uprobe trace_printk": "-l 2", "uprobe empty_ret": "-l 2",
              "uprobe trace_printk_ret": "-l 2"}
LIVE = ("breakpoint", "internals evlist-open-close")
MORE = [("sched messaging", "-t -p -g 1 -l 2"), ("sched pipe", "-T -l 50"), ("futex requeue", "-B -p -t 3"), ("futex requeue", "-s -q 2 -t 2"), ("futex wake", "-s -w 2 -t 2"),
        ("futex lock-pi", "-M -r 1 -t 1"), ("futex hash", "-S -s -r 1 -t 1 -f 4"), ("internals synthesize", "-t -I 1 -m 1 -M 1")]


def run(tool, name, options="", before=()):
    done = subprocess.run([str(tool), "bench", *before, *name.split(), *options.split()], capture_output=True, text=True, check=False, timeout=300)
    if re.search("not allow|does not support|cannot (set|load)|must be root|requires", done.stderr):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout


def shape(text):
    """Without numbers, with columns: what a script that reads it relies on. How many lines have a number of their own is left."""
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text)
    text = re.sub(r"\b[KMG]B/sec", "GB/sec", text)
    text = re.sub(r"on CPU 0|on all CPUs", "there", text)
    return re.sub(r" *-?(\d[\d,.]*|inf|nan)(?=[ %)\]\n]|$)", " N", text)


@pytest.fixture(autouse=True)
def on_live_systems(request):
    if any(f"{name}" in request.node.name for name in LIVE):
        request.getfixturevalue("live")


@pytest.mark.parametrize("name,options", [*QUICK.items(), *MORE])
def test_text(perf, oracle, name, options):
    ours, theirs = run(perf.path, name, options), oracle("bench", *name.split(), *options.split())
    if theirs.returncode:
        pytest.skip(f"the kernel's perf cannot do this here: {theirs.stderr.strip()}")
    theirs = "\n".join(line for line in theirs.stdout.split("\n") if "Running main" not in line)
    theirs = re.sub(r"(benchmark:\n)\n", r"\1", theirs) if name == "numa mem" else theirs
    assert shape(ours).strip() == shape(theirs).strip()


@pytest.mark.parametrize("name,options", [*QUICK.items(), *OURS_ALONE.items()])
def test_figures(perf, name, options):
    """--json: one object, whose figures have different names, units and numbers above 0."""
    found = json.loads(run(perf.path, name, f"{options} --json"))
    assert found["benchmark"] == name.replace(" ", "/")
    names = [figure["name"] for figure in found["figures"]]
    assert names and len(set(names)) == len(names)
    for figure in found["figures"]:
        assert figure["unit"] and (figure["value"] is None or figure["value"] >= 0 or "more than" in figure["name"]), figure


@pytest.mark.parametrize("name,options", OURS_ALONE.items())
def test_newer_ones(perf, name, options):
    text = run(perf.path, name, options)
    assert text.startswith(f"# Running '{name.replace(' ', '/')}' benchmark:\n")
    assert re.search(r"\d usecs/op|\d [KMG]?B/sec|took: \d", text), text


def test_formats(perf):
    """Figures alone, as scripts want them; JSON by either option."""
    for option in ("--format=json", "--json"):
        assert json.loads(run(perf.path, "sched pipe", "-l 50", before=[option]))["benchmark"] == "sched/pipe"
    assert re.fullmatch(r"\d+\.\d{3}\n", run(perf.path, "sched pipe", "-l 50", before=["-f", "simple"]))
    assert re.fullmatch(r"# function 'default' \(.*\)\n\d+\.\d+\n", run(perf.path, "mem memcpy", "-f default -s 1MB -l 5", before=["-f", "simple"]))


def test_work_is_counted(perf):
    """Twice the work is not less of it: loops, groups and repetitions reach the benchmark."""
    assert "# Executed 77 getppid() calls" in run(perf.path, "syscall basic", "-l 77")
    assert "# 2 groups == 80 threads run" in run(perf.path, "sched messaging", "-t -g 2 -l 1")
    assert len(re.findall(r"^\[Run \d+\]", run(perf.path, "futex wake", "-t 1", before=["-r", "3"]), re.MULTILINE)) == 3
    data = json.loads(run(perf.path, "numa mem", "-G 0 -P 3 -T 1 -p 2 -t 2 -l 5 -s 600 --json"))
    total = next(figure["value"] for figure in data["figures"] if figure["name"] == "data-total")
    assert total == pytest.approx(2 * 2 * 5 * 4 * (1 << 20) / 1e9, abs=1e-6)


# System calls that a benchmark is made of, by their text, and how many of them its options ask for. The child of sched pipe reports its end.
CALLS = {
    "sched pipe -l 30": (r"write\(.*, 4\) += 4", 2 * 30 + 1), "sched pipe -l 30 -T -n": (r"write\(.*, 4\) += 4", 2 * 30),
    "sched messaging -g 1 -l 2": (r"write\(.*, 100\) += 100", 20 * 20 * 2), "sched messaging -g 2 -l 1 -t -p": (r"write\(.*, 100\) += 100", 2 * 20 * 20),
    "sched seccomp-notify -l 25": (r"ioctl\(.*SECCOMP_IOCTL_NOTIF_SEND", 25), "sched seccomp-notify -l 26": (r"clone\(.*SIGCHLD", 2),
    "sched messaging -g 1 -l 1 -t": (r"clone3\(.*stack_size=0x3", 40), "sched messaging -g 1 -l 2 -t": (r"madvise\(", 0), "internals inject-build-id -i 2 -m 3": (r"execve\(", 1),
    "numa mem -p 2 -G 0 -P 4 -l 2 -s 60": (r"mmap\(NULL, 6291456, ", 2), "breakpoint enable -a 1": (r"clock_nanosleep\(.*tv_nsec=10000000", 1), "syscall basic -l 40": (r"getppid\(\)", 40), "syscall getpgid -l 40": (r"getpgid\(0\)", 40),
    "syscall fork -l 3": (r"clone\(.*SIGCHLD", 3), "syscall execve -l 3": (r'execve\("/bin/true"', 3), "syscall execve -l 2": (r"clone\(.*SIGCHLD", 2), "breakpoint enable": (r"ioctl\(.*PERF_EVENT_IOC_(ENABLE|DISABLE)", 2 * 10),
    "breakpoint thread -t 3 -p 2": (r"clone3?\(.*CLONE_THREAD", 2 + 3 * 10), "uprobe baseline -l 4": (r"clock_nanosleep\(.*tv_nsec=1000000", 4),
    "mem mmap -f demand -s 80KB -l 5": (r"mmap\(NULL, 81920, PROT_READ\|PROT_WRITE, MAP_PRIVATE\|MAP_ANONYMOUS, -1", 1 + 5), # once before it is measured
    "internals evlist-open-close -i 3 -n 2 --per-thread": (r"perf_event_open\(.*PERF_COUNT_SW_DUMMY", 3 * 2),
    "internals evlist-open-close -i 5 --per-thread": (r"mmap\(NULL, \d+, PROT_READ\|PROT_WRITE, MAP_SHARED, \d", 5),
    "internals evlist-open-close -i 4 -n 2 --per-thread": (r"ioctl\(.*PERF_EVENT_IOC_(ENABLE|DISABLE)", 4 * 2 * 2),
}


def test_writers_rest(perf, tmp_path):
    """Who writes for those that wait for events lets them have its CPU after each round."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    subprocess.run(["strace", "-f", "-o", tmp_path / "calls", perf.path, *"bench epoll wait -t 1 -f 64 -r 1".split()], capture_output=True, check=True, timeout=300)
    calls = (tmp_path / "calls").read_text(errors="replace")
    writer = re.search(r"^(\d+) .*tv_nsec=500}", calls, re.M).group(1)
    rests, writes = calls.count("tv_nsec=500}"), len(re.findall(rf"^{writer} +write\(.*, 8\b", calls, re.M))
    assert rests > 1 and 64 * (rests - 1) <= writes <= 64 * (rests + 3)


@pytest.mark.parametrize("words", CALLS)
def test_calls(perf, tmp_path, words):
    """It does what it says, as strace sees it."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    pattern, count = CALLS[words]
    if words.startswith(("breakpoint", "internals")):
        run(perf.path, "breakpoint enable")
    done = subprocess.run(["strace", "-f", "-o", tmp_path / "calls", perf.path, "bench", *words.split()], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    # A call that others interrupt takes two lines, of which the first has what was passed, and the second what came of it.
    begun = {}
    calls = collections.Counter()
    for line in (tmp_path / "calls").read_text(errors="replace").splitlines():
        thread, text = line.split(None, 1)
        if text.endswith("<unfinished ...>"):
            begun[thread] = text.removesuffix(" <unfinished ...>")
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", text):
            text = begun.pop(thread, "") + resumed.group(1)
        calls[bool(re.match(pattern, text))] += 1
    assert calls[True] == count


def test_groups(perf, root):
    """The two tasks of sched pipe join their cgroups; what can't be joined is said, and nobody waits for who isn't there."""
    mounted = next((line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"), None)
    folders = [pathlib.Path(mounted or "/", f"perf-test-bench-{os.getpid()}-{side}") for side in ("send", "receive")]
    try:
        for folder in folders:
            folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup of version 2 can be made here: {error}")
    try:
        names = ",".join(folder.name for folder in folders)
        assert "usecs/op" in run(perf.path, "sched pipe", f"-l 20 -G {names}")
        done = perf("bench", "sched", "pipe", "-T", "-l", "20", "-G", names, timeout=300)
        assert done.returncode == 255 and "the sender cannot join its cgroup (threads only join threaded groups" in done.stderr
        done = perf("bench", "sched", "pipe", "-l", "20", "-G", f"{folders[0].name},perf-test-nosuch", timeout=300)
        assert done.returncode == 255 and "there is no cgroup 'perf-test-nosuch'" in done.stderr
    finally:
        for folder in folders:
            started.until(lambda folder=folder: not folder.exists() or not remove(folder), f"{folder} is empty")


def remove(folder):
    """Whether it is still there: who has ended leaves its group a little later."""
    try:
        folder.rmdir()
    except OSError:
        return True
    return False


def test_choosing(perf):
    """Lists, names of functions, and mistakes."""
    for words, expected in (((), "sched"), (("mem",), "find_bit")):
        assert re.search(rf"^ +{expected}: ", perf("bench", *words).stdout, re.MULTILINE)
    assert re.search(r"^\tdefault \.\.\. ", perf("bench", "mem", "memcpy", "-f", "help").stdout, re.MULTILINE)
    for words in (["nosuch"], ["sched", "nosuch"], ["-f", "nosuch", "sched", "pipe"], ["mem", "memcpy", "-f", "nosuch"], ["mem", "memcpy", "-s", "x"],
                  ["-r", "0", "futex", "wake"], ["sched", "pipe", "-G", "a"], ["epoll", "wait", "-N", "9"], ["sched", "all", "-l", "5"], ["all", "sched"], ["numa", "mem", "-C", "x"]):
        done = perf("bench", *words)
        assert done.returncode == 129 and done.stderr.startswith("perf"), words
    assert "Subcommands:" in perf("bench", "sched", "-h").stdout
    assert "--nonblocking" in perf("bench", "sched", "pipe", "-h").stdout
    assert perf("bench", "sched", "--list-cmds").stdout == "messaging pipe seccomp-notify\n"
    assert perf("help", "bench", "sched", "pipe").stdout


def test_all_goes_on(everybodys, root):
    """What this user may not do is said, and the others run."""
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", everybodys, "bench", "--json", "uprobe", "all"], cwd="/",
                          capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0 and [json.loads(line)["benchmark"] for line in done.stdout.splitlines()] == ["uprobe/baseline"]
    assert done.stderr.count("requires root") == 4 or "without BPF" in done.stderr


def test_all_of_a_collection(perf):
    text = perf("bench", "breakpoint", "all").stdout
    assert "'breakpoint/thread'" in text and "'breakpoint/enable'" in text
