"""Scripts in Python: the same script on the same recording, run by the kernel's perf and by ours, gives the same output."""
import ctypes.util
import glob
import os
import re
import shutil
import sqlite3
import subprocess

import pytest

# Work, switches, faults and system calls.
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile long sink;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink += i * 3; }
__attribute__((noinline)) void deep(int depth) { if (depth) deep(depth - 1); else leaf(300000); sink++; }
int main(void)
{
	for (int i = 0; i < 40; i++) {
		deep(i % 6);
		memset(malloc(1 << 16), 1, 1 << 16);
		usleep(100);
	}
	return 0;
}
"""

RECORDINGS = {
    "samples": ["-e", "cpu-clock", "-g"],
    "system": ["-a", "-g", "-m", "1M", "--switch-events", "-e", "cpu-clock,sched:sched_switch,sched:sched_wakeup"],
    "faults": ["-d", "-W", "--phys-data", "-e", "page-faults", "-c", "1"],
    "registers": ["--intr-regs=ip,ax", "-e", "cpu-clock"],
    "group": ["-e", "{cpu-clock,page-faults}:S"],
    "tracepoints": ["-e", "raw_syscalls:*,kmem:kmalloc,syscalls:sys_enter_clock_nanosleep"],
    "tracepoint-stacks": ["-g", "-e", "sched:sched_switch"],
}

EVERYTHING = """
import perf_trace_context

def show(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {show(value[key])}" for key in value) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(show, value)) + "]"
    return "context" if type(value).__name__ == "PyCapsule" else repr(value)

def trace_begin():
    import sys
    print("begin", sys.argv[1:], __name__)

def trace_end():
    print("end")

def process_event(event):
    event["attr"] = event["attr"][:112]  # the rest depends on the tool's version
    event["raw_buf"] = len(event["raw_buf"])
    for key in event:
        print(key, show(event[key]))
    if event.get("symbol") in ("leaf", "deep"):
        print(perf_trace_context.perf_sample_srccode(perf_trace_context.perf_script_context))

def sched__sched_switch(event_name, context, *arguments):
    print(event_name, show(arguments), perf_trace_context.common_pc(context), perf_trace_context.common_flags(context))

def raw_syscalls__sys_enter(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm, common_callchain, id, args,
                            perf_sample_dict):
    print(event_name, common_comm, id, show(args), show(perf_sample_dict["sample"]))

def trace_unhandled(event_name, context, fields):
    print("unhandled", event_name, show(fields))

def context_switch(*arguments):
    print("switch", arguments)

def throttle(*arguments):
    print("throttle", arguments)
"""


@pytest.fixture(scope="module")
def python():
    if not glob.glob("/usr/lib/*/libpython3*.so.1.0") and not ctypes.util.find_library("python3"):
        pytest.skip("libpython3 is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("script_python")
    (path / "work.c").write_text(PROGRAM)
    (path / "everything.py").write_text(EVERYTHING)
    subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-plt", "-o", "work", "work.c"], cwd=path, check=True)
    return path


@pytest.fixture(scope="module")
def record(folder, oracle, make_recorder):
    return make_recorder(oracle, folder, RECORDINGS, "./work")


@pytest.fixture(scope="module")
def speaks_python(oracle, python):
    if not re.search(r"libpython: \[ on", oracle("version", "--build-options").stdout):
        pytest.skip("this kernel's perf is built without Python")


def lines_of(program, *words, cwd):
    result = program(*words, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def normalise(line):
    # The kernel's perf cuts registers off, has uninitialised counters, and knows no names of /proc/kcore. Code of no source line (0) has no file with us.
    line = re.sub(r"^(iregs|uregs) .*", r"\1", line)
    line = re.sub(r"\('[^']*', 0, None\)", "(None, 0, None)", line)
    return re.sub(r"<NULL>", "0", line)


@pytest.mark.parametrize("name", RECORDINGS)
def test_everything_that_scripts_get(perf, oracle, speaks_python, record, folder, name):
    words = ["script", "-i", record(name), "-s", "everything.py", "one", "--two"]
    theirs = [normalise(line) for line in lines_of(oracle, *words, cwd=folder)]
    ours = [normalise(line) for line in lines_of(perf, *words, cwd=folder)]
    assert len(theirs) > 20 and ours[0] == "begin ['one', '--two'] __main__" and ours[-1] == "end"
    assert len(ours) == len(theirs)
    different = [pair for pair in zip(theirs, ours) if pair[0] != pair[1]]
    # Symbols differ in a line here and there, as they do in the text of perf script.
    assert len(different) <= len(theirs) / 200, different[:3]


@pytest.mark.parametrize("name", ["tracepoints", "tracepoint-stacks", "system"])
def test_skeletons(perf, oracle, speaks_python, record, tmp_path, name):
    path = record(name)
    texts = {}
    for maker in (oracle, perf):
        made = maker("script", "-i", path, "-g", "python", cwd=tmp_path)
        assert "generated Python script: perf-script.py" in made.stdout + made.stderr
        for runner in (oracle, perf):
            texts[maker, runner] = lines_of(runner, "script", "-i", path, "-s", "perf-script.py", cwd=tmp_path)
    assert len(texts[oracle, oracle]) > 20
    for runner in (oracle, perf):
        assert texts[perf, runner] == texts[oracle, runner]
    different = [pair for pair in zip(texts[oracle, oracle], texts[oracle, perf]) if pair[0] != pair[1]]
    assert len(texts[oracle, oracle]) == len(texts[oracle, perf])
    assert len(different) <= len(texts[oracle, oracle]) / 200, different[:3]


def run_script(perf, record, folder, text, *words):
    (folder / "case.py").write_text(text)
    return perf("script", "-i", record("tracepoints"), "-s", "case.py", *words, cwd=folder)


@pytest.mark.parametrize("text, status, output, message", [
    ("import sys\nprint('top')\nsys.exit(3)", 3, "top\n", ""),
    ("import sys\ndef trace_begin():\n    sys.exit('no more')", 1, "", "no more\n"),
    ("def trace_begin():\n    print('a')\n    raise ValueError('broken')\n", 255, "a\n", "ValueError: broken"),
    ("def trace_begin(:\n", 255, "", "SyntaxError"),
    ("def trace_unhandled(one):\n    pass\n", 255, "", "TypeError"),
])
def test_ends_of_scripts(perf, python, record, folder, text, status, output, message):
    result = run_script(perf, record, folder, text)
    assert (result.returncode, result.stdout) == (status, output)
    assert message in result.stderr


def test_interrupt(perf, python, record, folder):
    """Ctrl-C ends the records, not the script."""
    text = """import os, signal
