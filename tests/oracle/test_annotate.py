"""Annotated functions: the same instructions at the same addresses with the same percentages as by the kernel's perf, which runs objdump.

Most recordings are made up, so that they hold many functions of many files and are the same each time. What may differ is in DIFFERENCES."""
import collections
import pathlib
import random
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

BASE = 0x7F0000000000

# Mnemonics that capstone and objdump have for the same bytes: (ours, theirs).
DIFFERENCES = {
    ("nop", "xchg"): "66 90 is a nop of two bytes; objdump shows the xchg %ax,%ax that it once was",
    ("nopw", "cs"): "a nop with more prefixes than it needs: objdump lists them before it",
    ("nopw", "data16"): "the same",
}

ARM64_DIFFERENCES = {
    ("movz", "mov"): "capstone 4 has not this alias of movz",
}

SOURCE = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile double sink;
static inline __attribute__((always_inline)) double weigh(double x, int i)
{
	return x * i + sqrt(x);
}
__attribute__((noinline)) double sum(const double *v, int n)
{
	double t = 0;
	for (int i = 0; i < n; i++) {
		if (v[i] > 0.5)
			t += weigh(v[i], i);
		else
			t -= v[i];
	}
	return t;
}
__attribute__((noinline)) unsigned mix(unsigned x)
{
	switch (x & 7) {
	case 0: x ^= 5; break;
	case 1: x *= 3; break;
	case 2: x -= 9; break;
	case 3: x /= 3; break;
	case 4: x += 77; break;
	case 5: x <<= 2; break;
	default: x = ~x;
	}
	return x * 2654435761u;
}
__attribute__((noinline)) long deep(long n)
{
	return n < 2 ? n : deep(n - 1) + deep(n - 2);
}
__attribute__((noinline)) void text(char *out, size_t size, int n)
{
	snprintf(out, size, "%d of %s", n, "many");
	for (char *at = out; *at; at++)
		*at ^= 0x20;
}
int main(int argc, char **argv)
{
	static double v[1000];
	char line[100];
	unsigned x = 1;
	long rounds = argc > 1 ? atol(argv[1]) : 100;
	for (long r = 0; r < rounds; r++) {
		for (int i = 0; i < 10; i++)
			v[(x = mix(x)) % 1000] = (x % 1000) / 1000.0;
		sink += sum(v, 1000);
		if (r % 1000 == 0) {
			text(line, sizeof line, (int)r);
			sink += (double)deep(12) + (double)strlen(line);
		}
	}
	printf("%f\n", sink);
	return 0;
}
"""


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory):
    """The kernel's perf must not find other builds in somebody's build-id cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    need("gcc", "objdump", "readelf")
    folder = tmp_path_factory.mktemp("program")
    (folder / "hot.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-g", "-o", "hot", "hot.c", "-lm"], cwd=folder, check=True)
    return folder / "hot"


def functions_of(path):
    """(name, virtual address, size) of the functions with a size, one for each address."""
    table = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in table.splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] == "FUNC" and words[6].isdigit() and int(words[2], 0):
            found.setdefault(int(words[1], 16), (words[7].split("@")[0], int(words[1], 16), int(words[2], 0)))
    return sorted(found.values(), key=lambda function: function[1])


def mapped(path, arch="x86_64"):
    """Lines for recording.make(): the file mapped at BASE."""
    lines = [f"feature arch {arch}", "comm pid=1 tid=1 name=x time=1"]
    text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in "".join(words[6:-1]):
            offset, start, size = (int(words[i], 16) & ~0xFFF for i in (1, 2, 5))
            lines.append(f"mmap2 pid=1 tid=1 addr={BASE + start:#x} len={size + 0x2000:#x} pgoff={offset:#x} maj=8 min=1 ino=5 name={path} time=2")
    return lines


def samples_in(functions, seed, event=0, count=60):
    """Samples at random bytes of the functions, some of them often, with random periods."""
    chance = random.Random(seed)
    for name, start, size in functions:
        places = [start + chance.randrange(size) for _ in range(12)]
        for _ in range(count):
            yield f"sample event={event} ip={BASE + chance.choice(places):#x} pid=1 tid=1 time=10 period={chance.randrange(1, 1000)}"


