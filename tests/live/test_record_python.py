"""Frames of Python in stacks of record -g, against what the program itself says of its stacks (traceback.extract_stack())."""
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "lib" / "python_stacks.py"
EVENT = "syscalls:sys_enter_getppid"


@contextlib.contextmanager
def killed_on_failure(*processes):
    """Leaders of process groups: those who wait for another one, or for this test, would wait for ever when it has failed, or has waited in vain itself."""
    def kill():
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    watchdog = threading.Timer(300, kill)
    watchdog.start()
    try:
        yield
    except BaseException:
        kill()
        raise
    finally:
        watchdog.cancel()


VERSIONS = ["3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t"] # t: free-threaded
PLACES = ["/usr/bin/python3", *(shutil.which(f"python{version}") for version in VERSIONS), *sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3"))]


WHAT_IT_IS = """import sys, sysconfig
print(sys.implementation.name, "%d.%d" % sys.version_info[:2] + "t" * bool(sysconfig.get_config_var("Py_GIL_DISABLED")), sys.executable)"""


@pytest.fixture(scope="module", name="python")
def find_python(request):
    """A CPython whose frames are known: Debian's, or another one; with a parameter, of that version."""
    wanted = [request.param] if hasattr(request, "param") else VERSIONS
    for path in filter(None, PLACES):
        with contextlib.suppress(OSError):
            version = subprocess.run([path, "-c", WHAT_IT_IS], capture_output=True, text=True, check=False)
            if version.stdout.split()[:2] in (["cpython", each] for each in wanted):
                return version.stdout.split()[2]
    pytest.skip(f"needs CPython {' or '.join(wanted)}, in PATH or of pyenv")


EACH_VERSION = pytest.mark.parametrize("python", VERSIONS, indirect=True)


@pytest.fixture(name="recorded")
def record(perf, bpf, tracefs, python, tmp_path, monkeypatch):
    """{tid: stacks as they should be}, and the path of the recording. The program begins when the rules of the interpreter and of the C library are known, which -vv tells."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 1):
        pytest.skip("BPF programs can't look up what is mapped before Linux 6.1")
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*options, events=("-e", EVENT), program=PROGRAM):
        go, out, data = tmp_path / "go", tmp_path / "out", tmp_path / "perf.data"
        if "auto,copy" in options: # no rules are told of
            go.touch()
        with subprocess.Popen([perf.path, "record", "-vv", "-g", *options, *events, "-o", data, "--", python, program, go, out],
                              stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True) as recorder, killed_on_failure(recorder):
            wanted, text = [r"\d{5,} unwind rules of \S*/(lib)?python3\.1\dt?(\.so\S*)? after", r"rules of \S*/libc[.-]\S* after"], []
            for line in recorder.stderr:
                text.append(line)
                wanted = [pattern for pattern in wanted if not re.search(pattern, line)]
                if not wanted and not go.exists():
                    go.touch()
        assert recorder.returncode == 0, "".join(text[-20:])
        told = collections.defaultdict(list)
        for tid, frames in json.loads(out.read_text()):
            told[tid].append([tuple(frame) for frame in frames])
        return told, data
    return run


def frames_of(text):
    """{tid: [[(file, line, name)], outermost first]} of Python."""
    found = collections.defaultdict(list)
    for block in re.split(r"\n\n", text):
        lines = block.strip("\n").split("\n")
        head = re.match(r"\s*(\d+)", lines[0])
        names = [(re.match(r"\s*[0-9a-f]+ py::(.*?):(.*) \(\[python\]\)$", line), where) for line, where in zip(lines, lines[1:])]
        if head:
            found[int(head[1])].append([(name[2], int(where.rsplit(":", 1)[1]), name[1].split(".")[-1]) for name, where in reversed(names) if name])
    return found


def compare(told, found):
    """All that a thread has told, at the end of what was recorded of it."""
    assert len(told) == 4 and all(len(stacks) > 100 for stacks in told.values())
    for tid, stacks in told.items():
        assert found[tid][-len(stacks):] == stacks


@EACH_VERSION
def test_each_frame(recorded, perf):
    told, data = recorded()
    compare(told, frames_of(perf("script", "--no-inline", "--max-stack", "2000", "-i", data, "-F", "tid,event,ip,sym,srcline,dso").stdout))


def test_beside_those_of_c(recorded, perf):
    """What evaluates a frame of Python is in front of it, and the stack goes on to the start of the program."""
    _, data = recorded()
    text = perf("script", "--no-inline", "--max-stack", "2000", "-i", data, "-F", "tid,event,ip,sym,dso").stdout
    stacks = [block.split("\n") for block in text.split("\n\n") if "py::mark:" in block]
    assert len(stacks) > 400
    for stack in stacks:
        names = [re.sub(r"^\s*[0-9a-f]+ (.*) \(.*\)$", r"\1", line) for line in stack]
        python = [i for i, name in enumerate(names) if name.startswith("py::")]
        assert all(names[i - 1].startswith("py::") or names[i - 1] == "_PyEval_EvalFrameDefault" for i in python), stack
        assert re.match(r"_start|clone|__clone|thread_start", names[-1]), stack


def test_the_kernels_perf_shows_them(recorded, oracle):
    told, data = recorded()
    shown = frames_of(oracle("script", "--no-inline", "--max-stack", "2000", "-i", data, "-F", "tid,event,ip,sym,dso,srcline").stdout)
    frames = [(file, name) for stacks in told.values() for stack in stacks for file, _, name in stack]
    assert collections.Counter(frames) <= collections.Counter((file, name) for stacks in shown.values() for stack in stacks for file, _, name in stack)


def test_time_off_the_cpu(recorded, perf):
    """Waits have Python's frames, too."""
    _, data = recorded("--off-cpu", "--off-cpu-thresh", "0")
    blocks = perf("script", "--no-inline", "-i", data, "-F", "tid,event,ip,sym,srcline,dso").stdout.split("\n\n")
    line = 1 + next(number for number, text in enumerate(PROGRAM.read_text().splitlines()) if "def pause" in text) + 2
    assert any("offcpu-time" in block and "py::pause:" in block and f"{PROGRAM.name}:{line}\n" in block for block in blocks)


@pytest.mark.parametrize("version", ["0x030d0af0", "0x030e0af0", "0x030f02f0"])
@pytest.mark.parametrize("free", [0, 1], ids=["", "free-threaded"])
def test_layouts(perf, bpf, tracefs, tmp_path, monkeypatch, version, free):
    """Of versions that aren't installed: of what each build has elsewhere, and of a function that evaluates in two parts."""
    monkeypatch.setenv("HOME", str(tmp_path))
    program, data = tmp_path / "layouts", tmp_path / "perf.data"
    subprocess.run(["cc", "-O2", "-rdynamic", f"-DVERSION={version}", f"-DFREE={free}", "-o", program, PROGRAM.parent / "python_layouts.c"], check=True)
    perf("record", "-g", "-e", EVENT, "-o", data, "--", program, stdin=subprocess.DEVNULL)
    stacks = next(iter(frames_of(perf("script", "--no-inline", "-i", data, "-F", "tid,event,ip,sym,srcline,dso").stdout).values()))
    assert stacks == 40 * [[("layouts.py", 12, "outer"), ("layouts.py", 24, "inner")]]


REPLACED = """import os, sys, time
def before():
    for _ in range(20): os.getppid()
def after():
    for _ in range(20): os.getppid()
if len(sys.argv) == 3:
    while not os.path.exists(sys.argv[1]): os.getppid(); time.sleep(0.01)
    before()
    os.execv(sys.executable, [sys.executable, *sys.argv, "replaced"])
after()
open(sys.argv[2], "w").write("[]")
"""


def test_a_process_that_is_replaced(recorded, perf, tmp_path):
    """Both programs that a process runs, one after the other, have their names."""
    (tmp_path / "replaced.py").write_text(REPLACED)
    _, data = recorded(program=tmp_path / "replaced.py")
    text = perf("script", "--no-inline", "-i", data, "-F", "tid,event,ip,sym,dso").stdout
    assert text.count("py::before:") >= 20 and text.count("py::after:") >= 20, text


# Touches pages for the first time, then waits where it is: whenever its stacks are read, they are as they were. STILL END [hidden]; "touched" on its output when it waits. Hidden, it doesn't let
# others of its user read its memory.
STILL = """import ctypes, mmap, os, sys
def touch(memory):
    for page in range(PAGES):
        memory[4096 * page] = 1
    os.write(1, b"touched\\n")
    open(sys.argv[1]).read()
def by_python(memory):
    return touch(memory)
def by_c(memory):
    return max([memory], key=lambda each: by_python(each) or 1)
sys.stdin.readline()
if len(sys.argv) == 3:
    ctypes.CDLL(None).prctl(4, 0)
by_c(mmap.mmap(-1, 4096 * PAGES))
""".replace("PAGES", "40")
STILL_STACK = [("<module>", 14), ("by_c", 10), ("<lambda>", 10), ("by_python", 8), ("touch", 4)]


def run_still(python, folder, command, until, *words, **arguments):
    """Starts the command with the process id of STILL, and ends it when that stands still. Returns what it writes, and its messages."""
    (folder / "still.py").write_text(STILL)
    os.mkfifo(folder / "end", 0o644)
    with (folder / "output").open("w+b") as output, \
         subprocess.Popen([python, "-I", "-S", folder / "still.py", folder / "end", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True, **arguments) as still, \
         subprocess.Popen([*command, str(still.pid)], stdout=output, stderr=subprocess.PIPE, start_new_session=True, **arguments) as measuring, \
         killed_on_failure(still, measuring):
        until(measuring)
        still.stdin.write("go\n")
        still.stdin.flush()
        assert still.stdout.readline() == "touched\n"
        measuring.send_signal(signal.SIGINT)
        message = measuring.communicate()[1]
        assert measuring.returncode in (0, -signal.SIGINT), message
        (folder / "end").write_text("")
    return (folder / "output").read_bytes(), message.decode(errors="replace")


def until_it_records(process):
    started.until_it_records(process, signal.SIGINT)


def still_stacks(text):
    """Stacks of Python in what script shows, of samples in touch()."""
    stacks = next(iter(frames_of(text).values()), [])
    return [[(name, line) for _, line, name in stack] for stack in stacks if stack and stack[-1][2] == "touch"]


def count_still(blocks):
    """How many of these texts have the names of STILL's stack."""
    names = [[name.split(".")[-1] for name in reversed(re.findall(r" py::(.*?):\S+ \(\S*\[python\]\)", block))] for block in blocks]
    return names.count([name for name, _ in STILL_STACK])


FAULTS = ["-e", "page-faults:u"]
SHOW = ["script", "--no-inline", "-F", "tid,event,ip,sym,srcline,dso"]


GOING_ON = """import os, sys, time
def inner():
    os.getppid()
def outer():
    for _ in range(100):
        inner()
        time.sleep(0.005)
outer()
open(sys.argv[2], "w").write("[]")
"""


@EACH_VERSION
def test_copies_of_a_program_that_goes_on(recorded, perf, tmp_path):
    """When its frames are read it is in the caller, as a rule: that isn't taken for the function in which it was."""
    (tmp_path / "going_on.py").write_text(GOING_ON)
    _, data = recorded("--call-graph", "auto,copy", program=tmp_path / "going_on.py")
    found = next(iter(frames_of(perf("script", "--no-inline", "-i", data, "-F", "tid,event,ip,sym,srcline,dso").stdout).values()))
    names = [[name for _, _, name in stack] for stack in found if any(name == "outer" for _, _, name in stack)]
    assert names and all(stack == ["<module>", "outer", "inner"] for stack in names), names


@EACH_VERSION
def test_of_stacks_that_are_copied(perf, python, live, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    data = tmp_path / "perf.data"
    _, message = run_still(python, tmp_path, [perf.path, "record", "-v", *FAULTS, "-c", "1", "--call-graph", "auto,copy", "-o", data, "-p"], until_it_records)
    stacks = still_stacks(perf(*SHOW, "-i", data).stdout)
    assert len(stacks) >= 40 and all(stack == STILL_STACK for stack in stacks), stacks
    assert re.search(r"of \d+ C functions that evaluate Python, in stacks that were copied, \d+.\d % have its frames; \d+ had others", message), message


@pytest.fixture(name="user")
def of_a_user(everybodys, python, paranoid):
    """Arguments for processes of a user without rights, whose working and home directory is a folder of his own."""
    paranoid(2)
    folder = pathlib.Path(everybodys).parent / "home"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    arguments = {"user": 65534, "group": 65534, "extra_groups": [], "env": {**os.environ, "HOME": str(folder)}, "cwd": folder}
    try:
        subprocess.run([python, "-c", ""], check=True, **arguments)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this Python is its owner's alone")
    return arguments


def record_of_user(user, program, python, *words):
    """Stacks of Python, and the messages."""
    command = [program, "record", *FAULTS, "-c", "1", "--call-graph", "auto", "-o", "perf.data", "-p"]
    _, message = run_still(python, user["cwd"], command, until_it_records, *words, **user)
    shown = subprocess.run([program, *SHOW, "-i", "perf.data"], capture_output=True, text=True, check=True, **user)
    return still_stacks(shown.stdout), message


def test_for_a_user_without_rights(everybodys, python, user):
    stacks, _ = record_of_user(user, everybodys, python)
    assert len(stacks) >= 40 and all(stack == STILL_STACK for stack in stacks), stacks


def test_of_memory_that_cannot_be_read(everybodys, python, user):
    """Told, with what helps."""
    stacks, message = record_of_user(user, everybodys, python, "hidden")
    assert not stacks
    assert re.search(r"Python's functions are missing in \d+ stacks: .*\(Operation not permitted\).*sudo sysctl kernel.yama.ptrace_scope=0", message), message


@pytest.mark.parametrize("way", ["auto,bpf", "auto,copy"])
def test_through_a_pipe(perf, oracle, bpf, python, tmp_path, monkeypatch, way):
    """Names come before the samples, for both readers."""
    monkeypatch.setenv("HOME", str(tmp_path))
    data, _ = run_still(python, tmp_path, [perf.path, "record", *FAULTS, "-c", "1", "--call-graph", way, "-o", "-", "-p"], until_it_records)
    (tmp_path / "pipe").write_bytes(data)
    for program in (perf, oracle):
        with (tmp_path / "pipe").open("rb") as pipe:
            text = program("script", "--no-inline", "-i", "-", "-F", "tid,event,ip,sym,dso", stdin=pipe).stdout
        assert count_still(text.split("\n\n")) >= 40, text


def test_live(perf, bpf, python, tmp_path, monkeypatch):
    """Tools that make no recording show them, too."""
    monkeypatch.setenv("HOME", str(tmp_path))
    command = [perf.path, "trace", "--no-syscalls", "-e", "page-faults/period=1/u", "--call-graph", "auto", "-p"]
    _, output = run_still(python, tmp_path, command, until_it_records)
    assert count_still(re.split(r"\n(?=\s*\d+\.\d+ )", output)) >= 40, output


def test_without_a_build_id_cache_there_are_none(recorded, perf):
    """Nobody could name them."""
    _, data = recorded("-N")
    assert "[python]" not in perf("script", "--show-mmap-events", "--no-inline", "-i", data).stdout
