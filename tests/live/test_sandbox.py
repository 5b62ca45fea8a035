"""Commands that read a recording do so without the rights to write files, to start programs or to reach the network."""
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys

import pytest

TEXT = """event cpu-clock type=1 config=0 freq=1000 sample=IP|TID|TIME|PERIOD ids=1 flags=sample_id_all,mmap,comm
feature event_desc
comm pid=7 tid=7 name=prog time=1
mmap2 pid=7 tid=7 addr=0x400000 len=0x10000 pgoff=0 prot=5 flags=2 time=2 name=/bin/none
sample event=0 ip=0x400123 pid=7 tid=7 time=10 period=1
"""
READERS = [["report", "--stdio"], ["script"], ["annotate", "--stdio"]]
# What analyses tracepoints, and files instead of standard output.
OTHERS = [["kmem", "stat"], ["lock", "report"], ["lock", "contention"], ["sched", "latency"], ["sched", "timehist"], ["sched", "map"], ["sched", "stats", "report"],
          ["kwork", "report"], ["kwork", "timehist"], ["kvm", "stat", "report"], ["offcpu"], ["where"], ["trace"], ["timechart", "-o", "/dev/null"], ["report", "--html", "/dev/null"],
          ["buildid-list"], ["stat", "report"], ["script", "--per-event-dump"]]
WRITERS = [["inject", "-b", "-o", "/dev/null"], ["inject", "-b"]]


@pytest.fixture(scope="session")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sandbox")
    (folder / "text").write_text(TEXT)
    subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "../lib/recording.py"), folder / "text", folder / "perf.data"], check=True)
    return folder / "perf.data"


