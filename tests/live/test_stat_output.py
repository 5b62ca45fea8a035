"""What perf stat writes and where: numbers of the locale, advice for terminals only, forms that programs read."""
import csv
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started  # noqa: E402

pytestmark = pytest.mark.usefixtures("live")

# 30,000 pages touched, which takes so long that advice is given about it.
FAULTS = 30000
FAULTING = ["/usr/bin/python3", "-c", f"""
import mmap, time
room = mmap.mmap(-1, {FAULTS} * mmap.PAGESIZE)
if hasattr(mmap, "MADV_NOHUGEPAGE"):
    room.madvise(mmap.MADV_NOHUGEPAGE)
for page in range({FAULTS}):
    room[page * mmap.PAGESIZE] = 1
while time.process_time() < 0.15: pass
"""]


@pytest.fixture(scope="session")
def locales(tmp_path_factory):
    """A folder of locales that group thousands as Germans and Indians do."""
    if not shutil.which("localedef"):
        pytest.skip("no localedef")
    folder = tmp_path_factory.mktemp("locales")
    for name, point, thousands, grouping in (("xx_DE", "002C", "002E", "3;3"), ("xx_IN", "002E", "002C", "3;2")):
        source = folder / f"{name}.txt"
        source.write_text(f'LC_NUMERIC\ndecimal_point "<U{point}>"\nthousands_sep "<U{thousands}>"\ngrouping {grouping}\nEND LC_NUMERIC\n')
        subprocess.run(["localedef", "-c", "-i", source, folder / name], check=False, capture_output=True)  # 1: it has nothing but numbers
        assert (folder / name / "LC_NUMERIC").exists()
    return folder


@pytest.mark.usefixtures("root", "tracefs")
@pytest.mark.parametrize("locale,calls", [("C", "123456"), ("xx_DE", "123.456"), ("xx_IN", "1,23,456")])
def test_thousands_are_the_locales(perf, locales, locale, calls):
    """As printf(1) writes them. A call that is interrupted is counted twice: only the last two digits may differ."""
    words = ["-e", "syscalls:sys_enter_write,task-clock", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=123456", "status=none"]
    environment = {**os.environ, "LOCPATH": str(locales), "LC_ALL": locale}

    def as_printf(form, number):
        return subprocess.run(["env", "printf", form, number], capture_output=True, check=True, text=True,
                              env=environment).stdout

    text = perf("stat", *words, env=environment).stderr
    count = next(line for line in text.splitlines() if "sys_enter_write" in line).split()[0]
    assert count[:-2] == calls[:-2] and count == as_printf("%'d", re.sub(r"\D", "", count))
    seconds = next(line for line in text.splitlines() if "elapsed" in line).split()[0]
    assert seconds[1] == as_printf("%.1f", as_printf("%.1f", "0"))[1]
    plain = perf("stat", "--no-big-num", *words, env=environment).stderr
    assert re.search(r"^ +1234\d\d  ", plain, re.MULTILINE)
    for form in (["-j"], ["-x,"]):
        assert re.search(r"\d\.\d\d", perf("stat", *form, *words, env=environment).stderr)


def test_the_first_word_of_a_row_is_the_count(perf):
    """As scripts take it: LC_ALL=C perf stat … 2>&1 | grep page-faults | awk '{print $1}'."""
    lines = [line.split() for line in perf("stat", "-e", "page-faults,task-clock", *FAULTING).stderr.splitlines() if "page-faults" in line]
    assert len(lines) == 1 and int(lines[0][0]) >= FAULTS


def on_terminal(*command, **arguments):
    """What a program writes to a terminal that is its standard error."""
    ours, its = pty.openpty()
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=its, **arguments)
    os.close(its)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # everybody has closed it
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    process.wait(300)
    return text.decode(errors="replace")


def test_advice_is_for_terminals_only(perf, tmp_path):
    said = "-e page-faults -g"
    words = ["-e", "page-faults,task-clock", *FAULTING]
    assert said in on_terminal(perf, "stat", *words) and said in perf("stat", "-v", *words).stderr
    assert said in on_terminal(perf, "stat", "record", "-o", tmp_path / "counts", *words)
    for quiet in ([], ["-v", "--no-advice"], ["-v", "-x,"], ["-v", "-j"], ["-o", tmp_path / "file"], ["--log-fd", "2"]):
        assert said not in perf("stat", *quiet, *words).stderr, quiet
    assert said not in (tmp_path / "file").read_text()


