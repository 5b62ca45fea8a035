/* Functions of a program by debug information. There is no index: a probe is asked for once, and walking all units takes less time than
 * building one.
 *
 * A name is matched where it stands and where it is referred to: a function with code may take it from a declaration in a class
 * (DW_AT_specification), an inlined one from its abstract instance (DW_AT_abstract_origin). libdw follows both. */
#include "symbol/dwarf/debug_program_internal.h"

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "symbol/demangle.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 100 };

/* ---- opening ---- */

static const struct arch *arch_of(Elf *elf)
{
	GElf_Ehdr header;

	if (!elf || !gelf_getehdr(elf, &header))
		return arch_own();
	return arch_of_elf(header.e_machine, header.e_ident[EI_DATA] == ELFDATA2MSB);
}

struct debug_program *debug_program_open(const char *debug_path, const char *runtime_path, bool kernel)
{
	struct dwarf_file file, runtime = {.fd = -1};

	if (!dwarf_file_open(debug_path, &file))
		return NULL;
	struct debug_program *program = mem_zalloc(sizeof(*program));
	program->file = file;
	Elf *elf = dwarf_getelf(file.dwarf);
	if (strcmp(debug_path, runtime_path) && dwarf_file_open(runtime_path, &runtime))
		elf = dwarf_getelf(runtime.dwarf);
	program->runtime = runtime;
	program->frames = file.dwfl ? NULL : dwarf_getcfi_elf(elf);
	program->debug_frames = dwarf_getcfi(file.dwarf);
	program->kernel = kernel;
	program->arch = arch_of(elf);
	return program;
}

void debug_program_close(struct debug_program *program)
{
	if (!program)
		return;
	if (program->frames)
		dwarf_cfi_end(program->frames);
	if (program->runtime.fd >= 0)
		dwarf_file_close(&program->runtime);
	dwarf_file_close(&program->file);
	arena_deinit(&program->arena);
	free(program);
}

/* ---- describing one ---- */

bool debug_is_function(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static bool is_container(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

static const char *linked_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return NULL;
}

/* dwarf_decl_file() takes for granted that the lines of the unit that the number is in can be looked at, and ends the program where they
 * can't: in a unit that begins with anything else than a unit's entry, or a split one whose skeleton is missing. */
static const char *declared_in(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die unit;
	Dwarf_Files *files;
	Dwarf_Word number;
	size_t count;
	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) || dwarf_formudata(&attribute, &number) || !number ||
	    dwarf_cu_info(attribute.cu, NULL, NULL, &unit, NULL, NULL, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &count) ||
	    number >= count)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

static uint64_t end_of(Dwarf_Die *die)
{
	Dwarf_Addr base, low, high, end = 0;

	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;)
		if (high > end)
			end = high;
	return end;
}

void debug_describe_function(struct debug_program *program, Dwarf_Die *die, struct debug_function *ret)
{
	Dwarf_Addr entry = 0;
	int line = 0;

	*ret = (struct debug_function){.name = dwarf_diename(die), .linked = linked_name(die), .file = declared_in(die)};
	if (dwarf_decl_line(die, &line) == 0)
		ret->line = (uint32_t)line;
	dwarf_entrypc(die, &entry);
	ret->entry = entry;
	ret->end = end_of(die);
	ret->inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
	ret->die = dwarf_dieoffset(die);
}

/* ---- by name ---- */

struct search {
	struct debug_program *program;
	const char *pattern, *file;
	struct debug_functions *found, inlined;
};

bool debug_path_matches(const char *path, const char *wanted)
{
	while (str_starts_with(wanted, "./"))
		wanted += 2;
	size_t len = strlen(path), end = strlen(wanted);
	return len >= end && !strcmp(path + len - end, wanted) && (len == end || path[len - end - 1] == '/' || *wanted == '/');
}

/* The whole readable name, or its end from a "::" on. */
static bool qualified_matches(const char *pattern, const char *linked)
{
	char *readable = demangle_candidate(linked) ? demangle(linked, DEMANGLE_LIMIT) : NULL;
	bool matches = readable && str_glob_match(pattern, readable);

	for (const char *at = readable; !matches && at && (at = strstr(at, "::"));)
		matches = str_glob_match(pattern, at += 2);
	free(readable);
	return matches;
}

static bool name_matches(const struct search *search, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die), *linked;

	if (name && str_glob_match(search->pattern, name))
		return true;
	if (!(linked = linked_name(die)))
		return false;
	return !strcmp(search->pattern, linked) || (strstr(search->pattern, "::") && qualified_matches(search->pattern, linked));
}

