"""perf kmem tells what the kernel's perf tells of the same recording.

Of slab recordings each line is compared. Of page recordings 6.1 gets two things wrong, which are taken into account here:
 - The call site is one address in the allocator for all pages: rows are compared without it, those of one order, type and flags added up.
 - The names of the migrate types 1 and 2 are those of old kernels, though they have changed places.
It gives up on recordings with flags that it doesn't know, and on pages that are freed in other sizes than they were allocated: such a recording compares nothing."""
import collections
import json
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import recording as made  # noqa: E402

# Files, pipes, processes and memory, on whatever CPUs.
LOAD = """
import os, subprocess
for i in range(200):
    with open("/proc/self/status") as file:
        file.read()
    os.close(os.dup(0))
for i in range(10):
    subprocess.run(["true"], check=True)
block = bytearray(4 << 20)
for i in range(0, len(block), 4096):
    block[i] = 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, live_system, tracefs):
    return tmp_path_factory.mktemp("kmem")


def record(perf, path, *words):
    done = perf("kmem", *words, "-q", "-o", path, "--", "python3", "-c", LOAD)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def slab(perf, folder):
    return record(perf, folder / "slab.data", "record", "-m", 1024)


@pytest.fixture(scope="module")
def pages(perf, folder):
    """Whole, in buffers that hold what neighbours do as well, tens of thousands of events: what is lost is most of it, and may be all but a few kinds."""
    return record(perf, folder / "page.data", "--page", "record", "-m", 8192)


def text(tool, path, *words):
    done = subprocess.run([str(tool), "kmem", "-i", str(path), *words, "stat"], capture_output=True, text=True, check=False)
    if "error during process events" in done.stderr:
        pytest.skip("the kernel's perf gives up on this recording")
    assert done.returncode == 0 and done.stdout, done.stderr
    return done.stdout.splitlines()


SLAB_WORDS = (["--caller"], ["--alloc"], ["--caller", "--alloc", "-l", "7"], ["--caller", "-s", "hit,bytes,callsite"], ["--alloc", "-s", "pingpong,ptr"],
              ["--alloc", "-s", "frag", "-l", "20", "--caller", "-s", "bytes"], [])


@pytest.mark.parametrize("words", SLAB_WORDS, ids=" ".join)
def test_slab(perf, oracle, slab, words):
    """Addresses: which of two names of one address is shown is another question."""
    expected = text(oracle.path, slab, "--raw-ip", *words)
    assert text(perf.path, slab, "--raw-ip", *words) == expected
    assert len(expected) > (20 if words else 8)


def test_slab_in_a_time_range(perf, oracle, slab):
    done = subprocess.run([oracle.path, "script", "-i", slab, "-F", "time"], capture_output=True, text=True, check=True)
    times = sorted(float(line.strip().rstrip(":")) for line in done.stdout.split())
    span = f"{times[len(times) // 4]:.6f},{times[len(times) // 2]:.6f}"
    assert text(perf.path, slab, "--raw-ip", "--caller", "--time", span) == text(oracle.path, slab, "--raw-ip", "--caller", "--time", span)


ROW = re.compile(r"(?P<page> +\d+ \|)? +(?P<kb>\d+) \| +(?P<hits>\d+) \| +(?P<order>\d+) \| +(?P<type>\S+) \| (?P<flags>\S+) *\| \S+")
ORDER = re.compile(r" +\d+(?: +(?:\d+|\.)){5}")
SWAPPED = {"RECLAIM": "MOVABLE", "MOVABLE": "RECLAIM"}


def parts(lines, of_kernel):
    """Rows as {(page, order, type, flags): (KB, hits)} in the order of the text, and the lines that are no rows."""
    rows, others = collections.OrderedDict(), []
    for line in lines:
        if match := ROW.fullmatch(line):
            kind = SWAPPED.get(match["type"], match["type"]) if of_kernel else match["type"]
            key = ((match["page"] or "").strip(" |"), int(match["order"]), kind, match["flags"])
            kb, hits = rows.get(key, (0, 0))
            rows[key] = (kb + int(match["kb"]), hits + int(match["hits"]))
        elif ORDER.fullmatch(line):
            words = line.split()
            others.append([*words[:2], words[3], words[2], *words[4:]] if of_kernel else words)
        else:
            others.append(line)
    return rows, others


@pytest.mark.parametrize("words", (["--caller"], ["--alloc"], ["--alloc", "-s", "hit,page"], ["--alloc", "-s", "order,gfp"], ["--alloc", "-s", "migtype"], []),
                         ids=" ".join)
def test_pages(perf, oracle, pages, words):
    expected, expected_others = parts(text(oracle.path, pages, "--page", *words), True)
    found, others = parts(text(perf.path, pages, "--page", *words), False)
    assert others == expected_others and dict(found) == dict(expected)
    assert len(found) > 3 or not {"--caller", "--alloc"} & set(words)
    if "--alloc" in words:
        assert list(found) == list(expected), "pages stand in the same order"


PAGE_EVENT = re.compile(r"\S+\s+\[\d+\].*kmem:mm_page_(alloc|free): page=\S+ pfn=(0x[0-9a-f]+) order=(\d+)(?: migratetype=(\d+) gfp_flags=(\S+))?")


def test_live_pages(perf, oracle, pages):
    """What is left when the events are gone through one by one. (6.1 keeps the flags of an older allocation when a page is allocated twice without a free between.)"""
    done = subprocess.run([oracle.path, "script", "-i", pages, "-F", "comm,cpu,event,trace"], capture_output=True, text=True, errors="replace", check=True)
    left, types = {}, {"0": "unmovable", "1": "movable", "2": "reclaimable"}
    for kind, page, order, migrate_type, flags in map(re.Match.groups, filter(None, map(PAGE_EVENT.search, done.stdout.splitlines()))):
        if kind == "free":
            left.pop(int(page, 16), None)
        else:
            left[int(page, 16)] = (int(order), types.get(migrate_type, ""), flags)
    rows = [json.loads(line) for line in perf("kmem", "stat", "--page", "--live", "--alloc", "--caller", "--json", "-i", pages).stdout.splitlines()]
    shown = {row["page"]: (row["order"], row["migrate_type"] if row["migrate_type"] in types.values() else "", row["gfp_flags"]) for row in rows if row["table"] == "pages"}
    assert shown == left and len(left) > 20
    for table in ("page_callers", "page_orders"):
        assert sum(row["hits"] for row in rows if row["table"] == table) == len(left)
    assert sum(row["allocated"] for row in rows if row["table"] == "page_callers") == sum(4096 << order for order, _, _ in left.values())


def test_call_sites_of_pages(perf, pages):
    """Memory that a program touches comes from page faults, not from the allocator."""
    done = perf("kmem", "stat", "--page", "--caller", "--json", "-i", pages)
    sites = {row["callsite"].split("+")[0] for row in map(json.loads, done.stdout.splitlines()) if row["table"] == "page_callers"}
    assert len(sites) > 1 and not any("alloc_pages" in site or "alloc_frozen_pages" in site for site in sites)


def test_events_that_are_recorded(perf, oracle, slab, pages, folder):
    """As with the kernel's tool: of those that there are."""
    def events(path):
        return {line.split(":", 1)[1] for line in subprocess.run([oracle.path, "evlist", "-i", path], capture_output=True, text=True, check=True).stdout.splitlines()
                if line.startswith("kmem:")}
    for path, words in ((slab, []), (pages, ["--page"])):
        theirs = folder / "theirs.data"
        subprocess.run([oracle.path, "kmem", *words, "record", "-o", theirs, "true"], capture_output=True, check=True)
        assert events(path) == events(theirs)
    assert perf("evlist", "-v", "-i", pages).stdout.count("CALLCHAIN") >= 2


