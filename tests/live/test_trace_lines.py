"""What lines of perf trace say, beside strace: zeros that mean something, memory that can't be read, groups of calls, stacks."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

GROUPS = pathlib.Path("/usr/share/perf-core/strace/groups")


def build(folder, text, *flags):
    source = folder / "program.c"
    source.write_text(text)
    subprocess.run(["gcc", "-w", "-D_GNU_SOURCE", "-o", folder / "program", source, *flags], check=True)
    return folder / "program"


def traced(perf, folder, *words, **arguments):
    path = folder / "trace.txt"
    path.unlink(missing_ok=True)
    done = perf("trace", "-o", path, *words, **arguments)
    return done, path.read_text(errors="surrogateescape").splitlines() if path.exists() else []


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
    assert done.returncode and "none cannot be opened" in done.stderr


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
