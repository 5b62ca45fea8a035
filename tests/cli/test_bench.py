"""perf bench: each benchmark does its work and tells it as the kernel's tool does: the same lines, numbers apart. What the numbers are is this machine's affair."""
import json
import re
import subprocess

import pytest

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
    assert json.loads(run(perf.path, "sched pipe", "-l 50", before=["--format=json"]))["benchmark"] == "sched/pipe"
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


def test_choosing(perf):
    """Lists, names of functions, and mistakes."""
    for words, expected in (((), "sched"), (("mem",), "find_bit")):
        assert re.search(rf"^ +{expected}: ", perf("bench", *words).stdout, re.MULTILINE)
    assert re.search(r"^\tdefault \.\.\. ", perf("bench", "mem", "memcpy", "-f", "help").stdout, re.MULTILINE)
    for words in (["nosuch"], ["sched", "nosuch"], ["-f", "nosuch", "sched", "pipe"], ["mem", "memcpy", "-f", "nosuch"], ["mem", "memcpy", "-s", "x"],
                  ["-r", "0", "futex", "wake"], ["sched", "pipe", "-G", "a"], ["numa", "mem", "-C", "x"]):
        done = perf("bench", *words)
        assert done.returncode == 129 and done.stderr.startswith("perf"), words
    assert "Subcommands:" in perf("bench", "sched", "-h").stdout
    assert "--nonblocking" in perf("bench", "sched", "pipe", "-h").stdout
    assert perf("bench", "sched", "--list-cmds").stdout == "messaging pipe seccomp-notify\n"
    assert perf("help", "bench", "sched", "pipe").stdout


def test_all_of_a_collection(perf):
    text = perf("bench", "breakpoint", "all").stdout
    assert "'breakpoint/thread'" in text and "'breakpoint/enable'" in text
