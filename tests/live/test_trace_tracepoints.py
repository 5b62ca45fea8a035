"""perf trace by tracepoints: without BPF, with other events, stacks, page faults, and of recordings."""
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import delayed  # noqa: E402
import started  # noqa: E402
from traced import build, traced  # noqa: E402

EVENT = re.compile(r"^ *(?P<time>[\d.]+) (\((?P<duration> *[\d.]+ ms| +)\): )?(?P<comm>\S+)/(?P<tid>\d+) (?P<rest>.*)$")
CALL = re.compile(r"^ *([\d.]+|\?) \( *([\d.]+ ms)?\): (\S+)/(\d+)  ?(?:\.\.\. \[continued\]: )?(\w+)\((.*)\) +(?:= (.*)|\.\.\.)$")
FRAME = re.compile(r"^ {39}(\S.*)$")


@pytest.fixture
def tracing(root, tracefs):
    if not (tracefs / "events/raw_syscalls").is_dir():
        pytest.skip("this kernel has no raw_syscalls tracepoints")


def calls(lines):
    return [(match[5], match[7]) for match in map(CALL.match, lines) if match and match[7] is not None]


SOME_CALLS = """
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static void *run(void *x) { for (int i = 0; i < 300; i++) getppid(); return 0; }
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, run, 0);
	pthread_join(thread, 0);
	for (int i = 0; i < 500; i++)
		getpgid(0);
	for (int i = 0; i < 7; i++)
		open("/no/such/file", 0);
	return 3;
}
"""


def test_without_bpf(perf, tracing, tmp_path):
    """The same calls with the same results, only without strings, which is said once."""
    program = build(tmp_path, SOME_CALLS, "-lpthread")
    done, lines = traced(perf, tmp_path, "--no-bpf", program)
    assert done.returncode == 0
    assert done.stderr.count("Strings, structures and file paths are missing: --no-bpf.\n") == 1 and done.stderr.count("\n") == 1
    found = calls(lines)
    counts = collections.Counter(name for name, _ in found)
    assert counts["getppid"] == 300 and counts["getpgid"] == 500 and found[-1] == ("exit_group", "?")
    assert [result for name, result in found if name == "openat"].count("-1 ENOENT (No such file or directory)") == 7
    assert any(re.search(r"openat\(dfd: CWD, filename: 0x[0-9a-f]+\b", line) for line in lines)
    assert len({match[4] for match in map(CALL.match, lines) if match}) == 2
    others = [line for line in lines if not CALL.match(line)]
    assert len(others) == 2 and others[-1].endswith("+++ exited with 3 +++"), "two threads end"


def test_same_as_with_bpf(perf, bpf, tracing, tmp_path):
    shown = [[call for call in calls(traced(perf, tmp_path, *words, "ls", "-l", "/usr")[1]) if call[0] not in ("brk", "mmap", "futex", "set_tid_address")] for words in ((), ("--no-bpf",))]
    shown = [[(name, re.sub("<.*>", "", result)) for name, result in calls] for calls in shown]
    assert len(shown[0]) > 50 and shown[0] == shown[1]


def test_sums_without_bpf(perf, tracing, tmp_path):
    program = build(tmp_path, SOME_CALLS, "-lpthread")
    done, lines = traced(perf, tmp_path, "--no-bpf", "-s", "--errno-summary", program)
    text = "\n".join(lines)
    assert done.returncode == 0 and not done.stderr
    assert re.search(r"getppid +300 +0 ", text) and re.search(r"getpgid +500 +0 ", text) and re.search(r"openat +\d+ +7 .*\n\t+ENOENT: 7", text)
    assert len(re.findall(r"^ program \(\d+\), ", text, re.MULTILINE)) == 2
    _, lines = traced(perf, tmp_path, "--no-bpf", "-s", "--summary-mode", "total", "--hist", "-e", "getp*", program)
    assert re.search(r"getppid +300 .*\n( .*\|\n)+", "\n".join(lines)) and "openat" not in "\n".join(lines)


