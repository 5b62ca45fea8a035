"""perf where, live: for what exactly a thread waits, also one that sleeps since before: locks by name and by who has them, files, sockets, limits."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started  # noqa: E402
from waits import cause, compile_all, rows  # noqa: E402

C = {
    # main waits for a mutex that another thread has while it sleeps, once it has seen that.
    "holding": """#include <pthread.h>
        #include <sched.h>
        #include <stdio.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
        static pthread_barrier_t both;
        static int waits(void) {
            char path[64];
            int number = -1;
            snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", getpid());
            FILE *file = fopen(path, "r");
            if (file && fscanf(file, "%d", &number) != 1) number = -1;
            if (file) fclose(file);
            return number == SYS_futex;
        }
        static void *hold(void *unused) {
            pthread_mutex_lock(&cache_lock); pthread_barrier_wait(&both);
            while (!waits()) sched_yield();
            usleep(400000); pthread_mutex_unlock(&cache_lock);
            return unused;
        }
        int main(void) {
            pthread_t thread;
            pthread_barrier_init(&both, 0, 2);
            pthread_create(&thread, 0, hold, 0);
            pthread_barrier_wait(&both); pthread_mutex_lock(&cache_lock);
        }""",
    "deadlock": """#define _GNU_SOURCE
        #include <pthread.h>
        pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
        static pthread_barrier_t both;
        static void *transfer(void *unused) {
            pthread_setname_np(pthread_self(), "transfer");
            pthread_mutex_lock(&accounts); pthread_barrier_wait(&both); pthread_mutex_lock(&journal); return unused;
        }
        static void *report(void *unused) {
            pthread_setname_np(pthread_self(), "report");
            pthread_mutex_lock(&journal); pthread_barrier_wait(&both); pthread_mutex_lock(&accounts); return unused;
        }
        int main(void) {
            pthread_t threads[2];
            pthread_barrier_init(&both, 0, 2);
            pthread_create(&threads[0], 0, transfer, 0); pthread_create(&threads[1], 0, report, 0);
            pthread_join(threads[0], 0); pthread_join(threads[1], 0);
        }""",
    # A server that takes its time, and a client that asks it.
    "asking": """#include <arpa/inet.h>
        #include <sys/prctl.h>
        #include <sys/socket.h>
        #include <sys/wait.h>
        #include <signal.h>
        #include <unistd.h>
        int main(void) {
            struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
            socklen_t size = sizeof(at);
            char text[8] = "query";
            int server = socket(AF_INET, SOCK_DGRAM, 0), client = socket(AF_INET, SOCK_DGRAM, 0);
            bind(server, (void *)&at, size);
            getsockname(server, (void *)&at, &size);
            pid_t child = fork();
            if (!child) {
                prctl(PR_SET_NAME, "nameserver");
                while (recvfrom(server, text, 8, 0, (void *)&from, &size) > 0) { usleep(20000); sendto(server, text, 8, 0, (void *)&from, size); }
            }
            for (int i = 0; i < 20; i++) { sendto(client, text, 8, 0, (void *)&at, sizeof(at)); recv(client, text, 8, 0); }
            kill(child, SIGKILL);
            wait(0);
        }""",
    # A peer that computes, for whose answer is waited in poll(), and one at a condition.
    "polling": """#include <poll.h>
        #include <sys/prctl.h>
        #include <sys/socket.h>
        #include <unistd.h>
        int main(void) {
            int ends[2];
            char byte = 0;
            socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
            if (!fork()) {
                prctl(PR_SET_NAME, "backend");
                while (close(ends[0]), read(ends[1], &byte, 1) == 1) { for (volatile long k = 0; k < 20000000; k++); write(ends[1], &byte, 1); }
                _exit(0);
            }
            for (int i = 0; i < 10; i++) { write(ends[0], &byte, 1); poll(&(struct pollfd){ends[0], POLLIN}, 1, -1); read(ends[0], &byte, 1); }
        }""",
    "logging": """#include <fcntl.h>
        #include <unistd.h>
        int main(int argc, char **argv) {
            int log = open(argv[1], O_CREAT | O_WRONLY | O_APPEND, 0644);
            for (;;) { write(log, "what happened\\n", 14); fsync(log); }
        }""",
    "burning": "int main(void) { for (volatile long i = 0; i < 30000000; i++); }",
    # Its child stops until another one lets it go on.
    "stopping": """#include <signal.h>
        #include <sys/prctl.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(void) {
            pid_t batch = fork(), operator;
            if (!batch) { prctl(PR_SET_NAME, "batch"); raise(SIGSTOP); _exit(0); }
            waitpid(batch, 0, WUNTRACED);
            if (!(operator = fork())) { prctl(PR_SET_NAME, "operator"); usleep(400000); kill(batch, SIGCONT); _exit(0); }
            waitpid(batch, 0, 0);
            waitpid(operator, 0, 0);
        }""",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return compile_all(tmp_path_factory.mktemp("waits"), C)


def asleep(pid, *calls):
    """All threads of the process are in these system calls."""
    names = {202: "futex", 98: "futex", 230: "nanosleep", 115: "nanosleep", 0: "read", 63: "read"}
    try:
        lines = [path.read_text(encoding="ascii") for path in pathlib.Path(f"/proc/{pid}/task").glob("*/syscall")]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return len(lines) == len(calls) and sorted(names.get(int(line.split()[0]), "") for line in lines if line[0].isdigit()) == sorted(calls)


def test_mutex_by_name(perf, programs):
    first = cause(rows(perf("where", "--format", "json", programs / "holding")))
    assert (first["kind"], first["waiting_kind"], first["waiting_lock"], first["waiting_object"]) == ("timer", "lock", "mutex", "cache_lock")
    text = " ".join(perf("where", programs / "holding").stdout.split())
    assert re.search(r"holding slept, in clock_nanosleep\(\)( from hold\(\))?; another thread of holding waited for it to release the mutex cache_lock\.", text)


def test_deadlock_of_a_process_that_hangs(perf, programs):
    with subprocess.Popen([programs / "deadlock"]) as process:
        try:
            started.until(lambda: asleep(process.pid, "futex", "futex", "futex"), "the threads hang")
            done = perf("where", "-p", str(process.pid), "--", "sleep", "0.2")
            made = rows(perf("where", "-p", str(process.pid), "--format", "json", "--", "sleep", "0.2"))
        finally:
            process.kill()
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert re.match(r"Deadlock: (transfer \(\d+\) waits for the mutex journal, held by report \(\d+\); report \(\d+\) waits for the mutex accounts, held by "
                    r"transfer \(\d+\)|report .*; transfer .*)\. In ", text)
    assert "transfer waited for the mutex journal, in futex() from transfer(), held by report." in text
    assert sorted((row["comm"], row["kind"], row["lock"], row["object"], row["who"]) for row in made["reasons"]) == [
        ("report", "lock", "mutex", "accounts", "transfer"), ("transfer", "lock", "mutex", "journal", "report")]
    for row in made["threads"]:
        assert row["lock"] == row["wall"]


def test_deadlock_in_a_container(perf, root, programs):
    """A mutex has its holder's number in the pid namespace of the process."""
    with subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", programs / "deadlock"]) as process:
        try:
            child = started.child_named(process.pid, "deadlock")
            started.until(lambda: asleep(child, "futex", "futex", "futex"), "the threads hang")
            text = " ".join(perf("where", "-p", str(child), "--", "sleep", "0.2").stdout.split())
        finally:
            process.kill()
    assert re.match(r"Deadlock: (transfer \(\d+\) waits for the mutex journal, held by report \(\d+\); report|report .*; transfer)", text)


