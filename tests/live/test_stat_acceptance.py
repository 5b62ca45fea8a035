"""perf stat as tutorials tell people to type it: each command works as written and shows what it promises; what the machine lacks is
said in that row."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started  # noqa: E402

pytestmark = pytest.mark.usefixtures("live")


def is_shown(text, *events):
    """Each event has a row with a count, or says why not."""
    for event in events:
        assert re.search(rf"^ *([\d,.]+|<not supported>|<not counted>) (msec)? *{re.escape(event)}\b", text, re.MULTILINE), (event, text)


def unprivileged():
    os.setgid(65534)
    os.setuid(65534)


@pytest.fixture
def busy():
    process = subprocess.Popen(["sh", "-c", "while :; do cat /proc/uptime >/dev/null; done"])
    yield process.pid
    process.kill()
    process.wait()


def test_system_wide(perf, live_system):
    """-a sleep 5, and -a until Ctrl-C."""
    done = perf("stat", "-a", "sleep", "0.3")
    assert done.returncode == 0 and "stats for 'system wide'" in done.stderr
    is_shown(done.stderr, "cpu-clock", "context-switches", "cpu-migrations", "page-faults", "cycles", "instructions")
    process = subprocess.Popen([perf, "stat", "-a"], stderr=subprocess.PIPE, text=True)
    started.until_it_measures(process.pid, signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert "stats for 'system wide'" in process.communicate(timeout=300)[1]


def test_system_wide_refused(perf, root, tmp_path):
    level = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if level < 1:
        pytest.skip("everybody may measure whole CPUs here")
    copy = shutil.copy(perf, tmp_path / "perf")
    for path in (tmp_path, *tmp_path.parents):
        if path != pathlib.Path("/tmp") and path.stat().st_uid == os.geteuid():
            path.chmod(path.stat().st_mode | 0o055)
    done = subprocess.run([copy, "stat", "-a", "sleep", "0.1"], capture_output=True, text=True, preexec_fn=unprivileged, check=False, cwd="/")
    assert done.returncode == 255
    assert f"kernel.perf_event_paranoid is {level}" in done.stderr and "sudo sysctl kernel.perf_event_paranoid=" in done.stderr


def test_detailed_system_wide(perf, live_system):
    """-dac: detailed, all CPUs, scaled."""
    done = perf("stat", "-dac", "dd", "if=/dev/zero", "of=/dev/null", "bs=1048576", "count=100", "status=none")
    assert done.returncode == 0
    is_shown(done.stderr, "cpu-clock", "cycles", "L1-dcache-loads", "L1-dcache-load-misses", "LLC-loads", "LLC-load-misses")


def test_a_program(perf, busy):
    for words in ([], ["-d"]):
        done = perf("stat", *words, "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
        assert done.returncode == 0 and "CPUs utilized" in done.stderr and "/sec" in done.stderr
        is_shown(done.stderr, "task-clock", "branch-misses")
    done = perf("stat", "-p", busy, "sleep", "0.3")
    assert done.returncode == 0 and "CPUs utilized" in done.stderr


@pytest.mark.usefixtures("tracefs", "root")
def test_system_calls(perf, busy):
    done = perf("stat", "-ddd", "true")
    is_shown(done.stderr, "iTLB-load-misses", "L1-dcache-prefetches")
    done = perf("stat", "-x,", "-e", "syscalls:sys_enter_*", "-p", busy, *started.while_it_runs(busy, 0.2))
    counts = {line.split(",")[2]: line.split(",")[0] for line in done.stderr.splitlines()}
    assert len(counts) > 250 and int(counts["syscalls:sys_enter_wait4"]) > 0 and done.returncode == 0
    done = perf("stat", "-x,", "-e", "block:*", "-a", "sleep", "0.1")
    assert done.returncode == 0 and "block:block_rq_issue" in done.stderr
    done = perf("stat", "-x,", "-e", "syscalls:sys_enter_*", "ls", "-R", "/etc")
    counts = {line.split(",")[2]: line.split(",")[0] for line in done.stderr.splitlines() if line.count(",") > 3}
    assert int(counts["syscalls:sys_enter_getdents64"]) > 2 and int(counts["syscalls:sys_enter_write"]) > 0


def test_page_faults_of_a_process(perf, busy):
    done = perf("stat", "-x,", "-e", "page-faults,major-faults", "-p", busy, *started.while_it_runs(busy, 0.2))
    values = [line.split(",")[0] for line in done.stderr.splitlines()]
    assert int(values[0]) > 100 and int(values[1]) >= 0


def test_hardware_events(perf):
    for events in ("branch-misses,branches", "L1-dcache-load-misses,L1-dcache-loads", "dTLB-load-misses,dTLB-loads"):
        done = perf("stat", "-e", events, "true")
        assert done.returncode == 0
        is_shown(done.stderr, *events.split(","))


@pytest.mark.usefixtures("tracefs", "root")
def test_a_download(perf, fetch):
    done = perf("stat", *fetch)
    assert done.returncode == 0
    is_shown(done.stderr, "task-clock", "page-faults")
    done = perf("stat", "-x,", "-e", "kmem:*", "-e", "cache-references", "-e", "cache-misses", *fetch)
    counts = {line.split(",")[2]: line.split(",")[0] for line in done.stderr.splitlines()}
    assert int(counts["kmem:kmem_cache_alloc"]) > 100 and "cache-misses" in counts


@pytest.mark.usefixtures("tracefs", "root")
def test_hundreds_of_events_of_a_download(perf, fetch):
    systems = ("skb", "net", "napi", "sched", "workqueue", "irq", "syscalls")
    words = [word for system in systems for word in ("-e", f"{system}:*")]
    done = perf("stat", "-x,", *words, *fetch)
    assert done.returncode == 0
    counts = {line.split(",")[2]: line.split(",")[0] for line in done.stderr.splitlines()}
    assert len(counts) > 700 and all(any(name.startswith(system + ":") for name in counts) for system in systems)
    assert int(counts["syscalls:sys_enter_connect"]) >= 1 and int(counts["net:net_dev_xmit"]) > 0


@pytest.mark.parametrize("words,missing", [(["--topdown"], "topdown"), (["-T"], "TSX"), (["--topdown", "--td-level", "2"], "topdown-heavy-ops"), (["--smi-cost"], "freeze_on_smi"), (["--iostat"], "IIO")], ids=str)
def test_what_is_missing_is_said(perf, words, missing):
    done = perf("stat", *words, "true")
    if done.returncode == 0:
        pytest.skip("this machine has it")
    assert done.returncode == 255 and missing in done.stderr and done.stderr.count("\n") == 1


def test_levels_of_topdown(perf):
    assert perf("stat", "--td-level", "2", "true").returncode == 0
    for level, said in (("3", "levels 1 and 2"), ("x", "invalid level")):
        done = perf("stat", "--topdown", "--td-level", level, "true")
        assert done.returncode in (129, 255) and said in done.stderr, done.stderr


FIRMWARE = """
mkdir real && mount --bind /sys/devices real && mount -t tmpfs none /sys/devices && mkdir -p /sys/devices/cpu /sys/devices/msr/format /sys/devices/msr/events
for name in system software tracepoint; do mkdir /sys/devices/$name && mount --bind real/$name /sys/devices/$name; done
[ -z "$2" ] || echo "$2" >/sys/devices/cpu/freeze_on_smi
echo 1 >/sys/devices/msr/type
echo config:0-63 >/sys/devices/msr/format/event
echo event=0x1 >/sys/devices/msr/events/aperf
echo event=0x2 >/sys/devices/msr/events/smi
"$1" stat --smi-cost cat /sys/devices/cpu/freeze_on_smi
cat /sys/devices/cpu/freeze_on_smi
"""


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("before", ["0", "1", ""])
def test_counters_stop_during_interrupts_of_the_firmware(perf, tmp_path, before):
    """Beside devices as on an Intel machine, whose msr/smi/ counts page faults: the switch is on while the command runs, then as it was."""
    if not pathlib.Path("/sys/bus/event_source/devices/msr").exists():
        pytest.skip("this kernel has no PMU 'msr'")
    done = subprocess.run(["unshare", "-m", "sh", "-c", FIRMWARE, "sh", perf, before], cwd=tmp_path, capture_output=True, text=True, check=False)
    if not before:
        assert not done.stdout and "freeze_on_smi exists on Intel processors only" in done.stderr
        return
    assert done.stdout.split() == ["1", before], done.stderr
    assert int(re.search(r"(\d+)\s+msr/smi/.*smi_num", done.stderr).group(1)) > 0


def test_metrics_on_any_machine(perf):
    done = perf("stat", "-M", "cs_per_second,IPC", "true")
    assert done.returncode == 0 and "cs/sec  cs_per_second" in done.stderr
    is_shown(done.stderr, "context-switches", "cycles")
    wrong = perf("stat", "-M", "branch_mis_rate", "true")
    assert wrong.returncode == 129 and "Did you mean 'branch_miss_rate'?" in wrong.stderr
