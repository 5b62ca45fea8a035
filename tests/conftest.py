"""What all Python tests share: the program under test, the kernel's perf as oracle, recordings of others, and reasons to skip."""
import ctypes
import fcntl
import os
import pathlib
import platform
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))
import engine  # noqa: E402
import mounts  # noqa: E402
import own  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
KALLSYMS = "/proc/kallsyms"


# Locks for the whole machine, of all clones and users: files that are always there.
ROOM, DOOR = "/proc/sys/kernel/perf_event_max_stack", "/proc/sys/kernel/perf_event_max_contexts_per_stack"


def pytest_configure(config):
    config.addinivalue_line("markers", "sanitize: is also run with the AddressSanitizer build")
    config.addinivalue_line("markers", "threads: is also run with the ThreadSanitizer build")
    config.addinivalue_line("markers", "soak: looks closer in `make soak`, where PERF_SOAK is set")
    config.addinivalue_line("markers", "one_moment: a file of live tests for which the kernel's symbols needn't be those of the very moment")
    config.addinivalue_line("markers", "alone: no other Python test runs at the same time on this machine, in whatever clone or stage")
    if os.getuid() == 0 and not os.path.exists("/sys/kernel/tracing/events"):  # a machine on which nothing has mounted it yet
        subprocess.run(["mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing"], stderr=subprocess.DEVNULL, check=False)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):  # ignored below nohup or in the background of a script; by programs that tests start it isn't
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Who changes what is one for the whole machine is alone while it lasts."""
    for item in items:
        if "paranoid" in item.fixturenames:
            item.add_marker("alone")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Tests share the room; one that is marked "alone" has it for itself. Who waits for that stands in the door, so that nobody else enters any more."""
    try:
        room, door = (open(path, "rb") for path in (ROOM, DOOR))
    except OSError:  # no perf events in this kernel
        yield
        return
    with room:
        with door:
            how = fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH
            fcntl.flock(door, how)
            fcntl.flock(room, how)
        yield