def test_deadlock_of_a_command_that_is_given_up(perf, programs, tmp_path):
    """Ctrl-C ends the command, too: what it waited for then is what was seen before, of which -v tells at once."""
    with open(tmp_path / "seen", "w", encoding="utf-8") as seen:
        process = subprocess.Popen([perf, "where", "-v", programs / "deadlock"], stdout=subprocess.PIPE, stderr=seen, text=True)
    with process:
        child = started.child_named(process.pid, "deadlock")
        started.until(lambda: asleep(child, "futex", "futex", "futex"), "the threads hang")
        started.until(lambda: (tmp_path / "seen").read_text().count(" waits for a mutex that thread ") == 2, "perf has looked at them")
        os.kill(child, signal.SIGINT)
        process.send_signal(signal.SIGINT)
        text = " ".join(process.communicate()[0].split())
    assert text.startswith("Deadlock: ") and "the mutex journal, held by report" in text


def test_process_that_sleeps_before(perf, tmp_path):
    """Nothing happens while it is measured: what it waits for is told all the same."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        started.until(lambda: asleep(process.pid, "read"), "cat reads")
        done = perf("where", "-p", str(process.pid), "--", "sleep", "0.2")
        made = rows(perf("where", "-p", str(process.pid), "--format", "json", "--", "sleep", "0.2"))
        process.stdin.close()
    assert "cat waited for another process (pipe, local socket or terminal), in read() of pipe" in " ".join(done.stdout.split())
    assert [(row["comm"], row["kind"], row["syscall"], row["object"]) for row in made["reasons"]] == [("cat", "pipe", "read", "pipe")]
    assert [(row["wall"], row["pipe"]) for row in made["threads"]] == [(made["reasons"][0]["time"],) * 2]


def test_peer_by_its_socket(perf, programs):
    first = cause(rows(perf("where", "--format", "json", programs / "asking")))
    assert (first["kind"], first["comm"], first["waiting_comm"], first["waiting_kind"]) == ("timer", "nameserver", "asking", "network")
    assert re.fullmatch(r"|UDP port \d+", first["waiting_object"])  # who has ended by the time that it is asked for has no socket any more


def test_peer_behind_poll(perf, programs):
    """Nothing sleeps there, though poll() has a timer of its own."""
    made = rows(perf("where", "--format", "json", programs / "polling"))
    first = made["reasons"][0]
    assert first["kind"] in ("cpu", "queue")
    assert (first["comm"], first["waiting_comm"], first["waiting_kind"]) == ("backend", "polling", "poll")
    assert "timer" not in {row["kind"] for row in made["reasons"]}


def test_connection_by_its_other_end(perf):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"import socket; socket.create_connection(('127.0.0.1', {port})).recv(1)"
        with subprocess.Popen([sys.executable, "-c", script]) as process:
            with server.accept()[0] as end:
                started.until(lambda: asleep(process.pid, "") and "recv" in wchan(process.pid), "it waits for data")
                made = rows(perf("where", "-p", str(process.pid), "--format", "json", "--", "sleep", "0.2"))
                end.send(b"x")
    assert [(row["kind"], row["syscall"], row["object"]) for row in made["reasons"]] == [("network", "recvfrom", f"TCP 127.0.0.1:{port}")]


def wchan(pid):
    return pathlib.Path(f"/proc/{pid}/stack").read_text(encoding="ascii")


def test_file_that_is_synced(perf, programs, tmp_path):
    with subprocess.Popen([programs / "logging", tmp_path / "log"]) as process:
        try:
            done = perf("where", "-p", str(process.pid), "--format", "json", "--", "sleep", "1")
            to_disk = int(re.search(r"^write_bytes: (\d+)", pathlib.Path(f"/proc/{process.pid}/io").read_text(encoding="ascii"), re.MULTILINE)[1])
        finally:
            process.kill()
    if not to_disk:
        pytest.skip(f"what is written to {tmp_path} stays in memory: no disk is waited for")
    first = cause(rows(done))
    assert (first["kind"], first["syscall"], first["object"]) == ("disk", "fsync", str(tmp_path / "log")), done.stdout + done.stderr


def test_stopped_process(perf, programs):
    first = cause(rows(perf("where", "--format", "json", programs / "stopping")))
    assert (first["kind"], first["comm"], first["waiting_comm"], first["waiting_kind"]) == ("timer", "operator", "batch", "stopped")


@pytest.fixture
def small_group():
    """A control group with a hundredth of a CPU."""
    for root, files in (("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "1000"}), ("/sys/fs/cgroup", {"cpu.max": "1000 100000"})):
        group = pathlib.Path(root, f"perf-test-{os.getpid()}")
        try:
            group.mkdir()
            for name, text in files.items():
                (group / name).write_text(text)
        except OSError:
            if group.exists():
                group.rmdir()
            continue
        yield group
        started.until(lambda: not (group / "cgroup.procs").read_text(), "the group is empty")
        group.rmdir()
        return
    pytest.skip("no control group with a limit of CPU time can be made here")


def test_limit_of_a_control_group(perf, programs, small_group):
    made = rows(perf("where", "--format", "json", "--", "sh", "-c", f"echo $$ >{small_group}/cgroup.procs; exec {programs}/burning"))
    throttled = re.search(r"^nr_throttled (\d+)", (small_group / "cpu.stat").read_text(), re.MULTILINE)[1]
    assert [(row["group"], row["cpus"]) for row in made["limits"]] == [("/" + small_group.name, 0.01)]
    assert 0 < made["limits"][0]["times"] <= int(throttled)
    text = perf("where", "--", "sh", "-c", f"echo $$ >{small_group}/cgroup.procs; exec {programs}/burning").stdout
    assert re.search(rf"burning could run, but the CPU limit of its control group /{small_group.name} \(0.01 CPUs\) held it back \d+ times, for ", " ".join(text.split()))
