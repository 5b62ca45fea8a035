"""perf where, live: programs whose cause is planted. On a busy machine the largest reason may be that others had the CPU: the cause is the
first one that the program can have by itself."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from waits import cause, compile_all, rows  # noqa: E402

C = {
    "convoy": """#include <pthread.h>
        #include <unistd.h>
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        static void *work(void *unused) {
            for (int i = 0; i < 20; i++) { pthread_mutex_lock(&mutex); usleep(5000); pthread_mutex_unlock(&mutex); }
            return unused;
        }
        int main(void) {
            pthread_t threads[4];
            for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
            for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
        }""",
    # Whoever unlocks this one hands it on to who has waited longest, and queues up again behind the others.
    "queue_up": """#include <pthread.h>
        static pthread_mutex_t table_mutex;
        static pthread_barrier_t begin;
        static volatile long table;
        __attribute__((noinline)) static void update_table(void) { for (int i = 0; i < 200000; i++) table++; }
        static void *work(void *unused) {
            pthread_barrier_wait(&begin);
            for (int i = 0; i < 300; i++) { pthread_mutex_lock(&table_mutex); update_table(); pthread_mutex_unlock(&table_mutex); }
            return unused;
        }
        int main(void) {
            pthread_mutexattr_t fair;
            pthread_t threads[4];
            pthread_mutexattr_init(&fair);
            pthread_mutexattr_setprotocol(&fair, PTHREAD_PRIO_INHERIT);
            pthread_mutex_init(&table_mutex, &fair);
            pthread_barrier_init(&begin, 0, 4);
            for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
            for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
        }""",
    # Threads of which each says how long it lived, how much of it on a CPU, and how long its sleeps were.
    "lives": """#define _GNU_SOURCE
        #include <pthread.h>
        #include <stdio.h>
        #include <time.h>
        #include <unistd.h>
        static long now(int clock) { struct timespec at; clock_gettime(clock, &at); return at.tv_sec * 1000000000l + at.tv_nsec; }
        static void *work(void *unused) {
            long begin = now(CLOCK_MONOTONIC), slept = 0;
            for (int i = 0; i < 20; i++) {
                long before = now(CLOCK_MONOTONIC);
                usleep(10000);
                slept += now(CLOCK_MONOTONIC) - before;
                for (volatile long k = 0; k < 3000000; k++);
            }
            fprintf(stderr, "tid %d wall %ld cpu %ld slept %ld\\n", gettid(), now(CLOCK_MONOTONIC) - begin, now(CLOCK_THREAD_CPUTIME_ID), slept);
            return unused;
        }
        int main(void) {
            pthread_t threads[3];
            for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
            for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
        }""",
    # A byte that goes to and fro, while nobody reads what is recorded of that: the one who started it stands still.
    "pingpong": """#include <signal.h>
        #include <unistd.h>
        int main(void) {
            int there[2], back[2];
            char byte = 0;
            if (pipe(there) || pipe(back)) return 1;
            if (!fork()) {
                close(there[1]);
                while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1);
                return 0;
            }
            kill(getppid(), SIGSTOP);
            for (int i = 0; i < 1000; i++)
                if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) break;
            kill(getppid(), SIGCONT);
        }""",
    # Memory that is new at each page.
    "storm": """#include <sys/mman.h>
        int main(void) {
            long size = 64l << 20;
            for (int i = 0; i < 12; i++) {
                char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                madvise(memory, size, MADV_NOHUGEPAGE);
                for (long at = 0; at < size; at += 4096) memory[at] = 1;
                munmap(memory, size);
            }
        }""",
    # Three deep: main waits for a pipe, whose writer waits for a pipe, whose writer sleeps.
    "deep": """#include <sys/prctl.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static void pass(int from, int to, const char *name) {
            char byte;
            prctl(PR_SET_NAME, name);
            if (from < 0) usleep(500000); else read(from, &byte, 1);
            write(to, "x", 1);
            _exit(0);
        }
        int main(void) {
            int near[2], far[2];
            char byte;
            pipe(near); pipe(far);
            if (!fork()) pass(far[0], near[1], "middle");
            if (!fork()) pass(-1, far[1], "deepest");
            return read(near[0], &byte, 1) != 1;
        }""",
    # A peer that computes before it answers.
    "peer": """#include <sys/prctl.h>
        #include <unistd.h>
        int main(void) {
            int ask[2], answer[2];
            char byte = 0;
            pipe(ask); pipe(answer);
            if (!fork()) {
                prctl(PR_SET_NAME, "slow_peer");
                while (close(ask[1]), read(ask[0], &byte, 1) == 1) { for (volatile long k = 0; k < 20000000; k++); write(answer[1], &byte, 1); }
                _exit(0);
            }
            for (int i = 0; i < 10; i++) { write(ask[1], &byte, 1); read(answer[0], &byte, 1); }
        }""",
    # Three processes that compute, on one CPU.
    "starving": """#define _GNU_SOURCE
        #include <sched.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(void) {
            cpu_set_t cpus, first;
            sched_getaffinity(0, sizeof(cpus), &cpus);
            CPU_ZERO(&first);
            for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&first); i++) if (CPU_ISSET(i, &cpus)) CPU_SET(i, &first);
            sched_setaffinity(0, sizeof(first), &first);
            for (int i = 0; i < 3; i++) if (!fork()) { for (volatile long k = 0; k < 100000000; k++); _exit(0); }
            while (wait(0) > 0);
        }""",
    # Two processes that send each other a byte, and say how often the kernel has counted them waiting.
    "exchange": """#include <stdio.h>
        #include <sys/resource.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static int times(int who) { struct rusage used; getrusage(who, &used); return used.ru_nvcsw; }
        int main(void) {
            int there[2], back[2];
            char byte = 0;
            pipe(there); pipe(back);
            if (!fork()) {
                close(there[1]);
                while (read(there[0], &byte, 1) == 1) write(back[1], &byte, 1);
                _exit(0);
            }
            for (int i = 0; i < 50000; i++) { write(there[1], &byte, 1); read(back[0], &byte, 1); }
            close(there[1]);
            wait(0);
            fprintf(stderr, "waited %d times\\n", times(RUSAGE_SELF) + times(RUSAGE_CHILDREN));
        }""",
    # Reads a file with nothing of it in memory: as pages that are missing, past the page cache, or so with a lock held, for which main waits.
    "reading": """#define _GNU_SOURCE
        #include <fcntl.h>
        #include <pthread.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <unistd.h>
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        static const char *path;
        static long sum;
        static void direct(void) {
            void *block;
            int fd = open(path, O_RDONLY | O_DIRECT);
            if (fd < 0 || posix_memalign(&block, 4096, 65536)) _exit(77);
            while (read(fd, block, 65536) > 0) sum++;
        }
        static void *locked(void *unused) { direct(); pthread_mutex_unlock(&mutex); return unused; }
        static void mapped(void) {
            int fd = open(path, O_RDONLY);
            long size = lseek(fd, 0, SEEK_END);
            fdatasync(fd);
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            volatile char *bytes = mmap(0, size, PROT_READ, MAP_SHARED, fd, 0);
            madvise((void *)bytes, size, MADV_RANDOM);
            for (long i = 0; i < size; i += 65536) sum += bytes[i];
        }
        int main(int argc, char **argv) {
            pthread_t thread;
            path = argv[2];
            if (argv[1][0] == 'm') mapped();
            if (argv[1][0] == 'd') direct();
            if (argv[1][0] == 'l') {
                pthread_mutex_lock(&mutex);
                pthread_create(&thread, 0, locked, 0);
                pthread_mutex_lock(&mutex);
            }
        }""",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return compile_all(tmp_path_factory.mktemp("where"), C)


def check_sums(made, of_command=True):
    """Nothing is missing and nothing counts twice: each thread's kinds of time add up to its life, the reasons of a command to its run, which the main thread's life is."""
    for row in made["threads"]:
        parts = sum(row[kind] for kind in ("user", "kernel", "queue", "disk", "fault", "network", "lock", "kernel_lock", "pipe", "timer", "child", "poll",
                                           "signal", "stopped", "other", "unknown"))
        assert parts == row["wall"]
    run = sum(row["time"] for row in made["reasons"])
    assert not of_command or any(row["wall"] == run for row in made["threads"])


def test_sleep(perf):
    """The wait begins when the program leaves the CPU, its timer before that."""
    made = rows(perf("where", "--format", "json", "sleep", "0.4"))
    first = cause(made)
    assert first["kind"] == "timer" and first["comm"] == "sleep" and "nanosleep" in first["syscall"]
    assert 200000000 <= first["time"] <= sum(row["time"] for row in made["reasons"])
    check_sums(made)


def test_lock_that_is_held_over_a_sleep(perf, programs):
    made = rows(perf("where", "--format", "json", programs / "convoy"))
    first = cause(made)
    assert (first["kind"], first["waiting_kind"], first["waiting_comm"]) == ("timer", "lock", "convoy") and first["function"] == "work"
    # Nobody sleeps while he waits for the lock: the sleeps add up, those for which others wait at the lock and those for which the end is waited.
    assert sum(row["time"] for row in made["reasons"] if row["kind"] == "timer") >= 4 * 20 * 5000000 * 9 // 10
    check_sums(made)


def test_sums_are_the_lives_of_threads(perf, programs):
    """As the program's own clocks say, within 1 %. A thread lives a little before and after it looks at the clock. What a host takes from a virtual machine is not
    in the thread's CPU time, and what it sleeps by its own clock has waits for a CPU in it: these are bounds."""
    done = perf("where", "--format", "json", programs / "lives")
    told = {row["tid"]: row for row in rows(done)["threads"]}
    own = re.findall(r"tid (\d+) wall (\d+) cpu (\d+) slept (\d+)", done.stderr)
    assert len(own) == 3
    for tid, wall, cpu, slept in (tuple(map(int, numbers)) for numbers in own):
        row = told[tid]
        ran = row["user"] + row["kernel"]
        blocked = sum(row[kind] for kind in ("disk", "fault", "network", "lock", "kernel_lock", "pipe", "timer", "child", "poll", "signal", "stopped", "other", "unknown"))
        assert row["wall"] == ran + row["queue"] + blocked
        assert row["wall"] >= wall * 0.99
        assert ran >= cpu - wall // 100 and ran + row["queue"] >= wall - slept - wall // 100
        # Others may get the CPU between the beginning of the timer and that of the sleep, and the host may.
        assert 20 * 10000000 <= row["timer"] + row["queue"] + max(ran - cpu, 0) and row["timer"] <= slept + wall // 100


