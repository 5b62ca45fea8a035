"""perf doctor: every line is true, for different users, settings, namespaces and filters. The facts come from tests/lib/facts.py, which asks the kernel
without our program, and from the tools of others; the remedies that a line names are run."""
import ctypes
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading

import pytest

# What doctor tells is the machine's: a neighbour's group of probes is one of the systems that it counts in tracefs.
pytestmark = pytest.mark.alone

LIB = pathlib.Path(__file__).resolve().parent.parent / "lib"
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
GENERAL_EVENTS = ["cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles", "stalled-cycles-frontend",
                  "stalled-cycles-backend", "ref-cycles"]


class Case:
    """Doctor and facts under the same conditions: `prefix` is put before both commands."""

    def __init__(self, perf, prefix, environment=None, **known):
        self.perf = perf
        self.prefix = prefix
        self.environment = {**os.environ, **(environment or {})}
        self.known = known

    def run(self, *command, **arguments):
        return subprocess.run([*self.prefix, *map(str, command)], capture_output=True, text=True, check=False, timeout=300, env=self.environment, **arguments)

    def rows(self, *words):
        done = self.run(self.perf, "doctor", "-j", *words)
        assert done.stdout and not done.stderr, done
        return {row["id"]: row for row in json.loads(done.stdout)["rows"]}

    def facts(self):
        done = self.run(PYTHON, "-", sched_switch_id(), input=(LIB / "facts.py").read_text())
        assert done.returncode == 0, done.stderr
        return {**json.loads(done.stdout), **self.known}


def sched_switch_id():
    for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        try:
            return pathlib.Path(path, "events/sched/sched_switch/id").read_text().strip()
        except OSError:
            pass
    return "0"


def state(row, *, ok, limited=False):
    """The row's state is what the facts demand; what is not OK says what it costs."""
    assert row["state"] == ("OK" if ok else "limited" if limited else "missing"), row
    assert row["found"]
    assert bool(row["cost"]) == (row["state"] != "OK"), row
    return row


def right(row, facts, allowed, level):
    state(row, ok=allowed == "yes")
    assert row["facts"]["paranoid"] == facts["paranoid"] and row["facts"]["perfmon"] == facts["perfmon"]
    if facts["perfmon"]:
        assert "CAP_PERFMON" in row["found"]
    elif facts["paranoid"] > 2:
        assert f"perf_event_paranoid is {facts['paranoid']}, " in row["found"]
        assert ("takes as 2" in row["found"]) == (facts["own"] == "yes")
        assert ("allows users nothing" in row["found"]) == (facts["own"] != "yes")
    else:
        assert row["found"].endswith(f"kernel.perf_event_paranoid is {facts['paranoid']}")
    assert row["remedy"] == ("" if allowed == "yes" else f"sudo sysctl kernel.perf_event_paranoid={level}")


def check_kernel(row, facts):
    state(row, ok=True)
    for text in (facts["release"], facts["machine"], f"{facts['cpus']} CPU"):
        assert text in row["found"]
    if facts["machine"] == "x86_64":
        assert ("a virtual machine of" in row["found"]) == facts["hypervisor_flag"]
    lscpu = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
    vendor = re.search(r"^Hypervisor vendor:\s*(\S+)", lscpu, re.MULTILINE)
    if vendor and vendor.group(1) in ("KVM", "VMware", "Xen"):
        assert row["facts"]["hypervisor"] == vendor.group(1)


def check_confinement(row, facts):
    filtered = facts["filter"]
    state(row, ok=not filtered and not facts["namespaces"], limited="perf_event_open" not in filtered)
    assert row["facts"]["seccomp"] == facts["seccomp"] == (2 if filtered else 0)
    assert [kind for kind in row["facts"]["namespaces"].split(",") if kind] == facts["namespaces"]
    for call, answer in filtered.items():
        if call == "perf_event_open" or "perf_event_open" not in filtered:
            assert f"{call}() is answered by {'SIGSYS' if answer == 'KILL' else answer}" in row["found"]
    if "pid" in facts["namespaces"] and not filtered:
        assert "pid 0" in row["cost"]


