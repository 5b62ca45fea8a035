"""Types of accessed data: for each instruction of a program that accesses memory, the member that its source line says it accesses.

The program's lines tell what is expected of them in a comment: all that stand between "|", and maybe what stands behind "?". Which instructions belong to a line is asked of objdump, so that nothing
depends on how the compiler arranges them; samples are made up, one at each instruction."""
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import accesses as accesses_lib  # noqa: E402
import recording  # noqa: E402

BASE = 0x7F0000000000

SOURCE = r"""
#include <stddef.h>
#include <stdlib.h>
#define OUT __attribute__((noinline))
struct point { int x, y; };
typedef struct { int used; struct { long low, high; }; } range_t;
struct item { long key; struct point at; char name[16]; double weight; int marks[4]; unsigned small : 3, large : 20; };
struct node { struct node *next; struct item *item; int count; union { int small; long large; } u; };
struct settings { int level; long limit; struct point origin; };
struct operations { int id; long (*run)(long); };
struct list { struct list *next, *prev; };
struct holder { long other[6]; struct list link; long after; };
struct packet { int length, kind; struct item body[]; };
struct settings settings = {3, 100, {1, 2}};
struct item items[100];
struct node *first;
range_t range;
extern struct settings others;
void *opaque;

OUT long sum_items(struct item *list, int count)
{
	long total = 0;
	for (int i = 0; i < count; i++) {
		total += list[i].key; /* struct item +0 (key) */
		list[i].at.y = (int)total; /* struct item +0xc (at.y) */
		list[i].marks[i & 3]++; /* struct item +0x28 (marks) ? struct item +0x2c (marks) */
	}
	return total;
}
OUT long walk(const struct node *node)
{
	long total = 0;
	while (node) {
		total += node->count; /* struct node +0x10 (count) */
		total += node->item->at.x; /* struct node +0x8 (item) | struct item +0x8 (at.x) */
		total += node->u.large; /* struct node +0x18 (u.small) */
		node = node->next; /* struct node +0 (next) */
	}
	return total;
}
OUT long global(int by)
{
	settings.origin.y = by; /* struct settings +0x14 (origin.y) */
	return settings.limit; } /* struct settings +0x8 (limit) */
OUT int elsewhere(void)
{
	return others.level; } /* struct settings +0 (level) ? (unknown) +0 (no field) */
OUT double indexed(int i)
{
	return items[i].weight; } /* struct item +0x20 (weight) */
OUT long from_global(void)
{
	return first->u.large; } /* struct node* +0 (no field) | struct node +0x18 (u.small) */
OUT long chain(struct node *node)
{
	return node->next->next->item->key; } /* struct node +0 (next) | struct node +0x8 (item) | struct item +0 (key) */
OUT long anonymous(range_t *with, long by)
{
	with->high = by; /* range_t +0x10 (high) */
	return range.low; } /* range_t +0x8 (low) */
OUT int *number(int *to)
{
	*to = 1; /* int +0 (no field) */
	return to;
}
OUT struct node *make(struct item *item)
{
	struct node *node = malloc(sizeof(*node));
	node->item = item; /* struct node +0x8 (item) */
	node->count = 1; /* struct node +0x10 (count) */
	return node;
}
OUT long made(struct item *item)
{
	return make(item)->u.large; } /* struct node +0x18 (u.small) */
OUT long kept(struct node *node, struct item *item)
{
	make(item);
	return node->count; } /* struct node +0x10 (count) */
static inline __attribute__((always_inline)) long inner(const struct node *of)
{
	return of->item->at.y; } /* struct node +0x8 (item) ? struct item +0xc (at.y) */
OUT long outer(const struct node *node)
{
	return inner(node); } /* ? struct item +0xc (at.y) */
OUT long choose(struct node *a, struct item *b, int which)
{
	switch (which) {
	case 0:
		return a->count; /* struct node +0x10 (count) */
	case 1:
		return b->key; /* struct item +0 (key) */
	case 2:
		return settings.level; /* struct settings +0 (level) */
	case 3:
		return a->u.large + 1; /* struct node +0x18 (u.small) */
	case 4:
		return b->at.x; /* struct item +0x8 (at.x) */
	case 5:
		return b->at.y; /* struct item +0xc (at.y) */
	default:
		return 0;
	}
}
OUT void fill(struct settings *of)
{
	of->level = 1; /* struct settings +0 (level) */
	of->limit = 2; /* struct settings +0x8 (limit) */
}
OUT long local(int by)
{
	struct settings own;
	fill(&own);
	return own.limit + by; } /* struct settings +0x8 (limit) */
OUT unsigned bits(const struct item *item)
{
	return item->large; } /* struct item +0x38 (small:3) */
OUT long indirect(const struct operations *with, long by)
{
	return with->run(by); } /* struct operations +0x8 (run) */
OUT long contained(struct list *link)
{
	struct holder *holder = (struct holder *)((char *)link - offsetof(struct holder, link));
	return holder->after; } /* struct holder +0x40 (after) */
OUT long flexible(const struct packet *packet)
{
	return packet->body[1].key; } /* (unknown) +0 (no field) */
OUT long lost(long address)
{
	return *(volatile char *)(address * 3); } /* (unknown) +0 (no field) */
OUT long nothing(void)
{
	return *(char *)opaque; } /* void* +0 (no field) | (unknown) +0 (no field) */
int main(int argc, char **argv)
{
	return (int)(sum_items(items, 100) + walk(first) + global(argc) + elsewhere() + (long)indexed(argc) + from_global() + chain(first) +
		     anonymous(&range, argc) + *number(&argc) + made(items) + kept(first, items) + outer(first) +
		     choose(first, items, argc) + local(argc) + bits(items) + indirect((void *)argv, argc) + lost(argc) + nothing() +
		     contained((void *)argv) + flexible((void *)argv));
}
"""