@pytest.mark.parametrize("way", [["--no-bpf"], []], ids=["tracepoints", "any"])
def test_sums_by_cgroup(perf, tracing, tmp_path, way):
    """Under the path of the group in the hierarchy that is counted by."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    paths = {line.split(":", 2)[1]: line.split(":", 2)[2] for line in lines}
    perf_event = [path for names, path in paths.items() if "perf_event" in names.split(",")] if way else []
    path = (perf_event or [paths.get("")])[0]
    done, lines = traced(perf, tmp_path, *way, "-s", "--summary-mode", "cgroup", "sh", "-c", "sh -c true; true")
    if done.returncode == 255 and "cgroup" in done.stderr:
        pytest.skip("the kernel doesn't tell control groups")
    owners = [line for line in lines if re.match(r" \S+ \(\d+\), \d+ events", line)]
    assert len(owners) == 1 and (path is None or owners[0].split()[0] == path), lines[:5]


def test_cgroups_of_a_recording(perf, tracing, tmp_path):
    path = tmp_path / "perf.data"
    perf("trace", "record", "-o", path, "true")
    done = perf("trace", "-i", path, "-s", "--summary-mode", "cgroup")
    assert done.returncode == 255 and "perf trace record --all-cgroups" in done.stderr


def test_lines_and_sums_by_cgroup(perf, tracing, tmp_path):
    done, lines = traced(perf, tmp_path, "-S", "--summary-mode", "cgroup", "true")
    if done.returncode == 255 and "cgroup" in done.stderr:
        pytest.skip("the kernel doesn't tell control groups")
    assert any(" exit_group(" in line for line in lines) and re.search(r"^ /\S* \(\d+\), \d+ events", "\n".join(lines), re.MULTILINE)


def test_options_in_front_of_record(perf, tracing, tmp_path):
    """They are record's where they say what is recorded; what only matters for showing is refused."""
    assert perf("trace", "-o", tmp_path / "data", "-m", "64", "record", "true").returncode == 0
    _, lines = traced(perf, tmp_path, "-i", tmp_path / "data")
    assert any(" exit_group(" in line for line in lines)
    for words in (["-s"], ["--duration", "1"], ["--max-events", "2"], ["--filter-pids", "1"]):
        done = perf("trace", *words, "record", "true", cwd=tmp_path)
        assert done.returncode == 129 and "perf trace -i" in done.stderr and not (tmp_path / "perf.data").exists()


def test_what_is_left_out_of_a_recording(perf, tracing, tmp_path):
    """Processes by the numbers that they had, though nobody has them now."""
    perf("trace", "-o", tmp_path / "data", "record", "sh", "-c", "true; sh -c true; true")
    _, lines = traced(perf, tmp_path, "-i", tmp_path / "data", "-e", "exit_group")
    tids = [CALL.match(line)[4] for line in lines]
    assert len(set(tids)) >= 2
    _, lines = traced(perf, tmp_path, "-i", tmp_path / "data", "-e", "exit_group", "--filter-pids", tids[0])
    assert [CALL.match(line)[4] for line in lines] == tids[1:]
    done = perf("trace", "-i", tmp_path / "data", "-e", "sched:sched_switch", "--filter", "prev_pid == 1")
    assert done.returncode == 129 and "record" in done.stderr


