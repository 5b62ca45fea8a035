/* Names of filters of addresses, looked up among the functions of a file or of the kernel, in the order of addresses: the n'th of a name is
 * meant in that order. All symbols are kept, as one address may have several names, unlike in a symbol table (symbol/symtab.h). */
#include "capture/traces/trace_filter.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "event/address_filter.h"
#include "kernel/fix.h"
#include "kernel/proc.h"
#include "symbol/debugfile.h"
#include "symbol/demangle.h"
#include "symbol/kernel/kallsyms.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct function {
	const char *name;
	uint64_t begin, size; /* size 0: up to the next one */
	bool is_global;
};

struct functions {
	struct arena names; /* of the kernel's */
	struct symbol_files files;
	const char *place; /* for messages: the file, or "the kernel" */
	VEC(struct function) functions;
	uint64_t all_begin, all_size; /* what '*' means */
};

/* ── Those of a file ── */

static bool is_code(const struct elf_file *elf, const struct elf_symbol *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->info);

	if (!symbol->value || symbol->section == SHN_UNDEF || symbol->section >= elf->section_count)
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && elf->sections[symbol->section].flags & SHF_EXECINSTR);
}

/* The kernel wants offsets in the file that is mapped; a debug file's own are others. */
static bool file_offset(const struct elf_file *mapped, uint64_t address, uint64_t *ret)
{
	const struct elf_segment *segment = elf_segment_of(mapped, address);

	if (segment)
		*ret = address - segment->vaddr + segment->offset;
	return segment != NULL;
}

static void add_table(struct functions *functions, const struct elf_file *elf, const struct elf_section *table)
{
	uint64_t count = elf_symbol_count(elf, table), offset;
	struct elf_symbol symbol;

	for (uint64_t i = 0; i < count; i++) {
		if (!elf_symbol_at(elf, table, i, &symbol) || !is_code(elf, &symbol) ||
		    !file_offset(functions->files.runtime, symbol.value, &offset))
			continue;
		vec_push(&functions->functions, (struct function){.name = symbol.name,
								  .begin = offset,
								  .size = symbol.size,
								  .is_global = ELF64_ST_BIND(symbol.info) == STB_GLOBAL});
	}
}

static const struct elf_section *find_table(const struct elf_file *elf, uint32_t type)
{
	for (uint32_t i = 0; i < elf->section_count; i++)
		if (elf->sections[i].type == type)
			return &elf->sections[i];
	return NULL;
}

static struct error *load_file(struct functions *functions, const char *path)
{
	struct symbol_options options = {.proc = "/proc"};
	struct dso dso = {.kind = DSO_FILE, .name = path, .short_name = path};
	struct elf_file elf;
	struct error *error = elf_open(path, &elf);

	if (error)
		return error;
	dso.build_id = elf.build_id;
	functions->all_size = elf.size;
	elf_close(&elf);
	symbol_files_find(&options, &dso, &functions->files);
	const struct elf_file *symbols = functions->files.symbols;
	const struct elf_section *table = symbols ? find_table(symbols, SHT_SYMTAB) : NULL;
	if (symbols && !table)
		table = find_table(symbols, SHT_DYNSYM);
	if (table)
		add_table(functions, symbols, table);
	return NULL;
}

/* ── Those of the kernel ── */

static bool add_kernel_symbol(void *context, uint64_t address, char type, const char *name, const char *module)
{
	struct functions *functions = context;

	if (!address || !strchr("TtWw", type))
		return true;
	vec_push(&functions->functions, (struct function){.name = arena_strdup(&functions->names, name),
							  .begin = address,
							  .is_global = type == 'T' || type == 'W'});
	return true;
}

/* Where the kernel ends isn't listed: a page behind the last function. */
static void settle_kernel(struct functions *functions)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	functions->all_begin = functions->functions.data[0].begin;
	functions->all_size = (vec_last(&functions->functions)->begin + page - 1) / page * page + page - functions->all_begin;
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *one = a, *other = b;

	return one->begin < other->begin ? -1 : one->begin > other->begin;
}

