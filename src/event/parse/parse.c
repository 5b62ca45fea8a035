/* The event grammar: lists, groups, and the kinds of events by the form of their name. A hand-written parser that reads each character
 * once; terms, modifiers and tracepoints have their own files. */
#include "event/parse/parse_internal.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "event/builtin.h"
#include "event/vendor.h"

#include <ctype.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

/* How much of the text an error shows around its place. */
enum { WINDOW_BEFORE = 60, WINDOW_AFTER = 40 };

struct error *parse_fail(const struct parser *parser, const char *at, const char *hint, const char *format, ...)
{
	size_t offset = (size_t)(at - parser->text), len = strlen(parser->text);
	size_t begin = offset > WINDOW_BEFORE ? offset - WINDOW_BEFORE : 0;
	size_t end = len - offset > WINDOW_AFTER ? offset + WINDOW_AFTER : len;
	struct strbuf message = {0}, before = {0};
	va_list args;

	va_start(args, format);
	strbuf_vprintf(&message, format, args);
	va_end(args);
	if (begin)
		strbuf_add_str(&before, "…");
	text_add_safe(&before, parser->text + begin, offset - begin);
	strbuf_printf(&message, "\n  %s", strbuf_str(&before));
	text_add_safe(&message, at, end - offset);
	strbuf_add_str(&message, end < len ? "…\n  " : "\n  ");
	strbuf_add_chars(&message, ' ', text_width(strbuf_str(&before), before.len));
	strbuf_printf(&message, hint ? "^ %s" : "^", hint);
	struct error *error = error_new_kind(ERROR_USAGE, "%s", strbuf_str(&message));
	strbuf_deinit(&message);
	strbuf_deinit(&before);
	return error;
}

static void skip_space(struct parser *parser)
{
	parser->at += strspn(parser->at, " \t\n");
}

char *parse_text(struct parser *parser, const char *begin, const char *end)
{
	return arena_strndup(&parser->list->arena, begin, (size_t)(end - begin));
}

static struct event *event_at(struct parser *parser, size_t index)
{
	return parser->list->events.data[index];
}

/* Gives the events from `first` on the text [begin, parser->at) as their name, unless a term named them. A name that several kinds of cores
 * share says which it is. */
static void name_events(struct parser *parser, size_t first, const char *begin)
{
	const char *text = parse_text(parser, begin, parser->at);

	for (size_t i = first; i < parser->list->events.len; i++) {
		struct event *event = event_at(parser, i);
		if (!event->name[0])
			event->name = text;
		if (event->core_kind && !strchr(event->name, '/'))
			event->name = arena_printf(&parser->list->arena, "%s/%s/", event->pmu_name, event->name);
	}
}

bool parse_number(const char *text, uint64_t *ret)
{
	while (text[0] == '0' && isdigit((unsigned char)text[1]))
		text++;
	return number_parse_u64(text, ret);
}

/* The length behind the '/' of mem:ADDR/LEN. */
static struct error *parse_breakpoint_length(struct parser *parser, uint64_t *ret)
{
	const char *digits = ++parser->at;

	parser->at += strspn(digits, "0123456789abcdefxABCDEFX");
	cleanup_free char *number = mem_strndup(digits, (size_t)(parser->at - digits));
	if (!parse_number(number, ret) || !*ret)
		return parse_fail(parser, digits, "1, 2, 4 or 8 bytes", "invalid breakpoint length");
	return NULL;
}

/* The letters behind the ':' of mem:ADDR:rw, as HW_BREAKPOINT_*. */
static struct error *parse_breakpoint_access(struct parser *parser, uint32_t *ret)
{
	for (parser->at++; *parser->at && strchr("rwx", *parser->at); parser->at++) {
		uint32_t bit = *parser->at == 'r' ? HW_BREAKPOINT_R : *parser->at == 'w' ? HW_BREAKPOINT_W : HW_BREAKPOINT_X;
		if (*ret & bit)
			return parse_fail(parser, parser->at, "each of r, w, x once", "'%c' is repeated", *parser->at);
		*ret |= bit;
	}
	return NULL;
}

/* mem:ADDR[/LEN][:ACCESS][/TERMS/] */
static struct error *parse_breakpoint(struct parser *parser, const char *begin)
{
	const char *digits = parser->at += 4;
	uint64_t addr, len = 0;
	uint32_t type = 0;
	struct term_list terms = {0};
	struct error *error = NULL;

