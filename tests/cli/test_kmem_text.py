"""perf kmem on recordings made by hand: rows and sums are worked out on paper; and recordings that nothing good made."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording  # noqa: E402

SLAB = "call_site/8,ptr/8,bytes_req/8,bytes_alloc/8,gfp_flags/8,node/4"
FIELDS = {
    "kmalloc": (1, SLAB),
    "kmem_cache_alloc": (2, SLAB),
    "kfree": (3, "call_site/8,ptr/8"),
    "kmem_cache_free": (4, "call_site/8,ptr/8"),
    "mm_page_alloc": (5, "pfn/8,order/4,gfp_flags/8,migratetype/4"),
    "mm_page_free": (6, "pfn/8,order/4"),
}
FLAGS = {0x1000: "GFP_KERNEL", 0x2000: "GFP_HIGHUSER_MOVABLE", 0x100: "__GFP_ZERO", 0x40: "__GFP_ODD", 0x10: "__GFP_RECLAIMABLE"}
PRINT = (""" 'print="page=%p pfn=0x%lx order=%d migratetype=%d gfp_flags=%s", REC->pfn, REC->pfn, REC->order, REC->migratetype, (REC->gfp_flags) ? """
         + '__print_flags(REC->gfp_flags, "|", ' + ", ".join(f'{{(unsigned long){bit}, "{name}"}}' for bit, name in FLAGS.items()) + """) : "none"'""")


def head(**changed):
    lines = "feature nrcpus 4\nfeature numa_topology 0-1 2-3\n"
    for name, (number, fields) in {**FIELDS, **changed}.items():
        lines += f"tracepoint kmem:{name} id={number} fields={fields}{PRINT if name == 'mm_page_alloc' else ''}\n"
        lines += (f"event kmem:{name} type=2 config={number} ids={number} sample=IDENTIFIER|IP|TID|TIME|CALLCHAIN|CPU|PERIOD|RAW "
                  "flags=sample_id_all,comm,task\n")
    return lines + "mmap pid=-1 tid=0 addr=0xffffffff81000000 len=0x100000 pgoff=0xffffffff81000000 misc=1 name=[kernel.kallsyms]_text\n"


KERNEL = 0xffffffff81000000
FUNCTIONS = {0: "_text", 0x1000: "make_inode", 0x2000: "make_name", 0x3000: "__alloc_frozen_pages_noprof", 0x4000: "alloc_pages_mpol", 0x5000: "fill_page",
             0x6000: "make_table", 0x7000: "_etext"}
OBJECT = 0xffff888100000000


def event(name, second, cpu, *values, stack=(), fields=None):
    number, usual = FIELDS[name]
    chain = ",".join(["kernel", *(hex(KERNEL + place) for place in stack)]) if stack else ""
    return (f"sample id={number} time={second * 1000000000} cpu={cpu} pid=10 tid=10 ip={hex(KERNEL + 0x3040)} chain={chain} "
            f"raw={recording.raw_of(number, fields or usual, *values)}\n")


def kmalloc(second, cpu, site, address, requested, allocated, node=-1, name="kmalloc"):
    return event(name, second, cpu, KERNEL + site, OBJECT + address, requested, allocated, 0x1000, node)


def free(second, cpu, address, name="kfree"):
    return event(name, second, cpu, KERNEL + 0x10, OBJECT + address)


def page(second, number, order, flags, kind, site):
    return event("mm_page_alloc", second, 0, number, order, flags, kind, stack=(0x3040, 0x4020, site, 0x10))


def free_page(second, number, order):
    return event("mm_page_free", second, 0, number, order)


# The objects at 0 and 0x400 are made by make_inode on CPU 0; the first is freed on CPU 1. That at 0x800 is made and freed on CPU 1, then made again, for node 1
# by a CPU of node 0. The last free is of an object from before the recording.
SLAB_STORY = (kmalloc(1, 0, 0x1010, 0, 600, 1024) + kmalloc(2, 0, 0x1010, 0x400, 600, 1024, node=0) + kmalloc(3, 1, 0x2020, 0x800, 30, 32) + free(4, 1, 0)
              + free(5, 1, 0x800) + kmalloc(6, 0, 0x2020, 0x800, 32, 32, node=1, name="kmem_cache_alloc") + free(7, 0, 0xc00, "kmem_cache_free"))
