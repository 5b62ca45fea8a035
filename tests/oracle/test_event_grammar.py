"""What a text of -e means: the attributes that ours and the kernel's perf would open, on machines that are not here (any_pmu.c)."""
import os
import pathlib
import platform
import re
import shutil
import subprocess

import pytest

# Texts by the machine they are for. What is in one list is recorded together: an event's attributes do not depend on the others, but for
# the first of all, which listens to side-band.
HERE = {
    "generic": """cycles cpu-cycles:u instructions cache-references cache-misses branches branch-instructions branch-misses bus-cycles ref-cycles
        stalled-cycles-frontend idle-cycles-frontend stalled-cycles-backend idle-cycles-backend""",
    "software": """cpu-clock task-clock page-faults faults minor-faults major-faults context-switches cs cpu-migrations migrations
        alignment-faults emulation-faults dummy:u cgroup-switches bpf-output bpf-output/no-inherit/ bpf-output:u""",
    "numbers": "r1a8 r1A8:u rffff 1:3 1:3:u 1:0x3 0x1:3 1:3/name=x/ r1a8/name=x/ 4:0x1a8:k 3:0x10002 0:0:pp",
    "users": "cycles:u cycles:k cycles:h cycles:uk cycles:uh cycles:kh cycles:ukh cycles:G cycles:H cycles:GH cycles:uG cycles:kH cycles:uGH cycles:I cs:I",
    "precise": "cycles:p cycles:pp cycles:ppp cycles:up cycles:kppp cycles:Gp cycles:P cycles:uP",
    "letters": "cycles:D cycles:e cycles:W cycles:S cycles:uS cycles:uDe cycles:uIW cycles: cs:",
    "terms": """cycles/name=x/u cycles/period=1000/ cycles/freq=99/ cycles//u cycles/freq=99,period=100/ cs/period=0x10,name=y/ cs/period=010/ cs/time=0/
        cs/time=1/ cs/time/ cs/no-inherit/ cs/inherit/ cs/inherit=0/ cs/no-inherit=0/ cs/config=4/ cs/config1=4/ cs/config2=5/ cycles/config=1/
        cycles/name=a:b/ cycles/name='a:b,c'/ cycles/metric-id=foo/ L1-dcache-loads/name=x/ dummy/freq=100/
        cycles/name=x,period=5/pp""",
    "chains": """cs/call-graph=fp/ cs/call-graph=dwarf/ cs/call-graph=dwarf,stack-size=1024/ cs/call-graph=fp,max-stack=10/ cs/call-graph=no/ cs/max-stack=10/
        cs/stack-size=512/ sched:sched_switch/call-graph=fp/ sched:sched_switch/max-stack=3/""",
    "more terms": "cs/branch_type=any/ cs/branch_type=u/ cs/overwrite/ cs/overwrite=1,no-inherit/ faults/max-stack=5,no-inherit,time=0/",
    "software PMU": """cpu-clock// cpu-clock//u cpu-clock:uk cpu-clock:kp cpu-clock:H cpu-clock:P cpu-clock:W software/config=1/ software/config=0x2/u 1:9:u
        dummy:HG cpu-clock/config=1/ cpu-clock/config1=5/ task-clock/freq=1000,name=foo/u""",
    "no-overwrite": "cs/no-overwrite/ cs/overwrite=0/",
    "groups": """{cycles,cs} {cycles,cs}:S {cycles,cs}:D {cycles,cs}:e {cycles,cs}:W {cycles,cs}:u {cycles:k,cs}:u {cycles:k,cs:G}:p grp{cycles,cs} {cycles}
        {cycles,instructions:u}:uW {cycles:u,instructions}:kpp {cycles,{}}""".replace(" {cycles,{}}", ""),
    "tracepoints": """sched:sched_switch sched:sched_sw* sched:sched_switch:u sched:*wak* sch*:sched_switch sched:sched_switch/inherit/
        sched:sched_switch/no-inherit/ {cycles,sched:sched_switch}:S""",
    "breakpoints": """mem:0x1000 mem:0x1000:rw mem:0x1000:r mem:0x1000:w mem:0x1000:x mem:0x1000:wx mem:0x1000:u mem:0x1000:rw:u mem:0x1000/2:w:k mem:0x1000/8:rw
        mem:4096 mem:0x1000/4 mem:0xffffffff81000000:x:k""",
    "several": "cycles,cs cycles:u,{cs,faults},r1a8 cs,cycles/name=q/,sched:sched_switch",
}
CPU = {
    "formats": """cpu/event=0x3c,umask=1/ cpu/event=0x13c,inv/k cpu/event=0x3c,umask=1,cmask=2,edge,inv=0/ cpu/event=60,umask/ cpu/event=0xfff/ cpu/event/ cpu//
        cpu/config=0x1a8,period=5,name=x/u cpu/config=0x1a8,config1=2,config2=3/ cpu/event=1,config=0x300/ cpu/config=0x300,event=1/
        cpu/event=0x3c,period=1000,period=2000/ cpu/event=1,freq=77/ cpu/event=1,call-graph=dwarf,stack-size=64/ cpu/ldlat=0xffff/ cpu/scattered=0x1f/""",
    "raw": "cpu/r1a8/ cpu/r0x1a8/ cpu/r1a8,name=x/ cpu/r1a8/ppp",
    "aliases": """cpu/mem-loads/pp cpu/cpu-cycles/ cpu/parameter,umask=7/ mem-loads mem-loads:u mem-loads/name=x/ cpu-cycles MEM-LOADS cpu/MEM-LOADS/
        cpu/two-words/ cpu/two-words,cmask=3/ cpu/mem-loads,name=loads/""",
    "names": "cpu/event=0x3c,name=foo/u cpu/event=0x3c,name='foo:bar,1'/u software/config=3/ breakpoint/config=0/",
    "cpu groups": "{cpu/event=1/,cpu/event=2/}:S {cpu/event=1/u,cpu/event=2/k}:p {cycles,cpu/event=3/}:W",
}
CPU_WIDE = {
    "uncore": "uncore_imc_0/cas_count_read/ uncore_imc/cas_count_read/ imc/cas_count_read/ cas_count_read uncore_imc_0/cas_count_read/u imc_1/event=7,name=q/",
    "uncore groups": "{uncore_imc_0/cas_count_read/,uncore_imc_0/event=5/} {uncore_imc_1/event=1/,uncore_imc_1/event=2/,uncore_imc_1/event=3/}:W",
}
HYBRID = {
    "both kinds": "cycles cycles:u cycles/period=7/u cycles/name=x/u r1a8 r1a8:u LLC-loads LLC-loads/name=x/ mem-loads cpu-cycles L1-dcache-load-misses",
    "one kind": """cpu_core/cycles/ cpu_core/cpu-cycles/ cpu_core/event=0x3c/ cpu_atom/event=0x3c/u only-core cpu_core/LLC-loads/ cpu_core/instructions/
        cpu_atom/branch-misses/ cpu_core/r1a8/ {cpu_core/event=1/,cpu_core/event=2/} cpu_atom/L1-icache-load-misses/""",
    "with others": "sched:sched_switch cycles cs",
}
# Ours alone, or not in the kernel's perf of these years: the same as a plainer text.
SAME = [
    ("cycles,cs faults", "cycles,cs,faults", None),
    (" cycles , { cs , faults }", "cycles,{cs,faults}", None),
    ("mem:0x1000/name=x/", "mem:0x1000", None),
    ("mem:0x1000/2:w/name=x/", "mem:0x1000/2:w", None),
    ("r0x1a8", "r1a8", None),
    ("sched:sched_sw[ij]tch", "sched:sched_switch", None),
    ("cycles/metric-id=foo,name='a b,c'/", "cycles", None),
    ("l1d-loads,L1D-LOADS", "L1-dcache-loads,L1-dcache-loads", None),
    ("cpu/cycles/", "cycles", "cpu"),
    ("cpu/LLC-load-misses/", "LLC-load-misses", "cpu"),
    ("cpu/event=0x3c, umask=1/", "cpu/event=0x3c,umask=1/", "cpu"),
    ("c*u/event=1/", "cpu/event=1/", "cpu"),
    # The kernel's perf adds the bits of both values.
    ("cpu/mem-loads,ldlat=30/", "cpu/event=0xcd,umask=1,ldlat=30/", "cpu"),
    ("cpu/ldlat=30,mem-loads/", "cpu/event=0xcd,umask=1,ldlat=30/", "cpu"),
    ("mem-loads/ldlat=30/", "cpu/event=0xcd,umask=1,ldlat=30/", "cpu"),
    ("cpu/event=0x3c/", "cpu_atom/event=0x3c/,cpu_core/event=0x3c/", "hybrid"),
    # The kernel's perf puts both kinds of cores into one group, which no kernel opens.
    ("{cycles,instructions}:S", "{cpu_atom/cycles/,cpu_atom/instructions/}:S,{cpu_core/cycles/,cpu_core/instructions/}:S", "hybrid"),
]
REFUSED = """L1-icache-stores iTLB-stores branch-prefetches L1-dcache-misses-loads-misses LLC-foo cycles, ,cycles cycles:u:k cycles:uu cycles:pppp cycles:y {cycles,}
    cycles} cycles/ cycles/period/x cycles/foo/ cycles/name/ cycles/period=x/ mem: mem:0x1000/x mem:0x1000:rr nothing nothing:here sched: sched:nothing 1:x
    cs/branch_type=foo/ page-faults:u/period=3/ cs/time=2/""".split()