def check_sandbox(row, facts):
    libc = ctypes.CDLL(None, use_errno=True)
    landlock = max(libc.syscall(444, None, 0, 1), 0)  # landlock_create_ruleset, for its version
    assert row["facts"]["landlock"] == landlock
    state(row, ok=landlock, limited=True)


def check_pmu(row, facts):
    there = [name for name, answer in zip(GENERAL_EVENTS, facts["hardware"]) if answer == "yes"]
    assert [name for name in GENERAL_EVENTS if row["facts"][name] == "yes"] == there
    assert [row["facts"][name] for name in GENERAL_EVENTS] == facts["hardware"]
    assert (row["state"] == "missing") == (not there)
    if not there and "EACCES" not in facts["hardware"] and facts["hypervisor_flag"]:
        assert "hypervisor of this virtual machine" in row["found"]


def check_precise(row, facts):
    levels = [level for level, answer in enumerate(facts["precise"], 1) if answer == "yes"]
    # That it is accepted does not mean that it is done: arm64's driver of 6.1 takes it and samples as ever.
    state(row, ok=row["facts"]["level"])
    assert row["facts"]["level"] in [0, *levels]


def check_branches(row, facts):
    state(row, ok=facts["branches"] == "yes")


def check_lbr(row, facts):
    state(row, ok=facts["call_stack"] == "yes")


def check_clocks(row, facts):
    state(row, ok=facts["clocks"]["mono"] == "yes")
    assert {name: row["facts"][name] for name in facts["clocks"]} == facts["clocks"]
    assert row["facts"]["clocksource"] == facts["clocksource"]


def check_kernel_addresses(row, facts):
    state(row, ok=facts["addresses_shown"])
    assert f"kptr_restrict is {facts['kptr_restrict']}" in row["found"]
    assert bool(row["remedy"]) != facts["addresses_shown"]


def check_buffers(row, facts):
    state(row, ok=facts["ring_kb"] == 512, limited=facts["ring_kb"])
    assert row["facts"]["ring_kb"] == facts["ring_kb"] and row["facts"]["mlock_kb"] == facts["mlock_kb"]
    assert bool(row["remedy"]) == (facts["ring_kb"] < 512)


def check_files(row, facts):
    need = (facts["syscall_events"] or 700) * facts["cpus"] + 256
    assert row["facts"]["needed"] == need
    state(row, ok=facts["files"] < 0 or facts["files"] >= need, limited=True)


def check_sample_rate(row, facts):
    state(row, ok=facts["rate"]["4000"] == "yes", limited=facts["own"] == "yes")
    assert row["facts"]["max_sample_rate"] == facts["max_sample_rate"]


def check_software(row, facts):
    assert list(row["facts"].values())[:12] == facts["software"]
    if facts["own"] != "yes":
        state(row, ok=False)
        return
    state(row, ok=facts["kernel"] == "yes", limited=True)
    # That user-only counts of what happens in the kernel are 0 is what costs: the program sleeps ten times.
    assert (row["facts"]["switches_of_10_sleeps"] > 0) == (facts["kernel"] == "yes")
    assert 64 <= row["facts"]["faults_of_64_pages"] <= 80


def check_breakpoints(row, facts):
    state(row, ok=facts["watchpoint"] == "yes")
    if row["state"] == "OK":
        assert row["facts"]["writes_of_10"] == row["facts"]["calls_of_10"] == 10


def check_tracefs(row, facts):
    state(row, ok=facts["tracefs_readable"])
    if facts["tracefs_readable"]:
        assert row["facts"]["path"] in facts["tracefs_readable"]
        assert f"{facts['tracefs_systems']} systems" in row["found"]
    elif facts["tracefs_mounts"]:
        assert row["facts"]["path"] in facts["tracefs_mounts"] and "may not read" in row["found"]
    else:
        assert row["found"] == "not mounted" and row["remedy"] == "sudo mount -t tracefs nodev /sys/kernel/tracing"


def check_tracepoints(row, facts):
    state(row, ok=facts["getppid_calls"] == 10 and facts["kernel"] == "yes", limited=facts["getppid_calls"] == 10)
    if facts["getppid_calls"] is not None:
        assert row["facts"]["counted_of_10"] == 10