# Page 100 (8 pages) and page 200 come from fill_page, page 300 from make_table; page 200 is freed and made again. Page 400 was there before; one allocation fails.
PAGE_STORY = (page(1, 100, 3, 0x2100, 1, 0x5008) + page(2, 200, 0, 0x2100, 1, 0x5008) + page(3, 300, 0, 0x1140, 0, 0x6008) + free_page(4, 200, 0)
              + page(5, 200, 0, 0x2100, 1, 0x5010) + free_page(6, 400, 1) + page(7, (1 << 64) - 1, 1, 0x1000, 0, 0x6008) + page(8, 500, 1, 0x1010, 2, 0x6010))
RULE = "-" * 105


def make(folder, text):
    (folder / "kallsyms").write_text("".join(f"{KERNEL + at:x} T {name}\n" for at, name in FUNCTIONS.items()))
    path = folder / "kmem.data"
    path.write_bytes(recording.make(text))
    return path


@pytest.fixture
def run(perf, tmp_path):
    path = make(tmp_path, head() + SLAB_STORY + PAGE_STORY)

    def lines(*words):
        done = perf("kmem", *words, "-i", path, "--kallsyms", tmp_path / "kallsyms")
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout.splitlines()
    return lines


SLAB_SUMMARY = """
SUMMARY (SLAB allocator)
========================
Total bytes requested: 1262
Total bytes allocated: 2112
Total bytes freed:     1056
Net total bytes allocated: 1056
Total bytes wasted on internal fragmentation: 850
Internal fragmentation: 40.246212%
Cross CPU allocations: 1/4""".split("\n")


@pytest.mark.sanitize
def test_slab(run):
    """make_inode asks for 1200 of 2048 bytes, which is 41.406 % less; make_name for 62 of 64."""
    assert run("stat") == SLAB_SUMMARY
    assert run("stat", "--caller", "--alloc") == [
        RULE, " Callsite                           | Total_alloc/Per | Total_req/Per   | Hit      | Ping-pong | Frag", RULE,
        " make_inode+10                      |      2048/1024  |      1200/600   |        2 |         1 | 41.406%",
        " make_name+20                       |        64/32    |        62/31    |        2 |         0 |  3.125%", RULE,
        RULE, " Alloc Ptr                          | Total_alloc/Per | Total_req/Per   | Hit      | Ping-pong | Frag", RULE,
        " 0xffff888100000000                 |      1024/1024  |       600/600   |        1 |         1 | 41.406%",
        " 0xffff888100000400                 |      1024/1024  |       600/600   |        1 |         0 | 41.406%",
        " 0xffff888100000800                 |        64/32    |        62/31    |        2 |         0 |  3.125%", RULE] + SLAB_SUMMARY


def names(lines):
    return [line.split()[0] for line in lines if "%" in line and "|" in line]


def test_order_and_number_of_rows(run):
    """-s and -l are for the table that was named last; options stand before the word as well."""
    assert names(run("stat", "--caller", "-s", "callsite")) == ["make_name+20", "make_inode+10"]
    assert names(run("--caller", "stat", "-s", "ptr")) == ["make_inode+10", "make_name+20"], "rows of call sites have no address: by call site"
    assert names(run("stat", "--alloc", "-s", "hit,ptr")) == ["0xffff888100000800", "0xffff888100000400", "0xffff888100000000"]
    assert names(run("stat", "--caller", "--alloc", "-s", "pingpong,hit", "-l", "2")) == [
        "make_inode+10", "make_name+20", "0xffff888100000000", "0xffff888100000800"]
    cut = run("--alloc", "--caller", "-l", 1, "stat")
    assert names(cut) == ["make_inode+10", "0xffff888100000000", "0xffff888100000400", "0xffff888100000800"]
    assert sum(line.startswith(" ...  ") for line in cut) == 1
    assert names(run("stat", "--caller", "--raw-ip")) == ["0xffffffff81001010", "0xffffffff81002020"]
    assert names(run("stat", "--caller", "--time", "2.5,")) == ["make_name+20"]
    assert names(run("stat", "-l", 0, "--caller")) == []


