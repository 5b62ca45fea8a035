"""perf agent: windows of samples in a folder, with their labels; what it says of itself; its budget, its configuration, and what is left when it is killed."""
import collections
import gzip
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest
from lib import exported, protobuf, sparing, started

HZ = 999
PERIOD = 10**9 // HZ
ID = "0123456789abcdef" * 4


class Agent:
    """One that runs, with its files in a folder of the test. It says when it is ready, as to systemd."""

    def __init__(self, perf, folder, *options, sinks=True, environment=()):
        self.perf, self.folder, self.out = perf, folder, folder / "out"
        self.socket = folder / "socket"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        (folder / "notify").unlink(missing_ok=True)
        self.listener.bind(str(folder / "notify"))
        self.listener.settimeout(300)
        self.said = open(folder / "said", "a+", encoding="utf-8")
        where = ["--sink", f"file://{self.out}?format=pprof"] if sinks else []
        self.process = subprocess.Popen([perf, "agent", "run", "-v", "--socket", self.socket, "--spool", folder / "spool", *where, *map(str, options)], stdin=subprocess.DEVNULL,
                                        stderr=self.said, env={**os.environ, "NOTIFY_SOCKET": str(folder / "notify"), **dict(environment)})

    def wait_for(self, word):
        while True:
            heard = self.listener.recv(100).decode()
            if heard == word:
                return
            assert self.process.poll() is None, self.log()

    def ready(self):
        started.until(lambda: self.process.poll() is not None or "READY=1" in self.heard(), "the agent is ready")
        assert self.process.poll() is None, self.log()
        return self

    def heard(self):
        self.listener.settimeout(0.05)
        try:
            return self.listener.recv(100).decode()
        except TimeoutError:
            return ""
        finally:
            self.listener.settimeout(300)

    def status(self):
        done = self.perf("agent", "status", "--json", "--socket", self.socket)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def until(self, condition, what):
        """Until its status is as wanted; returns it."""
        last = {}

        def holds():
            assert self.process.poll() is None, self.log()
            last.update(self.status())
            return condition(last)
        started.until(holds, what)
        return last

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(timeout=300)
        return self.process.returncode

    def log(self):
        return (self.folder / "said").read_text(encoding="utf-8")

    def files(self):
        return sorted(self.out.glob("[!.]*.pb.gz"))

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.listener.close()
        self.said.close()


@pytest.fixture
def agent(perf, live_system, tmp_path):
    if os.getuid():
        pytest.skip("the agent measures the whole machine: only root may")
    running = []

    def start(*options, **arguments):
        running.append(Agent(perf, tmp_path, *options, **arguments))
        return running[-1]
    yield start
    for one in running:
        one.close()


Row = collections.namedtuple("Row", "count period labels stack")


def rows_of(path):
    """The rows of a window, by another decoder than ours (lib/protobuf.py)."""
    data = path.read_bytes()
    if 2 not in protobuf.decode(gzip.decompress(data)):  # nothing was sampled
        return
    profile, strings, locations = exported.pprof_tables(data)
    events = [strings[protobuf.one(protobuf.decode(kind), 1)] for kind in profile[1]]
    assert events[0] == "samples"
    for sample in map(protobuf.decode, profile.get(2, [])):
        labels = {strings[protobuf.one(label, 1)]: strings[label[2][0]] if 2 in label else protobuf.one(label, 3) for label in map(protobuf.decode, sample[3])}
        values = protobuf.packed(sample[2][0])
        stack = [name for location in reversed(protobuf.packed(sample[1][0])) for name in locations[location]]
        yield Row(values[0], sum(values[1:]), labels, stack)


def all_rows(agent):
    return [row for path in agent.files() for row in rows_of(path)]


def computing(**variables):
    """A process that computes now and then, called by a name of its own."""
    return sparing.now_and_then(subprocess.Popen([sys.executable, "-c", "while True: pass"], env={**os.environ, **variables}))


def until_sampled(process, seconds=0.3):
    """So much CPU time is some hundred samples."""
    begin = started.ran(process.pid)
    started.until(lambda: started.ran(process.pid) > begin + seconds, "the process has computed")