def of_cpu(made):
    return [row for row in made["reasons"] if row["kind"] == "cpu"]


def test_convoy_at_a_lock(perf, programs):
    """Of four threads three wait for whoever runs: three quarters of the path are for the lock, one quarter is what the last one of them did itself."""
    made = rows(perf("where", "--format", "json", programs / "queue_up"))
    first = of_cpu(made)[0]
    assert (first["function"], first["waiting_kind"], first["waiting_lock"], first["waiting_object"]) == ("update_table", "lock", "mutex", "table_mutex")
    check_sums(made)
    words = " ".join(perf("where", programs / "queue_up").stdout.split())
    assert "queue_up waited for them to release the mutex table_mutex." in words


def test_storm_of_page_faults(perf, programs):
    made = rows(perf("where", "--format", "json", programs / "storm"))
    first = of_cpu(made)[0]
    assert first["comm"] == "storm" and first["function"] == "main" and first["page_faults"] > first["time"] // 2
    check_sums(made)
    assert re.search(r"storm ran, \d+ % of it in the kernel(,| for page faults)", " ".join(perf("where", programs / "storm").stdout.split()))


def test_three_wakers_deep(perf, programs):
    made = rows(perf("where", "--format", "json", programs / "deep"))
    first = cause(made)
    assert (first["kind"], first["comm"], first["waiting_kind"], first["waiting_comm"]) == ("timer", "deepest", "pipe", "middle")
    check_sums(made)


