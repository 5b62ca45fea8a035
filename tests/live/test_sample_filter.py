"""perf record --filter on events that are no tracepoints: a BPF program keeps some samples and drops the others."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

KERNEL = 1 << 63
WORK = ["sh", "-c", "for i in 1 2 3; do ls -lR /usr/lib/python3 >/dev/null; done"]


@pytest.fixture(name="filters")
def filters_fixture(bpf, perf, live, tmp_path):
    """The kernel gives such programs what a sample holds."""
    done = perf("record", "-q", "-e", "page-faults", "--filter", "ip > 0", "-o", tmp_path / "try", "true")
    if "requires Linux 6.2" in done.stderr:
        pytest.skip("this kernel is older than 6.2")
    assert done.returncode == 0, done.stderr


def record(perf, path, *words, command=WORK):
    done = perf("record", "-o", path, *words, "--", *command)
    assert done.returncode == 0, done.stderr
    return done.stderr


def samples(oracle, path, fields):
    """What the kernel's perf reads, a list of words for each sample."""
    return [line.split() for line in oracle("script", "-i", path, "-G", "-F", fields).stdout.splitlines() if line.strip()]


def is_left_out(told):
    return int(re.search(r"--filter dropped (\d+) sample", told)[1])


@pytest.mark.sanitize
def test_addresses(perf, oracle, filters, tmp_path):
    """Each page fault is kept by one of two recordings' filters: by where it was."""
    path = tmp_path / "out"
    told = record(perf, path, "-v", "-e", "page-faults", "-c", "1", "-d", "--filter", f"ip < {KERNEL:#x}")
    kept = [int(ip, 16) for (ip,) in samples(oracle, path, "ip")]
    assert kept and max(kept) < KERNEL and is_left_out(told) > 0
    told = record(perf, path, "-v", "-e", "page-faults", "-c", "1", "-d", "--filter", f"ip>={KERNEL:#x}")
    kept = [int(ip, 16) for (ip,) in samples(oracle, path, "ip")]
    assert kept and min(kept) >= KERNEL and is_left_out(told) > 0


@pytest.mark.parametrize("text, is_right", [
    ("addr & 0x1000", lambda tid, ip, addr: addr & 0x1000),
    (f"addr & 0x1000, ip < {KERNEL}", lambda tid, ip, addr: addr & 0x1000 and ip < KERNEL),
    (f"addr & 0x1000 || addr & 0x2000, ip < {KERNEL}", lambda tid, ip, addr: addr & 0x3000 and ip < KERNEL),
    (f"ip >= {KERNEL} || addr & 0x1000", lambda tid, ip, addr: ip >= KERNEL or addr & 0x1000),
    ("addr & 0x1000, addr & 0x2000, addr & 0x4000", lambda tid, ip, addr: addr & 0x7000 == 0x7000),
])
def test_conditions(perf, oracle, filters, tmp_path, text, is_right):
    """Beside an event of the same faults that keeps everything. (Two counters of page-faults would get each other's ids from the kernel.)"""
    path = tmp_path / "out"
    record(perf, path, "-m", "4M", "-e", "minor-faults/name=all/", "-e", "page-faults/name=some/", "--filter", text, "-c", "1", "-d")
    found = {"all:": collections.Counter(), "some:": collections.Counter()}
    for tid, event, addr, ip in samples(oracle, path, "tid,event,ip,addr"):
        found[event][int(tid), int(ip, 16), int(addr, 16)] += 1
    assert found["some:"] and all(is_right(*sample) for sample in found["some:"])
    right = collections.Counter({sample: count for sample, count in found["all:"].items() if is_right(*sample)})
    assert not right - found["some:"] and len(right) < len(found["all:"])


