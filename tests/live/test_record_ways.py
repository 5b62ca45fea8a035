"""How perf record goes about it: several threads and files, a thread that writes, places on CPUs, ranges of time, groups, events that begin files."""
import collections
import os
import pathlib
import re
import struct
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import alike  # noqa: E402
import own  # noqa: E402
import started  # noqa: E402


@pytest.fixture(name="perf", scope="session")
def perf_fixture(kernel_form):
    """Stacks are compared with those of the kernel's perf."""
    return kernel_form


# The shell computes, too, for as long as many samples are apart: it is all that is recorded with --per-thread.
LOAD = ["sh", "-c", "for i in 1 2 3; do ls -lR /usr/lib/python3 > /dev/null; done; while [ $i -lt 20000 ]; do i=$((i + 1)); done"]
ONLINE = len(os.sched_getaffinity(0))
# Under ThreadSanitizer it is the recorder's threads that are looked at. Readers have tests of their own there, and take most of the time: what was recorded is read
# with the first of each kind of words, and with all of them where nothing watches.
RACES = "TSAN_OPTIONS" in os.environ


def script(program, path):
    done = program("script", "--ns", "-F", "+event,+pid", "-i", path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def own_lines(samples, processes):
    return [line for sample in samples for line in sample if int(re.search(r" (-?\d+)/-?\d+ +[\d\[]", sample[0])[1]) in processes]


def read_alike(perf, oracle, path):
    """Both read the same of the own processes, ours in the order of time; returns the first lines of all samples."""
    own.drop_kernel_code(pathlib.Path(path))
    theirs, _ = alike.in_time(script(oracle, path))
    ours, times = alike.in_time(script(perf, path))
    assert times == sorted(times) and len(theirs) == len(ours)
    processes = own.processes(perf("script", "--show-task-events", "-i", path).stdout)
    compared = own_lines(ours, processes)
    alike.lines(own_lines(theirs, processes), compared, path)
    assert compared
    return [sample[0] for sample in ours]


THREADS = [["--threads"], ["--threads=core"], ["--threads=package"], ["--threads=numa"], [f"--threads=0-{ONLINE - 1}/0"], ["--threads", "-z"],
           ["--threads", "-C", "0"], ["--threads", "--per-thread"], ["--threads", "--tail-synthesize", "--mmap-flush", "4K"]]


@pytest.mark.threads
@pytest.mark.parametrize("words", THREADS, ids=" ".join)
def test_threads(perf, oracle, live_system, tmp_path, words):
    path = tmp_path / "out"
    everything = [] if "--per-thread" in words else ["-a"]
    place = ["taskset", "-c", "0"] if "-C" in words else []
    done = perf("record", "-o", path, *everything, "-e", "cpu-clock", "-F", "5000", *words, "--", *place, *LOAD)
    assert done.returncode == 0, done.stderr
    rings = 1 if "--per-thread" in words else ONLINE  # with -C, the others' have their side-band
    assert sorted(entry.name for entry in path.iterdir()) == ["data", *(f"data.{i}" for i in range(rings))]
    assert path.stat().st_mode & 0o777 == 0o700
    if RACES and words != THREADS[0]:
        return
    lines = read_alike(perf, oracle, path)
    told = re.search(r"\((\d+) samples\)", done.stderr)
    assert told and int(told.group(1)) == len(lines) > 1
    assert "directory data version : 1" in oracle("report", "--header-only", "-i", path).stdout
    if rings > 1:
        assert len({re.search(r"\[\d+\] ", line)[0] for line in lines}) == (1 if "-C" in words else ONLINE), "every CPU is in it"


def times_at(data):
    """Where the times of the samples are, in records of IP, TID, TIME and more."""
    at, found = 0, []
    while at < len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if kind == 9:
            found.append(at + 24)
        at += size
    return found


def every_cpu_works(enough):
    """A shell's command: until the other command succeeds, or for 300 s."""
    busy = " ".join(f"timeout 300 taskset -c {cpu} sh -c 'while :; do :; done' & workers=\"$workers $!\";" for cpu in sorted(os.sched_getaffinity(0)))
    return f"{busy} tries=0; until {enough} || [ $((tries += 1)) -gt 6000 ]; do sleep 0.05; done; kill $workers; wait; true"


def test_samples_of_the_same_nanosecond(perf, oracle, live_system, tmp_path):
    """In the order of the CPUs, in whatever order the directory lists the files."""
    if ONLINE < 2:
        pytest.skip("there is but one CPU")
    path, other = tmp_path / "out", tmp_path / "other"
    assert perf("record", "-q", "--threads", "-o", path, "-a", "-e", "cpu-clock", "-F", "2000", "--", "sh", "-c", every_cpu_works("sleep 0.2")).returncode == 0
    first, second = (bytearray((path / name).read_bytes()) for name in ("data.0", "data.1"))
    pairs = list(zip(times_at(first), times_at(second)))
    for here, there in pairs:
        second[there:there + 8] = first[here:here + 8]
    (path / "data.1").write_bytes(second)
    other.mkdir()
    for name in reversed(sorted(path.iterdir())):
        (other / name.name).write_bytes(name.read_bytes())
    words = ["script", "--ns", "-F", "tid,cpu,time,ip"]
    text = perf(*words, "-i", path).stdout
    assert perf(*words, "-i", other).stdout == text
    cpus = collections.defaultdict(list)
    for cpu, time in re.findall(r"\[(\d+)\] +(\d+\.\d+):", text):
        cpus[time].append(cpu)
    assert sum(len(each) > 1 for each in cpus.values()) >= len(pairs) > 5 and all(each == sorted(each) for each in cpus.values())
    read_alike(perf, oracle, path)


def test_threads_keep_emptying_buffers(perf, live_system, tmp_path):
    """More than fits into them, also when they are full before the threads begin to look. Every CPU works: the kernel pauses sampling, which it goes on with at
    the next tick, and idle CPUs have none."""
    enough = " && ".join(f"[ $(stat -c %s {tmp_path}/out/data.{i}) -gt {4 * 65536} ]" for i in range(ONLINE))
    done = perf("record", "-q", "-a", "-g", "-e", "cpu-clock", "-c", "50000", "-m", "64K", "--threads", "-o", tmp_path / "out", "--", "sh", "-c",
                every_cpu_works(enough))
    assert done.returncode == 0
    assert all((tmp_path / "out" / f"data.{i}").stat().st_size > 4 * 65536 for i in range(ONLINE))


def test_threads_that_leave_a_buffer_unread(perf, live_system, tmp_path):
    if ONLINE < 2:
        pytest.skip("there is but one CPU")
    done = perf("record", "-a", "--threads=0/0", "-o", tmp_path / "out", "true")
    assert done.returncode == 129 and "CPU 1" in done.stderr and not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [["--threads=nonsense"], ["--threads=0"], ["--threads=0/0:0/0"], ["--threads", "-o", "-"], ["--threads", "--aio"],
                                   ["--threads", "--switch-output"], ["--threads", "--overwrite"], ["--aio=5"], ["--aio=x"], ["--affinity", "x"],
                                   ["-D", "20-10"], ["-D", "10-20,15-30"], ["-D", "10-20,"], ["-D", "x"], ["-m", "4,4"]], ids=" ".join)
