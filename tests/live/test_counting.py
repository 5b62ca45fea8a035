"""perf stat on this machine: exact counts, targets, exit statuses, and that nobody waits for closing tracepoints."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import prompt  # noqa: E402
import started  # noqa: E402

pytestmark = pytest.mark.usefixtures("live")


def rows(done, separator=","):
    """{event: fields} of -x output."""
    return {line.split(separator)[2]: line.split(separator) for line in done.stderr.splitlines() if line.count(separator) >= 4}


def test_default_events(perf):
    done = perf("stat", "true")
    assert done.returncode == 0 and "Performance counter stats for 'true':" in done.stderr
    for event in ("task-clock", "context-switches", "cpu-migrations", "page-faults", "cycles", "instructions", "branches", "branch-misses"):
        assert event in done.stderr
    assert "CPUs utilized" in done.stderr and "seconds time elapsed" in done.stderr and "seconds user" in done.stderr


@pytest.mark.usefixtures("tracefs", "root")
def test_counts_are_exact(perf):
    """dd makes one read and one write for each block, and a few more."""
    counts = {}
    for blocks in (0, 1000):
        done = perf("stat", "-x,", "-e", "syscalls:sys_enter_read,syscalls:sys_enter_write", "dd", "if=/dev/zero", "of=/dev/null", "bs=1",
                    f"count={blocks}", "status=none")
        counts[blocks] = {event: int(fields[0]) for event, fields in rows(done).items()}
    assert {event: counts[1000][event] - count for event, count in counts[0].items()} == {
        "syscalls:sys_enter_read": 1000, "syscalls:sys_enter_write": 1000}


def test_status_is_the_commands(perf):
    assert perf("stat", "-x,", "sh", "-c", "exit 3").returncode == 3
    assert perf("stat", "-x,", "sh", "-c", "kill -9 $$").returncode == 0
    missing = perf("stat", "no-such-program")
    assert missing.returncode == 255 and "no-such-program" in missing.stderr


def test_interrupted_shows_counts(perf):
    process = subprocess.Popen([perf, "stat", "-e", "task-clock", "sleep", "100"], stderr=subprocess.PIPE, text=True)
    started.until_it_measures(process.pid, signal.SIGINT)
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=300)[1]
    assert "task-clock" in text and process.returncode == -signal.SIGINT


def test_interrupted_in_the_background_of_a_script(perf):
    """Where SIGINT is ignored, by the command, too."""
    shell = subprocess.Popen(["sh", "-c", '"$0" stat -e task-clock sleep 100 & echo $!; wait $!', perf], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pid = int(shell.stdout.readline())
    started.until_it_measures(pid, signal.SIGINT)
    os.kill(pid, signal.SIGINT)
    assert "task-clock" in shell.communicate(timeout=300)[1] and shell.returncode == 128 + signal.SIGINT


@pytest.mark.usefixtures("tracefs", "root")
def test_hundreds_of_events(perf):
    done = perf("stat", "-x,", "-e", "syscalls:*", "true")
    counts = rows(done)
    assert done.returncode == 0 and len(counts) > 500
    assert int(counts["syscalls:sys_exit_execve"][0]) == 1 and int(counts["syscalls:sys_enter_exit_group"][0]) == 1


@pytest.mark.usefixtures("tracefs", "root")
def test_nobody_waits(perf, tmp_path):
    """Closing hundreds of events takes the kernel half a minute."""
    prompt.check(tmp_path, perf, ["stat", "-e", "sched:*", "true"], True)


def test_json_lines(perf):
    done = perf("stat", "-j", "-e", "task-clock,page-faults", "true")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["event"] for line in lines] == ["task-clock", "page-faults"]
    assert float(lines[1]["counter-value"]) > 10


def test_pid_until_it_ends(perf):
    target = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    process = subprocess.Popen([perf, "stat", "-e", "context-switches", "-p", str(target.pid)], stderr=subprocess.PIPE, text=True)
    started.until_it_measures(process.pid)
    assert process.poll() is None
    target.communicate()
    text = process.communicate(timeout=300)[1]
    assert process.returncode == 0 and f"process id '{target.pid}'" in text


def test_runs(perf):
    done = perf("stat", "-r", "5", "--table", "-e", "page-faults", "true")
    assert "(5 runs)" in done.stderr and "Table of individual measurements" in done.stderr and "+-" in done.stderr


def test_output_file(perf, tmp_path):
    path = tmp_path / "out"
    for words in ([], ["--append"]):
        done = perf("stat", "-o", path, *words, "-e", "page-faults", "true")
        assert done.returncode == 0 and not done.stderr
    text = path.read_text()
    assert text.startswith("# started on ") and text.count("page-faults") == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_system_wide(perf, live_system):
    done = perf("stat", "-a", "-A", "-x,", "-e", "cpu-clock", "sleep", "0.1")
    lines = done.stderr.splitlines()
    assert len(lines) == len(os.sched_getaffinity(0)) and lines[0].startswith("CPU0,")


def test_delay_leaves_the_beginning_out(perf, tmp_path):
    """The time that passed is that of counting: the command goes on for a while after it has read that it is counted."""
    said = tmp_path / "said"
    begin = time.monotonic()
    with open(said, "w", encoding="utf-8") as err:
        perf("stat", "-x,", "-D", "300", "-e", "duration_time", "sh", "-c", 'until grep -q "Events enabled" "$1"; do sleep 0.01; done; sleep 0.2', "sh", said,
             capture_output=False, stdout=subprocess.DEVNULL, stderr=err)
    seconds = int(said.read_text().splitlines()[-1].split(",")[0]) / 1e9
    assert 0.2 < seconds < time.monotonic() - begin - 0.3


# Touches so many new pages for each byte that it reads, and writes one. The first of them are touched before: all else is in its place then.
TOUCHES = r"""
#include <sys/mman.h>
#include <unistd.h>
static void touch(void)
{
	enum { PAGES = 500, SIZE = 4096 };
	volatile char *at = mmap(NULL, PAGES * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise((void *)at, PAGES * SIZE, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		at[i * SIZE] = 1;
}
int main(void)
{
	char byte = 0;
	do
		touch();
	while (write(1, &byte, 1) == 1 && read(0, &byte, 1) == 1);
}
"""


def test_control(perf, tmp_path):
    """What the command does between two orders is what is counted."""
    commands, answers = tmp_path / "commands", tmp_path / "answers"
    os.mkfifo(commands)
    os.mkfifo(answers)
    subprocess.run(["gcc", "-O1", "-Wl,-z,now", "-x", "c", "-o", tmp_path / "touches", "-"], input=TOUCHES, text=True, check=True)
    process = subprocess.Popen([perf, "stat", "-D", "-1", "-x,", "-e", "page-faults:u", "--control", f"fifo:{commands},{answers}", tmp_path / "touches"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with open(answers, "r+b", buffering=0) as heard, open(commands, "wb", buffering=0) as said:
        assert process.stdout.read(1)
        for command in (b"enable\n", b"disable\n", b"ping\n", b"stop\n"):
            said.write(command)
            assert heard.read(4) == b"ack\n"
            if command != b"stop\n":
                process.stdin.write(b"x")
                process.stdin.flush()
                assert process.stdout.read(1)
    text = process.communicate(timeout=300)[1].decode()
    assert process.returncode == 0 and text.splitlines()[-1].startswith("500,,page-faults:u,"), text


def test_forever_until_interrupted(perf):
    process = subprocess.Popen([perf, "stat", "-r", "0", "-x,", "-e", "task-clock", "sleep", "0.1"], stderr=subprocess.PIPE, text=True)
    started.until_it_measures(process.pid, signal.SIGINT)
    for _ in range(3):
        while "task-clock" not in process.stderr.readline():
            assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)


def test_damaged_recording_is_refused(perf, tmp_path):
    path = tmp_path / "perf.data"
    assert perf("stat", "record", "-o", path, "-e", "task-clock", "true").returncode == 0
    whole = path.read_bytes()
    for size in range(100, len(whole), 97):
        (tmp_path / "cut").write_bytes(whole[:size])
        done = perf("stat", "report", "-i", tmp_path / "cut")
        assert done.returncode in (0, 255), size
    samples = perf("record", "-q", "-o", tmp_path / "samples", "true")
    assert samples.returncode == 0
    done = perf("stat", "report", "-i", tmp_path / "samples")
    assert done.returncode == 255 and "contains no counts" in done.stderr
