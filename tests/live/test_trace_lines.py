"""What lines of perf trace say, beside strace: zeros that mean something, memory that can't be read, groups of calls, stacks."""
import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from traced import build, traced  # noqa: E402

GROUPS = pathlib.Path("/usr/share/perf-core/strace/groups")


ZEROS = """
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void)
{
	int fd = open("/dev/null", 0);
	lseek(fd, 0, SEEK_CUR);
	read(fd, &fd, 0);
	getpgid(0);
	kill(getpid(), 0);
	fcntl(1, F_SETFD, 0);
	socket(AF_UNIX, SOCK_STREAM, 0);
	mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_exit(0);
}
"""


def test_zeros(perf, bpf, tmp_path):
    """Numbers that are 0 are shown where strace shows them; the configuration can still hide them, or show NULL and empty flags as well."""
    program = build(tmp_path, ZEROS)
    strace = shutil.which("strace")
    if not strace:
        pytest.skip("strace is not installed")
    subprocess.run([strace, "-o", tmp_path / "strace.txt", program], check=True)
    theirs = (tmp_path / "strace.txt").read_text()
    for call, argument in (("lseek", "offset: 0"), ("read", "count: 0"), ("getpgid", "pid: 0"), ("kill", "sig: 0"), ("socket", "protocol: "), ("exit_group", "error_code: 0")):
        assert re.search(rf"^{call}\(.*\b(0|IPPROTO_IP)\b", theirs, re.MULTILINE), call
        _, lines = traced(perf, tmp_path, "-e", call, program)
        assert any(f" {call}(" in line and argument in line for line in lines), (call, lines)
    _, lines = traced(perf, tmp_path, "-e", "mmap", program)
    anonymous = [line for line in lines if "ANONYMOUS" in line][-1]
    assert "off" not in anonymous and "addr" not in anonymous
    for value, shown in (("no", []), ("yes", ["offset: 0"])):
        config = tmp_path / "config"
        config.write_text(f"[trace]\nshow_zeros = {value}\n")
        _, lines = traced(perf, tmp_path, "-e", "lseek", program, env={**os.environ, "PERF_CONFIG": str(config)})
        assert [word for line in lines for word in re.findall("offset: 0", line)] == shown


UNREAD = """
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	char *argv[] = {"true", "an argument", 0};
	if (!fork()) {
		execv("/bin/true", argv);
		_exit(1);
	}
	wait(0);
}
"""


def test_what_cannot_be_read_is_not_empty(perf, bpf, tmp_path):
    """The constants of a fresh child lie in pages that it has not touched."""
    _, lines = traced(perf, tmp_path, "-e", "execve", build(tmp_path, UNREAD))
    line = lines[-1]
    assert re.search(r'argv: \[("true"|0x[0-9a-f]+), ("an argument"|0x[0-9a-f]+)\]', line), line


def test_continued(perf, bpf, tmp_path):
    """The other half of a call that was shown when it began to wait has as many parentheses as it opens."""
    _, lines = traced(perf, tmp_path, "-e", "vfork,clone,clone3,wait4,exit_group", "sh", "-c", "sleep 0.1; true")
    halves = [line for line in lines if "... [continued]: " in line]
    assert halves and all(line.count("(") - line.count("( ") == line.count(")") - line.count(" ms): ") or line.count("(") == line.count(")") for line in halves), halves
    assert not any("())" in line for line in lines)


def test_groups(perf, bpf, tmp_path):
    _, lines = traced(perf, tmp_path, "-e", "file", "cat", "/etc/hostname")
    names = {match[1] for match in (re.search(r": \S+/\d+ (\w+)\(", line) for line in lines) if match}
    assert "openat" in names and not names & {"mmap", "brk", "exit_group"}
    if (GROUPS / "file").is_file():
        assert names <= set((GROUPS / "file").read_text().split())
    (tmp_path / "mine").write_text("brk\nexit_group\n")
    _, lines = traced(perf, tmp_path, "-e", f"file://{tmp_path}/mine", "true")
    assert {re.search(r": \S+/\d+ (\w+)\(", line)[1] for line in lines} == {"brk", "exit_group"}
    done, _ = traced(perf, tmp_path, "-e", f"file://{tmp_path}/none", "true")
    assert done.returncode and re.search("cannot open .*none: ", done.stderr)