def check_kprobes(row, facts):
    if not facts["kprobe_pmu"]:
        state(row, ok=False)
        assert "this kernel has none" in row["found"]
    else:
        state(row, ok=facts["perfmon"])


def check_uprobes(row, facts):
    if not facts["uprobe_pmu"]:
        state(row, ok=False)
        assert "this kernel has none" in row["found"]
    else:
        state(row, ok=facts["perfmon"])
        if facts["perfmon"]:
            assert row["facts"]["counted_of_10"] == 10


def check_cgroups(row, facts):
    state(row, ok=facts["cgroup"] == "yes")
    if facts["cgroup_root"] and facts["cgroup"] == "yes":
        assert os.path.samefile(row["facts"]["path"], facts["cgroup_root"])


def check_schedstats(row, facts):
    if facts["schedstats"] is None:
        state(row, ok=False)
        assert "keeps none" in row["found"]
    else:
        state(row, ok=facts["schedstats"] == "1", limited=True)


def check_bpf(row, facts):
    kinds = {**facts["bpf"]}
    if facts["uid"] == 0 and shutil.which("bpftool") and not facts["namespaces"]:
        text = subprocess.run(["bpftool", "feature", "probe", "kernel"], capture_output=True, text=True, check=False).stdout
        for kind, available in re.findall(r"eBPF program_type (\w+) is (NOT )?available", text):
            if kind in kinds or kind == "tracing":
                kinds[kind] = "yes" if not available else "no"
    for kind, answer in kinds.items():
        assert (row["facts"][kind] == "yes") == (answer == "yes"), kind
    answers = [row["facts"][kind] == "yes" for kind in ("tracepoint", "raw_tracepoint", "kprobe", "perf_event", "tracing")]
    state(row, ok=all(answers) and row["facts"]["built_in"], limited=any(answers))


def test_programs_of_this_build(perf):
    row = Case(perf, []).rows("bpf")["bpf"]
    if "built_in" in row["facts"]:
        assert row["facts"]["built_in"] == (perf("check", "-q", "feature", "bpf_skeletons").returncode == 0)


def check_btf(row, facts):
    state(row, ok=facts["btf"])
    if facts["btf"] and shutil.which("bpftool"):
        types = subprocess.run(["bpftool", "btf", "dump", "file", "/sys/kernel/btf/vmlinux"], capture_output=True, text=True, check=False).stdout
        if types:
            assert row["facts"]["types"] == sum(line.startswith("[") for line in types.splitlines())


@functools.lru_cache
def frame_pointers_of_libc():
    """The share of the C library's calls' targets that set up a frame pointer, or None when it is not known."""
    library = pathlib.Path("/lib/x86_64-linux-gnu/libc.so.6")
    if not library.exists() or not shutil.which("objdump"):
        return None
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, text=True, check=False).stdout
    targets = len(set(re.findall(r"\tcall +([0-9a-f]+) <", code)))
    return len(re.findall(r"\tmov +%rsp,%rbp", code)) / targets if targets else None


def check_fp(row, facts):
    if facts["callchain"] != "yes":
        state(row, ok=False)
        return
    assert row["facts"]["own"]
    state(row, ok=row["facts"]["library"], limited=True)
    share = frame_pointers_of_libc()
    if share is not None:
        assert row["facts"]["library"] == (share > 0.5)


def check_auto(row, facts):
    state(row, ok=row["facts"]["bpf"], limited=facts["registers_and_stack"] == "yes")
    if facts["bpf"].get("perf_event") != "yes":
        assert not row["facts"]["bpf"]


def check_dwarf(row, facts):
    state(row, ok=facts["registers_and_stack"] == "yes")


def check_kernel_image(row, facts):
    state(row, ok=row["facts"]["path"])
    if not facts["vmlinux"]:
        assert not row["facts"]["path"]


def check_perf_map(row, facts):
    state(row, ok=facts["tmp_writable"])


def check_debuginfod(row, facts):
    if not facts["debuginfod_urls"]:
        state(row, ok=False)
        assert "DEBUGINFOD_URLS is not set" in row["found"] and row["remedy"].startswith("export DEBUGINFOD_URLS=")