def test_end_under_load(perf, bpf, tracing, tmp_path):
    """Calls that come faster than they are shown don't keep the trace from its end."""
    busy = [subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1"], stderr=subprocess.DEVNULL) for _ in range(os.cpu_count() + 1)]
    try:
        with subprocess.Popen([perf.path, "trace", "-a", "-e", "read,write", "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as trace:
            assert trace.stdout.read(1)
            trace.send_signal(signal.SIGINT)
            while trace.stdout.read(1 << 20):
                pass
            assert trace.wait(300) == 0
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_status_and_end(perf, tracing, tmp_path):
    assert traced(perf, tmp_path, "--no-bpf", "sh", "-c", "exit 7")[0].returncode == 0
    assert traced(perf, tmp_path, "--no-bpf", "sh", "-c", "kill -TERM $$")[0].returncode == 0
    done, _ = traced(perf, tmp_path, "--no-bpf", "/no/such/program")
    assert done.returncode == 255 and "cannot start '/no/such/program'" in done.stderr
    done, lines = traced(perf, tmp_path, "--no-bpf", "--max-events", "3", "sleep", "100000")  # longer than anything may take here
    assert done.returncode == 0 and len(lines) == 3


def test_max_events_status(perf, bpf, tmp_path):
    """Enough is no failure, though the command is ended then."""
    done, lines = traced(perf, tmp_path, "--max-events", "3", "sleep", "60")
    assert done.returncode == 0 and len(lines) == 3


def test_one_process(perf, tracing, tmp_path):
    """Events are read by the process that shows them: the command is its only child."""
    done, lines = traced(perf, tmp_path, "--no-bpf", "-e", "sched:sched_process_exec", "sh", "-c", "cat /proc/$PPID/task/$PPID/children; echo own $$")
    children, own = done.stdout.split("own")
    assert children.split() == own.split() and any("sched:sched_process_exec" in line for line in lines)


FORKS = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (long i = atol(argv[1]); i > 0; i--) {
		pid_t pid = vfork();
		if (!pid)
			_exit(0);
		waitpid(pid, 0, 0);
	}
	return 0;
}
"""


@pytest.mark.soak
def test_memory_of_a_fork_storm(perf, tracing, tmp_path):
    """Processes that have ended are forgotten. In `make soak` there are a million of them."""
    forks = 1000000 if "PERF_SOAK" in os.environ else 3000
    program = build(tmp_path, FORKS)
    done, lines = traced(perf, tmp_path, "--no-bpf", "-e", "sched:sched_process_exec", "sh", "-c", f"{program} {forks}; grep VmHWM /proc/$PPID/status", timeout=3000)
    assert done.returncode == 0 and any("sched:sched_process_exec" in line for line in lines)
    assert int(done.stdout.split()[1]) < 200 << 10, done.stdout


def until_shown(process, path, line, text):
    """Writes the line to the process again and again until the trace in `path` shows the text."""
    def shown():
        process.stdin.write(f"{line}\n".encode())
        process.stdin.flush()
        return path.exists() and text in path.read_bytes()
    started.until(shown, "a line appears")


def test_interrupted(perf, tracing, tmp_path):
    """Lines of a process that goes on doing nothing appear soon; Ctrl-C ends the trace."""
    path = tmp_path / "trace.txt"
    with subprocess.Popen(["sh", "-c", "while read line; do :; done"], stdin=subprocess.PIPE) as process:
        with subprocess.Popen([perf.path, "trace", "--no-bpf", "-o", path, "-p", str(process.pid)], stderr=subprocess.DEVNULL) as trace:
            until_shown(process, path, "x", b"read(")
            trace.send_signal(signal.SIGINT)
            assert trace.wait(300) == 0
        process.stdin.close()


def test_other_events(perf, tracing, tmp_path):
    """System calls and events in the order of time, with the fields that the kernel gave them."""
    done, lines = traced(perf, tmp_path, "-e", "clock_nanosleep,sched:sched_switch", "sleep", "0.05")
    assert done.returncode == 0
    at = next(i for i, line in enumerate(lines) if "clock_nanosleep(" in line)
    assert lines[at].endswith(" ...") and re.search(r'\( +\): sleep/(\d+) sched:sched_switch\(prev_comm: "sleep", prev_pid: \1 \(sleep\), ', lines[at + 1])
    assert any("... [continued]: clock_nanosleep()" in line for line in lines[at + 2:])
    times = [float(EVENT.match(line)["time"]) for line in lines if "continued" not in line]
    assert times == sorted(times)
    _, lines = traced(perf, tmp_path, "-e", "sched:sched_process_exe*", "--libtraceevent_print", "sh", "-c", "true; exec true")
    assert len(lines) == 2 and re.fullmatch(r" +0\.000 sh/(\d+) sched:sched_process_exec\(filename=\S+/sh pid=\1 old_pid=\1\)", lines[0])
    _, lines = traced(perf, tmp_path, "--no-syscalls", "-e", "task:task_rename,close", "sleep", "0")
    assert lines and all(" task:task_rename(" in line for line in lines)
    _, lines = traced(perf, tmp_path, "-e", "sched:sched_process_exec/nr=1/,sched:sched_process_exit", "sh", "-c", "true; exec true")
    assert sum("process_exec(" in line for line in lines) == 1


SERVERS = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *run(void *number)
{
	char text[64];
	int fd = open("/dev/null", O_WRONLY);
	for (int i = 0; i < 500; i++)
		write(fd, text, sprintf(text, "thread %ld line %d", (long)number, i));
	return 0;
}
int main(void)
{
	pthread_t threads[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, run, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	execl("/bin/true", "true", "last word", (char *)0);
}
"""


def test_strings_beside_events(perf, bpf, tracing, tmp_path):
    """Each call has its own strings, though samples and strings come on two ways."""
    program = build(tmp_path, SERVERS, "-lpthread")
    done, lines = traced(perf, tmp_path, "-e", "write,execve,openat,sched:sched_process_exit", program)
    assert done.returncode == 0 and not done.stderr
    written = re.findall(r'/(\d+) write\(fd: \d+</dev/null>, buf: "thread (\d) line (\d+)", count: (\d+)\) += (\d+)$', "\n".join(lines), re.MULTILINE)
    # a call during which something else happened is shown before its end
    halves = [line for line in lines if " ... [continued]: write() " in line]
    assert len(written) + len(halves) == 2000 and len(halves) < 100 and all(count == result for _, _, _, count, result in written)
    for thread in "0123":
        numbers = [int(line) for _, other, line, _, _ in written if other == thread]
        assert numbers == sorted(set(numbers)) and len(numbers) > 400
    assert len({(tid, thread) for tid, thread, _, _, _ in written}) == 4
    text = "\n".join(lines)
    assert 'argv: ["true", "last word"]' in text and f'execve(filename: "{program}"' in lines[0] and "filename: 0x" not in text
    assert sum(" sched:sched_process_exit(" in line for line in lines) == 5 # three threads end by themselves, one by the exec
    _, lines = traced(perf, tmp_path, "--json", "--call-graph", "fp", "-e", "openat", "cat", "/dev/null")
    rows = [json.loads(line) for line in lines]
    assert rows[-1]["args"]["filename"] == '"/dev/null"' and rows[-1]["result_text"] == "3</dev/null>" and rows[-1]["stack"]


def test_calls_beside_events_of_commands_that_call_nothing_wanted(perf, bpf, tracing, tmp_path):
    """The command is followed from its start, whatever calls its recorder makes."""
    _, lines = traced(perf, tmp_path, "-e", "getppid,sched:sched_process_exit", build(tmp_path, SOME_CALLS, "-lpthread"))
    assert sum(bool(re.search(r" getppid\(\) += \d+$", line)) for line in lines) == 300
    assert sum(" sched:sched_process_exit(" in line for line in lines) == 2
    times = [float(EVENT.match(line)["time"]) for line in lines if "continued" not in line]
    assert times == sorted(times)


def test_sums_beside_events(perf, bpf, tracing, tmp_path):
    program = build(tmp_path, SOME_CALLS, "-lpthread")
    for words in (["-s"], ["-S"]):
        done, lines = traced(perf, tmp_path, *words, "--errno-summary", "-e", "getppid,openat,sched:sched_process_exit", program)
        text = "\n".join(lines)
        assert done.returncode == 0 and not done.stderr
        assert re.search(r"getppid +300 +0 ", text) and re.search(r"openat +\d+ +7 .*\n\t+ENOENT: 7", text) and "getpgid" not in text
        assert len(re.findall(r"^ program \(\d+\), ", text, re.MULTILINE)) == 2


def test_signals_beside_events(perf, bpf, tracing, tmp_path):
    done, lines = traced(perf, tmp_path, "--signals", "-e", "kill,sched:sched_process_exit", "sh", "-c", "trap : USR1; kill -USR1 $$; exit 7")
    rests = [EVENT.match(line)["rest"].split(" {")[0].split("(")[0] for line in lines]
    assert done.returncode == 0 and rests == ["kill", "--- SIGUSR1", "+++ exited with 7 +++", "sched:sched_process_exit"]


def test_delay_beside_events(perf, bpf, tracing, tmp_path):
    lines = delayed.check(perf, tmp_path, 0.3, "-e", "lseek,sched:sched_process_exit")
    assert sum("sched:sched_process_exit" in line for line in lines) == 1


def test_lines_without_events(perf, bpf, tracing, tmp_path):
    """Calls appear soon though no event is recorded meanwhile."""
    path = tmp_path / "trace.txt"
    with subprocess.Popen(["sh", "-c", "while read line; do echo $line > /dev/null; done"], stdin=subprocess.PIPE) as process:
        with subprocess.Popen([perf.path, "trace", "-e", "write,oom:mark_victim", "-o", path, "-p", str(process.pid)]) as trace:
            until_shown(process, path, "number 1", b'buf: "number ')
            trace.send_signal(signal.SIGINT)
            assert trace.wait(300) == 0
        process.stdin.close()


def test_strings_of_running_process(perf, bpf, tracing, tmp_path):
    path = tmp_path / "trace.txt"
    with subprocess.Popen(["sh", "-c", "while read line; do echo $line > /dev/null; done"], stdin=subprocess.PIPE) as process:
        with subprocess.Popen([perf.path, "trace", "-e", "write,sched:sched_switch", "-o", path, "-p", str(process.pid)]) as trace:
            until_shown(process, path, "number 1", b'buf: "number ')
            trace.send_signal(signal.SIGINT)
            assert trace.wait(300) == 0
        process.stdin.close()
    assert 'write(fd: 1</dev/null>, buf: "number ' in path.read_text() and " sched:sched_switch(" in path.read_text()


def test_filter(perf, tracing, tmp_path):
    _, lines = traced(perf, tmp_path, "-e", "sched:sched_process_exec", "--filter", 'filename ~ "*/true"', "sh", "-c", "env true; true")
    assert len(lines) == 1 and 'filename: "' in lines[0] and '/true"' in lines[0]
    for text, problem in (("no_field == 1", "unknown field 'no_field'"), ("pid == x", "invalid number"), ("(pid == 1", "missing closing parenthesis"),
                          ('filename < "a"', "strings cannot be compared with '<'")):
        done, _ = traced(perf, tmp_path, "-e", "sched:sched_process_exec", "--filter", text, "true")
        assert done.returncode == 129 and problem in done.stderr and "^" in done.stderr
    done, _ = traced(perf, tmp_path, "-e", "close", "--filter", "pid == 1", "true")
    assert done.returncode == 129 and "--filter must follow the -e of its tracepoint" in done.stderr


@pytest.mark.parametrize("name", ["TIMER", "TIMER_SOFTIRQ"])
def test_filter_by_name(perf, tracing, tracefs, tmp_path, name):
    """The print format's name for a number, and the kernel's own."""
    if not (tracefs / "events/irq/softirq_raise").is_dir() or (name != "TIMER" and not os.path.exists("/sys/kernel/btf/vmlinux")):
        pytest.skip("this kernel has no such event, or does not describe its types")
    done, lines = traced(perf, tmp_path, "-a", "-e", "irq:softirq_raise", "--filter", f"vec == {name}", "--max-events", "5", "sleep", "60")
    assert done.returncode == 0 and len(lines) == 5 and all(line.endswith(" irq:softirq_raise(vec: 1)") for line in lines)
    done, _ = traced(perf, tmp_path, "-e", "irq:softirq_raise", "--filter", "vec == no_name", "true")
    assert done.returncode == 129 and "of type unsigned int; or one of: HI TIMER " in done.stderr
    done, _ = traced(perf, tmp_path, "-e", "irq:softirq_raise", "--filter", "vecs == 1", "true")
    assert done.returncode == 129 and "its fields are: vec (unsigned int);" in done.stderr


def test_switches(perf, tracing, tmp_path):
    program = build(tmp_path, '#include <unistd.h>\n#include <sys/prctl.h>\nint main(void) { getppid(); prctl(PR_SET_NAME, "on"); getpgid(0); getpgid(0); alarm(0); getsid(0); }')
    words = ["-e", "getppid,getpgid,getsid,task:task_rename,syscalls:sys_enter_alarm", "--switch-on", "task:task_rename"]
    _, lines = traced(perf, tmp_path, *words, program)
    names = [name for name, _ in calls(lines)]
    assert names.count("getppid") == 1 # the exec renames, too
    _, lines = traced(perf, tmp_path, *words, "--switch-off", "syscalls:sys_enter_alarm", program)
    names = [name for name, _ in calls(lines)]
    assert names.count("getpgid") == 2 and "getsid" not in names and "rename" not in "".join(lines[:1])
    _, lines = traced(perf, tmp_path, *words, "--switch-off", "syscalls:sys_enter_alarm", "--show-on-off-events", program)
    assert "task:task_rename(" in lines[0] and "sys_enter_alarm(" in lines[-1]
    done, _ = traced(perf, tmp_path, "-e", "close", "--switch-on", "task:task_rename", "true")
    assert done.returncode == 129 and "add  -e task:task_rename" in done.stderr


def test_page_faults(perf, tracing, tmp_path):
    program = build(tmp_path, """
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	volatile char *at = mmap(0, 100 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise((void *)at, 100 * 4096, MADV_NOHUGEPAGE);
	getsid(0);
	for (int i = 0; i < 100; i++)
		at[4096 * i] = 1;
	_exit(0);
}""", "-O1")
    _, lines = traced(perf, tmp_path, "-F", "all", program)
    assert not any(" getsid(" in line for line in lines) # only faults were asked for
    own = [line for line in lines if re.search(r" \( 0\.000 ms\): program/\d+ minfault \[main\+0x[0-9a-f]+\] => ", line)]
    assert len(own) == 100 and all(line.endswith(".)") for line in own)
    _, lines = traced(perf, tmp_path, "-F", "all", "--syscalls", program)
    at = next(i for i, line in enumerate(lines) if "getsid(" in line)
    assert sum("minfault [main+" in line for line in lines[at:]) == 100 and "mmap(" in "\n".join(lines[:at])
    _, lines = traced(perf, tmp_path, "-F", "all", "-s", program)
    match = re.search(r"^ program \(\d+\), (\d+) events, 100.0%(?:, \d+ majfaults)?, (\d+) minfaults$", "\n".join(lines), re.MULTILINE)
    assert match and int(match[1]) >= int(match[2]) >= 100
    done, _ = traced(perf, tmp_path, "-F", "some", "true")
    assert done.returncode == 129 and "all, maj or min" in done.stderr


STACKS = """
#include <unistd.h>
#include <sys/syscall.h>
__attribute__((noinline)) long innermost(void) { long result; __asm__ volatile("syscall" : "=a"(result) : "a"(110) : "rcx", "r11", "memory"); return result + 1; }
__attribute__((noinline)) long middle(void) { return innermost() + 1; }
__attribute__((noinline)) long outermost(void) { return middle() + 1; }
int main(void) { long sum = 0; for (int i = 0; i < 10; i++) sum += outermost(); _exit(sum == 1); }
"""


@pytest.fixture
def stacks(tmp_path):
    if os.uname().machine != "x86_64":
        pytest.skip("the program is written for x86-64")
    return build(tmp_path, STACKS, "-O0", "-fno-omit-frame-pointer")


def frames_of(lines, name):
    """The frames under each line of the call."""
    found, current = [], None
    for line in lines:
        frame = FRAME.match(line)
        if frame and current is not None:
            current.append(frame[1].split(" (")[0])
        elif not frame:
            current = [] if f" {name}(" in line else None
            found += [current] if current is not None else []
    return found


def test_stacks(perf, tracing, stacks, tmp_path):
    _, lines = traced(perf, tmp_path, "--call-graph", "fp", "-e", "getppid", stacks)
    found = frames_of(lines, "getppid")
    assert len(found) == 10 and all(frames[:4] == ["innermost", "middle", "outermost", "main"] for frames in found)
    _, lines = traced(perf, tmp_path, "--call-graph", "auto", "-e", "getppid", stacks)
    found = frames_of(lines, "getppid")
    assert len(found) == 10 and all(frames[1:4] == ["middle", "outermost", "main"] and frames[-1] == "_start" for frames in found)
    _, lines = traced(perf, tmp_path, "--call-graph", "dwarf", "-e", "getppid", "--max-stack", "2", stacks)
    assert frames_of(lines, "getppid") == [["innermost", "middle"]] * 10
    _, lines = traced(perf, tmp_path, "--min-stack", "50", "-e", "getppid", stacks)
    assert not lines
    _, lines = traced(perf, tmp_path, "--kernel-syscall-graph", "-e", "getppid", stacks)
    found = frames_of(lines, "getppid")
    assert all(any("syscall" in frame for frame in frames[:frames.index("innermost")]) for frames in found)
    _, lines = traced(perf, tmp_path, "--json", "--call-graph", "fp", "-e", "getppid", stacks)
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 10 and all(row["call"] == "getppid" and row["stack"][1].startswith("middle (") for row in rows)


def test_flamegraph(perf, tracing, stacks, tmp_path):
    path = tmp_path / "out.folded"
    # By frame pointers: what is copied to be unwound depends on how soon the recorder gets a CPU.
    done, lines = traced(perf, tmp_path, "--call-graph", "fp", "--flamegraph", path, stacks)
    assert done.returncode == 0 and not lines
    weights = {stack: int(weight) for stack, weight in (line.rsplit(" ", 1) for line in path.read_text().splitlines())}
    ours = [weight for stack, weight in weights.items() if stack.endswith(";main;outermost;middle;innermost;getppid")]
    assert len(ours) == 1 and ours[0] > 0 and all(stack.startswith(("program;", "perf-exec;")) for stack in weights)
    _, lines = traced(perf, tmp_path, "-S", "--flamegraph", tmp_path / "out.svg", stacks)
    assert "<svg" in (tmp_path / "out.svg").read_text() and " Summary of events:" in lines and any(" getppid(" in line for line in lines)


def test_recording(perf, tracing, tmp_path):
    """What was recorded is what is shown: names, sums, filters."""
    program = build(tmp_path, SOME_CALLS, "-lpthread")
    data = tmp_path / "perf.data"
    done = perf("trace", "record", "-o", data, program)
    assert done.returncode == 3
    _, lines = traced(perf, tmp_path, "-i", data)
    counts = collections.Counter(name for name, _ in calls(lines))
    assert counts["getppid"] == 300 and counts["getpgid"] == 500
    _, lines = traced(perf, tmp_path, "-i", data, "--failure", "-e", "openat")
    assert lines.count(lines[0]) == 1 and sum("ENOENT (No such file" in line for line in lines) == len(lines) >= 7
    _, lines = traced(perf, tmp_path, "-s", "-i", data)
    text = "\n".join(lines)
    assert re.search(r"getppid +300 +0 ", text) and re.search(r"getpgid +500 +0 ", text)
    tids = re.findall(r"^ program \((\d+)\), ", text, re.MULTILINE)
    assert len(tids) == 2
    _, lines = traced(perf, tmp_path, "-i", data, "-t", tids[1])
    assert {match[4] for match in map(CALL.match, lines[:-1])} == {tids[1]} and lines[-1].endswith(f"program/{tids[1]} +++ exited with 0 +++")
    _, lines = traced(perf, tmp_path, "-i", data, "--max-events", "5", "-T")
    assert len(lines) == 5
    with data.open("rb") as stream:
        piped = subprocess.run([perf.path, "trace", "-i", "-", "-s", "-o", "-"], stdin=stream, capture_output=True, text=True, check=True)
    assert re.search(r"getppid +300 +0 ", piped.stdout)
    done, _ = traced(perf, tmp_path, "-i", data, "true")
    assert done.returncode == 129 and "omit the command" in done.stderr
    done = perf("trace", "-F", "all", "-e", "openat,task:task_rename", "record", "-o", data, program)
    assert done.returncode == 3
    _, lines = traced(perf, tmp_path, "-i", data)
    assert {name for name, _ in calls(lines)} == {"openat"} and any("minfault [" in line for line in lines) and any("task:task_rename(" in line for line in lines)


def test_small_options(perf, tracing, tmp_path):
    _, lines = traced(perf, tmp_path, "--no-bpf", "-e", "write", "--print-sample", "--sort-events", "echo", "x")
    assert re.fullmatch(r"raw_syscalls:sys_exit \d+\.\d{3} echo (\d+)/\1 \[\d+\]", lines[1]) and " write(fd: 1" in lines[2] and len(lines) == 3
    _, lines = traced(perf, tmp_path, "--no-bpf", "-e", "write", "--tool_stats", "echo", "x")
    assert lines[1:] == ["Stats:", "  samples read : 2", "  lines shown  : 1"]
    _, lines = traced(perf, tmp_path, "--sched", "-s", "sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done")
    assert float(re.search(r"^ sh \(\d+\), \d+ events, [\d.]+%, ([\d.]+) msec$", "\n".join(lines), re.MULTILINE)[1]) > 1
    for words, status, why in ((["-i", "x", "--map-dump", "x"], 129, "omit the command"), (["--force-btf", "--no-bpf"], 129, "does not read"),
                               (["--no-syscalls"], 129, "nothing to trace"), (["-e", "nosuch"], 129, "'nosuch' is neither a system call nor an event")):
        done, _ = traced(perf, tmp_path, *words, "true")
        assert done.returncode == status and why in done.stderr
    _, lines = traced(perf, tmp_path, "--no-bpf", "-p", os.getpid(), "-D", "100", "-m", "64", "-e", "getppid", "--no-inherit", "sh", "-c", "sleep 0.3")
    assert not lines


SIGNALS = """
import os, signal, time
signal.signal(signal.SIGUSR1, lambda *rest: None)
os.kill(os.getpid(), signal.SIGUSR1)
for number in (signal.SIGTERM, signal.SIGSEGV):
    if os.fork() == 0:
        os.kill(os.getpid(), number)
        time.sleep(60)
    os.wait()
os._exit(7)
"""


@pytest.mark.parametrize("way", ["live", "recorded"])
def test_signals_and_ends_without_bpf(perf, live, tracefs, tmp_path, way):
    """From the kernel's tracepoints. What a signal carries beside its code isn't in them; nor is the status of a process: that is what it passed to exit_group(), or the signal."""
    (tmp_path / "signals.py").write_text(SIGNALS)
    command = ["--", "/usr/bin/python3", "-S", tmp_path / "signals.py"]
    if way == "live":
        done = perf("trace", "--no-bpf", *command)
        assert done.returncode == 0
        text = done.stderr
    else:
        assert perf("trace", "record", "-o", tmp_path / "data", *command).returncode == 7
        done = perf("trace", "-i", tmp_path / "data")
        text = done.stdout + done.stderr
        assert "no signals" not in perf("trace", "-v", "-i", tmp_path / "data").stderr
    found = re.findall(r"\S+/(\d+) +(--- .* ---|\+\+\+ .* \+\+\+)$", text, re.MULTILINE)
    assert [what for _, what in found if "SIGCHLD" not in what] == ["--- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER} ---", "+++ killed by SIGTERM +++",
                                                                         "--- SIGSEGV {si_signo=SIGSEGV, si_code=SI_USER} ---", "+++ killed by SIGSEGV +++", "+++ exited with 7 +++"], text[-3000:]
    assert found[0][0] == found[-1][0] != found[1][0]


@pytest.mark.parametrize("how", ["--no-signals", "oracle"])
def test_recordings_without_signals(perf, oracle, live, tracefs, tmp_path, how):
    """Ends of threads are in each recording; which signals were, and which of them ended a process, in none but ours."""
    program = '(kill -TERM $BASHPID); true & wait; exit 7'
    words = ["record", "-o", tmp_path / "data", "--", "bash", "-c", program]
    assert (oracle("trace", *words) if how == "oracle" else perf("trace", how, *words)).returncode in (0, 7)
    assert "no signals" in perf("trace", "-v", "-i", tmp_path / "data").stderr
    done = perf("trace", "-i", tmp_path / "data")
    assert "The recording" not in done.stderr, "no terminal"
    found = re.findall(r"\S+/(\d+) +((?:---|\+\+\+) .*)$", done.stdout + done.stderr, re.MULTILINE)
    assert sorted(what for _, what in found) == ["+++ ended, its status was not recorded +++", "+++ exited with 0 +++", "+++ exited with 7 +++"], found
    assert len({tid for tid, _ in found}) == 3 and found[-1][1] == "+++ exited with 7 +++"
    for words in (["--no-bpf", "--no-signals", "--", "true"], ["--no-signals", "-i", tmp_path / "data"]):
        assert not re.search(r"\+\+\+|---", perf("trace", *words).stderr)