@pytest.mark.parametrize("word, near", [("opne", "open"), ("page-faults,wirte", "write"), ("!opne", "open"), ("%fiel", "%file"), ("execv", "execve")])
def test_nearest(perf, tmp_path, word, near):
    done, _ = traced(perf, tmp_path, "-e", word, "true")
    assert done.returncode == 129 and f"did you mean '{near}'?" in done.stderr.splitlines()[0], done.stderr


CHAIN = """
#include <unistd.h>
static __attribute__((noinline)) int c(void) { return getppid() + 1; }
static __attribute__((noinline)) int b(void) { return c() + 1; }
static __attribute__((noinline)) int a(void) { return b() + 1; }
int main(void) { return a() < 0; }
"""


def test_max_stack(perf, root, tracefs, tmp_path):
    """Frames of the kernel, which aren't shown, don't count."""
    program = build(tmp_path, CHAIN, "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
    for most in (1, 3):
        _, lines = traced(perf, tmp_path, "-e", "getppid", "--call-graph", "fp", "--max-stack", most, program)
        at = next(number for number, line in enumerate(lines) if " getppid(" in line)
        assert len(lines[at + 1:]) == most and all("([kernel" not in line for line in lines[at + 1:]), lines


SIGNALS = """
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int seen;
static void handle(int number) { seen++; }
static void *end(void *x) { return 0; }
int main(void)
{
	pthread_t thread;
	struct itimerval timer = {.it_value.tv_usec = 1000};
	signal(SIGUSR1, handle);
	signal(SIGALRM, handle);
	kill(getpid(), SIGUSR1);
	sigqueue(getpid(), SIGUSR1, (union sigval){.sival_ptr = (void *)7});
	setitimer(ITIMER_REAL, &timer, 0);
	while (seen < 3)
		usleep(100);
	kill(getpid(), SIGWINCH); /* ignored */
	if (!fork())
		_exit(3);
	wait(0);
	if (!fork())
		*(volatile int *)0 = 1;
	wait(0);
	if (!fork())
		kill(getpid(), SIGKILL);
	wait(0);
	if (!fork())
		abort();
	wait(0);
	pthread_create(&thread, 0, end, 0);
	pthread_join(thread, 0);
	return 5;
}
"""


def marked(lines):
    """Signals and ends of each thread. Numbers of threads say nothing: neighbours set where they go on, so that they come again at once, or in another order."""
    alive, ended = {}, []
    for tid, text in lines:
        text = re.sub(r"si_pid=\d+", "si_pid=", re.sub(r"si_([us])time=\d+", r"si_\1time=", text)) # ticks of the clock
        alive.setdefault(tid, []).append(text)
        if text.startswith("+++"):
            ended.append(alive.pop(tid))
    assert not alive, alive
    return sorted(ended)


def test_signals(perf, bpf, tmp_path):
    """What strace says between --- and +++, of each thread."""
    program = build(tmp_path, SIGNALS, "-lpthread")
    strace = shutil.which("strace")
    if not strace:
        pytest.skip("strace is not installed")
    quiet = ["prlimit", "--core=0"]
    subprocess.run([strace, "-f", "-o", tmp_path / "strace.txt", *quiet, program], check=False)
    theirs = re.findall(r"^(\d+) +((?:---|\+\+\+) .*)$", (tmp_path / "strace.txt").read_text(), re.MULTILINE)
    done, lines = traced(perf, tmp_path, *quiet, program)
    ours = re.findall(r"\): \S+/(\d+) ((?:---|\+\+\+) .*)$", "\n".join(lines), re.MULTILINE)
    assert done.returncode == 0 and marked(ours) == marked(theirs) and len(theirs) > 15
    _, lines = traced(perf, tmp_path, "--json", *quiet, program)
    assert lines[-1].endswith('"event":"exit","detail":"exited with 5"}')


def test_signals_chosen(perf, bpf, tmp_path):
    """With some calls only when they are asked for; never in spite of --no-signals."""
    for words, shown in ((("-e", "exit_group"), 0), (("-e", "exit_group", "--signals"), 1), (("--no-signals",), 0), (("-e", "!close"), 1), (("--failure",), 0)):
        _, lines = traced(perf, tmp_path, *words, "true")
        assert sum("+++ exited with 0 +++" in line for line in lines) == shown, words
    done, lines = traced(perf, tmp_path, "--signals", "--no-bpf", "true")
    assert done.returncode == 0 and lines[-1].endswith("+++ exited with 0 +++"), "tracepoints tell it as well"


COLORS = re.compile("\x1b\\[[0-9;]*m")
FAILS = """
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void)
{
	open("/no/such/file", 0);
	prctl(PR_SET_NAME, "x");
	getppid();
	usleep(2000);
	_exit(0);
}
"""


def on_terminal(perf, columns, *words, **variables):
    """What a terminal of that width gets."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    with subprocess.Popen([perf.path, "trace", *map(str, words)], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                          env={**os.environ, "TERM": "xterm", **variables}) as process:
        os.close(slave)
        text = b""
        try:
            while piece := os.read(master, 65536):
                text += piece
        except OSError: # the other end is closed
            pass
        process.wait()
    os.close(master)
    return text.decode().replace("\r\n", "\n").splitlines()


def test_colors(perf, bpf, tmp_path):
    """Errors, long calls and paths, on terminals that want it; with --color=always everywhere; taken away, the text is that of --color=never."""
    program = build(tmp_path, FAILS)
    choose = ("-e", "openat,clock_nanosleep", "--duration", "0")
    lines = on_terminal(perf, 120, *choose, program)
    failed = next(line for line in lines if "/no/such/file" in line)
    assert '\x1b[36m"/no/such/file"\x1b[m' in failed and "\x1b[31m-1 ENOENT (No such file or directory)\x1b[m" in failed
    assert any(re.search(r"\(\x1b\[31m *[\d.]+ ms\x1b\[m\): .* clock_nanosleep\(", line) for line in lines)
    for other in (on_terminal(perf, 120, *choose, "--color", "never", program), on_terminal(perf, 120, *choose, program, NO_COLOR="1"), on_terminal(perf, 120, *choose, program, TERM="dumb"),
                  traced(perf, tmp_path, *choose, program)[1]):
        assert other and not any("\x1b" in line for line in other)
    _, always = traced(perf, tmp_path, *choose, "--color", "always", program)
    _, never = traced(perf, tmp_path, *choose, "--color", "never", program)

    def call(line):
        return re.sub(r"^ *[\d.]+ \( *[\d.]+ ms\): (\S+)/\d+ ", r"\1 ", COLORS.sub("", line))
    assert [call(line) for line in always if "/no/such" in line] == [call(line) for line in never if "/no/such" in line] != []
    assert not any("\\u001b" in line for line in traced(perf, tmp_path, *choose, "--json", "--color", "always", program)[1])


def test_columns(perf, bpf, tmp_path):
    """On a terminal calls begin in one column, whatever threads are called, and results in another that follows its width."""
    program = build(tmp_path, FAILS)
    found = []
    for columns in (90, 130):
        lines = on_terminal(perf, columns, "-e", "getppid,exit_group,close", "--color", "never", program)
        calls = [line for line in lines if "/" in line]
        assert {line.split("/")[0].split()[-1] for line in calls} == {"program", "x"}
        assert len({re.search(r"(close|getppid|exit_group)\(", line).start() for line in calls}) == 1
        result = {line.index("= ", line.index("getppid")) for line in calls if "getppid" in line}
        assert len(result) == 1 and max(result) < columns - 2
        found.append(max(result))
    assert found[0] < found[1]


def test_structures_by_the_kernels_types(perf, bpf, tmp_path):
    """--force-btf: members as the kernel calls them, those that are 0 left out; {1,} without names, as the kernel tool's own test has it."""
    def calls(*words):
        done = perf(*words, "-o", tmp_path / "out", "-e", "clock_nanosleep,uname", "/usr/bin/python3", "-c", "import os, time; time.sleep(1); os.uname()")
        assert done.returncode == 0, done.stderr
        return (tmp_path / "out").read_text()

    named = calls("trace", "--force-btf")
    assert re.search(r"rqtp: \(struct __kernel_timespec\)\{\.tv_sec = \(.*\)\d+,(\.tv_nsec = \(.*\)\d+,)?\}", named), named
    assert re.search(r"uname\(name: \(struct new_utsname\)\{\.sysname = \(char\[65\]\)\['L','i','n','u','x',\]", named), named
    short = calls("-c", "trace.show_arg_names=no", "trace", "--force-btf")
    assert re.search(r"clock_nanosleep\([^{]*\{\d+,(\d+,)?\}", short), short
    assert "struct" not in calls("trace")
    for words, why in (["-i", "x"], "recordings do not contain"), (["--no-bpf", "true"], "--no-bpf does not read"):
        done = perf("trace", "--force-btf", *words)
        assert done.returncode == 129 and why in done.stderr
