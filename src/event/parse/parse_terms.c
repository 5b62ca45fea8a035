/* Terms between slashes: reading them, and what each does to an event.
 *
 * A name is looked for in the table of general terms, then among the PMU's formats, then among its named events (whose text is terms again,
 * applied in place). A name without a value means 1. */
#include "event/parse/parse_internal.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "event/builtin.h"
#include "event/trace_pmus.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum term_kind {
	TERM_CONFIG, /* a whole config word: not for tracepoints */
	TERM_PERIOD,
	TERM_FREQ,
	TERM_U32, /* into an event field at `offset` */
	TERM_U64,
	TERM_STRING,
	TERM_BOOL,
	TERM_CHOICE,	 /* yes or no */
	TERM_CHOICE_NOT, /* the same with "no-" in front */
	TERM_NAME,
	TERM_CALLGRAPH,
	TERM_AUX_ACTION,
};

struct term_rule {
	const char *name;
	enum term_kind kind;
	size_t offset; /* in struct event */
	bool no_tracepoint;
};

#define FIELD(field) offsetof(struct event, field)
static const struct term_rule rules[] = {
	{"config", TERM_CONFIG, FIELD(attr.config), true},
	{"config1", TERM_CONFIG, FIELD(attr.config1), true},
	{"config2", TERM_CONFIG, FIELD(attr.config2), true},
	{"config3", TERM_CONFIG, FIELD(attr.config3), true},
	{"name", TERM_NAME, 0, true},
	{"period", TERM_PERIOD, 0, false},
	{"freq", TERM_FREQ, 0, true},
	{"branch_type", TERM_STRING, FIELD(branch_type), false},
	{"time", TERM_CHOICE, FIELD(time), false},
	{"call-graph", TERM_CALLGRAPH, FIELD(callgraph), false},
	{"stack-size", TERM_U32, FIELD(stack_size), false},
	{"max-stack", TERM_U32, FIELD(max_stack), false},
	{"inherit", TERM_CHOICE, FIELD(inherit), false},
	{"no-inherit", TERM_CHOICE_NOT, FIELD(inherit), false},
	{"overwrite", TERM_CHOICE, FIELD(overwrite), false},
	{"no-overwrite", TERM_CHOICE_NOT, FIELD(overwrite), false},
	{"nr", TERM_U64, FIELD(max_events), false},
	{"percore", TERM_BOOL, FIELD(percore), false},
	{"aux-output", TERM_BOOL, FIELD(aux_output), false},
	{"aux-action", TERM_AUX_ACTION, 0, false},
	{"aux-sample-size", TERM_U32, FIELD(aux_sample_size), false},
	{"metric-id", TERM_STRING, FIELD(metric_id), false},
};
#undef FIELD

struct term_names {
	const char **data;
	size_t len, cap;
};

static bool is_term_char(char c)
{
	return c && !strchr(",/=", c);
}

/* A value: up to ',' or '/', or between quotes. */
static struct error *parse_value(struct parser *parser, struct term *term)
{
	struct arena *arena = &parser->list->arena;

	term->value_at = parser->at;
	if (*parser->at == '\'' || *parser->at == '"') {
		const char *begin = parser->at + 1, *end = strchr(begin, *parser->at);
		if (!end)
			return parse_fail(parser, parser->at, "a second quote", "unterminated quoted value");
		term->value = arena_strndup(arena, begin, (size_t)(end - begin));
		parser->at = end + 1;
		return NULL;
	}
	const char *begin = parser->at;
	parser->at += strcspn(begin, ",/");
	if (parser->at == begin)
		return parse_fail(parser, begin, "a value", "nothing after '%s='", term->name);
	term->value = arena_strndup(arena, begin, (size_t)(parser->at - begin));
	return NULL;
}

static struct error *parse_term(struct parser *parser, struct term_list *ret)
{
	parser->at += strspn(parser->at, " \t\n");
	const char *begin = parser->at;
	while (is_term_char(*parser->at))
		parser->at++;
	if (parser->at == begin)
		return parse_fail(parser, begin, "NAME or NAME=VALUE", "missing term");
	struct term term = {.at = begin, .name = arena_strndup(&parser->list->arena, begin, (size_t)(parser->at - begin))};
	term.value_at = begin;
	if (*parser->at == '=') {
		parser->at++;
		struct error *error = parse_value(parser, &term);
		if (error)
			return error;
	}
	vec_push(&ret->terms, term);
	return NULL;
}

struct error *parse_terms(struct parser *parser, struct term_list *ret)
{
	const char *open = parser->at;

