"""perf trace against strace: the same calls of each thread in the same order, with the same arguments, strings and results. And against the kernel's
perf: its layout, and its names of arguments."""
import collections
import difflib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

STYLE = "[trace]\nshow_arg_names = no\nshow_zeros = yes\nshow_prefix = yes\n"
LIMIT = 48

# Memory, processes, inodes and what else is another one each time.
ADDRESS = re.compile(r"0x[0-9a-f]{5,}")
FLAGS = re.compile(r"\b[A-Za-z_0-9]+(?:\|[A-Za-z_0-9]+)+")
NUMBERED = re.compile(r"(pipe|socket|anon_inode|eventfd|mnt|net|pid|ns):\[(\d+)\]")
# Of these only name and result are compared: the contents are never the same.
VOLATILE = {"getrandom", "sysinfo", "times", "clock_gettime", "gettimeofday", "getrusage", "time", "set_tid_address", "futex", "clone", "clone3", "rt_sigreturn"}
# Their results are processes, which we show with their names.
NAMED = {"fork", "vfork", "clone", "clone3", "wait4", "getpid", "gettid", "getppid", "getpgrp", "getsid", "setsid", "getpgid", "set_tid_address"}
WITH_PROCESSES = NAMED | {"kill", "tgkill", "tkill", "waitid", "setpgid", "readlink", "rt_sigqueueinfo", "rt_sigreturn"}
# Whether they happen, and what they return, is chance.
SPURIOUS = {"restart_syscall", "sched_yield", "futex", "getppid", "rt_sigreturn"}


@pytest.fixture(scope="session")
def strace():
    path = shutil.which("strace")
    if not path or subprocess.run([path, "-o", "/dev/null", "true"], check=False, capture_output=True).returncode:
        pytest.skip("strace is not installed, or may not trace here")
    return path


def normal(text, pids):
    text = re.sub(r"AT_FDCWD<[^>]*>", "AT_FDCWD", text)
    text = re.sub(r"\{fd=(\d+)<[^>]*>", r"{fd=\1", text)
    text = re.sub(r"\[(\d+<[^>]*>[, ]*)+\]", lambda match: re.sub("<[^>]*>", "", match.group()), text) # sets and pairs of descriptors
    text = re.sub(r" /\* [\d.]+ s \*/", "", text)
    text = re.sub(r" /\* \d\d\d\d-\d\d-\d\dT[^*]* \*/", "", text)
    text = text.replace(" (deleted)>", ">(deleted)")
    text = re.sub(r"htons\(\d+\)", "htons()", text)
    text = re.sub(r"ru_(.)time=\{[^}]*\}", r"ru_\1time", text)
    text = re.sub(r"si_([us])time=\d+", r"si_\1time", text)
    text = text.replace("SCHED_OTHER", "SCHED_NORMAL").replace("WSTOPPED", "WUNTRACED")
    text = re.sub(r"/tmp/#\d+", "/tmp/#", text)
    text = NUMBERED.sub(r"\1:[]", text)
    text = ADDRESS.sub("ADDR", text)
    text = FLAGS.sub(lambda match: "|".join(sorted(match.group().split("|"))), text)
    text = "".join(char if ord(char) < 128 else "".join(f"\\{byte:o}" for byte in char.encode(errors="surrogateescape")) for char in text)
    return re.sub(r"\b\d+\b", lambda match: "PID" if match.group() in pids else match.group(), text) if pids else text


def by_birth(threads):
    """The calls of each thread, in the order in which the threads were made: that of their ids, which may begin anew with small ones. Which one runs
    first is chance."""
    first = int(next(iter(threads)))
    return [threads[tid] for tid in sorted(threads, key=lambda tid: (int(tid) - first) % (1 << 32))]


def strace_calls(path):
    """[[(name, arguments, result)] of each thread] in the order in which the calls ended."""
    threads, begun = collections.OrderedDict(), {}
    lines = pathlib.Path(path).read_text(errors="surrogateescape").splitlines()
    pids = {line.split(None, 1)[0] for line in lines}
    for line in lines:
        tid, text = line.split(None, 1)
        calls = threads.setdefault(tid, [])
        if text.startswith(("---", "+++")):
            continue
        if text.endswith(" <unfinished ...>"):
            begun[tid] = text[:-len(" <unfinished ...>")]
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
        if resumed:
            text = begun.pop(tid) + resumed.group(1)
        match = re.match(r"(\w+)\((.*)\)\s+= (.*)$", text)
        if text.startswith("exit"):
            calls.append((text.split("(")[0], "", "?"))
        elif match: # a process that kills itself never gets the result, but we see it
            own = pids if match.group(1) in WITH_PROCESSES else ()
            calls.append(tuple(normal(part, own) for part in match.groups()[:2]) + (normal(match.group(3), own).replace("?", "0"),))
    return by_birth(threads)


