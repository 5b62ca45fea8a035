"""perf list: the same names as the kernel's perf has, in its layout; what is more is marked."""
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import started  # noqa: E402

GROUPS = ["hw", "hardware", "sw", "software", "cache", "hwcache", "pmu", "tracepoint"]
PATTERNS = ["faults", "clock", "cycles", "L1", "msr", "sched_sw", "cs", "s[cd]*", "*fault*", "context-switches"]


@pytest.fixture(scope="module")
def any_pmu(tmp_path_factory):
    """An environment in which every event can be opened, and PMUs are those of a folder."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("any_pmu")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "any_pmu.so", os.path.join(os.path.dirname(__file__), "any_pmu.c"), "-ldl"], check=True)
    devices = {"cpu/type": "4", "cpu/format/event": "config:0-7", "cpu/events/mem-loads": "event=0xcd", "cpu/events/parameter": "event=1,umask=?",
               "cpu/events/cpu-cycles": "event=0x3c", "uncore_imc_0/type": "14", "uncore_imc_0/events/reads": "event=4", "software/type": "1",
               "uncore_imc_1/type": "15", "uncore_imc_1/events/reads": "event=4"}
    for name, text in devices.items():
        path = folder / "sys/bus/event_source/devices" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (folder / "sys/devices").symlink_to("/sys/devices")
    return dict(os.environ, LD_PRELOAD=str(folder / "any_pmu.so"), FAKE_ROOT=str(folder), SYSFS_PATH=str(folder / "sys"), PERF_BUILDID_DIR=str(folder))


NEIGHBOURS = re.compile(r"\s*(perftest|probe)\w*:")  # probes that other tests have for a while


def names(tool, *words, **arguments):
    done = subprocess.run([tool, "list", "--raw-dump", *words], capture_output=True, text=True, check=True, **arguments)
    return {name for name in done.stdout.split() if not NEIGHBOURS.match(name)}


def lines(tool, *words, **arguments):
    """Without descriptions and headings; one space between columns."""
    done = subprocess.run([tool, "list", *words], capture_output=True, text=True, check=True, **arguments)
    return [re.sub(r" +", " ", line) for line in done.stdout.splitlines() if re.match(r"  \S.*\]$", line) and "[SDT" not in line and not NEIGHBOURS.match(line)]


@pytest.mark.parametrize("group", GROUPS)
def test_names(perf, oracle, live, tracefs, group):
    """What this machine can count. Ours knows what it can't count, too, but not as a name for --raw-dump."""
    theirs = names(oracle, group)
    assert names(perf, group) == theirs
    marked = {line.split()[0] for line in lines(perf, group) if "not supported here" in line or "no permission" in line}
    assert not marked & theirs


@pytest.mark.parametrize("group", GROUPS)
def test_layout(perf, oracle, live, tracefs, group):
    ours = [line for line in lines(perf, group) if "not supported here" not in line]
    assert ours == lines(oracle, group)


@pytest.mark.parametrize("group", ["hw", "cache", "sw"])
def test_every_event_there(perf, oracle, live, any_pmu, group):
    """A machine that can count everything."""
    assert names(perf, group, env=any_pmu) == names(oracle, group, env=any_pmu)
    assert lines(perf, group, env=any_pmu) == lines(oracle, group, env=any_pmu)


def test_pmus(perf, oracle, any_pmu):
    """The kernel's perf goes on with the vendor's events of its own tables; parameters are shown by us in both forms."""
    ours, theirs = lines(perf, "pmu", env=any_pmu), lines(oracle, "pmu", env=any_pmu)
    assert [line.replace("parameter,umask=?", "parameter") for line in ours] == [line for line in theirs if "Kernel PMU" in line and "l2_request" not in line]
    assert names(perf, "pmu", env=any_pmu) <= names(oracle, "pmu", env=any_pmu)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(perf, oracle, live, tracefs, pattern):
    """Metrics apart, which are other ones."""
    kinds = ("Hardware event]", "Software event]", "Tool event]", "Hardware cache event]", "Kernel PMU event]", "Tracepoint event]")
    ours, theirs = [[line for line in lines(tool, pattern) if line.endswith(kinds)] for tool in (perf, oracle)]
    # Of tracepoints, the kernel's perf of these years looks at what stands behind the colon only.
    glob = f"*{pattern}*"
    assert [line for line in ours if "Tracepoint" not in line or fnmatch.fnmatchcase(line.split(":")[1].split()[0], glob)] == theirs
    assert all(fnmatch.fnmatchcase(line, f"{glob} [[]*") for line in ours)


