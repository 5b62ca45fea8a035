"""perf probe on the running kernel: values as a debugger sees them, what other commands make of the events, and nothing left behind."""
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import time

import pytest

SOURCE = pathlib.Path(__file__).parent.parent / "oracle/probed.c"
CPP = """
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
namespace shop {
struct basket {
	int total;
	__attribute__((noinline)) int add(int price, const char *what);
};
int basket::add(int price, const char *what) { total += price; std::puts(what); return total; }
template <typename T> __attribute__((noinline)) T twice(T x) { std::puts("twice"); return x + x; }
}
int main()
{
	shop::basket b{5};
	void *volatile memory = std::malloc(12345);
	std::free(memory);
	b.add(7, "apple");
	b.add(9, "pear");
	try { throw std::runtime_error("gone"); } catch (std::exception &) { std::puts("caught"); }
	return shop::twice(b.total) == 0;
}
"""
RUST = """
mod till {
    pub struct Sum { pub cents: i64, pub label: &'static str }
    impl Sum {
        #[inline(never)]
        pub fn pay(&mut self, cents: i64) -> i64 { self.cents -= cents; println!("{} {}", self.label, self.cents); self.cents }
    }
}
fn main() { let mut sum = till::Sum { cents: 500, label: "euro" }; let left = sum.pay(20); sum.pay(left); }
"""
# A static tracepoint with a semaphore, without <sys/sdt.h>: the note as the SystemTap wiki describes it.
USDT = r"""
#include <stdio.h>
unsigned short shop_sale_semaphore __attribute__((section(".probes")));
#define PROBE(number, text) __asm__ volatile("990: nop\n" \
	".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n" \
	"993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte shop_sale_semaphore\n.asciz \"shop\"\n.asciz \"sale\"\n.asciz \"%n0@%1 8@%2 -4@$-7\"\n994: .balign 4\n.popsection\n" \
	".ifndef _.stapsdt.base\n.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n.weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n" \
	".size _.stapsdt.base,1\n.popsection\n.endif\n" :: "n"(sizeof(number)), "r"(number), "r"(text))
int main(void)
{
	const char *texts[] = {"bread", "milk"};
	for (int i = 0; i < 2; i++) {
		int number = -i - 1;
		PROBE(number, texts[i]);
	}
	printf("%d\n", shop_sale_semaphore);
	return 0;
}
"""


def definitions(tracefs, group):
    """The lines of a group of probes: neighbours have theirs."""
    return [line for line in (tracefs / "uprobe_events").read_text().splitlines() if f":{group}/" in line]


@pytest.fixture
def group(root, live, tracefs, perf):
    """A group for the test's own probes, which are taken away behind it."""
    if not os.access(tracefs / "uprobe_events", os.W_OK):
        pytest.skip("this kernel has no probes in programs")
    name = f"perftest{os.getpid()}_{secrets.token_hex(4)}"  # processes of other pid namespaces have the same numbers
    yield name
    perf("probe", "-q", "-d", f"{name}:*")
    assert not definitions(tracefs, name)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probed")
    shutil.copy(SOURCE, folder / "prog.c")
    (folder / "shop.cc").write_text(CPP)
    (folder / "usdt.c").write_text(USDT)
    for words in (["gcc", "-g", "-O0", "-o", "plain", "prog.c"], ["gcc", "-g", "-O2", "-o", "fast", "prog.c"], ["g++", "-g", "-O1", "-o", "shop", "shop.cc"],
                  ["gcc", "-O1", "-o", "usdt", "usdt.c"]):
        subprocess.run([words[0], "-w", *words[1:]], cwd=folder, check=True)
    return folder


def add(perf, programs, *words):
    done = perf("probe", *words, cwd=programs)
    assert done.returncode == 0, done.stderr
    return done