	if (*open != '/')
		return NULL;
	ret->present = true;
	parser->at++;
	if (*parser->at == '/') {
		parser->at++;
		return NULL;
	}
	for (;;) {
		struct error *error = parse_term(parser, ret);
		if (error)
			return error;
		if (*parser->at == '/') {
			parser->at++;
			return NULL;
		}
		if (*parser->at != ',')
			return parse_fail(parser, parser->at, "',' and another term, or '/'", "missing '/' after the terms");
		parser->at++;
	}
}

static struct error *term_number(struct parser *parser, const struct term *term, uint64_t max, uint64_t *ret)
{
	*ret = 1;
	if (term->value && !parse_number(term->value, ret))
		return parse_fail(parser, term->value_at, "a number", "invalid number as value of '%s'", term->name);
	if (*ret > max)
		return parse_fail(parser, term->value_at, NULL, "the value of '%s' is too large; the maximum is %#llx", term->name,
				  (unsigned long long)max);
	return NULL;
}

static struct error *apply_number(struct parser *parser, struct event *event, const struct term_rule *rule, const struct term *term)
{
	uint64_t value;
	uint64_t max = rule->kind == TERM_U32 ? UINT32_MAX : rule->kind >= TERM_BOOL ? 1 : UINT64_MAX;
	struct error *error = term_number(parser, term, max, &value);
	void *field = (char *)event + rule->offset;

	if (error)
		return error;
	switch (rule->kind) {
	case TERM_CONFIG:
	case TERM_U64:
		*(uint64_t *)field = value;
		break;
	case TERM_U32:
		*(uint32_t *)field = (uint32_t)value;
		break;
	case TERM_BOOL:
		*(bool *)field = value;
		break;
	case TERM_CHOICE:
		*(enum event_choice *)field = value ? EVENT_YES : EVENT_NO;
		break;
	case TERM_CHOICE_NOT:
		*(enum event_choice *)field = value ? EVENT_NO : EVENT_YES;
		break;
	default: /* TERM_PERIOD, TERM_FREQ */
		event->attr.sample_period = value;
		event->attr.freq = rule->kind == TERM_FREQ;
		event->period_given = true;
	}
	return NULL;
}

static struct error *apply_string(struct parser *parser, struct event *event, const struct term_rule *rule, const struct term *term)
{
	static const char *const graphs[] = {"auto", "fp", "dwarf", "lbr", "no"};

	if (!term->value)
		return parse_fail(parser, term->at, "a value, as in name=value", "'%s' requires a value", term->name);
	if (rule->kind == TERM_NAME) {
		event->name = term->value;
		return NULL;
	}
	*(const char **)((char *)event + rule->offset) = term->value;
	if (rule->kind != TERM_CALLGRAPH)
		return NULL;
	event->callgraph_given = true;
	for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++)
		if (!strcmp(term->value, graphs[i]))
			return NULL;
	return parse_fail(parser, term->value_at, "auto, fp, dwarf, lbr or no", "unknown call graph type '%s'", term->value);
}

static struct error *apply_aux_action(struct parser *parser, struct event *event, const struct term *term)
{
	static const char *const ACTIONS[] = {"start-paused", "pause", "resume"}; /* bits of enum event_aux_action */

	for (uint32_t i = 0; term->value && i < sizeof(ACTIONS) / sizeof(ACTIONS[0]); i++)
		if (!strcmp(term->value, ACTIONS[i])) {
			event->aux_action = 1u << i;
			return NULL;
		}
	return parse_fail(parser, term->value_at, "start-paused, pause or resume", "unknown action of 'aux-action'");
}

static struct error *apply_rule(struct parser *parser, struct event *event, const struct term_rule *rule, const struct term *term)
{
	if (rule->kind == TERM_STRING || rule->kind == TERM_NAME || rule->kind == TERM_CALLGRAPH)
		return apply_string(parser, event, rule, term);
	if (rule->kind == TERM_AUX_ACTION)
		return apply_aux_action(parser, event, term);
	return apply_number(parser, event, rule, term);
}

static const struct term_rule *find_rule(const char *name)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strcmp(rules[i].name, name))
			return &rules[i];
	return NULL;
}

static uint64_t *config_word(struct event_attr *attr, uint32_t word)
{
	return word == 0 ? &attr->config : word == 1 ? &attr->config1 : word == 2 ? &attr->config2 : &attr->config3;
}