REFUSED_WITH_CPU = """cpu/event=0x1000/ cpu/umask=0x100/ cpu/parameter/ cpu/config=/ cpu/foo/ cpu/foo=3/ cpu/EVENT=1/ CPU/event=1/ cp/event=1/ gpu/event=1/ imc/umask=1/
    cpu/event=0x3c//u cpu/event=1 cpu/event=1,/ uncore_imc_2/event=1/""".split()

DEVICES = {
    "cpu": {
        "software/type": "1", "tracepoint/type": "2", "breakpoint/type": "5",
        "cpu/type": "4", "cpu/format/event": "config:0-7,32-35", "cpu/format/umask": "config:8-15", "cpu/format/inv": "config:23",
        "cpu/format/edge": "config:18", "cpu/format/cmask": "config:24-31", "cpu/format/ldlat": "config1:0-15", "cpu/format/scattered": "config1:17,20-22,63",
        "cpu/events/cpu-cycles": "event=0x3c", "cpu/events/mem-loads": "event=0xcd,umask=0x1,ldlat=3", "cpu/events/parameter": "event=0x1,umask=?",
        "cpu/events/two-words": "event=0x21,edge,config1=0x40000",
        **{f"uncore_imc_{i}/{name}": text.format(14 + i) for i in (0, 1) for name, text in {
            "type": "{}", "cpumask": "0", "format/event": "config:0-7", "events/cas_count_read": "event=0x04", "events/cas_count_read.unit": "MiB",
            "events/cas_count_read.scale": "6.103515625e-5"}.items()},
    },
    "hybrid": {
        "software/type": "1", "tracepoint/type": "2", "breakpoint/type": "5",
        **{f"cpu_{kind}/{name}": text for kind, number, cpu in (("core", "4", "0"), ("atom", "10", "1")) for name, text in {
            "type": number, "cpus": cpu, "format/event": "config:0-7", "format/umask": "config:8-15", "format/ldlat": "config1:0-15",
            "events/cpu-cycles": "event=0x3c", "events/mem-loads": "event=0xcd,umask=0x1,ldlat=3"}.items()},
        "cpu_core/events/only-core": "event=0xc0",
    },
}


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    """The library, and roots of machines by name."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("machines")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "any_pmu.so", pathlib.Path(__file__).parent / "any_pmu.c", "-ldl"], check=True)
    for machine, files in DEVICES.items():
        for name, text in files.items():
            path = folder / machine / "sys/bus/event_source/devices" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        (folder / machine / "sys/devices").symlink_to("/sys/devices")
    return folder


def record(tool, machines, path, machine, texts, options=()):
    environment = dict(os.environ, LD_PRELOAD=str(machines / "any_pmu.so"))
    if machine:
        environment.update(FAKE_ROOT=str(machines / machine), SYSFS_PATH=str(machines / machine / "sys"))
    words = [word for text in texts for word in ("-e", text)]
    path.unlink(missing_ok=True)
    return subprocess.run([tool, "record", "-B", "-N", "-o", path, *options, *words, "true"], env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)


def events(oracle, path, *options):
    out = subprocess.run([oracle, "evlist", *options, "-i", path], capture_output=True, text=True, check=True).stdout
    return [line for line in out.splitlines() if not line.startswith("# Tip")]


def compare(perf, oracle, machines, tmp_path, machine, texts, options=(), ordered=True):
    found = {}
    for tool in (oracle, perf):
        done = record(tool, machines, tmp_path / "x", machine, texts, options)
        assert done.returncode == 0, done.stderr
        found[tool] = [events(oracle, tmp_path / "x", "-v"), events(oracle, tmp_path / "x", "-g")]
        if not ordered:
            found[tool] = [sorted(lines) for lines in found[tool]]
    assert found[perf] == found[oracle]


@pytest.mark.parametrize("name", HERE)
def test_here(perf, oracle, live, tracefs, machines, tmp_path, name):
    texts = HERE[name].split()
    if platform.machine() != "x86_64":
        texts = [text for text in texts if "dwarf" not in text]
    # In whose order a pattern's events are found is the directory's for the kernel's perf, that of names for us.
    patterns = [text for text in texts if "*" in text]
    compare(perf, oracle, machines, tmp_path, None, [text for text in texts if text not in patterns])
    for text in patterns:
        compare(perf, oracle, machines, tmp_path, None, ["cs", text], ordered=False)


@pytest.mark.parametrize("name", CPU)
def test_cpu(perf, oracle, live, machines, tmp_path, name):
    compare(perf, oracle, machines, tmp_path, "cpu", CPU[name].split())


@pytest.mark.parametrize("name", CPU_WIDE)
def test_uncore(perf, oracle, live_system, machines, tmp_path, name):
    """Each event alone: in whose order PMUs are found is the directory's for the kernel's perf, that of names for us."""
    for text in CPU_WIDE[name].split():
        compare(perf, oracle, machines, tmp_path, "cpu", [text], ["-a"], ordered=False)


@pytest.mark.parametrize("name", HYBRID)
def test_hybrid(perf, oracle, live, tracefs, machines, tmp_path, name):
    compare(perf, oracle, machines, tmp_path, "hybrid", HYBRID[name].split(), ordered=False)


def test_cache(perf, oracle, live, machines, tmp_path):
    """Each spelling of each cache, operation and result, and their shorter forms. The kernel's perf leaves modifiers out of these names."""
    caches = {"rwp": "L1-dcache l1-d l1d L1-data LLC L2 dTLB d-tlb Data-TLB node", "rp": "L1-icache l1-i l1i L1-instruction",
              "r": "iTLB i-tlb Instruction-TLB branch bpu btb bpc"}
    operations = {"r": "load loads read", "w": "store stores write", "p": "prefetch prefetches speculative-read speculative-load"}
    results = "refs Reference ops access misses miss".split()
    texts = []
    for kinds, names in caches.items():
        for name in names.split():
            texts += [name] + [f"{name}-{result}" for result in results]
            for operation in [o for kind in kinds for o in operations[kind].split()]:
                texts += [f"{name}-{operation}"] + [f"{name}-{operation}-{result}" for result in results]
                texts += [f"{name}-{results[len(texts) % 6]}-{operation}"]
    assert len(texts) > 1000
    for begin in range(0, len(texts), 250):
        compare(perf, oracle, machines, tmp_path, None, [",".join(texts[begin:begin + 250])])


