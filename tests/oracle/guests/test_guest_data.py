"""Recordings of guests inside the host's (perf inject --guest-data): what both tools make of the same two recordings, read by both."""
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
import recording  # noqa: E402

SAMPLE = "IP|TID|TIME|CPU|PERIOD|IDENTIFIER"
FLAGS = "sample_id_all,comm,mmap,mmap2,task,context_switch"
GUEST_KERNEL = 0xffffffff81000000
PID = 100  # of the hypervisor; a process of the guest has the same number
SHOWN = ["--show-mmap-events", "--show-task-events", "--show-switch-events", "--ns", "-F", "comm,pid,tid,cpu,time,event,ip,dso,misc,machine_pid,vcpu"]
SIDEBAND = "PERF_RECORD_"


def host(sample=SAMPLE, init=True, names=("CPU\\ 0/KVM", "CPU\\ 1/KVM"), extra=(), ids="1,2"):
    """Two VCPUs of process 100, which change places each microsecond."""
    lines = ["feature hostname box", "feature event_desc", f"event cpu-clock type=1 config=0 freq=1000 sample={sample} ids={ids} flags={FLAGS}",
             "id_index entries=1/0/0/-1,2/1/1/-1", *extra,
             "mmap pid=-1 tid=0 addr=0xffffffff82000000 len=0x1000000 pgoff=0xffffffff82000000 misc=1 name=[kernel.kallsyms]_text",
             f"comm pid={PID} tid={PID} name=qemu"]
    lines += [f"comm pid={PID} tid={PID + 1 + i} name={name}" for i, name in enumerate(names)]
    lines.append(f"mmap2 pid={PID} tid={PID} addr=0x400000 len=0x1000 pgoff=0 maj=8 min=1 ino=9 prot=5 flags=2 name=/usr/bin/qemu")
    if init:
        lines.append("finished_init")
    for turn in range(1, 6):
        time, cpu = turn * 1000, turn % 2
        lines.append(f"switch out=0 pid={PID} tid={PID + 1} time={time} id={cpu + 1} cpu={cpu}")
        lines.append(f"switch out=0 pid={PID} tid={PID + 2} time={time + 5} id={2 - cpu} cpu={1 - cpu}")
        lines.append(f"sample event=0 ip=0x400123 pid={PID} tid={PID + 1} time={time + 100} cpu={cpu} period=7 id={cpu + 1}")
        lines.append("round")
    return lines


def guest(sample=SAMPLE, extra=(), later=50, samples=True, name="/opt/known", offset=0):
    """Its kernel, its process 100, which is called otherwise again and again, and samples of both."""
    lines = ["feature hostname vm", "feature event_desc", "feature build_id 00112233445566778899aabbccddeeff00112233 /opt/known",
             f"event cycles type=0 config=0 freq=1000 sample={sample} ids=1,2 flags={FLAGS}",
             f"event dummy:u type=1 config=9 freq=1 sample={sample} ids=11,12 flags={FLAGS}",
             "id_index entries=1/0/0/-1,2/1/1/-1,11/0/0/-1,12/1/1/-1", *extra,
             f"mmap pid=-1 tid=0 addr={GUEST_KERNEL:#x} len=0x1000000 pgoff={GUEST_KERNEL:#x} misc=1 name=[kernel.kallsyms]_text",
             "comm pid=100 tid=100 name=init",
             f"mmap2 pid=100 tid=100 addr=0x400000 len=0x100000 pgoff=0 maj=8 min=1 ino=5 prot=5 flags=2 name={name}",
             "finished_init"]
    for turn in range(1, 6):
        time = turn * 1000 + later + offset
        if samples:
            lines.append(f"sample event=0 ip=0x400200 pid=100 tid=100 time={time} cpu=0 period=3 id=1")
            lines.append(f"sample event=0 ip={GUEST_KERNEL + 0x200:#x} pid=100 tid=100 time={time + 10} cpu=1 period=3 id=2 misc=1")
        lines.append(f"comm pid=100 tid=100 name=n{turn} time={time + 20} id=11 cpu=0 misc=0")
        lines.append(f"mmap2 pid=100 tid=100 addr=0x{turn}0000000 len=0x1000 pgoff=0 maj=8 min=1 ino={turn} prot=5 flags=2 name=/opt/f{turn} "
                     f"time={time + 30} id=12 cpu=1 misc=2")
        lines.append(f"fork pid={200 + turn} ppid=100 tid={200 + turn} ptid=100 time={time + 35} id=12 cpu=1 misc=0")
        lines.append("round")
    return lines


def write(folder, name, lines, **options):
    path = folder / name
    path.write_bytes(recording.make("\n".join(lines), **options))
    return path