def test_wrong_time(perf, run, tmp_path):
    run("stat")
    done = perf("kmem", "stat", "--time", "x", "-i", tmp_path / "kmem.data")
    assert done.returncode == 129 and "--time" in done.stderr and not done.stdout


PAGE_SUMMARY = """
SUMMARY (page allocator)
========================
Total allocation requests     :                6   [               60 KB ]
Total free requests           :                2   [               12 KB ]

Total alloc+freed requests    :                1   [                4 KB ]
Total alloc-only requests     :                5   [               56 KB ]
Total free-only requests      :                1   [                8 KB ]

Total allocation failures     :                1   [                8 KB ]

Order     Unmovable   Reclaimable       Movable      Reserved  CMA/Isolated
-----  ------------  ------------  ------------  ------------  ------------
    0             1             .             2             .             .
    1             .             1             .             .             .
    2             .             .             .             .             .
    3             .             .             1             .             .""".split("\n") + [
        f"{order:5}" + "             ." * 5 for order in range(4, 11)]
LEGEND = ["#", "# GFP flags", "# ---------", "# 00001010:               K|RC: GFP_KERNEL|__GFP_RECLAIMABLE", "# 00001140:      K|Z|__GFP_ODD: GFP_KERNEL|__GFP_ZERO|__GFP_ODD",
          "# 00002100:              HUM|Z: GFP_HIGHUSER_MOVABLE|__GFP_ZERO"]


@pytest.mark.sanitize
def test_pages(run):
    """Type 1 is movable, as its flags say. The call site is the first function that isn't the allocator's; the rows of fill_page have two addresses."""
    width = len("K|Z|__GFP_ODD")
    legend = [line.replace("#", "#", 1) if ":" not in line else f"{line[:12]}{line[12:].split(': ')[0].strip():>{width}}: {line.split(': ')[2]}" for line in LEGEND]
    assert run("stat", "--page") == PAGE_SUMMARY
    assert run("stat", "--page", "--caller", "--alloc") == legend + [
        "", RULE, " Total alloc (KB) | Hits      | Order | Mig.type | GFP flags     | Callsite", RULE,
        "               32 |         1 |     3 |  MOVABLE | HUM|Z         | fill_page",
        "                8 |         1 |     1 |  RECLAIM | K|RC          | make_table",
        "                4 |         1 |     0 |  MOVABLE | HUM|Z         | fill_page",
        "                4 |         1 |     0 |  MOVABLE | HUM|Z         | fill_page",
        "                4 |         1 |     0 | UNMOVABL | K|Z|__GFP_ODD | make_table", RULE,
        "", RULE, " PFN              | Total alloc (KB) | Hits      | Order | Mig.type | GFP flags     | Callsite", RULE,
        "              100 |               32 |         1 |     3 |  MOVABLE | HUM|Z         | fill_page",
        "              200 |                8 |         2 |     0 |  MOVABLE | HUM|Z         | fill_page",
        "              500 |                8 |         1 |     1 |  RECLAIM | K|RC          | make_table",
        "              300 |                4 |         1 |     0 | UNMOVABL | K|Z|__GFP_ODD | make_table", RULE] + PAGE_SUMMARY


def test_live_pages(run, perf, tmp_path):
    """Page 200 is there once, from its second allocation. -v tells the places in functions."""
    assert any(line.endswith("| fill_page") for line in run("stat", "--page", "--live", "--alloc"))
    lines = perf("kmem", "stat", "--page", "--live", "--alloc", "-v", "-i", tmp_path / "kmem.data", "--kallsyms", tmp_path / "kallsyms").stdout.splitlines()
    assert " PFN              |  Live alloc (KB) | Hits      | Order | Mig.type | GFP flags     | Callsite" in lines
    assert [line.split("|")[:3] + [line.split()[-1]] for line in lines if line.endswith(("fill_page+8", "fill_page+10", "make_table+8", "make_table+10"))] == [
        ["              100 ", "               32 ", "         1 ", "fill_page+8"], ["              500 ", "                8 ", "         1 ", "make_table+10"],
        ["              300 ", "                4 ", "         1 ", "make_table+8"], ["              200 ", "                4 ", "         1 ", "fill_page+10"]]
    assert "    0             1             .             1             .             ." in lines
    assert len([line for line in run("stat", "--page", "--live", "--caller") if "fill_page" in line]) == 2, "all that was made at +8 in order 0 is freed"


