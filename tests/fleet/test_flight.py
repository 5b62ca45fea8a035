"""The flight recorder of perf agent: a stall that is planted is in a recording, and its cause in the first row of the text beside it."""
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import pytest
from lib import started, waits

from test_agent import agent, computing  # noqa: F401

STALL_MS = 300
PLANTED = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* So much time of a CPU. */
__attribute__((noinline)) void planted_spin(void)
{
	struct timespec used;
	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	} while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < 300);
}

/* Until a child that holds the semaphore for so long gives it back. */
__attribute__((noinline)) void planted_lock(int semaphore)
{
	struct sembuf down = {0, -1, 0};
	semop(semaphore, &down, 1);
}

static void lock(void)
{
	int semaphore = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf up = {0, 1, 0};
	pid_t child = fork();
	if (!child) {
		while (!semctl(semaphore, 0, GETNCNT)) /* until the parent waits */
			usleep(1000);
		usleep(300000);
		semop(semaphore, &up, 1);
		_exit(0);
	}
	planted_lock(semaphore);
	waitpid(child, NULL, 0);
	semctl(semaphore, 0, IPC_RMID);
}
static void *wait_for_end(void *semaphore)
{
	struct sembuf down = {0, -1, 0};
	semop(*(int *)semaphore, &down, 1);
	return NULL;
}

/* One thread waits for a semaphore, then so many others; the one that began first is let go, and says which thread it is. */
static void *wait_longest(void *semaphore)
{
	struct sembuf down = {0, -1, 0};
	semop(*(int *)semaphore, &down, 1);
	printf("%d\n", gettid());
	fflush(stdout);
	return NULL;
}

static void wait_for_count(int semaphore, int count)
{
	while (semctl(semaphore, 0, GETNCNT) < count)
		usleep(1000);
}

static void crowd(int count)
{
	int first = semget(IPC_PRIVATE, 1, 0600), others = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf up = {0, 1, 0};
	pthread_t thread, one;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_create(&one, &attr, wait_longest, &first);
	wait_for_count(first, 1);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, &attr, wait_for_end, &others))
			abort();
	wait_for_count(others, count);
	semop(first, &up, 1);
	pthread_join(one, NULL);
	semctl(first, 0, IPC_RMID);
	semctl(others, 0, IPC_RMID);
}

