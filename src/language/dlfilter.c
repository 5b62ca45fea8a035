/* Loading filters, what they are told, and what they can ask. A filter's questions come with the cookie that it was called with: the
 * `struct dlfilter`. */
#include "language/dlfilter.h"

#include "analysis/script/sample_text.h"
#include "analysis/source_lines.h"
#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "language/sample_members.h"
#include "language/sampled_code.h"

#include <dirent.h>
#include <dlfcn.h>
#include <perf/perf_dlfilter.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int filter_function(void *data, const struct perf_dlfilter_sample *sample, void *ctx);

struct dlfilter {
	void *library;
	void *data; /* the filter's own */
	struct session *session;
	struct resolver *resolver;
	char **arguments;
	int argument_count;
	filter_function *event, *event_early;
	int (*stop)(void *data, void *ctx);
	char *name;
	/* Of the sample that it is asked about: */
	const struct language_sample *at; /* NULL outside */
	bool early;
	struct perf_dlfilter_al ip, addr; /* sym and dso NULL, size 0: not resolved yet */
	uint8_t instruction[SAMPLED_INSTRUCTION_MAX];
};

/* ---- what it can ask ---- */

/* What a filter is told of a place. Texts are the session's, so that al_cleanup() has nothing to do; what isn't known stays as it is in
 * `ret`. */
static void describe(const struct dlfilter *filter, const struct frame *frame, struct perf_dlfilter_al *ret)
{
	const struct arch *arch = arch_find(filter->session->machine->arch);
	ret->addr = frame->dso_addr;
	ret->is_kernel_ip = frame->ip >= filter->session->machine->kernel_start;
	if (frame->symbol) {
		ret->sym = frame->symbol->name;
		ret->symoff = (uint32_t)(frame->dso_addr - frame->symbol->start);
		ret->sym_start = frame->symbol->start;
		ret->sym_end = frame->symbol->end;
		ret->sym_binding = frame->symbol->binding;
	}
	if (frame->map) {
		struct dso *dso = frame->map->dso;
		ret->dso = dso->kind == DSO_KERNEL ? dso->script_name : dso->name;
		ret->is_64_bit = !arch || arch->is_64bit;
		ret->buildid = dso->build_id.data;
		ret->buildid_size = dso->build_id.size;
	}
}

/* Where the sample was taken, resolved anew. */
static void frame_of_sample(const struct dlfilter *filter, struct frame *ret)
{
	const struct language_sample *at = filter->at;
	sample_resolve(filter->resolver, at->thread, at->sample->cpumode, at->sample->ip, at->record->model_time, ret);
}

/* Where the sample was taken. The same structure each time until the next sample, resolved when it is first asked for. NULL outside of a
 * sample. */
static const struct perf_dlfilter_al *resolve_ip(void *context)
{
	struct dlfilter *filter = context;
	struct frame frame;
	if (!filter->at)
		return NULL;
	if (!filter->ip.size) {
		frame_of_sample(filter, &frame);
		filter->ip.size = sizeof(filter->ip);
		filter->ip.comm = untrusted_raw(thread_comm(filter->at->thread, filter->at->record->model_time));
		describe(filter, &frame, &filter->ip);
	}
	return &filter->ip;
}

/* Whether the event's addresses are of data or code that may have a symbol, and were recorded. */
static bool has_symbol_of_address(const struct language_sample *at)
{
	const struct event_attr *attr = &at->record->event->attr;
	return attr->sample_type & PERF_SAMPLE_ADDR && sample_addr_is_symbol(attr);
}

/* An address as the sampled thread saw it at that time. */
static void resolve_at(const struct dlfilter *filter, uint64_t address, struct frame *ret)
{
	const struct language_sample *at = filter->at;
	sample_resolve_data(filter->resolver, at->thread, at->sample->cpumode, address, at->record->model_time, ret);
}

/* Where the sample's data address is; NULL for events whose addresses have no symbols, too. */
static const struct perf_dlfilter_al *resolve_addr(void *context)
{
	struct dlfilter *filter = context;
	struct frame frame;
	if (!filter->at || !has_symbol_of_address(filter->at))
		return NULL;
	if (!filter->addr.size) {
		resolve_at(filter, filter->at->sample->addr, &frame);
		filter->addr.size = sizeof(filter->addr);
		describe(filter, &frame, &filter->addr);
	}
	return &filter->addr;
}