COMPILERS = {"x86_64": ("gcc", "objdump"), "aarch64": ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump")}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory):
    """Nothing of somebody's build-id cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


def accesses(arch, text):
    """Whether an instruction accesses memory by an operand; not those that save and restore registers."""
    if arch == "aarch64":
        return "[" in text and not re.match(r"prf|\w+\s+x(19|2\d|30), .*\[sp", text)
    return "(" in text and not re.match(r"lea|nop|data16|cs", text)


class Program:
    """Compiled, with its instructions: {address: (line, text)} of those that access memory, and all addresses."""

    def __init__(self, folder, arch, *options):
        compiler, objdump = COMPILERS[arch]
        if "clang" in options:
            compiler, options = "clang", [option for option in options if option != "clang"]
        for program in (compiler, objdump, "readelf"):
            if not shutil.which(program):
                pytest.skip(f"{program} is not installed")
        (folder / "data.c").write_text(SOURCE)
        (folder / "others.c").write_text("struct settings { int level; long limit; }; struct settings others = {5, 6};\n")
        self.arch, self.path = arch, folder / "data"
        subprocess.run([compiler, "-g", *options, "-o", "data", "data.c", "others.c"], cwd=folder, check=True)
        listing = subprocess.run([objdump, "-d", "-l", "-j", ".text", "--no-show-raw-insn", "data"], cwd=folder, capture_output=True, text=True, check=True).stdout
        self.accesses, self.names, self.texts = {}, {}, {}
        line, name = None, None
        for row in listing.splitlines():
            if found := re.match(r"[0-9a-f]+ <(\w+)>:", row):
                name, line = found[1], None
            elif found := re.match(r"\S*data\.c:(\d+)", row):
                line = int(found[1])
            elif found := re.match(r"\s+([0-9a-f]+):\s+(.*)", row):
                address = int(found[1], 16)
                self.names[address], self.texts[address] = name, found[2]
                if line and accesses(arch, found[2]):
                    self.accesses[address] = line

    def mapped(self):
        text = subprocess.run(["readelf", "-lW", self.path], capture_output=True, text=True, check=True).stdout
        for row in text.splitlines():
            words = row.split()
            if words[:1] == ["LOAD"] and "E" in "".join(words[6:-1]):
                offset, start, size = (int(words[i], 16) & ~0xFFF for i in (1, 2, 5))
                yield f"mmap2 pid=1 tid=1 addr={BASE + start:#x} len={size + 0x2000:#x} pgoff={offset:#x} maj=8 min=1 ino=5 name={self.path} time=2"

    def record(self, path, addresses, more="", fields="", second=()):
        """A sample at each address; `more`: what they have besides, and its values. `second`: those of another event, of its group."""
        lines = [f"feature arch {self.arch}", f"event cycles type=0 config=0 freq=1000 sample=IP|TID|TIME|ID|PERIOD{more} flags=sample_id_all,mmap,comm ids=1" + " members=2" * bool(second),
                 *["event instructions type=0 config=1 freq=1000 sample=IP|TID|TIME|ID|PERIOD flags=sample_id_all ids=2", "feature group_desc"] * bool(second),
                 "comm pid=1 tid=1 name=x time=1", *self.mapped()]
        lines += [f"sample event=0 ip={BASE + address:#x} pid=1 tid=1 time={10 + i} id=1 period=1000 misc=2 {fields}" for i, address in enumerate(addresses)]
        lines += [f"sample event=1 ip={BASE + address:#x} pid=1 tid=1 time={1000 + i} id=2 period=500 misc=2" for i, address in enumerate(second)]
        path.write_bytes(recording.make("\n".join(lines)))
        return path


@pytest.fixture(scope="module", params=[("x86_64", "-O1"), ("x86_64", "-O2"), ("x86_64", "-O2", "-no-pie", "-fno-pie"), ("x86_64", "-O2", "-gdwarf-4"), ("x86_64", "clang", "-O2"),
                                        ("aarch64", "-O1"), ("aarch64", "-O2")], ids=" ".join)
def program(request, tmp_path_factory):
    return Program(tmp_path_factory.mktemp("program"), *request.param)


@pytest.fixture(scope="module")
def optimised(tmp_path_factory):
    return Program(tmp_path_factory.mktemp("optimised"), "x86_64", "-O2")


def types_of(perf, program, data):
    """{address: (type, type and offset)}"""
    text = perf("report", "-i", data, "--stdio", "-s", "symoff,type,typeoff", "-t;").stdout
    starts = {}
    for address, name in sorted(program.names.items(), reverse=True):
        starts[name] = address
    found = {}
    for row in text.splitlines():
        words = [word.strip() for word in row.split(";")]
        if place := re.fullmatch(r"\[\.\] (\w+)\+0x([0-9a-f]+)", words[1]) if len(words) == 4 else None:
            found[starts[place[1]] + int(place[2], 16)] = (words[2], words[3])
    return found


def test_members(perf, program, tmp_path):
    """Each access has the member that the source says."""
    expected, possible = {}, {}
    for number, line in enumerate(SOURCE.splitlines(), 1):
        if found := re.search(r"/\* (.*?)(?: ?\? (.*))? \*/", line):
            expected[number] = set(filter(None, found[1].split(" | ")))
            possible[number] = {found[2]}
    data = program.record(tmp_path / "perf.data", program.accesses)
    found = types_of(perf, program, data)
    wrong, seen = [], {}
    for address, line in program.accesses.items():
        if line in expected:
            seen.setdefault(line, set()).add(found[address][1])
            if found[address][1] not in expected[line] | possible[line]:
                wrong.append((program.names[address], program.texts[address], found[address][1], expected[line]))
    assert not wrong
    assert {line: seen.get(line, set()) - possible[line] for line in expected} == expected


def test_rows(perf, optimised, tmp_path):
    """Rows of a type are one, by overhead and then by name, backwards, as in the kernel's tool; cache lines count from 0."""
    walk = sorted(address for address in optimised.accesses if optimised.names[address] == "walk")
    fill = sorted(address for address in optimised.accesses if optimised.names[address] == "fill")
    data = optimised.record(tmp_path / "perf.data", [*walk, *fill])

    def rows(key):
        text = perf("report", "-i", data, "--stdio", "-s", key, "-t;").stdout
        return [tuple(word.strip() for word in row.split(";")) for row in text.splitlines() if ";" in row and not row.startswith("#")]
    assert rows("type") == [("57.14%", "struct node"), ("28.57%", "struct settings"), ("14.29%", "struct item")]
    assert rows("typeoff")[:3] == [("14.29%", "struct settings +0x8 (limit)"), ("14.29%", "struct settings +0 (level)"), ("14.29%", "struct node +0x18 (u.small)")]
    assert rows("typecln") == [("57.14%", "struct node: cache-line 0"), ("28.57%", "struct settings: cache-line 0"), ("14.29%", "struct item: cache-line 0")]
    table = [json.loads(line) for line in perf("report", "-i", data, "-s", "type", "--format", "json").stdout.splitlines()]
    assert [row["type"] for row in table] == ["struct node", "struct settings", "struct item"]


def test_stack_and_branches(perf, tmp_path):
    """Pushes, calls and returns; a branch has the data of the comparison before it; an address isn't an access; a guard is told."""
    source = """
	.text
	.globl main
	.type main, @function
main:
	push %rbx
	call main
	call *8(%rdi)
	mov %fs:0x28, %rax
	cmpl $1, 4(%rsp)
	jne 1f
	lea 8(%rsp), %rax
1:	ret
	.size main, .-main
"""
    (tmp_path / "main.s").write_text(source)
    subprocess.run(["gcc", "-o", "data", "main.s"], cwd=tmp_path, check=True)
    program = Program.__new__(Program)
    program.arch, program.path = "x86_64", tmp_path / "data"
    symbols = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "data"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    body = symbols.split("<main>:\n")[1].split("\n\n")[0]
    addresses = [int(row.split(":")[0], 16) for row in body.splitlines()]
    program.names = {address: "main" for address in addresses}
    found = types_of(perf, program, program.record(tmp_path / "perf.data", addresses))
    stack, unknown = "(stack operation)", "(unknown)"
    assert [found[address][0] for address in addresses] == [stack, stack, stack, unknown, unknown, unknown, unknown, stack]


def test_mem_report(perf, optimised, tmp_path):
    walk = sorted(address for address in optimised.accesses if optimised.names[address] == "walk")
    data = optimised.record(tmp_path / "perf.data", walk, "|ADDR|WEIGHT|DATA_SRC", f"addr=0x1000 weight=3 data_src={accesses_lib.source():#x}")
    text = perf("mem", "report", "-T", "-i", data, "--stdio").stdout
    title = next(line for line in text.splitlines() if "Data Type" in line)
    assert re.split(r"  +", title.strip("# ").rstrip()) == ["Overhead", "Samples", "Memory access", "Snoop", "TLB access", "Data Type"]
    assert re.search(r"80\.00%.*struct node\n", text) and re.search(r"20\.00%.*struct item\n", text)


def test_damage(perf, optimised, tmp_path):
    """Debug information with bytes of it changed ends nothing, and takes no time."""
    image = optimised.path.read_bytes()
    sections = subprocess.run(["readelf", "-SW", optimised.path], capture_output=True, text=True, check=True).stdout
    where = {found[1]: (int(found[2], 16), int(found[3], 16)) for found in re.finditer(r"\] (\.debug_\w+)\s+\w+\s+\w+ (\w+) (\w+)", sections)}
    for name in (".debug_info", ".debug_abbrev", ".debug_loclists", ".debug_rnglists"):
        offset, size = where[name]
        for turn in range(6):
            data = bytearray(image)
            for at in range(offset + 7 * turn, offset + size, 41):
                data[at] = (data[at] * 31 + 101 * turn + 7) & 0xFF
            (tmp_path / "data").write_bytes(data)
            broken = Program.__new__(Program)
            broken.arch, broken.path = "x86_64", tmp_path / "data"
            done = perf("report", "-i", broken.record(tmp_path / "perf.data", optimised.names), "--stdio", "-s", "typeoff", timeout=60)
            assert done.returncode == 0 and "%" in done.stdout, (name, turn, done.stderr)


# Entries of debug information by hand: a unit whose function `main` has a parameter in %rdi, and its types. A type is named "t_…".
ENTRIES = """
	.section .debug_abbrev,"",@progbits
	.uleb128 1; .uleb128 0x11; .byte 1; .uleb128 0x11,1,0x12,7,0,0
	.uleb128 2; .uleb128 0x2e; .byte 1; .uleb128 3,8,0x11,1,0x12,7,0,0
	.uleb128 3; .uleb128 5; .byte 0; .uleb128 2,0x18,0x49,0x13,0,0
	.uleb128 4; .uleb128 0x13; .byte 1; .uleb128 3,8,0xb,7,0,0
	.uleb128 5; .uleb128 0xd; .byte 0; .uleb128 0x49,0x13,0x38,0xb,0,0
	.uleb128 6; .uleb128 0xf; .byte 0; .uleb128 0x49,0x13,0,0
	.uleb128 7; .uleb128 1; .byte 0; .uleb128 0x49,0x13,0,0
	.byte 0
	.section .debug_info,"",@progbits
begin:	.long end - . - 4
	.value 4; .long 0; .byte 8
	.uleb128 1; .quad main, size
	.uleb128 2; .string "main"; .quad main, size
	.uleb128 3; .uleb128 2f - 1f
1:	%s
2:	.long t_parameter - begin
	.byte 0
%s
	.byte 0
end:
"""
# 30 members at one place, each of the structure's own type.
NESTED = """
t_parameter: .uleb128 6; .long t_nested - begin
t_nested: .uleb128 4; .string "nested"; .quad 8
	.rept 30
	.uleb128 5; .long t_nested - begin; .byte 0
	.endr
	.byte 0
"""
# As large as can be written, in an array.
LARGEST = """
t_parameter: .uleb128 6; .long t_array - begin
t_array: .uleb128 7; .long t_largest - begin
t_largest: .uleb128 4; .string "largest"; .quad -1
	.byte 0
"""
HOSTILE = {
    "members of a structure that are itself": ("mov (%rdi), %rax\n" * 20 + "ret\n", ".byte 0x55", NESTED),
    "sizes and offsets at the end of numbers": ("mov (%rdi), %rax\nret\n", ".byte 0x75; .sleb128 -0x8000000000000000; .byte 0x9f", LARGEST),
    "computed jumps": ("jmp *%rax\n" * 15000, ".byte 0x55", LARGEST),
}


def by_hand(folder, code, location, types):
    """A program of one function, with these entries, and the addresses of its instructions."""
    (folder / "main.s").write_text(f"\t.text\n\t.globl main\n\t.type main, @function\nmain:\n{code}\t.size main, .-main\n.set size, .-main\n" + ENTRIES % (location, types))
    subprocess.run(["gcc", "-g0", "-o", "data", "main.s"], cwd=folder, check=True)
    program = Program.__new__(Program)
    program.arch, program.path = "x86_64", folder / "data"
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "data"], cwd=folder, capture_output=True, text=True, check=True).stdout
    program.names = {int(row.split(":")[0], 16): "main" for row in text.split("<main>:\n")[1].split("\n\n")[0].splitlines()}
    return program


