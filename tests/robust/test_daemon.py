"""perf daemon: sessions of perf record in the background, as the kernel's perf runs them, and what becomes of them."""
import contextlib
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import time

import pytest

RUN = "-e page-faults:u --switch-output -- sleep 1000"
OTHER = "-e context-switches:u -- sleep 1000"


TIMEOUT = 300  # for what takes seconds


def wait_for(condition):
    """What is waited for comes; minutes are for machines that are busy with something else."""
    until = time.monotonic() + TIMEOUT
    while not (found := condition()):
        assert time.monotonic() < until, condition
        time.sleep(0.01)
    return found


def state(pid):
    """A letter; none when it isn't there any more."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def alive(pid):
    """It is there, and no zombie that nobody has waited for yet."""
    return state(pid) not in ("", "Z")


class Daemon:
    def __init__(self, program, folder):
        self.program, self.base, self.config = program, folder / "base", folder / "config"
        self.base.mkdir(mode=0o755)

    def write(self, **sessions):
        """A new file in the place of the old one, as editors do it."""
        lines = [f"[daemon]\nbase = {self.base}\n", *(f"[session-{name}]\nrun = {run}\n" for name, run in sessions.items())]
        new = self.config.with_suffix(".new")
        new.write_text("".join(lines), encoding="utf-8")
        new.rename(self.config)

    def __call__(self, *words, status=0, **arguments):
        # Not to a pipe, which the kernel's tool keeps open in the background.
        with open(self.base.parent / "said", "w+b") as said:
            done = subprocess.run([str(self.program), "daemon", *map(str, words), "--config", self.config], stdout=said, stderr=said, stdin=subprocess.DEVNULL, check=False, timeout=TIMEOUT, **arguments)
            said.seek(0)
            text = said.read().decode()
        assert done.returncode == status, (words, text)
        return text

    def pids(self):
        """{"daemon": pid, "a": pid, …}: of what runs."""
        return {name: int(pid) for pid, name in re.findall(r"^\[(\d+):([^]]+)\]", self(), re.M)}

    def output(self):
        return (self.base / "output").read_text(encoding="utf-8")

    def ping(self, *words):
        """Waits until all answer that are asked."""
        def said():
            return subprocess.run([str(self.program), "daemon", "ping", *words, "--config", self.config], capture_output=True, text=True, check=False, timeout=TIMEOUT).stdout
        wait_for(lambda: (text := said()) and "OK" in text and "FAIL" not in text)

    def kill(self):
        """What a test that failed has left. Process ids are used again: it must be the daemon."""
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.base / "lock").read_text(encoding="utf-8"))
            if b"daemon\0start\0" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGTERM)
                wait_for(lambda: not alive(pid))


@pytest.fixture
def make_daemon(tmp_path, live):
    made = []

    def make(program, name="ours"):
        (tmp_path / name).mkdir()
        made.append(Daemon(program, tmp_path / name))
        return made[-1]
    yield make
    for daemon in made:
        daemon.kill()


@pytest.fixture
def daemon(make_daemon, perf):
    return make_daemon(perf)


def kinds(folder):
    return {path.name: stat.S_IFMT(path.lstat().st_mode) for path in folder.iterdir()}


def test_as_the_kernels_tool(make_daemon, perf, oracle):
    """What is shown, said and made; other are the rights of the socket, and process ids."""
    told = []
    for program, name in ((perf, "ours"), (oracle, "theirs")):
        daemon = make_daemon(program, name)
        daemon.write(b=RUN, a=OTHER)
        texts = [daemon("start")]
        daemon.ping()
        texts += [daemon(), daemon("-v"), daemon("-x:"), daemon("ping"), daemon("ping", "--session", "a"), daemon("signal", "--session", "b"), daemon("signal")]
        numbers = {str(pid): f"<{who}>" for who, pid in daemon.pids().items()}
        texts = [re.sub(r"\b\d+\b", lambda found, numbers=numbers: numbers.get(found[0], found[0]), text.replace(str(daemon.base), "BASE")) for text in texts]
        texts = [re.sub(r"(up: +)\d+ minutes", r"\1N minutes", text) for text in texts]
        made = [kinds(daemon.base), kinds(daemon.base / "session-a")]
        told.append((texts, made))
        mode = (daemon.base / "control").stat().st_mode & 0o777
        assert mode == (0o600 if program is perf else mode)
        daemon("stop")
    assert told[0] == told[1]


def test_stop_leaves_only_what_was_recorded(daemon, perf):
    daemon.write(a=RUN, b=OTHER)
    daemon("start")
    daemon.ping()
    pids = daemon.pids()
    assert len(pids) == 3 and all(map(alive, pids.values()))
    daemon("signal", "--session", "a")
    wait_for(lambda: "Dump perf.data." in (daemon.base / "session-a/output").read_text(encoding="utf-8"))
    assert daemon("stop") == ""
    assert not alive(pids["a"]) and not alive(pids["b"])
    wait_for(lambda: not alive(pids["daemon"]))
    assert set(kinds(daemon.base)) == {"output", "session-a", "session-b"} and not {"control", "ack"} & set(kinds(daemon.base / "session-a"))
    recorded = [path for path in (daemon.base / "session-a").iterdir() if path.name != "output"] + [daemon.base / "session-b/perf.data"]
    assert len(recorded) >= 3 and all(perf("evlist", "-i", path).returncode == 0 for path in recorded)
    assert "no daemon runs in" in daemon(status=255) and "no daemon runs in" in daemon("stop", status=255)
    assert "daemon exited" in daemon.output()


def test_only_one_owns_a_base(daemon):
    daemon.write(a=RUN)
    daemon("start")
    pids = daemon.pids()
    assert f"another perf daemon (pid {pids['daemon']}) owns {daemon.base}" in daemon("start", status=255) and daemon.pids() == pids


def test_changes(daemon):
    """Sessions with new words are started again, what has ended too; others go on."""
    daemon.write(a=RUN, b=RUN, c=RUN, d="-e no-such-event -- sleep 1000")
    daemon("start")
    wait_for(lambda: "d" not in daemon.pids())
    assert re.search(r"^\[-:d\] perf record -e no-such-event -- sleep 1000\n  ended:   exited, status=[1-9]\d*$", daemon(), re.M) and "session 'd' exited, status=" in daemon.output()
    assert "FAIL d" in daemon("ping", "--session", "d", status=1) and "doesn't run" in daemon("signal", "--session", "d", status=255)
    assert "-e no-such-event" not in daemon("-x,")
    before = daemon.pids()
    daemon.ping("--session", "c")  # it has begun: SIGKILL is what ends it
    os.kill(before["c"], signal.SIGKILL)
    wait_for(lambda: "session 'c' killed (signal 9)" in daemon.output())
    daemon.write(a=RUN, c=RUN, b=OTHER, e=RUN)
    after = wait_for(lambda: (pids := daemon.pids()) and set(pids) == {"daemon", "a", "b", "c", "e"} and pids["b"] != before["b"] and pids)
    assert list(after) == ["daemon", "a", "c", "b", "e"] and after["a"] == before["a"] and after["b"] != before["b"] and after["c"] != before["c"]
    assert not alive(before["b"])
    daemon.config.write_text("[session-a]\nrun = 'x\n", encoding="utf-8")
    wait_for(lambda: "of which nothing is taken" in daemon.output())
    assert daemon("--base", daemon.base) and daemon.program("daemon", "--base", daemon.base).stdout.count("perf record") == 4
    daemon.write(a=RUN)
    wait_for(lambda: list(daemon.pids()) == ["daemon", "a"])
    assert daemon.pids()["a"] == before["a"]


def test_signal_needs_an_answer(daemon):
    """SIGUSR2 would end a recorder that hasn't begun."""
    daemon.write(a=RUN, b=RUN)
    daemon("start")
    daemon.ping("--session", "b")
    pids = daemon.pids()
    os.kill(pids["a"], signal.SIGSTOP)
    wait_for(lambda: state(pids["a"]) == "T")
    assert daemon("signal", status=1) == f"session 'a' doesn't answer: no signal sent\nsignal 12 sent to session 'b [{pids['b']}]'\n"
    os.kill(pids["a"], signal.SIGCONT)
    daemon.ping()
    assert daemon("signal", "--session", "a") and daemon.pids() == pids