def our_calls(path):
    threads = collections.OrderedDict()
    rows = [json.loads(line) for line in pathlib.Path(path).read_text(errors="surrogateescape").splitlines()]
    assert not any("lost" in row for row in rows)
    rows = [row for row in rows if row.get("event") not in ("signal", "exit")] # test_trace_lines.py
    pids = {str(row["tid"]) for row in rows}
    for row in rows:
        calls = threads.setdefault(row["tid"], [])
        if "result" not in row:
            calls.append((row["call"], "", "?"))
            continue
        result = re.sub(r"^(\d+) \([^()]*\)$", r"\1", row["result_text"]) if row["call"] in NAMED else row["result_text"]
        own = pids if row["call"] in WITH_PROCESSES else ()
        calls.append(tuple(normal(part, own) for part in (row["call"], ", ".join(row["args"].values()), result)))
    return by_birth(threads)


def comparable(calls):
    return [(name, "" if name in VOLATILE else text, result) for name, text, result in calls if name not in SPURIOUS]


def differences(theirs, ours):
    """Pairs of lines that differ; None where one of them is missing. One call more or less doesn't shift all that follow."""
    found = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
        if tag != "equal":
            found += list(itertools.zip_longest(theirs[i1:i2], ours[j1:j2]))
    return found


def compare(perf, strace, folder, *command, cwd=None, least=0.995):
    """Runs the command under both; at least this share of the lines must be the same. Returns how many lines there were."""
    config = folder / "style"
    config.write_text(STYLE)
    variables = {**os.environ, "PERF_CONFIG": str(config)}
    theirs, ours = folder / "strace.txt", folder / "ours.txt"
    subprocess.run([strace, "-f", "-y", "-s", str(LIMIT), "-o", theirs, *command], check=True, stdin=subprocess.DEVNULL, capture_output=True, env=variables, cwd=cwd)
    done = perf("trace", "--json", "--string-limit", LIMIT, "-o", ours, *command, env=variables, cwd=cwd)
    assert done.returncode == 0 and not done.stderr, done.stderr
    theirs, ours = strace_calls(theirs), our_calls(ours)
    assert len(ours) == len(theirs)
    lines, different = 0, []
    for their, our in zip(theirs, ours):
        their, our = comparable(their), comparable(our)
        lines += len(their)
        different += differences(their, our)
    shown = "\n".join(f"strace: {a}\nours:   {b}" for a, b in different[:20])
    assert len(different) <= (1 - least) * lines, f"{len(different)} of {lines} lines differ:\n{shown}"
    return lines


def build(folder, text, *flags):
    source = folder / "program.c"
    source.write_text(text)
    subprocess.run(["gcc", "-w", "-D_GNU_SOURCE", "-o", folder / "program", source, *flags], check=True)
    return folder / "program"


def test_many_calls(perf, bpf, strace, tmp_path):
    """The hundred calls that programs make most."""
    program = build(tmp_path, (pathlib.Path(__file__).parent / "many_calls.c").read_text())
    folder = tmp_path / "empty"
    folder.mkdir()
    assert compare(perf, strace, tmp_path, program, cwd=folder) > 300


def test_ls(perf, bpf, strace, tmp_path):
    assert compare(perf, strace, tmp_path, "ls", "-lR", "/usr/share/doc") > 1000


def test_git(perf, bpf, strace, tmp_path):
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    folder = tmp_path / "repository"
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "gc.auto=0", "-C", folder]
    subprocess.run(["git", "init", "-q", folder], check=True)
    for number in range(50):
        path = folder / f"file{number}"
        path.write_text(f"{number}\n" * 100)
        os.utime(path, (10**9, 10**9))  # of files that are as new as its index git reads all, until it is newer
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    assert compare(perf, strace, tmp_path, *git, "log", "-p", "--stat") > 200
    subprocess.run([*git, "status"], check=True, capture_output=True)
    assert compare(perf, strace, tmp_path, *git, "status") > 200


SERVER = """
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
enum { CLIENTS = 4, REQUESTS = 200 };
static struct sockaddr_in address = {.sin_family = AF_INET};
static void *serve(void *arg)
{
	char buffer[100];
	int fd = (int)(long)arg;
	ssize_t size;
	while ((size = read(fd, buffer, sizeof(buffer))) > 0)
		write(fd, buffer, size);
	close(fd);
	return 0;
}
static void *ask(void *arg)
{
	char buffer[100] = "request 000 of a client";
	int fd = (int)(long)arg;
	for (int i = 0; i < REQUESTS; i++) {
		buffer[8] = '0' + i / 100, buffer[9] = '0' + i / 10 % 10, buffer[10] = '0' + i % 10;
		write(fd, buffer, strlen(buffer));
		read(fd, buffer, sizeof(buffer));
	}
	close(fd);
	return 0;
}
int main(void)
{
	socklen_t size = sizeof(address);
	pthread_t threads[2 * CLIENTS];
	int fds[2 * CLIENTS];
	int server = socket(AF_INET, SOCK_STREAM, 0);
	bind(server, (struct sockaddr *)&address, size);
	listen(server, CLIENTS);
	getsockname(server, (struct sockaddr *)&address, &size);
	for (int i = 0; i < CLIENTS; i++) {
		int client = socket(AF_INET, SOCK_STREAM, 0);
		connect(client, (struct sockaddr *)&address, sizeof(address));
		fds[2 * i] = client;
		fds[2 * i + 1] = accept(server, 0, 0);
	}
	for (int i = 0; i < 2 * CLIENTS; i++)
		pthread_create(&threads[i], 0, i % 2 ? serve : ask, (void *)(long)fds[i]);
	for (int i = 0; i < 2 * CLIENTS; i++)
		pthread_join(threads[i], 0);
	return 0;
}
"""