@pytest.mark.parametrize("text,plain,machine", SAME, ids=[case[0] for case in SAME])
def test_same(perf, oracle, live, tracefs, machines, tmp_path, text, plain, machine):
    found = []
    for each in (text, plain):
        done = record(perf, machines, tmp_path / "x", machine, [each])
        assert done.returncode == 0, done.stderr
        lines = events(oracle, tmp_path / "x", "-v")
        found.append(([line.split(": ", 1)[1].replace("type: 0, ", "") for line in lines], [line.count("{") for line in events(oracle, tmp_path / "x", "-g")]))
    assert found[0] == found[1]


@pytest.mark.parametrize("machine", [None, "cpu"])
def test_refused(perf, oracle, live, tracefs, machines, tmp_path, machine):
    """Both refuse; we show the place."""
    for text in REFUSED_WITH_CPU if machine else REFUSED:
        theirs = record(oracle, machines, tmp_path / "x", machine, [text])
        ours = record(perf, machines, tmp_path / "x", machine, [text])
        assert theirs.returncode and ours.returncode, text
        assert text in ours.stderr and "^" in ours.stderr or "branch filter" in ours.stderr, ours.stderr


def test_enough():
    lists = [*HERE.values(), *CPU.values(), *CPU_WIDE.values(), *HYBRID.values()]
    assert sum(len(text.split()) for text in lists) >= 150


