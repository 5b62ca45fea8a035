"""What tutorials show of record and of what follows it, on processes that run already, in containers, with stripped programs and probes: the commands as
written there."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started  # noqa: E402

PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>
volatile long sink;
__attribute__((noinline)) void inner_work(void) { for (int i = 0; i < 1000000; i++) sink += i; sink++; }
__attribute__((noinline)) void outer_work(void) { inner_work(); sink++; }
int main(int argc, char **argv)
{
	alarm(1000);
	for (long i = 0; argc < 2 || i < atol(argv[1]); i++)
		outer_work();
	return 0;
}
"""
ALLOCATING = r"""
#include <stdlib.h>
#include <unistd.h>
void *volatile kept[500];
__attribute__((noinline)) void allocate(int i) { kept[i] = malloc(1000 + i); }
int main(void)
{
	char go;
	if (read(0, &go, 1) == 1)
		for (int i = 0; i < 500; i++)
			allocate(i);
	return 0;
}
"""
CONNECTING = """
import socket
for port in range(5):
    with socket.socket() as one:
        one.connect_ex(("127.0.0.1", 1 + port))
"""


def build(folder, source, *words, name="prog"):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", *words, "-o", folder / name, folder / f"{name}.c"], check=True)
    return folder / name


@pytest.fixture(name="working")
def working_fixture(tmp_path):
    with subprocess.Popen([build(tmp_path, PROGRAM)]) as process:
        yield process
        process.kill()