EVENT = "event {} type=1 config={} freq=1000 sample=IP|TID|TIME|PERIOD|IDENTIFIER ids={} flags=sample_id_all,comm,mmap,mmap2"


def write(path, lines, events=("cpu-clock",)):
    heads = [EVENT.format(name, number, number + 1) for number, name in enumerate(events)]
    path.write_bytes(recording.make(recording.of_absent("\n".join([*heads, "feature event_desc", *lines]))))
    return path


def parse(text):
    """{(file, address of the first instruction): (name, header, {address: (values, text)})}"""
    found, name, header, rows = {}, None, None, {}

    def keep():
        if rows:
            found[re.search(r"Disassembly of (\S+) for", header)[1], next(iter(rows))] = (name, header, dict(rows))
    for line in text.splitlines():
        if "\tSource code & Disassembly of " in line:
            keep()
            header, name, rows = line, None, {}
        elif header and not rows and (match := re.search(r":.*\b[0-9a-f]{16} <(.*)>:$", line)):
            name = match[1]
        elif header and (match := re.match(r"((?: +[\d.]+)+) : +([0-9a-f]+): +(.*)$", line)):
            rows[int(match[2], 16)] = (match[1].split(), match[3])
    keep()
    return found


def annotate(program, data, *words):
    done = program("annotate", "--stdio", "-i", data, *words, timeout=300)
    return parse(done.stdout), done


def mnemonic(text):
    words = text.split()
    return words[0] if words else ""


def compare(ours, theirs):
    """The mnemonics that differ, counted; everything else must be the same."""
    assert set(ours) == set(theirs)
    different = collections.Counter()
    for key, (_, our_header, our_rows) in ours.items():
        _, their_header, their_rows = theirs[key]
        assert our_header == their_header
        assert list(our_rows) == list(their_rows), key
        for address, (values, text) in our_rows.items():
            assert values == their_rows[address][0], (key, hex(address))
            pair = mnemonic(text), mnemonic(their_rows[address][1])
            if pair[0] != pair[1]:
                different[pair] += 1
                assert pair in DIFFERENCES, (pair, key, hex(address), text, their_rows[address][1])
    return different


FILES = ["libc.so.6", "libm.so.6", "libstdc++.so.6", "libcrypto.so.3", "libz.so.1"]


@pytest.mark.parametrize("name", ["hot", *FILES])
def test_same_instructions_and_percentages(perf, oracle, tmp_path, program, name):
    path = program if name == "hot" else pathlib.Path("/usr/lib/x86_64-linux-gnu") / name
    if not path.exists():
        pytest.skip(f"{name} is not installed")
    path = path.resolve()
    known = [function for function in functions_of(path) if 16 <= function[2] <= 20000]
    chosen = random.Random(name).sample(known, min(len(known), 25))
    data = write(tmp_path / "perf.data", mapped(path) + list(samples_in(chosen, name)))
    ours, done = annotate(perf, data)
    theirs, _ = annotate(oracle, data)
    assert len(ours) >= (5 if name == "hot" else 20), done.stderr
    compare(ours, theirs)


@pytest.mark.parametrize("words", [["-n"], ["--show-total-period"], ["--percent-type", "local-hits"], ["-P"], ["--no-source"], ["-l"], ["-M", "intel"]],
                         ids=" ".join)
def test_same_columns(perf, oracle, tmp_path, program, words):
    data = write(tmp_path / "perf.data", mapped(program) + list(samples_in(functions_of(program), 1)))
    if words == ["-P"]:
        words = ["-P", "--no-source"]
    ours, done = annotate(perf, data, *words)
    theirs, _ = annotate(oracle, data, *words)
    assert len(ours) >= 5, done.stderr
    compare(ours, theirs)


