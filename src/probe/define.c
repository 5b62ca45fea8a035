/* From places to what is written to the kernel:
 *
 *	p:probe_prog/weigh /tmp/prog:0x1310 name=+0(+0(%di)):string
 */
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "probe/kernel.h"
#include "probe/probe.h"

#include <stdlib.h>
#include <string.h>

void probe_definitions_deinit(struct probe_definitions *list)
{
	for (size_t i = 0; i < list->items.len; i++) {
		struct probe_definition *one = &list->items.data[i];
		free(one->group);
		free(one->event);
		free(one->base);
		free(one->line);
		free(one->place);
		free(one->arguments);
	}
	vec_deinit(&list->items);
}

char *probe_definition_text(const struct probe_definition *definition)
{
	return mem_printf("%c:%s/%s %s", definition->is_return ? 'r' : 'p', definition->group, definition->event, definition->line);
}

/* ---- arguments ---- */

struct argument_names {
	VEC(char *) items;
};

/* The name of an argument without a given one: the last member, else the variable, with its type behind it. */
static char *default_name(const struct probe_argument *argument)
{
	const char *name = argument->value;

	for (size_t i = 0; i < argument->steps.len; i++)
		if (argument->steps.data[i].member)
			name = argument->steps.data[i].member;
	if (argument->steps.len || !argument->cast)
		return mem_strdup(name);
	char *whole = mem_printf("%s_%s", name, argument->cast);
	for (char *c = whole; *c; c++)
		if (strchr("@/[]%", *c))
			*c = '_';
	return whole;
}

/* The kernel wants different names. */
static const char *add_name(struct argument_names *names, char *name)
{
	cleanup_free char *base = name;
	char *own = mem_strdup(base);
	unsigned int number = 1;

	for (size_t i = 0; i < names->items.len; i++)
		if (!strcmp(names->items.data[i], own)) {
			free(own);
			own = mem_printf("%s_%u", base, number++);
			i = (size_t)-1;
		}
	vec_push(&names->items, own);
	return own;
}

static struct error *fetch(struct probe_target *target, const struct probe_point *point, const struct debug_fetch_query *query,
			   struct strbuf *out)
{
	struct debug_fetch_query own = *query;
	uint64_t offset;

	if (target->debug) {
		if (!target->kernel && probe_target_offset(target, point->address, &offset))
			own.static_delta = offset - point->address;
		return debug_program_fetch(target->debug, point->address, &own, out);
	}
	if (target->kernel)
		return probe_kernel_fetch(target, point, query, out);
	return error_new_kind(
		ERROR_UNSUPPORTED,
		"'%s': variables require debug information, which %s does not have: compile it with -g, or install its debug package; "
		"registers (%%di) and memory (+8(%%sp)) are available without it",
		query->name, target->path);
}

static struct error *add_variable(struct probe_target *target, const struct probe_argument *argument, const struct probe_point *point,
				  struct argument_names *names, struct strbuf *out)
{
	VEC(struct debug_step) steps = {0};
	struct strbuf text = {0};

	for (size_t i = 0; i < argument->steps.len; i++) {
		const struct probe_step *step = &argument->steps.data[i];
		vec_push(&steps, (struct debug_step){step->member, step->arrow, step->index});
	}
	struct debug_fetch_query query = {argument->value, steps.data, steps.len, argument->cast, 0};
	struct error *error = fetch(target, point, &query, &text);
	if (!error)
		strbuf_printf(out, " %s=%s", add_name(names, argument->name ? mem_strdup(argument->name) : default_name(argument)),
			      strbuf_str(&text));
	strbuf_deinit(&text);
	vec_deinit(&steps);
	return error;
}

/* $vars and $params: all that can be had. */
static struct error *add_all(struct probe_target *target, bool only_parameters, const struct probe_point *point,
			     struct argument_names *names, struct strbuf *out)
{
	struct debug_variables variables = {0};
	size_t before = out->len;
	struct error *error = NULL;

	if (target->debug)
		debug_program_variables(target->debug, point->address, false, &variables);
	else
		probe_kernel_parameters(target, point, &variables);
	for (size_t i = 0; !error && i < variables.items.len; i++) {
		const struct debug_variable *one = &variables.items.data[i];
		struct probe_argument argument = {.kind = PROBE_ARGUMENT_VARIABLE, .value = one->name};
		if (one->available && (one->parameter || !only_parameters))
			error = add_variable(target, &argument, point, names, out);
	}
	debug_variables_deinit(&variables);
	if (!error && out->len == before)
		error = error_new("%s has no %s whose value is available there: optimised out, or none%s",
				  point->function ? point->function : "the place", only_parameters ? "parameter" : "variable",
				  target->debug ? "; -V --range shows where variables have values" : "");
	return error;
}

struct error *probe_arguments(struct probe_target *target, const struct probe_spec *spec, const struct probe_point *point,
			      struct strbuf *out)
{
	struct argument_names names = {0};
	struct error *error = NULL;

