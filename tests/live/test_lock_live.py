"""perf lock contention without a recording: a program whose waits for the mutex of a pipe are counted by itself."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import locks  # noqa: E402


@pytest.fixture(scope="module")
def load(live_system, tracefs):
    command = locks.load()
    if not command:
        pytest.skip("this kernel holds no lock while it waits for a page")
    return command


def rows(perf, *words):
    """Of the pipe's mutex: its own spinlock is waited for now and then, too."""
    done = perf("lock", "contention", "--format", "json", "-S", "pipe_write", "-Y", "mutex", *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("words", ([], ["-b"]), ids=" ".join)
def test_callers(perf, load, words):
    """The stacks' user parts may differ, so rows may be several."""
    found = rows(perf, "--stack-skip", 0, *words, "--", *load)
    assert sum(row["contended"] for row in found) == sum(row["acquired"] for row in found) == 20
    assert all(row["type"] == "mutex" and "pipe_write+0x" in row["caller"] and 0 < row["wait_min"] <= row["wait_max"] <= row["wait_total"] for row in found)


def test_lock(perf, load):
    """The kernel's addresses are there for root only, but one lock is one row."""
    found = rows(perf, "-l", "--", *load)
    assert [(row["contended"], row["acquired"], row["type"]) for row in found] == [(20, 20, "mutex")]


def test_threads(perf, load):
    """Each wait is that of a thread of its own; all are Python's."""
    found = rows(perf, "-t", "--", *load)
    assert [row["contended"] for row in found] == [1] * 20 and len({row["tid"] for row in found}) == 20
    assert all(row["comm"].startswith("python") for row in found)


def test_cgroup(perf, load):
    assert [row["contended"] for row in rows(perf, "--lock-cgroup", "--", *load)] == [20]
    assert [row["contended"] for row in rows(perf, "-l", "-G", "/", "--", *load)] == [20]
    assert not rows(perf, "-G", "/none/such", "--", *load)


@pytest.mark.parametrize("option", ("-p", "--tid"))
def test_running_process(perf, load, tmp_path, option):
    """Its threads begin when it is measured: with --tid they are others'."""
    go, done = tmp_path / "go", tmp_path / "done"
    waits = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.001)\n"
    with subprocess.Popen([load[0], "-c", waits + load[2] + f"\nopen({str(done)!r}, 'w').close()\ntime.sleep(600)\n"]) as process:
        until_done = f"touch {go}; while [ ! -e {done} ]; do sleep 0.01; done"
        found = rows(perf, "-l", option, process.pid, "--", "sh", "-c", until_done)
        process.kill()
    assert [row["contended"] for row in found] == ([20] if option == "-p" else [])


def test_text(perf, load):
    done = perf("lock", "contention", "-l", "-S", "pipe_write", "-Y", "mutex", "-F", "contended", "-k", "contended", "--", *load)
    lines = done.stdout.splitlines()
    assert lines[:2] == [" contended            address   symbol", ""] and lines[2].startswith("        20   ") and lines[2].endswith("   (mutex)")
    assert len(lines) == 3


@pytest.mark.parametrize("namespace", ([], ["unshare", "-p", "-f", "--mount-proc"]), ids=("here", "pid-namespace"))
def test_owners(perf, bpf, load, tmp_path, namespace):
    """Who holds the pipe's mutex says so itself, with its number in its namespace. Others hold other locks meanwhile."""
    if namespace and subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace can be made here")
    holders = tmp_path / "holders"
    done = subprocess.run([*namespace, perf.path, "lock", "contention", "-o", "--format", "json", "--", *load], capture_output=True, text=True, check=False,
                          env={**os.environ, "HOLDERS": str(holders)})
    assert done.returncode == 0, done.stderr
    found = {row["tid"]: row for row in map(json.loads, done.stdout.splitlines())}
    tids = {int(line) for line in holders.read_text().split()}
    assert len(tids) == 20
    for row in map(found.get, tids):
        assert row["owner"].startswith("python") and row["contended"] >= row["acquired"] >= 1 and 0 < row["wait_min"] <= row["wait_max"] <= row["wait_total"]


def test_owners_text(perf, bpf, load, tmp_path):
    aligned = perf("lock", "contention", "-o", "-k", "contended", "--", *load).stdout.splitlines()
    assert aligned[:2] == [" contended   total wait     max wait     avg wait          pid   owner", ""] and len(aligned) >= 22
    mutexes = perf("lock", "contention", "-o", "-q", "-Y", "mutex", "--", *load).stdout.splitlines()
    assert len([line for line in mutexes if line.split()[-1].startswith("python")]) >= 20
    first = perf("lock", "contention", "-abo", "-q", "-x", ";", "-F", "contended", "-k", "contended", "-E", 1, "--output", tmp_path / "out", "--", *load)
    assert not first.stdout and len((tmp_path / "out").read_text().split("; ")) == 3


def test_room_for_owners(perf, bpf, load):
    """What has no room is told, and which option makes some."""
    small = perf("lock", "contention", "-o", "-M", "1", "--", *load)
    assert len([line for line in small.stdout.splitlines() if line.strip() and line.split()[-1].startswith("python")]) <= 1 and "-M makes more room" in small.stderr
    assert "waits are not counted" not in perf("lock", "contention", "-o", "-M", "65536", "--", *load).stderr
    for number in ("0", "x"):
        assert perf("lock", "contention", "-o", "-M", number).returncode == 129


def test_kernels_without_the_events(perf, root, live_system, tracefs, tmp_path):
    """Their folder of events is covered, for these commands only."""
    cover = f"mount --bind {tmp_path} {tracefs}/events/lock"
    if subprocess.run(["unshare", "-m", "sh", "-c", cover], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    for words in ("contention -- true", "record -o /dev/null -- true"):
        done = subprocess.run(["unshare", "-m", "sh", "-c", f"{cover} && exec {perf.path} lock {words}"], capture_output=True, text=True, check=False)
        assert done.returncode == 255 and "this kernel has no lock:contention_begin events: Linux 5.19 and newer have them" in done.stderr
