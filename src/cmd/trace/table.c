/* Which system calls there are and which are traced (table.h). */
#include "cmd/trace/table.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/catalog.h"
#include "event/tracepoint/tracepoint.h"
#include "kernel/tracing/tracefs.h"

#include <string.h>

/* ---- descriptions ---- */

static bool is_argument(const struct tracepoint_field *field)
{
	return !(field->flags & TRACEPOINT_FIELD_COMMON) && strcmp(field->name, "__syscall_nr");
}

/* Names and types as the kernel tells them for the tracepoint sys_enter_NAME. */
static bool describe_by_tracepoint(struct arena *arena, struct event_catalog *catalog, struct syscall_description *description)
{
	cleanup_free char *event = mem_printf("sys_enter_%s", description->name);
	struct tracepoint_formats *formats = tracepoint_formats_create();
	struct error *error = event_catalog_add_format(catalog, "syscalls", event, formats);
	const struct tracepoint *tracepoint = error ? NULL : tracepoint_by_name(formats, "syscalls", event);
	description->count = 0;
	for (size_t i = 0; tracepoint && i < tracepoint->field_count && description->count < SYSCALL_ARGUMENTS; i++)
		if (is_argument(&tracepoint->fields[i]))
			description->arguments[description->count++] =
				(struct syscall_argument_description){.name = arena_strdup(arena, tracepoint->fields[i].name),
								      .type = syscall_plain_type(tracepoint->fields[i].type)};
	error_free(error);
	tracepoint_formats_destroy(formats);
	return tracepoint != NULL;
}

static const struct syscall_description *describe_unknown(struct trace_table *table, struct event_catalog *catalog, const char *name,
							  unsigned int number)
{
	struct syscall_description *description = arena_zalloc(&table->arena, sizeof(*description));

	description->name = name ? name : arena_printf(&table->arena, "syscall_%u", number);
	description->result = syscall_plain_type("long");
	if (name && catalog && describe_by_tracepoint(&table->arena, catalog, description))
		return description;
	description->count = SYSCALL_ARGUMENTS;
	for (unsigned int i = 0; i < SYSCALL_ARGUMENTS; i++)
		description->arguments[i] = (struct syscall_argument_description){.name = arena_printf(&table->arena, "arg%u", i + 1),
										  .type = syscall_plain_type(NULL)};
	return description;
}

/* Calls of one table of numbers, from place `first` on. */
static void describe_abi(struct trace_table *table, enum syscall_abi abi, struct event_catalog *catalog, unsigned int first)
{
	for (unsigned int i = 0; i < SYSCALL_NUMBERS; i++) {
		const char *name = syscall_name(abi, i);
		const struct syscall_description *description = name ? syscall_describe(name) : NULL;
		table->calls[first + i] = description ? description : describe_unknown(table, catalog, name, i);
	}
}

void trace_table_init(struct trace_table *table, const char *machine, struct event_catalog *catalog)
{
	*table = (struct trace_table){.abi = syscall_abi_of(machine)};
	table->compat = syscall_abi_compat(machine);
	describe_abi(table, table->abi, catalog, 0);
	describe_abi(table, table->compat, NULL, TRACE_COMPAT);
	trace_table_select_all(table, true);
}

void trace_table_deinit(struct trace_table *table)
{
	arena_deinit(&table->arena);
}

/* ---- selection ---- */

void trace_table_select_all(struct trace_table *table, bool selected)
{
	for (unsigned int i = 0; i < TRACE_NUMBERS; i++)
		table->selected[i] = selected;
}

bool trace_table_any(const struct trace_table *table)
{
	for (unsigned int i = 0; i < TRACE_NUMBERS; i++)
		if (table->selected[i])
			return true;
	return false;
}

bool trace_table_select(struct trace_table *table, const char *word, bool selected)
{
	unsigned int class = *word == '%' ? syscall_class(word + 1) : 0;
	bool found = class, all = !strcmp(word, "all");

	for (unsigned int i = 0; i < TRACE_NUMBERS; i++) {
		const struct syscall_description *call = table->calls[i];
		if (!all && !(class ? (call->classes & class) != 0 : str_glob_match(word, call->name)))
			continue;
		table->selected[i] = selected;
		found = true;
	}
	return found;
}