def test_percentages_of_the_whole_recording(perf, tmp_path, program):
    """(The kernel's perf divides by a total that it hasn't counted.)"""
    functions = [function for function in functions_of(program) if function[0] in ("sum", "mix")]
    data = write(tmp_path / "perf.data", mapped(program) + list(samples_in(functions, 2)))
    for what in ("hits", "period"):
        whole, _ = annotate(perf, data, "--percent-type", f"global-{what}")
        shares = [sum(float(values[0]) for values, _ in rows.values()) for _, _, rows in whole.values()]
        assert len(shares) == 2 and abs(sum(shares) - 100) < 0.3
        if what == "hits":
            assert all(abs(share - 50) < 0.2 for share in shares)


def test_events_side_by_side(perf, oracle, tmp_path, program):
    """Grouped or not: with --group all events have columns; without, each event has its own functions."""
    functions = functions_of(program)
    lines = mapped(program) + list(samples_in(functions, 3)) + [
        line.replace("sample ", "sample id=2 ") for line in samples_in(functions[:-2], 4, event=1)]
    data = write(tmp_path / "perf.data", lines, events=("cpu-clock", "task-clock"))
    ours, _ = annotate(perf, data, "--group")
    theirs, _ = annotate(oracle, data, "--group")
    assert all(len(values) == 2 for _, _, rows in ours.values() for values, _ in rows.values())
    compare(ours, theirs)
    headers = [line for line in perf("annotate", "-i", data).stdout.splitlines() if "Source code" in line]
    assert headers == [line for line in oracle("annotate", "--stdio", "-i", data).stdout.splitlines() if "Source code" in line]
    assert {re.search(r"for (\S+) ", header)[1] for header in headers} == {"cpu-clock", "task-clock"}


def test_hottest_first_and_limits(perf, oracle, tmp_path, program):
    functions = functions_of(program)
    lines = mapped(program)
    for weight, function in enumerate(functions, 1):
        lines += list(samples_in([function], 5, count=weight * weight * 3))
    data = write(tmp_path / "perf.data", lines)

    def order(tool, *words):
        return [name for name, _, _ in annotate(tool, data, *words)[0].values()]
    assert order(perf) == order(oracle) and len(order(perf)) == len(functions)
    limited = order(perf, "--percent-limit", "15")
    assert limited == order(oracle, "--percent-limit", "15") and 0 < len(limited) < len(functions)
    assert order(perf, "-d", "hot") == order(perf) and not order(perf, "-d", "libc.so.6")


def test_source_lines(perf, oracle, tmp_path, program):
    """The summary by lines: each line's sum; lines and numbers between the instructions are those of the file."""
    function = [function for function in functions_of(program) if function[0] == "sum"]
    data = write(tmp_path / "perf.data", mapped(program) + list(samples_in(function, 6, count=200)))
    done, theirs = perf("annotate", "-l", "-i", data, "sum"), oracle("annotate", "--stdio", "-l", "-i", data, "sum")

    def summary(text):
        rows = re.findall(r"^ +([\d.]+) (\S+:\d+)$", text, re.M)
        return {place: float(percent) for percent, place in rows}
    ours, reference = summary(done.stdout), summary(theirs.stdout)
    # The kernel's perf leaves out instructions below 0.5 % before it adds up.
    assert set(reference) <= set(ours) and all(0 <= ours[place] - percent <= 2 for place, percent in reference.items())
    assert sum(ours.values()) == pytest.approx(100, abs=1)
    text = SOURCE.splitlines()
    shown = re.findall(r"^ +: (\d+) +(.*)$", done.stdout, re.M)
    assert len(shown) > 10
    for number, line in shown:
        assert text[int(number) - 1].expandtabs().strip() == line.strip()
    assert re.search(r" : +weigh\(\):", done.stdout)
    behind = re.findall(r"^ +([\d.]+) :.* // (\S+)$", done.stdout, re.M)
    assert behind and sum(float(percent) for percent, _ in behind) == pytest.approx(100, abs=1)
    paths = perf("annotate", "-l", "-P", "-i", data, "sum").stdout
    assert f"// {program.parent}/hot.c:" in paths