def test_daemon_that_was_killed(daemon):
    daemon.write(a=RUN, b=RUN)
    daemon("start")
    daemon.ping()
    pids = daemon.pids()
    os.kill(pids["daemon"], signal.SIGKILL)
    wait_for(lambda: not any(map(alive, pids.values())))
    assert {"control", "lock"} <= set(kinds(daemon.base)) and "no daemon runs in" in daemon(status=255)
    daemon.write(a=RUN)
    said = daemon("start")
    assert f"(pid {pids['daemon']}) was killed" in said and "control" not in kinds(daemon.base / "session-b")
    daemon.ping()
    assert set(daemon.pids()) == {"daemon", "a"} and "was killed" not in daemon("stop") + daemon("start")
    daemon("stop")


def heed_hangup():
    """Also where the tests run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextlib.contextmanager
def foreground(daemon):
    with subprocess.Popen([daemon.program.path, "daemon", "start", "-f", "--config", daemon.config], stdout=subprocess.PIPE, text=True, start_new_session=True,
                          preexec_fn=heed_hangup) as started:
        try:
            yield started
        finally:
            started.terminate()


def test_foreground(daemon):
    """It tells what it does, and Ctrl-C, which its sessions get as well, ends all."""
    daemon.write(a="-e page-faults:u -- sh -c 'exec sleep 1000'")
    with foreground(daemon) as started:
        assert "daemon started (pid" in started.stdout.readline() and "running session [a:" in started.stdout.readline()
        daemon.ping()
        pids = daemon.pids()
        command = pathlib.Path(f"/proc/{pids['a']}/cmdline").read_bytes().split(b"\0")[1:-1]
        assert command == [b"record", b"--control=fifo:control,ack", b"-e", b"page-faults:u", b"--", b"sh", b"-c", b"exec sleep 1000"]
        os.killpg(started.pid, signal.SIGINT)
        started.wait(TIMEOUT)
        assert "daemon exited" in started.stdout.read()
    assert not any(map(alive, pids.values())) and "lock" not in kinds(daemon.base)


def test_terminal_that_goes(daemon):
    daemon.write(a=RUN)
    with foreground(daemon) as started:
        daemon.ping()
        pids = daemon.pids()
        started.send_signal(signal.SIGHUP)
        started.wait(TIMEOUT)
        assert "daemon exited" in started.stdout.read()
    assert not any(map(alive, pids.values()))


def test_hangup_in_the_background(daemon):
    """The configuration is read again, also by a daemon that was started under nohup."""
    daemon.write(a=RUN)
    daemon("start", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    daemon.ping()
    pids = daemon.pids()
    os.kill(pids["a"], signal.SIGKILL)
    wait_for(lambda: "session 'a' killed" in daemon.output())
    os.kill(pids["daemon"], signal.SIGHUP)
    assert wait_for(lambda: (now := daemon.pids()) and "a" in now and now)["daemon"] == pids["daemon"]


def test_session_that_does_not_end(daemon):
    """It is killed after a while, which is told."""
    daemon.write(a=RUN)
    daemon("start")
    daemon.ping()
    pids = daemon.pids()
    os.kill(pids["a"], signal.SIGSTOP)
    daemon("stop")
    assert "session 'a' killed: it hadn't ended 10 seconds after SIGTERM" in daemon.output() and not alive(pids["a"])


def test_what_cannot_be_watched(daemon, perf, tmp_path):
    """A home that isn't there."""
    own = {"HOME": str(tmp_path / "none"), "PATH": os.environ["PATH"]}
    for verb in ("start", "stop"):
        subprocess.run([perf.path, "daemon", verb, "--base", daemon.base], env=own, stdout=subprocess.DEVNULL, check=True, timeout=TIMEOUT)
    assert f"failed: changes of {tmp_path}/none/.perfconfig aren't seen: {tmp_path}/none: No such file or directory" in daemon.output()


