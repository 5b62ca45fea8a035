/* What became of the stacks of --call-graph auto: one line at the end. */
#include "cmd/record/record.h"

#include "analysis/stack_ends.h"
#include "base/log.h"
#include "base/text.h"
#include "capture/python/python_frames.h"
#include "capture/stack_chains.h"
#include "kernel/fix.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { NAMED = 3 };

/* "; 1.3 %: no unwind information in /usr/lib/libfoo.so (install libfoo-dbgsym)". */
static void add_end(struct stack_chains *chains, const struct stack_ends *ends, const struct stack_end *end, struct strbuf *out)
{
	struct strbuf remedy = {0};

	strbuf_printf(out, "; %.1f %%: %s", 100.0 * (double)end->count / (double)ends->stacks, stack_end_text(end->reason));
	if (end->dso) {
		strbuf_add_str(out, " in ");
		text_add_safe(out, end->dso->name, strlen(end->dso->name));
	}
	if (end->reason == STACK_END_BEFORE_GROWTH)
		strbuf_printf(&remedy, "copy more from the beginning: -e EVENT/stack-size=%d/", SAMPLING_STACK_MAX);
	else if (end->reason == STACK_END_NOT_COPIED)
		strbuf_add_str(&remedy, "larger buffers, such as -m 64M, or a lower frequency, -F");
	else if (end->reason != UNWIND_DEPTH) /* too deep for us is too deep for all */
		stack_end_remedy(stack_chains_resolver(chains), SAMPLING_STACK_MAX, end, &remedy);
	if (remedy.len)
		strbuf_printf(out, " (%s)", strbuf_str(&remedy));
	strbuf_deinit(&remedy);
}

static long peak_kb(void)
{
	struct rusage usage = {0};

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* Of a BPF program's work. */
static void tell_walks(struct stack_chains *chains)
{
	struct stack_chains_walks walks = stack_chains_walks(chains);

	if (walks.walked || walks.copied)
		log_info("stacks: %llu unwound in the kernel, %llu copied and unwound by the recorder, %llu of them before it had read "
			 "the unwind rules of their files; %.1f MB of unwind rules, with which the recorder took at most %.1f MB",
			 (unsigned long long)walks.walked, (unsigned long long)walks.copied, (unsigned long long)walks.early,
			 (double)walks.memory / 1048576, (double)peak_kb() / 1024);
	if (walks.unsent)
		log_warning("%llu stack%s missing: the buffers were full. Use larger buffers (-m 32M) or a lower frequency (-F).",
			    (unsigned long long)walks.unsent, walks.unsent == 1 ? " is" : "s are");
}

/* Of frames of Python in stacks that were copied. */
static void tell_python(const struct stack_chains *chains)
{
	struct python_reader_counts counts = stack_chains_python(chains);
	uint64_t all = counts.added + counts.changed + counts.unreadable;

	if (all)
		log_info("stacks: of %llu C functions that evaluate Python, in stacks that were copied, %.1f %% have its frames; %llu had "
			 "others by the time they were read",
			 (unsigned long long)all, 100.0 * (double)counts.added / (double)all, (unsigned long long)counts.changed);
	if (counts.stacks)
		log_warning("Python's functions are missing in %llu stack%s: the memory of their processes cannot be read (%s). Record the "
			    "command itself instead of -p, or as root; or: %s",
			    (unsigned long long)counts.stacks, counts.stacks == 1 ? "" : "s", strerror(counts.failure), FIX_PTRACE);
}

static void tell_ends(struct stack_chains *chains)
{
	struct stack_ends *ends = stack_chains_ends(chains);
	struct strbuf text = {0};

	if (!ends->stacks)
		return;
	stack_ends_sort(ends);
	uint64_t others = ends->early;
	strbuf_printf(&text, "[ perf record: Unwound %llu stack%s", (unsigned long long)ends->stacks, ends->stacks == 1 ? "" : "s");
	if (!ends->early)
		strbuf_add_str(&text, ", all complete");
	else
		strbuf_printf(&text, ", %.1f %% complete", 100.0 * (double)(ends->stacks - ends->early) / (double)ends->stacks);
	for (size_t i = 0; i < ends->list.len && i < NAMED; i++) {
		add_end(chains, ends, &ends->list.data[i], &text);
		others -= ends->list.data[i].count;
	}
	if (others)
		strbuf_printf(&text, "; %.1f %%: %zu other reason%s", 100.0 * (double)others / (double)ends->stacks, ends->list.len - NAMED,
			      ends->list.len - NAMED == 1 ? "" : "s");
	fprintf(stderr, "%s ]\n", strbuf_str(&text));
	strbuf_deinit(&text);
}

void record_tell_stacks(const struct recorder *recorder, const struct python_frames *python)
{
	struct stack_chains *chains = recorder_stack_chains(recorder);

	python_frames_warn(python);
	if (!chains)
		return;
	tell_ends(chains);
	tell_walks(chains);
	tell_python(chains);
}