def names(perf, folder, *words):
    """How many samples have each function as their innermost one."""
    done = perf("report", "--stdio", "--no-children", "-g", "none", "-s", "sym", "-n", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return {match[2]: int(match[1]) for match in re.finditer(r"% +(\d+)  \[[.k]\] (\S+)", done.stdout)}


def until_interrupted(perf, folder, pid, *words):
    """Runs it on a process until that has been on a CPU for a second, then Ctrl-C; returns what it says at last."""
    with subprocess.Popen([perf, "record", *map(str, words), str(pid)], cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        started.until_it_measures(process.pid, signal.SIGINT)
        enough = started.ran(pid) + 1
        started.until(lambda: started.ran(pid) > enough, "the process has run for a second")
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=300)[1]
    return told


@pytest.mark.parametrize("words", [[], ["--call-graph", "dwarf"]], ids=["plain", "dwarf"])
def test_process_until_interrupted(perf, live, tmp_path, working, words):
    """ACCEPTANCE row 21: the closing line counts samples and size."""
    told = until_interrupted(perf, tmp_path, working.pid, *words, "-p")
    match = re.search(r"Captured and wrote [0-9.]+ [KM]?B .*perf\.data \((\d+) samples\)", told)
    assert match and int(match[1]) > 10, told
    assert sum(names(perf, tmp_path).values()) == int(match[1])
    assert names(perf, tmp_path)["inner_work"] > 0.8 * int(match[1])
    if words:
        assert "outer_work" in perf("script", cwd=tmp_path).stdout


def test_own_program(perf, live, tmp_path):
    """ACCEPTANCE row 21: perf record ./myapp --serve."""
    build(tmp_path, PROGRAM)
    assert perf("record", "./prog", "30", cwd=tmp_path).returncode == 0
    assert "inner_work" in names(perf, tmp_path)


def test_container(perf, live, root, tmp_path):
    """ACCEPTANCE row 25: a program that only the container's mounts hold, in a process of another number there."""
    if subprocess.run(["unshare", "--pid", "--fork", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no new namespaces here")
    program = build(tmp_path, PROGRAM)
    there = f"/tmp/perf-test-{os.getpid()}/prog"  # nobody has that here
    inside = f"mount -t tmpfs none /tmp && mkdir {os.path.dirname(there)} && cat > {there} && chmod +x {there} && exec {there}"
    with open(program, "rb") as file:
        shell = subprocess.Popen(["unshare", "--pid", "--fork", "--mount", "--mount-proc", "sh", "-c", inside], stdin=file)
    program.unlink()
    pid = 0
    try:
        pid = started.child_named(shell.pid, "prog")
        assert perf("record", "-g", "-p", pid, "--", *started.while_it_runs(pid, 0.3), cwd=tmp_path).returncode == 0
        assert not os.path.exists(there)
        assert names(perf, tmp_path)["inner_work"] > 10
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
        shell.wait(timeout=300)


def test_every_connect_with_its_stack(perf, live_system, tracefs, tmp_path):
    """ACCEPTANCE row 32."""
    done = perf.record("perf.data", "-a", "-e", "syscalls:sys_enter_connect", "-ag", "--", "python3", "-c", CONNECTING, cwd=tmp_path)  # neighbours connect, too
    assert done.returncode == 0, done.stderr
    samples = [text for text in perf("script", cwd=tmp_path).stdout.split("\n\n") if text.startswith("python3")]
    assert len(samples) == 5
    assert all("sys_enter_connect: fd: 0x" in text and re.search(r"\n\t +[0-9a-f]+ \w*connect\+0x", text) for text in samples), samples[0]


# A command that ends when PID has been on a CPU for a second stands for the sleep 1 of tutorials.
WAYS = [["-F", "99", "-p"], ["-F", "99", "-p", "PID", "SLEEP"], ["-F", "99", "-p", "PID", "-g", "--", "SLEEP"], ["--call-graph", "dwarf", "-p", "PID", "SLEEP"]]


@pytest.mark.parametrize("words", WAYS, ids=" ".join)
def test_99_times_a_second(perf, live, tmp_path, working, words):
    """ACCEPTANCE row 40."""
    begin = time.monotonic()
    if words[-1] == "-p":
        told = until_interrupted(perf, tmp_path, working.pid, *words)
    else:
        meant = {"PID": [str(working.pid)], "SLEEP": started.while_it_runs(working.pid, 1)}
        done = perf("record", *(text for word in words for text in meant.get(word, [word])), cwd=tmp_path)
        told = done.stderr
        assert done.returncode == 0, told
    samples = int(re.search(r"\((\d+) samples\)", told)[1])
    assert 5 < samples and names(perf, tmp_path)["inner_work"] > 0.7 * samples
    if "99" in words:
        assert samples <= 100 * (time.monotonic() - begin) + 1


def test_99_times_a_second_of_a_command(perf, live, tmp_path):
    """ACCEPTANCE row 40: perf record -F 99 COMMAND."""
    build(tmp_path, PROGRAM)
    assert perf("record", "-F", "99", "./prog", "300", cwd=tmp_path).returncode == 0
    assert "freq         = 99" in perf("evlist", "-v", cwd=tmp_path).stdout or "99" in perf("evlist", "-F", cwd=tmp_path).stdout
    assert "inner_work" in names(perf, tmp_path)


@pytest.mark.alone # probes of that name are the machine's
def test_allocations_by_stack(perf, live_system, tracefs, root, tmp_path):
    """ACCEPTANCE row 56: every malloc() of a program, with who called it. Of a library of its own: all that run here call the machine's, more than a ring holds."""
    program = build(tmp_path, ALLOCATING, name="allocating")
    library = re.search(r"libc\.so\.6 => (\S+)", subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout)[1]
    shutil.copy(library, tmp_path / "libc.so.6")
    added = perf("probe", "-x", "./libc.so.6", "malloc", cwd=tmp_path)
    if added.returncode and "probe_libc:malloc" in added.stderr:
        pytest.skip("somebody else has a probe of malloc here")
    assert added.returncode == 0 and "probe_libc:malloc" in added.stdout + added.stderr, added.stderr
    try:
        # The program begins when the recording has, which lasts until it has ended.
        for fifo in ("go", "done"):
            os.mkfifo(tmp_path / fifo)
        with subprocess.Popen(["sh", "-c", 'exec env LD_LIBRARY_PATH=. "$0" <go >done', program], cwd=tmp_path):
            done = perf("record", "-e", "probe_libc:malloc", "-a", "-g", "--", "sh", "-c", "echo >go; cat done", cwd=tmp_path)
    finally:
        perf("probe", "-d", "probe_libc:malloc")
    assert done.returncode == 0, done.stderr
    samples = [text for text in perf("script", "--comm", "allocating", cwd=tmp_path).stdout.split("\n\n") if text.strip()]
    assert len(samples) == 500 and all("malloc" in text and "main" in text for text in samples), len(samples)


@pytest.fixture(scope="module")
def first():
    """For recorders of all that the machine does, so that they go before others: by default half of it was lost beside a storm of processes."""
    return ["-r", "1"] if subprocess.run(["chrt", "-f", "1", "true"], capture_output=True, check=False).returncode == 0 else []


def test_sleeps_by_stack(perf, live_system, tracefs, tmp_path, first):
    """ACCEPTANCE rows 10 to 12: where a program sleeps. A kernel without scheduler statistics says what to record instead, and that is enough."""
    program = build(tmp_path, "#include <unistd.h>\nint main(void) { for (int i = 0; i < 20; i++) usleep(10000); return 0; }", name="sleeping")
    done = perf("record", "-e", "sched:sched_stat_sleep", "-e", "sched:sched_switch", "-e", "sched:sched_process_exit", "-g", "-o", "in", program, cwd=tmp_path)
    if done.returncode:
        assert done.returncode == 129 and "without CONFIG_SCHEDSTATS; record -a -e sched:sched_switch,sched:sched_waking instead, then use 'perf inject -s'" in done.stderr
        done = perf("record", "-e", "sched:sched_switch,sched:sched_waking", "-a", *first, "-e", "sched:sched_process_exit", "-g", "-o", "in", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = perf("inject", "-v", "-s", "-i", "in", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = perf("report", "--show-total-period", "--no-children", "-g", "none", "-s", "comm", "-i", "out", cwd=tmp_path)
    slept = [int(period) for period in re.findall(r"%\s+(\d+)\s+sleeping", done.stdout)]
    assert slept and max(slept) >= 10000000, done.stdout  # twenty times so long, but for what timers had run before the program left the CPU


SLEEPS = "for i in 1 2 3 4 5; do sleep 0.01; done"


def test_scheduler_events(perf, live_system, tracefs, tmp_path, first):
    """ACCEPTANCE rows 13 and 59: scheduler events with call chains in report, and lines that awk scripts take apart."""
    done = perf("sched", "record", "-o", "sched.data", *first, "-g", "--", "sh", "-c", SLEEPS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = perf("report", "-i", "sched.data", "--stdio", "--comm", "sleep", "-g", "caller", cwd=tmp_path).stdout
    assert "sched:sched_switch" in text and "schedule" in text and re.search(r"nanosleep", text)
    done = perf("record", "-e", "sched:sched_wakeup,sched:sched_switch", "-a", *first, "-g", "-o", "both.data", "--", "sh", "-c", SLEEPS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    script = perf("script", "-i", "both.data", cwd=tmp_path).stdout
    awk = "$5 == \"sched:sched_switch:\" && /next_comm=sleep/ { switches++ } END { print switches + 0 }"
    counted = subprocess.run(["awk", awk], input=script, capture_output=True, text=True, check=True).stdout
    assert int(counted) > 0 and re.search(r"^ *sleep +\d+ +\[\d+\] +\d+\.\d{6}: +sched:sched_switch: prev_comm=sleep ", script, re.MULTILINE)


def test_page_faults_by_function_and_file(perf, live, tmp_path):
    """Each first write to a page of a private mapping is a fault, with the function that writes and the file that is mapped."""
    program = build(tmp_path, "#include <fcntl.h>\n#include <sys/mman.h>\n__attribute__((noinline)) void touch(char *at) { for (int i = 0; i < 200; i++) at[i * 4096L * 16] = 1; }\n"
                              "int main(void) { int fd = open(\"table\", O_RDWR); touch(mmap(0, 200L * 4096 * 16, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)); return 0; }", name="faulting")
    (tmp_path / "table").write_bytes(bytes(200 * 4096 * 16))
    done = perf("record", "-e", "page-faults:u", "-c", "1", "-d", "-g", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = perf("report", "--stdio", "-n", "--no-children", "-g", "none", "--mem-mode", "-s", "sym,dso_daddr", cwd=tmp_path).stdout
    assert re.search(r"%\s+200\s+\[\.\] touch\s+table\s", text), text


def test_stripped_program(perf, live, tmp_path, monkeypatch):
    """ACCEPTANCE row 73: before the debug file is there a hint which file lacks names, afterwards the names."""
    program = build(tmp_path, PROGRAM)
    for command in (["objcopy", "--only-keep-debug", "prog", "kept"], ["strip", "prog"], ["objcopy", "--add-gnu-debuglink=kept", "prog"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "kept").rename(tmp_path / "elsewhere")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert perf("record", "-F", "999", "./prog", "300", cwd=tmp_path).returncode == 0
    before = perf("report", "--stdio", "-v", cwd=tmp_path)
    assert "inner_work" not in before.stdout and str(program) in before.stderr, before.stderr
    (tmp_path / ".debug").mkdir()
    (tmp_path / "elsewhere").rename(tmp_path / ".debug/kept")
    assert names(perf, tmp_path)["inner_work"] > 10
    assert str(program) not in perf("report", "--stdio", cwd=tmp_path).stderr


def test_scripts_count_what_stat_counts(perf, live, tracefs, tmp_path):
    """ACCEPTANCE row 76: the generated skeleton runs unchanged; a counting script has the totals of perf stat."""
    command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=700"]
    assert perf("record", "-q", "-e", "syscalls:sys_enter_write", "--", *command, cwd=tmp_path).returncode == 0
    assert perf("script", "-g", "python", cwd=tmp_path).returncode == 0
    shown = perf("script", "-s", "perf-script.py", cwd=tmp_path)
    if "libpython" in shown.stderr:
        pytest.skip(shown.stderr.strip())
    assert shown.returncode == 0 and shown.stdout.count("sys_enter_write") >= 700, shown.stderr
    (tmp_path / "count.py").write_text("n = 0\ndef syscalls__sys_enter_write(*words):\n    global n\n    n += 1\ndef trace_end():\n    print(n)\n")
    counted = perf("script", "-s", "count.py", cwd=tmp_path).stdout
    stat = perf("stat", "-x,", "-e", "syscalls:sys_enter_write", "--", *command).stderr
    assert counted.strip() == re.search(r"^(\d+),,syscalls:sys_enter_write", stat, re.MULTILINE)[1]