/* The words behind --dlarg, owned by whoever has opened the filter; also while it starts. */
static char **arguments_of(void *context, int *ret_count)
{
	const struct dlfilter *filter = context;
	*ret_count = filter->argument_count;
	return filter->arguments;
}

/* The caller's structure may be an older, shorter one. */
static __s32 resolve_address(void *context, __u64 address, struct perf_dlfilter_al *ret)
{
	const struct dlfilter *filter = context;
	struct perf_dlfilter_al found = {0};
	struct frame frame;
	if (!filter->at || !ret || ret->size < offsetof(struct perf_dlfilter_al, filtered))
		return -1;
	resolve_at(filter, address, &frame);
	if (!frame.map)
		return -1;
	describe(filter, &frame, &found);
	found.size = ret->size < sizeof(found) ? ret->size : sizeof(found);
	memcpy(ret, &found, found.size);
	return 0;
}

/* The bytes are the filter's until it asks again; NULL and length 0 where there is no code. */
static const __u8 *instruction_of_sample(void *context, __u32 *ret_length)
{
	struct dlfilter *filter = context;
	struct frame frame;
	*ret_length = 0;
	if (!filter->at)
		return NULL;
	frame_of_sample(filter, &frame);
	*ret_length = (uint32_t)sampled_code_instruction(filter->resolver, &frame, filter->instruction);
	return *ret_length ? filter->instruction : NULL;
}

/* The file as debug information names it, owned by the resolver; NULL where nobody knows it. */
static const char *source_of_sample(void *context, __u32 *ret_line)
{
	const struct dlfilter *filter = context;
	struct frame frame;
	*ret_line = 0;
	if (!filter->at)
		return NULL;
	frame_of_sample(filter, &frame);
	const struct code_function *function = frame.map ? source_find(filter->resolver, &frame, false) : NULL;
	if (!function || !function->file)
		return NULL;
	*ret_line = function->line;
	return function->file;
}

/* The interface has no const: a filter must not write to it. */
static struct perf_event_attr *attr_of_sample(void *context)
{
	const struct dlfilter *filter = context;
	return filter->at ? (struct perf_event_attr *)(uintptr_t)&filter->at->record->event->attr : NULL;
}

/* Returns how many of the `length` bytes from `ip` on there are, -1 = none. */
static __s32 object_code(void *context, __u64 ip, void *buffer, __u32 length)
{
	const struct dlfilter *filter = context;
	struct frame frame;
	if (!filter->at)
		return -1;
	resolve_at(filter, ip, &frame);
	size_t size = frame.map ? sampled_code_read(filter->resolver, &frame, length, buffer) : 0;
	return size ? (__s32)size : -1;
}

/* What resolve_address() fills belongs to the session. */
static void al_cleanup(void *context, struct perf_dlfilter_al *al)
{
}

static const struct perf_dlfilter_fns functions = {
	.resolve_ip = resolve_ip,
	.resolve_addr = resolve_addr,
	.args = arguments_of,
	.resolve_address = resolve_address,
	.insn = instruction_of_sample,
	.srcline = source_of_sample,
	.attr = attr_of_sample,
	.object_code = object_code,
	.al_cleanup = al_cleanup,
};

/* ---- what it is told ---- */

/* Pointers lead into the record, valid during the call. */
static void fill_sample(const struct language_sample *at, struct perf_dlfilter_sample *ret)
{
	const struct sample *sample = at->sample;
	*ret = (struct perf_dlfilter_sample){
		.size = sizeof(*ret),
		LANGUAGE_SAMPLE_MEMBERS(at),
		.ins_lat = sample->ins_lat,
		.p_stage_cyc = sample->p_stage_cyc,
		.addr_correlates_sym = has_symbol_of_address(at),
		.raw_data = sample->raw,
		.brstack_nr = sample->branch_count,
		.brstack = (const struct perf_branch_entry *)sample->branches,
		.raw_callchain_nr = sample->chain_count,
		.raw_callchain = (const __u64 *)sample->chain,
		.event = at->record->event->name,
		.machine_pid = (__s32)sample->guest.machine_pid,
		.vcpu = (__s32)sample->guest.vcpu,
	};
}