@pytest.mark.parametrize("command,said", [(["record", "-o", "perf.data"], "instead of cycles"), (["stat"], "Hardware counters")], ids=["record", "stat"])
def test_what_one_knows_is_said_once_a_day(perf, tmp_path, monkeypatch, command, said):
    """On each terminal: two terminals, a day that has passed, -v, and a home that isn't ours."""
    def told(words=(), **environment):
        return said in on_terminal(perf, *command, *words, "true", env={**os.environ, **environment})
    monkeypatch.chdir(tmp_path)
    first, second, cache = tmp_path / "first", tmp_path / "second", tmp_path / "first/.cache/perf-ng"
    for folder in (first, second):
        folder.mkdir()
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if not told(HOME=str(first)):
        pytest.skip("this machine has a hardware PMU")
    stamps = list(cache.iterdir())
    assert len(stamps) == 1 and not stamps[0].stat().st_size
    # Whatever number the next terminal has: this one was told.
    for number in range(16):
        for major in range(136, 144):
            (cache / f"{stamps[0].name.rsplit('-', 1)[0]}-{os.makedev(major, number):x}").touch()
    assert not told(HOME=str(first)) or len(list(cache.iterdir())) > 128
    assert told(HOME=str(first), XDG_CACHE_HOME=str(second)) and (second / "perf-ng").is_dir()
    assert told(["-v"], HOME=str(first))
    for stamp in cache.iterdir():
        os.utime(stamp, (1, 1))
    assert told(HOME=str(first)) and told(HOME="/dev/null") and said not in perf(*command, "true").stderr
    if os.geteuid() == 0:
        os.chown(second, 65534, 65534)
        shutil.rmtree(second / "perf-ng")
        assert told(HOME=str(first), XDG_CACHE_HOME=str(second)) and not list(second.iterdir())


# Ends when the process has run a bit and waited for a CPU ten times as long.
UNTIL_IT_HAS_WAITED = """
import sys, time
def scheduled():
    return [int(word) for word in open(f"/proc/{sys.argv[1]}/schedstat").read().split()]
ran, waited, _ = scheduled()
while True:
    now = scheduled()
    if now[0] > ran + 1e7 and now[1] > waited + 3e8:
        break
    time.sleep(0.01)
"""

# Ends when it has slept four times as long as it has run and waited for a CPU, as the kernel accounts for it.
UNTIL_IT_HAS_SLEPT = """
import time
begun = time.monotonic()
on = waited = 0
while time.monotonic() - begun < 1 + 5e-9 * (on + waited):
    time.sleep(0.2)
    on, waited, _ = (int(word) for word in open("/proc/self/schedstat").read().split())
"""


def test_who_waits_for_a_cpu_does_not_sleep(perf):
    """Three programs that never sleep, on one CPU. The kernel's own account of how long one has waited decides when the measuring ends."""
    if not os.path.exists("/proc/self/schedstat"):
        pytest.skip("this kernel doesn't say how long threads wait for a CPU")
    cpu = min(os.sched_getaffinity(0))
    spinners = [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=lambda: os.sched_setaffinity(0, {cpu})) for _ in range(3)]
    try:
        done = perf("stat", "-v", "-e", "task-clock", "-p", spinners[0].pid, "--", "/usr/bin/python3", "-c", UNTIL_IT_HAS_WAITED, spinners[0].pid)
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    assert "it waited for a CPU while other tasks ran" in done.stderr and "off the CPU" not in done.stderr
    asleep = perf("stat", "-v", "-e", "task-clock", "--", "/usr/bin/python3", "-c", UNTIL_IT_HAS_SLEPT).stderr
    assert "it was off the CPU" in asleep and "waited for a CPU" not in asleep


@pytest.mark.usefixtures("tracefs", "root")
def test_advice_is_not_the_command_just_typed(perf):
    """Time of the kernel's: where system calls have been counted, they are named."""
    work = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=400000", "status=none"]
    plain = perf("stat", "-v", "-e", "task-clock", *work).stderr
    if "CPU time is spent in the kernel" not in plain:
        pytest.skip("system calls take too little time here")
    assert "-e 'syscalls:sys_enter_*'" in plain
    counted = perf("stat", "-v", "-e", "syscalls:sys_enter_*", *work).stderr
    advice = next(line for line in counted.splitlines() if "CPU time is spent in the kernel" in line)
    assert re.search(r"most calls: (read \(4000\d\d\), write|write \(4000\d\d\), read) \(4000\d\d\)", advice) and "perf stat" not in advice


def test_json_in_a_file_is_json(perf, tmp_path):
    for more in ([], ["--append"]):
        assert perf("stat", "-j", "-o", tmp_path / "file", *more, "-e", "task-clock,page-faults", "true").returncode == 0
    lines = (tmp_path / "file").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["task-clock", "page-faults"] * 2


def test_a_recording_from_a_pipe_is_called_so(perf, oracle):
    titles = []
    for tool in (perf, oracle):
        pipe = subprocess.run([tool, "stat", "record", "-o", "-", "-e", "page-faults", "true"], capture_output=True, check=True).stdout
        titles.append(subprocess.run([tool, "stat", "report", "-i", "-"], input=pipe, capture_output=True, check=True).stderr.splitlines()[1])
    assert titles[0] == titles[1] and b"'pipe'" in titles[0]


@pytest.mark.parametrize("number", ["SEGV", "ABRT", "KILL"])
def test_what_has_killed_the_command(perf, number, tmp_path):
    number = getattr(signal, f"SIG{number}")
    done = perf("stat", "-o", tmp_path / "counts", "-e", "page-faults", "sh", "-c", f"ulimit -c 0; kill -{number} $$")
    assert done.stderr == f"sh: {signal.strsignal(number)}\n" and done.returncode == 0