def test_both(run):
    """Each -s is for the allocator before it."""
    lines = run("stat", "--slab", "--caller", "-s", "callsite", "--page", "-s", "order")
    assert lines.index("SUMMARY (SLAB allocator)") < lines.index("SUMMARY (page allocator)")
    assert names(lines) == ["make_name+20", "make_inode+10"]
    assert [int(line.split("|")[2]) for line in lines if line.endswith(("fill_page", "make_table"))] == [3, 1, 0, 0, 0]


def test_default_of_the_configuration(run, perf, tmp_path):
    words = ["kmem", "stat", "-i", tmp_path / "kmem.data"]
    run("stat")
    for setting, said in (("page", "SUMMARY (page allocator)"), ("slab", "SUMMARY (SLAB allocator)")):
        done = perf("-c", f"kmem.default={setting}", *words)
        assert done.returncode == 0 and said in done.stdout and done.stdout.count("SUMMARY") == 1
    assert "SLAB" in perf("-c", "kmem.default=page", *words, "--slab").stdout
    wrong = perf("-c", "kmem.default=x", *words)
    assert wrong.returncode == 255 and "kmem.default: 'x' is neither slab nor page" in wrong.stderr


def test_pages_that_are_freed_otherwise(perf, tmp_path):
    """8 pages of which the first is freed alone, and a page that is allocated twice without a free between: the second time counts with --live."""
    text = head() + page(1, 100, 3, 0x1000, 0, 0x5008) + free_page(2, 100, 0) + page(3, 7, 0, 0x1000, 0, 0x5008) + page(4, 7, 1, 0x2100, 1, 0x6008)
    path = make(tmp_path, text)

    def lines(*words):
        return perf("kmem", "stat", "--page", *words, "-i", path, "--kallsyms", tmp_path / "kallsyms").stdout.splitlines()
    assert "Total alloc+freed requests    :                1   [                4 KB ]" in lines()
    assert [line.split("|")[:2] for line in lines("--alloc") if "fill_page" in line or "make_table" in line] == [
        ["              100 ", "               32 "], ["                7 ", "                8 "], ["                7 ", "                4 "]]
    for words in (["--live", "--alloc"], ["--live", "--caller"]):
        left = [line for line in lines(*words) if line.endswith(("fill_page", "make_table"))]
        assert len(left) == 1 and left[0].endswith(" 8 |         1 |     1 |  MOVABLE | HUM|Z     | make_table")


def test_events_of_old_kernels(perf, tmp_path):
    """Some have allocations on a node apart, without a node in the others."""
    plain = SLAB.rpartition(",")[0]
    number, text = 7, head(kmalloc=(1, plain))
    text += (f"tracepoint kmem:kmalloc_node id={number} fields={SLAB}\n"
             f"event kmem:kmalloc_node type=2 config={number} ids={number} sample=IDENTIFIER|IP|TID|TIME|CALLCHAIN|CPU|PERIOD|RAW flags=sample_id_all,comm,task\n")
    # An event stands before all records.
    text = "\n".join(sorted(text.splitlines(), key=lambda line: line.startswith("mmap "))) + "\n"
    text += event("kmalloc", 1, 0, KERNEL, OBJECT, 10, 16, 0x1000, fields=plain)
    raw = recording.raw_of(number, SLAB, KERNEL, OBJECT + 64, 20, 32, 0x1000, 1)
    text += f"sample id={number} time=2000000000 cpu=1 pid=10 tid=10 ip={hex(KERNEL)} chain= raw={raw}\n"
    done = perf("kmem", "stat", "-i", make(tmp_path, text))
    assert "Total bytes allocated: 48\n" in done.stdout and "Cross CPU allocations: 1/2\n" in done.stdout