def test_tracepoint_patterns(perf, oracle, live, tracefs):
    for pattern in ("sched:*", "sched:sched_sw*", "*:*exec*", "raw_syscalls:sys_enter", "irq*:*"):
        assert names(perf, pattern) == {name for name in names(oracle, pattern) if not name.startswith("sdt_")}, pattern


def test_all_groups(perf, live, tracefs):
    """What people see who ask for everything (hardware, software, cache, PMU, tracepoint, breakpoint and raw events, by groups)."""
    out = perf("list").stdout
    kinds = [re.search(r"^  \S.* \[([^,\[\]]*)(, not supported here|, no permission to test)?\]$", line) for line in out.splitlines()]
    order = list(dict.fromkeys(kind[1] for kind in kinds if kind))
    wanted = ["Hardware event", "Software event", "Tool event", "Hardware cache event", "Kernel PMU event", "Raw hardware event descriptor",
              "Raw event descriptor", "Hardware breakpoint", "Tracepoint event", "SDT event"]
    assert [kind for kind in wanted if kind in order] == order
    assert {"Hardware event", "Software event", "Tool event", "Hardware cache event", "Hardware breakpoint", "Tracepoint event"} <= set(order)
    vendor = perf("list", "pfm").stdout
    assert vendor in out, "vendor events, where libpfm4 knows the processor"
    for name in ("cpu-cycles OR cycles", "context-switches OR cs", "LLC-loads", "rNNN", "mem:<addr>[/len][:access]", "sched:sched_switch", "insn_per_cycle"):
        assert re.search(rf"^  {re.escape(name)}( |$)", out, re.M), name


def test_support_is_true(perf, live):
    """Each generic event: what is said is what happens."""
    for event in json.loads(perf("list", "-j", "hw", "sw").stdout):
        if event["EventType"] == "Tool event":
            continue
        kind, config = event["Encoding"].split(":")
        error = open_kind(int(kind), int(config, 0))
        assert event["Supported"] == ("0" if error else "1"), event


def open_kind(kind, config):
    from conftest import open_event
    return open_event(kind, config, 0, -1)


def test_json(perf, live, tracefs):
    everything = json.loads(perf("list", "-j").stdout)
    named = [event.get("EventName") or event.get("MetricName") for event in everything if "MetricGroup" not in event or "MetricName" in event]
    assert len(named) == len(set(named)) and all(named)
    switch = next(event for event in everything if event.get("EventName") == "sched:sched_switch")
    id_path = tracefs / "events/sched/sched_switch/id"
    assert switch == {"Unit": "tracepoint", "EventName": "sched:sched_switch", "EventType": "Tracepoint event", "Encoding": f"2:{id_path.read_text().strip()}"}
    metric = next(event for event in everything if event.get("MetricName") == "insn_per_cycle")
    assert "instructions" in metric["MetricExpr"] and "MetricGroup" in metric and "BriefDescription" in metric


def test_details_are_texts_for_e(perf, live, tracefs, tmp_path):
    """--details: what stands under a name means the same event."""
    out = perf("list", "--details", "cs", "sched:sched_switch", "msr").stdout.splitlines()
    for name in ("context-switches OR cs", "sched:sched_switch"):
        at = next(i for i, line in enumerate(out) if line.startswith(f"  {name} "))
        encodings = []
        for text in (name.split()[0], out[at + 1].strip()):
            assert perf("record", "-q", "-o", tmp_path / "x", "-e", text, "true").returncode == 0
            encodings.append(re.sub(r"^.*?: type", "type", perf("evlist", "-v", "-i", tmp_path / "x").stdout.splitlines()[0]))
        # A number asks for the default rate; a tracepoint for every event, by its number as by its name.
        assert encodings[0] == encodings[1]


def test_descriptions(perf, live, tracefs):
    out = perf("list", "-v", "sched:sched_switch", "page-faults").stdout
    assert re.search(r"\[fields: char prev_comm\[16\]; pid_t prev_pid; .*next_prio\]", re.sub(r"\s+", " ", out))
    assert "Page faults of both kinds" in out
    assert "fields" not in perf("list", "sched:sched_switch").stdout