def test_wrong_usage(perf, tmp_path, words):
    done = perf("record", *words, "true", cwd=tmp_path)
    assert done.returncode == 129 and "Usage: perf record" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["--clang-path=x"]], ids=" ".join)
def test_what_cannot_be_had_says_what_to_use(perf, tmp_path, words):
    done = perf("record", *words, "true", cwd=tmp_path)
    assert done.returncode == 255 and re.search(r"; (use|set) ", done.stderr) and not list(tmp_path.iterdir())


def test_directories_and_files_become_old(perf, live, tmp_path):
    """Whatever the last recording was, and the one before it."""
    path, old = tmp_path / "out", tmp_path / "out.old"
    ways = [["--threads"], [], ["--threads"], ["--threads"], [], []]
    last = None
    for words in ways:
        done = perf("record", "-q", "-e", "cpu-clock", *words, "-o", path, "true")
        assert done.returncode == 0, done.stderr
        assert path.is_dir() == bool(words)
        assert last is None or old.is_dir() == last
        last = path.is_dir()
    assert {entry.name for entry in tmp_path.iterdir()} == {"out", "out.old"}


def test_other_directories_are_left_alone(perf, live, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter").touch()
    for words in ([], ["--threads"]):
        done = perf("record", *words, "-e", "cpu-clock", "-o", tmp_path / "out", "true")
        assert done.returncode == 255 and str(tmp_path / "out") in done.stderr
    assert perf("record", "-q", "--threads", "-o", tmp_path / "a", "true").returncode == 0
    (tmp_path / "a.old").mkdir()
    (tmp_path / "a.old" / "letter").touch()
    assert perf("record", "--threads", "-o", tmp_path / "a", "true").returncode == 255
    assert (tmp_path / "out" / "letter").exists() and (tmp_path / "a.old" / "letter").exists() and (tmp_path / "a" / "data").exists()


def test_directories_of_others_are_not_replaced(perf, live, root, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "data").touch()
    os.chown(folder, 65534, 65534)
    for words in ([], ["--threads"]):
        done = perf("record", *words, "-o", folder, "true")
        assert done.returncode == 255 and (folder / "data").exists()


@pytest.mark.parametrize("words", [[], ["--aio"], ["--call-graph", "dwarf,auto"]], ids=" ".join)
def test_rounds_are_longer_than_records_are_late(perf, oracle, live, tmp_path, words):
    """However often buffers are emptied: a record that comes milliseconds late isn't taken for older than what was shown."""
    path = tmp_path / "out"
    begin = time.monotonic()
    done = perf("record", "-e", "page-faults", "-c", "1", "-m", "1", *words, "-o", path, "--", "sh", "-c", "for i in $(seq 200); do (:); done")
    seconds = time.monotonic() - begin
    assert done.returncode == 0, done.stderr
    marks = re.findall(r"PERF_RECORD_FINISHED_ROUND", oracle("script", "--show-round-events", "-i", path).stdout)
    assert 1 <= len(marks) <= seconds / 0.09 + 1


def test_threads_of_a_full_disk(perf, oracle, live_system, root, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", disk], check=False).returncode:
        pytest.skip("mounting a small tmpfs is refused here")
    try:
        for words in (["--threads"], ["--aio"]):  # without the neighbours, whose maps alone may fill the disk; with --threads every CPU has a file all the same
            path = disk / "out"
            done = perf("record", "-g", "-F", "20000", "-m", "64K", *words, "-o", path, "--", "sh", "-c", "while :; do ls -lR /usr/share; done")
            assert done.returncode == 255 and "the disk is full" in done.stderr, done.stderr
            assert len(read_alike(perf, oracle, path)) > 100
            subprocess.run(["rm", "-r", path], check=True)
    finally:
        subprocess.run(["umount", disk], check=True)


WRITING = [["--aio"], ["--aio=4", "-m", "16", "-F", "10000"], ["--aio=2", "-z"], ["--aio", "--overwrite"]]


@pytest.mark.threads
@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_writing_thread(perf, oracle, live_system, tmp_path, words):
    """Of the whole machine, but where buffers are overwritten: these may not tell any more which of the processes are the own ones."""
    path = tmp_path / "out"
    everything = [] if "--overwrite" in words else ["-a"]
    done = perf("record", *everything, "-e", "cpu-clock", "-o", path, *words, "--", *LOAD)
    assert done.returncode == 0, done.stderr
    if RACES and words != WRITING[0]:
        return
    lines = read_alike(perf, oracle, path)
    assert int(re.search(r"\((\d+) samples\)", done.stderr).group(1)) == len(lines) > 10


def test_writing_thread_and_limits(perf, oracle, live_system, tmp_path):
    done = perf("record", "-a", "-g", "-F", "10000", "-m", "64K", "--aio", "--max-size", "1M", "-o", tmp_path / "out", timeout=300)
    assert done.returncode == 0 and "size limit reached" in done.stderr
    assert 1 << 20 <= (tmp_path / "out").stat().st_size < 3 << 20 and read_alike(perf, oracle, tmp_path / "out")


def test_place_of_the_recorder(perf, live_system, tmp_path):
    """It moves to the CPU whose buffer it reads."""
    cpus = sorted(os.sched_getaffinity(0))
    with subprocess.Popen([perf, "record", "-q", "-a", "--affinity", "cpu", "--no-buffering", "-e", "cpu-clock", "-o", tmp_path / "out"]) as running:
        for cpu in cpus:
            started.until(lambda cpu=cpu: os.sched_getaffinity(running.pid) == {cpu}, f"it is on CPU {cpu}")
        running.terminate()
        running.wait()
    assert perf("record", "-q", "-a", "--affinity=node", "-o", tmp_path / "node", "true").returncode == 0


def test_ranges_of_time(perf, oracle, live, tmp_path):
    """A program that starts others until the second range is over has page faults in both, and none between the moment at which the end of the first one was read
    and that at which the second one begins, which is at the earliest so long after the start of all."""
    path, end, said, heard = tmp_path / "out", tmp_path / "end", [], []
    begun = time.monotonic()
    with subprocess.Popen([perf, "record", "-k", "mono", "-e", "page-faults:u", "-c", "10", "-D", "200-800,1600-2200", "-o", path, "--", "timeout", "300", "sh", "-c",
                           f"until [ -e {end} ]; do sleep 0.01; done"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recorder:
        for line in recorder.stderr:
            said.append(line)
            heard += [time.monotonic()] if "Events disabled" in line else []
            if len(heard) == 3:
                end.touch()
    assert recorder.returncode == 0 and sum("Events enabled" in line for line in said) == 2 and len(heard) == 3, said
    times = [float(word.rstrip(":")) for word in oracle("script", "--ns", "-F", "time", "-i", path).stdout.split()]
    assert any(when < heard[1] for when in times) and any(when > heard[1] for when in times)
    assert not any(heard[1] < when < begun + 1.6 for when in times) and all(begun + 0.2 < when < heard[2] for when in times)


def test_group(perf, oracle, live, tmp_path):
    names = []
    for program in (perf, oracle):
        path = tmp_path / "out"
        path.unlink(missing_ok=True)
        assert program("record", "-q", "--group", "-e", "cpu-clock,page-faults", "-o", path, "true").returncode == 0
        names.append(oracle("evlist", "-g", "-i", path).stdout)
    assert names[0] == names[1] and "{" in names[0]


def test_event_that_begins_a_file(perf, oracle, live_system, tracefs, tmp_path):
    for place in (["-a"], []):
        for entry in tmp_path.iterdir():
            subprocess.run(["rm", "-r", entry], check=True)
        # Events while a file is begun begin no other: once it is there, perf waits for more. Names of files tell hundredths of a second.
        waits = "|".join(map(str, started.WAITING[os.uname().machine]))
        until = (f"until [ $(ls {tmp_path} | grep -c '^out[.]') -ge %d ]; do sleep 0.02; done; "
                 f"until grep -qE '^({waits}) ' /proc/$PPID/syscall; do sleep 0.02; done; sleep 0.02")
        command = f"mkdir {tmp_path}/1; {until % 1}; mkdir {tmp_path}/2; {until % 2}"
        done = perf("record", *place, "-e", "cpu-clock", "--switch-output-event", "syscalls:sys_enter_mkdir", "-o", tmp_path / "out", "--", "sh", "-c", command)
        files = sorted(tmp_path.glob("out.*"))
        assert done.returncode == 0 and (len(files) == 3 or (place and len(files) > 3)), done.stderr
        assert all("sys_enter_mkdir" not in oracle("evlist", "-i", path).stdout for path in files)
    assert perf("record", "--switch-output-event", "no:such", "-o", tmp_path / "out", "true").returncode == 129
