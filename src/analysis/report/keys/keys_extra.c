/* Keys of single values of a sample: CPU, weights, time, cgroup, flags of branches. */
#include "analysis/report/keys/keys_internal.h"

#include "analysis/script/sample_text.h"
#include "perfdata/features/features.h"

#include <stdio.h>
#include <string.h>

int64_t key_word_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (int64_t)source->words[0];
}

void key_cpu_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = (uint64_t)(int64_t)(int32_t)sample->sample->cpu;
}

/* The kernel tool's figures have three digits: -001 where the CPU wasn't recorded. */
void key_cpu_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	strbuf_printf(out, "%.3d", (int)source->words[0]);
}

void key_socket_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	const struct features *features = &context->session->reader->features;
	uint32_t cpu = sample->sample->cpu;
	words[0] = cpu < features->cpus.len ? (uint64_t)(int64_t)features->cpus.data[cpu].socket_id : UINT64_MAX;
}

void key_socket_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	strbuf_printf(out, "%.3d", (int)source->words[0]);
}

void key_weight_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = sample->sample->weight;
}

void key_ins_lat_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = sample->sample->ins_lat;
}

void key_p_stage_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = sample->sample->p_stage_cyc;
}

/* The sum over the row's samples: all have the same. */
void key_weight_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	strbuf_add_u64(out, source->words[0] * source->count, 0);
}

void key_transaction_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = sample->sample->transaction;
}

/* PERF_TXN_* of perf_event.h. */
void key_transaction_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	static const struct {
		uint64_t bit;
		const char *name;
		bool at_start;
	} bits[] = {
		{1 << 0, "EL ", true},	   {1 << 1, "TX ", false},  {1 << 2, "SYNC ", true},	   {1 << 3, "ASYNC ", false},
		{1 << 4, "RETRY ", false}, {1 << 5, "CON ", false}, {1 << 6, "CAP-WRITE ", false}, {1 << 7, "CAP-READ ", false},
	};
	uint64_t word = source->words[0];
	size_t before = out->len;
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (word & bits[i].bit)
			strbuf_add_str(out, bits[i].name);
	if (word && !(word & (1 << 2 | 1 << 3)))
		strbuf_add_str(out, "NEITHER ");
	if (word >> 32)
		strbuf_printf(out, ":%lx", word >> 32);
	if (out->len == before)
		return;
}

/* The same number is another group's in a guest. Numbers count up, so that the guest's has room in their upper half. */
static uint64_t cgroup_word(const struct machine *machine, uint64_t cgroup)
{
	enum { GUEST_SHIFT = 32 };
	return cgroup ? cgroup ^ (uint64_t)machine->guest_pid << GUEST_SHIFT : 0;
}

static const struct untrusted *find_cgroup(const struct machine *host, uint64_t word)
{
	const struct untrusted *path = machine_cgroup(host, word);
	map64_each (slot, &host->guests) {
		const struct machine *guest = map64_pointer(slot);
		path = path ?: machine_cgroup(guest, cgroup_word(guest, word));
	}
	return path;
}

void key_cgroup_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = cgroup_word(sample->thread->process->machine, sample->sample->cgroup);
}

void key_cgroup_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	if (!source->words[0]) {
		strbuf_add_str(out, "N/A");
		return;
	}
	const struct untrusted *path = find_cgroup(context->session->machine, source->words[0]);
	strbuf_add_str(out, path ? untrusted_raw(path) : "unknown");
}

/* Rounded down to the quantum (default 100 ms). */
void key_time_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	uint64_t quantum = context->time_quantum_ns ? context->time_quantum_ns : 1;
	words[0] = sample->sample->time / quantum * quantum;
}

void key_time_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	uint64_t time = source->words[0];
	if (context->nanoseconds)
		strbuf_printf(out, "%lu.%09lu", time / 1000000000, time % 1000000000);
	else
		strbuf_printf(out, "%lu.%06lu", time / 1000000000, time % 1000000000 / 1000);
}

void key_code_page_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = sample->sample->code_page_size;
}

void key_page_size_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	sample_text_add_page_size(source->words[0], out);
}

void key_event_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = sample->event->index;
}

const char *key_event_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return context->session->reader->events.events.data[source->words[0]]->name;
}

/* In branch mode the fold hands over one branch at a time: sample->branches has one entry. */

static uint64_t branch_flags(const struct fold_sample *sample)
{
	return sample->sample->branch_count ? sample->sample->branches[0].flags : 0;
}

void key_mispredict_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = branch_flags(sample) & 3;
}

void key_mispredict_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	strbuf_add_str(out, source->words[0] & 2 ? "N" : source->words[0] & 1 ? "Y" : "N/A");
}

void key_abort_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = branch_flags(sample) >> 3 & 1;
}

void key_flag_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	strbuf_add_str(out, source->words[0] ? "A" : ".");
}

void key_in_tx_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = branch_flags(sample) >> 2 & 1;
}

void key_in_tx_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	strbuf_add_str(out, source->words[0] ? "T" : ".");
}

void key_cycles_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = sample->sample->branch_count ? branch_cycles(&sample->sample->branches[0]) : 0;
}

void key_cycles_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	if (source->words[0])
		strbuf_add_u64(out, source->words[0], 0);
	else
		strbuf_add_str(out, "-");
}

void key_null_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	words[0] = 0;
}
