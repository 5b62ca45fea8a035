/* What a recording carries, in three steps: which addresses were hit (carry_hits.c); what they are called, which functions and lines they
 * are from; then, the functions with most samples first, their code. */
#include "analysis/carry/carry_internal.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "symbol/dso_build_id.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROOM = 8 << 20, TABLE_MOST = 64 << 20, TRIES = 5 };

struct carry_options carry_options_for(uint64_t size)
{
	uint64_t wanted = size / 4;
	wanted = wanted < LEAST_ROOM ? LEAST_ROOM : wanted > TABLE_MOST ? TABLE_MOST : wanted;
	return (struct carry_options){.wanted = wanted, .most = TABLE_MOST};
}

/* ---- names ---- */

struct address {
	uint64_t dso_addr, value;
};

static int by_dso_address(const void *a, const void *b)
{
	const struct address *x = a, *y = b;
	return x->dso_addr < y->dso_addr ? -1 : x->dso_addr > y->dso_addr;
}

static struct address *sorted_addresses(const struct map64 *hits)
{
	struct address *list = mem_alloc_array(hits->count + 1, sizeof(*list));
	size_t count = 0;
	map64_each (slot, hits)
		list[count++] = (struct address){slot->key, slot->value};
	qsort(list, count, sizeof(*list), by_dso_address);
	return list;
}

/* As in the file, with what it was there: readable names differ. */
static void add_symbol(struct carry *carry, const struct carry_file *file, uint32_t index, struct carried_file *carried)
{
	const struct symbol *symbol = symtab_at(file->symtab, index);
	cleanup_free char *raw = symtab_raw_name(file->symtab, index);
	carried->symbols[carried->symbol_count++] = (struct carried_symbol){
		.start = symbol->start,
		.size = symbol->end - symbol->start,
		.name = intern_string(&carry->texts, raw),
		.binding = symbol->binding,
		.type = symbol->type,
		.mangled = strcmp(symbol->name, raw) != 0,
		.ifunc_alias = symbol->ifunc_alias,
	};
}

/* Of an address; returns the number of its symbol, counted from 1. */
static uint32_t gather_address(struct carry *carry, struct carry_file *file, const struct address *address)
{
	const struct symbol *symbol = resolver_symbol(carry->resolver, file->dso, address->dso_addr);
	if (address->value & CARRY_FRAME)
		carry_place(carry, file, address->dso_addr, symbol);
	if ((address->value & CARRY_CALLER) && !(symbol && symbol->start == address->dso_addr))
		carry_place(carry, file, address->dso_addr - 1, symbol);
	if ((address->value & CARRY_SAMPLED) && !symbol)
		vec_push(&file->nameless, address->dso_addr);
	return symbol ? symbol->index + 1 : 0;
}

/* Symbols that were hit, and which functions were sampled. The first and the last symbol tell how far the kernel reaches. */
static void gather_names(struct carry *carry, struct carry_file *file, const struct map64 *hits, struct carried_file *carried)
{
	const struct symtab *symtab = file->symtab;
	struct address *addresses = sorted_addresses(hits);
	uint64_t *samples = mem_zalloc_array(symtab->count + 1, sizeof(*samples)); /* one more than there are; 0 = not hit */
	for (size_t i = 0; i < hits->count; i++) {
		uint32_t number = gather_address(carry, file, &addresses[i]);
		if (number)
			samples[number - 1] += !samples[number - 1] + (addresses[i].value >> CARRY_COUNT_SHIFT);
	}
	if (symtab->count && file->dso->kind == DSO_KERNEL) {
		samples[0] += !samples[0];
		samples[symtab->count - 1] += !samples[symtab->count - 1];
	}
	for (size_t i = 0; i < symtab->count; i++)
		carried->symbol_count += samples[i] != 0;
	carried->symbols = arena_alloc(&carry->arena, carried->symbol_count * sizeof(*carried->symbols));
	carried->symbol_count = 0;
	for (uint32_t i = 0; i < symtab->count; i++) {
		if (samples[i])
			add_symbol(carry, file, i, carried);
		if (samples[i] > 1)
			vec_push(&carry->functions, (struct carry_function){file, symtab_at(symtab, i), samples[i] - 1});
	}
	free(samples);
	free(addresses);
}

/* Names come from the program's file or, as inlined functions and lines do, from its debug file. */
static void describe_file(struct carry *carry, const struct carry_file *file, struct carried_file *ret)
{
	const struct dso *dso = file->dso;
	const struct symtab *symtab = file->symtab;
	struct buildid id = {0};
	*ret = (struct carried_file){
		.name = dso->name,
		.kind = (uint8_t)dso->kind,
		.major = dso->major,
		.minor = dso->minor,
		.inode = dso->inode,
		.inode_generation = dso->inode_generation,
		.build_id = dso->build_id.size || !dso_read_build_id(dso, &id) ? dso->build_id : id,
		.source = (uint8_t)symtab->source,
		.path = symtab->path,
		.of_count = symtab->count,
		.has_functions = symtab->has_functions,
		.segment_count = symtab->segment_count,
	};
	ret->segments = arena_alloc(&carry->arena, symtab->segment_count * sizeof(*ret->segments));
	for (size_t i = 0; i < symtab->segment_count; i++)
		ret->segments[i] =
			(struct carried_segment){symtab->segments[i].dso_addr, symtab->segments[i].size, symtab->segments[i].vaddr};
}

/* Stacks are unwound when the recording is read: the rules for each address that it came by then are those of the files. */
static void gather_unwind(struct carry *carry, const struct carry_file *file, const struct map64 *hits, struct carried_file *carried)
{
	struct address *addresses = sorted_addresses(hits);
	uint64_t *list = mem_alloc_array(hits->count + 1, sizeof(*list));
	for (size_t i = 0; i < hits->count; i++)
		list[i] = addresses[i].dso_addr;
	carry_unwind(carry, file, list, hits->count, &carried->unwind);
	free(list);
	free(addresses);
}