n = 0
def trace_unhandled(*a):
    global n
    n += 1
    if n == 3:
        os.kill(os.getpid(), signal.SIGINT)
def trace_end():
    print("seen", n)
"""
    result = run_script(perf, record, folder, text)
    assert (result.returncode, result.stdout) == (0, "seen 3\n"), result.stderr


@pytest.mark.parametrize("unbuffered, text", [
    ("", "print('text')\n"),
    ("1", "print('text')\n"),
    ("", "print('text')\nraise SystemExit(0)\n"),
    ("", "import atexit\natexit.register(print, 'text')\n"),
])
def test_full_disk(perf, python, record, folder, unbuffered, text):
    """Whether Python writes at once or when it ends."""
    (folder / "case.py").write_text(text)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = perf("script", "-i", record("tracepoints"), "-s", "case.py", cwd=folder, stdout=full, stderr=subprocess.PIPE, capture_output=False,
                    env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    assert done.returncode and "No space left" in done.stderr


def test_imports_from_its_own_folder(perf, python, record, folder):
    (folder / "inner").mkdir(exist_ok=True)
    (folder / "inner/neighbour.py").write_text("WORD = 'found'\n")
    (folder / "inner/main.py").write_text("import neighbour\nprint(neighbour.WORD, __file__)\n")
    result = perf("script", "-i", record("tracepoints"), "-s", "python:inner/main.py", cwd=folder)
    assert result.stdout == "found inner/main.py\n"


def test_filters_apply(perf, python, record, folder):
    text = "n = 0\ndef trace_unhandled(*a):\n    global n\n    n += 1\ndef trace_end():\n    print(n)\n"
    every = int(run_script(perf, record, folder, text).stdout)
    (folder / "case.py").write_text(text)
    half = perf("script", "-i", record("tracepoints"), "--time", "10%-50%", "-s", "case.py", cwd=folder)
    none = perf("script", "-i", record("tracepoints"), "-c", "nobody", "-s", "case.py", cwd=folder)
    assert 0 < int(half.stdout) < every and int(none.stdout) == 0


def test_system_calls_have_names(perf, python, record, folder):
    result = run_script(perf, record, folder, """
import os, sys
sys.path.append(os.environ['PERF_EXEC_PATH'] + '/scripts/python/Perf-Trace-Util/lib/Perf/Trace')
from Util import *
names = set()
def raw_syscalls__sys_enter(event_name, context, cpu, secs, nsecs, pid, comm, callchain, id, args):
    names.add(syscall_name(id))
def trace_end():
    print(*sorted(names), nsecs_str(nsecs(2, 5)), strerror(-2))