def pair(folder, of_host=None, of_guest=None, **options):
    return write(folder, "host.data", of_host or host(), **options), write(folder, "guest.data", of_guest or guest(), **options)


def merge(program, folder, name, arguments="", pid=PID, words=()):
    done = program("inject", "-i", folder / "host.data", "-o", folder / name, f"--guest-data={folder}/guest.data,{pid}{arguments}", *words)
    return folder / name, done


def merged(program, folder, name, arguments="", **how):
    path, done = merge(program, folder, name, arguments, **how)
    assert done.returncode == 0, done.stderr
    return path


def shown(program, path, *words):
    done = program("script", "-i", path, *(words or SHOWN))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def sideband(lines):
    return [line for line in lines if SIDEBAND in line]


@pytest.mark.parametrize("form", [{"compress": True}, {"swap": True}], ids=["compressed", "swapped"])
def test_forms(perf, tmp_path, form):
    """The kernel's tool puts nothing into compressed recordings, and mixes up those of the other byte order."""
    pair(tmp_path)
    wanted = shown(perf, merged(perf, tmp_path, "wanted"))
    pair(tmp_path, **form)
    assert shown(perf, merged(perf, tmp_path, "out")) == wanted


@pytest.mark.sanitize
def test_all_four_ways(perf, oracle, tmp_path):
    """Both tools put the same in but for samples, which the kernel's leaves out; and read the same from both."""
    pair(tmp_path)
    ours, theirs = merged(perf, tmp_path, "ours"), merged(oracle, tmp_path, "theirs")
    assert shown(perf, theirs) == shown(oracle, theirs)
    assert shown(perf, ours) == shown(oracle, ours)
    assert sideband(shown(perf, ours)) == sideband(shown(oracle, theirs))
    assert len([line for line in shown(perf, ours) if line.startswith(f"VM:  {PID}") and SIDEBAND not in line]) == 10
    assert not [line for line in shown(perf, theirs) if line.startswith("VM:") and SIDEBAND not in line]
    index = [[line for line in program("script", "-D", "-i", ours).stdout.splitlines() if line.startswith(" ... id:")] for program in (perf, oracle)]
    assert index[0] == index[1] and len([line for line in index[0] if "machine_pid: 100" in line]) == 4
    assert oracle("evlist", "-v", "-i", ours).stdout == oracle("evlist", "-v", "-i", theirs).stdout == perf("evlist", "-v", "-i", ours).stdout


def test_without_samples_nothing_else_differs(perf, oracle, tmp_path):
    pair(tmp_path, of_guest=guest(samples=False))
    assert shown(perf, merged(perf, tmp_path, "ours")) == shown(oracle, merged(oracle, tmp_path, "theirs"))


HOST_CLOCK = "time_conv shift=4 multiplier=32 zero=100 cycles={0} mask={1} cap_zero={2} cap_short={3}"
GUEST_CLOCK = "time_conv shift=3 multiplier=4 zero=10 cycles={0} mask={1} cap_zero={2} cap_short={3}"
PLAIN, SHORT, UNTOLD = (0, 0, 1, 0), (1000, 0xfff, 1, 1), (0, 0, 0, 0)


@pytest.mark.parametrize("of_host, of_guest, arguments", [
    (None, None, ",200"), (None, None, ",0x200"), (None, None, ",-200"), (None, None, ",0xffffffffffffff38"), (None, None, ",0,0.5"), (None, None, ",100,2"),
    (PLAIN, None, ""), (None, PLAIN, ""), (PLAIN, PLAIN, ""), (PLAIN, PLAIN, ",64,2"), (UNTOLD, UNTOLD, ""), (SHORT, SHORT, ""), (PLAIN, SHORT, ""), (SHORT, PLAIN, "")])
def test_times(perf, oracle, tmp_path, of_host, of_guest, arguments):
    """The guest's clock, the offset and scale of its counter, the host's clock: as the kernel's tool converts them."""
    pair(tmp_path, host(extra=[HOST_CLOCK.format(*of_host)] if of_host else []), guest(extra=[GUEST_CLOCK.format(*of_guest)] if of_guest else []))
    times = []
    for program in (perf, oracle):
        path = merged(program, tmp_path, "out", arguments)
        lines = shown(perf, path, "--show-task-events", "--show-mmap-events", "--ns", "-F", "time,machine_pid,event")
        times.append([line for line in lines if line.startswith("VM:") and SIDEBAND in line])
    assert times[0] == times[1] and len(times[0]) == 18


def test_long_times_are_exact(perf, tmp_path):
    """The kernel's tool computes with floating-point numbers, which have 53 bits."""
    start = 1 << 60
    pair(tmp_path, of_guest=guest(offset=start))
    lines = [line for line in shown(perf, merged(perf, tmp_path, "out", f",{start}"), "--ns", "-F", "time,machine_pid") if line.startswith("VM:")]
    assert [line.split()[-1] for line in lines[:3]] == ["0.000001050:", "0.000001060:", "0.000002050:"]