def test_requests(daemon):
    """Whoever says nothing, or something else, holds nobody up for long."""
    daemon.write(a=RUN)
    daemon("start")
    with contextlib.ExitStack() as stack:
        asked = []
        for request in (b"", b"list", b"nonsense\n\n\n", b"ping\n\n" + b"a" * 5000, b"ping\n\n\x1b[31m\n"):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(f"/proc/self/fd/{stack.enter_context(open_folder(daemon.base))}/control")
            client.send(request)
            asked.append(client)
        assert "perf record" in daemon()
        assert asked[2].recv(1000).endswith(b"of another version\n")
    assert "\x1b" not in daemon("ping", "--session", "\x1b[31m", status=1)


@contextlib.contextmanager
def open_folder(path):
    fd = os.open(path, os.O_PATH)
    yield fd
    os.close(fd)


def test_folders_of_others(daemon, tmp_path):
    """Nothing is done in a folder into which others write, nor where links lead."""
    victim = tmp_path / "victim"
    victim.mkdir()
    daemon.write(a=RUN)
    daemon.base.chmod(0o777)
    assert "chmod go-w" in daemon("start", status=255) and not kinds(daemon.base)
    daemon.base.chmod(0o755)
    for name in ("lock", "output"):
        (daemon.base / name).symlink_to(victim / "file")
        daemon("start", status=255)
        (daemon.base / name).unlink()
        assert not kinds(victim) and not kinds(daemon.base)
    (daemon.base / "control").symlink_to(victim / "socket")
    (daemon.base / "session-a").symlink_to(victim)
    daemon("start")
    assert not kinds(victim) and "failed: session 'a'" in daemon.output() and list(daemon.pids()) == ["daemon"]
    assert daemon().endswith(f"[-:a] perf record {RUN}\n  not started: see the daemon's output\n")
    assert "session 'a' doesn't run" in daemon("signal", "--session", "a", status=255)
    daemon("stop")
    assert not kinds(victim)


