"""perf trace on the running kernel, with its BPF program: what programs that do known things are seen to do."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
import delayed
import started

LINE = re.compile(r"^ *(?P<time>[\d.]+|\?) \((?P<duration> *[\d.]+ ms| +)\): (?P<comm>\S+)/(?P<tid>\d+) (?P<call>.*?) += (?P<result>.*)$")


def traced(perf, folder, *words, **arguments):
    """(completed process, lines) of `perf trace`."""
    path = folder / "trace.txt"
    path.unlink(missing_ok=True)
    done = perf("trace", "-o", path, *words, **arguments)
    assert path.exists(), done.stderr
    return done, path.read_text(errors="surrogateescape").splitlines()


def calls(lines):
    """[(name, arguments, result)] of the lines that end a call."""
    found = []
    for line in lines:
        match = LINE.match(line)
        if match:
            name, _, rest = match["call"].partition("(")
            found.append((name.removeprefix("... [continued]: "), rest, match["result"]))
    return found


def build(folder, text, *flags):
    source = folder / "program.c"
    source.write_text(text)
    subprocess.run(["gcc", "-w", "-D_GNU_SOURCE", "-o", folder / "program", source, *flags], check=True)
    return folder / "program"


def test_ls(perf, bpf, tmp_path):
    """ACCEPTANCE row 24: names, arguments, strings, results."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "a file").touch()
    done, lines = traced(perf, tmp_path, "ls", folder)
    assert done.returncode == 0 and done.stdout == "a file\n" and not done.stderr
    found = calls(lines)
    assert found[0][0] == "execve" and f'argv: ["ls", "{folder}"]' in found[0][1] and found[0][2] == "0"
    opened = [result for name, rest, result in found if name == "openat" and f'filename: "{folder}"' in rest]
    assert len(opened) == 1 and opened[0].endswith(f"<{folder}>") and "flags: RDONLY|NONBLOCK|DIRECTORY|CLOEXEC" in "\n".join(lines)
    entries = [rest for name, rest, result in found if name == "getdents64" and f"<{folder}>" in rest]
    assert "/* 3 entries */" in entries[0] and "/* 0 entries */" in entries[-1]
    written = [(rest, result) for name, rest, result in found if name == "write" and rest.startswith("fd: 1<")]
    assert written and 'buf: "a file\\n", count: 7' in written[0][0] and written[0][1] == "7"
    missing = [result for name, rest, result in found if result.startswith("-1")]
    assert missing and all(re.match(r"-1 E[A-Z]+ \(.*\)$", result) for result in missing)
    assert found[-1][0] == "exit_group" and found[-1][2] == "?"


def test_some_calls(perf, bpf, tmp_path):
    """ACCEPTANCE row 24: only the calls that were asked for, and the same of them as without -e."""
    _, lines = traced(perf, tmp_path, "-e", "open,openat,read,write,close", "ls", "/")
    _, everything = traced(perf, tmp_path, "ls", "/")
    names = [name for name, _, _ in calls(lines)]
    assert set(names) == {"openat", "read", "write", "close"}
    assert names == [name for name, _, _ in calls(everything) if name in set(names)]
    _, lines = traced(perf, tmp_path, "-e", "!%memory,read", "ls", "/")
    assert not {"mmap", "brk", "mprotect", "munmap", "read"} & {name for name, _, _ in calls(lines)}
    _, lines = traced(perf, tmp_path, "-e", "open*,%stat", "ls", "/")
    assert {name for name, _, _ in calls(lines)} <= {"openat", "newfstatat", "statx"}
    done = perf("trace", "-e", "nosuchcall", "true")
    assert done.returncode == 129 and "nosuchcall" in done.stderr


def test_running_process(perf, bpf, tmp_path):
    """ACCEPTANCE rows 24 and 39: -p until the process ends."""
    program = build(tmp_path, '#include <unistd.h>\nint main(void) { char c; read(0, &c, 1); char text[] = "out"; write(1, text, 3); for (int i = 0; i < 5; i++) getppid(); }')
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        path = tmp_path / "trace.txt"
        with subprocess.Popen([perf.path, "trace", "-o", path, "-p", str(process.pid)]) as trace:
            started.until_it_traces(trace)
            process.communicate(b"x")
            assert trace.wait(300) == 0
    found = calls(path.read_text().splitlines())
    assert [name for name, _, _ in found if name == "getppid"] == ["getppid"] * 5
    assert any(name == "write" and 'fd: 1</dev/null>, buf: "out", count: 3' in rest for name, rest, _ in found)