def test_threaded_server(perf, bpf, strace, tmp_path):
    """Eight threads that talk to each other: the same calls in the same order in each."""
    assert compare(perf, strace, tmp_path, build(tmp_path, SERVER, "-lpthread")) > 3000


def test_shell(perf, bpf, strace, tmp_path):
    """Redirections, subshells and many short processes. Of folders that nobody else writes to: the shell leaves out the rest where ls fails."""
    script = "for i in 1 2 3; do echo $i > out$i; sed s/1/2/ < out$i; done; (cd ..; ls > /dev/null) && cat out* && sort out*; rm out*"
    folder = tmp_path / "empty"
    folder.mkdir()
    assert compare(perf, strace, tmp_path, "dash", "-c", script, cwd=folder) > 500


# Calls whose tracepoints are named otherwise: the kernel has an older one of the name.
TRACEPOINTS = {"stat": "newstat", "lstat": "newlstat", "fstat": "newfstat", "uname": "newuname", "umount2": "umount", "sendfile": "sendfile64"}


def test_names_of_arguments(tracefs):
    """Those of the table are those of the kernel's tracepoints."""
    table = pathlib.Path(__file__).resolve().parents[2] / "src/tables/syscalls.txt"
    compared, wrong = 0, []
    for line in table.read_text().splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        name = words[0].split("=")[0]
        names = [word.split(":")[0] for word in words[1:] if ":" in word]
        path = tracefs / f"events/syscalls/sys_enter_{TRACEPOINTS.get(name, name)}/format"
        if not path.exists():
            continue
        fields = re.findall(r"field:[^;]*?(\w+);", path.read_text())
        fields = [field for field in fields if not field.startswith("common_")][1:] # the first is the number of the call
        compared += 1
        if fields != names:
            wrong.append((name, fields, names))
    assert compared > 250 and not wrong


def oracle_lines(program, path, *command, **arguments):
    done = program("trace", "-o", path, *command, **arguments)
    assert done.returncode == 0, done.stderr
    return path.read_text().splitlines()


def test_layout(perf, bpf, oracle, root, tmp_path):
    """Lines without strings are those of the kernel's perf, but for times, addresses and what we know besides."""
    program = build(tmp_path, """
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	char *at = mmap(0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(at, 4096, PROT_READ | PROT_WRITE);
	munmap(at, 8192);
	getppid();
	getsid(0);
	lseek(77, 1, SEEK_CUR);
	alarm(0);
	usleep(1000);
	_exit(0);
}""")

    def shape(lines):
        kept = []
        for line in lines:
            text = re.sub(r"^ *[\d.]+ \( *([\d.]+ ms)?\)", "TIME", line)
            text = re.sub(r"/\d+ ", "/TID ", text)
            text = re.sub(r"0x[0-9a-f]{12}", "0xADDRESSADDR", text)
            if re.search(r" (mprotect|munmap|lseek|alarm|brk|close|exit_group)\(", text) and "fd: 3" not in text:
                kept.append(text)
        return kept[-6:]

    theirs = shape(oracle_lines(oracle, tmp_path / "theirs", program))
    config = tmp_path / "config"
    config.write_text("[trace]\nshow_zeros = no\n") # the kernel's perf hides zeros; ours when it is told to
    ours = shape(oracle_lines(perf, tmp_path / "ours", program, env={**os.environ, "PERF_CONFIG": str(config)}))
    assert len(ours) == 6 and ours == theirs


def test_sums_layout(perf, bpf, oracle, root, tmp_path):
    """The table of -s: the same head, the same calls and counts."""
    theirs = oracle_lines(oracle, tmp_path / "theirs", "-s", "ls", "/")
    ours = oracle_lines(perf, tmp_path / "ours", "-s", "ls", "/")
    assert [line for line in ours if "events, " in line][0].split("events")[0].split()[0] == "ls"
    head = theirs.index("   syscall            calls  errors  total       min       avg       max       stddev")
    at = ours.index(theirs[head])
    assert ours[at - 4:at - 2] == theirs[head - 4:head - 2] and ours[at:at + 3] == theirs[head:head + 3]
    rows = [sorted((tuple(line.split()[:3]) for line in lines if re.match(r"   \w+ +\d+ +\d+ +[\d.]+ ", line))) for lines in (theirs, ours)]
    assert rows[0] == rows[1] and len(rows[0]) > 10
    width = re.compile(r"   \S+ +\d+ +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+%")
    assert {len(line) for line in ours if width.fullmatch(line)} == {len(line) for line in theirs if width.fullmatch(line)}
