/* perf kallsyms: where the running kernel has the functions and variables of a name.
 *
 *	vfs_read: [kernel] [kernel.kallsyms] 0xffffffff816b8230-0xffffffff816b8590 (0xffffffff816b8230-0xffffffff816b8590)
 *
 * A symbol goes up to the next one. */
#include "symbol/kernel/kallsyms.h"
#include "app/command.h"
#include "app/groups.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "kernel/fix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KALLSYMS "/proc/kallsyms"

struct kallsyms_options {
	struct output_options output;
};

static const struct option kallsyms_options[] = {
	OPTION_GROUP(output_option_group, struct kallsyms_options, output),
	OPTION_END,
};

struct found {
	const char *name;
	char *module;	     /* NULL = the kernel */
	uint64_t start, end; /* end 0 = not seen yet */
};

struct search {
	char **names;
	int count;
	VEC(struct found) found;
	uint64_t any_address;
};

/* The end of each found symbol is the nearest higher address. */
static bool look_at(void *context, uint64_t address, char type, const char *name, const char *module)
{
	struct search *search = context;

	search->any_address |= address;
	for (int i = 0; i < search->count; i++)
		if (!strcmp(name, search->names[i]))
			vec_push(&search->found,
				 (struct found){.name = search->names[i], .module = module ? mem_strdup(module) : NULL, .start = address});
	return true;
}

static bool find_end(void *context, uint64_t address, char type, const char *name, const char *module)
{
	struct search *search = context;

	for (size_t i = 0; i < search->found.len; i++) {
		struct found *one = &search->found.data[i];
		if (address > one->start && (!one->end || address < one->end))
			one->end = address;
	}
	return true;
}

static void print_one(const struct found *one)
{
	unsigned long long start = one->start, end = one->end ? one->end : one->start;

	if (one->module)
		printf("%s: [%s] [%s] ", one->name, one->module, one->module);
	else
		printf("%s: [kernel] [kernel.kallsyms] ", one->name);
	printf("%#llx-%#llx (%#llx-%#llx)\n", start, end, start, end);
}

/* Returns whether all were found. */
static bool print(const struct search *search)
{
	bool all = true;
	for (int i = 0; i < search->count; i++) {
		bool any = false;
		for (size_t at = 0; at < search->found.len; at++)
			if (search->found.data[at].name == search->names[i]) {
				print_one(&search->found.data[at]);
				any = true;
			}
		if (!any)
			printf("%s: not found\n", search->names[i]);
		all &= any;
	}
	return all;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct kallsyms_options options = {0};
	int words;
	struct error *error = options_parse(kallsyms_options, OPTIONS_PERMUTE, argc, argv, &options, &words);

	if (error)
		return error;
	if (!words)
		return error_new_kind(ERROR_USAGE, "missing symbol name");
	struct search search = {argv, words, {0}, 0};
	error = kallsyms_visit(KALLSYMS, look_at, &search);
	if (!error && !search.any_address)
		error = fix_error_of_hidden_addresses();
	if (!error)
		error = kallsyms_visit(KALLSYMS, find_end, &search);
	if (!error && !print(&search))
		*ret_status = 255; /* as the kernel's perf */
	for (size_t i = 0; i < search.found.len; i++)
		free(search.found.data[i].module);
	vec_deinit(&search.found);
	return error;
}

static const char *const usage[] = {"SYMBOL...", NULL};
const struct command cmd_kallsyms = {"kallsyms", "Look up symbols of the running kernel", usage, kallsyms_options, run};