def test_types_of_old_kernels(perf, tmp_path):
    """Movable pages are those whose flags say so; pages are addresses where the format has no frame numbers."""
    fields = "page/8,order/4,gfp_flags/8,migratetype/4"
    text = head(mm_page_alloc=(5, fields), mm_page_free=(6, "page/8,order/4"))
    text += event("mm_page_alloc", 1, 0, 0xffffea0000001000, 0, 0x2000, 2, fields=fields) + event("mm_page_alloc", 2, 0, 0, 0, 0x2000, 2, fields=fields)
    text += event("mm_page_free", 3, 0, 0xffffea0000001000, 0)
    path = make(tmp_path, text.replace("REC->pfn", "REC->page"))
    lines = perf("kmem", "stat", "--page", "--alloc", "-i", path, "--kallsyms", tmp_path / "kallsyms").stdout.splitlines()
    assert " ffffea0000001000 |                4 |         1 |     0 |  MOVABLE | HUM       | __alloc_frozen_pages_noprof" in lines, "without a stack"
    assert " Page             | Total alloc (KB) | Hits      | Order | Mig.type | GFP flags | Callsite" in lines
    assert "Total allocation failures     :                1   [                4 KB ]" in lines
    odd = perf("kmem", "stat", "--page", "--alloc", "-i", make(tmp_path, text), "--kallsyms", tmp_path / "kallsyms").stdout.splitlines()
    assert "# 00002000: 0x2000: 0x2000" in odd, "flags are numbers where the format isn't understood"


def test_for_programs(run):
    rows = [json.loads(line) for line in run("stat", "--slab", "--page", "--caller", "--alloc", "--json")]
    by_table = {name: [row for row in rows if row["table"] == name] for name in {row["table"] for row in rows}}
    assert {name: len(found) for name, found in by_table.items()} == {
        "slab_callers": 2, "slab_objects": 3, "slab_summary": 1, "page_callers": 5, "pages": 4, "page_summary": 1, "page_orders": 4}
    assert by_table["slab_callers"][0] == {"table": "slab_callers", "callsite_address": KERNEL + 0x1010, "callsite": "make_inode+10", "allocated": 2048, "requested": 1200,
                                           "hits": 2, "pingpong": 1, "fragmentation": 41.40625}
    assert by_table["slab_objects"][2]["ptr"] == OBJECT + 0x800
    assert by_table["slab_summary"] == [{"table": "slab_summary", "requested": 1262, "allocated": 2112, "freed": 1056, "allocations": 4, "cross_node": 1}]
    assert by_table["pages"][1] == {"table": "pages", "page": 200, "callsite_address": KERNEL + 0x5010, "callsite": "fill_page+10", "allocated": 8192, "hits": 2, "order": 0,
                                    "migrate_type": "movable", "gfp_flags": "GFP_HIGHUSER_MOVABLE|__GFP_ZERO"}
    assert by_table["page_summary"][0]["free_only_bytes"] == 8192 and by_table["page_summary"][0]["failures"] == 1
    assert {"table": "page_orders", "order": 0, "migrate_type": "movable", "hits": 2} in by_table["page_orders"]
    assert run("stat", "--caller", "--format", "csv")[:2] == ["table,callsite_address,callsite,allocated,requested,hits,pingpong,fragmentation",
                                                             f"slab_callers,{hex(KERNEL + 0x1010)},make_inode+10,2048,1200,2,1,41.40625"]
    assert run("stat", "--alloc", "-x", ";")[1] == f"slab_objects;{hex(OBJECT)};{hex(KERNEL + 0x1010)};make_inode+10;1024;600;1;1;41.40625"
    assert run("stat", "--alloc", "-x", "\\t") == [line.replace(";", "\t") for line in run("stat", "--alloc", "-x", ";")]


def test_what_is_missing(perf, tmp_path):
    """The answers name the command that records what isn't there."""
    cycles = make(tmp_path, "event cycles type=0 config=0 sample=IP|TID|TIME\nsample event=0 ip=1 pid=1 tid=1 time=5\n")
    for words, said in ((["stat"], "no allocations of the slab allocator; record them with 'perf kmem record'\n"),
                        (["stat", "--page"], "no page allocations; record them with 'perf kmem record --page'\n")):
        done = perf("kmem", *words, "-i", cycles)
        assert done.returncode == 255 and said in done.stderr and not done.stdout
        missing = perf("kmem", *words, cwd=tmp_path)
        assert missing.returncode == 255 and "make one with 'perf kmem record' first" in missing.stderr
    pages = "\n".join(line for line in (head() + PAGE_STORY).splitlines() if not any(f"kmem:{name} " in line for name in list(FIELDS)[:4]))
    done = perf("kmem", "stat", "-i", make(tmp_path, pages))
    assert done.returncode == 255 and "or use --page for its page allocations" in done.stderr


