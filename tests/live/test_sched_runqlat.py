"""perf sched runqlat: waits for a CPU of programs that begin to run a known number of times."""
import json
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started  # noqa: E402

pytestmark = pytest.mark.alone  # a program at sched_switch slows down all that others measure

# A nap that an interrupt delays may have ended before the thread leaves the CPU: how many times it left is what the kernel counts. Each time it comes back.
NAPS = """import resource, sys, time
def switches():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw + usage.ru_nivcsw
before = switches()
for _ in range(50): time.sleep(0.002)
left = switches() - before
open(sys.argv[1], "w").write(str(left))
"""


class Naps:
    def __init__(self, folder):
        (folder / "naps.py").write_text(NAPS)
        self.command, self.told = ["/usr/bin/python3", folder / "naps.py", folder / "left"], folder / "left"

    def left(self):
        """How many times it left the CPU."""
        return int(self.told.read_text())


@pytest.fixture
def naps(tmp_path):
    return Naps(tmp_path)


@pytest.fixture
def runqlat(perf, root, live_system, tracefs):
    if perf("check", "feature", "-q", "bpf").returncode:
        pytest.skip("this build has no BPF programs")
    if not re.search(r"BPF programs +(?!.*only).*\btracepoint", perf("doctor", "bpf").stdout):
        pytest.skip("this kernel has no BPF programs at tracepoints")

    def rows(*words):
        done = perf("sched", "runqlat", *words)
        assert done.returncode == 0, done.stderr
        rows.unseen = sum(map(int, re.findall(r"(\d+) waits? (?:is|are) not counted", done.stderr)))
        return [json.loads(line) for line in done.stdout.splitlines()]
    return rows


def delays(rows, name=None):
    return sum(row["count"] for row in rows if name in (None, row["name"]))


def until_all_are_told(measure, naps):
    """What measure() returns first: rows, and how many naps ended by them. Where the kernel reports of a nap neither its beginning nor its end, nobody can count it as
    one that is missing: then another measurement has to do."""
    for _ in range(5):
        rows, ended = measure()
        if ended >= naps.left():
            break
    assert ended >= naps.left() > 0, rows
    return rows


def test_a_command(runqlat, naps):
    """Each time that it comes back it has waited for a CPU, however short; nobody else's waits are there. (There are kernels that now and then don't report a switch from the
    idle task: that is told.)"""
    def measure():
        rows = runqlat("-j", "--", *naps.command)
        return rows, delays(rows) + runqlat.unseen
    rows = until_all_are_told(measure, naps)
    assert {(row["name"], row["id"]) for row in rows} == {("", 0)}
    starts = [row["from"] for row in rows]
    assert starts == sorted(starts) and all(start == 0 or start // 1000 & (start // 1000 - 1) == 0 for start in starts)


def test_name_of_a_process(runqlat):
    """A command begins with the name of whoever starts it, and is known by its own."""
    rows = runqlat("--per", "process", "-j", "--", "sh", "-c", "sleep 0.1; exec sleep 0.1")
    assert {row["name"] for row in rows} == {"sleep"}, rows


def test_processes(runqlat, naps):
    """The shell's child is another process; on the whole system they are there as well."""
    for words in ([], ["-a"]):
        def measure(words=words):
            rows = runqlat("--per", "process", "-j", *words, "--", "sh", "-c", " ".join(map(str, naps.command)) + "; true")
            pids = [row["id"] for row in rows if row["name"] == "python3" or row["name"] == "sh"]
            return rows, max(sum(row["count"] for row in rows if row["id"] == pid) for pid in pids) + runqlat.unseen
        until_all_are_told(measure, naps)


def test_a_process_that_runs(runqlat):
    with subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"]) as shell:
        rows = runqlat("-p", str(shell.pid), "--per", "process", "-j", "--", *started.while_it_runs(shell.pid, 0.05))
        shell.kill()
    assert rows and {row["name"] for row in rows} <= {"sh", "sleep"}
    assert delays([row for row in rows if row["id"] == shell.pid]) >= 2


def test_cpus_and_cgroups(runqlat):
    """Every CPU that ran somebody is there; cgroups have their paths, where the kernel has version 2."""
    cpus = [row["id"] for row in runqlat("-a", "--per", "cpu", "-j", "--", "sleep", "0.3")]
    assert cpus == sorted(cpus)
    names = {row["name"] for row in runqlat("-a", "--per", "cgroup", "-j", "--", "sleep", "0.3")}
    assert all(name == "" or name.startswith("/") for name in names)


def test_text(perf, runqlat, naps):
    """The sums below the bars are those of the bars."""
    done = perf("sched", "runqlat", "--", *naps.command)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["#", "DURATION", "|", "COUNT", "|", "GRAPH", "|"] and len(lines) == 25
    counts = [int(line.split("|")[1]) for line in lines[1:23]]
    whole = re.fullmatch(r"# (\d+) waits for a CPU, total [\d.]+ us, average [\d.]+, longest ([\d.]+), shortest ([\d.]+)", lines[24])
    assert sum(counts) == int(whole[1]) > 0
    longest = max(i for i, count in enumerate(counts) if count)
    assert 2 ** (longest - 1) <= float(whole[2]) < 2 ** longest or longest in (0, 21)
    titled = perf("sched", "runqlat", "--per", "process", "--", *naps.command).stdout
    assert re.match(r"# process \S+ \(\d+\)\n", titled)


def test_separator(perf, runqlat, naps):
    done = perf("sched", "runqlat", "-x", ";", "--", *naps.command)
    lines = done.stdout.splitlines()
    assert lines[0] == "name;id;from;count" and all(re.fullmatch(r";0;\d+;\d+", line) for line in lines[1:])


@pytest.mark.parametrize("words, text", [
    (["--per", "moon"], "unknown kind 'moon': use cpu, process or cgroup"),
    (["-x", "ab"], "-x ab: use one character"),
    (["-p", "nobody"], "nobody"),
])
def test_mistakes(perf, words, text):
    done = perf("sched", "runqlat", *words, "--", "true")
    assert done.returncode and text in done.stderr


def test_without_rights(everybodys, perf, root):
    """Who may not load programs hears what else there is."""
    done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", str(everybodys), "sched", "runqlat", "--", "true"], capture_output=True, text=True, check=False)
    assert done.returncode and "perf sched record" in done.stderr
