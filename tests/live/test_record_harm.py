"""perf record when things go wrong: killed, full disks, closed pipes, other people's files, refusals."""
import ctypes
import os
import platform
import random
import resource
import signal
import struct
import subprocess
import time

import pytest
import started

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
@pytest.fixture(name="perf", scope="session")
def perf_fixture(kernel_form):
    """Stacks are compared with those of the kernel's perf."""
    return kernel_form


# The kernel's perf 6.1 refuses cut recordings that have a KSYMBOL record ("failed to process type: 17"): tests that load BPF programs must not run beside.
alone = pytest.mark.alone


LOADS = [["-a", "-g", "-F", "10000"], ["-a", "-z", "-F", "10000"], ["-a", "-m", "4", "-F", "20000"], ["-a", "-e", "raw_syscalls:*"],
         ["-a", "-z", "-m", "16", "-e", "sched:*"]]


@alone
@pytest.mark.parametrize("options", LOADS, ids=" ".join)
def test_killed(perf, oracle, live_system, tracefs, tmp_path, options):
    """What was flushed before a SIGKILL is whole, for us and for the kernel's perf, formats of tracepoints and compression too."""
    path = tmp_path / "perf.data"
    with subprocess.Popen(["sh", "-c", "while :; do ls -lR /usr/lib; done"], stdout=subprocess.DEVNULL, start_new_session=True) as load:
        with subprocess.Popen([perf, "record", "-q", *options, "-o", path], stderr=subprocess.DEVNULL) as running:
            started.until(lambda: path.exists() and path.stat().st_size, "the recording has begun")
            begun = path.stat().st_size
            started.until(lambda: path.stat().st_size > begun, "something was flushed")
            time.sleep(random.uniform(0, 1.2))
            running.kill()
        os.killpg(load.pid, signal.SIGKILL)
    theirs = oracle("script", "-F", "-symoff,-sym,-dso", "-i", path)
    ours = perf("script", "-F", "-symoff,-sym,-dso", "-i", path)
    assert theirs.returncode == 0 and ours.returncode == 0, theirs.stderr + ours.stderr
    # Killed between writing and noting the new size in the header: we read what is there, the kernel's perf what the header says.
    assert ours.stdout.startswith(theirs.stdout)
    size = oracle("report", "--header-only", "-i", path).stdout
    assert "data size" in size


@pytest.fixture
def small_disk(root, tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", folder], check=False).returncode:
        pytest.skip("mounting a small tmpfs is refused here")
    yield folder
    subprocess.run(["umount", folder], check=True)


@alone
@pytest.mark.parametrize("options", [["-g"], ["-e", "raw_syscalls:sys_enter"], ["-z", "-g"]], ids=" ".join)
def test_full_disk(perf, oracle, live, tracefs, small_disk, options):
    """The maps of the whole machine's processes alone might fill it."""
    path = small_disk / "perf.data"
    done = perf("record", "-F", "20000", *options, "-o", path, "--", "sh", "-c", "while :; do ls -lR /usr/share; done")
    assert done.returncode == 255 and "the disk is full" in done.stderr
    theirs = oracle("script", "-F", "-symoff,-sym,-dso", "-i", path)
    assert theirs.returncode == 0 and theirs.stdout.count("\n") > 100
    assert perf("script", "-F", "-symoff,-sym,-dso", "-i", path).stdout == theirs.stdout


@alone
def test_file_size_limit(perf, oracle, live_system, tmp_path):
    path = tmp_path / "perf.data"

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300 << 10, 300 << 10))
    done = perf("record", "-F", "20000", "-a", "-g", "-o", path, "--", "sh", "-c", "while :; do ls -lR /usr/share; done", preexec_fn=limit)
    assert done.returncode == 255 and "file size limit" in done.stderr
    assert oracle("script", "-i", path).stdout.count("\n") > 100


