"""Ready-made scripts: listed, run live and on recordings; their totals are those that stat, script and the kernel's own scripts count."""
import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402
import started  # noqa: E402

KERNEL_SCRIPTS = pathlib.Path("/usr/lib/perf-core/scripts")
# What is recorded by the name of the script, where ls wouldn't do: it is too short to be sampled for sure.
COMMANDS = {
    "rw-by-pid": ("dd", "if=/dev/zero", "of=/dev/null", "bs=1000", "count=50"),
    "failed-syscalls-by-pid": ("sh", "-c", "ls /nonexistent; true"),
    "wakeup-latency": ("sh", "-c", "for i in 1 2 3 4 5; do sleep 0.01; done"),
    "futex-contention": ("ls",),
    "stackcollapse": ("dd", "if=/dev/zero", "of=/dev/null", "bs=65536", "count=100000"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ready")


@pytest.fixture(scope="module")
def recorded(perf, folder, live, tracefs):
    """name → its recording, made by `perf script record NAME`."""
    made = {}

    def make(name):
        path = folder / f"{name}.data"
        if name not in made:
            made[name] = perf("script", "record", name, "-o", path, *COMMANDS.get(name, ("ls", "-l", "/usr/bin")), cwd=folder)
        assert made[name].returncode == 0, made[name].stderr
        return path
    return make


def report(perf, folder, name, path, *words):
    result = perf("script", "report", name, *words, "-i", path, cwd=folder)
    assert result.returncode == 0, result.stderr
    return result.stdout


def rows_of(text):
    """The rows below the line of dashes of the last table."""
    lines = text.splitlines()
    start = max(i for i, line in enumerate(lines) if re.fullmatch(r"[- ]*-[- ]*", line))
    return [line.split() for line in lines[start + 1:] if line]


def test_list(perf):
    listed = perf("script", "-l").stdout.splitlines()
    assert listed[0] == "List of available trace scripts:"
    names = [line.split()[0] for line in listed[1:]]
    assert names == sorted(names) and {"syscall-counts", "failed-syscalls", "rw-by-file", "rw-by-pid", "wakeup-latency", "net_dropmonitor",
                                       "event_analyzing_sample", "flamegraph", "stackcollapse"} <= set(names)
    assert all(len(line.split(None, 1)) == 2 for line in listed[1:])


def test_syscall_counts_are_those_of_the_recording(perf, folder, recorded):
    path = recorded("syscall-counts")
    rows = rows_of(report(perf, folder, "syscall-counts", path))
    counted = collections.Counter(re.findall(r"sys_enter: NR (\d+)", perf("script", "-i", path).stdout))
    assert sorted(int(row[1]) for row in rows) == sorted(counted.values())
    assert "write" in [row[0] for row in rows]
    assert rows == rows_of(report(perf, folder, "syscall-counts", path, "ls"))
    assert rows_of(report(perf, folder, "syscall-counts-by-pid", path, "ls"))[0][0] == "ls"
    assert not rows_of(report(perf, folder, "syscall-counts", path, "nobody"))


def test_live(perf, folder, recorded):
    """perf script NAME COMMAND: recording and script in one go."""
    result = perf("script", "syscall-counts", "ls", "/usr/bin", cwd=folder)
    assert result.returncode == 0 and {row[0] for row in rows_of(result.stdout)} >= {"write", "exit_group"}, result.stderr


def test_live_ends_by_interrupt(perf, folder, root, live_system, tracefs):
    """As a terminal does it: all of the group get the signal, once the recorder records."""
    process = subprocess.Popen([str(perf), "script", "syscall-counts"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    found = []

    def recorder():
        for pid in map(int, subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, text=True, check=False).stdout.split()):
            with contextlib.suppress(OSError):
                if started.measures(pid) and started.waits(pid) and started.minds(pid, signal.SIGINT):
                    found.append(pid)
        return found
    started.until(recorder, "the recorder records")
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert "System calls" in output, errors


def test_failed_syscalls(perf, folder, recorded):
    path = recorded("failed-syscalls-by-pid")
    rows = rows_of(report(perf, folder, "failed-syscalls-by-pid", path))
    exits = re.findall(r"sys_exit: NR (\d+) = -(\d+)", perf("script", "-i", path).stdout)
    assert sum(int(row[-1]) for row in rows) == len(exits) and any(row[3] == "ENOENT" for row in rows)


def test_reads_and_writes(perf, folder, recorded):
    path = recorded("rw-by-pid")
    writes = rows_of(report(perf, folder, "rw-by-pid", path))
    pid, comm, calls, wanted, done, failed = next(row for row in writes if row[1] == "dd")
    assert int(calls) >= 50 and int(wanted) >= 50000 and int(done) == int(wanted) and failed == "0"
    by_file = report(perf, folder, "rw-by-file", path, "dd")
    assert ["1", "50", "50000"] in rows_of(by_file)
    missing = perf("script", "report", "rw-by-file", "-i", path, cwd=folder)
    assert missing.returncode == 1 and "usage: perf script report rw-by-file <comm>" in missing.stderr
    assert "Writes by process" in report(perf, folder, "rwtop", path, "1")


WAKEUP = "comm/16,pid/4,prio/4,target_cpu/4"
SWITCH = "prev_comm/16,prev_pid/4,prev_prio/4,prev_state/8,next_comm/16,next_pid/4,next_prio/4"


def test_wakeups(perf, folder, recorded):
    """Made by hand: of one program only those wakeups are recorded that it causes itself, and only those switches by which it leaves a processor."""
    def wakeup(time, pid):
        raw = recording.raw_of(8, WAKEUP, "woken", pid, 120, 1)
        return f"sample event=1 id=2 pid=50 cpu=0 time={time} raw={raw}"

    def switch(time, pid):
        raw = recording.raw_of(7, SWITCH, "swapper", 0, 120, 0, "woken", pid, 120)
        return f"sample event=0 id=1 pid=0 cpu=1 time={time} raw={raw}"
    lines = ["feature event_desc", f"tracepoint sched:sched_switch id=7 fields={SWITCH}", f"tracepoint sched:sched_wakeup id=8 fields={WAKEUP}",
             *(f"event sched:{name} type=2 config={config} period=1 ids={i} sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW flags=sample_id_all"
               for i, (name, config) in enumerate((("sched_switch", 7), ("sched_wakeup", 8)), 1)),
             wakeup(1000, 51), wakeup(1500, 51), switch(3000, 51), switch(4000, 51), wakeup(5000, 52), wakeup(5500, 53), switch(6000, 52), switch(9500, 53)]
    path = folder / "wakeups.data"
    path.write_bytes(recording.make("\n".join(lines)))
    waits = [1000, 2000, 4000]
    assert rows_of(report(perf, folder, "wakeup-latency", path)) == [
        ["wakeups", "3"], ["shortest", "1000"], ["median", "2000"], ["average", str(sum(waits) // 3)], ["99", "%", "4000"], ["longest", "4000"]]
    report(perf, folder, "wakeup-latency", recorded("wakeup-latency"))


def test_samples(perf, folder, recorded):
    samples = recorded("stackcollapse")
    lines = report(perf, folder, "stackcollapse", samples).splitlines()
    count = len(perf("script", "-i", samples, "-F", "event", "-G").stdout.splitlines())
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == count > 0
    tables = report(perf, folder, "event_analyzing_sample", samples)
    assert "Samples by functions" in tables
    tree = json.loads(perf("script", "report", "flamegraph", "-i", samples, "--", "-f", "json", "-o", "-", cwd=folder).stdout)
    assert tree["n"] == "all" and tree["v"] == sum(child["v"] for child in tree["c"]) == count


def test_unknown(perf, folder):
    for words in (["nothing"], ["record", "nothing"], ["report", "../syscall-counts"], ["record"]):
        result = perf("script", *words, cwd=folder)
        assert result.returncode == 129 and "perf script -l" in result.stderr


def test_own_scripts_in_the_same_layout(perf, folder, recorded):
    """A folder of one's own, as the kernel's tool has it: PERF_EXEC_PATH."""
    place = folder / "own/scripts/python/bin"
    place.mkdir(parents=True)
    (place / "mine-report").write_text('#!/bin/bash\n# description: my own\n# args: <word>\nperf script $2 $3 -s "$PERF_EXEC_PATH"/mine.py $1\n')
    (folder / "own/mine.py").write_text("import sys\ndef trace_end():\n    print('mine', sys.argv[1])\n")
    environment = {**os.environ, "PERF_EXEC_PATH": str(folder / "own")}
    assert "  mine <word>                          my own\n" in perf("script", "-l", env=environment).stdout
    result = perf("script", "report", "mine", "hello", "-i", recorded("syscall-counts"), cwd=folder, env=environment)
    assert result.stdout == "mine hello\n", result.stderr


def test_words_of_scripts(perf, folder, recorded):
    (folder / "words.py").write_text("import sys\nprint(sys.argv[1:])\n")
    result = perf("script", "-i", recorded("syscall-counts"), "-s", "words.py", "--script-args", "a  b", "c", "-d", cwd=folder)
    assert result.stdout == "['a', 'b', 'c', '-d']\n"


# The kernel's own scripts, run by both. Those that need other events, a database server or a window are left out.
THEIRS = [
    ("python/syscall-counts.py", "syscall-counts", []), ("python/syscall-counts-by-pid.py", "syscall-counts", []),
    ("python/syscall-counts.py", "syscall-counts", ["ls"]), ("python/failed-syscalls-by-pid.py", "failed-syscalls-by-pid", []),
    ("python/stackcollapse.py", "stackcollapse", []), ("python/futex-contention.py", "futex-contention", []),
    ("python/net_dropmonitor.py", "syscall-counts", []), ("python/stat-cpi.py", "stackcollapse", []),
    ("perl/rw-by-pid.pl", "rw-by-pid", []), ("perl/rw-by-file.pl", "rw-by-pid", ["dd"]), ("perl/failed-syscalls.pl", "failed-syscalls-by-pid", []),
    ("perl/wakeup-latency.pl", "wakeup-latency", []),
]


@pytest.mark.parametrize("script, name, words", THEIRS)
def test_the_kernels_own_scripts(perf, oracle, folder, recorded, script, name, words):
    if not (KERNEL_SCRIPTS / script).exists():
        pytest.skip(f"{KERNEL_SCRIPTS / script} is not installed")
    if script.endswith(".pl") and not (pathlib.Path(str(perf)).parent / "perf-perl.so").exists():
        pytest.skip("this build has no plugin for Perl (package libperl-dev)")
    path = recorded(name)
    texts = []
    for program in (oracle, perf):
        environment = {**os.environ, "PERF_EXEC_PATH": str(KERNEL_SCRIPTS.parent)}
        result = program("script", "-i", path, "-s", KERNEL_SCRIPTS / script, *words, cwd=folder, env=environment)
        assert result.returncode == 0, result.stderr
        texts.append(re.sub(r"HASH\(0x[0-9a-f]+\)", "HASH", result.stdout))
    assert sorted(texts[1].splitlines()) == sorted(texts[0].splitlines())


def test_halves_are_subcommands(perf, tmp_path):
    """Options before the name go to the half as well: before a command, behind the script's own words. A script's word may be called like a half."""
    (tmp_path / "scripts/python/bin").mkdir(parents=True)
    for half in ("record", "report"):
        (tmp_path / f"scripts/python/bin/mine-{half}").write_text('#!/bin/sh\necho "$0" "$@" | sed "s,.*/,,"\n')
    environment = {**os.environ, "PERF_EXEC_PATH": str(tmp_path)}

    def said(*words):
        return perf("script", *words, env=environment, cwd=tmp_path).stdout.strip()
    assert said("record", "mine", "-F", "99", "ls") == "mine-record -F 99 ls" == said("record", "-F", "99", "mine", "ls")
    assert said("record", "mine") == "mine-record -a" and said("-a", "record", "mine", "ls") == "mine-record -a ls"
    assert said("report", "mine", "word", "-i", "x") == "mine-report word -i x" == said("report", "-i", "x", "mine", "word")
    wrong = perf("script", "report", "--bogus", "mine", env=environment)
    assert wrong.returncode == 129 and "unknown option --bogus" in wrong.stderr and "perf script report" in wrong.stderr
    (tmp_path / "words.py").write_text("import sys\n\ndef trace_begin():\n    print(sys.argv[1:])\n")
    (tmp_path / "perf.data").write_bytes(recording.Maker("event cycles type=0 config=0\nsample ip=0x400100 pid=1 tid=1 time=5\n").make())
    assert perf("script", "-s", "words.py", "record", "report", cwd=tmp_path).stdout.strip() == "['record', 'report']"
