"""perf record on the running kernel: what it opens against the kernel's perf, what it writes as the kernel's perf reads it, modes, losses."""
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import alike  # noqa: E402
import own  # noqa: E402
import prompt  # noqa: E402
import started  # noqa: E402

pytestmark = pytest.mark.one_moment

# Options and a command; PID is a process of ours. The counters that both open must have the same attributes. Those of the highest rates are not enabled: on a busy
# virtual machine their timer may leave no time to what is measured.
SAME_ATTRIBUTES = [
    "true",
    "-a true",
    "--call-graph fp -a true",
    "-F 99 true",
    "-D -1 -F max true",
    "-D -1 -c 1000 true",
    "-e {cpu-clock,page-faults} true",
    "-e cpu-clock,page-faults true",
    "-e {cpu-clock,page-faults}:S true",
    "-a -e {cpu-clock,page-faults}:S true",
    "-e {cpu-clock,task-clock},page-faults -a true",
    "-d true",
    "-a -d -s -T -W true",
    "-s -a true",
    "-P -c 100000 true",
    "--no-period true",
    "--no-timestamp true",
    "-W true",
    "-R true",
    "--phys-data true",
    "--data-page-size -a true",
    "--code-page-size -a true",
    "--sample-cpu true",
    "--sample-identifier true",
    "--switch-events true",
    "-a --switch-events true",
    "--namespaces -a true",
    "--all-cgroups -a true",
    "--call-graph dwarf true",
    "-a --call-graph dwarf,4001 true",
    "--call-graph fp true",
    "--user-regs=ax,ip true",
    "-a --intr-regs=ax true",
    "--intr-regs true",
    "-k mono true",
    "--kernel-callchains -g true",
    "--user-callchains --call-graph fp -a true",
    "-D 10 true",
    "-D 10 -a true",
    "-D -1 sleep 0.1",
    "--overwrite -a true",
    # Never with -a: Linux then marks the maps of all other recordings of that moment as having build-ids, which the kernel's perf can't read.
    "--buildid-mmap true",
    "-i true",
    "-n true",
    "--all-kernel true",
    "--all-user -e cpu-clock:k true",
    "--running-time true",
    "--transaction -a true",
    "--no-bpf-event true",
    "-z true",
    "--per-thread true",
    "-p PID true",
    "-t PID true",
    "-p PID --call-graph fp true",
    "-C 0 true",
    "-e dummy:u -a true",
    "-e mem:0x1000/8:w -a true",
    "-e page-faults -c 1 true",
    "-e cpu-clock:u true",
    "-e cpu-clock:ppp true",
    "-e cycles true",
    "-e cycles:u true",
    "-e cycles:k,cycles:u true",
    "-e task-clock/freq=100/ true",
    "-e cpu-clock/call-graph=dwarf,stack-size=1024/ true",
    "-e cpu-clock/call-graph=no/,page-faults --call-graph fp true",
    "-e cpu-clock/period=100000/,page-faults -c 10 true",
    "-e cpu-clock/max-stack=5/ --call-graph fp true",
    "-e context-switches -a true",
    "--no-buffering true",
    "-D -1 -F 999999 true",
]
SAME_ATTRIBUTES_TRACEPOINTS = [
    "-e sched:sched_switch true",
    "-e sched:sched_switch -c 5 true",
    "-e sched:sched_switch -F 100 true",
    "-a -e raw_syscalls:sys_enter,raw_syscalls:sys_exit true",
    "-e cpu-clock,sched:sched_switch --call-graph fp true",
    "-e cpu-clock -e page-faults -e sched:sched_process_exec -a --call-graph fp true",
    "-D 10 -e sched:sched_switch --call-graph fp true",
    "--per-thread -e sched:sched_switch true",
    "-e cpu-clock -G / -a true",
]


@pytest.fixture(name="perf", scope="session")
def perf_fixture(kernel_form):
    """Stacks are compared with those of the kernel's perf."""
    return kernel_form


def attributes(program, oracle, words, path):
    """Exit status and `evlist -v` of a recording."""
    path.unlink(missing_ok=True)
    done = program("record", "-q", "-o", path, *[str(os.getpid()) if word == "PID" else word for word in words.split()])
    return done.returncode, oracle("evlist", "-v", "-i", path).stdout


def without_guests(made):
    """Where there is no hardware counter, cycles becomes cpu-clock. Whether that keeps exclude_guest, which means nothing to it, is another thing with each release of
    the kernel's perf."""
    status, shown = made
    lines = [re.sub(r"^(cpu-clock:\w*?)H?:", r"\1:", line).replace(", exclude_guest: 1", "") if line.startswith("cpu-clock:") else line for line in shown.splitlines()]
    return status, "\n".join(lines)