def test_the_root_group_is_everything(perf, live_system, root):
    if not os.path.exists("/sys/fs/cgroup"):
        pytest.skip("no control groups")
    done = perf("stat", "-x,", "-a", "-e", "page-faults,cpu-clock", "-G", "/", *FAULTING)
    if "no such control group" in done.stderr or "no control groups" in done.stderr:
        pytest.skip("no control groups are mounted")
    rows = [line.split(",") for line in done.stderr.splitlines()]
    assert [(row[2], row[3]) for row in rows] == [("page-faults", "/"), ("cpu-clock", "/")]
    assert int(rows[0][0]) >= FAULTS and float(rows[1][0]) >= 150


@pytest.mark.usefixtures("tracefs", "root")
@pytest.mark.parametrize("separator", [":", "_", "lls:"])
def test_names_with_the_separator_are_quoted(perf, oracle, separator):
    """The kernel's perf quotes nothing: plain names stay plain."""
    words = ["-x", separator, "-e", "page-faults", "-e", "syscalls:sys_enter_read", "true"]
    lines, theirs = (tool("stat", *words).stderr.splitlines() for tool in (perf, oracle))
    assert len(lines) == 2
    plain = lines[0].split(separator)
    assert plain[2] == "page-faults" and len(plain) == len(theirs[0].split(separator))
    if len(separator) == 1:
        row = next(csv.reader([lines[1]], delimiter=separator))
        assert row[2] == "syscalls:sys_enter_read" and len(row) == len(plain)
    assert f'{separator}"syscalls:sys_enter_read"{separator}' in lines[1]


def hang_up(process, file, ignored):
    """Sends SIGHUP while the command fills the file; when that is ignored, sees that it goes on, and sends SIGTERM."""
    started.until(lambda: file.exists() and file.stat().st_size > 1000, "the command works")
    process.send_signal(signal.SIGHUP)
    if ignored:
        size = file.stat().st_size
        started.until(lambda: file.stat().st_size > size + 1000 or process.poll() is not None, "it goes on")
        assert process.poll() is None
        process.terminate()


@pytest.mark.parametrize("words", [["stat"], ["record"], ["trace"], ["trace", "-e", "write,sched:sched_process_exit"]], ids=" ".join)
def test_a_hang_up_ends_it_orderly(perf, words, tmp_path, root, tracefs):
    """As SIGTERM does: what was measured is written, and the command is ended. Under nohup it is none of our business."""
    out = tmp_path / "out"
    options = {"stat": ["-o", out, "-e", "task-clock"], "record": ["-o", out, "-e", "page-faults", "-c", "1"], "trace": ["-o", out]}.get(words[0], [])
    file = tmp_path / "written"
    command = ["sh", "-c", 'echo begun >"$1"; while :; do echo once more >>"$1"; done', "sh", file]
    for ignored in (True, False):
        file.unlink(missing_ok=True)
        process = subprocess.Popen([perf, *words, *options, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL))
        try:
            hang_up(process, file, ignored)
            stderr = process.communicate(timeout=300)[1].decode()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        if words == ["stat"]:
            assert process.returncode == -(signal.SIGTERM if ignored else signal.SIGHUP), stderr
            assert re.search(r"\d msec task-clock", out.read_text())
            continue
        assert process.returncode == -(signal.SIGTERM if ignored else signal.SIGHUP), stderr
        if words == ["record"]:
            assert perf("script", "-F", "comm", "-i", out).stdout.strip()
        else:
            assert "write(" in out.read_text()


def test_metric_values_in_json_are_strings(perf):
    """As the kernel's perf writes them since Linux 6.12."""
    row = json.loads(perf("stat", "-j", "-e", "task-clock", "true").stderr)
    assert isinstance(row["metric-value"], str) and float(row["metric-value"]) > 0
    alone = json.loads(perf("stat", "-j", "--metric-only", "-M", "cs_per_second,IPC", "-e", "task-clock", "true").stderr)
    assert alone and all(value == "none" or float(value) >= 0 for value in alone.values()) and all(isinstance(value, str) for value in alone.values())


@pytest.mark.usefixtures("tracefs", "root")
def test_rows_of_a_pattern_are_in_the_order_of_names(perf, tmp_path):
    words = ["-x,", "-e", "syscalls:sys_enter_[a-g]*", "cat", "/dev/null"]
    names = [line.split(",")[2] for line in perf("stat", *words).stderr.splitlines()]
    assert len(names) > 50 and names == sorted(names)
    happened = {line.split(",")[2] for line in perf("stat", *words).stderr.splitlines() if line.split(",")[0] != "0"}
    assert "syscalls:sys_enter_close" in happened and "syscalls:sys_enter_bind" not in happened
    rows = [line.split(",") for line in perf("stat", "--skip-empty", *words).stderr.splitlines()]
    assert {row[2] for row in rows} == happened and all(int(row[0]) for row in rows)
    assert perf("stat", "record", "-o", tmp_path / "counts", *words).returncode == 0
    reported = [line.split(",")[2] for line in perf("stat", "report", "--skip-empty", "-x,", "-i", tmp_path / "counts").stderr.splitlines()]
    assert set(reported) == happened