/* ---- plans ---- */

static uint8_t copy_of(const struct syscall_argument_description *argument, enum syscall_memory_form form)
{
	switch (form) {
	case SYSCALL_FORM_NONE:
		break;
	case SYSCALL_FORM_PATH:
		return SYSCALL_COPY_PATH;
	case SYSCALL_FORM_STRING:
		return SYSCALL_COPY_STRING;
	case SYSCALL_FORM_BYTES:
		return argument->length_kind == SYSCALL_LENGTH_RESULT ? SYSCALL_COPY_RETURNED : SYSCALL_COPY_BYTES;
	case SYSCALL_FORM_FIXED:
		return argument->length_kind == SYSCALL_LENGTH_ONE	? SYSCALL_COPY_FIXED
		       : argument->length_kind == SYSCALL_LENGTH_RESULT ? SYSCALL_COPY_COUNTED
									: SYSCALL_COPY_ARRAY;
	case SYSCALL_FORM_SOCKET:
		return argument->length_kind == SYSCALL_LENGTH_POINTED	? SYSCALL_COPY_SIZED
		       : argument->length_kind == SYSCALL_LENGTH_RESULT ? SYSCALL_COPY_COUNTED
									: SYSCALL_COPY_ARRAY;
	case SYSCALL_FORM_BITS:
		return SYSCALL_COPY_BITS;
	case SYSCALL_FORM_STRINGS:
		return SYSCALL_COPY_STRINGS;
	case SYSCALL_FORM_POINTERS:
		return SYSCALL_COPY_POINTERS;
	case SYSCALL_FORM_VECTOR:
		return SYSCALL_COPY_VECTOR;
	case SYSCALL_FORM_MESSAGE:
		return SYSCALL_COPY_MESSAGE;
	case SYSCALL_FORM_DIRENTS:
		return SYSCALL_COPY_DIRENTS;
	case SYSCALL_FORM_REQUEST:
		return SYSCALL_COPY_REQUEST;
	}
	return SYSCALL_COPY_NONE;
}

static uint8_t when_of(const struct syscall_argument_description *argument, bool replaces)
{
	if (replaces)
		return SYSCALL_AT_ENTRY;
	if (argument->direction == SYSCALL_FILLED)
		return SYSCALL_AT_EXIT_GOOD;
	return argument->direction == SYSCALL_CHANGED ? SYSCALL_AT_BOTH : SYSCALL_AT_EXIT;
}

static void plan_call(const struct syscall_description *description, struct syscall_plan *plan)
{
	unsigned int size, files = 0;

	plan->selected = SYSCALL_SELECTED;
	plan->never_exits = syscall_never_returns(description);
	plan->replaces = syscall_replaces(description);
	plan->returns_file = syscall_returns_file(description);
	plan->at_entry = plan->never_exits;
	for (unsigned int i = 0; i < description->count; i++) {
		const struct syscall_argument_description *argument = &description->arguments[i];
		struct syscall_argument *to = &plan->argument[i];
		enum syscall_memory_form form = syscall_memory_form(argument, &size);
		to->copy = copy_of(argument, form);
		to->when = when_of(argument, plan->replaces);
		to->length = (uint8_t)(form == SYSCALL_FORM_REQUEST ? 1 : argument->length);
		to->size = (uint16_t)size;
		if (syscall_is_file(argument) && files < 2)
			plan->files[files++] = (uint8_t)(i + 1);
		if (to->copy)
			plan->arguments = (uint8_t)(i + 1);
		plan->at_entry |= to->copy && to->when >= SYSCALL_AT_ENTRY;
	}
}

struct syscall_plan *trace_table_plans(const struct trace_table *table)
{
	struct syscall_plan *plans = mem_zalloc_array(SYSCALLS_NUMBERS, sizeof(*plans));

	for (unsigned int i = 0; i < TRACE_NUMBERS; i++)
		if (table->selected[i])
			plan_call(table->calls[i], &plans[i]);
		else if (syscall_replaces(table->calls[i]))
			plans[i] = (struct syscall_plan){.selected = SYSCALL_FOLLOWED, .replaces = 1};
	return plans;
}