# Eight bytes; and the same with an array behind them whose length nobody knows.
PLAIN = """
t_parameter: .uleb128 6; .long t_plain - begin
t_plain: .uleb128 4; .string "plain"; .quad 8
	.uleb128 5; .long t_parameter - begin; .byte 0
	.byte 0
"""
OPEN = PLAIN.rstrip().removesuffix(".byte 0") + """.uleb128 5; .long t_array - begin; .byte 8
	.byte 0
t_array: .uleb128 7; .long t_parameter - begin
"""


@pytest.mark.parametrize("code, types, expected", [
    ("mov %rdi, %rbx\njmp *%rax\nmov (%rbx), %rcx\nret\n", PLAIN, "struct plain +0 ()"),
    ("mov %rdi, %rbx\ncmp $1, %rcx\nje 1f\nmov %rcx, %rbx\n1: jmp *%rax\nmov (%rbx), %rcx\nret\n", PLAIN, "(unknown) +0 (no field)"),
    ("mov %rdi, %rbx\nadd $16, %rbx\nmov (%rbx), %rcx\nret\n", PLAIN, "struct plain +0 ()"),
    ("mov %rdi, %rbx\nadd $16, %rbx\nmov (%rbx), %rcx\nret\n", OPEN, "(unknown) +0 (no field)"),
])
def test_followed(perf, tmp_path, code, types, expected):
    """Registers through a computed jump, where all ways to it agree; from an element to another, but not behind a structure that is open."""
    program = by_hand(tmp_path, code, ".byte 0x55", types)
    found = types_of(perf, program, program.record(tmp_path / "perf.data", program.names))
    assert found[sorted(program.names)[-2]][1] == expected


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile(perf, tmp_path, name):
    """Debug information and code that nobody has but for this: bounded, whatever they say."""
    code, location, types = HOSTILE[name]
    program = by_hand(tmp_path, code, location, types)
    program.names = dict([min(program.names.items())])
    data = program.record(tmp_path / "perf.data", program.names)
    done = perf("report", "-i", data, "--stdio", "-s", "typeoff", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (4, 4)))
    assert done.returncode == 0 and "%" in done.stdout, done.stderr
    done = perf("annotate", "-i", data, "--type-stat", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (4, 4)))
    assert done.returncode == 0 and "no_dbginfo" not in done.stdout and "no_cuinfo" not in done.stdout, done.stdout


