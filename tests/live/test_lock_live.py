"""perf lock contention without a recording: a program whose waits for the mutex of a pipe are counted by itself."""
import json
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
    """Each wait is that of a thread of its own; all are python3's."""
    found = rows(perf, "-t", "--", *load)
    assert [row["contended"] for row in found] == [1] * 20 and len({row["tid"] for row in found}) == 20
    assert all(row["comm"].startswith("python3") for row in found)


def test_cgroup(perf, load):
    assert [row["contended"] for row in rows(perf, "--lock-cgroup", "--", *load)] == [20]
    assert [row["contended"] for row in rows(perf, "-l", "-G", "/", "--", *load)] == [20]
    assert not rows(perf, "-G", "/none/such", "--", *load)


@pytest.mark.parametrize("option", ("-p", "--tid"))
def test_running_process(perf, load, tmp_path, option):
    """Its threads begin when it is measured: with --tid they are others'."""
    go, done = tmp_path / "go", tmp_path / "done"
    waits = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.001)\n"
    with subprocess.Popen(["python3", "-c", waits + load[2] + f"\nopen({str(done)!r}, 'w').close()\ntime.sleep(600)\n"]) as process:
        until_done = f"touch {go}; while [ ! -e {done} ]; do sleep 0.01; done"
        found = rows(perf, "-l", option, process.pid, "--", "sh", "-c", until_done)
        process.kill()
    assert [row["contended"] for row in found] == ([20] if option == "-p" else [])


def test_text(perf, load):
    done = perf("lock", "contention", "-l", "-S", "pipe_write", "-Y", "mutex", "-F", "contended", "-k", "contended", "--", *load)
    lines = done.stdout.splitlines()
    assert lines[:2] == [" contended            address   symbol", ""] and lines[2].startswith("        20   ") and lines[2].endswith("   (mutex)")
    assert len(lines) == 3


def test_kernels_without_the_events(perf, root, live_system, tracefs, tmp_path):
    """Their folder of events is covered, for these commands only."""
    cover = f"mount --bind {tmp_path} {tracefs}/events/lock"
    if subprocess.run(["unshare", "-m", "sh", "-c", cover], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    for words in ("contention -- true", "record -o /dev/null -- true"):
        done = subprocess.run(["unshare", "-m", "sh", "-c", f"{cover} && exec {perf.path} lock {words}"], capture_output=True, text=True, check=False)
        assert done.returncode == 255 and "this kernel has no lock:contention_begin events: Linux 5.19 and newer have them" in done.stderr
