/* Scripts in Perl: what they are told of events. Calls of Perl itself are in the plugin (language/perl_plugin.h), which is loaded here.
 *
 * A tracepoint's function is SYSTEM::NAME, else trace_unhandled(); process_event() gets every event as packed bytes. */
#include "language/perl_plugin.h"

#include "analysis/script/sample_text.h"
#include "analysis/stack.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "event/tracepoint/print_values.h"
#include "event/tracepoint/tracepoint.h"
#include "language/language.h"
#include "language/sample_members.h"
#include "language/skeleton.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NS_PER_SEC = 1000000000 };

/* What is known of an event. */
struct perl_event {
	char *name;    /* "sched::sched_switch", NULL = no tracepoint */
	char *handler; /* the function to call, or NULL */
};

struct perl {
	struct language base;
	const struct perl_plugin *plugin;
	struct perl_host host;
	struct session *session;
	struct resolver *resolver;
	struct stack_options stack_options;
	struct stack stack;		    /* scratch */
	VEC(struct perl_value *) arguments; /* scratch */
	char *folder;			    /* of the script, as Perl writes it in front of file names */
	struct perl_event **events;	    /* by index; NULL until the event has a sample */
	size_t event_count;
	bool process_event;
	const struct language_sample *at; /* for common_*(); NULL outside of handlers */
};

/* The beginning of the structure that process_event() gets as $sample: what the tool of Linux 6.1 has there. */
struct packed_sample {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time, addr, id, stream_id, period, weight, transaction, instructions, cycles;
	uint32_t cpu, raw_size;
	uint64_t data_src, phys_addr, data_page_size, code_page_size, cgroup;
	uint32_t flags;
	uint16_t instruction_length;
	uint8_t cpumode;
	uint16_t misc;
};

/* What common_pc() and its like return; 0 outside of handlers and where the event lacks the field. */
static int64_t common_value(void *context, enum perl_common what)
{
	static const char *const names[] = {[PERL_COMMON_PC] = "common_preempt_count",
					    [PERL_COMMON_FLAGS] = "common_flags",
					    [PERL_COMMON_LOCK_DEPTH] = "common_lock_depth"};
	const struct perl *perl = context;
	const struct tracepoint *tracepoint = perl->at ? perl->at->record->event->tracepoint : NULL;
	const struct tracepoint_field *field = tracepoint ? tracepoint_field(tracepoint, names[what]) : NULL;
	return field ? (int64_t)tracepoint_read(field, perl->at->sample->raw, perl->at->sample->raw_size) : 0;
}

/* ---- calls ---- */

/* Takes over the value. */
static void add(struct perl *perl, struct perl_value *value)
{
	vec_push(&perl->arguments, value);
}

static void add_text(struct perl *perl, const char *text)
{
	add(perl, perl->plugin->new_text(text, strlen(text)));
}

/* Calls the function with what was added. */
static void call(struct perl *perl, const char *name)
{
	if (perl->plugin->call(name, perl->arguments.data, perl->arguments.len, &perl->base.status) == PERL_ENDED)
		perl->base.ended = true;
	perl->arguments.len = 0;
}

/* One of the functions that fill the tables of flag and symbol names; nothing happens where the script hasn't loaded the module that has
 * it. */
static void define(struct perl *perl, const char *function, const char *event, const struct print_values *values,
		   const struct print_value *value)
{
	if (perl->base.ended || !perl->plugin->has(function, NULL))
		return;
	add_text(perl, event);
	add_text(perl, values->field);
	if (value) {
		add(perl, perl->plugin->new_unsigned(value->number));
		add_text(perl, value->text);
	} else if (values->delimiter) {
		add_text(perl, values->delimiter);
	}
	call(perl, function);
}

struct definitions {
	struct perl *perl;
	const char *event;
};