CHECKS = {
    "kernel": check_kernel,
    "confinement": check_confinement,
    "sandbox": check_sandbox,
    "pmu": check_pmu,
    "precise": check_precise,
    "branches": check_branches,
    "clocks": check_clocks,
    "own-programs": lambda row, facts: right(row, facts, facts["own"], 2),
    "kernel-code": lambda row, facts: right(row, facts, facts["kernel"], 1),
    "whole-system": lambda row, facts: right(row, facts, facts["system"], 0),
    "tracepoint-data": lambda row, facts: right(row, facts, facts["tracepoint_data"], -1),
    "kernel-addresses": check_kernel_addresses,
    "buffers": check_buffers,
    "files": check_files,
    "sample-rate": check_sample_rate,
    "software": check_software,
    "breakpoints": check_breakpoints,
    "tracefs": check_tracefs,
    "tracepoints": check_tracepoints,
    "kprobes": check_kprobes,
    "uprobes": check_uprobes,
    "cgroups": check_cgroups,
    "schedstats": check_schedstats,
    "bpf": check_bpf,
    "bpf-others": lambda row, facts: state(row, ok=not row["facts"]["programs"], limited=True), # test_others_bpf.py
    "btf": check_btf,
    "auto": check_auto,
    "fp": check_fp,
    "dwarf": check_dwarf,
    "lbr": check_lbr,
    "kernel-image": check_kernel_image,
    "perf-map": check_perf_map,
    "debuginfod": check_debuginfod,
}
NEEDS_PERF = {"pmu", "precise", "branches", "clocks", "own-programs", "kernel-code", "whole-system", "tracepoint-data", "buffers", "sample-rate", "software",
              "breakpoints", "tracepoints", "kprobes", "uprobes", "cgroups", "auto", "fp", "dwarf", "lbr"}


def check_all(case):
    facts, rows = case.facts(), case.rows()
    assert list(rows) == list(CHECKS), "each line has its check, in the order shown"
    for name, row in rows.items():
        if name in NEEDS_PERF and "perf_event_open" in facts["filter"]:
            state(row, ok=False)
            assert "does not get through" in row["found"]
        elif name == "bpf" and "bpf" in facts["filter"]:
            state(row, ok=False)
            assert "does not get through" in row["found"]
        else:
            CHECKS[name](row, facts)


