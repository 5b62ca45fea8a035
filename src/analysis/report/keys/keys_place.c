/* Keys of who and where: threads, files, symbols, addresses. */
#include "analysis/report/keys/keys_internal.h"

#include "analysis/source_lines.h"
#include "base/text.h"

#include <regex.h>
#include <string.h>
#include <sys/stat.h>

void key_tid_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = source->actor->thread->tid;
}

void key_tgid_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = source->actor->thread->pid;
}

int64_t key_tid_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (int32_t)source->actor->thread->tid;
}

int64_t key_tgid_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (int32_t)source->actor->thread->pid;
}

/* The thread's last name, whatever it was called when it was sampled. */
void key_pid_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	strbuf_printf(out, "%7d:", (int)source->actor->thread->tid);
	strbuf_add_str(out, untrusted_raw(thread_comm(source->actor->thread, UINT64_MAX)));
}

void key_comm_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = (uintptr_t)source->actor->comm;
}

const char *key_comm_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return untrusted_raw(source->actor->comm);
}

static const struct process_namespaces *namespaces(const struct key_source *source)
{
	return source->actor->thread->process->namespaces;
}

enum { NAMESPACE_CGROUP = 6 };

void key_cgroup_id_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	const struct process_namespaces *known = namespaces(source);
	words[0] = known && known->count > NAMESPACE_CGROUP ? known->device[NAMESPACE_CGROUP] << 40 ^ known->inode[NAMESPACE_CGROUP] : 0;
}

int64_t key_cgroup_id_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	uint64_t word;
	key_cgroup_id_identify(context, source, &word);
	return (int64_t)word;
}

void key_cgroup_id_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	const struct process_namespaces *known = namespaces(source);
	bool has = known && known->count > NAMESPACE_CGROUP;
	strbuf_printf(out, "%lu/0x%lx", has ? known->device[NAMESPACE_CGROUP] : 0, has ? known->inode[NAMESPACE_CGROUP] : 0);
}

/* Files: told apart by their names, as they are shown. */

static const char *dso_name(const struct key_context *context, const struct fold_frame *place)
{
	if (!place || !place->map)
		return NULL;
	return context->verbose ? place->map->dso->name : place->map->dso->short_name;
}

/* Of a branch: where it went, as in the kernel's tool. */
static const struct fold_frame *seen(const struct key_source *source)
{
	return source->target ? source->target : source->place;
}

void key_dso_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = (uintptr_t)dso_name(context, seen(source));
}

void key_dso_from_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = (uintptr_t)dso_name(context, source->place);
}

const char *key_dso_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return dso_name(context, seen(source));
}

const char *key_dso_from_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return dso_name(context, source->place);
}

static void add_dso(const struct key_context *context, const struct fold_frame *place, struct strbuf *out)
{
	const char *name = dso_name(context, place);
	strbuf_add_str(out, name ? name : "[unknown]");
}

void key_dso_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	add_dso(context, seen(source), out);
}

unsigned int key_dso_length(const struct key_context *context, const struct key_source *source)
{
	const char *name = dso_name(context, seen(source));
	return (unsigned int)strlen(name ? name : "[unknown]");
}

void key_dso_from_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	add_dso(context, source->place, out);
}

/* Symbols: by file (its name) and range; addresses without one by themselves. A sampled address counts within its file, so that it is the
 * same in every process; that of a caller as recorded. */

uint64_t key_place_address(const struct fold_frame *place, bool caller)
{
	return place->map && !caller ? map_to_dso(place->map, place->ip) : place->ip;
}

static void identify_symbol(const struct key_context *context, const struct fold_frame *place, bool caller, uint64_t *words)
{
	/* Inlined functions have the range of the function around them. */
	words[0] = place->symbol && place->symbol->inlined ? (uintptr_t)place->symbol->name : place->symbol != NULL;
	words[1] = place->symbol ? place->symbol->start : key_place_address(place, caller);
	words[2] = place->symbol ? place->symbol->end : 0;
	words[3] = context->has_dso || !place->symbol ? 0 : (uintptr_t)dso_name(context, place);
	words[4] = 0;
}

/* An address without a symbol is shown as recorded where it is a caller's, or of a branch whose end has no key of its own. */
static bool is_raw(const struct key_source *source)
{
	return source->caller || source->target;
}

void key_sym_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	identify_symbol(context, seen(source), is_raw(source), words);
}

void key_sym_from_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	identify_symbol(context, source->place, source->caller, words);
}

void key_sym_to_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	identify_symbol(context, source->target, source->caller, words);
}

const char *key_sym_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	const struct symbol *symbol = seen(source)->symbol;
	return symbol ? symbol->name : NULL;
}

int64_t key_sym_from_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (int64_t)(source->place->symbol ? source->place->symbol->start : key_place_address(source->place, source->caller));
}

int64_t key_sym_to_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (int64_t)(source->target->symbol ? source->target->symbol->start : key_place_address(source->target, source->caller));
}

/* %#.16lx: 0 has no 0x. */
static void add_wide_hex(uint64_t value, struct strbuf *out)
{
	static const char digits[] = "0123456789abcdef";
	char text[18] = {'0', 'x'};
	for (int i = 0; i < 16; i++)
		text[17 - i] = digits[value >> (4 * i) & 15];
	strbuf_add(out, text + (value ? 0 : 2), value ? 18 : 16);
}

