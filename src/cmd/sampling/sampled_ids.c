/* Processes and threads by their samples. Samples are counted by thread; processes are summed up when somebody asked for one in vain. */
#include "cmd/sampling/sampled_ids.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { SHOWN = 3, DIGITS = 11 };

void sampled_ids_deinit(struct sampled_ids *ids)
{
	vec_deinit(&ids->list);
	map64_deinit(&ids->index);
}

void sampled_ids_add(struct sampled_ids *ids, const struct machine *machine, uint32_t pid, uint32_t tid, uint64_t samples)
{
	bool is_new;
	uint64_t *at = map64_insert(&ids->index, (uint64_t)pid << 32 | tid, &is_new);
	if (is_new) {
		*at = ids->list.len;
		vec_push(&ids->list, (struct sampled_id){.machine = machine, .pid = pid, .tid = tid});
	}
	if (ids->list.data[*at].machine != machine)
		ids->list.data[*at].machine = NULL;
	ids->list.data[*at].samples += samples;
	ids->samples += samples;
}

static uint32_t id_of(const struct sampled_id *id, enum sampled_kind kind)
{
	return kind == SAMPLED_PROCESS ? id->pid : id->tid;
}

static int by_samples(const void *a, const void *b)
{
	const struct sampled_id *x = a, *y = b;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* One for each process, or for each thread, the most frequent first. The id that stands for a process is its leader's. */
static void sum_up(const struct sampled_ids *ids, enum sampled_kind kind, struct sampled_ids *ret)
{
	for (size_t i = 0; i < ids->list.len; i++) {
		const struct sampled_id *id = &ids->list.data[i];
		sampled_ids_add(ret, id->machine, kind == SAMPLED_PROCESS ? id->pid : 0, id_of(id, kind), id->samples);
	}
	if (ret->list.len)
		qsort(ret->list.data, ret->list.len, sizeof(*ret->list.data), by_samples);
}

static const struct sampled_id *find(const struct sampled_ids *ids, enum sampled_kind kind, uint32_t wanted)
{
	for (size_t i = 0; i < ids->list.len; i++)
		if (id_of(&ids->list.data[i], kind) == wanted)
			return &ids->list.data[i];
	return NULL;
}

static void add_most(const struct sampled_ids *sums, enum sampled_kind kind, struct strbuf *out)
{
	strbuf_printf(out, sums->list.len > SHOWN ? "; most of the samples are of " : "; the samples are of ");
	for (size_t i = 0; i < sums->list.len && i < SHOWN; i++) {
		const struct sampled_id *id = &sums->list.data[i];
		const struct thread *thread = id->machine ? machine_thread(id->machine, id_of(id, kind), UINT64_MAX) : NULL;
		bool named = thread && thread->comm_count;
		strbuf_printf(out, "%s%d (", i ? ", " : "", (int)id_of(id, kind));
		if (named)
			text_add_untrusted(out, thread_comm(thread, UINT64_MAX));
		strbuf_printf(out, "%s%.0f%%)", named ? ", " : "", 100.0 * (double)id->samples / (double)sums->samples);
	}
}

/* The id that differs from what was typed in the fewest digits, unless it has just been named. */
static void add_nearest(const struct sampled_ids *sums, enum sampled_kind kind, uint32_t wanted, struct strbuf *out)
{
	char word[DIGITS + 1], (*digits)[DIGITS + 1] = mem_alloc_array(sums->list.len + 1, sizeof(*digits));
	const char **names = mem_alloc_array(sums->list.len + 1, sizeof(*names));
	size_t count = 0;
	for (size_t i = SHOWN; i < sums->list.len; i++, count++) {
		snprintf(digits[count], sizeof(*digits), "%d", (int)id_of(&sums->list.data[i], kind));
		names[count] = digits[count];
	}
	snprintf(word, sizeof(word), "%d", (int)wanted);
	const char *nearest = count ? str_nearest(word, names, count) : NULL;
	if (nearest)
		strbuf_printf(out, ". Did you mean %s?", nearest);
	free(names);
	free(digits);
}

static void warn(const struct sampled_ids *ids, const struct sampled_ids *sums, enum sampled_kind kind, uint32_t wanted)
{
	const struct sampled_id *other = find(ids, kind == SAMPLED_PROCESS ? SAMPLED_THREAD : SAMPLED_PROCESS, wanted);
	bool process = kind == SAMPLED_PROCESS;
	struct strbuf text = {0};
	strbuf_printf(&text, "%s %d: no sample belongs to this %s", process ? "--pid" : "--tid", (int)wanted,
		      process ? "process" : "thread");
	if (other)
		strbuf_printf(&text, "; it is a %s: %s %d", process ? "thread" : "process", process ? "--tid" : "--pid", (int)wanted);
	if (sums->list.len)
		add_most(sums, kind, &text);
	if (!other)
		add_nearest(sums, kind, wanted, &text);
	log_warning("%s", strbuf_str(&text));
	strbuf_deinit(&text);
}

void sampled_ids_warn(const struct sampled_ids *ids, enum sampled_kind kind, const uint32_t *wanted, size_t count)
{
	struct sampled_ids sums = {0};
	for (size_t i = 0; i < count; i++) {
		if (find(ids, kind, wanted[i]))
			continue;
		if (!sums.list.len)
			sum_up(ids, kind, &sums);
		warn(ids, &sums, kind, wanted[i]);
	}
	sampled_ids_deinit(&sums);
}
