/* Which system calls there are and which are traced (trace_table.h). */
#include "cmd/trace_table.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/catalog.h"
#include "event/tracepoint.h"
#include "kernel/tracefs.h"

#include <string.h>

/* ---- descriptions ---- */

static bool is_argument(const struct tracepoint_field *field)
{
	return !(field->flags & TRACEPOINT_FIELD_COMMON) && strcmp(field->name, "__syscall_nr");
}

/* Names and types as the kernel tells them for the tracepoint sys_enter_NAME. */
static bool describe_by_tracepoint(struct arena *arena, struct event_catalog *catalog, struct call_description *description)
{
	cleanup_free char *event = mem_printf("sys_enter_%s", description->name);
	struct tracepoint_formats *formats = tracepoint_formats_create();
	struct strbuf text = {0};
	const char *tracefs;
	struct error *error = event_catalog_tracefs(catalog, &tracefs);

	if (!error)
		error = tracefs_event_format(tracefs, "syscalls", event, &text);
	if (!error)
		error = tracepoint_formats_add(formats, "syscalls", strbuf_str(&text), text.len);
	const struct tracepoint *tracepoint = error ? NULL : tracepoint_by_name(formats, "syscalls", event);
	description->count = 0;
	for (size_t i = 0; tracepoint && i < tracepoint->field_count && description->count < CALL_ARGUMENTS; i++)
		if (is_argument(&tracepoint->fields[i]))
			description->arguments[description->count++] =
				(struct call_argument_description){.name = arena_strdup(arena, tracepoint->fields[i].name),
								   .type = call_plain_type(tracepoint->fields[i].type)};
	error_free(error);
	strbuf_deinit(&text);
	tracepoint_formats_destroy(formats);
	return tracepoint != NULL;
}

static const struct call_description *describe_unknown(struct trace_table *table, struct event_catalog *catalog, const char *name,
						       unsigned int number)
{
	struct call_description *description = arena_zalloc(&table->arena, sizeof(*description));

	description->name = name ? name : arena_printf(&table->arena, "syscall_%u", number);
	description->result = call_plain_type("long");
	if (name && catalog && describe_by_tracepoint(&table->arena, catalog, description))
		return description;
	description->count = CALL_ARGUMENTS;
	for (unsigned int i = 0; i < CALL_ARGUMENTS; i++)
		description->arguments[i] = (struct call_argument_description){.name = arena_printf(&table->arena, "arg%u", i + 1),
									       .type = call_plain_type(NULL)};
	return description;
}

static void describe_abi(struct trace_table *table, enum syscall_abi abi, struct event_catalog *catalog, unsigned int first)
{
	for (unsigned int i = 0; i < SYSCALL_NUMBERS; i++) {
		const char *name = syscall_name(abi, i);
		const struct call_description *description = name ? call_describe(name) : NULL;
		table->calls[first + i] = description ? description : describe_unknown(table, catalog, name, i);
	}
}

void trace_table_init(struct trace_table *table, const char *machine, struct event_catalog *catalog)
{
	*table = (struct trace_table){.abi = syscall_abi_of(machine)};
	table->compat = syscall_abi_compat(table->abi);
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
	unsigned int class = *word == '%' ? call_class(word + 1) : 0;
	bool found = class, all = !strcmp(word, "all");

	for (unsigned int i = 0; i < TRACE_NUMBERS; i++) {
		const struct call_description *call = table->calls[i];
		if (!all && !(class ? (call->classes & class) != 0 : str_glob_match(word, call->name)))
			continue;
		table->selected[i] = selected;
		found = true;
	}
	return found;
}

/* ---- plans ---- */

static uint8_t copy_of(const struct call_argument_description *argument, enum call_memory_form form)
{
	switch (form) {
	case CALL_FORM_NONE:
		break;
	case CALL_FORM_PATH:
		return CALL_COPY_PATH;
	case CALL_FORM_STRING:
		return CALL_COPY_STRING;
	case CALL_FORM_BYTES:
		return argument->length_kind == CALL_LENGTH_RESULT ? CALL_COPY_RETURNED : CALL_COPY_BYTES;
	case CALL_FORM_FIXED:
		return argument->length_kind == CALL_LENGTH_ONE	     ? CALL_COPY_FIXED
		       : argument->length_kind == CALL_LENGTH_RESULT ? CALL_COPY_COUNTED
								     : CALL_COPY_ARRAY;
	case CALL_FORM_SOCKET:
		return argument->length_kind == CALL_LENGTH_POINTED  ? CALL_COPY_SIZED
		       : argument->length_kind == CALL_LENGTH_RESULT ? CALL_COPY_COUNTED
								     : CALL_COPY_ARRAY;
	case CALL_FORM_BITS:
		return CALL_COPY_BITS;
	case CALL_FORM_STRINGS:
		return CALL_COPY_STRINGS;
	case CALL_FORM_POINTERS:
		return CALL_COPY_POINTERS;
	case CALL_FORM_VECTOR:
		return CALL_COPY_VECTOR;
	case CALL_FORM_MESSAGE:
		return CALL_COPY_MESSAGE;
	case CALL_FORM_DIRENTS:
		return CALL_COPY_DIRENTS;
	case CALL_FORM_REQUEST:
		return CALL_COPY_REQUEST;
	}
	return CALL_COPY_NONE;
}

static uint8_t when_of(const struct call_argument_description *argument, bool replaces)
{
	if (replaces)
		return CALL_AT_ENTRY;
	if (argument->direction == CALL_FILLED)
		return CALL_AT_EXIT_GOOD;
	return argument->direction == CALL_CHANGED ? CALL_AT_BOTH : CALL_AT_EXIT;
}

static void plan_call(const struct call_description *description, struct call_plan *plan)
{
	unsigned int size, files = 0;

	plan->selected = CALL_SELECTED;
	plan->never_exits = call_never_returns(description);
	plan->replaces = call_replaces(description);
	plan->returns_file = call_returns_file(description);
	plan->at_entry = plan->never_exits;
	for (unsigned int i = 0; i < description->count; i++) {
		const struct call_argument_description *argument = &description->arguments[i];
		struct call_argument *to = &plan->argument[i];
		enum call_memory_form form = call_memory_form(argument, &size);
		to->copy = copy_of(argument, form);
		to->when = when_of(argument, plan->replaces);
		to->length = (uint8_t)(form == CALL_FORM_REQUEST ? 1 : argument->length);
		to->size = (uint16_t)size;
		if (call_is_file(argument) && files < 2)
			plan->files[files++] = (uint8_t)(i + 1);
		if (to->copy)
			plan->arguments = (uint8_t)(i + 1);
		plan->at_entry |= to->copy && to->when >= CALL_AT_ENTRY;
	}
}

struct call_plan *trace_table_plans(const struct trace_table *table)
{
	struct call_plan *plans = mem_zalloc_array(SYSCALLS_NUMBERS, sizeof(*plans));

	for (unsigned int i = 0; i < TRACE_NUMBERS; i++)
		if (table->selected[i])
			plan_call(table->calls[i], &plans[i]);
		else if (call_replaces(table->calls[i]))
			plans[i] = (struct call_plan){.selected = CALL_FOLLOWED, .replaces = 1};
	return plans;
}