def highest_rate():
    return int(pathlib.Path("/proc/sys/kernel/perf_event_max_sample_rate").read_text(encoding="ascii"))


@pytest.mark.parametrize("words", SAME_ATTRIBUTES)
def test_attributes(perf, oracle, live_system, tmp_path, words):
    limits = [None, highest_rate()]
    while limits[-2] != limits[-1]:  # the kernel has lowered it in between
        ours, theirs = attributes(perf, oracle, words, tmp_path / "ours"), attributes(oracle, oracle, words, tmp_path / "theirs")
        limits.append(highest_rate())
    if "cycles" in words or "-e" not in words.split():
        ours, theirs = without_guests(ours), without_guests(theirs)
    assert ours == theirs


@pytest.mark.parametrize("words", SAME_ATTRIBUTES_TRACEPOINTS)
def test_attributes_of_tracepoints(perf, oracle, live_system, tracefs, tmp_path, words):
    assert attributes(perf, oracle, words, tmp_path / "ours") == attributes(oracle, oracle, words, tmp_path / "theirs")


# What both read the same way from our recordings.
READ_ALIKE = [
    "-g",
    "-a -g",
    "-d -s -T -W",
    "-z -g",
    "-e cpu-clock,page-faults",
    "-e {cpu-clock,page-faults}:S",
    "--switch-events -a",
    "--all-cgroups --namespaces -a",
    "--call-graph dwarf",
    "-e sched:sched_switch,sched:sched_process_fork -a -g",
    "-e raw_syscalls:sys_enter",
    "-k mono -a",
    "--per-thread",
]


# What a shell computes for longer than many samples are apart: the start of a program alone may have none.
LASTS = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"


@pytest.mark.parametrize("words", READ_ALIKE)
def test_kernels_perf_reads_it(perf, oracle, live_system, tracefs, tmp_path, words):
    path = tmp_path / "perf.data"
    done = perf("record", "-o", path, *words.split(), "--", "sh", "-c", f"ls -l /usr/lib; {LASTS}; exit 5")
    assert done.returncode == 5, done.stderr
    assert re.search(r"^\[ perf record: Captured and wrote \d+\.\d{3} MB .* \(\d+ samples\)", done.stderr, re.MULTILINE)
    if "-a" in words:
        own.drop_kernel_code(path)
    fields = ["-F", "-symoff,-sym,-dso"]  # symbols have their own tests, and unwinding has
    if "dwarf" in words:
        fields.append("-G")
    theirs = oracle("script", *fields, "-i", path)
    assert theirs.returncode == 0 and theirs.stdout.count("\n") > 1
    assert perf("script", *fields, "-i", path).stdout == theirs.stdout
    for way in (["evlist", "-v"], ["buildid-list"], ["report", "--header-only", "-I"]):
        assert perf(*way, "-i", path).stdout == oracle(*way, "-i", path).stdout, way


def test_header_says_what_the_kernels_perf_says(perf, oracle, live_system, tracefs, tmp_path):
    """Every feature that the kernel's perf notes, with the same content, but for sizes, times, ids, the command line, and BPF programs, which anybody may load."""
    texts = []
    for program in (perf, oracle):
        path = tmp_path / f"{len(texts)}"
        assert program("record", "-q", "-g", "-o", path, "-a", "-e", "cpu-clock,sched:sched_switch", "true").returncode == 0
        texts.append(re.sub(r"^# (bpf_prog_info|\tsub_prog|btf info).*\n", "", oracle("report", "--header-only", "-I", "-i", path).stdout, flags=re.MULTILINE))
    varies = r"^# (captured|data |feat |perf version|cmdline|event|node\d+ meminfo|time of|sample duration|missing).*"
    ours, theirs = (re.sub(varies, "", text, flags=re.MULTILINE) for text in texts)
    # PMUs by name, as later versions of the kernel's perf have them; 6.1 lists them as they stand in sysfs.
    listed = re.search(r"^# pmu mappings: (.*)", ours, re.MULTILINE).group(1)
    theirs = re.sub(r"(^# pmu mappings: )(.*)", lambda line: line[1] + ", ".join(sorted(line[2].split(", "))), theirs, flags=re.MULTILINE)
    assert listed.split(", ") == sorted(listed.split(", "))
    assert ours == theirs
    missing = [set(re.search(r"# missing features: (.*)", text).group(1).split()) - {"BPF_PROG_INFO", "BPF_BTF"} for text in texts]
    assert missing[0] == missing[1]