static void set_format(struct event *event, const struct pmu_format *format, uint64_t value)
{
	uint64_t *word = config_word(&event->attr, format->word);

	for (unsigned int bit = 0; bit < 64; bit++) {
		uint64_t mask = 1ull << bit;
		if (!(format->mask & mask))
			continue;
		*word = (*word & ~mask) | (value & 1 ? mask : 0);
		value >>= 1;
	}
}

static struct error *apply_format(struct parser *parser, struct event *event, const struct pmu_format *format, const struct term *term)
{
	unsigned int bits = (unsigned int)__builtin_popcountll(format->mask);
	uint64_t value;
	struct error *error = term_number(parser, term, UINT64_MAX >> (64 - bits), &value);

	if (!error)
		set_format(event, format, value);
	return error;
}

/* "r1a8", "r0x1a8": the whole config. */
static bool is_raw(const struct term *term, uint64_t *ret)
{
	return !term->value && term->name[0] == 'r' && number_parse_hex(term->name + 1, ret);
}

/* The value that the user gave for a parameter "name=?" of a named event. */
static const struct term *find_term(const struct term_list *terms, const char *name)
{
	for (size_t i = 0; terms && i < terms->terms.len; i++)
		if (!strcmp(terms->terms.data[i].name, name) && terms->terms.data[i].value)
			return &terms->terms.data[i];
	return NULL;
}

/* Applies the text behind a named event: terms, too, whose place in a message is that of the name. */
static struct error *apply_alias(struct parser *parser, struct event *event, const struct pmu *pmu, const struct pmu_alias *alias,
				 const struct term *term, const struct term_list *given)
{
	cleanup_free char *text = mem_printf("/%s/", alias->terms);
	struct parser inner = {.list = parser->list, .catalog = parser->catalog, .text = text, .at = text};
	struct term_list terms = {0};
	struct error *error = parse_terms(&inner, &terms);

	for (size_t i = 0; !error && i < terms.terms.len; i++) {
		struct term *part = &terms.terms.data[i];
		part->at = part->value_at = term->at;
		const struct pmu_format *format = pmu_format(pmu, part->name);
		if (part->value && !strcmp(part->value, "?")) {
			if (!find_term(given, part->name))
				error = parse_fail(parser, term->at, NULL, "the event '%s' requires a value for '%s'", term->name,
						   part->name);
		} else if (format) {
			error = apply_format(parser, event, format, part);
		} else if (find_rule(part->name)) {
			error = apply_rule(parser, event, find_rule(part->name), part);
		}
	}
	vec_deinit(&terms.terms);
	if (alias->unit)
		event->unit = arena_strdup(&parser->list->arena, alias->unit);
	event->scale = alias->scale;
	event->per_package = alias->per_package;
	event->snapshot = alias->snapshot;
	return error;
}

static void add_term_names(const struct event *event, const struct pmu *pmu, struct term_names *names)
{
	for (size_t i = 0; pmu && i < pmu->formats.len; i++)
		vec_push(names, pmu->formats.data[i].name);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!rules[i].no_tracepoint || event->attr.type != PERF_TYPE_TRACEPOINT)
			vec_push(names, rules[i].name);
	for (size_t i = 0; pmu && i < pmu->aliases.len; i++)
		vec_push(names, pmu->aliases.data[i].name);
}

/* The nearest name that could stand there; without one, all of them, as long as there aren't too many. */
static struct error *unknown_term(struct parser *parser, const struct event *event, const struct pmu *pmu, const struct term *term)
{
	enum { SHOWN = 60 };
	struct term_names names = {0};
	struct strbuf hint = {0};

	add_term_names(event, pmu, &names);
	const char *nearest = str_nearest(term->name, names.data, names.len);
	bool all = !nearest || !strcmp(nearest, term->name); /* a name of its own may be wrong here: cycles/mem-loads=3/ */
	if (!all)
		strbuf_printf(&hint, "did you mean '%s'?", nearest);
	for (size_t i = 0; all && i < names.len && i < SHOWN; i++)
		strbuf_printf(&hint, "%s%s", i ? ", " : "the terms are: ", names.data[i]);
	if (all && names.len > SHOWN)
		strbuf_printf(&hint, " …; perf list --unit %s shows all", pmu ? pmu->name : "cpu");
	vec_deinit(&names);
	struct error *error =
		parse_fail(parser, term->at, strbuf_str(&hint), pmu ? "unknown term '%s' for the PMU '%s'" : "unknown term '%s'",
			   term->name, pmu ? pmu->name : "");
	strbuf_deinit(&hint);
	return error;
}