def test_vendor(perf, live):
    """The names of a processor that is not here; units that a manual calls deprecated only on request."""
    if " on " not in perf("check", "feature", "libpfm4").stdout:
        pytest.skip("built without libpfm4")
    environment = dict(os.environ, LIBPFM_FORCE_PMU="snb")
    out = perf("list", "pfm", env=environment).stdout
    assert re.search(r"^snb.*:\n(.*\n)*  MEM_LOAD_UOPS_RETIRED:L1_HIT\n +\[\w+", out, re.M)
    assert "eprecated" not in out and "eprecated" in perf("list", "--deprecated", "pfm", env=environment).stdout
    short = perf("list", "--no-desc", "pfm", env=environment).stdout
    assert re.search(r"^  MEM_LOAD_UOPS_RETIRED:L1_HIT +\[Vendor event", short, re.M)
    assert "MEM_LOAD_UOPS_RETIRED:L1_HIT" in perf("list", "mem_load_uops_retired:l1*", env=environment).stdout
    assert "MEM_LOAD_UOPS_RETIRED:L1_HIT" in perf("list", "l1_hit", env=environment).stdout


def test_unit_and_output(perf, live, tracefs, any_pmu, tmp_path):
    assert names(perf, "--unit", "uncore_imc*", "pmu", env=any_pmu) == {"uncore_imc_0/reads/", "uncore_imc_1/reads/"}
    assert names(perf, "--unit", "imc_1", "pmu", env=any_pmu) == {"uncore_imc_1/reads/"}
    assert "cpu-clock" in names(perf, "--unit", "software") and "cpu-cycles" not in names(perf, "--unit", "software")
    done = perf("list", "-o", tmp_path / "x", "sw")
    assert done.stdout == "" and (tmp_path / "x").read_text() == perf("list", "sw").stdout
    assert perf("list", "--cputype", "core").returncode == 129


def test_nothing_found(perf, live):
    done = perf("list", "no-such-event-anywhere")
    assert (done.returncode, done.stdout) == (1, "") and "no-such-event-anywhere" in done.stderr


def test_closed_tracefs(perf, root, live, tmp_path):
    """Who may not look into tracefs is told why there are no tracepoints."""
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    program = tmp_path / "perf"
    shutil.copy(perf.path, program)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", program, "list", "tracepoint"], capture_output=True, text=True, check=False)
    if "[Tracepoint event]" in done.stdout:
        pytest.skip("tracefs is open to everybody here")
    assert done.returncode == 0 and "no tracepoints: " in done.stderr and "/sys/kernel/tracing" in done.stderr


def test_sdt(perf, live_system, tmp_path):
    """Static tracepoints of programs in the build-id cache."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    source = r'''
    #define NOTE(event, arguments) \
        __asm__ volatile("990: nop\n .pushsection .note.stapsdt,\"\",\"note\"\n .balign 4\n .4byte 992f-991f, 994f-993f, 3\n" \
                "991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b, 0, 0\n .asciz \"here\"\n .asciz \"" event "\"\n .asciz \"" arguments "\"\n" \
                "994: .balign 4\n .popsection\n")
    int main(void) { for (volatile long i = 0; i < 300000000; i++) ; NOTE("begin", "8@%rdi"); NOTE("end", ""); return 0; }
    '''
    (tmp_path / "x.c").write_text(source)
    for program in ("one", "two"):
        subprocess.run(["gcc", "-O1", f"-DNAME={program}", "-g", "-o", tmp_path / program, "x.c", "-Wl,--build-id=" + ("uuid")], cwd=tmp_path, check=True)
    environment = dict(os.environ, PERF_BUILDID_DIR=str(tmp_path / "cache"))
    for count, program in enumerate(("one", "two"), 1):
        assert perf("record", "-o", tmp_path / "perf.data", tmp_path / program, env=environment).returncode == 0

        def listed():
            return perf("list", "-v", "sdt", env=environment).stdout
        started.until(lambda count=count: listed().count("here:end") == count, "the cache is filled, which happens behind record's back")
        out = listed()
        if count == 1:
            assert re.search(r"^  sdt_here:begin +\[SDT event\]\n +\[arguments: 8@%rdi\]\n  sdt_here:end +\[SDT event\]$", out, re.M)
    assert re.search(rf"^  sdt_here:begin@{tmp_path}/one\([0-9a-f]{{12}}\) \[SDT event\]", out, re.M)
    assert names(perf, "sdt", env=environment) == {"sdt_here:begin", "sdt_here:end"}
    assert names(perf, "sdt_he*:en*", env=environment) == {"sdt_here:end"}