""")
    words = result.stdout.split()
    assert {"clock_nanosleep", "exit_group"} <= set(words) and words[-2:] == ["2.000000005", "ENOENT"], result.stderr


def test_not_loaded_unless_asked_for(perf, record, folder):
    """The program isn't linked with libpython, and plain perf script doesn't load it."""
    if not shutil.which("strace"):
        linked = subprocess.run(["ldd", str(perf)], capture_output=True, text=True, check=True).stdout
        assert "python" not in linked
        return
    traced = subprocess.run(["strace", "-f", "-e", "trace=openat", str(perf), "script", "-i", record("samples")], capture_output=True, text=True,
                            check=True, cwd=folder)
    assert "libelf" in traced.stderr and "libpython" not in traced.stderr


def test_wrong_usage(perf, record, folder):
    path = record("samples")
    for words, text in [(["-s", "nowhere.py"], "nowhere.py: No such file"), (["-s", "what"], "language"), (["-g", "cobol"], "unknown scripting language")]:
        result = perf("script", "-i", path, *words, cwd=folder)
        assert result.returncode != 0 and text in result.stderr, words


def test_hostile_names_stay_out_of_skeletons(perf, record, folder, tmp_path):
    """A recording whose tracepoint has code for its name."""
    data = record("tracepoint-stacks").read_bytes()
    name = b"name: sched_switch\n"
    assert name in data
    evil = tmp_path / "evil.data"
    evil.write_bytes(data.replace(name, b"name: x();import a\n"))
    result = perf("script", "-i", evil, "-g", "python", cwd=tmp_path)
    text = (tmp_path / "perf-script.py").read_text() if result.returncode == 0 else ""
    assert "import a" not in text


EXPORT = """
perf_db_export_mode = True
perf_db_export_callchains = True

def writer(name):
    return lambda *row: print(name, row)

for name in ("evsel", "machine", "thread", "comm", "comm_thread", "dso", "symbol", "branch_type", "sample", "call_path", "context_switch"):
    globals()[name + "_table"] = writer(name)

def process_event(event):
    print("never called")

def sched__sched_switch(*arguments):
    print("tracepoint", len(arguments))
"""


def test_export_to_databases(perf, oracle, speaks_python, record, folder):
    """Each row of each table. Build-ids of files without samples are only in theirs; places without a symbol have addresses of memory in theirs."""
    (folder / "export.py").write_text(EXPORT)
    path = folder / "export.data"
    assert oracle.record(path, "-g", "--switch-events", "-e", "cpu-clock,sched:sched_switch", "--", "./work", cwd=folder).returncode == 0
    texts = []
    for program in (oracle, perf):
        lines = lines_of(program, "script", "-i", path, "-s", "export.py", cwd=folder)
        lines = [re.sub(r"^(dso .*), '[0-9a-f]*'\)", r"\1", line) for line in lines]
        texts.append([re.sub(r"^(symbol \(\d+, \d+), -?\d+, -?\d+(, 0, 'unknown')", r"\1\2", line) for line in lines])
    kinds = {line.split()[0] for line in texts[0]}
    assert kinds == {"evsel", "machine", "thread", "comm", "comm_thread", "dso", "symbol", "branch_type", "sample", "call_path", "context_switch",
                     "tracepoint"}
    assert texts[1] == texts[0]


def test_export_to_sqlite(perf, python, record, folder):
    path, database = record("samples"), folder / "samples.db"
    result = perf("script", "report", "export-to-sqlite", database, "callchains", "-i", path, cwd=folder)
    assert result.returncode == 0, result.stderr
    connection = sqlite3.connect(database)
    samples = len(lines_of(perf, "script", "-i", path, "-G", "-F", "event", cwd=folder))
    assert connection.execute("SELECT count(*) FROM samples").fetchone() == (samples,)
    names = dict(connection.execute("SELECT name, count(*) FROM samples JOIN symbols ON symbol_id = symbols.id GROUP BY 1"))
    leaves = [line for line in lines_of(perf, "script", "-i", path, "-G", "-F", "ip,sym", cwd=folder) if line.split()[1:] == ["leaf"]]
    assert leaves and names["leaf"] == len(leaves)
    callers = connection.execute("SELECT DISTINCT symbols.name FROM samples JOIN call_paths leaf ON call_path_id = leaf.id JOIN call_paths caller "
                                 "ON leaf.parent_id = caller.id JOIN symbols ON caller.symbol_id = symbols.id JOIN symbols s ON leaf.symbol_id = s.id "
                                 "WHERE s.name = 'leaf'").fetchall()
    assert set(callers) & {("deep",), ("main",)}
    again = perf("script", "report", "export-to-sqlite", database, "-i", path, cwd=folder)
    assert again.returncode == 1 and "exists already" in again.stderr