@pytest.fixture
def nobody(perf, root):
    """A prefix that makes a command run as uid 65534."""
    if not shutil.which("setpriv") or subprocess.run([*NOBODY, perf, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("the program cannot be run by another user from where it is")
    return NOBODY


def test_as_root(perf, root):
    check_all(Case(perf, [], filter={}, namespaces=[]))


@pytest.mark.parametrize("level", [-1, 0, 1, 2, 3, 4])
def test_as_nobody(perf, nobody, paranoid, level):
    """Levels above 2: what a mainline kernel makes of them, and what kernels of distributions do, is told by trying."""
    paranoid(level)
    check_all(Case(perf, nobody, filter={}, namespaces=[]))


def unshare(perf, *words):
    prefix = ["unshare", *words]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip(f"{' '.join(prefix)} is refused here")
    return prefix


WITHOUT_TRACEFS = ["sh", "-c", "umount /sys/kernel/tracing 2>/dev/null; umount /sys/kernel/debug/tracing 2>/dev/null; umount /sys/kernel/debug 2>/dev/null; exec \"$@\"", "sh"]


NO_ADMIN = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_without_tracefs(perf, nobody, paranoid, user):
    """Who may not mount it is told the command."""
    paranoid(2)
    case = Case(perf, [*unshare(perf, "--mount"), *WITHOUT_TRACEFS, *(nobody if user == "nobody" else NO_ADMIN)], filter={}, namespaces=[])
    if user == "nobody":
        check_all(case)
    else:  # the kernel denies root without CAP_SYS_ADMIN more than facts.py knows of
        check_tracefs(case.rows("tracefs")["tracefs"], case.facts())
    done = case.run(perf, "record", "-e", "sched:sched_switch", "-o", "/dev/null", "true")
    assert done.returncode and case.rows()["tracefs"]["remedy"] in done.stderr, "record names the same command"


@pytest.mark.parametrize("words", [["record", "-o", "/dev/null", "-e", "sched:sched_switch"], ["stat", "-e", "sched:sched_switch"], ["trace"]], ids=" ".join)
def test_tracefs_is_mounted_by_root(perf, root, tracefs, words):
    """As the kernel's tool does, which the tutorials go by."""
    done = subprocess.run([*unshare(perf, "--mount"), *WITHOUT_TRACEFS, "sh", "-c",
                           'test ! -e /sys/kernel/tracing/events && "$@" && test -e /sys/kernel/tracing/events/sched/sched_switch/id', "sh", perf, *words, "true"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words, kinds", [
    (["--user", "--map-root-user"], ["user"]),
    (["--pid", "--fork", "--mount-proc", "--ipc", "--uts"], ["pid", "ipc", "uts"]),
], ids=["user", "pid"])
def test_in_namespaces(perf, root, paranoid, words, kinds):
    """Root of a user namespace is nobody to perf_event_open()."""
    paranoid(2)
    known = {"perfmon": False} if "user" in kinds else {}
    check_all(Case(perf, unshare(perf, *words), filter={}, namespaces=kinds, **known))


@pytest.mark.parametrize("answers", [{"perf_event_open": "EPERM"}, {"perf_event_open": "ENOSYS"}, {"perf_event_open": "KILL"}, {"bpf": "EPERM"},
                                     {"bpf": "KILL"}, {"perf_event_open": "EACCES", "bpf": "EPERM"}],
                         ids=lambda answers: ",".join(map("=".join, answers.items())))
def test_in_a_container(perf, root, paranoid, answers):
    """Namespaces as a container has them, and a filter that denies."""
    paranoid(2)
    prefix = [*unshare(perf, "--pid", "--fork", "--mount-proc", "--ipc", "--uts", "--cgroup"), PYTHON, LIB / "confine.py",
              *map("=".join, answers.items()), "--"]
    kinds = ["pid", "cgroup", "ipc", "uts"]
    case = Case(perf, prefix, filter=answers, namespaces=kinds)
    check_all(case)
    if "perf_event_open" in answers and answers["perf_event_open"] != "KILL":
        done = case.run(perf, "record", "-o", "/dev/null", "true")
        assert done.returncode == 255 and "--cap-add PERFMON" in done.stderr and "seccomp" in done.stderr, "record says the same"
        assert "--cap-add PERFMON" in case.rows()["confinement"]["remedy"]


def test_no_container_for_files(perf, root):
    """An image of a container that is booted has the file that docker leaves, and yet is none."""
    if not os.path.exists("/.dockerenv"):
        pytest.skip("there is no /.dockerenv")
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
        pytest.skip("this is a container")
    assert "no container" in Case(perf, []).rows("confinement")["confinement"]["found"]


# ---- remedies ----

def fix(row):
    """Runs the command that a line names, as root."""
    assert row["remedy"].startswith("sudo "), row
    subprocess.run(["sh", "-c", row["remedy"].removeprefix("sudo ")], check=True, capture_output=True)


@pytest.mark.parametrize("name", ["own-programs", "kernel-code", "whole-system", "tracepoint-data"])
def test_remedies_of_rights(perf, nobody, paranoid, name):
    paranoid(4)
    case = Case(perf, nobody)
    row = case.rows(name)[name]
    if row["state"] != "OK":
        fix(row)
    assert case.rows(name)[name]["state"] == "OK"


@pytest.fixture
def sysctl(paranoid):
    """Sets others of /proc/sys/kernel for the time of a test, under the same lock."""
    before = {}

    def put(name, value):
        path = pathlib.Path("/proc/sys/kernel", name)
        before.setdefault(path, path.read_text())
        try:
            path.write_text(str(value))
        except OSError:
            pytest.skip(f"kernel.{name} cannot be changed here")
    yield put
    for path, value in before.items():
        path.write_text(value)


@pytest.mark.parametrize("kptr", [0, 1, 2])
def test_remedy_of_kernel_addresses(perf, nobody, paranoid, sysctl, kptr):
    paranoid(2)
    sysctl("kptr_restrict", kptr)
    case = Case(perf, nobody, filter={}, namespaces=[])
    row = case.rows("kernel-addresses")["kernel-addresses"]
    check_kernel_addresses(row, case.facts())
    assert ("kptr_restrict" in row["remedy"]) == (kptr > 0), "only what stands in the way is changed"
    fix(row)
    assert case.rows("kernel-addresses")["kernel-addresses"]["state"] == "OK"


def test_record_names_the_remedy_of_kernel_addresses(perf, nobody, paranoid, sysctl, tmp_path):
    paranoid(1)
    sysctl("kptr_restrict", 1)
    case = Case(perf, nobody)
    remedy = case.rows("kernel-addresses")["kernel-addresses"]["remedy"]
    assert remedy == "sudo sysctl kernel.kptr_restrict=0"
    assert remedy in case.run(perf, "record", "-o", "/dev/null", "true").stderr


def test_remedy_of_buffers(perf, nobody, sysctl, paranoid):
    paranoid(2)
    sysctl("perf_event_mlock_kb", 20)
    case = Case(perf, ["prlimit", "--memlock=0", *nobody], filter={}, namespaces=[])
    row = case.rows("buffers")["buffers"]
    check_buffers(row, case.facts())
    assert row["state"] == "limited"
    fix(row)
    assert case.rows("buffers")["buffers"]["state"] == "OK"
    sysctl("perf_event_mlock_kb", 0)
    row = case.rows("buffers")["buffers"]
    check_buffers(row, case.facts())
    assert row["state"] == "missing"


def test_remedy_of_the_sample_rate(perf, nobody, sysctl):
    sysctl("perf_event_max_sample_rate", 1000)
    case = Case(perf, nobody, filter={}, namespaces=[])
    row = case.rows("sample-rate")["sample-rate"]
    check_sample_rate(row, case.facts())
    assert row["state"] == "limited" and "1000 samples" in row["found"]
    fix(row)
    assert case.rows("sample-rate")["sample-rate"]["state"] == "OK"


def test_remedy_of_files(perf, nobody):
    """The command is for the shell that it is typed in: root runs it for a shell of nobody."""
    case = Case(perf, ["prlimit", "--nofile=300:300", *nobody], filter={}, namespaces=[])
    row = case.rows("files")["files"]
    check_files(row, case.facts())
    assert row["state"] == "limited"
    command = row["remedy"].removeprefix("sudo ")
    assert "$$" in command
    with subprocess.Popen(["prlimit", "--nofile=300:300", *nobody, "sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
        done = subprocess.run(["sh", "-c", command.replace("$$", str(shell.pid))], capture_output=True, text=True, check=False)
        output = shell.communicate(f"'{perf}' doctor -j files\n")[0]
    if "not permitted" in done.stderr:
        pytest.skip("root may not raise the limit of open files here")
    assert done.returncode == 0, done.stderr
    assert json.loads(output)["rows"][0]["state"] == "OK"


# A machine whose /etc and sudo are its own: a mount namespace. $1 is a folder with a copy of /etc and a program that makes root of whoever runs it.
OWN_MACHINE = """
mount --bind "$1/etc" /etc && mount -t tmpfs -o mode=755 none /mnt && install -m 4755 "$1/sudo" /mnt/sudo || exit 1
id someone >/dev/null 2>&1 || useradd -M -s /bin/bash someone || exit 1
PATH="/mnt:$PATH" && shift || exit 1
"$@"
"""
MAKES_ROOT = "#include <unistd.h>\nint main(int c, char **v) { (void)c; return setgid(0) || setuid(0) || execvp(v[1], v + 1); }\n"


def test_remedy_of_tracefs_rights(perf, everybodys, nobody, paranoid, tracefs, tmp_path):
    """What is printed is typed as it is by a user who may call sudo: a group of its own is made, which no other user is in, and the user is in it at once."""
    if not shutil.which("useradd"):
        pytest.skip("no useradd here (package passwd)")
    paranoid(-1)
    case = Case(perf, nobody, filter={}, namespaces=[])
    row = case.rows("tracefs")["tracefs"]
    if row["state"] == "OK":
        pytest.skip("everybody may read tracefs here")
    done = case.run(perf, "record", "-e", "sched:sched_switch", "-o", "/dev/null", "true")
    assert row["remedy"] in done.stderr, "record names the same command"
    subprocess.run(["cp", "-a", "/etc", tmp_path / "etc"], check=True)
    subprocess.run(["cc", "-x", "c", "-o", tmp_path / "sudo", "-"], input=MAKES_ROOT, text=True, check=True)
    then = f"id -gn; stat -c %G {row['facts']['path']}; '{everybodys}' doctor -j tracefs tracepoints; '{everybodys}' record -e sched:sched_switch -o /dev/null true\n"
    inside = [*unshare(perf, "--mount"), "sh", "-c", OWN_MACHINE, "sh", tmp_path]
    try:
        for _ in range(2):  # the second time everything is there already
            done = subprocess.run([*inside, "setpriv", "--reuid", "someone", "--regid", "someone", "--clear-groups", "bash", "-c", row["remedy"]],
                                  input=then, capture_output=True, text=True, check=False, timeout=120)
            lines = done.stdout.splitlines()
            assert lines[:2] == ["tracing", "tracing"], done
            assert [one["state"] for one in json.loads("\n".join(lines[2:]))["rows"]] == ["OK", "OK"]
            assert done.returncode == 0, done.stderr
            assert case.rows("tracefs")["tracefs"]["state"] == "missing", "another user's group is not let in"
    finally:
        subprocess.run(["mount", "-o", "remount,mode=700,gid=0", row["facts"]["path"]], check=True)


def test_remedy_of_missing_tracefs(perf, root):
    prefix = [*unshare(perf, "--mount"), *WITHOUT_TRACEFS]
    command = Case(perf, [*prefix, *NO_ADMIN]).rows("tracefs")["tracefs"]["remedy"].removeprefix("sudo ")
    case = Case(perf, [*prefix, "sh", "-c", f'{command} && exec "$@"', "sh", *NO_ADMIN])
    assert case.rows("tracefs")["tracefs"]["state"] == "OK"


def test_remedy_of_schedstats(perf, root):
    path = pathlib.Path("/proc/sys/kernel/sched_schedstats")
    if not path.exists():
        pytest.skip("this kernel keeps no statistics of the scheduler")
    before = path.read_text()
    try:
        path.write_text("0")
        fix(Case(perf, []).rows("schedstats")["schedstats"])
        assert Case(perf, []).rows("schedstats")["schedstats"]["state"] == "OK"
    finally:
        path.write_text(before)


def test_debuginfod(perf):
    """A server that listens, one that doesn't."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        row = Case(perf, [], {"DEBUGINFOD_URLS": f"http://127.0.0.1:1/ {url}"}).rows("debuginfod")["debuginfod"]
        assert row["state"] in ("OK", "limited") and f"{url} answers" in row["found"]
        server.shutdown()
    row = Case(perf, [], {"DEBUGINFOD_URLS": url}).rows("debuginfod")["debuginfod"]
    assert row["state"] == "missing" and "no server" in row["found"]


# ---- output ----

def test_for_people(perf):
    text = perf("doctor").stdout
    rows = Case(perf, []).rows()
    shown = re.findall(r"^  (OK|limited|missing) +(.+?)  +(.+)$", text, re.MULTILINE)
    assert [title for _, title, _ in shown] == [row["title"] for row in rows.values()]
    assert [state for state, _, _ in shown] == [row["state"] for row in rows.values()]
    for row in rows.values():
        if row["cost"]:
            assert f"costs:  {row['cost']}\n" in text
        if row["remedy"]:
            assert f"fix:    {row['remedy']}\n" in text
    counts = [sum(row["state"] == state for row in rows.values()) for state in ("OK", "limited", "missing")]
    assert text.endswith("\n{} OK, {} limited, {} missing\n".format(*counts))
    assert "\x1b" not in text


def test_rows_by_name(perf, root):
    assert perf("doctor", "kernel").returncode == 0
    done = perf("doctor", "-v", "kernel")
    assert f"release: {os.uname().release}\n" in done.stdout
    missing = [name for name, row in Case(perf, []).rows().items() if row["state"] == "missing"]
    if missing:
        assert perf("doctor", missing[0]).returncode == 1
    wrong = perf("doctor", "trcefs")
    assert wrong.returncode == 129 and "did you mean 'tracefs'?" in wrong.stderr
    assert perf("doctor", "no\x1bname").stderr.count("\x1b") == 0