def test_sums(perf, bpf, tmp_path):
    """ACCEPTANCE row 24: -s, a table for each thread, exact counts."""
    program = build(tmp_path, """
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static void *run(void *x) { for (int i = 0; i < 100; i++) getppid(); return 0; }
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, run, 0);
	pthread_join(thread, 0);
	for (int i = 0; i < 1000; i++)
		getppid();
	for (int i = 0; i < 7; i++)
		open("/no/such/file", 0);
	return 3;
}""", "-lpthread")
    done, lines = traced(perf, tmp_path, "-s", "--errno-summary", program)
    assert done.returncode == 0
    text = "\n".join(lines)
    assert text.startswith("\n Summary of events:\n")
    assert re.findall(r"getppid +(\d+) +0 ", text) == ["1000", "100"]
    assert re.search(r"openat +\d+ +7 .*\n\t\t\t\tENOENT: 7", text)
    tables = re.findall(r"^ program \((\d+)\), (\d+) events, [\d.]+%", text, re.MULTILINE)
    assert len(tables) == 2 and int(tables[0][1]) > 2000 > int(tables[1][1]) >= 200
    _, lines = traced(perf, tmp_path, "-s", "--summary-mode", "total", "--hist", program)
    assert re.search(r"getppid +1100 +0 ", "\n".join(lines))
    counts = re.search(r"getppid +1100.*\n((?:.*\|\n?)+)", "\n".join(lines)).group(1)
    assert sum(int(count) for count in re.findall(r"(\d+) \|", counts)) == 1100


def test_sums_of_running_threads(perf, bpf, tmp_path):
    """What is summed in the kernel for threads that go on, and more kinds of calls than it holds for a thread at a time."""
    program = build(tmp_path, """
#include <unistd.h>
#include <sys/types.h>
int main(void)
{
	char c;
	read(0, &c, 1);
	for (int i = 0; i < 300; i++)
		getppid(), getpid(), getuid(), getgid(), geteuid(), getegid(), getpgid(0), getsid(0), alarm(0), lseek(99, 0, 0), close(99), gettid();
	write(1, "x", 1);
	read(0, &c, 1);
}""")
    path = tmp_path / "trace.txt"
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        with subprocess.Popen([perf.path, "trace", "-s", "-o", path, "-p", str(process.pid)]) as trace:
            started.until_it_traces(trace)
            process.stdin.write(b"x")
            process.stdin.flush()
            assert process.stdout.read(1) == b"x"
            trace.send_signal(signal.SIGINT)
            assert trace.wait(300) == 0
        process.communicate(b"x")
    sums = {name: (int(calls), int(errors)) for name, calls, errors in re.findall(r"^   (\w+) +(\d+) +(\d+) +[\d.]+ ", path.read_text(), re.MULTILINE)}
    quiet = {"getppid", "getpid", "getuid", "getgid", "geteuid", "getegid", "getpgid", "getsid", "alarm", "gettid"}
    assert {name: sums[name] for name in quiet} == {name: (300, 0) for name in quiet}
    assert sums["lseek"] == sums["close"] == (300, 300) and sums["write"] == (1, 0)


def test_lines_and_sums_agree(perf, bpf, tmp_path):
    _, lines = traced(perf, tmp_path, "-S", "ls", "-l", "/")
    at = lines.index(" Summary of events:")
    sums = dict(re.findall(r"^   (\w+) +(\d+) +\d+ +[\d.]+ ", "\n".join(lines[at:]), re.MULTILINE))
    names = [name for name, _, result in calls(lines[:at]) if result != "?"]
    assert sums and {name: str(names.count(name)) for name in set(names)} == sums


def test_status(perf, bpf, tmp_path):
    assert traced(perf, tmp_path, "sh", "-c", "exit 7")[0].returncode == 0
    assert traced(perf, tmp_path, "sh", "-c", "kill -TERM $$")[0].returncode == 0
    done = perf("trace", "/no/such/program")
    assert done.returncode == 255 and "cannot start '/no/such/program'" in done.stderr


