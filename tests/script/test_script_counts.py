"""perf script on recordings of `perf stat record`: rows of text, and functions of scripts, are those of the kernel's perf on the same file."""
import glob
import json
import pathlib
import re
import subprocess

import pytest

KERNEL_SCRIPT = pathlib.Path("/usr/lib/perf-core/scripts/python/stat-cpi.py")
WORK = ["sh", "-c", "for i in 1 2 3 4; do ls /usr/bin; sleep 0.03; done"]
# Clocks that bear the names of counters which few test machines have.
NAMED = "cpu-clock/name=cycles/,page-faults/name=instructions/"
RECORDINGS = {
    "whole": ["-a", "-I", "50", "-e", "task-clock:u,cs,page-faults:uk"],
    "cpus": ["-a", "-A", "-I", "50", "-e", "task-clock:u,cs,page-faults:uk"],
    "process": ["-e", "task-clock,cs"],
    "cores": ["-a", "--per-core", "-e", "cs"],
    "absent": ["-a", "-e", "cycles,cs"],
    "named": ["-a", "-A", "-I", "50", "-e", NAMED],
    "named-whole": ["-a", "-e", NAMED],
}
# Names with "-" can't be written behind "def".
EVERYTHING = """
def show(name):
    globals()["stat__" + name] = lambda *arguments: print(name, arguments)
for name in ("task-clock", "task-clock_u", "cs", "page-faults_uk", "cycles"):
    show(name)
def stat__interval(*arguments):
    print("interval", arguments)
def trace_end():
    print("end")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("counts")
    (path / "everything.py").write_text(EVERYTHING)
    return path


@pytest.fixture(scope="module")
def record(perf, oracle, folder, live_system):
    made = {}

    def make(name, program):
        path = folder / f"{name}-{'ours' if program is perf else 'theirs'}.data"
        if path not in made:
            made[path] = program("stat", "record", "-o", path, *RECORDINGS[name], *WORK, cwd=folder)
        if made[path].returncode:
            pytest.skip(f"this machine can't count {RECORDINGS[name]}: {made[path].stderr.strip()}")
        return path
    return make


@pytest.fixture
def python(oracle):
    if not glob.glob("/usr/lib/*/libpython3*.so.1.0"):
        pytest.skip("libpython3 is not installed")
    if not re.search(r"libpython: \[ on", oracle("version", "--build-options").stdout):
        pytest.skip("this kernel's perf is built without Python")


def text_of(program, *words):
    result = program("script", *words)
    assert result.returncode == 0, result.stderr
    return result.stdout


# The kernel's perf doesn't know name= of software events, and what it records of absent ones it can't read.
THEIRS = ["whole", "cpus", "process", "cores"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_rows(perf, oracle, record, name):
    for path in [record(name, perf)] + ([record(name, oracle)] if name in THEIRS else []):
        rows = text_of(perf, "-i", path)
        assert rows == text_of(oracle, "-i", path)
        assert rows.startswith("CPU   THREAD             VAL             ENA             RUN            TIME EVENT\n")


@pytest.mark.parametrize("name", RECORDINGS)
def test_functions(perf, oracle, folder, record, python, name):
    for path in [record(name, perf)] + ([record(name, oracle)] if name in THEIRS else []):
        lines = text_of(perf, "-i", path, "-s", folder / "everything.py")
        assert lines == text_of(oracle, "-i", path, "-s", folder / "everything.py")
        assert re.search(r"^interval \(\d+,\)$", lines, re.M) and lines.endswith("end\n")


def test_names_that_can_be_written(perf, folder, record, python):
    """stat__task_clock_u() is called for task-clock:u, too."""
    (folder / "plain.py").write_text("def stat__task_clock_u(cpu, thread, time, val, ena, run):\n    print(cpu, thread, time, val, ena, run)\n")
    path = record("cpus", perf)
    rows = [line.split() for line in text_of(perf, "-i", path).splitlines() if line.endswith("task-clock:u")]
    found = [line.split() for line in text_of(perf, "-i", path, "-s", folder / "plain.py").splitlines()]
    assert found == [[cpu, thread, time, value, enabled, running] for cpu, thread, value, enabled, running, time, _ in rows]


def test_json(perf, record):
    path = record("cpus", perf)
    objects = [json.loads(line) for line in text_of(perf, "-i", path, "--json").splitlines()]
    rows = [line.split() for line in text_of(perf, "-i", path).splitlines()[1:]]
    assert [[o["cpu"], o["value"], o["enabled"], o["running"], o["time"], o["event"]] for o in objects] == \
        [[int(cpu), int(value), int(enabled), int(running), int(time), event] for cpu, _, value, enabled, running, time, event in rows]


def test_through_a_pipe(perf, oracle, live):
    recorder = subprocess.Popen([str(perf), "stat", "record", "-o", "-", "-e", "cs,task-clock", "true"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    rows = perf("script", "-i", "-", stdin=recorder.stdout).stdout.splitlines()
    assert recorder.wait(300) == 0
    assert [row.split()[-1] for row in rows] == ["EVENT", "cs", "task-clock"]


@pytest.mark.parametrize("name", ["named", "named-whole"])
def test_cycles_per_instruction(perf, oracle, folder, record, python, name):
    """Our stat-cpi prints what the kernel's one does, by both tools."""
    if not KERNEL_SCRIPT.exists():
        pytest.skip(f"{KERNEL_SCRIPT} is not installed")
    path = record(name, perf)
    theirs = text_of(oracle, "-i", path, "-s", KERNEL_SCRIPT)
    assert "-> cpi " in theirs
    assert text_of(perf, "-i", path, "-s", KERNEL_SCRIPT) == theirs
    assert text_of(perf, "report", "stat-cpi", "-i", path) == theirs