@pytest.mark.parametrize("arguments, count", [("", 0), (",1000000,0.5", 25), (",0,1e-18", 25), (",0,1e18", 25), (",-2000", 10), (",2000", 10)],
                         ids=["fit", "far ahead", "saturated", "at 0", "late", "early"])
def test_outside_of_the_host(perf, tmp_path, arguments, count):
    """Wrong offsets and scales move records away from the host's, or beyond what times can be: nothing vanishes, and they are counted."""
    pair(tmp_path)
    path, done = merge(perf, tmp_path, "out", arguments)
    assert done.returncode == 0
    told = f"{count} records of the guest of process {PID} are from before or after the host's recording: check OFFSET and SCALE"
    assert (told in done.stderr) if count else not done.stderr
    assert len([line for line in shown(perf, path) if line.startswith("VM:")]) == 28


def test_where_a_vcpu_ran(perf, tmp_path):
    """Between two switches it is where the one before put it; before the first one, where that one is. (The kernel's tool takes the one behind.)"""
    pair(tmp_path, of_guest=guest(later=900))
    lines = shown(perf, merged(perf, tmp_path, "out"), "-F", "cpu,machine_pid,vcpu,time", "--ns")
    places = [re.match(r"VM: +100 VCPU:(\d+) \[(\d+)\]", line).groups() for line in lines if line.startswith("VM:")]
    assert places == [("000", "001"), ("001", "000"), ("000", "000"), ("001", "001")] * 2 + [("000", "001"), ("001", "000")]
    pair(tmp_path, of_guest=guest(later=-900))
    assert [line for line in shown(perf, merged(perf, tmp_path, "out"), "-F", "cpu,machine_pid") if line.startswith("VM:")][0].split()[-1] == "[001]"


def test_samples_tell_where_a_vcpu_ran(perf, tmp_path):
    pair(tmp_path, [line for line in host() if not line.startswith("switch")], guest(later=500))
    path, done = merge(perf, tmp_path, "out")
    lines = [line.split() for line in shown(perf, path, "-F", "cpu,machine_pid,vcpu", "--ns") if line.startswith("VM:")]
    assert [line[-1] for line in lines if line[2] == "VCPU:000"] == ["[001]", "[000]", "[001]", "[000]", "[001]"]
    assert "because nothing tells where their VCPUs ran" in done.stderr  # of the other one


@pytest.mark.parametrize("program", ["perf", "oracle"])
def test_reports(request, perf, tmp_path, program):
    """Process 100 of the host and process 100 of the guest, address 0x400000 of both."""
    pair(tmp_path)
    path = merged(perf, tmp_path, "out")
    text = request.getfixturevalue(program)("report", "-i", path, "--stdio", "-s", "comm,dso").stdout
    rows = [line.split(maxsplit=1)[1] for line in text.splitlines() if "%" in line and not line.startswith("#")]
    assert sorted(re.sub(r"  +", "  ", row.strip()) for row in rows) == sorted(
        ["CPU 0/KVM  qemu"] + [f"{comm}  {dso}" for comm in ("init", "n1", "n2", "n3", "n4") for dso in ("[guest.kernel.kallsyms.100]", "known")])


@pytest.mark.parametrize("command", [["script"], ["report", "--stdio"]], ids=["script", "report"])
def test_names_in_hints(perf, tmp_path, command):
    """Process 200 of the guest, which has samples, isn't what the host calls so; process 100 is of both."""
    lines = [line.replace("sample event=0 ip=0x400200 pid=100 tid=100", "sample event=0 ip=0x400200 pid=200 tid=200") for line in guest()]
    pair(tmp_path, host(extra=["comm pid=200 tid=200 name=of_host"]), ["comm pid=200 tid=200 name=of_guest" if line.startswith("comm") and "init" in line else line for line in lines])
    text = perf(*command, "-i", merged(perf, tmp_path, "out"), "--pid", "77777").stderr
    assert "200 (of_guest, " in text and "100 (" in text and "qemu" not in text and "of_host" not in text


def test_levels_and_modes(perf, oracle, tmp_path):
    pair(tmp_path)
    path = merged(perf, tmp_path, "out")
    text = perf("report", "-i", path, "--stdio", "-s", "sym").stdout
    assert re.search(r"50.00%  \[g\] 0xffffffff81000200", text) and re.search(r"50.00%  \[u\] 0x0+200", text) and re.search(r"100.00%  \[\.\] 0x0+123", text)