def test_whose(perf, oracle, filters, tmp_path):
    """By process, thread, CPU and user."""
    path, words = tmp_path / "out", ["-e", "page-faults", "-c", "1"]
    with subprocess.Popen(["sleep", "1000"]) as other:
        told = record(perf, path, "-v", *words, "--filter", f"pid == {other.pid} || tid == {other.pid}")
        other.kill()
    assert not samples(oracle, path, "ip") and "--filter dropped all" in told
    for text in (f"pid != {other.pid}", f"uid == {os.geteuid()}", f"gid == {os.getegid()}", "cpu < 4096", "period == 1", "time > 0"):
        assert "--filter dropped" not in record(perf, path, "-v", *words, "--filter", text)
        assert samples(oracle, path, "ip")
    assert "--filter dropped all" in record(perf, path, *words, "--filter", f"uid == {os.geteuid() + 1}")


def test_beside_tracepoints(perf, oracle, filters, tracefs, tmp_path):
    """Tracepoints of the same -e keep their own language; several filters hold together."""
    path = tmp_path / "out"
    record(perf, path, "-e", "page-faults", "--filter", "addr & 0x1000", "--filter", "addr & 0x2000", "-e", "sched:sched_process_exec", "--filter", "pid > 0", "-c",
           "1", "-d")
    lines = samples(oracle, path, "event,addr")
    assert {line[0] for line in lines} == {"page-faults:", "sched:sched_process_exec:"}
    assert all(int(line[1], 16) & 0x3000 == 0x3000 for line in lines if line[0] == "page-faults:")


@pytest.mark.parametrize("text, said", [
    ("perod > 3", "did you mean 'period'?"), ("colour == 3", "the fields are ip, id, tid"), ("ip", "'ip' must be followed by one of"), ("ip = 3", "'ip' must be followed by one of"),
    ("ip == three", "invalid value 'three'"), ("mem_op == loud", "na, load, store"), ("ip == 3 &&", "unexpected '&&'"), ("ip == 3,", "no field ''"),
    (" || ".join(["ip == 3"] * 65), "more than 64"),
])
def test_mistakes(perf, text, said):
    done = perf("record", "--dry-run", "-e", "page-faults", "--filter", text, "true")
    assert done.returncode == 129 and said in done.stderr


@pytest.mark.parametrize("text, option", [("addr == 1", "-d"), ("mem_lvl == l1", "-d"), ("weight > 3", "-W"), ("phys_addr > 3", "--phys-data"), ("txn == 0", "--transaction"),
                                          ("data_pgsz == 4096", "--data-page-size"), ("code_pgsz == 4096", "--code-page-size")])
def test_what_samples_lack(perf, live, tmp_path, text, option):
    done = perf("record", "-e", "page-faults", "--filter", text, "-o", tmp_path / "out", "true")
    assert done.returncode == 129 and f"do not contain '{text.split()[0]}': add {option}" in done.stderr and not (tmp_path / "out").exists()


def test_pinned(perf, oracle, filters, root):
    """In a BPF file system that only this test sees: users without capabilities filter by what root has pinned, each event by its own filter, and not after it was taken away."""
    if int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2:
        pytest.skip("users may not measure here")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = pathlib.Path(name)
        shutil.copy(perf.path, folder / "perf")
        folder.chmod(0o777)
        user = f"cd {folder} && setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all env HOME={folder} ./perf record -v -c 1"
        events = "-e page-faults:u --filter 'ip > 0x1000000000'", "-e minor-faults:u --filter 'ip < 0x1000000000'"
        script = (f"mount -t bpf bpf /sys/fs/bpf || exit 7; {user} {events[0]} -o before true; {folder}/perf record --setup-filter pin && "
                  f"{folder}/perf record --setup-filter pin && {user} {events[0]} {events[1]} -o out ls -R /usr/lib/python3; "
                  f"{folder}/perf record --setup-filter unpin; ls -A /sys/fs/bpf/perf-ng-filter")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False)
        if done.returncode == 7:
            pytest.skip("no BPF file system can be mounted here")
        told = done.stderr
        assert "perf record: --filter on page-faults:u: loading BPF programs requires root" in told and "perf record --setup-filter pin" in told, told
        assert not (folder / "before").exists() and "'/sys/fs/bpf/perf-ng-filter': No such file" in told
        os.chown(folder / "out", 0, 0)
        kept = samples(oracle, folder / "out", "event,ip")
        faults = [int(words[1], 16) for words in kept if words[0].startswith("page-faults")]
        assert len(faults) > 50 and all(ip > 0x1000000000 for ip in faults)
        assert not [words for words in kept if words[0].startswith("minor-faults") and int(words[1], 16) >= 0x1000000000]
        assert is_left_out(told) > 50, told


