"""Every recording of others: as many samples as its makers' tools count, and events, header and raw dump as the kernel's perf shows them."""
import concurrent.futures
import csv
import os
import re

import pytest

# The list's counts were made by a reader that stopped early in these; the right ones were counted by hand from the dump.
COUNTS = {
    # TRACING_DATA as simpleperf writes it, in the middle of the data
    "GrapheneOS+platform_system_extras/simpleperf/testdata/perf_with_trace_offcpu.data@6d0c5e0": 1005,
    "GrapheneOS+platform_system_extras/simpleperf/testdata/perf_with_tracepoint_event.data": 45,
    # features as records of one maker's own types
    "colemickens+platform2-sommelier/chromiumos-wide-profiling/perf.data.piped.production": 6290,
}

# Where the kernel's perf 6.1 is wrong, and how.
HEADER_FAULTS = {
    "perf.data.armv7.perf_3.14-3.8": "stops reading a feature at an empty text: no CPU, memory and command line",
    "perf.data.weight_struct": "takes a core id above the number of CPUs for damage and hides the topology (-I)",
}
EVLIST_FAULTS = {
    "poc-": "a made-up attribute: the name depends on the PMUs of this machine",
}


def recordings(corpus):
    with open(corpus / "MANIFEST.tsv", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file, delimiter="\t") if row["cls"] == "perf.data"]


def in_parallel(function, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [problem for problem in pool.map(function, items) if problem]


def excused(row, faults):
    return any(name in row["path"] for name in faults)


@pytest.mark.sanitize
def test_sample_counts(perf, corpus):
    def problem(row):
        wanted = COUNTS.get(row["path"], int(row["n_samples"] or 0))
        done = perf("report", "-f", "--stats", "-i", corpus / row["path"])
        found = re.search(r"^ +SAMPLE events: +(\d+)", done.stdout, re.MULTILINE)
        count = int(found.group(1)) if found else 0
        return count != wanted and f"{row['path']}: {count} samples, {wanted} expected\n{done.stderr}"
    problems = in_parallel(problem, recordings(corpus))
    assert not problems, "\n".join(problems)


def first_difference(ours, theirs):
    for mine, other in zip(ours + ["(end)"], theirs + ["(end)"]):
        if mine != other:
            return f"  kernel's: {other[:300]}\n  ours:     {mine[:300]}"
    return None


def compare(perf, oracle, corpus, faults, rows, *words):
    def problem(row):
        if excused(row, faults):
            return None
        arguments = [*words, "-f", "-i", corpus / row["path"]]
        ours, theirs = (tool(*arguments).stdout.splitlines() for tool in (perf, oracle))
        difference = first_difference(ours, theirs)
        return difference and f"{row['path']}:\n{difference}"
    problems = in_parallel(problem, rows)
    assert not problems, "\n".join(problems)


def readable(corpus):
    return [row for row in recordings(corpus) if row["perf61"] == "ok"]


@pytest.mark.parametrize("words", [[], ["-v"], ["-F"], ["-g"], ["--trace-fields"]], ids=lambda words: "".join(words) or "plain")
def test_evlist(perf, oracle, corpus, words):
    # Of the pipe form, the kernel's evlist reads the first record only.
    rows = [row for row in readable(corpus) if row["mode"] != "pipe"]
    compare(perf, oracle, corpus, EVLIST_FAULTS, rows, "evlist", *words)


@pytest.mark.parametrize("words", [[], ["-I"]], ids=["short", "full"])
def test_header(perf, oracle, corpus, words):
    faults = dict(HEADER_FAULTS)
    if not words:
        del faults["perf.data.weight_struct"]
    compare(perf, oracle, corpus, faults, readable(corpus), "report", "--header-only", *words)


def blocks(text):
    """The dump of each record, by its offset; without what `script` prints of the sample itself."""
    result, current = {}, None
    for line in text.splitlines():
        start = re.match(r"(0x[0-9a-f]+|0)@\S+ \[0x[0-9a-f]+\]: event: ", line)
        if start:
            current = result.setdefault(start.group(1), [])
        elif line.startswith(" ... thread:"):
            current = None
        if current is not None and line.strip():
            current.append(line)
    return result


# Records of tools that describe the pipe; the kernel's perf knows their events a record later than we do.
DUMP_EXCUSED = re.compile(r"PERF_RECORD_(ATTR|FEATURE|BUILD_ID|TRACING_DATA)|: unhandled!|AUXTRACE")


def test_dump(perf, oracle, corpus):
    def problem(row):
        arguments = ["script", "-D", "-f", "-i", corpus / row["path"]]
        ours, theirs = (blocks(tool(*arguments).stdout) for tool in (perf, oracle))
        for offset in sorted(ours.keys() & theirs.keys(), key=lambda text: int(text, 16)):
            if any(DUMP_EXCUSED.search(line) for line in theirs[offset]):
                continue
            difference = first_difference(ours[offset], theirs[offset])
            if difference:
                return f"{row['path']} at {offset}:\n{difference}"
        # In what both show there must be most records.
        missing = theirs.keys() - ours.keys()
        return len(missing) > max(1, 0.01 * len(theirs)) and f"{row['path']}: {len(missing)} of {len(theirs)} records are missing"
    # Offsets in the pipe form depend on the padding of header records.
    rows = [row for row in readable(corpus) if row["mode"] != "pipe" and "poc-" not in row["path"]]
    problems = in_parallel(problem, rows)
    assert not problems, "\n".join(problems)