static void consider(struct search *search, Dwarf_Die *die)
{
	struct debug_function function;

	if (!name_matches(search, die))
		return;
	debug_describe_function(search->program, die, &function);
	if (!function.name || !function.end || (search->file && (!function.file || !debug_path_matches(function.file, search->file))))
		return;
	if (function.inlined)
		vec_push(&search->inlined.items, function);
	else
		vec_push(&search->found->items, function);
}

static void walk(struct search *search, Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);
		if (debug_is_function(tag))
			consider(search, &child);
		if (debug_is_function(tag) || is_container(tag) || is_block(tag))
			walk(search, &child, depth + 1);
	} while (dwarf_siblingof(&child, &child) == 0);
}

void debug_program_functions(struct debug_program *program, const char *pattern, const char *file, struct debug_functions *ret)
{
	struct search search = {.program = program, .pattern = pattern, .file = file, .found = ret};
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	while (dwarf_file_next_unit(&program->file, &cu, &unit))
		walk(&search, &unit, 0);
	for (size_t i = 0; i < search.inlined.items.len; i++)
		vec_push(&ret->items, search.inlined.items.data[i]);
	vec_deinit(&search.inlined.items);
}

/* ---- by address ---- */

static bool descend(Dwarf_Die *parent, uint64_t address, Dwarf_Die *ret, size_t *count, unsigned int depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(parent, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);
		if (is_container(tag)) {
			if (descend(&child, address, ret, count, depth + 1))
				return true;
		} else if ((debug_is_function(tag) || is_block(tag)) && dwarf_haspc(&child, address) > 0 && *count < SCOPES_MAX) {
			ret[(*count)++] = child;
			descend(&child, address, ret, count, depth + 1);
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

size_t debug_scopes(struct debug_program *program, uint64_t address, Dwarf_Die *ret_unit, Dwarf_Die ret[SCOPES_MAX])
{
	Dwarf_CU *cu = NULL;
	size_t count = 0;

	*ret_unit = program->unit;
	if (ret_unit->addr && dwarf_haspc(ret_unit, address) > 0)
		descend(ret_unit, address, ret, &count, 0);
	while (!count && dwarf_file_next_unit(&program->file, &cu, ret_unit))
		if (dwarf_haspc(ret_unit, address) > 0) {
			program->unit = *ret_unit;
			descend(ret_unit, address, ret, &count, 0);
		}
	return count;
}

static bool find_function(struct debug_program *program, uint64_t address, bool inlined, struct debug_function *ret)
{
	Dwarf_Die unit, scopes[SCOPES_MAX];
	size_t count = debug_scopes(program, address, &unit, scopes);

	while (count--) {
		int tag = dwarf_tag(&scopes[count]);
		if (tag != DW_TAG_subprogram && !(inlined && tag == DW_TAG_inlined_subroutine))
			continue;
		debug_describe_function(program, &scopes[count], ret);
		return ret->name != NULL;
	}
	return false;
}

bool debug_program_function_at(struct debug_program *program, uint64_t address, struct debug_function *ret)
{
	return find_function(program, address, true, ret);
}

bool debug_program_outer_function(struct debug_program *program, uint64_t address, struct debug_function *ret)
{
	return find_function(program, address, false, ret);
}

bool debug_function_contains(struct debug_program *program, const struct debug_function *function, uint64_t address)
{
	Dwarf_Die die;

	return dwarf_offdie(program->file.dwarf, function->die, &die) && dwarf_haspc(&die, address) > 0;
}

/* One place for all addresses, or a list of places? */
static bool has_list(Dwarf_Die *variable)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr(variable, DW_AT_location, &attribute))
		return false;
	unsigned int form = dwarf_whatform(&attribute);
	return form == DW_FORM_sec_offset || form == DW_FORM_loclistx || form == DW_FORM_data4 || form == DW_FORM_data8;
}

bool debug_program_optimised(struct debug_program *program, const struct debug_function *function)
{
	Dwarf_Die unit, die, child, scopes[SCOPES_MAX];
	Dwarf_Attribute attribute;

	debug_scopes(program, function->entry, &unit, scopes);
	const char *producer = dwarf_attr(&unit, DW_AT_producer, &attribute) ? dwarf_formstring(&attribute) : NULL;
	const char *option = producer ? strstr(producer, " -O") : NULL;
	if (option && option[3] != '0')
		return true;
	if (!dwarf_offdie(program->file.dwarf, function->die, &die) || dwarf_child(&die, &child) != 0)
		return false;
	do
		if (dwarf_tag(&child) == DW_TAG_formal_parameter && has_list(&child))
			return true;
	while (dwarf_siblingof(&child, &child) == 0);
	return false;
}