def test_waiting_calls(perf, bpf, tmp_path):
    """A call that waits is shown before the lines of others, and continued."""
    _, lines = traced(perf, tmp_path, "sh", "-c", "sleep 0.2; true")
    waits = [line for line in lines if "wait4(" in line]
    assert any(line.endswith(" ...") for line in waits)
    assert any("... [continued]: wait4(stat_addr: [{WIFEXITED(s) && WEXITSTATUS(s) == 0}])" in line for line in waits)
    shown = sum(line.endswith(" ...") for line in lines)
    assert shown == sum("... [continued]" in line for line in lines)


def test_failures_and_duration(perf, bpf, tmp_path):
    _, lines = traced(perf, tmp_path, "--failure", "ls", "/no/such/folder")
    found = calls(lines)
    assert found and all(result.startswith("-1 E") for _, _, result in found) and any("/no/such/folder" in rest for _, rest, _ in found)
    _, lines = traced(perf, tmp_path, "--duration", "90", "sleep", "0.1")
    assert "clock_nanosleep" in [name for name, _, _ in calls(lines)]
    # A busy machine may hold up other calls as long.
    assert all(float(LINE.match(line)["duration"].removesuffix(" ms")) >= 90 for line in lines), lines


def test_json(perf, bpf, tmp_path):
    _, lines = traced(perf, tmp_path, "--json", "sh", "-c", "echo '\"quoted\"'")
    rows = [json.loads(line) for line in lines]
    assert rows[0]["call"] == "execve" and rows[0]["result"] == 0 and rows[0]["args"]["filename"].endswith('/sh"')
    written = [row for row in rows if row.get("call") == "write"]
    assert written[0]["args"]["buf"] == '"\\"quoted\\"\\n"' and written[0]["result"] == 9
    assert all(row.get("error", "E").startswith("E") and row["time"] > 0 for row in rows)
    assert any(row.get("error") == "ENOENT" and row["result"] == -2 for row in rows)


def test_many_processes(perf, bpf, tmp_path):
    """A storm of short processes: every execve is seen, with its arguments."""
    program = build(tmp_path, """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 1000; i++) {
		char text[16];
		sprintf(text, "number %d", i);
		if (!vfork()) {
			execl("/bin/true", "true", text, (char *)0);
			_exit(1);
		}
		if (i % 8 == 7)
			while (wait(0) > 0)
				;
	}
	while (wait(0) > 0)
		;
}""")
    done, lines = traced(perf, tmp_path, "-e", "execve", program)
    assert done.returncode == 0 and not done.stderr
    seen = [int(match) for match in re.findall(r'argv: \["true", "number (\d+)"\]', "\n".join(lines))]
    assert sorted(seen) == list(range(1000))


def test_losses(perf, bpf, tmp_path):
    """ACCEPTANCE row 39: what finds no room is counted, and shown where it is missing."""
    program = build(tmp_path, "#include <unistd.h>\nint main(void) { for (int i = 0; i < 300000; i++) getppid(); }")
    done, lines = traced(perf, tmp_path, "-m", "1", "-e", "getppid", program)
    lost = sum(int(number) for number in re.findall(r"^LOST (\d+) events!$", "\n".join(lines), re.MULTILINE))
    shown = sum(" getppid(" in line for line in lines)
    assert done.returncode == 0 and lost and shown and 300000 <= lost + shown <= 300010 # a name may be lost, too
    assert f"perf: {lost} records were lost because the buffer" in done.stderr and "-m 256M" in done.stderr


@pytest.mark.parametrize("target", ["tid", "uid"])
def test_other_targets(perf, bpf, tmp_path, target):
    program = build(tmp_path, """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static pthread_barrier_t both; /* they take turns */
static void *other(void *x) { for (;;) { getpgid(0); usleep(10000); pthread_barrier_wait(&both); } }
int main(int count, char **words)
{
	pthread_t thread;
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&thread, 0, other, 0);
	if (count > 1)
		setuid(atoi(words[1]));
	for (;;) { getppid(); usleep(10000); pthread_barrier_wait(&both); }
}""", "-lpthread")
    with subprocess.Popen([program, "4711"] if target == "uid" else [program]) as process:
        status = pathlib.Path(f"/proc/{process.pid}/status")
        user = "4711" if target == "uid" else str(os.getuid())
        started.until(lambda: re.search(rf"^Uid:\t{user}\t(.*\n)*Threads:\t2$", status.read_text(), re.MULTILINE), "the threads run")
        words = ["-u", "4711"] if target == "uid" else ["-t", process.pid]
        _, lines = traced(perf, tmp_path, *words, "--max-events", "30")
        process.kill()
    names = {name for name, _, _ in calls(lines)}
    assert "getppid" in names and ("getpgid" in names) == (target == "uid")
    assert len(lines) == 30