def of_functions(program, *names):
    return sorted(address for address in program.accesses if program.names[address] in names)


LAYOUT = """Annotate type: 'struct node' in PATH (4 samples):
============================================================================
 Percent     offset       size  field
  100.00          0       0x20  struct node	 {
   25.00          0        0x8      struct node*	next;
   25.00        0x8        0x8      struct item*	item;
   25.00       0x10        0x4      int	count;
   25.00       0x18        0x8      union <anonymous>	u {
   25.00       0x18        0x4          int	small;
   25.00       0x18        0x8          long int	large;
                                    };
                                };

"""


def test_layout(perf, optimised, tmp_path):
    """Members with what was accessed of them; the form is that of the kernel's tool since 6.7."""
    data = optimised.record(tmp_path / "perf.data", of_functions(optimised, "walk", "fill"))
    text = perf("annotate", "-i", data, "--data-type").stdout
    assert text.startswith(LAYOUT.replace("PATH", str(optimised.path)))
    assert re.findall(r"Annotate type: '(.*)' in .* \((\d) samples\)", text) == [("struct node", "4"), ("struct settings", "2"), ("struct item", "1")]
    for name in ("struct node", "node", "*node"):
        assert perf("annotate", "-i", data, f"--data-type={name}").stdout == LAYOUT.replace("PATH", str(optimised.path))
    assert re.findall(r"^ *(\d+) .*\t(?:next|u {|small);?$", perf("annotate", "-i", data, "--data-type=node", "-n").stdout, re.M) == ["1", "1", "1"]
    assert "        1000          0        0x8      struct node*\tnext;" in perf("annotate", "-i", data, "--data-type=node", "--show-total-period").stdout
    assert "   57.14          0       0x20" in perf("annotate", "-i", data, "--data-type=node", "--percent-type", "global-period").stdout


