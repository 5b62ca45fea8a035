"""perf lock contention --user of a program that knows its waits: how many, for which lock, who waited, who made it wait, and how long together."""
import json
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent / "futex_waits.c"


@pytest.fixture(scope="module")
def program(tmp_path_factory, live_system, tracefs):
    path = tmp_path_factory.mktemp("waits") / "futex_waits"
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-fno-optimize-sibling-calls", "-o", path, SOURCE], check=True)
    if not (tracefs / "events/syscalls/sys_enter_futex").exists():
        pytest.skip("this kernel has no events of system calls")
    return path


def judge(row, truth):
    """What is between the system call's beginning and its end is within what the program measured around it; the clocks may differ by their correction, of 500 ppm."""
    assert row["contended"] == row["acquired"] == truth["waits"]
    assert truth["least_ns"] * 0.999 <= row["wait_total"] <= truth["most_ns"] * 1.001
    assert row["wait_min"] * truth["waits"] <= row["wait_total"] <= row["wait_max"] * truth["waits"]


def measure(perf, program, *words, arguments=()):
    """The rows of mutexes, and what the program knows; its text goes to standard error, as the rows are for programs."""
    done = perf("lock", "contention", "--user", "-Y", "mutex", "--format", "json", *words, "--", program, *arguments)
    assert done.returncode == 0, done.stderr
    truth = next(json.loads(line) for line in done.stderr.splitlines() if line.startswith("{"))
    return [json.loads(line) for line in done.stdout.splitlines()], truth


@pytest.mark.parametrize("arguments", ((), ("pi",)), ids=("plain", "pi"))
def test_lock(perf, program, arguments):
    (row,), truth = measure(perf, program, "-l", arguments=arguments)
    judge(row, truth)
    assert row["symbol"] == "table_lock in futex_waits" and row["address"] == truth["address"] and row["type"] == "mutex"
    assert row["pid"] == row["owner_tid"] == truth["holder"] and row["owner"] == "futex_waits"


def test_caller(perf, program):
    (row,), truth = measure(perf, program)
    judge(row, truth)
    assert row["type"] == "mutex" and row["caller"].startswith("take_table+0x")


def test_thread_and_owner(perf, program):
    (row,), truth = measure(perf, program, "-t")
    judge(row, truth)
    assert row["tid"] == truth["taker"] and row["comm"] == "taker"
    (row,), truth = measure(perf, program, "-o")
    judge(row, truth)
    assert row["tid"] == truth["holder"] and row["owner"] == "futex_waits"


def test_filters(perf, program):
    (row,), truth = measure(perf, program, "-L", "table_lock", "-S", "take_tab")
    judge(row, truth)
    assert not measure(perf, program, "-L", "other_lock")[0] and not measure(perf, program, "-S", "release_table")[0]


def test_running_process(perf, program, tmp_path):
    go = tmp_path / "go"
    with subprocess.Popen([program, go], stdout=subprocess.PIPE, text=True) as process:
        done = perf("lock", "contention", "--user", "-Y", "mutex", "-l", "--format", "json", "-p", process.pid, "--", "sh", "-c",
                    f"touch {go}; while [ -e /proc/{process.pid}/task/{process.pid}/stat ] && ! grep -q ') Z' /proc/{process.pid}/stat; do sleep 0.01; done")
        truth = json.loads(process.stdout.read())
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    judge(row, truth)
    assert row["symbol"] == "table_lock in futex_waits" and row["owner_tid"] == truth["holder"]


def test_recording(perf, program, tmp_path):
    """The stacks of both sides are in it."""
    data = tmp_path / "perf.data"
    done = perf("lock", "record", "--user", "-o", data, "--", program)
    assert done.returncode == 0, done.stderr
    truth = next(json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    rows = perf("lock", "contention", "--user", "-i", data, "-Y", "mutex", "-l", "--format", "json").stdout.splitlines()
    assert len(rows) == 1
    judge(json.loads(rows[0]), truth)
    text = perf("lock", "contention", "--user", "-i", data, "-Y", "mutex", "-l", "-v", "-q").stdout
    waiter, owner = text[text.index("waited: taker/"):].split("released by futex_waits/")
    assert "take_table+0x" in waiter and "release_table" not in waiter
    assert "release_table+0x" in owner and "main+0x" in owner and "take_table" not in owner