def test_all_samples_are_accounted_for(agent):
    """taken = rows + lost + dropped; who stops the agent gets the open window; each sample has a weight."""
    running = agent("-e", "cpu-clock", "-F", HZ, "--window", "1h", "--budget", "100%").ready()
    with computing() as process:
        until_sampled(process)
        assert running.stop() == 0, running.log()
    assert len(running.files()) == 1, "the window that was open, and no other"
    rows = all_rows(running)
    taken, stored, lost, dropped = map(int, re.search(r"(\d+) samples taken = (\d+) stored \+ (\d+) lost \+ (\d+) dropped", running.log()).groups())
    assert sum(row.count for row in rows) == stored == taken - lost - dropped
    assert dropped == 0
    own = [row for row in rows if row.labels["pid"] == process.pid]
    assert sum(row.count for row in own) > 50
    assert all(row.period == row.count * PERIOD for row in rows), "the rate was never changed"
    assert any("_PyEval_EvalFrameDefault" in name for row in own for name in row.stack), "complete stacks, with names"


def test_labels(agent):
    """Of a container's control group, of the environment, of the command line; the process's own name without any of them."""
    mount = next((path for path in map(pathlib.Path, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")) if (path / "cgroup.procs").exists() and (path / "cgroup.subtree_control").exists()), None)
    group = mount and mount / f"perf-test-{os.getpid()}" / f"docker-{ID}.scope"
    try:
        if group:
            group.mkdir(parents=True)
    except OSError:
        pytest.skip("control groups can't be made here")
    running = agent("-F", HZ, "--window", "1h", "--budget", "100%", "--label", "place=here", "--label-env", "service=PLANTED_SERVICE, PLANTED_VERSION, PLANTED_LONG", "--host", "somewhere").ready()
    try:
        with computing(PLANTED_SERVICE="shop", PLANTED_VERSION="1.2; x", PLANTED_LONG="x" + "ü" * 5000) as first, computing() as second:
            if group:
                (group / "cgroup.procs").write_text(str(second.pid), encoding="ascii")
            until_sampled(first)
            until_sampled(second)
            assert running.stop() == 0, running.log()
    finally:
        if group:
            started.until(lambda: not (group / "cgroup.procs").read_text(encoding="ascii"), "the group is empty")
            group.rmdir()
            group.parent.rmdir()
    rows = all_rows(running)
    assert {row.labels["place"] for row in rows} == {"here"}
    named = [row.labels for row in rows if row.labels["pid"] == first.pid]
    assert named and all((labels["service"], labels["planted_version"]) == ("shop", "1.2; x") for labels in named)
    assert {labels["planted_long"] for labels in named} == {"x" + "ü" * 511}, "no engine refuses a window for one label, and it ends with a whole character"
    assert "planted_version" not in {name for row in rows if row.labels["pid"] == second.pid for name in row.labels}
    if group:
        contained = [row.labels for row in rows if row.labels["pid"] == second.pid and "container" in row.labels]
        assert contained and {(labels["container"], labels["container_runtime"], labels["service"]) for labels in contained} == {(ID, "docker", ID[:12])}
        assert all(labels["cgroup"].endswith(f"/docker-{ID}.scope") for labels in contained)
    kernel = [row.labels for row in rows if row.labels.get("comm", "").startswith("kworker")]
    assert all(labels["service"] == "kernel" for labels in kernel)


def test_what_it_says_of_itself(agent, perf):
    """Status for people and programs, metrics on loopback, rights that are given up, a watchdog that is told; one agent at a socket."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = agent("--window", "1s", "--budget", "100%", "--metrics", f"127.0.0.1:{port}").ready()
    status = running.until(lambda now: now["windows"] >= 2 and now["sinks"][0]["sent_batches"] >= 2, "two windows were sent")
    assert status["samples_taken"] == status["samples_stored"] + status["samples_lost"] + status["samples_dropped"]
    assert re.fullmatch(r"[0-9a-f]{32}", status["host_id"])
    machine = pathlib.Path("/etc/machine-id")
    assert not machine.exists() or machine.read_text(encoding="ascii").strip() != status["host_id"], "the machine's number is nobody's business"
    assert 0 < status["memory_bytes"] and 0 < status["cpu_ratio"] < 2
    running.wait_for("WATCHDOG=1")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
        text = answer.read().decode()
    assert text.endswith("# EOF\n")
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    for name, value in re.findall(r"^(\w+)(?:\{[^}]*\})? ([0-9.]+)$", text, re.MULTILINE):
        base = name.removesuffix("_total")
        assert types[base] == ("counter" if name.endswith("_total") else "gauge"), name
        assert float(value) >= 0
    assert 'perf_agent_sink_sent_batches_total{sink="file"}' in text
    assert int(re.search(r"^perf_agent_windows_total (\d+)$", text, re.MULTILINE)[1]) >= status["windows"]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/")
    people = perf("agent", "status", "--socket", running.socket)
    assert re.search(r"^samples: \d+ taken = \d+ stored \+ \d+ lost \+ \d+ dropped$", people.stdout, re.MULTILINE)
    assert running.socket.stat().st_mode & 0o777 == 0o600
    another = perf("agent", "run", "--socket", running.socket, "--spool", running.folder / "spool2")
    assert another.returncode == 255 and "another agent answers" in another.stderr
    process = pathlib.Path(f"/proc/{running.process.pid}/status").read_text(encoding="ascii")
    facts = dict(re.findall(r"^(\w+):\s*(\S+)", process, re.MULTILINE))
    assert facts["Seccomp"] == "2" and facts["NoNewPrivs"] == "1"
    kept = sum(1 << number for number in (2, 19, 34, 38, 39))  # CAP_DAC_READ_SEARCH, SYS_PTRACE, SYSLOG, PERFMON, BPF
    assert int(facts["CapEff"], 16) & ~kept == 0
    assert running.stop(signal.SIGINT) == 0
    assert not running.socket.exists()


def test_nobody_keeps_it_waiting(agent):
    """Who asks byte by byte, and for ever, is left: the next one is answered."""
    running = agent("--window", "1h").ready()
    sent = []
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(running.socket))

        def is_left():
            try:
                sent.append(client.send(b"x"))
            except (BrokenPipeError, ConnectionResetError):
                return True
            return False
        started.until(is_left, "the agent gave up")
    assert len(sent) < 4096, "not because the request was too long"
    assert running.status()["sinks"]
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(running.socket))
        assert running.stop() == 0


def test_a_disk_that_hangs(agent):
    """It goes on measuring, and answers. The spool's new file is a pipe, at which a writer waits for a reader; what is written there is lost, as the agent then says."""
    running = agent("--window", "1s", "--budget", "100%").ready()
    pipe, = (path.parent / "new" for path in running.folder.glob("spool/*/lock"))

    def hangs():
        try:
            os.mkfifo(pipe)
        except FileExistsError:  # a window, right now
            return False
        return True
    started.until(hangs, "the disk hangs")
    before = running.until(lambda now: now["windows"] > now["sinks"][0]["batches"] + 1, "windows wait for the disk")
    running.until(lambda now: now["windows"] > before["windows"] + 1 and now["windows_before_disk"] > 0, "it measures on")
    assert re.search(r"^disk: +\d+ windows? that it has not taken yet$", running.perf("agent", "status", "--socket", running.socket).stdout, re.M)
    with pipe.open("rb") as reading:
        threading.Thread(target=reading.read, daemon=True).start()
        after = running.until(lambda now: now["sinks"][0]["sent_batches"] > before["sinks"][0]["sent_batches"] + 1, "the disk is back")
    assert after["sinks"][0]["dropped_batches"] > 0 and "the window is dropped" in running.log()
    assert running.stop() == 0


def test_another_file_where_the_socket_is_to_be(perf, tmp_path):
    path = tmp_path / "precious"
    path.write_text("mine", encoding="ascii")
    done = perf("agent", "run", "--socket", path, "--spool", tmp_path / "spool")
    assert done.returncode == 129 and "not a socket" in done.stderr
    assert path.read_text(encoding="ascii") == "mine"


def test_a_folder_of_any_name(agent, tmp_path):
    """What is coded in a URL is a name before it is a right to write there."""
    running = agent("--sink", f"file://{tmp_path}/a%20b?format=pprof", "--window", "1h", sinks=False).ready()
    assert running.stop() == 0, running.log()
    assert len(list((tmp_path / "a b").glob("*.pb.gz"))) == 1
    assert not (tmp_path / "a%20b").exists()


def test_budget(agent):
    """A budget that nobody can keep: the rate goes down to the lowest, that is said, and each sample weighs what it stands for."""
    running = agent("-e", "cpu-clock", "--window", "1s", "--budget", "0.0001%").ready()
    with computing():
        running.until(lambda now: now["rate_hertz"] == 1 and now["budget_exceeded"], "the lowest rate is reached")
        before = set(running.files())
        started.until(lambda: any(row.period == row.count * 10**9 for path in set(running.files()) - before for row in rows_of(path)), "a window has samples of a second each")
    status = running.status()
    assert status["rate_wanted_hertz"] == 19 and status["rate_lowered"] >= 3
    assert running.stop() == 0
    log = running.log()
    assert "costs too much" in log and "9 instead of 19 samples a second" in log and "cannot be kept" in log
    weights = {row.period / row.count for row in all_rows(running)}
    assert weights <= {10**9 // hertz for hertz in range(1, 20)} | {weight for weight in weights if 10**9 // 19 < weight < 10**9}, "rows of two rates lie between them"


def test_no_memory(agent):
    """Far beyond what it may have the agent drops samples instead of growing, and counts them."""
    running = agent("--window", "2s", "--budget", "100%", "--memory", "1M").ready()
    with computing():
        running.until(lambda now: now["samples_dropped"] > 0 and now["memory_budget_exceeded"], "samples are dropped")
    status = running.status()
    assert status["samples_taken"] == status["samples_stored"] + status["samples_lost"] + status["samples_dropped"]
    assert running.stop() == 0
    assert sum(row.count for row in all_rows(running)) == int(re.search(r"(\d+) stored", running.log())[1])


@pytest.mark.soak
@pytest.mark.skipif(not os.environ.get("PERF_SOAK"), reason="starts some thousand programs: make soak")
def test_programs_of_ever_new_names(agent, tmp_path):
    """Neither what it knows of samples nor what it unwinds stacks by keeps files for ever."""
    churn, jobs = tmp_path / "churn", tmp_path / "jobs"
    jobs.mkdir()
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", churn, pathlib.Path(__file__).resolve().parent.parent.parent / "bench/churn.c"], check=True)
    running = agent("-v", "--budget", "100%").ready()
    with subprocess.Popen([churn, jobs, "1000", "100", "50"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as storm:
        for whose in ("samples", "stacks"):
            started.until(lambda: f"{whose}: files that nobody maps any more are forgotten" in running.log(), f"{whose} are forgotten", 900)  # noqa: B023
        storm.stdin.close()
        assert storm.wait() == 0
    assert running.stop() == 0
    taken, stored, lost, dropped = map(int, re.search(r"(\d+) samples taken = (\d+) stored \+ (\d+) lost \+ (\d+) dropped", running.log()).groups())
    assert taken == stored + lost + dropped


# Functions of so many lines that the names of some dozens take the memory that there is for names of Python. All call one that was there before.
MANY_FUNCTIONS = """
import time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
for number in range(150):
    exec(f"def function{number}(seconds):\\n" + "    x = 0\\n" * 2500 + "    spin(seconds)\\n")
    globals()[f"function{number}"](0.02)
exec("def last(): spin(0.5)")
last()
"""


def test_names_of_python_begin_anew(agent):
    """However many functions there were: the next ones have names, and those that go on still have theirs."""
    running = agent("-vv", "-e", "cpu-clock", "-F", HZ, "--window", "1s", "--budget", "100%", "--memory", "80MB").ready()
    subprocess.run([sys.executable, "-c", MANY_FUNCTIONS], check=True)
    assert running.stop() == 0
    stacks = [row.stack for row in all_rows(running)]
    if not (3, 11) <= sys.version_info < (3, 16):
        pytest.skip("frames of this Python are not known")
    assert "names of Python begin anew" in running.log()
    assert any({"py::last:<string>", "py::spin:<string>"} <= set(stack) for stack in stacks)


def test_killed_with_windows_that_wait(agent):
    """What is in the spool is sent by the next agent, each window once."""
    first = agent("--window", "1s", "--budget", "100%")
    first.out.write_text("in the way of the folder", encoding="ascii")
    first.ready()
    waiting = first.until(lambda now: now["sinks"][0]["waiting_batches"] >= 2, "windows wait")["sinks"][0]
    assert waiting["sent_batches"] == 0 and waiting["why"]
    first.stop(signal.SIGKILL)
    first.out.unlink()
    second = agent("--window", "1h", "--budget", "100%").ready()
    sink = second.until(lambda now: now["sinks"][0]["waiting_batches"] == 0, "all is sent")["sinks"][0]
    assert sink["found_batches"] >= waiting["waiting_batches"]
    assert sink["sent_batches"] == sink["found_batches"] == len(second.files())
    assert sink["sent_samples"] == sink["found_samples"] == sum(row.count for row in all_rows(second))


def test_reload(agent, tmp_path):
    """SIGHUP: labels and sinks as the file says now; a mistake in it changes nothing, and is told with its line."""
    configuration = tmp_path / "agent.conf"

    def write(text):
        configuration.write_text(f"[agent]\nwindow = 1s\nbudget = 100%\n{text}", encoding="ascii")
    with computing():
        write(f"[labels]\nstage = one\n[sink main]\nurl = \"file://{tmp_path}/out?format=pprof\"\n")
        running = agent("--config", configuration, sinks=False).ready()
        running.until(lambda now: now["sinks"][0]["sent_samples"] >= 1, "a sample was sent")
        write("[labels]\nstage = two\nplace!\n")
        running.process.send_signal(signal.SIGHUP)
        status = running.until(lambda now: now["reloads_failed"] == 1, "the mistake was met")
        assert status["reloads"] == 0 and [sink["name"] for sink in status["sinks"]] == ["main"]
        assert f"the configuration stays as it was: {configuration}:6: " in running.log()
        assert "until it is restarted" not in running.log()
        write(f"metrics = 127.0.0.1:9464\n[labels]\nstage = two\n[sink other]\nurl = \"file://{tmp_path}/out?format=pprof\"\n")
        running.process.send_signal(signal.SIGHUP)
        status = running.until(lambda now: now["reloads"] == 1 and now["sinks"][0]["sent_samples"] >= 1, "a sample was sent to the other sink")
        assert [sink["name"] for sink in status["sinks"]] == ["other"]
        assert "what is measured, and where the agent answers, stays as it is until it is restarted" in running.log()
        running.stop()
    assert {row.labels["stage"] for row in all_rows(running)} == {"one", "two"}


def test_new_folders_cannot_be_written(agent, tmp_path, tmp_path_factory):
    """What the agent may write is settled when it starts: a folder that a reload names is none of that."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    configuration = tmp_path / "agent.conf"
    configuration.write_text("[agent]\nwindow = 1s\nbudget = 100%\n", encoding="ascii")
    running = agent("--config", configuration, sinks=False).ready()
    if "(Landlock)" not in running.log():
        pytest.skip("this kernel has no Landlock")
    configuration.write_text(f"[agent]\nwindow = 1s\nbudget = 100%\n[sink new]\nurl = \"file://{elsewhere}/new?format=pprof\"\n", encoding="ascii")
    running.process.send_signal(signal.SIGHUP)
    status = running.until(lambda now: now["sinks"] and now["sinks"][0]["attempts_failed"], "a window cannot be written")
    assert "Permission denied" in status["sinks"][0]["why"] and status["sinks"][0]["sent_batches"] == 0
    assert not list(elsewhere.iterdir())
    assert running.stop() == 0


def test_off_cpu(agent):
    """Where threads sleep, with how long for a weight."""
    running = agent("--off-cpu", "--window", "1h", "--budget", "100%")
    process = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.05)"])
    started.until(lambda: running.process.poll() is not None or "READY=1" in running.heard(), "the agent is ready")
    if running.process.poll() is not None:
        process.kill()
        process.wait()
        pytest.skip(f"time off the CPU can't be measured here: {running.log()}")
    time.sleep(0)
    switches = pathlib.Path(f"/proc/{process.pid}/schedstat")
    begin = int(switches.read_text(encoding="ascii").split()[2])
    started.until(lambda: int(switches.read_text(encoding="ascii").split()[2]) > begin + 10, "the process slept ten times")
    running.stop()
    process.kill()
    process.wait()
    own = [row for row in all_rows(running) if row.labels["pid"] == process.pid and any("nanosleep" in name for name in row.stack)]
    assert sum(row.period for row in own) >= 9 * 50_000_000


MISTAKES = [
    ("[agent]\nbudgt = 1\n", 2, "agent.budgt: unknown setting 'budgt' of [agent]"),
    ("[agent]\n\nbudget = 200\n", 3, "invalid budget '200'"),
    ("[agent]\nwindow = 1ms\n", 2, "invalid length '1ms'"),
    ("[agent]\nmetrics = 0.0.0.0:9464\n", None, "only loopback addresses"),
    ("[labels]\nUPPER-case = x\n", 2, "invalid label name 'upper-case'"),
    ("[somewhere]\nx = 1\n", 2, "unknown section [somewhere]"),
    ("[sink one]\nurl = file:///tmp\nusr = x\n", 3, "unknown setting 'usr' of a sink"),
    ("[sink one]\nuser = x\n", 2, "[sink one] has no url"),
    ("[sink ../one]\nurl = file:///tmp\n", 2, "invalid name of a sink"),
    ("budget = 1\n", 1, "expected [section] or key = value"),
]


@pytest.mark.parametrize("text,line,message", MISTAKES)
def test_mistakes_have_a_place(perf, tmp_path, text, line, message):
    path = tmp_path / "agent.conf"
    path.write_text(text, encoding="ascii")
    done = perf("agent", "check", "--config", path)
    assert done.returncode not in (0, 1)
    assert message in done.stderr
    assert line is None or f"{path}:{line}: " in done.stderr


def test_check(perf, tmp_path):
    """A line for each thing that is looked at; the exit status says whether all is fine."""
    path = tmp_path / "agent.conf"
    path.write_text(f"[agent]\nspool = {tmp_path}/spool\n[sink good]\nurl = file://{tmp_path}/out\n[sink bad]\nurl = file://{path}/out\n[sink open]\nurl = file://{tmp_path}/out\n"
                    f"token-file = {tmp_path}/token\n", encoding="ascii")
    (tmp_path / "token").write_text("secret", encoding="ascii")
    (tmp_path / "token").chmod(0o644)
    done = perf("agent", "check", "--config", path)
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert done.returncode == 1
    assert lines["configuration"] == lines["spool"] == lines["sink 'good'"] == "fine"
    assert lines["sink 'bad'"].startswith(f"{path}:6: ")
    assert "can be read by others: run 'chmod 600" in lines["sink 'open'"]
    assert perf("agent", "check", "--config", tmp_path / "none").returncode == 255
    nobody = perf("agent", "status", "--socket", tmp_path / "nobody")
    assert nobody.returncode == 255 and "no agent answers" in nobody.stderr


def test_no_descriptor_is_left_for_who_asks(agent):
    """Who asks waits; the thread that answers waits as well, instead of trying all the time, and all goes on afterwards."""
    one = agent("--window", "1h").ready()
    limits = resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE)

    tasks = pathlib.Path(f"/proc/{one.process.pid}/task")
    answering = []

    def finds():
        """The thread that waits in poll(), or ppoll() of processors that have only that; the others wait otherwise."""
        answering[:] = [task for task in tasks.iterdir() if (task / "syscall").read_text().split()[0] in ("7", "73", "271")]
        return len(answering) == 1

    def waits():
        return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (answering[0] / "status").read_text(), re.M)[1])

    one.status()
    started.until(finds, "one thread waits for who asks")
    before = waits()
    resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(one.socket))
        client.sendall(b"json\n")
        started.until(lambda: waits() >= before + 4, "it waits again and again")
        resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, limits)
        client.settimeout(300)
        answer = b""
        while data := client.recv(1 << 16):
            answer += data
    assert json.loads(answer)["rate_hertz"]
    assert one.stop() == 0, one.log()