def test_which_types(perf, optimised, tmp_path):
    data = optimised.record(tmp_path / "perf.data", of_functions(optimised, "walk", "fill"))

    def types(*words):
        return re.findall(r"Annotate type: '(.*)' in", perf("annotate", "-i", data, "--data-type", *words).stdout)
    assert types("-s", "fill") == types("fill") == ["struct settings"]
    assert types("--percent-limit", "20") == ["struct node", "struct settings"]
    assert types("-d", "data") == ["struct node", "struct settings", "struct item"] and not types("-d", "other")
    failed = perf("annotate", "-i", data, "--data-type=struct nodes")
    assert failed.returncode == 255 and "no type named 'struct nodes' has samples; did you mean 'struct node'?" in failed.stderr


def test_table_of_members(perf, optimised, tmp_path):
    data = optimised.record(tmp_path / "perf.data", of_functions(optimised, "global", "anonymous"))
    rows = [json.loads(line) for line in perf("annotate", "-i", data, "--data-type", "--format", "json").stdout.splitlines()]
    fields = [(row["type"], row["offset"], row["size"], row["field"], row["field_type"], row["percent"], row["samples"], row["period"]) for row in rows]
    assert fields == [
        ("range_t", 0, 24, "", "range_t", 100, 2, 2000), ("range_t", 0, 4, "used", "int", 0, 0, 0),
        ("range_t", 8, 16, "", "struct <anonymous>", 100, 2, 2000), ("range_t", 8, 8, "low", "long int", 50, 1, 1000),
        ("range_t", 16, 8, "high", "long int", 50, 1, 1000),
        ("struct settings", 0, 24, "", "struct settings", 100, 2, 2000), ("struct settings", 0, 4, "level", "int", 0, 0, 0),
        ("struct settings", 8, 8, "limit", "long int", 50, 1, 1000), ("struct settings", 16, 8, "origin", "struct point", 50, 1, 1000),
        ("struct settings", 16, 4, "origin.x", "int", 0, 0, 0), ("struct settings", 20, 4, "origin.y", "int", 50, 1, 1000)]
    assert perf("annotate", "-i", data, "--data-type=range_t", "-x", ";").stdout.splitlines()[0] == "event;type;dso;offset;size;field;field_type;percent;samples;period"