@pytest.mark.parametrize("words, said", [
    ((), "which subcommand?"), (("nothing",), "unknown subcommand 'nothing'"), (("stat", "x"), "unexpected argument 'x'"),
    (("stat", "-s", "page"), "unknown sort key 'page' for --slab; the keys are ptr, callsite, bytes, hit, pingpong and frag"),
    (("stat", "--page", "-s", "frag"), "unknown sort key 'frag' for --page; the keys are page, callsite, bytes, hit, order, migtype and gfp"),
    (("stat", "-l", "x"), "-l x: expected a number of lines"), (("stat", "--live"), "--live is about pages: use it with --page"),
    (("stat", "-x", "ab"), "-x ab: expected a single character"),
    (("stat", "--format", "x"), "invalid format 'x': use csv or json"), (("-i", "x", "record", "true"), "only --slab and --page may stand before 'record'"),
    (("-l", "3", "record", "true"), "only --slab and --page may stand before 'record'"), (("-s", "hit", "record", "true"), "only --slab and --page may stand before 'record'")])
def test_words(perf, words, said):
    done = perf("kmem", *words)
    assert done.returncode == 129 and said in done.stderr, done.stderr


def test_help(perf):
    assert "kmem" in perf("--list-cmds").stdout.split()
    for words in (["kmem", "-h"], ["kmem", "stat", "-h"], ["kmem", "sta", "--help"]):
        assert "--caller" in perf(*words).stdout
    assert "--page" in perf("kmem", "record", "-h").stdout and "perf record" in perf("help", "kmem", "record").stdout


def hostile_page(values):
    return event("mm_page_alloc", 1, 0, *values, stack=(0x3040,)) + event("mm_page_free", 2, 0, *values[:2])


HOSTILE = {
    "orders": "".join(hostile_page((i, order, 0x1000, 1)) for i, order in enumerate((-1, 63, 64, 40, 52, 1 << 31, 11))),
    "types": "".join(hostile_page((i, 0, 0x2000, kind)) for i, kind in enumerate((-1, 5, 6, 1 << 30, -1 << 31))),
    "flags": "".join(hostile_page((7, 0, flags, 1)) for flags in (0, (1 << 64) - 1, 1 << 63, 1)),
    "sizes": "".join(kmalloc(i, 0, 0, 0, *sizes) + free(i, 1 << 31, 0) for i, sizes in enumerate(((1 << 64) - 1, 0), ) for sizes in ((sizes, 0), (0, sizes), (sizes, sizes))),
    "addresses": "".join(kmalloc(i, (1 << 32) - 1, site, site, 1, 1, node=-2) for i, site in enumerate((0, 1, (1 << 62), -KERNEL, -OBJECT))),
    "short": "".join(f"sample id={number} time=1000 cpu=0 pid=1 tid=1 chain= raw={'01' * size}\n" for number in range(1, 7) for size in (0, 1, 9, 20)),
    "nothing": "",
}


@pytest.mark.sanitize
@pytest.mark.parametrize("words", (["--slab", "--page"], ["--caller", "--alloc"], ["--page", "--caller", "--alloc", "-s", "page,order,migtype,gfp"],
                                   ["--page", "--live", "--caller", "--alloc"], ["--slab", "--page", "--caller", "--alloc", "--json"]), ids=" ".join)
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile(perf, tmp_path, what, words):
    path = make(tmp_path, head() + HOSTILE[what])
    done = perf("kmem", "stat", *words, "-i", path, "--kallsyms", tmp_path / "kallsyms")
    assert done.returncode == 0 and "SUMMARY" in done.stdout or "--json" in words, done.stderr
    assert not any(word in done.stdout for word in ("nan", "inf"))