# What fills the map of the pinned program, as users do whose recorders were killed, or empties it.
FILL = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
def bpf(command, attr):
    return libc.syscall(number, command, ctypes.create_string_buffer(attr, 128), 128)
path = ctypes.create_string_buffer(b"/sys/fs/bpf/perf-ng-filter/filters")
map = bpf(7, struct.pack("<QII", ctypes.addressof(path), 0, 0))
assert map >= 0
key, value = ctypes.create_string_buffer(8), ctypes.create_string_buffer(16 + 64 * 32)
if sys.argv[1] == "fill":
    for i in range(5000):
        key.raw = struct.pack("<Q", i + (1 << 40))
        assert not bpf(2, struct.pack("<IIQQQ", map, 0, ctypes.addressof(key), ctypes.addressof(value), 0)), i
while sys.argv[1] == "empty" and not bpf(4, struct.pack("<IIQQ", map, 0, 0, ctypes.addressof(key))):
    bpf(3, struct.pack("<IIQ", map, 0, ctypes.addressof(key)))
"""


def test_pinned_beside_many(perf, filters, root):
    """Filters of recorders that were killed make room for new ones; whose filter has made room for others is told so."""
    if int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2:
        pytest.skip("users may not measure here")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = pathlib.Path(name)
        shutil.copy(perf.path, folder / "perf")
        (folder / "map.py").write_text(FILL)
        folder.chmod(0o777)
        user = (f"cd {folder} && setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all env HOME={folder} ./perf record -v -c 1 -e page-faults:u "
                "--filter 'ip > 0x1000000000'")
        script = (f"mount -t bpf bpf /sys/fs/bpf || exit 7; {folder}/perf record --setup-filter pin || exit 8; /usr/bin/python3 {folder}/map.py fill || exit 9; "
                  f"({user} -o many true) && ({user} -o gone /usr/bin/python3 map.py empty); status=$?; {folder}/perf record --setup-filter unpin; exit $status")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False)
        if done.returncode == 7:
            pytest.skip("no BPF file system can be mounted here")
        assert done.returncode == 0, done.stderr
        warnings = [line for line in done.stderr.splitlines() if "displaced" in line]
        assert len(warnings) == 1 and "room for the filters of 4096 counters" in warnings[0], done.stderr


def test_pinned_nowhere(perf, root):
    """Without a BPF file system in its place, the sentence says how one gets there."""
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"while umount /sys/fs/bpf; do :; done; {perf.path} record --setup-filter pin"], capture_output=True, text=True, check=False)
    if "loading BPF programs" in done.stderr or "rejected the BPF program" in done.stderr:
        pytest.skip("filters by the event's number require Linux 6.2")
    assert done.returncode and "(mount -t bpf bpf /sys/fs/bpf)" in done.stderr, done.stderr


def test_where_it_cannot_be(perf, live, tmp_path):
    """stat counts, it has no samples; what is no action is refused."""
    assert "applies to tracepoints only" in perf("stat", "-e", "page-faults", "--filter", "ip > 0", "true").stderr
    for words, said in ((["--setup-filter", "no"], "use pin or unpin"), (["--kcore", "--overwrite"], "one directory")):
        done = perf("record", *words, "-o", tmp_path / "out", "true")
        assert done.returncode == 129 and said in done.stderr and not (tmp_path / "out").exists()
