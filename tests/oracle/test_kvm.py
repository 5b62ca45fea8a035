"""perf kvm stat against the kernel's perf 6.1, on recordings made by hand: no virtual machine runs where the tests do.

On purpose different: ours prints to standard output, an unknown reason with its number ('--format' has long names whole), and with --vcpu the shortest time, where theirs always has 0."""
import json
import pathlib
import random
import re
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402
import started  # noqa: E402

FIELDS = {"kvm_entry": (1, "vcpu_id/4,rip/8"), "kvm_exit": (2, "exit_reason/4,guest_rip/8,isa/4,info1/8"), "kvm_mmio": (3, "type/4,len/4,gpa/8,val/8"),
          "kvm_pio": (4, "rw/4,port/4,size/4,count/4,val/4"), "kvm_msr": (5, "write/4,ecx/4,data/8,exception/4")}
PROCESSES = {101: 100, 102: 100, 201: 200}
VCPUS = {101: 0, 102: 1, 201: 0}
INTEL, AMD, HYGON = "GenuineIntel,6,85,7", "AuthenticAMD,25,1,1", "HygonGenuine,24,0,1"
REASONS = {INTEL: [0, 1, 10, 12, 28, 30, 31, 32, 48, 48, 49, 52, 55, 75], AMD: [0x40, 0x4e, 0x60, 0x72, 0x78, 0x7b, 0x7c, 0x87, 0x8d, 0x400, 0x400, 0x403, 0x80000010]}


def head(cpu, fields=None, arch="x86_64"):
    fields = fields or FIELDS
    return f"feature hostname box\nfeature arch {arch}\nfeature nrcpus 4\nfeature cpuid {cpu}\n" + "".join(
        f"tracepoint kvm:{name} id={number} fields={words}\n"
        f"event kvm:{name} type=2 config={number} ids={number} sample=IDENTIFIER|IP|TID|TIME|CPU|PERIOD|RAW flags=sample_id_all,comm,task\n"
        for name, (number, words) in fields.items()) + "".join(f"comm pid={pid} tid={tid} name=CPU time=1\n" for tid, pid in PROCESSES.items())


def event(name, time, tid, *values, fields=None):
    number, words = (fields or FIELDS)[name]
    return f"sample id={number} time={time} cpu={tid % 4} pid={PROCESSES[tid]} tid={tid} raw={recording.raw_of(number, words, *values)}\n"


def story(cpu):
    """Three virtual processors; some entries are missing, as are the first ones, and some times go back."""
    chance, time, text = random.Random(cpu), 1000000, head(cpu)
    for _ in range(600):
        tid = chance.choice([101, 102, 201])
        time += chance.randrange(100, 5000)
        text += event("kvm_exit", time, tid, chance.choice(REASONS[cpu]), 0xffff, 1 + (cpu == AMD), 0)
        kind = chance.randrange(6)
        time += chance.randrange(100, 3000)
        if kind == 0:
            text += event("kvm_mmio", time, tid, 2, 4, 0xfee00000 + chance.randrange(3) * 16, 7)
        if kind == 1:
            text += event("kvm_mmio", time, tid, 0, 4, 0xfee00300, 7)
            text += event("kvm_mmio", time + 300, tid, 1, 4, 0xfee00000 + chance.randrange(3) * 16, 7)
        if kind == 2:
            text += event("kvm_pio", time, tid, chance.randrange(2), chance.choice([0x70, 0x71, 0x3f8]), 1, 1, 7)
        if kind == 3:
            text += event("kvm_msr", time, tid, chance.randrange(2), chance.choice([0x6e0, 0x10, 0xc0000080]), 9, 0)
        time += chance.randrange(100, 3000)
        if chance.randrange(20):
            text += event("kvm_entry", time, tid, VCPUS[tid], 0xfff)
    return text


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kvm")
    for cpu in (INTEL, AMD):
        (folder / cpu).write_bytes(recording.make(story(cpu)))
    return folder