def compact(text):
    """(value, label, arrow, mnemonic, operands) of each instruction."""
    rows = re.findall(r"^(?: +([\d.]+))?  +(?:([0-9a-f]+):)? +([↑↓→←]?) ?([a-z]\S*)(?: +(\S.*?))? *$", text, re.M)
    return [row for row in rows if row[3] not in ("for", "if", "else", "return", "double", "t", "case", "switch", "default:", "static", "weigh():", "sum():")]


def test_compact_form(perf, oracle, tmp_path, program):
    """--stdio2: offsets, labels and arrows as the kernel's perf has them."""
    function = [function for function in functions_of(program) if function[0] in ("sum", "mix", "deep")]
    data = write(tmp_path / "perf.data", mapped(program) + list(samples_in(function, 7)))
    words = ["annotate", "--stdio2", "--no-source", "-i", data]
    for name, _, _ in function:
        ours, theirs = (tool(*words, name).stdout for tool in (perf, oracle))
        assert ours.splitlines()[:2] == theirs.splitlines()[:2]
        ours, theirs = compact(ours), compact(theirs)
        assert len(ours) > 10
        for a, b in zip(ours, theirs, strict=True):
            assert a[:4] == b[:4]
            # Other operands are written differently. The kernel's perf doesn't name the linkage table.
            assert not a[2] or a[4] == b[4] or (a[4].endswith("@plt") and b[4] == "_init")


def test_names_of_targets(perf, tmp_path, program):
    function = [function for function in functions_of(program) if function[0] in ("main", "text")]
    data = write(tmp_path / "perf.data", mapped(program) + list(samples_in(function, 8)))
    text = perf("annotate", "-i", data).stdout
    assert re.search(r"call +[0-9a-f]+ <mix>", text) and re.search(r"call +[0-9a-f]+ <snprintf@plt>", text)
    assert re.search(r"sink", text)


def test_raw_bytes(perf, oracle, tmp_path, program):
    data = write(tmp_path / "perf.data", mapped(program) + list(samples_in(functions_of(program), 9)))
    ours, theirs = annotate(perf, data, "--asm-raw")[0], annotate(oracle, data, "--asm-raw")[0]

    def code(rows):
        text = ""
        for _, line in rows.values():
            text += re.match(r"((?:[0-9a-f]{2} )*(?:[0-9a-f]{2}(?= |$))?)", line + " ")[1]
        return text.split()
    for key, (_, _, rows) in ours.items():
        assert code(rows) == code(theirs[key][2])


def test_rows_for_programs(perf, tmp_path, program):
    import csv
    import json
    data = write(tmp_path / "perf.data", mapped(program) + list(samples_in(functions_of(program), 10)))
    rows = [json.loads(line) for line in perf("annotate", "-i", data, "--format", "json").stdout.splitlines()]
    text, _ = annotate(perf, data)
    wanted = [(name, address, values[0]) for name, _, lines in text.values() for address, (values, _) in lines.items()]
    assert [(row["function"], row["address"], f"{row['percent']:.2f}") for row in rows] == wanted
    assert all(row["samples"] <= row["period"] for row in rows) and any(row["source"].endswith("hot.c") for row in rows)
    lines = perf("annotate", "-i", data, "-x", ";").stdout.splitlines()
    table = list(csv.DictReader(lines, delimiter=";"))
    assert [(row["function"], int(row["address"], 16)) for row in table] == [(row["function"], row["address"]) for row in rows]


def test_names_without_endings(perf, tmp_path, program):
    data = write(tmp_path / "perf.data", mapped(program) + list(samples_in(functions_of(program), 11)))
    done = perf("annotate", "-i", data, "-s", "summ")
    assert done.returncode and "did you mean 'sum'?" in done.stderr
    assert len(parse(perf("annotate", "-i", data, "-s", "m*").stdout)) == 2
    both = perf("annotate", "-i", data, "-n", "--show-total-period")
    assert both.returncode == 129
    for word in ("--objdump=/bin/false", "--addr2line=/bin/false"):
        taken = perf("annotate", "-i", data, word, "sum")
        assert taken.returncode == 0 and not taken.stderr and parse(taken.stdout)