def events(perf, programs, group, *command):
    """The fields of each event in order: [(event, {field: text})]."""
    done = perf("record", "-q", "-o", "perf.data", "-e", f"{group}:*", "--", "setarch", "-R", *command, cwd=programs)
    assert done.returncode in (0, 1), done.stderr
    text = perf("script", "-i", "perf.data", cwd=programs).stdout
    found = []
    for line in text.splitlines():
        match = re.search(rf"{group}:(\w+): \([0-9a-f]+(?: <- [0-9a-f]+)?\)(.*)", line)
        if match:
            found.append((match[1], {name: value.strip('"') for name, value in re.findall(r'(\w+)=("[^"]*"|\S+)', match[2])}))
    return found


def debugger(programs, program, place, *printed, times=1, then=()):
    """What gdb prints at a place: one list for each time."""
    if not shutil.which("gdb"):
        pytest.skip("gdb is not installed")
    words = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set breakpoint pending on", "-ex", f"break {place}", "-ex", "run >/dev/null"]
    for turn in range(times):
        words += ["-ex", "continue"] if turn else []
        for command in then:
            words += ["-ex", command]
        words += ["-ex", 'printf "@@' + "|".join(form for form, _ in printed) + '\\n", ' + ", ".join(value for _, value in printed)]
    done = subprocess.run([*words, f"./{program}"], cwd=programs, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=300)
    found = [line[2:].split("|") for line in done.stdout.splitlines() if line.startswith("@@")]
    assert len(found) == times, done.stdout + done.stderr
    return found


@pytest.mark.parametrize("program", ["plain", "fast"])
def test_members_and_globals(perf, group, programs, program):
    add(perf, programs, "-x", program, f"{group}:weigh=weigh item->name:string item->count item->low item->middle item->high item->where.y second=item->values[2] item->corner->x "
        "factor label:x64 counter first.name:string")
    seen = [tuple(fields.values()) for _, fields in events(perf, programs, group, f"./{program}")]
    expected = debugger(programs, program, "weigh", ("%s", "item->name"), ("%d", "item->count"), ("%d", "item->low"), ("%d", "item->middle"), ("%d", "item->high"),
                        ("%d", "item->where.y"), ("%ld", "item->values[2]"), ("0x%x", "item->corner->x"), ("%ld", "factor"), ("0x%lx", "label"), ("%d", "counter"), ("%s", "first.name"),
                        times=2)
    assert [list(values) for values in seen] == [[*values[:7], str(int(values[7], 16)), *values[8:]] for values in expected]


def test_lines_and_locals(perf, group, programs):
    """Each turn of the loop."""
    add(perf, programs, "-x", "plain", f"{group}:turn=prog.c:56 at->name:string at->where.x ratio small counter")
    seen = [fields for _, fields in events(perf, programs, group, "./plain")]
    expected = debugger(programs, "plain", "prog.c:56", ("%s", "at->name"), ("%d", "at->where.x"), ("%d", "small"), times=2)
    # The line has several addresses at which statements begin; at all of them the values are the same.
    assert sorted({(one["name"], one["x"], str(int(one["small"], 16))) for one in seen}) == sorted(tuple(one) for one in expected)
    assert {one["ratio"] for one in seen} == {"0x3ff8000000000000"}


def test_return(perf, group, programs):
    add(perf, programs, "-x", "fast", f"{group}:greet=greet%return $retval +0($retval):string")
    add(perf, programs, "-x", "fast", f"{group}:weigh=weigh%return $retval:s32")
    seen = events(perf, programs, group, "./fast")
    assert [name for name, _ in seen] == ["weigh__return", "weigh__return", "greet__return"]
    assert seen[2][1]["arg2"] == "hello, world"
    results = debugger(programs, "fast", "weigh", ("%d", "(int)$rax"), times=2, then=["finish"])
    assert [fields["arg1"] for _, fields in seen[:2]] == [value for value, in results]