@pytest.mark.parametrize("words", [[], ["-k", "time"], ["-p", "200"], ["-p", "100,200", "-k", "time"], ["--vcpu", "0"], ["--vcpu", "1"], ["--vcpu", "7"], ["-p", "4"]], ids=" ".join)
@pytest.mark.parametrize("kind", ["vmexit", "mmio", "ioport", "msr"])
@pytest.mark.parametrize("cpu", [INTEL, AMD])
@pytest.mark.sanitize
def test_report(perf, oracle, recordings, cpu, kind, words):
    words = ["kvm", "-i", recordings / cpu, "stat", "report", f"--event={kind}", *words]
    ours, theirs = perf(*words), oracle(*words)
    assert ours.returncode == 0 and not ours.stderr and not theirs.stdout
    wanted, shown = theirs.stderr, ours.stdout
    if "--vcpu" in words:
        wanted, shown = (re.sub(r"(% +)[\d.]+us", r"\1us", text) for text in (wanted, shown))
        assert " 0.00us" not in re.sub(r"Total.*", "", ours.stdout)
    assert shown == wanted and ("%" in shown.split("\n\n", 3)[-1] or {"7", "4"} & set(words))


def test_what_is_given_before_the_words(perf, recordings, tmp_path):
    """-i before "stat", or with report; without, the recording is called as the kernel's tool calls it."""
    shown = perf("kvm", "-i", recordings / INTEL, "stat", "report").stdout
    assert perf("kvm", "stat", "report", "-i", recordings / INTEL).stdout == shown == perf("kvm", "-i", recordings / INTEL, "stat", "rep").stdout
    for options, name in ([], "guest"), (["--guest"], "guest"), (["--no-guest"], "guest"), (["--host"], "kvm"), (["--host", "--guest"], "kvm"), (["--host", "--no-guest"], "host"):
        (tmp_path / f"perf.data.{name}").write_bytes((recordings / INTEL).read_bytes())
        assert perf("kvm", *options, "stat", "report", cwd=tmp_path).stdout == shown
        listed = perf("kvm", *options, "buildid-list", cwd=tmp_path)
        assert listed.returncode == 0
        told = perf("kvm", *options, "report", "--stdio", cwd=tmp_path)
        assert told.returncode == 0 and "kvm:kvm_exit" in told.stdout and ("100.00%" in told.stdout) == (name != "guest")
        (tmp_path / f"perf.data.{name}").unlink()
        assert f"perf.data.{name}: " in perf("kvm", *options, "stat", "report", cwd=tmp_path).stderr
    for name in ("guest", "host"):
        (tmp_path / f"perf.data.{name}").write_bytes((recordings / INTEL).read_bytes())
    assert "kvm:kvm_exit" in perf("kvm", "diff", cwd=tmp_path).stdout
    assert "kvm:kvm_exit" in perf("kvm", "diff", "-s", "pid", recordings / INTEL, recordings / AMD, cwd=tmp_path).stdout