static void gather_files(struct carry *carry, const struct carry_hits *hits, struct carried *carried)
{
	const struct machine *machine = resolver_machine(carry->resolver);
	carried->files = arena_zalloc(&carry->arena, (hits->count + 1) * sizeof(*carried->files));
	for (size_t i = 0; i < hits->count; i++) {
		struct carry_file *file = &carry->files[i];
		if (!hits->by_dso[i].count)
			continue;
		file->dso = machine->dsos.data[i];
		file->symtab = resolver_symtab(carry->resolver, file->dso);
		describe_file(carry, file, &carried->files[carried->file_count]);
		struct carried_file *described = &carried->files[carried->file_count++];
		gather_names(carry, file, &hits->by_dso[i], described);
		if (carry->unwinds && !file->dso->kernel)
			gather_unwind(carry, file, &hits->by_dso[i], described);
	}
}

/* ---- code ---- */

static int hottest_first(const void *a, const void *b)
{
	const struct carry_function *x = a, *y = b;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

/* What doesn't fit any more is left out, the lesser functions may. */
static void gather_code(struct carry *carry, struct carry_counts *counts)
{
	if (carry->functions.len)
		qsort(carry->functions.data, carry->functions.len, sizeof(*carry->functions.data), hottest_first);
	for (size_t i = 0; i < carry->functions.len; i++)
		counts->left_out += !carry_code(carry, &carry->functions.data[i]);
	counts->functions = carry->functions.len - counts->left_out;
}

static int by_place(const void *a, const void *b)
{
	const struct carried_code *x = a, *y = b;
	return x->dso_addr < y->dso_addr ? -1 : x->dso_addr > y->dso_addr;
}

static void sort_codes(struct carry_file *file)
{
	if (file->codes.len)
		qsort(file->codes.data, file->codes.len, sizeof(*file->codes.data), by_place);
}

static void settle_file(struct carry *carry, struct carry_file *file, struct carried_file *carried)
{
	sort_codes(file);
	carry_places_settle(carry, file, carried);
	carry_nameless_code(carry, file);
	sort_codes(file);
	carried->codes = file->codes.data;
	carried->code_count = file->codes.len;
	if (!file->codes.len)
		return;
	const char *arch = code_file_arch(file->code);
	carried->code_path = intern_string(&carry->texts, code_file_path(file->code));
	carried->code_arch = arch ? intern_string(&carry->texts, arch) : NULL;
}

static void settle(struct carry *carry, struct carried *carried)
{
	for (size_t i = 0, k = 0; i < carry->file_count; i++)
		if (carry->files[i].dso)
			settle_file(carry, &carry->files[i], &carried->files[k++]);
	carry_sources_settle(carry, carried);
}

static void deinit(struct carry *carry)
{
	for (size_t i = 0; i < carry->file_count; i++) {
		struct carry_file *file = &carry->files[i];
		vec_deinit(&file->points);
		vec_deinit(&file->answers);
		vec_deinit(&file->codes);
		vec_deinit(&file->nameless);
		map64_deinit(&file->answer_index);
		code_file_close(file->code);
		disasm_close(file->disasm);
	}
	free(carry->files);
	for (size_t i = 0; i < carry->sources.len; i++)
		map64_deinit(&carry->sources.data[i].lines);
	vec_deinit(&carry->sources);
	vec_deinit(&carry->functions);
	map64_deinit(&carry->source_index);
	intern_deinit(&carry->texts);
	arena_deinit(&carry->arena);
}

static bool has_registers(const struct event_list *list)
{
	bool has = false;
	for (size_t i = 0; i < list->events.len; i++)
		has |= (list->events.data[i]->attr.sample_type & PERF_SAMPLE_REGS_USER) != 0;
	return has;
}

/* The table with so much room for code, lines and text; returns its size. */
static size_t gather(struct session *session, struct resolver *resolver, const struct carry_hits *hits, size_t room, struct strbuf *out,
		     struct carry_counts *ret)
{
	struct carry carry = {.resolver = resolver, .file_count = hits->count, .room = room};
	struct carried carried = {0};
	carry.files = mem_zalloc_array(hits->count + 1, sizeof(*carry.files));
	carry.unwinds = has_registers(&session->reader->events);
	*ret = (struct carry_counts){0};
	gather_files(&carry, hits, &carried);
	gather_code(&carry, ret);
	settle(&carry, &carried);
	ret->files = carried.file_count;
	for (size_t i = 0; i < carried.file_count; i++)
		ret->symbols += carried.files[i].symbol_count;
	strbuf_clear(out);
	carried_encode(&carried, out);
	deinit(&carry);
	return out->len;
}

/* What entries take is only guessed while they are gathered, too much mostly. */
struct error *carry_gather(struct session *session, struct resolver *resolver, const struct carry_options *options, struct strbuf *out,
			   struct carry_counts *ret)
{
	struct carry_hits hits;
	struct error *error = carry_hits_find(session, resolver, &hits);
	if (error)
		return error;
	size_t size, room = 2 * options->wanted;
	for (unsigned int tries = 0; (size = gather(session, resolver, &hits, room, out, ret)) > options->wanted && room; tries++)
		room = tries < TRIES ? (size_t)((double)room * 0.95 * (double)options->wanted / (double)size) : 0;
	carry_hits_deinit(&hits);
	if (size <= options->most)
		return NULL;
	return error_new("names and lines of what was hit take %zu MB, and %zu MB is the most that a recording carries", size >> 20,
			 options->most >> 20);
}