def test_code_that_is_not_there(perf, tmp_path, program):
    """Missing or exchanged files: said once for all their functions; --skip-missing says nothing; nothing at all is an error."""
    copy = tmp_path / "copy"
    shutil.copy(program, copy)
    functions = functions_of(program)
    lines = mapped(program) + [line.replace(f"{BASE >> 36:x}", f"{(BASE >> 36) + 1:x}") for line in mapped(copy)[2:]]
    lines += list(samples_in(functions, 12)) + [line.replace(hex(BASE)[:6], "0x7f10") for line in samples_in(functions, 13)]
    data = write(tmp_path / "perf.data", lines)
    assert len(parse(perf("annotate", "-i", data).stdout)) == 2 * len(functions)
    script = perf("report", "-i", data, "--stdio", "-s", "dso").stdout
    assert "copy" in script and "hot" in script
    # Names are still known, from where debug files are looked for.
    (tmp_path / ".debug").mkdir()
    copy.rename(tmp_path / ".debug/copy")
    done = perf("annotate", "-i", data)
    assert done.returncode == 0 and len(parse(done.stdout)) == len(functions)
    assert done.stderr.count("\n") == 1 and f"{copy}" in done.stderr and "more functions" in done.stderr
    assert perf("annotate", "-i", data, "--skip-missing").stderr == ""
    alone = perf("annotate", "-i", data, "-d", "copy")
    assert alone.returncode and not alone.stdout and "copy" in alone.stderr


def test_hostile_names_and_text(perf, tmp_path):
    need("gcc", "objcopy", "readelf")
    (tmp_path / "x.c").write_text("int f(int x) { /* \033[31mred\033]0;title\007 \u202e */\n\treturn x * 3; }\nint main(void) { return f(2); }\n")
    subprocess.run(["gcc", "-O1", "-g", "-fno-inline", "-o", "x", "x.c"], cwd=tmp_path, check=True)
    subprocess.run(["objcopy", "--redefine-sym", "f=\033[2Jf\n", "x"], cwd=tmp_path, check=True)
    start = next(function for function in functions_of(tmp_path / "x") if function[0].endswith("f") or "2J" in function[0])
    data = write(tmp_path / "perf.data", mapped(tmp_path / "x") + list(samples_in([start], 14)) + list(
        samples_in([function for function in functions_of(tmp_path / "x") if function[0] == "main"], 15)))
    for words in ([], ["--stdio2"], ["-l", "-P"], ["--format", "json"], ["--format", "csv"]):
        done = perf("annotate", "-i", data, *words)
        assert done.returncode == 0 and "\\x1b" in done.stdout.replace("\\u001b", "\\x1b")
        assert "\033" not in done.stdout and "\007" not in done.stdout
    assert "\033[3" in perf("annotate", "-i", data, "--stdio-color", "always").stdout


KERNEL = """
void _start(void) {}
__attribute__((noinline)) int kern_a(int x)
{
	return x + 2;
}
__attribute__((noinline, used)) int kern_b(int x)
{
	if (x > 3)
		x = kern_a(x);
	return x * 7;
}
asm(".globl _text\\n.set _text,_start\\n.globl _stext\\n.set _stext,_start");
"""

MODULE = """
extern int printk(const char *, ...);
extern int counter;
__attribute__((noinline)) int mod_a(int x)
{
	return x * 3;
}
__attribute__((noinline, used)) int mod_b(int x)
{
	counter += x;
	printk("hello %d", x);
	return mod_a(x) + 1;
}
struct { char n[64]; } __this_module __attribute__((section(".gnu.linkonce.this_module")));
"""