	for (size_t i = 0; !error && i < spec->arguments.len; i++) {
		const struct probe_argument *argument = &spec->arguments.data[i];
		if (argument->kind == PROBE_ARGUMENT_VARIABLE)
			error = add_variable(target, argument, point, &names, out);
		else if (argument->kind != PROBE_ARGUMENT_KERNEL)
			error = add_all(target, argument->kind == PROBE_ARGUMENT_PARAMS, point, &names, out);
		else if (argument->name)
			strbuf_printf(out, " %s=%s", add_name(&names, mem_strdup(argument->name)), argument->text);
		else
			strbuf_printf(out, " %s", argument->text);
	}
	for (size_t i = 0; i < names.items.len; i++)
		free(names.items.data[i]);
	vec_deinit(&names.items);
	return error;
}

/* ---- places ---- */

static struct error *add_place(const struct probe_target *target, const struct probe_spec *spec, const struct probe_point *point,
			       struct strbuf *out)
{
	uint64_t offset = point->address, counter;

	if (target->kernel)
		return probe_kernel_add_place(target, spec, point, out);
	if (!probe_target_offset(target, point->address, &offset) && !spec->is_address)
		return error_new("%s: address 0x%llx is not in a loaded part of the file", target->path,
				 (unsigned long long)point->address);
	strbuf_printf(out, "%s:0x%llx", target->shown, (unsigned long long)offset);
	if (point->counter && probe_target_offset(target, point->counter, &counter))
		strbuf_printf(out, "(0x%llx)", (unsigned long long)counter);
	return NULL;
}

static char *event_name(const struct probe_spec *spec, const struct probe_point *point)
{
	if (spec->event)
		return mem_printf("%.54s%s", spec->event, spec->is_return ? "__return" : "");
	if (spec->is_address)
		return mem_printf("abs_%llx", (unsigned long long)spec->offset);
	bool as_written = spec->function && !spec->provider && !strpbrk(spec->function, "*?[") && !strstr(spec->function, "::");
	cleanup_free char *name = probe_name_of(as_written ? spec->function : point->function ? point->function : "probe");
	if (spec->is_return)
		return mem_printf("%.54s__return", name);
	if (spec->has_line && spec->function)
		return mem_printf("%.50s_L%u", name, spec->line);
	return take_pointer(name);
}

/* The place as people know it: where it is in the function. */
static char *describe_place(const struct probe_spec *spec, const struct probe_point *point)
{
	struct strbuf out = {0};

	if (point->provider) {
		strbuf_printf(&out, "%%sdt_%s:%s", point->provider, point->function);
	} else if (point->function && (str_has_glob(spec->function ? spec->function : "*") || spec->pattern)) {
		strbuf_add_str(&out, point->function);
		if (point->address != point->entry)
			strbuf_printf(&out, "+%llu", (unsigned long long)(point->address - point->entry));
		strbuf_add_str(&out, spec->is_return ? "%return" : "");
	} else {
		probe_spec_add_place(&out, spec);
	}
	return strbuf_detach(&out);
}

static char *describe_arguments(const struct probe_spec *spec)
{
	struct strbuf out = {0};

	for (size_t i = 0; i < spec->arguments.len; i++) {
		const struct probe_argument *one = &spec->arguments.data[i];
		strbuf_printf(&out, "%s%s%s%s", out.len ? " " : "", one->name ? one->name : "", one->name ? "=" : "", one->text);
	}
	return strbuf_detach(&out);
}

static struct error *define(struct probe_target *target, const char *text, const struct probe_spec *spec, const struct probe_point *point,
			    struct probe_definition *ret)
{
	struct strbuf line = {0};
	struct error *error = add_place(target, spec, point, &line);

	if (!error)
		error = probe_arguments(target, spec, point, &line);
	if (!error && point->operands && !spec->arguments.len)
		probe_static_arguments(target, point, &line);
	if (error) {
		strbuf_deinit(&line);
		return error;
	}
	*ret = (struct probe_definition){
		.group = spec->group	   ? mem_strdup(spec->group)
			 : point->provider ? mem_printf("sdt_%s", point->provider)
					   : probe_target_group(target),
		.event = event_name(spec, point),
		.line = strbuf_detach(&line),
		.place = describe_place(spec, point),
		.arguments = describe_arguments(spec),
		.is_return = spec->is_return,
		.user = !target->kernel,
		.source = text,
	};
	return NULL;
}

struct error *probe_define(const struct probe_target_options *options, struct probe_target *target, const char *text,
			   struct probe_definitions *ret)
{
	struct probe_spec spec;
	struct probe_points points = {0};
	struct error *error = probe_spec_parse(text, &spec);

	if (error)
		return error;
	if (target->kernel && spec.provider)
		error = error_new_kind(ERROR_USAGE, "'%s': static tracepoints exist in programs only: give one with -x PROGRAM", text);
	if (!error)
		error = probe_find(options, target, &spec, &points);
	for (size_t i = 0; !error && i < points.items.len; i++) {
		struct probe_definition one;
		error = define(target, text, &spec, &points.items.data[i], &one);
		if (!error)
			vec_push(&ret->items, one);
	}
	vec_deinit(&points.items);
	probe_spec_deinit(&spec);
	return error;
}