def test_group(perf, optimised, tmp_path):
    """Events of a group stand side by side; without samples they are left out where it is asked for."""
    data = optimised.record(tmp_path / "perf.data", of_functions(optimised, "fill"), second=of_functions(optimised, "fill")[:1])
    text = perf("annotate", "-i", data, "--data-type").stdout.splitlines()
    assert text[0].endswith("(3 samples):") and text[1:3] == [" event[0] = cycles:HG", " event[1] = instructions:HG"]
    assert text[4] == "         Percent     offset       size  field"
    assert [line.split()[:2] for line in text[5:8]] == [["100.00", "100.00"], ["50.00", "100.00"], ["50.00", "0.00"]]
    alone = perf("annotate", "-i", data, "--data-type", "--no-group").stdout
    assert alone.count("Annotate type: 'struct settings'") == 2 and " event[0] = instructions:HG" in alone
    none = optimised.record(tmp_path / "none.data", of_functions(optimised, "fill"), second=of_functions(optimised, "lost"))
    assert perf("annotate", "-i", none, "--data-type=settings", "--skip-empty").stdout.count("0.00") > 0


def test_statistics(perf, optimised, tmp_path):
    """How much was found, and why not."""
    walk = [address for address, name in optimised.names.items() if name == "walk" and not re.match("nop|cs|data16|xchg", optimised.texts[address])]
    lost = of_functions(optimised, "lost")
    data = optimised.record(tmp_path / "perf.data", [*walk, *lost, 0x10])
    text = perf("annotate", "-i", data, "--type-stat", "--insn-stat").stdout
    good = len(of_functions(optimised, "walk")) + sum(optimised.texts[address].startswith("ret") for address in walk)
    count = len(walk) + 2
    assert text.startswith(f"Annotate data type stats:\ntotal {count}, ok {good} ({100 * good / count:.1f}%), bad {count - good} ({100 * (count - good) / count:.1f}%)\n")
    reasons = dict(reversed(found) for found in re.findall(r"^ +(\d+) : (\w+)$", text, re.M))
    assert reasons["no_sym"] == reasons["no_var"] == "1" and int(reasons["no_mem_ops"]) == count - good - 2
    assert f"Annotate Instruction stats\ntotal {count - 1}, ok {good} " in text
    assert re.search(r"^  ret                 :     \d     0$", text, re.M) and re.search(r"^  movslq              : +2 +0$", text, re.M)
    rows = [json.loads(line) for line in perf("annotate", "-i", data, "--type-stat", "--format", "json").stdout.splitlines()]
    assert {"outcome": "ok", "samples": good} in rows and {"outcome": "no_var", "samples": 1} in rows