# Closed at once; with what hasn't been read in it, that is a reset.
ASK = """
import socket
client = socket.socket(socket.AF_UNIX)
client.connect("control")
try:
    client.send(b"list\\n\\n\\n")
    print(client.recv(3).decode().strip() or "refused")
except (ConnectionResetError, BrokenPipeError):
    print("refused")
"""


def test_users(daemon, root, tmp_path):
    """Others neither ask the daemon, nor does root take their folders."""
    daemon.write(a=RUN)
    daemon("start")

    def ask(user):
        done = subprocess.run(["/usr/bin/python3", "-c", ASK], cwd=daemon.base, user=user, capture_output=True, text=True, check=False, timeout=TIMEOUT)
        return done.stdout, done.stderr
    assert ask(0) == ("ok\n", "") and "PermissionError" in ask(12345)[1]
    (daemon.base / "control").chmod(0o666)
    assert ask(0) == ("ok\n", "") and ask(12345) == ("refused\n", "")
    daemon("stop")
    os.chown(daemon.base, 12345, 12345)
    assert "belongs to another user" in daemon("start", status=255)


def test_mistakes(daemon, perf, tmp_path):
    for text, sentence in (("[session-a]\nrun = -e x\n", "which base folder"), ("[daemon]\nbase = /no/such\n", "No such file"), ("[daemon]\nbase = {}\n[session-a]\nfoo = 1\n", "the only setting of a session is 'run'"),
                           ("[daemon]\nbase = {}\n[session-a/../b]\nrun = x\n", "a session's name"), ("[daemon]\nbase = {}\n[session-]\nrun = x\n", "a session's name"),
                           ("[daemon]\nbase = {}\n[session-..]\nrun = x\n", "a session's name"), ("[daemon]\nbase = {}\n[session-a]\nrun = 'x\n", "a quote isn't closed"), ("[daemon\n", "expected [section]")):
        daemon.config.write_text(text.replace("{}", str(daemon.base)), encoding="utf-8")
        assert sentence in daemon("start", status=255), text
    own = {"HOME": str(tmp_path), "PERF_CONFIG_PARAMETERS": "session-x=1", "PATH": os.environ["PATH"]}
    done = subprocess.run([perf.path, "daemon", "start", "--base", daemon.base], env=own, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    assert done.returncode == 255 and "the only setting of a session is 'run'" in done.stderr, done
    daemon.write(a=RUN)
    daemon.config.chmod(0o666)
    assert f"run 'chmod o-w {daemon.config}'" in daemon("start", status=255)
    daemon.config.unlink()
    assert "No such file" in daemon("start", status=255)
    assert "unknown subcommand 'x': there are start, stop, signal and ping" in perf("daemon", "x").stderr
    assert perf("daemon", "-x", "").returncode in (129, 255) and not kinds(daemon.base)
