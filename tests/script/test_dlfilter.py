"""Filters in shared objects: the same object, built with the kernel tool's header or with ours, loaded by both tools, gives the same lines."""
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
volatile long sink;
static char work[4 << 20]; /* enough for samples in the C library, whose build-id is in the recording then */
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink += i * 3; }
__attribute__((noinline)) void other(int n) { for (int i = 0; i < n; i++) sink += i; }
int main(void)
{
	for (int i = 0; i < 100; i++) { leaf(300000); other(200000); memset(work, 1, sizeof(work)); }
	return 0;
}
"""
# Tells all it is told, and keeps samples in the function that --dlarg names.
FILTER = r"""
#include <perf/perf_dlfilter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct perf_dlfilter_fns perf_dlfilter_fns;
static const char *wanted;

int start(void **data, void *ctx)
{
	int count;
	char **words = perf_dlfilter_fns.args(ctx, &count);
	wanted = count ? words[0] : "leaf";
	*data = calloc(1, sizeof(long));
	fprintf(stderr, "start %d %s\n", count, wanted);
	return strcmp(wanted, "fail") ? 0 : -3;
}

int stop(void *data, void *ctx)
{
	fprintf(stderr, "stop after %ld\n", *(long *)data);
	free(data);
	return 0;
}

static void tell(const char *what, const struct perf_dlfilter_al *al)
{
	fprintf(stderr, "%s %s+%x %llx %llx-%llx %s %d %d %d %d %02x\n", what, al->sym ? al->sym : "-", al->symoff, (unsigned long long)al->addr,
		(unsigned long long)al->sym_start, (unsigned long long)al->sym_end, al->dso ? al->dso : "-", al->sym_binding, al->is_64_bit,
		al->is_kernel_ip, al->buildid_size, al->buildid_size ? al->buildid[0] : 0);
}

static void ask(const struct perf_dlfilter_sample *sample, void *ctx)
{
	struct perf_dlfilter_al al = {.size = sizeof(al)};
	unsigned char code[8];
	unsigned int line, length = 0;
	const char *file = perf_dlfilter_fns.srcline(ctx, &line);
	const unsigned char *bytes = perf_dlfilter_fns.insn(ctx, &length);
	fprintf(stderr, "asked %s:%u", file && strstr(file, "work.c") ? "work.c" : "-", line);
	if (strcmp(wanted, "leaf") == 0 && !(sample->ip >> 63)) {
		int got = perf_dlfilter_fns.object_code(ctx, sample->ip, code, sizeof(code));
		fprintf(stderr, " %d %d", got, bytes && length && !memcmp(code, bytes, length < 8 ? length : 8));
	}
	fprintf(stderr, " %u\n", perf_dlfilter_fns.attr(ctx)->type);
	if (sample->raw_callchain_nr > 2 && !perf_dlfilter_fns.resolve_address(ctx, sample->raw_callchain[2], &al))
		tell("address", &al);
}

int filter_event(void *data, const struct perf_dlfilter_sample *sample, void *ctx)
{
	const struct perf_dlfilter_al *al = perf_dlfilter_fns.resolve_ip(ctx);
	++*(long *)data;
	fprintf(stderr, "%llx %d %d %llu %llx %llu %llu %d %llx %llx %d %d %x %u %llu %s %d %d\n", (unsigned long long)sample->ip, sample->pid, sample->tid,
		(unsigned long long)sample->time, (unsigned long long)sample->addr, (unsigned long long)sample->period,
		(unsigned long long)sample->weight, sample->cpu, (unsigned long long)sample->data_src, (unsigned long long)sample->phys_addr,
		sample->cpumode, sample->addr_correlates_sym, sample->misc, sample->raw_size, (unsigned long long)sample->raw_callchain_nr,
		sample->event, sample->machine_pid, sample->vcpu);
	tell(al->comm, al);
	if (sample->addr_correlates_sym)
		tell("addr", perf_dlfilter_fns.resolve_addr(ctx));
	if (al->sym && (!strcmp(al->sym, "leaf") || !strcmp(al->sym, "other")))
		ask(sample, ctx);
	return !al->sym || strcmp(al->sym, wanted) != 0;
}