class Program:
    """A perf to run: perf("report", "--stdio", cwd=…) gives a CompletedProcess with text output."""

    def __init__(self, path):
        self.path = str(path)

    def __str__(self):
        return self.path

    def __fspath__(self):
        return self.path

    def __call__(self, *words, timeout=900, text=True, **arguments):
        arguments.setdefault("stdin", subprocess.DEVNULL)
        arguments.setdefault("capture_output", True)
        if text:
            arguments.setdefault("errors", "surrogateescape")
        return subprocess.run([self.path, *map(str, words)], timeout=timeout, text=text, check=False, **arguments)

    def record(self, path, *words, **arguments):
        """perf.record(path, "-a", "--", "ls"): what is recorded of other processes than the own ones, and of the kernel, is taken out (tests/lib/own.py)."""
        return own.record(self.path, path, *words, **arguments)


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory):
    """An empty one, without the caches of programs, which others fill at the same time."""
    os.environ["HOME"] = str(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session", autouse=True)
def environment():
    """No configuration of the person who runs the tests; plain output; files that others may read where their folders let them; and
    SIGINT isn't ignored, as it is in what a shell starts with '&'."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.umask(0o022)
    os.environ["PERF_CONFIG"] = "/dev/null"
    os.environ["LC_ALL"] = "C"
    for name in ("PERF_PAGER", "PERF_BUILDID_DIR", "PERF_EXEC_PATH", "PAGER", "NO_COLOR", "COLUMNS", "LINES", "XDG_CACHE_HOME", "DEBUGINFOD_URLS", "DEBUGINFOD_CACHE_PATH"):
        os.environ.pop(name, None)
    for name in ("no_proxy", "NO_PROXY"):  # tests' servers are here
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1", "localhost")))


# Folders of tests that ask about files, not about what the kernel does meanwhile.
ABOUT_FILES = {"cli", "corpus", "oracle", "robust", "script", "tui"}


@pytest.fixture(scope="module", autouse=True)
def symbols_of_one_moment(request, tmp_path_factory):
    """The kernel's symbols as they are when the first test of the file begins, whatever programs neighbours load: two programs that are compared see the same ones. The
    kernel takes some 50 ms to write them, for each that asks; a copy is read in one. Half of them are names of the padding before functions, in which nothing is ever
    sampled: without them the kernel's perf starts in 35 ms of CPU time instead of 60."""
    wanted = request.path.parent.name in ABOUT_FILES or request.node.get_closest_marker("one_moment")
    if not wanted or not mounts.private():
        yield
        return
    copy = tmp_path_factory.mktemp("symbols") / "kallsyms"
    with open(KALLSYMS, encoding="ascii") as file:
        copy.write_text("".join(line for line in file if " __pfx_" not in line), encoding="ascii")
    with mounts.shown_as(copy, KALLSYMS):
        yield


def program_under_test():
    path = pathlib.Path(os.environ.get("PERF", ROOT / "build/perf"))
    assert path.exists(), f"{path} is not built"
    return Program(path.resolve())


@pytest.fixture(scope="session")
def perf():
    return program_under_test()


class KernelForm(Program):
    """Our perf, asked to expand inlined functions only where the kernel's does."""

    def __call__(self, *words, **arguments):
        form = ["--inline=unwound"] if words[0] in ("report", "script", "flamegraph") else []
        return super().__call__(words[0], *form, *words[1:], **arguments)


@pytest.fixture(scope="session")
def kernel_form():
    """Not made from the fixture perf, which files that use this one define anew."""
    return KernelForm(program_under_test().path)


@pytest.fixture(scope="session")
def oracle():
    path = os.environ.get("ORACLE", "/usr/bin/perf")
    if not shutil.which(path) or subprocess.run([path, "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"the kernel's perf is not installed at {path} (package linux-perf)")
    return Program(path)


@pytest.fixture(scope="session")
def corpus():
    """The folder of recordings made by others."""
    path = pathlib.Path(os.environ.get("CORPUS", ROOT.parent / "shared/corpus"))
    if not path.is_dir():
        pytest.skip(f"no recordings of others at {path}")
    return path


def open_event(kind, config, pid, cpu):
    """Tries perf_event_open for a disabled event; returns 0 or the errno."""
    number = PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    attr = ctypes.create_string_buffer(struct.pack("<IIQQQQQ", kind, 64, config, 0, 0, 0, 1), 64)
    fd = libc.syscall(number, attr, pid, cpu, -1, 0)
    if fd < 0:
        return ctypes.get_errno()
    os.close(fd)
    return 0


@pytest.fixture(scope="session")
def live():
    """The running kernel lets this user measure the own processes (a software event)."""
    error = open_event(1, 0, 0, -1)
    if error:
        pytest.skip(f"perf_event_open is refused here: {os.strerror(error)}")


@pytest.fixture(scope="session")
def live_system(live):
    """… and the whole system."""
    error = open_event(1, 0, -1, 0)
    if error:
        pytest.skip(f"system-wide measuring is refused here: {os.strerror(error)}")


@pytest.fixture(scope="session")
def tracefs():
    """The tracepoints can be read."""
    for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        if os.access(f"{path}/events/sched/sched_switch/format", os.R_OK):
            return pathlib.Path(path)
    pytest.skip("tracepoints can't be read here: tracefs is not mounted, or this user may not")


@pytest.fixture
def root():
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def paranoid(root):
    """Sets kernel.perf_event_paranoid for the time of a test. It is one for the whole machine: such a test is alone, and tests of clones from before that was so
    wait for the lock."""
    path = "/proc/sys/kernel/perf_event_paranoid"
    with open(path, encoding="ascii") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = held.read()

        def level(value):
            with open(path, "w", encoding="ascii") as file:
                file.write(str(value))
        try:
            level(before)
        except OSError:
            pytest.skip("kernel.perf_event_paranoid cannot be changed here")
        yield level
        level(before)


@pytest.fixture
def bpf(root, perf):
    """BPF programs can be loaded, and this build has them."""
    if not os.access("/sys/kernel/btf/vmlinux", os.R_OK):
        pytest.skip("this kernel doesn't describe its types (no BTF)")
    if perf("check", "feature", "-q", "bpf").returncode:
        pytest.skip("this build has no BPF programs")


def recorder(oracle, folder, recordings, *command):
    """make(name): the path of what the kernel's perf records of `command` in `folder` with the options recordings[name], once; skips where it can't."""
    made = {}

    def make(name):
        path = folder / f"{name}.data"
        if name not in made:
            made[name] = oracle.record(path, *recordings[name], "--", *command, cwd=folder)
        if made[name].returncode:
            pytest.skip(f"this machine can't record {recordings[name]}: {made[name].stderr.strip()}")
        return path
    return make


@pytest.fixture(scope="session")
def make_recorder():
    return recorder


@pytest.fixture
def everybodys(perf):
    """A copy of the program where others may read it, too: the clone may be below a folder that is its owner's alone."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="perf-everybody-", dir="/tmp"))
    folder.chmod(0o755)
    yield shutil.copy(perf.path, folder / "perf")
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def fetch():
    """wget URL, or what does the same here, of a page on this machine."""
    with engine.Engine() as server:
        server.answers = [(200, {}, b"x" * 100000)] * 1000
        url = f"http://{server.place}/page"
        for program, words in (("wget", ["-q", "-O", "/dev/null"]), ("curl", ["-s", "-o", "/dev/null"])):
            if shutil.which(program):
                yield [program, *words, url]
                return
        yield ["/usr/bin/python3", "-c", f"import urllib.request; urllib.request.urlopen('{url}').read()"]