static struct error *load(struct functions *functions, const char *path, const char *kallsyms)
{
	struct error *error = path ? load_file(functions, path) : kallsyms_visit(kallsyms, add_kernel_symbol, functions);

	functions->place = path ? path : "the kernel";
	if (error)
		return error;
	if (!path && !functions->functions.len)
		return fix_error_of_hidden_addresses();
	if (functions->functions.len)
		qsort(functions->functions.data, functions->functions.len, sizeof(*functions->functions.data), compare_functions);
	if (!path)
		settle_kernel(functions);
	return NULL;
}

static void unload(struct functions *functions)
{
	vec_deinit(&functions->functions);
	symbol_files_close(&functions->files);
	arena_deinit(&functions->names);
}

/* ── Names ── */

static bool has_name(const struct function *function, const char *name)
{
	if (!strcmp(function->name, name))
		return true;
	cleanup_free char *readable = demangle_candidate(function->name) ? demangle(function->name, DEMANGLE_LIMIT) : NULL;
	return readable && !strcmp(readable, name);
}

static struct error *fail_ambiguous(const struct functions *functions, const struct address_place *place)
{
	struct strbuf list = {0};
	uint64_t last = UINT64_MAX;
	unsigned int count = 0;

	for (size_t i = 0; i < functions->functions.len; i++) {
		const struct function *function = &functions->functions.data[i];
		if (function->begin == last || !has_name(function, place->name))
			continue;
		last = function->begin;
		strbuf_printf(&list, "\n  #%u  %#llx  %s", ++count, (unsigned long long)function->begin,
			      function->is_global ? "global" : "local");
	}
	struct error *error = error_new_kind(
		ERROR_USAGE, "--filter: %s has %u functions called %s; say which, as in '%s #2', or '%s #g' for the global one:%s",
		functions->place, count, place->name, place->name, place->name, strbuf_str(&list));
	strbuf_deinit(&list);
	return error;
}

static struct error *fail_missing(const struct functions *functions, const struct address_place *place)
{
	VEC(const char *) names = {0};

	for (size_t i = 0; i < functions->functions.len; i++)
		vec_push(&names, functions->functions.data[i].name);
	const char *near = str_nearest(place->name, names.data, names.len);
	struct error *error = error_new_kind(ERROR_USAGE, "--filter: %s has no %sfunction %s%s%s%s", functions->place,
					     place->which == ADDRESS_GLOBAL ? "global " : "", place->name,
					     place->which > 0			 ? " of that number"
					     : near && strcmp(near, place->name) ? "; did you mean "
										 : "",
					     place->which <= 0 && near && strcmp(near, place->name) ? near : "",
					     functions->functions.len ? "" : ": it has no symbol table; give offsets in the file");
	vec_deinit(&names);
	return error;
}

/* Where the function at `index` ends: where the next one begins, if nothing says it. */
static uint64_t size_of(const struct functions *functions, size_t index)
{
	const struct function *all = functions->functions.data;

	for (size_t next = index + 1; !all[index].size && next < functions->functions.len; next++)
		if (all[next].begin > all[index].begin)
			return all[next].begin - all[index].begin;
	return all[index].size;
}

static struct error *find(const struct functions *functions, const struct address_place *place, struct function *ret)
{
	const struct function *found = NULL;
	int count = 0;

	for (size_t i = 0; i < functions->functions.len; i++) {
		const struct function *function = &functions->functions.data[i];
		if ((place->which == ADDRESS_GLOBAL && !function->is_global) || (found && found->begin == function->begin) ||
		    !has_name(function, place->name))
			continue;
		if (place->which <= 0 && found)
			return fail_ambiguous(functions, place);
		found = function;
		if (++count == place->which)
			break;
	}
	if (!found || (place->which > 0 && count != place->which))
		return fail_missing(functions, place);
	*ret = *found;
	ret->size = size_of(functions, (size_t)(found - functions->functions.data));
	return NULL;
}

/* ── Filters ── */

/* The end, when its beginning is known. */
static struct error *settle_end(const struct functions *functions, const struct address_filter *filter, uint64_t begin, uint64_t *size)
{
	struct function function;