/* The names that the module Perf::Trace::Core keeps. */
static void define_values(void *context, const struct print_values *values)
{
	const struct definitions *to = context;
	bool flags = values->delimiter;
	define(to->perl, flags ? "main::define_flag_field" : "main::define_symbolic_field", to->event, values, NULL);
	for (size_t i = 0; i < values->count; i++)
		define(to->perl, flags ? "main::define_flag_value" : "main::define_symbolic_value", to->event, values, &values->values[i]);
}

/* Decided once for each event: which function it calls, and the names of its values. */
static void plan_event(struct perl *perl, struct perl_event *plan, const struct tracepoint *tracepoint)
{
	plan->name = mem_printf("%s::%s", tracepoint->system, tracepoint->name);
	/* Subs of main belong to the script: no name in a recording may call them. */
	if (strcmp(tracepoint->system, "main") && language_is_identifier(tracepoint->system) && language_is_identifier(tracepoint->name) &&
	    perl->plugin->has(plan->name, perl->folder))
		plan->handler = mem_strdup(plan->name);
	else if (perl->plugin->has("main::trace_unhandled", NULL))
		plan->handler = mem_strdup("main::trace_unhandled");
	struct definitions definitions = {perl, plan->name};
	if (plan->handler)
		print_values_visit(tracepoint, define_values, &definitions);
}

/* A pipe may tell of more events later, so the table grows. */
static const struct perl_event *event_of(struct perl *perl, const struct event *event)
{
	if (event->index >= perl->event_count) {
		size_t count = perl->session->reader->events.events.len;
		perl->events = mem_resize(perl->events, count * sizeof(*perl->events));
		for (; perl->event_count < count; perl->event_count++)
			perl->events[perl->event_count] = NULL;
	}
	struct perl_event **plan = &perl->events[event->index];
	if (!*plan) {
		*plan = mem_zalloc(sizeof(**plan));
		if (event->tracepoint)
			plan_event(perl, *plan, event->tracepoint);
	}
	return *plan;
}

/* ---- values of a sample ---- */

/* {start, end, binding, name}: what a stack's entry says of its function. */
static struct perl_value *make_symbol(const struct perl *perl, const struct symbol *symbol)
{
	const struct perl_plugin *plugin = perl->plugin;
	struct perl_value *hash = plugin->new_hash();
	plugin->hash_set(hash, "start", plugin->new_unsigned(symbol->start));
	plugin->hash_set(hash, "end", plugin->new_unsigned(symbol->end));
	plugin->hash_set(hash, "binding", plugin->new_unsigned(symbol->binding));
	plugin->hash_set(hash, "name", plugin->new_text(symbol->name, strlen(symbol->name)));
	return hash;
}