def needs_bpf(perf):
    if perf("check", "feature", "-q", "bpf").returncode or not re.search(r"BPF programs +(?!.*only).*\btracepoint", perf("doctor", "bpf").stdout):
        pytest.skip("needs BPF programs at tracepoints")


def test_each_of_many_switches(perf, programs):
    """None is missing, as the kernel has counted them."""
    needs_bpf(perf)
    done = perf("where", "-v", "--format", "json", programs / "exchange")
    assert "lost" not in done.stderr and "taken from events" not in done.stderr
    counted = int(re.search(r"waited (\d+) times", done.stderr).group(1))
    made = rows(done)
    check_sums(made)
    assert abs(sum(row["waits"] for row in made["threads"]) - counted) < counted // 100
    assert {(row["comm"], row["waiting_comm"]) for row in made["reasons"] if row["waiting_kind"] == "pipe"} == {("exchange", "exchange")}


def test_without_the_right_to_run_programs(perf, programs):
    """Events tell the same."""
    if not shutil.which("setpriv"):
        pytest.skip("needs setpriv")
    done = subprocess.run(["setpriv", "--bounding-set=-bpf,-sys_admin", "--inh-caps=-bpf,-sys_admin", perf.path, "where", "-v", "--format", "json", programs / "deep"],
                          capture_output=True, text=True, check=False)
    assert "switches of threads are taken from events, at more cost" in done.stderr
    made = rows(done)
    first = cause(made)
    assert (first["kind"], first["comm"], first["waiting_kind"], first["waiting_comm"]) == ("timer", "deepest", "pipe", "middle")
    check_sums(made)