@pytest.mark.parametrize("moved", [0, 0x1000000])
def test_kernel_and_modules(perf, oracle, tmp_path, moved):
    """A vmlinux, loaded elsewhere than linked, and a module, both made up: with source text, and with names where the module's code will be
    relocated."""
    need("gcc", "objdump", "readelf")
    (tmp_path / "kernel.c").write_text(KERNEL)
    (tmp_path / "foo.c").write_text(MODULE)
    subprocess.run(["gcc", "-O1", "-g", "-c", "-o", "foo.ko", "foo.c"], cwd=tmp_path, check=True)
    link = "-O1 -g -fno-pic -nostdlib -static -no-pie -Wl,-Ttext=0xffffffff81000000 -Wl,--build-id=none -mcmodel=kernel -o vmlinux kernel.c"
    if subprocess.run(["gcc", *link.split()], cwd=tmp_path, check=False).returncode:
        pytest.skip("this compiler cannot link at kernel addresses")
    text, module = 0xFFFFFFFF81000000 + moved, 0xFFFFFFFFC0001000
    lines = [
        f"mmap pid=-1 tid=0 addr={text:#x} len=0x1000000 pgoff={text:#x} misc=1 name=[kernel.kallsyms]_text",
        f"mmap pid=-1 tid=0 addr={module:#x} len=0x2000 pgoff=0 misc=1 name={tmp_path}/foo.ko",
        "comm pid=1 tid=1 name=x time=1",
    ]
    chance = random.Random(moved)
    for start, path in ((text - 0xFFFFFFFF81000000, "vmlinux"), (module, "foo.ko")):
        for _, address, size in functions_of(tmp_path / path):
            lines += [f"sample ip={start + address + chance.randrange(size):#x} pid=1 tid=1 time=10 misc=1" for _ in range(30)]
    data = write(tmp_path / "perf.data", lines)
    ours, done = annotate(perf, data, "-k", tmp_path / "vmlinux")
    compare(ours, annotate(oracle, data, "-k", tmp_path / "vmlinux")[0])
    assert {name for name, _, _ in ours.values()} == {"_start", "kern_a", "kern_b", "mod_a", "mod_b"}, done.stderr
    assert "call   printk" in done.stdout and "<counter>" in done.stdout and re.search(r"call +ffffffff[0-9a-f]+ <kern_a>", done.stdout)
    assert re.search(r": 10 +counter \+= x;", done.stdout) and re.search(r": 10 +x = kern_a\(x\);", done.stdout)
    named = perf("annotate", "-i", data, "-k", tmp_path / "vmlinux", "--stdio2", "kern_b").stdout
    assert re.search(r"→ call +kern_a$", named, re.M) and re.search(r"↓ jle +[0-9a-f]+$", named, re.M)


def test_arm64(perf, tmp_path):
    """Code of another processor, as its own objdump shows it."""
    need("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", "readelf")
    source = SOURCE.replace("#include <math.h>", "double sqrt(double);")
    (tmp_path / "hot.c").write_text(source)
    subprocess.run(["aarch64-linux-gnu-gcc", "-O2", "-g", "-o", "hot", "hot.c", "-lm"], cwd=tmp_path, check=True)
    functions = [function for function in functions_of(tmp_path / "hot") if function[0] in ("sum", "mix", "deep", "text", "main")]
    data = write(tmp_path / "perf.data", mapped(tmp_path / "hot", "aarch64") + list(samples_in(functions, 16)))
    ours, done = annotate(perf, data)
    assert len(ours) == 5, done.stderr
    dump = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", tmp_path / "hot"], capture_output=True, text=True, check=True)
    theirs = {int(address, 16): text for address, text in re.findall(r"^ +([0-9a-f]+):\t(.*)$", dump.stdout, re.M)}
    for _, _, rows in ours.values():
        assert sum(float(values[0]) for values, _ in rows.values()) == pytest.approx(100, abs=1)
        for address, (_, text) in rows.items():
            pair = mnemonic(text), mnemonic(theirs[address])
            assert pair[0] == pair[1] or pair in ARM64_DIFFERENCES, (hex(address), text, theirs[address])
            # Targets with their names.
            if "<" in theirs[address] and "//" not in theirs[address] and mnemonic(text) not in ("adrp", "adr"):
                assert text.split()[1:] == theirs[address].split()[1:]
    assert re.search(r"bl +[0-9a-f]+ <mix>", done.stdout) and "weigh():" in done.stdout
    arrows = perf("annotate", "-i", data, "--stdio2", "sum").stdout
    assert re.search(r"↑ b\.\w+ +[0-9a-f]+$", arrows, re.M) and re.search(r"← ret$", arrows, re.M)