/* "@NAME": where a hardware tracer (CoreSight) sends its stream. The driver wants a hash of the name in its format "sinkid". */
static struct error *apply_sink(struct parser *parser, struct event *event, const struct pmu *pmu, const struct term *term)
{
	const struct pmu_format *format = pmu_format(pmu, "sinkid");
	uint64_t hash;

	if (!format || term->value)
		return parse_fail(parser, term->at, NULL, "the driver of the PMU '%s' does not support settings with '@'", pmu->name);
	if (!pmu_sink(pmu, term->name + 1, &hash))
		return parse_fail(parser, term->at, "the names are listed in the PMU's directory 'sinks' in sysfs",
				  "no trace sink '%s' on this machine", term->name + 1);
	set_format(event, format, hash);
	return NULL;
}

/* A generic event of one kind of cores, which the PMU doesn't list itself: cpu_core/instructions/, cpu_atom/LLC-loads/. */
static bool apply_generic(struct event *event, const struct pmu *pmu, const struct term *term)
{
	size_t len = strlen(term->name);
	const struct builtin_event *builtin = builtin_find(term->name, len);
	uint64_t config, of_pmu = event->core_kind ? (uint64_t)pmu->type << PMU_TYPE_SHIFT : 0;

	if (!pmu->is_core || term->value)
		return false;
	if (builtin && builtin->type == PERF_TYPE_HARDWARE)
		config = builtin->config;
	else if (builtin || !builtin_find_cache(term->name, len, &config))
		return false;
	event->attr.type = builtin ? PERF_TYPE_HARDWARE : PERF_TYPE_HW_CACHE;
	event->attr.config = config | of_pmu;
	return true;
}

static struct error *apply_pmu_term(struct parser *parser, struct event *event, const struct pmu *pmu, const struct term *term,
				    const struct term_list *terms)
{
	const struct pmu_format *format = pmu_format(pmu, term->name);
	const struct pmu_alias *alias = term->value ? NULL : pmu_alias(pmu, term->name);
	uint64_t config;

	if (alias)
		return apply_alias(parser, event, pmu, alias, term, terms);
	if (format)
		return apply_format(parser, event, format, term);
	if (term->name[0] == '@')
		return apply_sink(parser, event, pmu, term);
	if (is_raw(term, &config))
		event->attr.config = config;
	else if (!apply_generic(event, pmu, term))
		return unknown_term(parser, event, pmu, term);
	return NULL;
}

static struct error *apply_term(struct parser *parser, struct event *event, const struct pmu *pmu, const struct term *term,
				const struct term_list *terms)
{
	const struct term_rule *rule = find_rule(term->name);

	if (rule && rule->no_tracepoint && !pmu && event->attr.type == PERF_TYPE_TRACEPOINT)
		rule = NULL;
	if (!rule)
		return pmu ? apply_pmu_term(parser, event, pmu, term, terms) : unknown_term(parser, event, pmu, term);
	return apply_rule(parser, event, rule, term);
}

/* Whole config words come first, then named events, then the terms beside them, which change parts of what those stand for. */
static int term_turn(const struct pmu *pmu, const struct term *term)
{
	const struct term_rule *rule = find_rule(term->name);
	uint64_t config;

	if (rule)
		return rule->kind == TERM_CONFIG ? 0 : 2;
	if (pmu && !term->value && pmu_alias(pmu, term->name))
		return 1;
	return is_raw(term, &config) ? 0 : 2;
}

/* What the PMU's events have before any term. */
static struct error *apply_defaults(struct parser *parser, struct event *event, const struct pmu *pmu)
{
	const struct term whole = {.at = parser->at, .value_at = parser->at, .name = pmu->name};
	const struct pmu_alias defaults = {.terms = trace_pmu_defaults(pmu, &parser->list->arena), .scale = 1};

	return defaults.terms ? apply_alias(parser, event, pmu, &defaults, &whole, NULL) : NULL;
}

struct error *parse_apply_terms(struct parser *parser, struct event *event, const struct pmu *pmu, const struct term_list *terms)
{
	struct error *failure = pmu ? apply_defaults(parser, event, pmu) : NULL;

	if (failure)
		return failure;
	for (int turn = 0; turn < 3; turn++) {
		for (size_t i = 0; i < terms->terms.len; i++) {
			const struct term *term = &terms->terms.data[i];
			struct error *error = term_turn(pmu, term) == turn ? apply_term(parser, event, pmu, term, terms) : NULL;
			if (error)
				return error;
		}
	}
	return NULL;
}