@pytest.mark.sanitize
def test_call_chains(perf, oracle, tmp_path):
    """Chains that were recorded in a guest call its kernel just the kernel."""
    chain = f"chain=kernel,{GUEST_KERNEL + 0x200:#x},{GUEST_KERNEL + 0x300:#x},user,0x400200,0x400300"
    lines = [line + " " + chain if line.startswith("sample") and "misc=1" in line else f"{line} chain=user,0x400200" if line.startswith("sample") else line
             for line in guest("IP|TID|TIME|CALLCHAIN|CPU|PERIOD|IDENTIFIER")]
    pair(tmp_path, of_guest=lines)
    path = merged(perf, tmp_path, "out")
    fields = ["-F", "comm,time,ip,dso,machine_pid"]
    assert shown(perf, path, *fields) == shown(oracle, path, *fields)
    assert len([line for line in shown(perf, path, *fields) if "([guest.kernel.kallsyms.100])" in line]) == 10
    text = perf("report", "-i", path, "--stdio", "-s", "comm", "--children", "-g", "caller").stdout
    assert "[unknown]" not in text and "0xffffffff81000300" in text


def test_scripts_and_objects(perf, oracle, tmp_path):
    pair(tmp_path, of_guest=guest() + ["switch out=1 pid=100 tid=100 time=6000 id=12 cpu=1"])
    path = merged(perf, tmp_path, "out")
    script = tmp_path / "s.py"
    script.write_text("def process_event(d):\n    s = d['sample']\n    print(s['time'], s['cpu'], s['cpumode'], s.get('machine_pid'), s.get('vcpu'), d['comm'], d['dso'])\n"
                      "def context_switch(time, cpu, pid, tid, np, nt, machine_pid, out, preempt, *x):\n"
                      "    print('switch', time, cpu, machine_pid, x if machine_pid != -1 else '')\n")
    assert shown(perf, path, "-s", script) == shown(oracle, path, "-s", script)
    assert "switch 6000 0 100 (100, 1)" in shown(perf, path, "-s", script)
    samples = [json.loads(line) for line in shown(perf, path, "--json")]
    assert {(sample.get("machine_pid"), sample.get("vcpu"), sample["pid"]) for sample in samples} == {(None, None, 100), (100, 0, 100), (100, 1, 100)}


def test_control_groups(perf, tmp_path):
    """Group 77 of the host and group 77 of the guest."""
    sample = SAMPLE + "|CGROUP"
    of_host, of_guest = host(sample, extra=["cgroup cgroup=77 id=0 path=/host.slice"]), guest(sample, extra=["cgroup cgroup=77 id=0 path=/guest.slice"])
    pair(tmp_path, *([line + " cgroup=77" if line.startswith("sample") else line for line in lines] for lines in (of_host, of_guest)))
    path = merged(perf, tmp_path, "out")
    lines = shown(perf, path, "-F", "machine_pid,cgroup")
    assert {(line.startswith("VM:"), line.split()[-1]) for line in lines} == {(False, "/host.slice"), (True, "/guest.slice")} and len(lines) == 15
    assert {(sample.get("machine_pid"), sample["cgroup"]) for sample in map(json.loads, shown(perf, path, "--json"))} == {(None, "/host.slice"), (PID, "/guest.slice")}
    text = perf("report", "-i", path, "--stdio", "-s", "cgroup").stdout
    assert sorted(line.split()[1] for line in text.splitlines() if "%" in line and not line.startswith("#")) == ["/guest.slice", "/host.slice"]
    assert [line.split()[-2:] for line in shown(perf, path, "--show-cgroup-events", "-F", "machine_pid,event") if SIDEBAND in line] == [["77", "/host.slice"], ["77", "/guest.slice"]]


def test_build_ids(perf, oracle, tmp_path):
    """A guest's file is another one than the host's of that name."""
    pair(tmp_path, ["feature build_id 99112233445566778899aabbccddeeff00112233 /opt/known"] + host())
    path = merged(perf, tmp_path, "out")
    wanted = {"00112233445566778899aabbccddeeff00112233 /opt/known", "99112233445566778899aabbccddeeff00112233 /opt/known"}
    assert wanted <= set(perf("buildid-list", "-i", path).stdout.splitlines())
    assert "00112233445566778899aabbccddeeff00112233 /opt/known" in oracle("buildid-list", "-i", path).stdout
    lines = shown(perf, path, "--show-mmap-events", "-F", "machine_pid,event,ip,dso")
    assert sum("/opt/known" in line for line in lines if line.startswith("VM:")) == 6