def test_ctrl_c(perf, bpf, tmp_path):
    """The whole system, until Ctrl-C; perf's own calls are not among them."""
    path = tmp_path / "trace.txt"
    with subprocess.Popen([perf.path, "trace", "-o", path, "-e", "write,getppid"]) as trace:
        def has_begun():
            subprocess.run(["sh", "-c", "echo hello > /dev/null; exec true"], check=True)
            return path.exists() and b"hello" in path.read_bytes()
        started.until(has_begun, "a call is shown")
        trace.send_signal(signal.SIGINT)
        assert trace.wait(300) == 0
    lines = path.read_text(errors="replace").splitlines()
    assert any('buf: "hello\\n"' in line for line in lines)
    assert not any(f" perf/{trace.pid} " in line for line in lines)


def test_output_is_kept(perf, bpf, tmp_path):
    traced(perf, tmp_path, "true")
    path = tmp_path / "trace.txt"
    perf("trace", "-o", path, "-e", "execve", "true")
    assert len(path.read_text().splitlines()) == 1 and len(pathlib.Path(f"{path}.old").read_text().splitlines()) > 5
    done = perf("trace", "-o", "-", "-e", "execve", "echo", "x")
    assert "execve(" in done.stdout and not done.stderr


def test_cgroup_and_delay(perf, bpf, tmp_path):
    mounts = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"]
    folder = pathlib.Path(mounts[0]) / f"perf-test-{os.getpid()}" if mounts else None
    try:
        folder.mkdir()
    except (AttributeError, OSError):
        pytest.skip("no control groups (version 2) can be made here")
    try:
        script = f"for i in 1 2 3; do echo {'{}'} > /dev/null; sleep 0.01; done"
        inside = f"echo $$ > {folder}/cgroup.procs; " + script.format("inside")
        _, lines = traced(perf, tmp_path, "-a", "-G", folder, "-e", "write", "sh", "-c", f"sh -c '{inside}'; {script.format('outside')}")
        assert sum("inside" in line for line in lines) == 3 and not any("outside" in line for line in lines)
    finally:
        for _ in range(20):
            try:
                folder.rmdir()
                break
            except OSError:
                time.sleep(0.1)
    done = perf("trace", "-a", "-G", "no/such/group", "true")
    assert done.returncode == 255 and "no such control group 'no/such/group'" in done.stderr


def test_delay(perf, bpf, tmp_path):
    delayed.check(perf, tmp_path, 0.3, "-e", "lseek")


def test_configuration(perf, bpf, tmp_path):
    (tmp_path / "config").write_text("[trace]\nshow_timestamp = no\nshow_duration = no\nshow_arg_names = no\nshow_prefix = yes\nshow_zeros = yes\nargs_alignment = 40\n")
    _, lines = traced(perf, tmp_path, "cat", "/dev/null", env={**os.environ, "PERF_CONFIG": str(tmp_path / "config")})
    assert any(re.match(r'cat/\d+ openat\(AT_FDCWD, "/dev/null", O_RDONLY\) = 3</dev/null>$', line) for line in lines)
    assert any(re.match(r"cat/\d+ brk\(NULL\) {31}= 0x", line) for line in lines)


def test_map_of_the_program(perf, bpf, tmp_path):
    """--map-dump: behind the lines, keys and values; what is asked for is checked before anything runs."""
    done, lines = traced(perf, tmp_path, "-e", "getppid", "--map-dump", "calls", "true")
    number = {"x86_64": 110, "aarch64": 173}[os.uname().machine]
    assert done.returncode == 0 and any(line.startswith(f"[{number}] = ") for line in lines)
    done, _ = traced(perf, tmp_path, "--map-dump", "nothing", "touch", tmp_path / "made")
    assert done.returncode == 129 and re.search("no map 'nothing'; choose one of .*calls, ", done.stderr) and not (tmp_path / "made").exists()
    done, _ = traced(perf, tmp_path, "--no-bpf", "--map-dump", "calls", "true")
    assert done.returncode == 255 and "BPF program" in done.stderr