/* What stdin says: "lock", "crowd THREADS", "calls" until it is killed, or "spin AGENT", which gets a signal. */
int main(void)
{
	char word[16];
	int agent;
	while (scanf("%15s", word) == 1) {
		if (!strcmp(word, "lock")) {
			lock();
		} else if (!strcmp(word, "calls")) {
			for (;;)
				syscall(SYS_getppid);
		} else if (!strcmp(word, "crowd") && scanf("%d", &agent) == 1) {
			crowd(agent);
		} else if (scanf("%d", &agent) == 1) {
			planted_spin();
			if (agent)
				kill(agent, SIGUSR2);
			break;
		}
	}
	return 0;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return waits.compile_all(tmp_path_factory.mktemp("planted"), {"planted": PLANTED})


class Planted:
    def __init__(self, programs):
        self.process = subprocess.Popen([programs / "planted"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def stall(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()


@pytest.fixture
def recorder(agent, tmp_path):  # noqa: F811
    """An agent whose recorder has memory for whatever the neighbours do. It may not see time off the CPU here."""
    def start(*options):
        running = agent("--flight", tmp_path / "flight", "--flight-after", "0", "--flight-quiet", "0", "--budget", "100%", "--memory", "2G", "--window", "1h", *options, sinks=False)
        started.until(lambda: running.process.poll() is not None or "READY=1" in running.heard(), "the agent is ready")
        if running.process.poll() is not None and "--off-cpu" in options:
            pytest.skip(f"calls and time off the CPU can't be measured here: {running.log()}")
        assert running.process.poll() is None, running.log()
        running.flight = tmp_path / "flight"
        return running
    return start


def recordings(running):
    return sorted(running.flight.glob("[!.]*.perf.data"))


def text_of(recording):
    return recording.with_name(recording.name.removesuffix(".perf.data") + ".txt").read_text(encoding="utf-8")


def first_row(text):
    """What, Process, Function, In and Remark, of columns that are as wide as the dots below their titles."""
    lines = text.splitlines()
    dots = next(i for i, line in enumerate(lines) if re.match(r"#\s*\.{3}", line))
    spans = [match.span() for match in re.finditer(r"\.+", lines[dots])]
    row = next(line for line in lines[dots + 1:] if not line.startswith("#"))
    cells = [row[begin:end].strip() for begin, end in spans[:-1]] + [row[spans[-1][0]:].strip()]
    return dict(zip(("change", "now", "before", "most", "what", "process", "function", "in", "remark"), cells))


def until_recorded(running, pid, count):
    """So many recordings for which the process is the cause."""
    def own():
        assert running.process.poll() is None, running.log()
        return [path for path in recordings(running) if re.search(rf"process {pid}\b", text_of(path))]
    started.until(lambda: len(own()) >= count, f"{count} recordings were written")
    return own()


def test_a_call_that_takes_too_long(recorder, programs, perf, oracle):
    """Each time that a process waits for a lock, a recording of it is written, whose text says so in the first row."""
    running = recorder("--off-cpu", "--flight-on", "semop>100ms,semtimedop>100ms")
    with Planted(programs) as planted:
        for count in range(1, 4):
            planted.stall("lock")
            last = until_recorded(running, planted.process.pid, count)[-1]
            text = text_of(last)
            row = first_row(text)
            assert (row["what"], row["process"], row["function"]) == ("Lock", "planted", "planted_lock"), text + running.log()
            assert "semtimedop" in row["in"]
            assert float(re.fullmatch(r"(\S+) ms of the call", row["remark"])[1]) >= STALL_MS, text
            assert re.search(rf"sem(timed)?op>100ms: a call took \d+\.\d+ ms \(process {planted.process.pid}, thread {planted.process.pid}\)", text)
    for reader in (perf, oracle):
        done = reader("script", "-i", last, "--comm", "planted", "-F", "comm,tid,event,period,ip,sym")
        assert done.returncode == 0, done.stderr
        waits_there = [block for block in done.stdout.split("\n\n") if "planted_lock" in block and "offcpu-time" in block]
        assert any(int(re.search(r"(\d+)\s+offcpu-time", block)[1]) >= STALL_MS * 1_000_000 for block in waits_there), done.stdout
    assert running.stop() == 0, running.log()


def test_who_asks_by_a_signal(recorder, programs, perf):
    """Who sends SIGUSR2 is in front; and is described, though it began before the recorder and has ended since."""
    with Planted(programs) as first, Planted(programs) as second:
        running = recorder("-F", "999")
        for count, planted in enumerate((first, second)):
            planted.stall(f"spin {running.process.pid}")
            planted.process.wait()
            path = until_recorded(running, planted.process.pid, 1)[-1]
            row = first_row(text_of(path))
            assert (row["what"], row["process"], row["function"], row["remark"]) == ("CPU", "planted", "planted_spin", "of who asks"), text_of(path)
            done = perf("report", "-i", path, "--stdio", "--no-children", "-g", "none", "--sort", "pid,comm,sym", "--comm", "planted")
            assert done.returncode == 0, done.stderr
            assert re.search(rf"{planted.process.pid}:planted\s+\[\.\] planted_spin", done.stdout), done.stdout
            running.until(lambda status, count=count: status["flight_recordings"] >= count + 1, "it is counted")


def test_a_call_among_many(recorder, programs):
    """Of ten thousand threads that wait, the one that began first is not forgotten."""
    running = recorder("--flight-on", "semop>100ms,semtimedop>100ms")
    with Planted(programs) as planted:
        planted.stall("crowd 10000")
        late = int(planted.process.stdout.readline())
        running.until(lambda status: status["flight_recordings"], "it was written")
        assert any(re.search(rf"process {planted.process.pid}, thread {late}\)", text_of(path)) for path in recordings(running)), text_of(recordings(running)[0])


def test_calls_that_are_always_too_long(recorder, programs):
    """Faster than they can be looked at: rounds end, and windows do."""
    running = recorder("--window", "1s", "--flight-quiet", "1h", "--flight-on", "getppid>1ns")
    with Planted(programs) as one, Planted(programs) as two, Planted(programs) as three:
        for planted in (one, two, three):
            planted.stall("calls")
        first = running.until(lambda status: status["flight_triggers"], "there is a trigger")["windows"]
        running.until(lambda status: status["windows"] >= first + 3, "windows end")
    assert running.log().count("slow calls came too fast to be told of") <= 1 + running.status()["windows"] // 60


@pytest.fixture
def probes(perf, programs):
    """A probe at the beginning of planted_spin() and one at its end, in a group of the test's own."""
    group = f"flight_{os.getpid()}"
    done = perf("probe", "-x", programs / "planted", "-a", f"{group}:spin=planted_spin", "-a", f"{group}:spin=planted_spin%return")
    if done.returncode:
        pytest.skip(f"probes can't be made here: {done.stderr}")
    yield group
    assert not perf("probe", "-d", f"{group}:*").returncode


def test_a_function_that_takes_too_long(probes, recorder, programs):
    """By probes at both of its ends; its thread is seen running."""
    running = recorder("-F", "999", "--flight-on", f"{probes}:spin>100ms")
    with Planted(programs) as planted:
        planted.stall("spin 0")
        text = text_of(until_recorded(running, planted.process.pid, 1)[-1])
    row = first_row(text)
    assert (row["what"], row["process"], row["function"]) == ("CPU", "planted", "planted_spin"), text
    assert row["remark"].endswith("ms of the call")


def test_check(perf, tmp_path):
    """Of the folder and of each trigger."""
    done = perf("agent", "check", "--flight", tmp_path / "flight", "--flight-on", "load>3")
    assert "flight recorder: fine" in done.stdout and "sinks:" not in done.stdout
    done = perf("agent", "check", "--flight", "/proc/flight", "--flight-on", "load>3")
    assert done.returncode == 1 and "flight recorder: /proc/flight: " in done.stdout


def post(port, path, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method="POST", headers=headers)
    with urllib.request.urlopen(request) as answer:
        return answer.status


def test_who_asks_by_http(recorder):
    """A program of this machine may, a page of the web that somebody has open may not. The oldest recordings go."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = recorder("--metrics", f"127.0.0.1:{port}", "--flight-keep", "2")
    for count in range(1, 4):
        assert post(port, f"/flight?pid={running.process.pid}&reason=slow+checkout%0a{count}") == 202
        running.until(lambda status, count=count: status["flight_recordings"] == count, "it was written")
    assert len(recordings(running)) == 2
    assert len(list(running.flight.iterdir())) == 4
    assert {path.stat().st_mode & 0o777 for path in running.flight.iterdir()} == {0o600}
    assert "UTC: POST /flight: slow checkout\n" in text_of(recordings(running)[-1])
    for path, headers, status in (("/flight", {"Origin": "http://evil.example"}, "403"), (f"/flight?{'x' * 5000}", {"Origin": "http://evil.example"}, "400"), ("/flight?pid=x", {}, "400"), ("/metrics", {}, "404")):
        with pytest.raises(urllib.error.HTTPError, match=status):
            post(port, path, **headers)
    assert running.status()["flight_triggers"] == 3


def test_two_who_ask_at_once(recorder):
    """Each is told that it will be written, and finds what it has said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = recorder("--metrics", f"127.0.0.1:{port}")
    for reason in ("one", "two", "three"):
        assert post(port, f"/flight?reason={reason}") == 202
    running.until(lambda status: status["flight_triggers"] == 3, "all have asked")
    assert running.stop() == 0
    text = "".join(map(text_of, recordings(running)))
    assert sorted(re.findall(r"POST /flight: (\w+)$", text, re.MULTILINE)) == ["one", "three", "two"]


def test_what_was_not_finished(recorder, tmp_path):
    """Pieces of recordings whose agent was killed go when there is another one; files of others stay."""
    folder = tmp_path / "flight"
    folder.mkdir()
    for name in (".20261127T230102.345Z.perf.data", ".20261127T230102.345Z.txt", ".mine.perf.data", "20261127T230102.345Z.txt"):
        (folder / name).write_bytes(b"x")
    recorder()
    assert sorted(path.name for path in folder.iterdir()) == [".mine.perf.data", "20261127T230102.345Z.txt"]


def test_the_newest_stays(recorder):
    """With its text, though it is larger than all may be together."""
    running = recorder("--flight-limit", "1K")
    for count in (1, 2):
        running.process.send_signal(signal.SIGUSR2)
        running.until(lambda status, count=count: status["flight_recordings"] == count, "it was written")
        assert recordings(running)[-1].stat().st_size > 1024 and text_of(recordings(running)[-1])
        assert len(list(running.flight.iterdir())) == 2


def test_without_a_recorder(agent):  # noqa: F811
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = agent("--metrics", f"127.0.0.1:{port}").ready()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        post(port, "/flight")
    running.process.send_signal(signal.SIGUSR2)
    started.until(lambda: "there is no flight recorder (--flight FOLDER)" in running.log(), "it says so")
    assert "flight" not in (running.perf("agent", "status", "--socket", running.socket)).stdout


def test_reload(recorder, tmp_path):
    """What the file says now of the recorder holds after a restart, and that is said; of the same as before nothing is."""
    configuration = tmp_path / "agent.conf"
    text = "[agent]\nflight-on = load>9999, load>9998\nflight-keep = 3\n"
    configuration.write_text(text, encoding="ascii")
    running = recorder("--config", configuration)
    stays = "the flight recorder stays as it is until the agent is restarted"
    for count, (now, told) in enumerate(((text, 0), (text.replace("9998", "9997"), 1), (text.replace("keep = 3", "keep = 4"), 2))):
        configuration.write_text(now, encoding="ascii")
        running.process.send_signal(signal.SIGHUP)
        running.until(lambda status, count=count: status["reloads"] == count + 1, "it has read the file")
        assert running.log().count(stays) == told


def test_load(recorder):
    """Once, when the load average rises above what is said."""
    running = recorder("--flight-on", "load>0.001")
    with computing(), computing():
        running.until(lambda status: status["flight_recordings"], "it was written")
    running.stop()
    assert re.search(r"UTC: the load average is \d+\.\d\d, above 0\.001$", text_of(recordings(running)[0]), re.MULTILINE)
    assert len(recordings(running)) == 1


def test_what_is_open_at_the_end(recorder):
    """Who stops the agent gets the recording that was asked for, as far as it goes."""
    running = recorder("--flight-after", "1h")
    running.process.send_signal(signal.SIGUSR2)
    running.until(lambda status: status["flight_triggers"] == 1, "it was asked for")
    assert not recordings(running)
    assert running.stop() == 0
    assert len(recordings(running)) == 1


@pytest.mark.parametrize("words, said", [
    (["--flight-on", "load>1"], "--flight-on needs a folder for recordings: --flight FOLDER"),
    (["--flight", "here"], "--flight here: expected an absolute path"),
    (["--flight-keep", "0"], "at least one recording has to stay"),
    (["--flight-on", "futex"], "invalid trigger 'futex'"),
    (["--flight-on", "load>1,futex>x"], "invalid trigger 'futex>x'"),
    (["--flight-on", "disk-pressure>1%"], "invalid trigger 'disk-pressure>1%'"),
    (["--flight-on", "io-pressure>1"], "invalid trigger 'io-pressure>1'"),
    (["--flight-on", "a/b>1ms"], "invalid trigger 'a/b>1ms'"),
    (["--flight-on", "a:b..c>1ms"], "invalid trigger 'a:b..c>1ms'"),
    (["--flight-before", "2h"], "invalid time '2h'"),
])
def test_mistakes(perf, words, said):
    done = perf("agent", "check", *words)
    assert done.returncode != 0 and said in done.stderr


def test_a_trigger_that_is_not_there(perf, tmp_path):
    if os.getuid():
        pytest.skip("the agent measures the whole machine: only root may")
    done = perf("agent", "run", "--socket", tmp_path / "socket", "--flight", tmp_path / "flight", "--flight-on", "nosuch:probe>1ms")
    assert done.returncode != 0 and re.search(r"--flight-on nosuch:probe>1ms: (there is no event nosuch:probe__return|.*BPF)", done.stderr), done.stderr