def test_slow_peer_over_a_pipe(perf, programs):
    """The peer runs, or could run: either way it is the peer for whom the pipe is waited."""
    made = rows(perf("where", "--format", "json", programs / "peer"))
    first = made["reasons"][0]
    assert first["kind"] in ("cpu", "queue")
    assert (first["comm"], first["waiting_kind"], first["waiting_comm"]) == ("slow_peer", "pipe", "peer")
    check_sums(made)


def test_too_little_cpu(perf, programs):
    made = rows(perf("where", "--format", "json", programs / "starving"))
    first = made["reasons"][0]
    assert (first["kind"], first["comm"], first["waiting_kind"]) == ("queue", "starving", "child")
    check_sums(made)


@pytest.fixture(scope="module")
def file_on_disk(programs):
    """16 MB; its folder may be in memory, where no disk is waited for: the kernel counts what a process reads from one."""
    def read_from_disk():
        return int(re.search(r"^read_bytes: (\d+)$", pathlib.Path("/proc/self/io").read_text(), re.MULTILINE).group(1))
    path = programs / "data"
    path.write_bytes(os.urandom(16 << 20))
    subprocess.run(["sync", path], check=True)
    before = read_from_disk()
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.read()
    if read_from_disk() == before:
        pytest.skip(f"{programs} is in memory: no disk is waited for")
    return path


@pytest.mark.parametrize("way, kind, waiting", [("mapped", "fault", ""), ("direct", "disk", ""), ("locked", "disk", "lock")])
def test_disk(perf, programs, file_on_disk, way, kind, waiting):
    made = rows(perf("where", "--format", "json", programs / "reading", way, file_on_disk))
    if subprocess.run([programs / "reading", way, file_on_disk], check=False).returncode == 77:
        pytest.skip("this file system cannot read past the page cache")
    first = cause(made)
    assert (first["kind"], first["comm"], first["waiting_kind"]) == (kind, "reading", waiting) and first["devices"]
    check_sums(made)


def test_slow_child(perf):
    made = rows(perf("where", "--format", "json", "sh", "-c", "sleep 0.4; true"))
    first = cause(made)
    assert (first["kind"], first["comm"], first["waiting_kind"], first["waiting_comm"]) == ("timer", "sleep", "child", "sh")


def test_running_process(perf):
    with subprocess.Popen(["sh", "-c", "read line; sleep 0.3; sleep 0.3"], stdin=subprocess.PIPE) as process:
        # The shell goes on when the measurement has begun.
        done = perf("where", "-p", str(process.pid), "--format", "json", "sh", "-c", f"echo >/proc/{process.pid}/fd/0; sleep 0.5")
        process.kill()
    made = rows(done)
    assert {row["comm"] for row in made["threads"]} <= {"sh", "sleep"} and made["reasons"]
    check_sums(made, of_command=False)


def test_whole_system_kept_as_a_recording(perf, tmp_path):
    """Not the command's path."""
    made = rows(perf("where", "-a", "-o", tmp_path / "where.data", "--format", "json", "sh", "-c", "sleep 0.2; true"))
    assert not any(row["waiting_comm"] for row in made["reasons"]) and "kthreadd" not in {row["comm"] for row in made["reasons"]}
    assert {"sh", "sleep"} <= {row["comm"] for row in made["threads"]}


def test_losses_of_a_recording_are_told(perf, programs, tmp_path):
    """Buffers of a page are full after some switches: what is lost is said by who records, as by who reads the recording."""
    path = tmp_path / "where.data"
    said = perf("where", "-m", "1", "-o", path, programs / "pingpong").stderr
    lost = re.search(r"[\d,]+ samples were lost.*", perf("where", "-i", path).stderr)[0]
    assert lost in said and "use larger buffers (--mmap-pages)" in lost


def test_command_of_a_recorder_in_a_hurry_has_the_usual_priority(perf, tmp_path):
    told = tmp_path / "told"
    ask = f"import os; open({str(told)!r}, 'w').write(f'{{os.sched_getscheduler(0)}} {{os.getpriority(os.PRIO_PROCESS, 0)}}')"
    perf("where", "-o", tmp_path / "where.data", sys.executable, "-c", ask)
    assert told.read_text() == f"{os.SCHED_OTHER} {os.getpriority(os.PRIO_PROCESS, 0)}"


def test_recording_that_others_read(perf, oracle, programs, tmp_path):
    path = tmp_path / "where.data"
    kept = rows(perf("where", "-o", path, "--format", "json", programs / "convoy"))
    assert rows(perf("where", "-i", path, "--format", "json")) == kept
    assert cause(kept)["kind"] == "timer"
    ours = perf("script", "-i", path, "-F", "comm,tid,time,event").stdout
    theirs = oracle("script", "-i", path, "-F", "comm,tid,time,event").stdout
    assert ours == theirs and "sched:sched_switch" in ours