	parser->at += strspn(parser->at, "0123456789abcdefxABCDEFX");
	cleanup_free char *number = mem_strndup(digits, (size_t)(parser->at - digits));
	if (!parse_number(number, &addr))
		return parse_fail(parser, digits, "an address, such as 0x4040a0", "missing address after 'mem:'");
	const char *short_name = *parser->at == '/' ? parse_text(parser, begin, parser->at) : "";
	if (*parser->at == '/' && !isalpha((unsigned char)parser->at[1]))
		error = parse_breakpoint_length(parser, &len);
	if (!error && *parser->at == ':' && parser->at[1] && strchr("rwx", parser->at[1]))
		error = parse_breakpoint_access(parser, &type);
	if (!error)
		error = parse_terms(parser, &terms);
	if (!error) {
		struct event *event = parse_add_event(parser, PERF_TYPE_BREAKPOINT, 0);
		event->name = short_name;
		event->attr.bp_addr = addr;
		event->attr.bp_type = type ? type : HW_BREAKPOINT_RW;
		event->attr.bp_len = len ? len : event->attr.bp_type == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
		event->attr.sample_period = 1;
		error = parse_apply_terms(parser, event, NULL, &terms);
	}
	vec_deinit(&terms.terms);
	return error;
}

/* Generic, cache and raw events; false: the name is none of them. */
static bool add_builtin(struct parser *parser, const char *name, size_t len)
{
	const struct builtin_event *builtin = builtin_find(name, len);
	uint64_t config;

	if (builtin && builtin->type == PERF_TYPE_HARDWARE) {
		parse_add_core_event(parser, builtin->type, builtin->config);
	} else if (builtin) {
		struct event *event = parse_add_event(parser, builtin->type, builtin->config);
		event->tool = builtin->tool;
		if (builtin->config == PERF_COUNT_SW_BPF_OUTPUT) {
			event->attr.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
			event->attr.sample_period = 1;
		}
	} else if (builtin_find_cache(name, len, &config)) {
		parse_add_core_event(parser, PERF_TYPE_HW_CACHE, config);
	} else if (name[0] == 'r' && number_parse_hex(name + 1, &config)) {
		parse_add_core_event(parser, PERF_TYPE_RAW, config);
	} else {
		return false;
	}
	return true;
}

static bool is_name_char(char c)
{
	return c && !strchr("/:,{} \t\n", c);
}

/* The end of a name that starts at `at`. [] may hold anything. */
static const char *name_end(const char *at)
{
	while (is_name_char(*at))
		at++;
	return at;
}

/* TYPE ":" CONFIG, both numbers; false: it is something else. */
static bool parse_numeric(struct parser *parser, const char *name)
{
	const char *begin = parser->at + 1, *end = name_end(begin);
	cleanup_free char *number = mem_strndup(begin, (size_t)(end - begin));
	uint64_t type, config;

	if (!parse_number(name, &type) || type > UINT32_MAX || !parse_number(number, &config))
		return false;
	parse_add_event(parser, (uint32_t)type, config);
	parser->at = end;
	return true;
}

/* The name of a vendor's event. Looked for last: names of PMUs and tracepoints need no library. */
static struct error *parse_vendor_name(struct parser *parser, const char *name, const struct term_list *terms, bool *ret_found)
{
	struct event *event = vendor_add(parser->list, parser->catalog, name);

	*ret_found = event != NULL;
	return event ? parse_apply_terms(parser, event, NULL, terms) : NULL;
}

/* NAME ":" EVENT: a tracepoint, or a vendor's event with its unit. */
static struct error *parse_system_event(struct parser *parser, const char *begin, const char *name)
{
	const char *event = parser->at + 1, *end = name_end(event);
	struct term_list terms = {0};

	parser->at = end;
	if (end == event)
		return parse_fail(parser, event, "the name of a tracepoint", "nothing after '%s:'", name);
	struct error *error = parse_terms(parser, &terms);
	bool found = false;
	if (!error && !parse_has_system(parser, name))
		error = parse_vendor_name(parser, parse_text(parser, begin, end), &terms, &found);
	if (!error && !found)
		error = parse_tracepoints(parser, begin, name, parse_text(parser, event, end), &terms);
	vec_deinit(&terms.terms);
	return error;
}