	if (!filter->has_end)
		return NULL;
	if (!filter->end.name) {
		*size = filter->end.number;
		return NULL;
	}
	struct error *error = find(functions, &filter->end, &function);
	if (!error && function.begin + function.size < begin)
		return error_new_kind(ERROR_USAGE, "--filter: %s (%#llx) lies in front of where the filter begins (%#llx)",
				      filter->end.name, (unsigned long long)function.begin, (unsigned long long)begin);
	if (!error)
		*size = function.begin + function.size - begin;
	return error;
}

static struct error *settle(const struct functions *functions, const struct address_filter *filter, uint64_t *begin, uint64_t *size)
{
	struct function function = {.begin = filter->begin.number};
	struct error *error = NULL;

	if (address_place_is_all(&filter->begin))
		function = (struct function){.begin = functions->all_begin, .size = functions->all_size};
	else if (filter->begin.name)
		error = find(functions, &filter->begin, &function);
	*begin = function.begin;
	*size = function.size;
	if (!error)
		error = settle_end(functions, filter, *begin, size);
	if (!error && filter->is_range && !*size)
		error = error_new_kind(ERROR_USAGE, "--filter: the size of %s isn't known: give one, as in '%s / 0x20'", filter->begin.name,
				       filter->begin.name);
	return error;
}

static struct error *add_filter(const struct address_filter *filter, bool by_cpu, const char *kallsyms, struct strbuf *out)
{
	cleanup_free char *path = filter->file ? realpath(filter->file, NULL) : NULL;
	struct functions functions = {0};
	uint64_t begin, size;
	struct error *error = NULL;

	if (filter->file && !path)
		return error_system(errno, "--filter: %s", filter->file);
	if (path && by_cpu)
		return error_new_kind(ERROR_USAGE,
				      "--filter: %s: of whole CPUs the kernel filters its own addresses only: trace a command, or -p PID",
				      filter->file);
	if (filter->begin.name || filter->end.name)
		error = load(&functions, path, kallsyms);
	if (!error)
		error = settle(&functions, filter, &begin, &size);
	unload(&functions);
	if (error)
		return error;
	strbuf_printf(out, "%s%s 0x%llx", out->len ? "," : "", filter->action, (unsigned long long)begin);
	if (filter->is_range)
		strbuf_printf(out, "/0x%llx", (unsigned long long)size);
	if (path)
		strbuf_printf(out, "@%s", path);
	return NULL;
}

/* How many filters the driver takes for an event. */
static uint64_t most_filters(const struct pmu *pmu)
{
	cleanup_free char *path = mem_printf("%s/nr_addr_filters", pmu->path);
	char line[32];
	uint64_t most;

	return proc_read_line(path, line, sizeof(line)) && number_parse_u64(line, &most) ? most : 0;
}

struct error *trace_filter_resolve(struct event_list *events, struct event *event, const struct pmu *pmu, bool by_cpu, const char *kallsyms)
{
	const uint64_t most = most_filters(pmu);
	struct address_filters filters = {0};
	struct strbuf text = {0};
	struct error *error = address_filters_parse(event->address_filter, &filters);

	if (!error && !most)
		error = error_new_kind(
			ERROR_UNSUPPORTED,
			"%s: --filter: this PMU has no filters of addresses (nr_addr_filters); trace less with the modifier u "
			"or k, or by -D and --control",
			event->name);
	if (!error && filters.filters.len > most)
		error = error_new_kind(ERROR_UNSUPPORTED, "%s: --filter: %zu filters of addresses, but this PMU has room for %llu",
				       event->name, filters.filters.len, (unsigned long long)most);
	for (size_t i = 0; i < filters.filters.len && !error; i++)
		error = add_filter(&filters.filters.data[i], by_cpu, kallsyms, &text);
	if (!error) {
		event->filter = arena_strdup(&events->arena, strbuf_str(&text));
		cleanup_free char *safe = text_safe_copy(event->filter);
		log_info("Address filter: %s", safe);
	}
	strbuf_deinit(&text);
	address_filters_deinit(&filters);
	return error;
}