def test_pipe(perf, oracle, live, tmp_path):
    done = subprocess.run(f"{perf} record -o - -g -- sh -c '{LASTS}' | tee {tmp_path}/stream | {oracle} script", shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.count("\n") > 3, done.stderr
    with open(tmp_path / "stream", "rb") as stream:
        alike.lines(done.stdout, perf("script", "-i", "-", stdin=stream).stdout)
    dump = perf("script", "-D", "-i", tmp_path / "stream").stdout
    assert dump.count("PERF_RECORD_EVENT_UPDATE") == 1  # the event's name


# Threads that take turns: each touches so many pages that their samples of 48 bytes fill little more than half of a buffer of 128 KB, and goes on when some of them are in the file, four times; or ends it all after 60 s.
FILLING = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static const char *path;
static long written(void) { struct stat status; return stat(path, &status) ? 0 : status.st_size; }
static void *fill(void *unused)
{
	enum { PAGES = 1500, SIZE = 4096, SOME = 32768 };
	for (int i = 0; i < 4; i++) {
		pthread_mutex_lock(&turn);
		long before = written();
		volatile char *at = mmap(NULL, PAGES * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise((void *)at, PAGES * SIZE, MADV_NOHUGEPAGE);
		for (int page = 0; page < PAGES; page++)
			at[page * SIZE] = 1;
		while (written() - before < SOME) { /* and a few more from time to time */
			usleep(10000);
			madvise((void *)at, 10 * SIZE, MADV_DONTNEED);
			for (int page = 0; page < 10; page++)
				at[page * SIZE] = 1;
		}
		munmap((void *)at, PAGES * SIZE);
		pthread_mutex_unlock(&turn);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[8];
	char byte;
	int count = atoi(argv[1]);
	path = argv[2];
	pthread_mutex_lock(&turn);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, fill, NULL);
	if (write(1, "x", 1) != 1 || read(0, &byte, 1) != 1)
		return 1;
	alarm(60);
	pthread_mutex_unlock(&turn);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_small_buffers_of_a_running_process_are_emptied_again_and_again(perf, live, tmp_path, threads):
    """Watching for the end of its threads must not take away the news that there is something in the buffers."""
    path = tmp_path / "perf.data"
    subprocess.run(["gcc", "-O1", "-pthread", "-x", "c", "-o", tmp_path / "filling", "-"], input=FILLING, text=True, check=True)
    with subprocess.Popen([tmp_path / "filling", str(threads), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as filling:
        filling.stdout.read(1)
        with subprocess.Popen([perf, "record", "-e", "page-faults:u", "-c", "1", "-d", "-m", "128K", "-o", path, "-p", str(filling.pid)], stderr=subprocess.PIPE, text=True) as running:
            started.until_it_records(running)
            filling.communicate(b"x")
            text = running.communicate(timeout=300)[1]
    assert filling.returncode == 0 and running.returncode == 0, text
    assert int(re.search(r"Woken up (\d+) times", text).group(1)) > 3
    lost = re.search(r"([\d,]+) samples were lost, ([\d,]+) samples were recorded", text)
    assert not lost or int(lost.group(1).replace(",", "")) < int(lost.group(2).replace(",", "")) / 4


def samples(oracle, path, fields="comm,tid"):
    done = oracle("script", "-F", fields, "-i", path)
    return [line.split() for line in done.stdout.splitlines() if line.strip()]


@pytest.fixture
def spinner():
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as child:
        yield child
        child.kill()


@pytest.mark.parametrize("command,status", [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", -9), ("kill -TERM $$", -15)])
def test_status_is_the_commands(perf, live, tmp_path, command, status):
    assert perf("record", "-o", tmp_path / "perf.data", "--", "sh", "-c", command).returncode == status


def test_command_that_cannot_be_started(perf, live, tmp_path):
    done = perf("record", "-o", tmp_path / "perf.data", "/nonexistent")
    assert done.returncode == 255 and "No such file" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_recording(perf, oracle, live_system, spinner, tmp_path, number):
    path = tmp_path / "perf.data"
    with subprocess.Popen([perf, "record", "-a", "-o", path], stderr=subprocess.PIPE, text=True) as running:
        started.until_it_records(running, number)
        subprocess.run(started.while_it_runs(spinner.pid, 0.1), check=True)
        running.send_signal(number)
        _, text = running.communicate(timeout=300)
    assert running.returncode == -number and "Captured and wrote" in text
    assert samples(oracle, path)


def test_a_pipe_is_reported_by_its_name(perf, live, tmp_path):
    """perf report <(…) or FIFO: nothing of it is read to find out what the word means."""
    fifo, path = tmp_path / "fifo", tmp_path / "perf.data"
    os.mkfifo(fifo)
    with open(path, "wb") as out:
        assert not perf("record", "-e", "page-faults", "-c", "1", "-o", "-", "--", "true", capture_output=False, stdout=out, stderr=subprocess.DEVNULL).returncode
    with subprocess.Popen(["cp", path, fifo]) as writer:
        piped = perf("report", "--stdio", fifo)
        assert writer.wait(timeout=300) == 0
    expected = perf("report", "--stdio", "-i", path)
    assert piped.returncode == expected.returncode == 0, piped.stderr
    assert piped.stdout == expected.stdout


def test_process(perf, oracle, live, spinner, tmp_path):
    path = tmp_path / "perf.data"
    for option in ("-p", "-t"):
        assert perf("record", "-q", "-o", path, option, spinner.pid, "--", *started.while_it_runs(spinner.pid, 0.1)).returncode == 0
        found = samples(oracle, path)
        assert found and {tid for _, tid in found} == {str(spinner.pid)}


def test_ends_with_the_process(perf, oracle, live, tmp_path):
    with subprocess.Popen(["sh", "-c", "read line; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"], stdin=subprocess.PIPE) as child:
        with subprocess.Popen([perf, "record", "-q", "-o", tmp_path / "perf.data", "-p", str(child.pid)]) as running:
            started.until_it_records(running)
            child.communicate(b"go\n")
            assert running.wait(300) == 0
    assert samples(oracle, tmp_path / "perf.data")


def test_children_are_followed(perf, oracle, live, tmp_path):
    """Every process has page faults."""
    counts = []
    for options in ([], ["--no-inherit"]):
        path = tmp_path / "perf.data"
        assert perf("record", "-q", *options, "-e", "page-faults", "-c", "1", "-o", path, "--", "sh", "-c", "sh -c :; true").returncode == 0
        counts.append(len({tid for _, tid in samples(oracle, path)}))
    assert counts == [2, 1]


def test_user(perf, oracle, live, root, tmp_path):
    with subprocess.Popen(["setpriv", "--reuid", "65534", "--clear-groups", "sh", "-c", "while :; do :; done"]) as child:
        started.until(lambda: pathlib.Path(f"/proc/{child.pid}/comm").read_text() == "sh\n", "the shell runs")
        done = perf("record", "-q", "-u", "65534", "-o", tmp_path / "perf.data", "--", *started.while_it_runs(child.pid, 0.1))
        child.kill()
    assert done.returncode == 0, done.stderr
    assert str(child.pid) in {tid for _, tid in samples(oracle, tmp_path / "perf.data")}


def test_one_cpu(perf, oracle, live_system, spinner, tmp_path):
    path = tmp_path / "perf.data"
    assert perf("record", "-q", "-C", "0", "-o", path, "--", "sleep", "0.3").returncode == 0
    assert {cpu for cpu, in samples(oracle, path, "cpu")} <= {"[000]"}


def test_delay(perf, oracle, live, tmp_path):
    """Names and maps are known although measuring began after they came: the command works until it reads that it is measured, and then some more."""
    path, said = tmp_path / "perf.data", tmp_path / "said"
    command = ('measured() { while read -r line; do case $line in *"Events enabled"*) return 0; esac; done <"$1"; return 1; }; until measured "$1"; do :; done; '
               "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    with open(said, "w", encoding="utf-8") as err:
        done = perf("record", "-D", "200", "-o", path, "--", "sh", "-c", command, "sh", said, capture_output=False, stdout=subprocess.DEVNULL, stderr=err)
    assert done.returncode == 0 and "Events disabled" in said.read_text()
    assert {comm for comm, _ in samples(oracle, path)} == {"sh"}


def test_control(perf, oracle, live_system, spinner, tmp_path):
    path, commands, answers = tmp_path / "perf.data", tmp_path / "commands", tmp_path / "answers"
    os.mkfifo(commands)
    os.mkfifo(answers)
    with subprocess.Popen([perf, "record", "-a", "-D", "-1", "--control", f"fifo:{commands},{answers}", "-o", path],
                          stderr=subprocess.PIPE, text=True) as running:
        def say(command):
            with open(commands, "w", encoding="ascii") as fifo:
                fifo.write(command + "\n")
            with open(answers, "rb", buffering=0) as fifo:
                assert fifo.read(4) == b"ack\n"
        for command in ("ping", "enable"):
            say(command)
        subprocess.run(started.while_it_runs(spinner.pid, 0.1), check=True)
        for command in ("disable", "stop"):
            say(command)
        running.communicate(timeout=300)
    assert running.returncode == 0 and samples(oracle, path)


def test_control_by_descriptors(perf, oracle, live_system, spinner, tmp_path):
    path = tmp_path / "perf.data"
    commands, answers = os.pipe(), os.pipe()
    with subprocess.Popen([perf, "record", "-q", "-a", "--control", f"fd:{commands[0]},{answers[1]}", "-o", path],
                          pass_fds=(commands[0], answers[1])) as running:
        os.write(commands[1], b"ping\n")
        assert os.read(answers[0], 4) == b"ack\n"
        subprocess.run(started.while_it_runs(spinner.pid, 0.1), check=True)
        os.write(commands[1], b"stop\n")
        assert running.wait(timeout=300) == 0
    for fd in commands + answers:
        os.close(fd)
    assert samples(oracle, path)


def test_switch_output(perf, oracle, live, tmp_path):
    """Of a command and its child that work until four files are complete. Each file knows who runs, and what they have mapped."""
    said = tmp_path / "said"
    work = f"import os\nos.fork()\nwhile open({str(said)!r}).read().count('Dump') < 4: pass"
    with open(said, "w", encoding="utf-8") as err:
        done = perf("record", "-F", "5000", "--call-graph", "fp", "-m", "128K", "--switch-output=200K", "--switch-max-files", "3", "-o", tmp_path / "out", "--",
                    "/usr/bin/python3", "-c", work, capture_output=False, stdout=subprocess.DEVNULL, stderr=err)
    files = sorted(tmp_path.glob("out.*"))
    assert done.returncode == 0 and said.read_text().count("Dump") > 4 and len(files) == 3
    for path in files[:2]:
        assert {comm for comm, _ in samples(oracle, path)} == {"python3"}
        maps = oracle("script", "--show-mmap-events", "-i", path).stdout
        assert len(set(re.findall(r"PERF_RECORD_MMAP2 (\d+)/.* r-xp \S*libc\.so\.6$", maps, re.MULTILINE))) == 2


def test_snapshots(perf, oracle, live_system, spinner, tmp_path):
    """Of a machine on which something runs all the time. Those that are asked for while one is written become one."""
    with subprocess.Popen([perf, "record", "-a", "-g", "--overwrite", "--switch-output", "-o", tmp_path / "out"], stderr=subprocess.PIPE,
                          text=True) as running:
        started.until_it_records(running, signal.SIGUSR2, signal.SIGINT)
        for count in (1, 2):
            subprocess.run(started.while_it_runs(spinner.pid, 0.1), check=True)
            running.send_signal(signal.SIGUSR2)
            started.until(lambda count=count: len(list(tmp_path.glob("out.*"))) == count, f"snapshot {count} is there")
            started.until_it_waits(running)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=300)
    files = sorted(tmp_path.glob("out.*"))
    assert len(files) == 3
    assert all(samples(oracle, path) for path in files[:2])


def test_overwriting_beside_others(perf, oracle, live, tracefs, tmp_path):
    """An event that keeps only its newest samples beside one that keeps all, in eight pages each, which is enough for the latter: in one recording, in order, with all names."""
    path = tmp_path / "perf.data"
    done = perf("record", "-m", "8", "-e", "raw_syscalls:sys_enter/overwrite/", "-e", "sched:sched_process_exit", "-o", path, "--",
                "sh", "-c", "for i in 1 2 3; do dd if=/dev/zero of=/dev/null bs=1 count=5000 2> /dev/null; done")
    assert done.returncode == 0, done.stderr
    lines = [re.match(r" *(.+?) +(\d+) \[\d+\] +([\d.]+): +(\S+):", line).groups()
             for line in perf("script", "-F", "comm,tid,cpu,time,event", "-i", path).stdout.splitlines()]
    assert [name for name, _, _, event in lines if event == "sched:sched_process_exit"] == ["dd", "dd", "dd", "sh"]
    newest = [name for name, _, _, event in lines if event == "raw_syscalls:sys_enter"]
    assert 10 < len(newest) <= 8 * 4096 // 64 * os.cpu_count() and newest[-1] == "sh" and set(newest) <= {"dd", "sh"}
    times = [float(time) for _, _, time, _ in lines]
    assert times == sorted(times)
    theirs = subprocess.run([oracle, "script", "-F", "comm,tid,cpu,time,event", "-i", path], capture_output=True, text=True, check=True).stdout
    assert len(theirs.splitlines()) == len(lines)


def test_max_size(perf, oracle, live_system, tmp_path):
    """Of the data: what a file says of the machine depends on the neighbours, as they may have programs in the kernel."""
    path = tmp_path / "perf.data"
    done = perf("record", "-a", "-g", "-F", "10000", "-m", "64K", "--max-size", "1M", "-o", path, timeout=300)
    assert done.returncode == 0 and "size limit reached" in done.stderr
    data_offset, data_size = struct.unpack_from("<QQ", path.read_bytes(), 40)
    assert 1 << 20 <= data_offset + data_size < 2 << 20 and samples(oracle, path)


def test_losses_are_counted(perf, oracle, live, tracefs, tmp_path):
    """Rings of one page cannot hold what dd does: all that was lost is said, noted for readers, and adds up."""
    path, count = tmp_path / "perf.data", 40000
    done = perf("record", "-m", "1", "-e", "raw_syscalls:sys_enter", "-o", path, "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={count}")
    assert done.returncode == 0
    read = len(samples(oracle, path))
    lost = re.search(r"raw_syscalls:sys_enter ([\d,]+)", done.stderr) or re.search(r"([\d,]+) (?:samples|records) were lost", done.stderr)
    assert lost, done.stderr
    assert 2 * count < read + int(lost.group(1).replace(",", "")) < 2 * count + 1000
    assert "-m" in done.stderr
    assert "lost" in perf("report", "--stdio", "-i", path).stderr


def test_filter_and_exclude_perf(perf, oracle, live_system, tracefs, tmp_path):
    path = tmp_path / "perf.data"
    done = perf("record", "-q", "-a", "-e", "raw_syscalls:sys_enter", "--filter", "id == 39", "--exclude-perf", "-o", path, "--",
                "sh", "-c", "ls > /dev/null")
    assert done.returncode == 0, done.stderr
    assert {line[0] for line in samples(oracle, path, "trace") if line[0] != "NR"} == set()
    assert "NR 1 " not in oracle("script", "-i", path).stdout


def test_timestamp_filename_and_old_file(perf, live, tmp_path):
    for _ in range(2):
        assert perf("record", "-q", "-o", tmp_path / "out", "true").returncode == 0
    assert (tmp_path / "out.old").exists()
    assert perf("record", "-q", "--timestamp-filename", "-o", tmp_path / "stamped", "true").returncode == 0
    assert [path for path in tmp_path.iterdir() if re.fullmatch(r"stamped\.\d{16}", path.name)]


def test_dry_run(perf, tmp_path):
    assert perf("record", "--dry-run", "-o", tmp_path / "out", "-e", "cpu-clock", "true").returncode == 0
    assert perf("record", "--dry-run", "-e", "nosuch", "true").returncode == 129
    for words in (["--no-aux-sample"], ["--aux-sample=8", "--no-aux-sample"], ["-S", "--no-snapshot"]):
        assert perf("record", "--dry-run", *words, "-e", "cpu-clock", "true").returncode == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("events", ["cpu-clock", "sched:*"])
def test_nobody_waits(perf, live, tracefs, tmp_path, events):
    """The prompt is back at once, also after tracepoints, which the kernel closes slowly."""
    prompt.check(tmp_path, perf, ["record", "-q", "-e", events, "-o", tmp_path / "perf.data", "true"], ":" in events)


def test_signals_end_it_while_files_are_cached(perf, live, tmp_path, monkeypatch):
    """Copying files into the cache may take long: SIGINT isn't blocked any more by then, as strace shows."""
    strace = shutil.which("strace")
    if not strace:
        pytest.skip("strace is not installed")
    cache, log = tmp_path / "cache", tmp_path / "log"
    monkeypatch.setenv("PERF_BUILDID_DIR", str(cache))
    subprocess.run([strace, "-s", "500", "-o", log, perf, "record", "-q", "-e", "cpu-clock:u", "--buildid-all", "-o", tmp_path / "perf.data", "true"], check=True)
    lines = log.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if str(cache) in line and not line.startswith("exec"))
    masks = [line for line in lines[:first] if line.startswith("rt_sigprocmask(SIG_") and not re.match(r"rt_sigprocmask\(SIG_\w+, NULL", line)]
    assert any(re.match(r"rt_sigprocmask\(SIG_BLOCK, \[[^]]*\bINT\b", line) for line in masks)
    assert re.match(r"rt_sigprocmask\(SIG_(SETMASK, (?!\[[^]]*\bINT\b)|UNBLOCK, \[[^]]*\bINT\b)", masks[-1]), masks


def test_build_ids(perf, oracle, live, tmp_path, monkeypatch):
    monkeypatch.setenv("PERF_BUILDID_DIR", str(tmp_path / "cache"))
    ids = {}
    for options in ([], ["--buildid-all"], ["-B"], ["--buildid-mmap"]):
        path = tmp_path / "perf.data"
        assert perf("record", "-q", *options, "-N", "-e", "page-faults", "-c", "1", "-o", path, "--", "ls", "-l", "/").returncode == 0
        ids[" ".join(options)] = oracle("buildid-list", "-i", path).stdout.splitlines()
    named = [line for line in ids[""] if line.endswith("libc.so.6")]
    assert named and set(named) <= set(ids["--buildid-all"]) and len(ids["--buildid-all"]) >= len(ids[""])
    assert not [line for line in ids["-B"] if re.match("[0-9a-f]{40} ", line)]
    assert not (tmp_path / "cache").exists()
    assert perf("record", "-q", "-e", "page-faults", "-c", "1", "-o", path, "--", "ls", "-l", "/").returncode == 0
    build_id = named[0].split()[0]
    wanted = tmp_path / "cache/.build-id" / build_id[:2] / build_id[2:] / "elf"
    started.until(wanted.exists, "the copy is there")
    assert wanted.read_bytes()[:4] == b"\x7fELF"


def test_cache_is_whole(perf, live, tmp_path, monkeypatch):
    """When record returns, the cache has every file that it knows by build-id; nothing fills it behind its back."""
    monkeypatch.setenv("PERF_BUILDID_DIR", str(tmp_path / "cache"))
    assert perf("record", "-q", "-e", "page-faults", "-c", "1", "-o", tmp_path / "out", "ls", "/").returncode == 0
    listed = [line.split() for line in perf("buildid-list", "-i", tmp_path / "out").stdout.splitlines()]
    files = [(build_id, name) for build_id, name in listed if name.startswith("/") and os.path.exists(name)]
    assert files
    assert all((tmp_path / "cache/.build-id" / build_id[:2] / build_id[2:] / "elf").exists() for build_id, _ in files)


def test_option_names_the_cache(perf, live, tmp_path, monkeypatch):
    """--buildid-dir wins over the environment, for what record keeps and for what looks there."""
    monkeypatch.setenv("PERF_BUILDID_DIR", str(tmp_path / "environment"))
    words = ["--buildid-dir", tmp_path / "option"]
    assert perf(*words, "record", "-q", "-e", "page-faults", "-c", "1", "-o", tmp_path / "out", "ls", "/").returncode == 0
    assert not (tmp_path / "environment").exists()
    assert perf(*words, "buildid-cache", "--list").stdout and not perf("buildid-cache", "--list").stdout


def test_times_without_build_ids(perf, oracle, live, tmp_path):
    path = tmp_path / "out"
    assert perf("record", "-q", "-B", "-e", "page-faults", "-c", "1", "-o", path, "ls", "/").returncode == 0
    header = oracle("report", "--header-only", "-i", path).stdout
    times = [line.strip().rstrip(":") for line in oracle("script", "-F", "time", "-i", path).stdout.splitlines() if line.strip()]
    assert re.findall(r"# time of \w+ sample : (\S+)", header) == [times[0], times[-1]]


def test_members_with_a_period(perf, oracle, live, tmp_path):
    """What a member of {…}:S says of its own rate holds."""
    for events in ("{cpu-clock/freq=99/,page-faults/period=1/}:S", "{cpu-clock,page-faults/freq=50/,context-switches}:S"):
        ours, theirs = (attributes(program, oracle, f"-e {events} true", tmp_path / name) for program, name in ((perf, "ours"), (oracle, "theirs")))
        assert ours == theirs and ours[1]


def test_highest_compression(perf, oracle, live, tmp_path):
    done = perf("record", "-z30", "-e", "cpu-clock", "-o", tmp_path / "out", "true")
    assert done.returncode == 0 and "22" in done.stderr
    assert "level = 22" in oracle("report", "--header-only", "-i", tmp_path / "out").stdout


def test_no_samples(perf, live, tmp_path):
    words = ["record", "-e", "page-faults", "-c", "100000000", "-o", tmp_path / "out"]
    assert "No samples were recorded" in perf(*words, "true").stderr
    assert "No samples" not in perf(*words, "-n", "true").stderr and "No samples" not in perf(*words, "-q", "true").stderr
    assert "No samples" not in perf(*words, "-c", "1", "true").stderr
    assert "page-faults did not occur often enough. Measure longer" in perf(*words, "-a", "true").stderr # nothing is said of the event for the side-band


def test_no_samples_of_events_that_did_not_occur(perf, live, tracefs, tmp_path):
    """More samples of them are not to be had."""
    for events, said in (("syscalls:sys_enter_vhangup", "syscalls:sys_enter_vhangup did not occur while it ran."),
                         ("syscalls:sys_enter_vhangup,syscalls:sys_enter_swapoff", "the events, such as syscalls:sys_enter_vhangup, did not occur while it ran.")):
        done = perf("record", "-g", "-e", events, "-o", tmp_path / "out", "--", "true")
        assert f"No samples were recorded: {said}\n" in done.stderr and "Unwound" not in done.stderr, done.stderr


def test_wrong_commands(perf, live, tmp_path):
    """A mistake in the place of the command is named, and costs no recording."""
    (tmp_path / "perf.data").write_text("the older one")
    for words, said in ((["/etc"], "Is a directory"), ([str(os.getpid())], f"did you mean -p {os.getpid()}?"),
                        (["-g", "dwarf", "true"], "did you mean --call-graph dwarf?"), (["-g", "fp", "true"], "did you mean --call-graph fp?")):
        done = perf("record", *words, cwd=tmp_path)
        assert done.returncode and said in done.stderr and len(done.stderr.splitlines()) == 1
        assert [path.name for path in tmp_path.iterdir()] == ["perf.data"] and (tmp_path / "perf.data").read_text() == "the older one"
    assert "Is a directory" in perf("stat", "/etc").stderr and "did you mean -p 1?" in perf("stat", "1").stderr


def test_far_too_frequent(perf, live, tmp_path):
    """A rate beyond all reason is no reason to raise the kernel's limit."""
    limit = highest_rate()
    done = perf("record", "--strict-freq", "-F", "99999999", "-o", tmp_path / "out", "true")
    assert done.returncode and "limit" in done.stderr and "sysctl" not in done.stderr
    if limit < 100000:
        assert f"max_sample_rate={limit + 1}" in perf("record", "--strict-freq", "-F", limit + 1, "-o", tmp_path / "out", "true").stderr


@pytest.mark.parametrize("typed, meant", [("syscall:sys_enter_openat", "syscalls:sys_enter_openat"), ("syscall:sys_enter_*", "syscalls:sys_enter_*"),
                                          ("shed:sched_switch", "sched:sched_switch")])
def test_systems_that_have_the_event(perf, tracefs, typed, meant):
    if not (tracefs / "events" / meant.split(":")[0]).exists():
        pytest.skip("this kernel has no such tracepoints")
    for command in ("record", "stat"):
        done = perf(command, "-e", typed, "true")
        assert done.returncode == 129 and f"did you mean '{meant}'?" in done.stderr
        assert sum("perf " in line for line in done.stderr.splitlines()[1:]) == 1  # one line says how to use it


def test_mistyped_options(perf):
    for typed, meant in (("--frequnecy", "--freq"), ("--frequency-max", "--freq"), ("--evnet", "--event"), ("--call-grpah", "--call-graph")):
        assert f"did you mean {meant}?" in perf("record", typed, "99", "true").stderr


def test_names_from_other_cpus(perf, oracle, live_system, tmp_path):
    """-C samples these CPUs, and hears of programs that start on others: they may come over later."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("there is only one CPU")
    measured, other, path = cpus[0], cpus[-1], tmp_path / "out"
    assert perf("record", "-q", "-e", "context-switches", "-c", "1", "-C", measured, "-o", path, "--", "taskset", "--cpu-list", other, "true").returncode == 0
    for program in (perf, oracle):
        maps = program("script", "--show-mmap-events", "-C", other, "-i", path).stdout
        assert re.search(r"^ *true .*PERF_RECORD_MMAP2 .*libc\.so\.6$", maps, re.MULTILINE)
        assert set(program("script", "-F", "cpu", "-i", path).stdout.split()) <= {f"[{measured:03}]"}
    assert f"CPU_MAP: {measured}" in oracle("report", "-D", "-i", path).stdout
    assert perf("record", "-q", "-C", measured, f"--threads={measured}/{measured}", "-o", path, "true").returncode == 0


def test_output_that_is_thrown_away(perf, live):
    """Nothing can be read back from there."""
    done = perf("record", "-o", "/dev/null", "-e", "page-faults:u", "--", "true")
    assert done.returncode == 0 and "Cannot read" not in done.stderr, done.stderr
