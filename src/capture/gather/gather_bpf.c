/* Loaded BPF programs and their type information for a recording's header: but for those that this recording has loaded, which unwind
 * stacks and the like. They are gone when it ends, and would be more than what a short recording holds. */
#include "capture/gather/gather_internal.h"

#include "base/hash.h"
#include "bpf/own/own_programs.h"
#include "kernel/bpf/bpf_programs.h"

static bool has_btf(const struct features *features, uint32_t id)
{
	for (size_t i = 0; i < features->btfs.len; i++)
		if (features->btfs.data[i].id == id)
			return true;
	return false;
}

static void gather_btf(struct features *features, uint32_t id)
{
	struct strbuf data = {0};

	if (id && !has_btf(features, id) && bpf_btf_read(id, &data)) {
		struct feature_btf btf = {.id = id, .size = (uint32_t)data.len, .data = arena_copy(&features->arena, data.data, data.len)};
		vec_push(&features->btfs, btf);
		features_set(features, FEATURE_BPF_BTF);
	}
	strbuf_deinit(&data);
}

static void note_own(void *context, uint64_t id)
{
	map64_insert(context, id, NULL);
}

void gather_bpf(struct features *features)
{
	struct strbuf data = {0};
	struct map64 own = {0};
	uint32_t id = 0, btf;

	bpf_own_programs("prog_id:", note_own, &own);
	while (bpf_program_next(id, &id)) {
		strbuf_clear(&data);
		if (map64_find(&own, id) || !bpf_program_describe(id, &data, &btf))
			continue;
		struct feature_bpf_prog program = {.id = id, .size = data.len, .data = arena_copy(&features->arena, data.data, data.len)};
		vec_push(&features->bpf_progs, program);
		features_set(features, FEATURE_BPF_PROG_INFO);
		gather_btf(features, btf);
	}
	map64_deinit(&own);
	strbuf_deinit(&data);
}