/* Answers below 0 are errors of the filter. */
struct error *dlfilter_passes(struct dlfilter *filter, const struct language_sample *at, bool early, bool *ret_keep)
{
	filter_function *function = early ? filter->event_early : filter->event;
	struct perf_dlfilter_sample sample;
	*ret_keep = true;
	if (!function)
		return NULL;
	fill_sample(at, &sample);
	filter->at = at;
	filter->ip = filter->addr = (struct perf_dlfilter_al){0};
	int answer = function(filter->data, &sample, filter);
	filter->at = NULL;
	*ret_keep = !answer;
	return answer < 0 ? error_new("the filter %s ended with error %d", filter->name, answer) : NULL;
}

/* ---- life ---- */

/* A bare name is looked for here, then among the installed ones, then by the linker; dlerror() tells why there is none. */
static void *load(const struct dlfilter_setup *setup)
{
	cleanup_free char *here = mem_printf("./%s", setup->file), *installed = mem_printf("%s/%s", setup->folder, setup->file);
	bool bare = !strchr(setup->file, '/');
	if (bare && access(here, R_OK) == 0)
		return dlopen(here, RTLD_NOW);
	if (bare && access(installed, R_OK) == 0)
		return dlopen(installed, RTLD_NOW);
	return dlopen(setup->file, RTLD_NOW);
}

/* The table of functions is filled before start() runs, which may use it. */
struct error *dlfilter_open(const struct dlfilter_setup *setup, struct dlfilter **ret)
{
	void *library = load(setup);
	if (!library)
		return error_new("cannot load the filter %s: %s", setup->file, dlerror());
	struct dlfilter *filter = mem_zalloc(sizeof(*filter));
	int (*start)(void **data, void *ctx);
	*filter = (struct dlfilter){.library = library,
				    .session = setup->session,
				    .resolver = setup->resolver,
				    .arguments = setup->arguments,
				    .argument_count = setup->argument_count,
				    .name = mem_strdup(setup->file)};
	*(void **)&filter->event = dlsym(library, "filter_event");
	*(void **)&filter->event_early = dlsym(library, "filter_event_early");
	*(void **)&filter->stop = dlsym(library, "stop");
	*(void **)&start = dlsym(library, "start");
	struct perf_dlfilter_fns *table = dlsym(library, "perf_dlfilter_fns");
	if (table)
		*table = functions;
	struct error *error = NULL;
	if (!filter->event && !filter->event_early)
		error = error_new("%s is not a filter: it has neither filter_event() nor filter_event_early()", setup->file);
	int failed = !error && start ? start(&filter->data, filter) : 0;
	if (failed)
		error = error_new("the filter %s failed to start: error %d", setup->file, failed);
	if (error) {
		filter->stop = NULL;
		error_free(dlfilter_close(filter));
		return error;
	}
	*ret = filter;
	return NULL;
}

/* stop() may fail, too; everything is freed all the same. */
struct error *dlfilter_close(struct dlfilter *filter)
{
	if (!filter)
		return NULL;
	int failed = filter->stop ? filter->stop(filter->data, filter) : 0;
	struct error *error = failed ? error_new("the filter %s ended with error %d", filter->name, failed) : NULL;
	dlclose(filter->library);
	free(filter->name);
	free(filter);
	return error;
}

/* One line, and with `verbose` the long description below it. Loading runs the constructors of the library: these are installed ones. */
static void list_one(const char *folder, const char *name, bool verbose, struct strbuf *out)
{
	cleanup_free char *path = mem_printf("%s/%s", folder, name);
	void *library = dlopen(path, RTLD_NOW);
	if (!library)
		return;
	const char *(*describe_filter)(const char **long_description), *more = NULL;
	*(void **)&describe_filter = dlsym(library, "filter_description");
	const char *text = describe_filter ? describe_filter(&more) : NULL;
	strbuf_printf(out, "  %-36s %s\n", name, text ? text : "");
	if (verbose && more)
		strbuf_printf(out, "%s\n", more);
	dlclose(library);
}

/* By name. What can't be loaded, as it needs a library that isn't there, is left out. */
void dlfilter_list(const char *folder, bool verbose, struct strbuf *out)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);
	strbuf_add_str(out, "List of available dlfilters:\n");
	for (int i = 0; i < count; i++) {
		if (str_ends_with(entries[i]->d_name, ".so"))
			list_one(folder, entries[i]->d_name, verbose, out);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}