def test_numbers_for_programs(perf, recordings):
    rows = [json.loads(line) for line in perf("kvm", "stat", "report", "-i", recordings / INTEL, "--format", "json").stdout.splitlines()]
    assert rows == [json.loads(line) for line in perf("kvm", "stat", "report", "-i", recordings / INTEL, "-j").stdout.splitlines()]
    text = re.findall(r"^ +(\S+) +(\d+) +[\d.]+% +[\d.]+% +([\d.]+)us +([\d.]+)us +([\d.]+)us \( \+- +([\d.]+)% \)$",
                      perf("kvm", "stat", "report", "-i", recordings / INTEL).stdout, re.M)
    assert len(rows) > 10 and [(row["key"], str(row["count"])) for row in rows] == [line[:2] for line in text]
    for row, line in zip(rows, text):
        assert (row["event"], row["avg"]) == ("vmexit", row["time"] // row["count"])
        assert [f"{row[name] / 1000:.2f}" for name in ("min", "max")] == list(line[2:4]) and f"{row['deviation']:.2f}" == line[5]


def test_arm(perf, tmp_path):
    """Traps are told apart by their class; what isn't a trap by what it is. Of a class that has no name here, the number."""
    fields = {"kvm_entry": (1, "vcpu_id/4,vcpu_pc/8"), "kvm_exit": (2, "ret/4,esr_ec/4,vcpu_pc/8")}
    text, time = head("0x00000000410fd083", fields, "aarch64") + event("kvm_entry", 500, 101, 3, 0, fields=fields), 1000
    for length, ret, trap in ((10, 0, 0), (20, 2, 0), (30, 2, 0x24), (50, 2, 0x24), (70, 2, 0x01), (90, 2, 0x3f), (110, 1, 0), (5, 0xbadca11, 0)):
        text += event("kvm_exit", time, 101, ret, trap, 0, fields=fields) + event("kvm_entry", time + length, 101, 3, 0, fields=fields)
        time += 1000
    (tmp_path / "arm.data").write_bytes(recording.make(text))
    rows = [json.loads(line) for line in perf("kvm", "stat", "report", "-i", tmp_path / "arm.data", "--format", "json", "-k", "time").stdout.splitlines()]
    assert [(row["key"], row["count"], row["time"]) for row in rows] == [
        ("EL1_SERROR", 1, 110), ("UNKNOWN(63)", 1, 90), ("WFx", 1, 70), ("DABT_LOW", 2, 80), ("UNKNOWN", 1, 20), ("IRQ", 1, 10), ("HYP_GONE", 1, 5)]


def test_without_the_field_of_the_extension(perf, tmp_path):
    """Old kernels: the processor decides. 200 is no reason of Intel's that has a name."""
    fields = {**FIELDS, "kvm_exit": (2, "exit_reason/4,guest_rip/8,info1/8")}
    for cpu, name in ((INTEL, "UNKNOWN(114)"), (AMD, "cpuid"), (HYGON, "cpuid")):
        text = head(cpu, fields) + event("kvm_entry", 500, 101, 0, 0) + event("kvm_exit", 1000, 101, 0x72, 0, 0, fields=fields) + event("kvm_entry", 1500, 101, 0, 0)
        (tmp_path / "old.data").write_bytes(recording.make(text))
        assert re.search(rf"^ +{re.escape(name)} +1 +100.00%", perf("kvm", "stat", "report", "-i", tmp_path / "old.data").stdout, re.M)


@pytest.mark.parametrize("words, text", [
    (["stat", "report", "--event=bogus"], "the events are vmexit, mmio, ioport and msr"), (["stat", "report", "-k", "bogus"], "the keys are sample and time"),
    (["stat", "report", "--vcpu", "-1"], "not the number of a virtual processor"), (["stat", "report", "-p", "x"], "expected the ids of processes"),
    (["stat", "report", "x"], "give the recording with -i"), (["stat", "live", "-a", "-p", "1"], "cannot be combined"), (["bogus"], "unknown subcommand 'bogus'"), ([], "which subcommand?"),
    (["stat", "live", "-d", "0"], "at least a second")])
def test_mistakes(perf, words, text):
    done = perf("kvm", *words)
    assert done.returncode == 129 and text in done.stderr


GUEST_LIST = """ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81d35000 T one_function
ffffffff81e00000 T _etext
ffffffff821e0000 t other_function
ffffffff82400000 T final
ffffffffc0100000 t mod_first\t[guest_mod]
ffffffffc0100100 t mod_second\t[guest_mod]
"""
GUEST_MODULES = "guest_mod 16384 0 - Live 0xffffffffc0100000\nhidden_mod 4096 0 - Live 0x0000000000000000\n"


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    """What a host records of its guest: addresses of its kernel, as the kernel's tool tells of it, and of a program in it; at the same addresses the host has a module."""
    folder = tmp_path_factory.mktemp("guest")
    text = """feature arch x86_64
event cycles:G type=0 config=0 sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,comm,exclude_host
mmap pid=0 tid=0 addr=0xffffffffc0100000 len=0x4000 pgoff=0 misc=4 name=[guest_mod]
mmap pid=0 tid=0 addr=0xffffffff81000000 len=0xe00000 pgoff=0xffffffff81000000 misc=4 name=[guest.kernel.kallsyms]_text
mmap pid=-1 tid=0 addr=0xffffffff81000000 len=0xe00000 pgoff=0xffffffff81000000 misc=1 name=[kernel.kallsyms]_text
mmap pid=-1 tid=0 addr=0xffffffffc0100000 len=0x4000 pgoff=0 misc=1 name=[host_mod]
comm pid=1 tid=1 name=qemu time=1
"""
    for number, (address, mode) in enumerate([(0xffffffff81d35010, 4), (0xffffffff81d35020, 4), (0xffffffff821e0123, 4), (0xffffffffc0100050, 4), (0xffffffffc0100150, 4),
                                              (0xffffffffc0109000, 4), (0x401000, 5)]):
        text += f"sample ip={address:#x} misc={mode} pid=1 tid=1 time={number + 5} period=1000\n"
    (folder / "guest.data").write_bytes(recording.make(text))
    (folder / "kallsyms").write_text(GUEST_LIST)
    (folder / "modules").write_text(GUEST_MODULES)
    (folder / "hidden").write_text(GUEST_MODULES.replace("ffffffffc0100000", "0000000000000000"))
    return folder


def rows_of(output):
    return sorted(line.split(None, 1)[1].split() for line in output.splitlines() if "%" in line and not line.startswith("#"))


def test_guests_symbols(perf, oracle, guest):
    """By the guest's own lists, before and behind the subcommand; as the kernel's tool has it."""
    symbols = ["--guestkallsyms", guest / "kallsyms", "--guestmodules", guest / "modules"]
    theirs = oracle("kvm", "--guest", *symbols, "-i", guest / "guest.data", "report", "--stdio", "-s", "dso,sym").stdout
    ours = perf("kvm", *symbols, "-i", guest / "guest.data", "report", "--stdio", "-s", "dso,sym").stdout
    assert ["[guest_mod]", "[g]", "mod_second"] in rows_of(ours) and len(rows_of(ours)) == 6
    known = [row for row in rows_of(theirs) if row[0] != "[unknown]"]
    assert [row for row in rows_of(ours) if row[0] != "[unknown]"] == known and len(known) == 4
    assert rows_of(perf("report", *symbols, "-i", guest / "guest.data", "--stdio", "-s", "dso,sym").stdout) == rows_of(ours)
    fields = ["-F", "ip,sym,dso"]
    lines = perf("script", *symbols, "-i", guest / "guest.data", *fields).stdout.split("\n")
    assert lines[2].split() == ["ffffffff821e0123", "other_function", "([guest.kernel.kallsyms])"]
    assert lines[:6] == oracle("script", *symbols, "-i", guest / "guest.data", *fields).stdout.split("\n")[:6]
    assert "mod_first" in perf("export", "folded", *symbols, "-i", guest / "guest.data").stdout


def test_guests_that_are_mounted(perf, oracle, guest, tmp_path):
    """Two guests with other functions at the same addresses; what runs in a third one has no names."""
    for pid, name in ((1, "kallsyms"), (2, None)):
        proc = tmp_path / "mounted" / str(pid) / "proc"
        proc.mkdir(parents=True)
        (proc / "kallsyms").write_text(GUEST_LIST if name else "ffffffff81000000 T _text\nffffffff81d35000 T own_of_two\n")
        (proc / "modules").write_text(GUEST_MODULES if name else "")
    (tmp_path / "mounted" / "notes").mkdir()
    text = "feature arch x86_64\nevent cycles:G type=0 config=0 sample=IP|TID|TIME|PERIOD flags=sample_id_all,mmap,comm,exclude_host\n"
    text += "".join(f"comm pid={pid} tid={pid} name=qemu time=1\n" for pid in (1, 2, 3))
    for number, (pid, address) in enumerate([(1, 0xffffffff81d35010), (2, 0xffffffff81d35010), (3, 0xffffffff81d35010), (1, 0xffffffffc0100150), (2, 0xffffffffc0100150)]):
        text += f"sample ip={address:#x} misc=4 pid={pid} tid={pid} time={number + 5} period=1000\n"
    (tmp_path / "guests.data").write_bytes(recording.make(text))
    words = ["--guestmount", tmp_path / "mounted", "-i", tmp_path / "guests.data"]
    ours = rows_of(perf("kvm", *words, "report", "--stdio", "-s", "pid,dso,sym").stdout)
    first = "one_function"
    assert ["1:qemu", "[guest.kernel.kallsyms.1]", "[g]", first] in ours and ["2:qemu", "[guest.kernel.kallsyms.2]", "[g]", "own_of_two"] in ours
    assert ["1:qemu", "[guest_mod]", "[g]", "mod_second"] in ours and ["3:qemu", "[unknown]", "[g]", "0xffffffff81d35010"] in ours and len(ours) == 5
    assert "own_of_two" in perf("script", *words, "-F", "ip,sym").stdout
    (tmp_path / "mounted/2/proc/kallsyms").unlink()
    done = perf("report", *words, "--stdio", "-s", "sym")
    assert done.returncode == 0 and "guest of process 2 has no symbols" in done.stderr and first in done.stdout
    for name in ("kallsyms", "modules"):
        (tmp_path / f"mounted/2/proc/{name}").unlink(missing_ok=True)
        (tmp_path / f"mounted/2/proc/{name}").symlink_to("/dev/zero")
        done = perf("report", *words, "--stdio", "-s", "sym")
        assert done.returncode == 0 and f"guest of process 2 has no symbols: {tmp_path}/mounted/2/proc/{name} is not a regular file" in done.stderr and first in done.stdout
        (tmp_path / f"mounted/2/proc/{name}").unlink()
        (tmp_path / f"mounted/2/proc/{name}").write_text("ffffffff81000000 T _text\nffffffff81d35000 T own_of_two\n")


def test_guests_without_symbols(perf, guest):
    """What the host has at the same addresses is no answer."""
    output = perf("kvm", "-i", guest / "guest.data", "report", "--stdio", "-s", "dso,sym").stdout
    assert {row[0] for row in rows_of(output)} == {"[unknown]"}


def test_guests_image(perf, guest, tmp_path):
    """An image without a list is where it was linked, with one where the list says."""
    source, image = tmp_path / "kernel.c", tmp_path / "vmlinux"
    source.write_text("void _text(void) {} void one_function(void) {} void _start(void) {}\n")
    subprocess.run(["gcc", "-O0", "-nostdlib", "-static", "-ffunction-sections", "-Wl,-Ttext=0xffffffff81d35000,--section-start=.text.one_function=0xffffffff82000000", "-mcmodel=kernel",
                    "-fno-pie", "-no-pie", "-o", image, source], check=True)
    symbols = subprocess.run(["nm", image], check=True, capture_output=True, text=True).stdout
    place = int(re.search(r"^(\w+) T one_function", symbols, re.M).group(1), 16)
    text = int(re.search(r"^(\w+) T _text", symbols, re.M).group(1), 16)
    for moved, more in ((0, []), (0x200000, ["--guestkallsyms", tmp_path / "kallsyms"])):
        (tmp_path / "kallsyms").write_text(f"{text + moved:x} T _text\n{text + moved + 1:x} T other\n")
        (tmp_path / "image.data").write_bytes(recording.make(f"event cycles:G type=0 config=0\nsample ip={place + moved:#x} misc=4 pid=1 tid=1 time=5\n"))
        assert "one_function" in perf("script", "-i", tmp_path / "image.data", "--guestvmlinux", image, *more, "-F", "ip,sym").stdout
        code = perf("annotate", "--stdio", "-i", tmp_path / "image.data", "--guestvmlinux", image, *more, "one_function").stdout
        assert re.search(r"100.00 : +" + f"{place:x}:" + r"\s+push +%rbp", code), code
    names = tmp_path / "names"
    names.write_text(f"{text:x} T _text\n{place:x} T one_function\n")
    (tmp_path / "image.data").write_bytes(recording.make(f"event cycles:G type=0 config=0\nsample ip={place:#x} misc=4 pid=1 tid=1 time=5\n"))
    assert "--guestvmlinux names the guest's kernel image" in perf("annotate", "--stdio", "-i", tmp_path / "image.data", "--guestkallsyms", names, "one_function").stderr


def test_guests_code_in_the_hypervisor(perf, guest, tmp_path):
    text = "event cycles:G type=0 config=0\nmmap pid=1 tid=1 addr=0x401000 len=0x1000 pgoff=0x1000 name=/bin/hypervisor time=1\n"
    (tmp_path / "code.data").write_bytes(recording.make(text + "".join(f"sample ip=0x401010 misc={mode} pid=1 tid=1 time=5\n" for mode in (4, 5))))
    for command in (["script", "-F", "ip,dso"], ["report", "--stdio", "-s", "dso"]):
        assert "hypervisor" not in perf(*command, "-i", tmp_path / "code.data").stdout
        output = perf(*command, "--guest-code", "-i", tmp_path / "code.data").stdout
        assert "hypervisor" in output and "unknown" not in output


@pytest.mark.parametrize("words, text", [
    (["--guestkallsyms", "/nowhere"], "/nowhere: No such file"), (["--guestkallsyms", "/dev/null"], "no address of _text"), (["--guestvmlinux", "/dev/null"], "/dev/null"),
    (["--guestmodules", "modules"], "add --guestkallsyms"), (["--guestkallsyms", "kallsyms", "--guestmodules", "/nowhere"], "/nowhere: No such file"),
    (["--guestkallsyms", "kallsyms", "--guestmodules", "hidden"], "hidden: no addresses of modules"),
    (["--guestmount", "/x"], "--guestmount: /x: No such file"), (["--guestmount", "."], "has no folder that is called by the number of a process")])
def test_guests_mistakes(perf, guest, words, text):
    for command in (["kvm", *words, "-i", "guest.data", "report", "--stdio"], ["script", *words, "-i", "guest.data"]):
        done = perf(*command, cwd=guest)
        assert done.returncode != 0 and text in done.stderr


def test_recordings_without_the_events(perf, recordings, tmp_path):
    (tmp_path / "flat.data").write_bytes(recording.Maker("event cycles type=0 config=0\nsample ip=0x400100 pid=1 tid=1 time=5\n").make())
    done = perf("kvm", "stat", "report", "-i", tmp_path / "flat.data")
    assert done.returncode == 255 and "no kvm:kvm_entry events; record them with 'perf kvm stat record'" in done.stderr


def test_words_go_to_the_other_commands(perf, tmp_path, live):
    """What isn't a word of kvm's is one of perf stat; record and top measure guests, and what -e says."""
    assert "task-clock" in perf("kvm", "stat", "-e", "task-clock", "true").stderr
    done = perf("kvm", "--host", "--no-guest", "record", "-e", "task-clock:u", "true", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "perf.data.host").exists(), done.stderr
    assert "task-clock:u" in perf("evlist", "-i", tmp_path / "perf.data.host").stdout
    done = perf("kvm", "-o", tmp_path / "mine", "record", "-e", "task-clock:u", "true", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "mine").exists()
    done = perf("kvm", "record", "true", cwd=tmp_path)
    if perf("stat", "-e", "cycles", "true").stderr.count("<not supported>"):
        assert done.returncode == 255 and "by hardware counters only" in done.stderr
    else:
        assert "cycles:G" in perf("evlist", "-i", tmp_path / "perf.data.guest").stdout


def test_live(perf, tmp_path, live_system, tracefs):
    """As far as it goes where no virtual machine runs: tables of nothing, until Ctrl-C. What is recorded has the events, too."""
    if not (tracefs / "events/kvm/kvm_exit").exists():
        pytest.skip("the kernel has no tracepoints of KVM: the module is not loaded")
    process = subprocess.Popen([str(perf), "kvm", "stat", "live", "--event=mmio", "--vcpu", "2", "--duration", "10"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started.until_it_measures(process.pid, signal.SIGINT)
    process.send_signal(signal.SIGINT)
    shown, told = process.communicate(timeout=300)
    assert process.returncode == 0 and not told
    assert "Analyze events for all VMs, VCPU 2:\n\n         MMIO Access    Samples" in shown and shown.endswith("Total Samples:0, Total events handled time:0.00us.\n\n")
    done = perf("kvm", "stat", "record", "-a", "true", cwd=tmp_path)
    names = perf("evlist", "-i", tmp_path / "perf.data.guest").stdout.split()
    assert done.returncode == 0 and {"kvm:kvm_entry", "kvm:kvm_exit"} <= set(names) and all((tracefs / "events" / name.replace(":", "/")).exists() for name in names if "kvm" in name)
    assert "Total Samples:" in perf("kvm", "stat", "report", cwd=tmp_path).stdout


SIDES = [], ["--host"], ["--host", "--no-guest"]


def both_sides(rounds):
    """Samples of a hypervisor, its VCPU's host side, its guest's kernel and programs, and of another process."""
    lines = ["feature hostname box", "feature arch x86_64", "feature event_desc",
             "event cycles type=0 config=0 freq=1000 sample=IP|TID|TIME|CPU|PERIOD|IDENTIFIER ids=1 flags=sample_id_all,comm,mmap,mmap2,task",
             "mmap pid=-1 tid=0 addr=0xffffffff82000000 len=0x1000000 pgoff=0xffffffff82000000 misc=1 name=[kernel.kallsyms]_text"]
    for pid, tid, name in (100, 100, "qemu"), (100, 101, "CPU"), (7, 7, "other"):
        lines.append(f"comm pid={pid} tid={tid} name={name}")
        if pid == tid:
            lines.append(f"mmap2 pid={pid} tid={pid} addr=0x400000 len=0x1000 pgoff=0 maj=8 min=1 ino={pid} prot=5 flags=2 name=/usr/bin/{name}")
    for i in range(10 * rounds):
        for every, ip, pid, tid, period, misc in ((1, 0x400023 + i % 10 * 0x100, 100, 100, 7 + rounds, 2), (1, 0xffffffff82000123 + i % 10 * 0x10000, 100, 101, 5, 1),
                                                  (2, 0xffffffff81000000 + i % 5 * 0x1000, 100, 101, 3, 4), (3, 0x7f000000 + i % 5 * 0x1000, 100, 101, 11, 5), (4, 0x400100, 7, 7, 9, 2)):
            if i % every == 0:
                lines.append(f"sample event=0 ip={ip:#x} pid={pid} tid={tid} time={1000 + i * 100 + every} cpu={every % 2} period={period} id=1 misc={misc}")
    return recording.make("\n".join(lines))


def table(done):
    assert done.returncode == 0, done.stderr
    return [line.rstrip() for line in done.stdout.splitlines() if line and line != "#" and "(Tip: " not in line]


@pytest.mark.parametrize("sides", SIDES, ids=" ".join)
@pytest.mark.sanitize
def test_report_of_one_side(perf, oracle, tmp_path, sides):
    """Guests alone, unless --host says otherwise. A guest's thread has the hypervisor's name here, none there."""
    for name, rounds in ("a", 1), ("b", 2):
        (tmp_path / name).write_bytes(both_sides(rounds))
        for keys in "dso,sym", "sym", "pid,sym", "comm,sym,cpu", "comm,dso":
            ours, theirs = (table(program("kvm", *sides, "-i", tmp_path / name, "report", "--stdio", "-n", "-s", keys)) for program in (perf, oracle))
            renamed = [re.sub(r":101( *)(?=$| )", r"CPU \1", line).rstrip() for line in theirs]
            assert ours == renamed, keys
            assert [mode for mode in ("[u]", "[g]", "[k]", "[.]") if mode in "".join(ours) or "sym" not in keys] == ["[u]", "[g]", "[k]", "[.]"][
                2 * (sides == SIDES[2]):4 - 2 * (not sides)] or "sym" not in keys


@pytest.mark.parametrize("sides", SIDES, ids=" ".join)
def test_diff_of_one_side(perf, oracle, tmp_path, sides):
    """By default the host's recording and the guests'; without guests the two that there are otherwise, too. Rows of a guest and its host are never
    one here, and shares are of all samples."""
    for names, rounds in (("host", "old"), 1), (("guest", ""), 2):
        for name in names:
            (tmp_path / f"perf.data.{name}".rstrip(".")).write_bytes(both_sides(rounds))
    words = ["kvm", *sides, "diff", "-s", "comm,dso"]
    ours, theirs = (table(program(*words, cwd=tmp_path)) for program in (perf, oracle))
    assert ours == [re.sub(r":101", "CPU ", line) for line in theirs] and len(ours) > 3
    (tmp_path / "perf.data.host").unlink()
    assert "perf.data.old: " not in perf(*words, cwd=tmp_path).stderr
    assert (perf(*words, cwd=tmp_path).returncode == 0) == (sides == SIDES[2])
    rows = [line.split() for line in table(perf("kvm", *sides, "diff", "-s", "cpu", "perf.data.old", "perf.data", cwd=tmp_path)) if line[0] != "#"]
    shares = [sum(float(row[0].rstrip("%")) for row in rows), sum(float(row[1].rstrip("%")) for row in rows)]
    assert shares == pytest.approx({0: [27.31, -2.55], 1: [100, 0], 2: [72.69, 2.55]}[SIDES.index(sides)], abs=0.02)


def test_hits_of_one_side(perf, oracle, tmp_path):
    (tmp_path / "a").write_bytes(both_sides(1))
    for sides in SIDES:
        ours, theirs = (program("kvm", *sides, "-i", tmp_path / "a", "buildid-list", "-H").stdout for program in (perf, oracle))
        assert ours == theirs and ("qemu" in ours) == bool(sides)


def test_events_of_one_side(perf, oracle, tmp_path):
    """What -e names measures the side, too, unless its modifiers say which. With u and p the kernel's tool forgets it."""
    for sides in SIDES:
        for event in "cpu-clock", "cpu-clock:G", "cpu-clock:H", "sched:sched_switch":
            bits = []
            for program in perf, oracle:
                assert program("kvm", *sides, "-o", tmp_path / "out", "record", "-e", event, "true").returncode in (0, 1)
                shown = oracle("evlist", "-v", "-i", tmp_path / "out").stdout.splitlines()[0]
                bits.append(re.findall(r"exclude_(?:host|guest): 1", shown))
            assert bits[0] == bits[1], (sides, event)