/* An array of {ip, sym, dso}, innermost first; empty where the event has no call chains. */
static struct perl_value *make_callchain(struct perl *perl, const struct language_sample *at)
{
	const struct perl_plugin *plugin = perl->plugin;
	struct perl_value *array = plugin->new_array();
	struct stack *stack = &perl->stack;
	stack->frames.len = 0;
	if (at->record->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		stack_resolve(perl->resolver, perl->session->machine, at->thread, at->record->event, at->sample, at->record->model_time,
			      &perl->stack_options, stack);
	for (size_t i = 0; i < stack->frames.len; i++) {
		const struct frame *frame = &stack->frames.data[i];
		struct perl_value *hash = plugin->new_hash();
		plugin->hash_set(hash, "ip", plugin->new_unsigned(frame->ip));
		if (frame->symbol)
			plugin->hash_set(hash, "sym", make_symbol(perl, frame->symbol));
		if (frame->map)
			plugin->hash_set(hash, "dso", plugin->new_text(frame->map->dso->script_name, strlen(frame->map->dso->script_name)));
		plugin->array_add(array, hash);
	}
	return array;
}

/* Strings as text, up to their NUL; numbers by size and sign. */
static struct perl_value *make_field(const struct perl *perl, const struct tracepoint_field *field, const struct sample *sample)
{
	const struct perl_plugin *plugin = perl->plugin;
	size_t length;
	if (field->flags & TRACEPOINT_FIELD_STRING) {
		const char *text = untrusted_raw(tracepoint_read_string(field, sample->raw, sample->raw_size, &length));
		return plugin->new_text(text, strnlen(text, length));
	}
	/* Arrays of numbers are 0 for scripts of the kernel's tool. */
	if (field->size > sizeof(uint64_t))
		return plugin->new_unsigned(0);
	uint64_t value = tracepoint_read(field, sample->raw, sample->raw_size);
	if (field->size < sizeof(value))
		value &= (UINT64_C(1) << field->size * 8) - 1;
	return field->flags & TRACEPOINT_FIELD_SIGNED ? plugin->new_signed((int64_t)value) : plugin->new_unsigned(value);
}

/* Arguments: name, context, CPU, seconds, nanoseconds, pid, comm, stack, and the tracepoint's own fields in their order. */
static void call_tracepoint(struct perl *perl, const struct perl_event *plan, const struct language_sample *at)
{
	const struct perl_plugin *plugin = perl->plugin;
	const struct sample *sample = at->sample;
	const struct tracepoint *tracepoint = at->record->event->tracepoint;
	const struct tracepoint_field *pid = tracepoint_field(tracepoint, "common_pid");
	add_text(perl, plan->name);
	add(perl, plugin->new_signed((int64_t)(intptr_t)perl));
	add(perl, plugin->new_signed((int32_t)sample->cpu));
	add(perl, plugin->new_unsigned(sample->time / NS_PER_SEC));
	add(perl, plugin->new_unsigned(sample->time % NS_PER_SEC));
	add(perl, plugin->new_signed(pid ? (int32_t)tracepoint_read(pid, sample->raw, sample->raw_size) : (int32_t)sample->tid));
	add_text(perl, untrusted_raw(thread_comm(at->thread, at->record->model_time)));
	add(perl, make_callchain(perl, at));
	for (size_t i = 0; i < tracepoint->field_count; i++)
		if (!(tracepoint->fields[i].flags & TRACEPOINT_FIELD_COMMON))
			add(perl, make_field(perl, &tracepoint->fields[i], sample));
	call(perl, plan->handler);
}

/* Arguments: the record, the event's attr, the sample, its raw data, each as bytes that the script unpacks. */
static void call_process_event(struct perl *perl, const struct language_sample *at)
{
	const struct perl_plugin *plugin = perl->plugin;
	const struct sample *sample = at->sample;
	const struct event_attr *attr = &at->record->event->attr;
	const struct packed_sample packed = {LANGUAGE_SAMPLE_MEMBERS(at)};
	add(perl, plugin->new_text((const char *)sample->header, sample->header->size));
	add(perl, plugin->new_text((const char *)attr, sizeof(*attr)));
	add(perl, plugin->new_text((const char *)&packed, sizeof(packed)));
	add(perl, plugin->new_text(sample->raw_size ? sample->raw : NULL, sample->raw_size));
	call(perl, "main::process_event");
}

/* ---- life ---- */

/* A plugin belongs to one version of Perl, whose library it is linked to: libperl.so.5.36. */
static struct error *explain_plugin(const char *path, const char *why)
{
	const char *version = strstr(why, "libperl.so.");
	if (!version)
		return error_new_kind(ERROR_UNSUPPORTED, "Perl scripts require the plugin %s, which cannot be loaded: %s", path, why);
	version += strlen("libperl.so.");
	const int length = (int)strspn(version, "0123456789.");
	return error_new_kind(
		ERROR_UNSUPPORTED,
		"Perl scripts require Perl %.*s, for which the plugin %s was built (%s): install libperl%.*s, or write the script in "
		"Python",
		length, version, path, why, length, version);
}

/* The library stays loaded, and libperl with it. */
static struct error *load_plugin(const char *path, const struct perl_plugin **ret)
{
	/* Global: Perl's own extension modules refer to libperl's symbols. */
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		return explain_plugin(path, dlerror());
	const struct perl_plugin *(*entry)(void);
	*(void **)&entry = dlsym(library, "perf_perl_plugin");
	const struct perl_plugin *plugin = entry ? entry() : NULL;
	if (!plugin || plugin->version != PERL_PLUGIN_VERSION)
		return error_new_kind(ERROR_UNSUPPORTED, "the plugin %s does not match this perf; install both together", path);
	*ret = plugin;
	return NULL;
}

/* The interpreter ends before what it refers to is freed. */
static struct error *close_perl(struct language *language, int *ret_status)
{
	struct perl *perl = (struct perl *)language;
	*ret_status = perl->plugin->stop(perl->base.status);
	for (size_t i = 0; i < perl->event_count; i++) {
		if (!perl->events[i])
			continue;
		free(perl->events[i]->name);
		free(perl->events[i]->handler);
		free(perl->events[i]);
	}
	free(perl->events);
	free(perl->folder);
	stack_deinit(&perl->stack);
	vec_deinit(&perl->arguments);
	free(perl);
	return NULL;
}

/* A script that ends at its top level is no error: `ended` and `status` say so. */
static struct error *open_perl(const struct language_setup *setup, struct language **ret)
{
	const struct perl_plugin *plugin = NULL;
	if (access(setup->script, R_OK))
		return error_system(errno, "%s", setup->script);
	struct error *error = load_plugin(setup->perl_plugin, &plugin);
	if (error)
		return error;
	struct perl *perl = mem_zalloc(sizeof(*perl));
	const char *slash = strrchr(setup->script, '/'); /* without one, only the script's own file */
	perl->base.ops = &language_perl;
	perl->plugin = plugin;
	perl->session = setup->session;
	perl->resolver = setup->resolver;
	perl->stack_options = language_stack_options(setup);
	perl->folder = slash ? mem_strndup(setup->script, (size_t)(slash - setup->script) + 1) : mem_strdup(setup->script);
	perl->host = (struct perl_host){perl, common_value};
	perl->base.ended = plugin->start(setup->script, setup->arguments, &perl->host, &perl->base.status) == PERL_ENDED;
	perl->process_event = !perl->base.ended && plugin->has("main::process_event", NULL);
	*ret = &perl->base;
	return NULL;
}

/* A function without arguments, where the script has it. */
static struct error *call_plain(struct language *language, const char *name)
{
	struct perl *perl = (struct perl *)language;
	if (perl->plugin->has(name, NULL))
		call(perl, name);
	return NULL;
}

static struct error *begin(struct language *language)
{
	return call_plain(language, "main::trace_begin");
}

static struct error *end(struct language *language)
{
	return call_plain(language, "main::trace_end");
}

/* The tracepoint's function first, then process_event(); either may have ended the script. */
static struct error *process_sample(struct language *language, const struct language_sample *at)
{
	struct perl *perl = (struct perl *)language;
	const struct perl_event *plan = event_of(perl, at->record->event);
	perl->at = at;
	if (plan->handler && !perl->base.ended)
		call_tracepoint(perl, plan, at);
	if (perl->process_event && !perl->base.ended)
		call_process_event(perl, at);
	perl->at = NULL;
	return NULL;
}

/* The kernel tool's Perl scripts hear of samples alone. */
static struct error *process_record(struct language *language, const struct record *record)
{
	return NULL;
}

const struct language_ops language_perl = {
	.name = "perl",
	.title = "Perl",
	.suffix = "pl",
	.skeleton = skeleton_perl,
	.open = open_perl,
	.begin = begin,
	.sample = process_sample,
	.record = process_record,
	.end = end,
	.close = close_perl,
};