def test_shown_place(perf, tmp_path):
    for text in ["xx", "cpu-clock,xx", "cpu-clock,,task-clock", "cpu-clock:q", "cpu-clock:uu", "cpu-clock:pppp", "cpu-clock/foo/", "gpu/cycles/", "msr/foo/",
                 "{cpu-clock", "foo:bar", "sched:sched_foo", "sched:foo*", "cpu-clock/period=foo/", "cpu-clock/call-graph=x/", "cpu-clock/period", ""]:
        done = perf("record", "-o", tmp_path / "x", "-e", text, "true")
        assert done.returncode == 129, text
        assert re.search(r"\n +\^", done.stderr), text
        assert not (tmp_path / "x").exists()


def test_nearest_names(perf, tracefs, tmp_path):
    for text, near in (("cpu-clok", "cpu-clock"), ("shed:sched_switch", "sched:sched_switch"), ("sched:sched_swich", "sched:sched_switch"),
                       ("sched_switch", "sched:sched_switch"), ("L1-dcache-lod-misses", "L1-dcache-load-misses")):
        done = perf("record", "-o", tmp_path / "x", "-e", text, "true")
        assert f"^ did you mean '{near}'?" in done.stderr, text


def test_vendor(perf, oracle, live, machines, tmp_path):
    """Intel's manual for Skylake (Volume 3B): MEM_LOAD_RETIRED is D1H, its L3_MISS 20H."""
    if " on " not in perf("check", "feature", "libpfm4").stdout:
        pytest.skip("built without libpfm4")
    environment = dict(os.environ, LD_PRELOAD=str(machines / "any_pmu.so"), LIBPFM_FORCE_PMU="skl")
    for option, text, modifiers in (("-e", "mem_load_retired.l3_miss:u", "exclude_kernel: 1"), ("-e", "MEM_LOAD_RETIRED:L3_MISS/period=5/", "sample_freq }: 5,"),
                                    ("--pfm-events", "MEM_LOAD_RETIRED:L3_MISS:u:period=7", "sample_freq }: 7,")):
        done = perf("record", "-o", tmp_path / "x", option, text, "true", env=environment)
        assert done.returncode == 0, done.stderr
        [line] = events(oracle, tmp_path / "x", "-v")
        assert line.startswith(f"{text}: type: 4, size: 128, config: 0x20d1,") and modifiers in line
    done = perf("record", "--pfm-events", "mem_load_retired:l3_mis", "true", env=environment)
    assert done.returncode == 129 and "did you mean 'MEM_LOAD_RETIRED:L3_MISS'" in done.stderr