const char *filter_description(const char **long_description)
{
	*long_description = "at length";
	return "keeps one function";
}
"""
RECORDINGS = {"samples": ["-g", "-e", "cpu-clock"], "faults": ["-d", "-e", "page-faults", "-c", "1"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("dlfilter")
    (path / "work.c").write_text(PROGRAM)
    (path / "keep.c").write_text(FILTER)
    subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-plt", "-o", "work", "work.c"], cwd=path, check=True)
    subprocess.run(["gcc", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{ROOT}/include", "-o", "keep.so", "keep.c"], cwd=path, check=True)
    return path


@pytest.fixture(scope="module")
def record(folder, oracle, make_recorder):
    return make_recorder(oracle, folder, RECORDINGS, "./work")


def told(result):
    return [line for line in result.stderr.splitlines() if not line.startswith(("Warning", "perf:"))]


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize("header", ["ours", "theirs"])
def test_all_that_filters_are_told(perf, oracle, record, folder, name, header):
    file = "./keep.so"
    if header == "theirs":
        if not pathlib.Path("/usr/include/perf/perf_dlfilter.h").exists():
            pytest.skip("the kernel tool's perf_dlfilter.h is not installed")
        file = "theirs.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", file, "keep.c"], cwd=folder, check=True)
    words = ["script", "-i", record(name), "--dlfilter", file, "-F", "comm,tid,time,event,ip,sym"]
    theirs, ours = oracle(*words, cwd=folder), perf(*words, cwd=folder)
    assert ours.returncode == theirs.returncode == 0, ours.stderr
    assert ours.stdout == theirs.stdout
    different = [pair for pair in zip(told(theirs), told(ours)) if pair[0] != pair[1]]
    assert len(told(theirs)) == len(told(ours)) > 10
    assert len(different) <= len(told(theirs)) / 100, different[:4]


def test_arguments(perf, oracle, record, folder):
    words = ["script", "-i", record("samples"), "--dlfilter", "keep.so", "--dlarg", "other", "--dlarg", "more", "-F", "sym", "-G"]
    theirs, ours = oracle(*words, cwd=folder), perf(*words, cwd=folder)
    assert ours.stdout == theirs.stdout and {line.strip() for line in ours.stdout.splitlines()} <= {"other", ""}
    assert "start 2 other" in ours.stderr


def test_filters_apply_to_scripts_too(perf, record, folder):
    (folder / "count.py").write_text("n = 0\ndef process_event(e):\n    global n\n    n += 1\n    assert e['symbol'] == 'leaf'\n"
                                     "def trace_end():\n    print(n)\n")
    script = perf("script", "-i", record("samples"), "--dlfilter", "./keep.so", "-s", "count.py", cwd=folder)
    if "libpython" in script.stderr:
        pytest.skip("libpython3 is not installed")
    lines = perf("script", "-i", record("samples"), "--dlfilter", "./keep.so", "-G", cwd=folder).stdout.splitlines()
    assert int(script.stdout) == len(lines) > 0


@pytest.mark.parametrize("words, text", [
    (["--dlfilter", "nowhere.so"], "nowhere.so"),
    (["--dlfilter", "./work"], "work"),
    (["--dlfilter", "./keep.so", "--dlarg", "fail"], "failed to start: error -3"),
])
def test_what_cannot_be_loaded(perf, record, folder, words, text):
    result = perf("script", "-i", record("samples"), *words, cwd=folder)
    assert result.returncode == 255 and text in result.stderr and not result.stdout


def test_list(perf, folder):
    place = folder / "exec/dlfilters"
    place.mkdir(parents=True)
    (place / "keep.so").write_bytes((folder / "keep.so").read_bytes())
    (place / "broken.so").write_text("")

    environment = {**os.environ, "PERF_EXEC_PATH": str(folder / "exec")}
    listed = perf("script", "--list-dlfilters", env=environment)
    assert listed.stdout == "List of available dlfilters:\n  keep.so                              keeps one function\n"
    assert "at length" in perf("script", "--list-dlfilters", "-v", env=environment).stdout