@pytest.fixture
def reading(perf, tmp_path):
    """Starts a reader that waits for a recording that comes through a pipe, and gives its process: all before is done, the sandbox as well."""
    running = []

    def start(words, **environment):
        env = {key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"}
        process = subprocess.Popen([perf.path, *words, "-v", "-i", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**env, **environment})
        running.append(process)
        return process
    yield start
    for process in running:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def state_of(process):
    with open(f"/proc/{process.pid}/status") as file:
        status = file.read()
    return {key: int(re.search(rf"^{key}:\s*(\d+)", status, re.MULTILINE).group(1)) for key in ("NoNewPrivs", "Seccomp")}


@pytest.mark.parametrize("words", [*READERS, *OTHERS, *WRITERS], ids=" ".join)
def test_it_is_entered(reading, words):
    """/proc says so of the process, once it has said so itself."""
    process = reading(words)
    line = process.stderr.readline().decode()
    assert "Sandbox: " in line and "programs cannot be started, no network" in line
    assert state_of(process) == {"NoNewPrivs": 1, "Seccomp": 2}
    process = reading([*words, "--no-sandbox"])
    process.stdin.close()
    assert b"Sandbox" not in process.stderr.read()


def test_network_for_debug_files(reading):
    assert "the network is allowed for DEBUGINFOD_URLS" in reading(["report"], DEBUGINFOD_URLS="http://127.0.0.1:1/").stderr.readline().decode()
    assert "no network" in reading(["report", "--debuginfod-timeout", "0"], DEBUGINFOD_URLS="http://127.0.0.1:1/").stderr.readline().decode()


GDB = """
set debuginfod enabled off
set breakpoint pending on
handle SIGPIPE nostop
break reader_open
run
call (int)open("{folder}/written", 0101, 0600)
print $ < 0
call (int)open("{folder}/there", 01)
print $ < 0
call (int)open("{folder}/there", 0)
print $ >= 0
call (int)unlink("{folder}/there")
print $ < 0
call (int)socket(2, 1, 0)
print $ < 0
call (int)execl("/bin/touch", "touch", "/tmp/perf-sandbox-touched", (char *)0)
print $ < 0
call (int)kill(1, 0)
print $ < 0
call (int)kill({parent}, 0)
print $ < 0
call (int)raise(0)
print $ == 0
kill
"""


@pytest.mark.skipif(not os.path.exists("/usr/bin/gdb"), reason="gdb is not installed")
@pytest.mark.parametrize("words", [*READERS, *WRITERS, ["flamegraph", "--folded"], ["evlist"], ["buildid-list"]], ids=lambda words: words[0])
def test_what_is_refused(perf, recording, tmp_path, words):
    """A debugger makes the reader try, right before the recording is opened."""
    if perf("doctor", "--json").stdout.find('"landlock": 0') >= 0:
        pytest.skip("this kernel has no Landlock")
    home = pwd.getpwuid(os.geteuid()).pw_dir
    folder = tmp_path if not str(tmp_path).startswith("/tmp") else None
    folder = folder or os.path.join(home, f".perf-sandbox-{os.getpid()}")
    os.makedirs(folder, exist_ok=True)
    try:
        with open(os.path.join(folder, "there"), "w") as file:
            file.write("x")
        script = tmp_path / "script"
        script.write_text(GDB.format(folder=folder, parent=os.getpid()))
        done = subprocess.run(["gdb", "-q", "-batch", "-nx", "-x", script, "--args", perf.path, *words, "-i", recording], capture_output=True, text=True, timeout=300,
                              check=False, stdin=subprocess.DEVNULL)
        if "Couldn't write extended state" in done.stderr:
            pytest.skip("this gdb does not know all registers of this processor, and can call no functions")
        found = re.findall(r"^\$\d+ = (-?\d+)$", done.stdout, re.MULTILINE)
        assert len(found) == 18 and found[1::2] == ["1"] * 9, (found, done.stdout[-3000:], done.stderr[-2000:])
        assert not os.path.exists(os.path.join(folder, "written"))
    finally:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


@pytest.mark.parametrize("words", READERS, ids=lambda words: words[0])
def test_pager(perf, recording, tmp_path, words):
    """The pager was made before."""
    script = f"PERF_PAGER='cat >{tmp_path}/paged' exec {perf.path} {' '.join(words)} -i {recording}"
    done = subprocess.run(["script", "-qec", script, "/dev/null"], capture_output=True, timeout=300, check=False, stdin=subprocess.DEVNULL,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    shown = perf(*words, "-i", recording)
    paged = (tmp_path / "paged").read_text() if (tmp_path / "paged").exists() else ""
    assert shown.returncode or (done.returncode == 0 and "prog" in paged + done.stdout.decode() and paged)


def test_a_flame_graph_is_written_beside_any_file(perf, recording, tmp_path):
    """The folder of the output stays open, also behind a link."""
    home = os.path.join(os.path.expanduser("~"), f".perf-sandbox-flame-{os.getpid()}")
    os.makedirs(home)
    try:
        os.symlink(os.path.join(home, "target.svg"), tmp_path / "link.svg")
        for output in (os.path.join(home, "new.html"), os.path.join(home, "target.svg"), tmp_path / "link.svg"):
            done = perf("flamegraph", "-i", recording, "-o", output)
            assert done.returncode == 0 and os.path.getsize(output) > 1000, done.stderr
    finally:
        for name in os.listdir(home):
            os.unlink(os.path.join(home, name))
        os.rmdir(home)


def test_counts_are_read_in_it(perf, live, tmp_path):
    """And what is shown goes where it is to."""
    assert perf("stat", "record", "-o", tmp_path / "stat.data", "-e", "page-faults", "true").returncode == 0
    done = perf("stat", "report", "-v", "-i", tmp_path / "stat.data", "-o", tmp_path / "text")
    assert done.returncode == 0 and "page-faults" in (tmp_path / "text").read_text() and "Sandbox: " in done.stderr
    assert "Sandbox" not in perf("stat", "report", "-v", "--no-sandbox", "-i", tmp_path / "stat.data").stderr


def test_calls_are_read_in_it(perf, tracefs, live, tmp_path):
    assert perf("trace", "record", "-o", tmp_path / "trace.data", "true").returncode == 0
    done = perf("trace", "-v", "-i", tmp_path / "trace.data", "-o", tmp_path / "lines")
    assert done.returncode == 0 and "execve(" in (tmp_path / "lines").read_text() and "Sandbox: " in done.stderr


def outside(name):
    """A new folder that no program may write to unless it is told to: temporary ones may all."""
    folder = os.path.join(os.path.expanduser("~"), f".perf-sandbox-{name}-{os.getpid()}")
    os.makedirs(folder)
    return folder


def test_what_inject_writes(perf, recording):
    """The output, what had its name before, and streams; the recording that went in stays as it was."""
    folder = outside("inject")
    try:
        output = os.path.join(folder, "out.data")
        for _ in range(2):
            done = perf("inject", "-v", "-b", "-i", recording, "-o", output)
            assert done.returncode == 0 and " and the output; programs cannot be started" in done.stderr, done.stderr
        assert sorted(os.listdir(folder)) == ["out.data", "out.data.old"]
        with open(os.path.join(folder, "stream"), "wb") as stream:
            subprocess.run([perf.path, "inject", "-i", recording], stdout=stream, check=True)
            os.rename(output, os.path.join(folder, "device"))
            subprocess.run([perf.path, "inject", "-i", recording, "-o", "/dev/stdout"], stdout=subprocess.PIPE, check=True)
        assert all("prog" in perf("script", "-i", os.path.join(folder, name)).stdout for name in ("stream", "device", "out.data.old"))
    finally:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def test_what_buildid_cache_writes(perf, live, tmp_path):
    """The cache, wherever it is, with its links."""
    folder = outside("cache")
    try:
        assert perf("record", "-N", "-o", tmp_path / "own.data", "-e", "cpu-clock:u", "-F", "20000", "--", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done").returncode == 0
        cache = os.path.join(folder, "cache")
        done = perf("--buildid-dir", cache, "buildid-cache", "-v", "-a", tmp_path / "own.data")
        assert done.returncode == 0 and "Sandbox: " in done.stderr and "the output; programs cannot be started, no network" in done.stderr, done.stderr
        listed = perf("--buildid-dir", cache, "buildid-cache", "-v", "-l")
        assert "Sandbox: " not in listed.stderr
        ids = [line.split()[0] for line in listed.stdout.splitlines()]
        assert ids and all(os.path.islink(os.path.join(cache, ".build-id", name[:2], name[2:])) for name in ids)
        missing = perf("--buildid-dir", cache, "buildid-cache", "-v", "-M", tmp_path / "own.data")
        assert missing.returncode == 0 and "Sandbox: " in missing.stderr and not set(ids) & set(missing.stdout.split())
        assert "Sandbox: " not in perf("--buildid-dir", cache, "buildid-cache", "-v", "--no-sandbox", "-M", tmp_path / "own.data").stderr
    finally:
        shutil.rmtree(folder)


def test_what_script_writes(perf, recording, tmp_path):
    """Dumps beside the recording, skeletons of scripts in the current folder."""
    folder = outside("script")
    try:
        shutil.copy(recording, os.path.join(folder, "perf.data"))
        done = perf("script", "-v", "--per-event-dump", cwd=folder)
        assert done.returncode == 0 and " and the output; programs cannot be started" in done.stderr
        assert sorted(os.listdir(folder)) == ["perf.data", "perf.data.cpu-clock.dump"]
        done = perf("script", "-v", "-g", "python", "-i", recording, cwd=folder)
        assert done.returncode == 0 and "Sandbox: only" in done.stderr and "perf-script.py" in os.listdir(folder)
    finally:
        shutil.rmtree(folder)


def test_what_stays_outside_says_so(perf, recording, tmp_path):
    """A script of one's own may do what its author may."""
    (tmp_path / "x.py").write_text("def process_event(event):\n    open('written', 'w').close()\n")
    done = perf("script", "-v", "-s", tmp_path / "x.py", "-i", recording, cwd=tmp_path)
    assert done.returncode == 0 and "Sandbox: not entered: a script is a program of your own" in done.stderr and (tmp_path / "written").exists()
    assert "Sandbox" not in perf("script", "-v", "--no-sandbox", "-s", tmp_path / "x.py", "-i", recording, cwd=tmp_path).stderr


def test_doctor_says_what_it_covers(perf):
    row, = [row for row in json.loads(perf("doctor", "-j").stdout)["rows"] if row["id"] == "sandbox"]
    assert row["state"] != "ok" or ("writes its output and temporary files only" in row["found"] and "all commands but" in row["found"])
