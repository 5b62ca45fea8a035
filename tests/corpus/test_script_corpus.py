"""perf script on recordings made by others: the kernel's perf 6.1 prints the same text, or what differs is explained, file by file."""
import csv
import itertools
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import alike  # noqa: E402

FRAME = re.compile(rb"^(.*\s(?:ffff[0-9a-f]{12})) .*$")
VDSO = re.compile(rb" \S+ \(\[vdso\]\)$")


def without_kernel_symbols(line):
    return FRAME.sub(rb"\1", line)


def without_vdso_symbols(line):
    return VDSO.sub(rb" ([vdso])", line)


def without_frames(line):
    return line if line and not line.startswith(b"\t") else None


def nothing(line):
    return None


# File → why the texts differ, and what of each line is left to compare (None: nothing of it).
OTHER_KERNEL = ("theirs takes symbols of the kernel that runs here, though the recording is of another one and has no build-id for it", without_kernel_symbols)
OTHER_VDSO = ("theirs takes symbols of this machine's vDSO for another kernel's", without_vdso_symbols)
ARM_STACKS = ("theirs can't unwind arm64 and shows no stack at all", without_frames)
TRACE = ("theirs decodes the hardware trace, ours leaves it out and says so", nothing)
SIMPLEPERF = "GrapheneOS+platform_system_extras/simpleperf/"
QUIPPER = "google+perf_data_converter/src/quipper/testdata/perf.data."
EXPLAINED = {
    **{SIMPLEPERF + name: OTHER_KERNEL for name in (
        "scripts/test/script_testdata/perf_with_long_callchain.data", "testdata/perf_display_bitmaps.data", "testdata/perf_merge1.data",
        "testdata/perf_merge2.data", "testdata/perf_with_kernel_symbols_available_false.data", "testdata/perf_with_kernel_symbols_available_true.data",
        "testdata/wrong_ip_callchain_perf.data")},
    **{SIMPLEPERF + name: ARM_STACKS for name in (
        "testdata/has_embedded_native_libs_apk_perf.data", "testdata/perf_no_unwind.data", "testdata/perf_unwind_embedded_lib_in_apk.data",
        "testdata/perf_with_arm_regs.data")},
    SIMPLEPERF + "testdata/etm/perf.data@2cae4b2": TRACE,
    **{QUIPPER + name: OTHER_KERNEL for name in (
        "piped.ctx_switch_namespaces-4.14", "piped.extrabyte-3.4", "piped.extradata-3.4", "piped.header_features-4.16", "piped.no_attr_ids-4.14",
        "piped.target-3.4", "piped.target-3.8", "piped.lost_samples-4.4")},
    **{QUIPPER + name: OTHER_VDSO for name in ("callgraph_and_branch-3.4", "raw_callgraph_branch-3.4")},
    "bhargavchippada+Box2d_GearBicycle_g10project/data/g10_release_prof.dat": OTHER_VDSO,
    "microsoft+LinuxTracepoints/TestOutput/pipe.data": OTHER_KERNEL,
    "mstange+linux-perf-data/tests/fixtures/sleep.compressed.pipe.data": OTHER_KERNEL,
}

OPTIONS = [[], ["-G"], ["-F", "comm,tid,time,event"], ["--show-mmap-events", "--show-task-events"], ["-F", "ip,sym,dso,symoff"]]


def rows(corpus):
    with open(corpus / "MANIFEST.tsv", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file, delimiter="\t") if row["cls"] == "perf.data"]


def left(name, text):
    change = EXPLAINED[name][1] if name in EXPLAINED else None
    lines = text.splitlines()
    return [line for line in map(change, lines) if line is not None] if change else lines


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_same_text(perf, oracle, corpus, options):
    wrong, compared = [], 0
    for row in rows(corpus):
        name = row["path"]
        if row["perf61"] != "ok":
            continue
        theirs = oracle("script", "-f", "-i", corpus / name, *options, text=False)
        ours = perf("script", "-f", "-i", corpus / name, *options, text=False)
        if theirs.returncode and ours.returncode:
            continue
        assert ours.returncode == 0, (name, ours.stderr)
        compared += 1
        pairs = itertools.zip_longest(left(name, theirs.stdout), left(name, ours.stdout))
        first = next(((number, a, b) for number, (a, b) in enumerate(pairs) if a is None or b is None or not alike.line(a, b)), None)
        if first:
            wrong.append("{}:{}\n  theirs {!r}\n  ours   {!r}".format(name, *first))
    assert not wrong, f"{len(wrong)} recordings differ\n" + "\n".join(wrong)
    assert compared > 30


@pytest.mark.sanitize
def test_sample_counts(perf, corpus):
    """Also of recordings that the kernel's perf 6.1 can't read: no crash, and every sample that the manifest counts."""
    wrong = []
    for row in rows(corpus):
        result = perf("script", "-f", "-G", "-F", "event", "-i", corpus / row["path"])
        samples = sum(1 for line in result.stdout.splitlines() if line)
        assert result.returncode in (0, 255), (row["path"], result.returncode, result.stderr)
        if samples < int(row["n_samples"]):
            wrong.append(f"{row['path']}: {samples} of {row['n_samples']} samples; {result.stderr.strip()}")
    assert not wrong, "\n".join(wrong)