def test_files_of_guests(perf, tmp_path):
    """What is here by a guest's name is another file, unless it is what --guestmount has, or its build-id tells that it isn't."""
    if not shutil.which("gcc"):
        pytest.skip("there is no gcc")
    (tmp_path / "x.c").write_text("int loops(int x) { for (int i = 0; i < 99; i++) x = x * 3 ^ i; return x; }\nint main(void) { return loops(3); }\n")
    subprocess.run(["gcc", "-O1", "-fno-inline", "-Wl,--build-id=none", "-o", "x", "x.c"], cwd=tmp_path, check=True)
    symbols = subprocess.run(["nm", "x"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    address = int(re.search(r"([0-9a-f]+) T loops", symbols)[1], 16)
    pair(tmp_path, of_guest=[line.replace("0x400200", hex(0x400000 + address)) for line in guest(name=tmp_path / "x")])
    path = merged(perf, tmp_path, "out")
    root = tmp_path / "mount" / str(PID)
    (root / "proc").mkdir(parents=True)
    (root / "proc/kallsyms").write_text(f"{GUEST_KERNEL:x} T _text\n{GUEST_KERNEL + 0x100:x} T in_guest\n{GUEST_KERNEL + 0x900:x} T behind\n")
    (root / "proc/modules").write_text("")
    for words, named in ([], False), (["--guestmount", tmp_path / "mount"], True):
        if named:
            copy = root / str(tmp_path).lstrip("/") / "x"
            copy.parent.mkdir(parents=True)
            shutil.copy(tmp_path / "x", copy)
            (tmp_path / "x").unlink()
        lines = [line for line in shown(perf, path, "-F", "machine_pid,ip,sym", *words) if line.startswith("VM:")]
        assert [line.split()[-1] for line in lines] == (["loops", "in_guest"] if named else ["[unknown]", "[unknown]"]) * 5
    code = perf("annotate", "--stdio", "-i", path, "--guestmount", tmp_path / "mount", "loops").stdout
    assert re.search(rf"100.00 : +{address:x}:", code), code
    for reader in ("annotate", "diff", "export", "flamegraph", "report", "script", "sql", "top"):
        assert "--guestmount" in perf(reader, "--help").stdout, reader


def test_several_guests(perf, oracle, tmp_path):
    names = [f"comm pid=500 tid={501 + i} name=CPU\\ {i}/KVM" for i in range(2)]
    pair(tmp_path, host(extra=names))
    write(tmp_path, "other.data", [line.replace("=n", "=m").replace("=init", "=first") for line in guest(later=60)])
    path = merged(perf, tmp_path, "out", words=[f"--guest-data={tmp_path}/other.data,500"])
    lines = shown(perf, path)
    assert lines == shown(oracle, path)
    assert {line[:9] for line in lines if line.startswith("VM")} == {"VM:  100 ", "VM:  500 "}
    assert {line.split()[3] for line in lines if line.startswith("VM:  500") and SIDEBAND not in line} == {"first", "m1", "m2", "m3", "m4"}
    done = merge(perf, tmp_path, "twice", words=[f"--guest-data={tmp_path}/other.data,{PID}"])[1]
    assert done.returncode and "given twice" in done.stderr


@pytest.mark.parametrize("sample", [f"IP|TID|TIME|ID|CPU|PERIOD", "IP|TID|TIME|CPU|PERIOD|ADDR|STREAM_ID|IDENTIFIER"])
def test_other_places_of_ids(perf, oracle, tmp_path, sample):
    pair(tmp_path, of_guest=guest(sample))
    path = merged(perf, tmp_path, "out")
    assert shown(perf, path) == shown(oracle, path)
    assert sideband(shown(perf, path)) == sideband(shown(oracle, merged(oracle, tmp_path, "theirs")))


@pytest.mark.sanitize
@pytest.mark.parametrize("sample", ["IP|TID|TIME|ID|CPU|PERIOD|READ", SAMPLE + "|READ"], ids=["identifier put in", "same place"])
def test_ids_of_counters(perf, tmp_path, sample):
    """Values that were read with a sample are told by the ids that the merged recording has, also where its records grow."""
    lines = [line.replace("ids=11,12", "ids=9,12").replace("id=11", "id=9").replace(" flags=", " read=ID|GROUP flags=") for line in guest(sample)]
    pair(tmp_path, of_guest=[f"{line} read={7 * at}/1,{11 * at}/9" if line.startswith("sample") else line for at, line in enumerate(lines)])
    path = merged(perf, tmp_path, "out")
    text = shown(perf, path, "-D")
    ids = [int(line.split()[2]) for line in text if line.startswith(" ... id:") and "machine_pid" in line]
    read = [re.search(r"id ([0-9a-f]{16}), value ([0-9a-f]{16})", line).groups() for line in text if re.search(r"id [0-9a-f]{16}, value", line)]
    assert len(ids) == 4 and [int(one, 16) for one, _ in read] == [ids[0], ids[2]] * 10
    assert not [value for at, (_, value) in enumerate(read) if int(value, 16) % (11 if at % 2 else 7)]


def test_pipes(perf, tmp_path):
    pair(tmp_path)
    lines = shown(perf, merged(perf, tmp_path, "out"))
    words = [str(perf), "inject", f"--guest-data={tmp_path}/guest.data,{PID}"]
    stream = subprocess.run([*words, "-i", tmp_path / "host.data", "-o", "-"], capture_output=True, check=True).stdout
    (tmp_path / "stream").write_bytes(stream)
    assert shown(perf, tmp_path / "stream") == lines
    write(tmp_path, "piped", host(), pipe=True)
    with open(tmp_path / "piped", "rb") as piped:
        again = subprocess.run([*words, "-i", "-", "-o", "-"], stdin=piped, capture_output=True, check=True).stdout
    (tmp_path / "stream").write_bytes(again)
    assert sideband(shown(perf, tmp_path / "stream")) == sideband(lines)


def test_no_end_of_the_beginning(perf, tmp_path):
    """Recorders before Linux 5.19 have no FINISHED_INIT; the kernel's tool puts nothing in there."""
    pair(tmp_path)
    wanted = shown(perf, merged(perf, tmp_path, "out"))
    pair(tmp_path, host(init=False))
    assert shown(perf, merged(perf, tmp_path, "out")) == wanted


@pytest.mark.parametrize("how, reason", [
    (",x", "not a number"), (",0,0", "above 0"), (",0,nan", "above 0"), (",0,inf", "above 0"), (",0,-1", "above 0"), (",0,1,2", "FILE,PID")])
def test_wrong_arguments(perf, tmp_path, how, reason):
    pair(tmp_path)
    path, done = merge(perf, tmp_path, "out", how)
    assert done.returncode == 129 and reason in done.stderr and not path.exists()


@pytest.mark.parametrize("text, reason", [("", "FILE,PID"), ("guest.data", "FILE,PID"), ("guest.data,abc", "number of a process"), ("guest.data,0", "number of a process"),
                                          (",100", "FILE,PID"), ("guest.data,99999999999", "number of a process"), ("nothing,100", "No such file")])
def test_wrong_names(perf, tmp_path, text, reason):
    pair(tmp_path)
    done = perf("inject", "-i", "host.data", "-o", "out", f"--guest-data={text}", cwd=tmp_path)
    assert done.returncode and reason in done.stderr


@pytest.mark.parametrize("of_host, of_guest, reason", [
    (host(names=()), guest(), 'threads that are called "CPU 0/KVM"'), (host("IP|TID|TIME|CPU|PERIOD"), guest(), "record the host with --sample-identifier"),
    (host(), guest("IP|TID|TIME|CPU|PERIOD"), "record the guest with --sample-identifier"), (host(), guest("IP|TID|CPU|PERIOD|IDENTIFIER"), "have no times")])
def test_unfit(perf, tmp_path, of_host, of_guest, reason):
    pair(tmp_path, of_host, of_guest)
    path, done = merge(perf, tmp_path, "out")
    assert done.returncode and reason in done.stderr


def test_combinations(perf, tmp_path):
    pair(tmp_path)
    done = merge(perf, tmp_path, "out", words=["--itrace=i1"])[1]
    assert done.returncode == 129 and "--itrace" in done.stderr
    wanted = shown(perf, merged(perf, tmp_path, "out"))
    assert shown(perf, merged(perf, tmp_path, "with", words=["-b"])) == wanted
    again = perf("inject", "-i", tmp_path / "out", "-o", tmp_path / "twice", f"--guest-data={tmp_path}/guest.data,{PID}")
    assert again.returncode and "guests already" in again.stderr
    assert shown(perf, merged_again(perf, tmp_path)) == wanted


def merged_again(perf, folder):
    """What was merged goes through inject as it is."""
    assert perf("inject", "-b", "-i", folder / "out", "-o", folder / "through").returncode == 0
    return folder / "through"


@pytest.mark.sanitize
def test_hostile_guests(perf, tmp_path):
    _, data = pair(tmp_path)
    whole = data.read_bytes()
    wanted = shown(perf, merged(perf, tmp_path, "out"))
    for cut in range(0, len(whole), 101):
        data.write_bytes(whole[:cut])
        path, done = merge(perf, tmp_path, "cut")
        assert done.returncode in (0, 255) and (done.returncode == 0 or "guest.data" in done.stderr), (cut, done)
        if done.returncode == 0:
            assert set(line for line in shown(perf, path) if not line.startswith("VM")) == set(line for line in wanted if not line.startswith("VM"))


@pytest.mark.sanitize
def test_hostile_ids(perf, tmp_path):
    """Ids of two events, of nobody, the host's highest possible; samples of the guest's tracepoints; a CPU that is no VCPU."""
    pair(tmp_path, of_guest=[line.replace("ids=11,12", "ids=1,12").replace("id=11", "id=77") for line in guest()])
    path, done = merge(perf, tmp_path, "out")
    assert done.returncode == 0 and "5 records were left out" in done.stderr
    assert len([line for line in shown(perf, path) if line.startswith("VM:") and SIDEBAND not in line]) == 10
    pair(tmp_path, of_guest=[line.replace("cpu=1", "cpu=4000000000") for line in guest()])
    path, done = merge(perf, tmp_path, "out")
    assert done.returncode == 0 and "15 records have CPU 0" in done.stderr
    pair(tmp_path, of_guest=["tracepoint sched:sched_waking id=7 fields=comm/16,pid/4"] + [line.replace("type=0 config=0", "type=2 config=7") for line in guest()])
    path, done = merge(perf, tmp_path, "out")
    assert done.returncode == 0 and "10 samples of tracepoints were left out" in done.stderr
    pair(tmp_path, [line.replace("id=2 ", "id=18446744073709551615 ") for line in host(ids="1,18446744073709551615")])
    path, done = merge(perf, tmp_path, "out")
    assert done.returncode and "ids" in done.stderr


@pytest.mark.sanitize
@pytest.mark.parametrize("kind, fields", [(7, b""), (3, (PID).to_bytes(4, "little") * 2 + b"unending")], ids=["fork", "name"])
def test_hostile_fields(perf, tmp_path, kind, fields):
    """Records whose own fields would have to go on in the trailer."""
    trailer = struct.pack("<IIQIIQ", PID, PID, 1500, 1, 0, 12)
    pair(tmp_path, of_guest=guest() + [f"record type={kind} data={(fields + trailer).hex()}"])
    path, done = merge(perf, tmp_path, "out")
    assert done.returncode == 0 and " 1 records were left out" in done.stderr
    pair(tmp_path)
    assert shown(perf, path) == shown(perf, merged(perf, tmp_path, "wanted"))


@pytest.mark.sanitize
def test_hostile_index(perf, tmp_path):
    """ID_INDEX records that say more than they hold, or of more guests than any host has."""
    def index(entries, guests):
        words = [entries, *(word for i in range(guests) for word in (i + 1, 0, (1 << 64) - 1, 0)), *(word for i in range(guests) for word in (1000 + i, i))]
        return "record type=69 data=" + b"".join(word.to_bytes(8, "little") for word in words).hex()
    for entries, guests in ((1 << 63, 2), (3, 2), (2, 2), (1300, 1300), (0, 2)):
        lines = host(extra=[index(entries, guests)])
        path = write(tmp_path, "host.data", lines + [line.replace("misc=2", "misc=5") for line in guest()[-5:]])
        done = perf("script", "-i", path, *SHOWN)
        assert done.returncode == 0
        assert ("VM: 1000 VCPU:000" in done.stdout) == (entries == guests), (entries, guests)
        assert perf("report", "-i", path, "--stdio").returncode == 0


def test_no_vcpu(perf, oracle, tmp_path):
    """What the kernel's tool writes when an event is of no virtual CPU: -1."""
    words = [1, 1, 0, (1 << 64) - 1, 0, 1000, (1 << 64) - 1]
    index = "record type=69 data=" + b"".join(word.to_bytes(8, "little") for word in words).hex()
    path = write(tmp_path, "host.data", host(extra=[index]) + ["sample event=0 ip=0x400123 pid=1 tid=1 time=9000 cpu=0 period=7 id=1 misc=5"])
    lines = [[line for line in shown(program, path, "-F", "machine_pid,vcpu,time") if line.startswith("VM")] for program in (perf, oracle)]
    assert lines[0] == lines[1] and "VCPU:-01" in lines[0][-1]


def test_files_into_the_cache(perf, tmp_path):
    """--guestmount of inject: files with the recorded build-ids, not what only has their names, or is a device."""
    if not shutil.which("gcc"):
        pytest.skip("there is no gcc")
    root = tmp_path / "mount" / str(PID)
    (root / "opt").mkdir(parents=True)
    (tmp_path / "x.c").write_text("int main(void) { return 0; }\n")
    ids = {"known": "00112233445566778899aabbccddeeff00112233", "other": "11112233445566778899aabbccddeeff00112233", "linked": "22112233445566778899aabbccddeeff00112233"}
    for name, made in (("known", ids["known"]), ("other", ids["known"]), ("linked_to", ids["linked"])):
        subprocess.run(["gcc", f"-Wl,--build-id=0x{made}", "-o", root / "opt" / name, "x.c"], cwd=tmp_path, check=True)
    (root / "opt/linked").symlink_to("/opt/linked_to")  # as the guest sees it
    (root / "opt/device").symlink_to("/dev/zero")
    lines = [f"feature build_id {made} /opt/{name}" for name, made in (*ids.items(), ("device", "33" + ids["known"][2:]))]
    pair(tmp_path, of_guest=lines + [line for line in guest() if not line.startswith("feature build_id")])
    words = ["--buildid-dir", tmp_path / "cache", "inject", "-i", tmp_path / "host.data", "-o", tmp_path / "out", f"--guest-data={tmp_path}/guest.data,{PID}"]
    done = perf(*words, "--guestmount", tmp_path / "mount")
    assert done.returncode == 0, done.stderr
    kept = perf("--buildid-dir", tmp_path / "cache", "buildid-cache", "-l").stdout
    assert {line.split()[0] for line in kept.splitlines()} == {ids["known"], ids["linked"]}
    done = perf(*words, "--guestmount", tmp_path / "nowhere")
    assert done.returncode and f"nowhere/{PID}" in done.stderr
    assert "--guest-data" in perf("inject", "-i", tmp_path / "host.data", "--guestmount", tmp_path).stderr


def index(*entries):
    """An ID_INDEX with ids of guests: (id, process of the hypervisor)."""
    data = struct.pack("<Q", len(entries)) + b"".join(struct.pack("<QQqq", number, 0, 0, -1) for number, _ in entries)
    return f"record type=69 data={(data + b''.join(struct.pack('<QQ', pid, 0) for _, pid in entries)).hex()}"


def test_an_id_of_another_guest(perf, tmp_path):
    """A second ID_INDEX gives an id to another guest: the last one counts, for the whole recording, and the host has none of it."""
    lines = [f"event cpu-clock type=1 config=0 freq=1000 sample={SAMPLE} ids=1,2 flags={FLAGS}", "comm pid=5 tid=5 name=host time=1 id=1", index((2, 100)),
             "comm pid=5 tid=5 name=first time=10 id=2 misc=5", "sample event=0 ip=1 pid=5 tid=5 time=20 id=2 misc=2", index((2, 200)),
             "comm pid=5 tid=5 name=second time=30 id=2 misc=5", "sample event=0 ip=1 pid=5 tid=5 time=40 id=2 misc=2",
             "sample event=0 ip=1 pid=5 tid=5 time=50 id=1 misc=2"]
    path = write(tmp_path, "perf.data", lines)
    assert [line.split() for line in shown(perf, path, "-F", "machine_pid,comm")] == [["VM:", "200", "first"], ["VM:", "200", "second"], ["host"]]
    tree = perf("report", "--tasks", "-i", path).stdout
    of_host, of_guest = tree.split("# in the guest of process 200\n")
    assert "second" not in of_host and "|host" in of_host and "|second" in of_guest


def test_tasks_and_traces(perf, tmp_path):
    """A guest's process with the host's number is another one in the tree of tasks, in JSON and in a CTF trace."""
    pair(tmp_path)
    path = merged(perf, tmp_path, "out")
    tree = perf("report", "--tasks", "-i", path).stdout
    of_host, of_guest = tree.split(f"# in the guest of process {PID}\n")
    assert re.search(r"^ +100 +100 .*\|qemu$", of_host, re.M) and re.search(r"^ +100 +100 .*\|n5$", of_guest, re.M) and "n5" not in of_host
    assert re.search(r"^ +201 +201 +100 ", of_guest, re.M) and "201" not in of_host
    assert "in the guest" not in perf("report", "--tasks", "-i", tmp_path / "host.data").stdout
    assert perf("data", "convert", "--to-json", tmp_path / "json", "-i", path).returncode == 0
    samples = json.loads((tmp_path / "json").read_text())["samples"]
    assert {(sample.get("machine_pid"), sample["comm"]) for sample in samples} >= {(PID, "n1"), (None, "CPU 0/KVM")}
    assert perf("data", "convert", "--to-ctf", tmp_path / "ctf", "--all", "-i", path).returncode == 0
    if shutil.which("babeltrace2"):
        lines = subprocess.run(["babeltrace2", tmp_path / "ctf"], capture_output=True, text=True, check=True).stdout.splitlines()
        assert all(f"machine_pid = {PID}" in line for line in lines if 'comm = "n' in line) and all("machine_pid" not in line for line in lines if 'comm = "qemu' in line)
        assert len([line for line in lines if f"perf_machine_pid = {PID}, perf_vcpu = " in line]) == 10
    assert perf("data", "convert", "--to-ctf", tmp_path / "plain", "--all", "-i", tmp_path / "host.data").returncode == 0
    assert "machine_pid" not in (tmp_path / "plain" / "metadata").read_text(errors="replace")