/* What follows the name of an event that needs no PMU: terms for all events from `first` on. */
static struct error *parse_builtin_terms(struct parser *parser, size_t first)
{
	struct term_list terms = {0};
	struct error *error = parse_terms(parser, &terms);

	for (size_t i = first; !error && i < parser->list->events.len; i++)
		error = parse_apply_terms(parser, event_at(parser, i), NULL, &terms);
	vec_deinit(&terms.terms);
	return error;
}

/* A PMU with its terms, or an event of a PMU. */
static struct error *parse_named(struct parser *parser, const char *begin, const char *name)
{
	struct term_list terms = {0};
	bool found = false;
	struct error *error = parse_terms(parser, &terms);

	if (!error && terms.present)
		error = parse_pmu(parser, begin, name, &terms, &found);
	else if (!error)
		error = parse_alias(parser, begin, name, &terms, &found);
	if (!error && !found)
		error = parse_vendor_name(parser, name, &terms, &found);
	if (!error && !found)
		error = terms.present ? parse_unknown_pmu(parser, begin, name) : parse_unknown_name(parser, begin, name);
	vec_deinit(&terms.terms);
	return error;
}

/* True when ':' or nothing and then only modifiers up to the event's end are next. */
static bool modifiers_follow(const char *at)
{
	if (*at == ':')
		at++;
	while (parse_is_modifier(*at))
		at++;
	return !is_name_char(*at) && *at != '/' && *at != ':';
}

static struct error *parse_event(struct parser *parser)
{
	const char *begin = parser->at, *end = name_end(begin);
	const char *name = parse_text(parser, begin, end);
	size_t first = parser->list->events.len;
	struct error *error;

	if (end == begin)
		return parse_fail(parser, begin, "an event, such as cycles, cpu-clock:u or sched:sched_switch",
				  *begin ? "expected an event instead of '%c'" : "missing event", *begin);
	if (str_starts_with(begin, "mem:")) {
		error = parse_breakpoint(parser, begin);
	} else {
		parser->at = end;
		bool builtin = add_builtin(parser, name, (size_t)(end - begin));
		if (builtin || (*end == ':' && parse_numeric(parser, name)))
			error = parse_builtin_terms(parser, first);
		else if (*end == ':' && !(modifiers_follow(end) && !str_has_glob(name)))
			error = parse_system_event(parser, begin, name);
		else
			error = parse_named(parser, begin, name);
	}
	for (size_t i = first; !error && i < parser->list->events.len; i++)
		if (event_at(parser, i)->attr.type == PERF_TYPE_TRACEPOINT && !event_at(parser, i)->tp_name)
			error = parse_tracepoint_number(parser, event_at(parser, i), begin);
	if (!error)
		error = parse_modifiers(parser, first, false);
	if (!error)
		name_events(parser, first, begin);
	return error;
}

static struct error *parse_group(struct parser *parser, const char *open)
{
	const char *name = parse_text(parser, parser->at, open);
	size_t first = parser->list->events.len;

	parser->at = open + 1;
	for (;;) {
		skip_space(parser);
		struct error *error = parse_event(parser);
		if (error)
			return error;
		skip_space(parser);
		if (*parser->at == '}')
			break;
		if (*parser->at != ',')
			return parse_fail(parser, parser->at, "',' or '}'", "missing '}' at the end of the group");
		parser->at++;
	}
	parser->at++;
	parse_make_groups(parser, first, name);
	return parse_modifiers(parser, first, true);
}

static struct error *parse_list(struct parser *parser)
{
	skip_space(parser);
	for (;;) {
		const char *open = name_end(parser->at);
		struct error *error = *open == '{' ? parse_group(parser, open) : parse_event(parser);
		if (error)
			return error;
		const char *end = parser->at;
		skip_space(parser);
		if (!*parser->at)
			return NULL;
		if (*parser->at == ',')
			parser->at++;
		else if (end == parser->at)
			return parse_fail(parser, parser->at, "',' and another event, or the end", "unexpected '%c'", *parser->at);
		skip_space(parser);
	}
}

struct error *event_parse(struct event_list *list, struct event_catalog *catalog, const char *text)
{
	struct parser parser = {.list = list, .catalog = catalog, .text = text, .at = text};
	size_t before = list->events.len;
	struct error *error = parse_list(&parser);

	if (error)
		list->events.len = before;
	return error;
}