def test_defaults(perf, folder):
    """perf.data of the current directory; both allocators in one recording."""
    done = perf("kmem", "record", "--slab", "--page", "-q", "true", cwd=folder)
    assert done.returncode == 0, done.stderr
    shown = perf("kmem", "stat", "--slab", "--page", cwd=folder)
    assert shown.returncode == 0 and shown.stdout.index("SUMMARY (SLAB allocator)") < shown.stdout.index("SUMMARY (page allocator)")
    assert "Total bytes requested: 0\n" not in shown.stdout


def test_pipe(perf, slab):
    done = subprocess.run(f"'{perf.path}' record -q -a -e kmem:kmalloc,kmem:kfree -o - true | '{perf.path}' kmem stat -i - --caller",
                          shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "SUMMARY (SLAB allocator)" in done.stdout, done.stderr


# What 6.1 calls the flags in short; it knows no others.
SHORT = ("GFP_TRANSHUGE GFP_TRANSHUGE_LIGHT GFP_HIGHUSER_MOVABLE GFP_HIGHUSER GFP_USER GFP_KERNEL_ACCOUNT GFP_KERNEL GFP_NOFS GFP_ATOMIC GFP_NOIO GFP_NOWAIT GFP_DMA "
         "GFP_DMA32 __GFP_RECLAIM __GFP_HIGHMEM __GFP_MOVABLE __GFP_RECLAIMABLE __GFP_HIGH __GFP_ATOMIC __GFP_IO __GFP_FS __GFP_ZERO __GFP_DIRECT_RECLAIM "
         "__GFP_KSWAPD_RECLAIM __GFP_WRITE __GFP_NOWARN __GFP_RETRY_MAYFAIL __GFP_NOFAIL __GFP_NORETRY __GFP_MEMALLOC __GFP_COMP").split()
MORE = "__GFP_NOMEMALLOC __GFP_HARDWALL __GFP_THISNODE __GFP_ACCOUNT".split()


@pytest.mark.parametrize("names", (SHORT[:16], SHORT[16:] + MORE), ids=("first", "rest"))
def test_short_names_of_flags(perf, oracle, tmp_path, names):
    fields = "pfn/8,order/4,gfp_flags/8,migratetype/4"
    shown = ", ".join(f'{{(unsigned long){1 << bit}, "{name}"}}' for bit, name in enumerate(names))
    lines = (f"tracepoint kmem:mm_page_alloc id=5 fields={fields} 'print=\"page=%p pfn=0x%lx order=%d migratetype=%d gfp_flags=%s\", REC->pfn, REC->pfn, REC->order, "
             f"REC->migratetype, (REC->gfp_flags) ? __print_flags(REC->gfp_flags, \"|\", {shown}) : \"none\"'\n"
             "event kmem:mm_page_alloc type=2 config=5 ids=5 sample=IDENTIFIER|IP|TID|TIME|CALLCHAIN|CPU|PERIOD|RAW flags=sample_id_all,comm,task\n"
             "mmap pid=-1 tid=0 addr=0xffffffff81000000 len=0x100000 pgoff=0xffffffff81000000 misc=1 name=[kernel.kallsyms]_text\n")
    for bit in range(len(names)):
        raw = made.raw_of(5, fields, 100 + bit, 0, 1 << bit | 1, 1)
        lines += f"sample id=5 time={bit + 1}000000000 cpu=0 pid=10 tid=10 ip=0xffffffff81003040 chain=kernel,0xffffffff81003040 raw={raw}\n"
    path = tmp_path / "flags.data"
    path.write_bytes(made.make(lines))

    def legend(tool):
        return [line for line in text(tool, path, "--page", "--caller") if line.startswith("# 0")]
    assert len(legend(oracle.path)) == len(names) and legend(perf.path) == legend(oracle.path)