def test_malloc(perf, group, programs):
    """Of all calls the one of this size, by its parameter and its result."""
    add(perf, programs, "-x", "libc.so.6", f"{group}:size=malloc bytes=%di")
    add(perf, programs, "-x", "libc.so.6", f"{group}:result=malloc%return result=$retval")
    seen = events(perf, programs, group, "./shop")
    at = next(i for i, (name, fields) in enumerate(seen) if name == "size" and int(fields["bytes"], 16) == 12345)
    (expected,), = debugger(programs, "shop", "malloc if $rdi == 12345", ("%lx", "$rax"), then=["finish"])
    assert seen[at + 1] == ("result__return", {"result": f"0x{expected}"})


def test_method(perf, group, programs):
    add(perf, programs, "-x", "shop", f"{group}:add=shop::basket::add price what:string this->total")
    seen = [list(fields.values()) for _, fields in events(perf, programs, group, "./shop")]
    assert seen == debugger(programs, "shop", "shop::basket::add", ("%d", "price"), ("%s", "what"), ("%d", "this->total"), times=2)
    assert seen[1] == ["9", "pear", "12"]


def test_rust(perf, group, programs):
    if not shutil.which("rustc") or subprocess.run(["rustc", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("rustc is not installed, or not for this user")
    (programs / "till.rs").write_text(RUST)
    subprocess.run(["rustc", "-g", "-O", "till.rs"], cwd=programs, check=True)
    add(perf, programs, "-x", "till", f"{group}:pay=till::Sum::pay cents before=self->cents text=self->label.data_ptr:string")
    seen = [[fields["cents"], fields["before"]] for _, fields in events(perf, programs, group, "./till")]
    assert seen == debugger(programs, "till", "till::till::Sum::pay", ("%ld", "cents"), ("%ld", "self.cents"), times=2)


def test_static_tracepoint_of_a_library(perf, group, programs):
    """Of libstdc++, which Debian builds with them: the object that is thrown."""
    add(perf, programs, "-x", "libstdc++.so.6", f"{group}:thrown=%sdt_libstdcxx:throw")
    seen = events(perf, programs, group, "./shop")
    expected = debugger(programs, "shop", "-probe-stap libstdcxx:throw", ("0x%lx", "$_probe_arg0"), ("0x%lx", "$_probe_arg1"))
    assert [[hex(int(value, 0)) for value in fields.values()] for _, fields in seen] == expected


def test_static_tracepoint_with_semaphore(perf, group, programs):
    assert subprocess.run(["./usdt"], cwd=programs, capture_output=True, text=True, check=True).stdout == "0\n"
    add(perf, programs, "-x", "usdt", f"{group}:sale=sdt_shop:sale")
    done = perf("record", "-q", "-o", "usdt.data", "-e", f"{group}:sale", "./usdt", cwd=programs)
    assert done.stdout == "1\n", done.stderr
    text = perf("script", "-i", "usdt.data", cwd=programs).stdout
    assert re.findall(r"arg1=(-?\d+) .* arg3=(-?\d+)", text) == [("-1", "-7"), ("-2", "-7")]


def test_what_other_commands_make_of_it(perf, oracle, group, programs):
    add(perf, programs, "-x", "fast", f"{group}:weigh=weigh factor")
    assert f"{group}:weigh" in perf("list", f"{group}:*").stdout
    counted = perf("stat", "-x,", "-e", f"{group}:weigh", "./fast", cwd=programs).stderr
    assert counted.startswith("2,"), counted
    perf("record", "-q", "-g", "-o", "stack.data", "-e", f"{group}:weigh", "--filter", "factor == 5", "./fast", cwd=programs)
    text = perf("script", "-i", "stack.data", "-F", "event,sym,ip,trace", cwd=programs).stdout
    assert text.count("factor=5") == 1 and "factor=1" not in text and " main\n" in text
    assert oracle("script", "-i", "stack.data", "-F", "event,trace", cwd=programs).stdout.count("factor=5") == 1
    for program in (perf, oracle):
        assert re.search(rf"{group}:weigh +\(on weigh@\S+prog.c in \S+/fast with factor\)", program("probe", "-l", f"{group}:*").stdout)


def test_trace(perf, bpf, group, programs):
    """Between system calls."""
    add(perf, programs, "-x", "fast", f"{group}:weigh=weigh item->name:string")
    done = perf("trace", "-o", "-", "-e", f"write,{group}:weigh", "./fast", cwd=programs)
    assert re.search(rf'{group}:weigh\(.*name: "second"\)', done.stdout) and " write(fd: 1" in done.stdout, done.stdout + done.stderr


def test_adding_and_deleting(perf, group, programs, tracefs):
    before = definitions(tracefs, group)
    assert perf("probe", "-n", "-x", "fast", f"{group}:a=weigh", cwd=programs).returncode == 0
    assert definitions(tracefs, group) == before
    add(perf, programs, "-x", "fast", f"{group}:a=weigh")
    assert perf("probe", "-x", "fast", f"{group}:a=greet", cwd=programs).returncode == 239
    done = add(perf, programs, "-f", "-x", "fast", f"{group}:a=greet")
    assert f"{group}:a_1 " in done.stderr
    add(perf, programs, "-x", "plain", "-a", f"{group}:many=weigh:5 sum i", "-a", f"{group}:one=main")
    assert len(perf("probe", "-l", f"{group}:many").stdout.splitlines()) == 3
    # One that can't be made keeps the others out.
    assert perf("probe", "-x", "plain", "-a", f"{group}:b=weigh", "-a", f"{group}:c=weigh +0(%nothing)", cwd=programs).returncode != 0
    assert not any(f":{group}/b " in line for line in definitions(tracefs, group))
    done = perf("probe", "-d", f"{group}:a*", "-d", f"{group}:many")
    assert done.returncode == 0 and done.stderr.count("Removed event") == 3, done.stderr
    assert perf("probe", "-d", f"{group}:a*").returncode == 254
    assert perf("probe", "-q", "-d", f"{group}:*").stderr == ""
    assert definitions(tracefs, group) == before


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_recording_ends_by_a_signal(perf, group, programs, tracefs, end):
    """However a recorder ends, its probe can be deleted at once."""
    before = definitions(tracefs, group)
    add(perf, programs, "-x", "fast", f"{group}:weigh=weigh")
    with subprocess.Popen([perf, "record", "-q", "-o", "end.data", "-e", f"{group}:weigh", "sh", "-c", "echo ready; exec sleep 30"], cwd=programs, stdout=subprocess.PIPE,
                          text=True) as process:
        process.stdout.readline()
        process.send_signal(end)
        if end == signal.SIGKILL:
            subprocess.run(["pkill", "-P", str(process.pid)], check=False)
        process.wait(300)
    assert perf("probe", "-q", "-d", f"{group}:weigh").returncode == 0
    assert definitions(tracefs, group) == before


def test_outstanding_allocations(perf, group, programs):
    """Of the whole machine's allocations those of a size, with their stacks."""
    add(perf, programs, "-x", "libc.so.6", f"{group}:malloc=malloc bytes=%di")
    done = perf("record", "-q", "-a", "--call-graph", "dwarf", "-o", "malloc.data", "-e", f"{group}:malloc", "--filter", "bytes == 12345", "--", "./shop", cwd=programs)
    assert done.returncode == 0, done.stderr
    text = perf("report", "-i", "malloc.data", "--stdio", "--comm", "shop", "--no-children", "-g", "caller", cwd=programs).stdout
    assert " malloc" in text and " main" in text


def test_program_of_another_mount_namespace(perf, group, programs):
    """As in a container: the path is what a process of it sees."""
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    inside = programs / "inside"
    inside.mkdir()
    script = f"mount -t tmpfs none {inside} && cp {programs}/fast {inside}/hidden && echo ready && read go && {inside}/hidden"
    with subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout.readline() != "ready\n":
            pytest.skip("no mount namespace can be made here")
        assert not (inside / "hidden").exists()
        add(perf, programs, "--target-ns", process.pid, "-x", inside / "hidden", "-a", f"{group}:weigh=weigh factor")
        assert "on weigh@" in perf("probe", "-l", f"{group}:*").stdout
        with subprocess.Popen([perf, "record", "-q", "-a", "-o", "other.data", "-e", f"{group}:weigh", "sh", "-c", "echo ready; read end"], cwd=programs,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder:
            assert recorder.stdout.readline() == "ready\n"
            process.communicate("go\n", timeout=300)
            recorder.communicate("end\n", timeout=300)
    assert perf("script", "-i", "other.data", cwd=programs).stdout.count("factor=") == 2


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DEBUGINFOD_URLS", "")
    return tmp_path / ".debug"


def test_cache(perf, oracle, programs, group, store):
    """buildid-cache -a keeps static tracepoints, --cache -a any probe, in files that the kernel's perf reads, too; the former are then found without -x."""
    program = programs / "usdt"
    assert perf("buildid-cache", "-a", program).returncode == 0
    kept, = store.rglob("probes")
    assert re.fullmatch(rf"%sdt_shop:sale=sale\np:sdt_shop/sale {program}:0x[0-9a-f]+\(0x[0-9a-f]+\) arg1=.*\n", kept.read_text())
    add(perf, programs, "--cache", "-x", "usdt", f"{group}:begin=main")
    add(perf, programs, "--cache", "-x", "usdt", f"{group}:end=main%return $retval")
    listed = perf("probe", "--cache", "-l").stdout
    assert listed.splitlines()[0].startswith(f"{program} (")
    assert listed.splitlines()[1:] == ["sdt_shop:sale=sale", f"{group}:begin=main", f"{group}:end=main%return $retval"]
    assert oracle("probe", "--cache", "-l").stdout == listed
    add(perf, programs, f"{group}:sale=%sdt_shop:sale")
    assert [name for name, _ in events(perf, programs, group, "./usdt")] == ["begin", "sale", "sale", "end__return"]
    assert perf("probe", "--cache", "-l", "sale").stdout.splitlines()[1:] == ["sdt_shop:sale=sale"]
    assert perf("probe", "--cache", "-d", f"{group}:*", "-d", "sdt_shop:sale").returncode == 0
    assert perf("probe", "--cache", "-l").stdout == "" and not kept.exists()
    again = perf("probe", "--cache", "-d", "main")
    assert again.returncode == 254 and "perf probe --cache -l" in again.stderr
    missing = perf("probe", "%sdt_shop:sale")
    assert missing.returncode == 254 and "perf buildid-cache -a PROGRAM" in missing.stderr


def test_cache_of_the_kernels_perf(perf, oracle, programs, group, store):
    """What it has put there is found, listed and removed; a program that has changed since isn't taken for the cached one."""
    shutil.copy(programs / "usdt", programs / "later")
    if oracle("buildid-cache", "-a", programs / "later").returncode or not list(store.rglob("probes")):
        pytest.skip("this kernel's perf keeps no probes")
    assert perf("probe", "--cache", "-l").stdout == oracle("probe", "--cache", "-l").stdout != ""
    add(perf, programs, f"{group}:sale=sdt_shop:sale")
    assert [name for name, _ in events(perf, programs, group, "./later")] == ["sale", "sale"]
    shutil.copy(programs / "plain", programs / "later")
    assert "later has changed since it was added to the cache" in perf("probe", "-n", "%sdt_shop:sale").stderr
    assert perf("probe", "--cache", "-d", "sdt_shop:*").returncode == 0 and oracle("probe", "--cache", "-l").stdout == ""