def test_reader_of_the_pipe_goes_away(perf, live_system):
    done = subprocess.run(f"{perf} record -F 20000 -a -g -o - -- sh -c 'while :; do ls -lR /usr/share; done >/dev/null' | head -c 1000 > /dev/null; echo ${{PIPESTATUS[0]}}",
                          shell=True, executable="/bin/bash", capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.strip() == "255" and "has ended" in done.stderr


def test_not_through_links_nor_into_foreign_files(perf, live, root, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    done = perf("record", "-o", tmp_path / "link", "true")
    assert done.returncode == 255 and "symbolic link" in done.stderr and not (tmp_path / "target").exists()
    foreign = tmp_path / "foreign"
    foreign.touch()
    os.chown(foreign, 65534, 65534)
    done = perf("record", "-o", foreign, "true")
    assert done.returncode == 255 and "65534" in done.stderr and foreign.stat().st_size == 0


REFUSALS = [
    (["-p", "999999999", "true"], 255, "no such process 999999999"),
    (["-p", "abc", "true"], 129, "expected a process number"),
    (["-t", "999999999", "true"], 255, "no such thread 999999999"),
    (["-u", "no-such-user", "true"], 255, "unknown user"),
    (["-C", "99999", "true"], 255, "not online"),
    (["-C", "x", "true"], 129, "list of CPUs"),
    (["-o", "/nonexistent/x", "true"], 255, "No such file"),
    (["-F", "0", "true"], 129, "nothing would be sampled"),
    (["-F", "10", "-c", "10", "true"], 129, "cannot be combined"),
    (["--filter", "x == 1", "true"], 129, "--filter"),
    (["-e", "cpu-clock", "--filter", "x == 1", "true"], 129, "--filter"),
    (["-G", "/", "true"], 129, "-G"),
    (["-e", "cpu-clock", "-G", "/", "true"], 129, "-a or -C"),
    (["-e", "cpu-clock", "-a", "-G", "no-such-group", "true"], 255, "no-such-group"),
    (["-e", "cpu-clock/nr=3/", "true"], 255, "--max-size"),
    (["-e", "cpu-clock/percore/", "true"], 255, "percore"),
    (["--dry-run", "-e", "cpu-clock:b", "true"], 255, "modifier b"),
    (["-e", "duration_time", "true"], 255, "perf stat"),
    (["-e", "cpu-clock/aux-output/", "true"], 129, "AUX"),
    (["-e", "cpu-clock/aux-sample-size=4096/", "true"], 129, "aux-sample-size="),
    (["-k", "sundial", "true"], 129, "sundial"),
    (["--call-graph", "psychic", "true"], 129, "psychic"),
    (["--call-graph", "dwarf,70000", "true"], 129, "65528"),
    (["-j", "oak", "true"], 129, "oak"),
    (["--user-regs=foo", "true"], 129, "foo"),
    (["-D", "-5", "true"], 129, "delay"),
    (["-m", "many", "true"], 129, "many"),
    (["--switch-output=never", "true"], 129, "never"),
    (["--control", "smoke:signals", "true"], 255, "fd:IN"),
]


@pytest.mark.parametrize("words,status,text", REFUSALS, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_refused_options(perf, live_system, tmp_path, words, status, text):
    done = perf("record", *words, cwd=tmp_path)
    assert (done.returncode, text in done.stderr) == (status, True) or (text in done.stderr and status == 255 and done.returncode == 129), done.stderr


def test_counted_only(perf, live, tmp_path):
    if not os.path.isdir("/sys/bus/event_source/devices/msr"):
        pytest.skip("this machine has no PMU 'msr'")
    done = perf("record", "-e", "msr/tsc/", "true", cwd=tmp_path)
    assert done.returncode == 255 and "perf stat -e msr/tsc/" in done.stderr


def test_unsupported_here(perf, live, tmp_path):
    with open("/proc/cpuinfo", encoding="utf8") as info:
        if os.path.isdir("/sys/bus/event_source/devices/cpu") or not info:
            pytest.skip("this machine has a hardware PMU")
    done = perf("record", "-e", "instructions", "true", cwd=tmp_path)
    assert done.returncode == 255 and "no hardware counter" in done.stderr and "cpu-clock" in done.stderr
    done = perf("record", "-b", "true", cwd=tmp_path)
    assert done.returncode == 255 and "branch" in done.stderr and "--call-graph dwarf" in done.stderr


def as_nobody(perf, *words, folder):
    return subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", perf, *words], cwd=folder, capture_output=True,
                          text=True, check=False)


def test_what_each_paranoid_level_allows(perf, paranoid, tmp_path):
    try:
        os.chown(tmp_path, 65534, 65534)
        for folder in tmp_path.parents[:-2]:
            os.chmod(folder, os.stat(folder).st_mode | 0o111)
    except OSError:
        pytest.skip("the test's folder cannot be opened to another user")
    if as_nobody(perf, "--version", folder=tmp_path).returncode:
        pytest.skip("the program cannot be run by another user from where it is")
    paranoid(2)
    done = as_nobody(perf, "record", "true", folder=tmp_path)
    assert done.returncode == 0 and "only user space is sampled" in done.stderr
    branches = as_nobody(perf, "record", "-b", "true", folder=tmp_path)
    assert "belongs to another user" not in branches.stderr
    done = as_nobody(perf, "record", "-a", "true", folder=tmp_path)
    assert done.returncode == 255
    for text in ("perf record: cycles:u: not allowed", "perf_event_paranoid is 2", "sysctl kernel.perf_event_paranoid=0", "CAP_PERFMON", "setcap"):
        assert text in done.stderr
    done = as_nobody(perf, "record", "-e", "cycles:k", "true", folder=tmp_path)
    assert done.returncode == 255 and "sysctl kernel.perf_event_paranoid=1" in done.stderr
    done = as_nobody(perf, "record", "-p", "1", "true", folder=tmp_path)
    assert done.returncode == 255 and "another user" in done.stderr
    done = as_nobody(perf, "record", "-o", "/usr/perf.data", "true", folder=tmp_path)
    assert done.returncode == 255 and done.stderr.startswith("perf record: cannot create /usr/perf.data: Permission denied")
    assert "-o /tmp/perf.data" in done.stderr or os.path.exists("/tmp/perf.data")
    paranoid(1)
    assert "hidden" not in as_nobody(perf, "record", "true", folder=tmp_path).stderr
    paranoid(0)
    assert as_nobody(perf, "record", "-a", "true", folder=tmp_path).returncode == 0


def test_limit_of_open_files_is_raised(perf, live_system, tracefs, tmp_path):
    """Hundreds of descriptors under a soft limit of 64; the command itself keeps its limit."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    done = perf("record", "-q", "-a", "-e", "block:*,sched:*,irq:*,timer:*,signal:*", "-o", tmp_path / "perf.data", "--", "sh", "-c", "ulimit -n",
                preexec_fn=limit)
    assert (done.returncode, done.stdout) == (0, "64\n"), done.stderr


def block_perf_event_open():
    """A seccomp filter as containers have it: perf_event_open() fails with EPERM."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = PERF_EVENT_OPEN[platform.machine()]
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x00050000 | 1), (6, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    program = struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(code))
    libc.prctl(38, 1, 0, 0, 0)
    libc.prctl(22, 2, program, 0, 0)


def test_container(perf, live, root, tmp_path):
    if platform.machine() not in PERF_EVENT_OPEN:
        pytest.skip("the number of perf_event_open() is not known for this machine")
    done = perf("record", "true", cwd=tmp_path, preexec_fn=block_perf_event_open)
    assert done.returncode == 255 and "seccomp" in done.stderr and "--cap-add PERFMON" in done.stderr