def test_without_debug_information(perf, optimised, tmp_path):
    subprocess.run(["strip", "-g", "-o", tmp_path / "data", optimised.path], check=True)
    plain = Program.__new__(Program)
    plain.arch, plain.path = "x86_64", tmp_path / "data"
    data = plain.record(tmp_path / "perf.data", of_functions(optimised, "walk"))
    failed = perf("annotate", "-i", data, "--data-type")
    assert failed.returncode == 255 and "--type-stat shows why" in failed.stderr
    assert "         5 : no_dbginfo\n" in perf("annotate", "-i", data, "--type-stat").stdout


def test_self_contained(perf, optimised, tmp_path):
    """A recording with its own names: types are those of the recorded program, where it is here, and not of another one in its place."""
    here = Program.__new__(Program)
    here.arch, here.names, here.path = "x86_64", optimised.names, tmp_path / "data"
    shutil.copy(optimised.path, here.path)
    done = perf("inject", "--self-contained", "-i", here.record(tmp_path / "made.data", optimised.accesses), "-o", "perf.data", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert types_of(perf, here, tmp_path / "perf.data") == types_of(perf, optimised, optimised.record(tmp_path / "other.data", optimised.accesses))
    subprocess.run(["objcopy", "--remove-section", ".note.gnu.build-id", here.path], check=True)
    assert {name for name, _ in types_of(perf, here, tmp_path / "perf.data").values()} <= {"(unknown)", "(stack operation)", "(stack canary)"}