static void add_symbol(const struct key_context *context, const struct fold_frame *place, char level, bool caller, struct strbuf *out)
{
	/* Recorded addresses of a symbol are each process's own. */
	uint64_t address = key_place_address(place, caller && !place->symbol);
	if (context->verbose)
		strbuf_printf(out, "%-#18lx %c ", address,
			      place->map ? (place->symbol ? (place->map->dso->kernel ? 'k' : 'd') : '!') : '!');
	strbuf_add_char(out, '[');
	strbuf_add_char(out, level);
	strbuf_add(out, "] ", 2);
	if (place->symbol)
		strbuf_add_str(out, place->symbol->name);
	else
		add_wide_hex(address, out);
	if (place->symbol && place->symbol->inlined)
		strbuf_add_str(out, " (inlined)");
}

void key_sym_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	add_symbol(context, seen(source), source->level, is_raw(source), out);
}

void key_sym_from_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	add_symbol(context, source->place, source->level, source->caller, out);
}

/* "[k] name" or "[k] 0x0123456789abcdef"; with -v the address and a letter before it. */
unsigned int key_sym_length(const struct key_context *context, const struct key_source *source)
{
	const struct symbol *symbol = seen(source)->symbol;
	return 4 + (context->verbose ? 21 : 0) + (symbol ? (unsigned int)strlen(symbol->name) : 18);
}

static char place_level(const struct fold_frame *place)
{
	switch (place->cpumode) {
	case CPUMODE_KERNEL:
		return 'k';
	case CPUMODE_GUEST_KERNEL:
		return 'g';
	case CPUMODE_GUEST_USER:
		return 'u';
	case CPUMODE_HYPERVISOR:
		return 'H';
	default:
		return '.';
	}
}

void key_sym_to_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	add_symbol(context, source->target, place_level(source->target), source->caller, out);
}

/* The address in its file: the same in all processes. */
void key_symoff_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = (uintptr_t)dso_name(context, seen(source));
	words[1] = key_place_address(seen(source), is_raw(source));
}

int64_t key_symoff_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (int64_t)key_place_address(seen(source), is_raw(source));
}

void key_symoff_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	const struct fold_frame *place = seen(source);
	uint64_t address = key_place_address(place, false);
	strbuf_printf(out, "[%c] ", source->level);
	if (place->symbol)
		strbuf_printf(out, "%s+0x%lx", place->symbol->name, address - place->symbol->start);
	else
		strbuf_printf(out, "%#lx", key_place_address(place, is_raw(source)));
}

void key_symbol_size_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	const struct symbol *symbol = seen(source)->symbol;
	words[0] = symbol ? symbol->end - symbol->start : 0;
}

int64_t key_symbol_size_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	const struct symbol *symbol = seen(source)->symbol;
	return symbol ? (int64_t)(symbol->end - symbol->start) : 0;
}

void key_symbol_size_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	const struct symbol *symbol = seen(source)->symbol;
	if (symbol)
		strbuf_add_u64(out, symbol->end - symbol->start, 0);
	else
		strbuf_add_str(out, "unknown");
}

/* The size of the map that a file is mapped with. */
static uint64_t dso_size(const struct fold_frame *place)
{
	return place->map ? place->map->end - place->map->start : 0;
}

void key_dso_size_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = dso_size(seen(source));
}

int64_t key_dso_size_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (int64_t)dso_size(seen(source));
}

void key_dso_size_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	if (seen(source)->map)
		strbuf_add_u64(out, dso_size(seen(source)), 0);
	else
		strbuf_add_str(out, "unknown");
}

/* A column that only the annotation of symbols could fill. */
void key_null_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
}

int64_t key_null_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return 0;
}

void key_null_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	strbuf_add_str(out, "-      -");
}

void key_parent_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = (uintptr_t)source->parent;
}

const char *key_parent_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return source->parent ? source->parent->name : NULL;
}

void key_parent_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	strbuf_add_str(out, source->parent ? source->parent->name : "[other]");
}

/* Source lines. */

const char *key_srcline_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return source_lines_line(context->lines, seen(source), source->caller);
}

const char *key_srcfile_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return source_lines_file(context->lines, seen(source), source->caller);
}

const char *key_srcline_from_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return source_lines_line(context->lines, source->place, source->caller);
}

void key_srcline_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = (uintptr_t)source_lines_line(context->lines, seen(source), source->caller);
}

void key_srcfile_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = (uintptr_t)source_lines_file(context->lines, seen(source), source->caller);
}

void key_srcline_from_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = (uintptr_t)source_lines_line(context->lines, source->place, source->caller);
}

/* Branch addresses: the symbol and the distance from its start. */

void key_addr_from_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = source->place->ip;
}

void key_addr_identify(const struct key_context *context, const struct key_source *source, uint64_t *words)
{
	words[0] = seen(source)->ip;
}

int64_t key_addr_from_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (int64_t)source->place->ip;
}

int64_t key_addr_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	return (int64_t)seen(source)->ip;
}

static void add_address(const struct fold_frame *place, struct strbuf *out)
{
	strbuf_printf(out, "[%c] ", place_level(place));
	if (!place->symbol) {
		strbuf_printf(out, "%#.16lx", place->ip);
		return;
	}
	strbuf_add_str(out, place->symbol->name);
	uint64_t offset = key_place_address(place, false) - place->symbol->start;
	if (offset)
		strbuf_printf(out, "+0x%lx", offset);
}

void key_addr_from_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	add_address(source->place, out);
}

void key_addr_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	strbuf_printf(out, "%#lx", seen(source)->ip);
}

void key_addr_to_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	add_address(source->target, out);
}
