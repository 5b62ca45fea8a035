/* Which fields a line of `perf script` has: the table, -F, and what a recording's events allow.
 *
 * Each type of event has its set. -F either replaces sets ("comm,ip", "sw:comm,ip") or changes them ("+addr,-cpu", "trace:+period"). Then
 * the first event of each type decides what its type can show: what it hasn't sampled is dropped from the usual set, and is an error where
 * it was asked for. How the fields look is not told here but in the other script_*.c files. */
#include "analysis/script/internal.h"

#include "analysis/branch_counters.h"
#include "base/log.h"
#include "base/mem.h"

#include <linux/perf_event.h>
#include <string.h>

#define TYPE(type) (1u << SCRIPT_##type)
#define NOT_TRACEPOINT (~TYPE(TRACEPOINT))

const struct script_field_row script_field_table[SCRIPT_FIELD_COUNT] = {
#define PUTS(function) .put = (function)
#define PRINTS(function) .print = (function)
#define CHANGES .put = NULL
#define FIELD(identifier, n, bits, c, types, functions, h) \
	[SCRIPT_##identifier] = {.name = n, .sample_type = bits, .content = c, .not_types = types, functions, .help = h},
#include "analysis/script/fields.def"
#undef FIELD
#undef PUTS
#undef PRINTS
#undef CHANGES
};

#define BIT(field) SCRIPT_BIT(SCRIPT_##field)
#define USUAL (BIT(COMM) | BIT(TID) | BIT(CPU) | BIT(TIME) | BIT(PERIOD) | BIT(EVENT) | BIT(IP) | BIT(SYM) | BIT(SYMOFF) | BIT(DSO))

static const struct script_type_row {
	const char *prefix; /* of -F */
	const char *name;   /* in messages */
	uint64_t usual;
} type_table[SCRIPT_TYPE_COUNT] = {
	[SCRIPT_HARDWARE] = {"hw", "hardware", USUAL},
	[SCRIPT_SOFTWARE] = {"sw", "software", USUAL | BIT(BPF_OUTPUT)},
	[SCRIPT_TRACEPOINT] = {"trace", "tracepoint", BIT(COMM) | BIT(TID) | BIT(CPU) | BIT(TIME) | BIT(EVENT) | BIT(TRACE)},
	[SCRIPT_CACHE] = {"cache", "hardware cache", USUAL},
	[SCRIPT_RAW] = {"raw", "raw",
			USUAL | BIT(ADDR) | BIT(DATA_SRC) | BIT(WEIGHT) | BIT(INS_LAT) | BIT(PHYS_ADDR) | BIT(DATA_PAGE_SIZE) |
				BIT(CODE_PAGE_SIZE)},
	[SCRIPT_BREAKPOINT] = {"break", "breakpoint", USUAL},
	[SCRIPT_OTHER] = {"other", "other", USUAL},
	[SCRIPT_SYNTHETIC] = {"synth", "synthetic", (USUAL & ~BIT(PERIOD)) | BIT(SYNTH)},
};

/* PERF_TYPE_SYNTH of the kernel tool: no kernel counts such. */
static const uint32_t SYNTHETIC_TYPE = 1u << 31;

enum script_type script_type_of(const struct event *event)
{
	if (event->attr.type == SYNTHETIC_TYPE)
		return SCRIPT_SYNTHETIC;
	return event->attr.type < SCRIPT_OTHER ? (enum script_type)event->attr.type : SCRIPT_OTHER;
}

void script_fields_init(struct script_fields *fields)
{
	*fields = (struct script_fields){0};
	for (size_t i = 0; i < SCRIPT_TYPE_COUNT; i++)
		fields->shown[i] = type_table[i].usual;
}

/* -F, one word after the other. */
struct parse {
	struct script_fields *fields;
	int type;  /* -1: all that the field makes sense for */
	char mode; /* '=' replaces, '~' changes, 0 = not known yet */
};

static struct error *unknown_field(const char *name)
{
	struct strbuf names = {0};
	script_fields_list(&names);
	struct error *error = error_new_kind(ERROR_USAGE, "unknown field \"%s\"; the fields are %s", name, strbuf_str(&names));
	strbuf_deinit(&names);
	return error;
}

/* What is named for all types must be there. For one type, as for a type's usual set, what an event hasn't got is left out. */
static void apply_word(struct script_fields *fields, unsigned int type, uint64_t bit, bool remove, bool must)
{
	fields->chosen[type] |= bit != BIT(FLAGS); /* as the kernel's perf has it: this one leaves the rest as usual */
	if (remove) {
		fields->shown[type] &= ~bit;
		fields->asked[type] &= ~bit;
		fields->removed[type] |= bit;
	} else {
		fields->shown[type] |= bit;
		fields->asked[type] |= must ? bit : 0;
		fields->removed[type] &= ~bit;
	}
}

static struct error *parse_word(struct parse *parse, const char *word)
{
	char sign = *word == '+' || *word == '-' ? *word++ : 0;
	char mode = sign ? '~' : '=';
	if (parse->mode && parse->mode != mode)
		return error_new_kind(ERROR_USAGE,
				      "fields with + or - modify a set and fields without replace it; they cannot be combined");
	parse->mode = mode;
	size_t field = 0;
	while (field < SCRIPT_FIELD_COUNT && strcmp(word, script_field_table[field].name) != 0)
		field++;
	if (field == SCRIPT_FIELD_COUNT)
		return unknown_field(word);
	unsigned int not_types = script_field_table[field].not_types;
	if (parse->type >= 0) {
		if (not_types >> parse->type & 1)
			return error_new_kind(ERROR_USAGE, "%s events have no \"%s\"", type_table[parse->type].name, word);
		apply_word(parse->fields, (unsigned int)parse->type, SCRIPT_BIT(field), sign == '-', false);
		return NULL;
	}
	for (unsigned int type = 0; type < SCRIPT_TYPE_COUNT; type++) {
		if (not_types >> type & 1)
			log_info("%s events have no \"%s\": skipped", type_table[type].name, word);
		else
			apply_word(parse->fields, type, SCRIPT_BIT(field), sign == '-', true);
	}
	return NULL;
}

static struct error *parse_type(const char *name, size_t len, int *ret)
{
	for (int type = 0; type < SCRIPT_TYPE_COUNT; type++)
		if (strlen(type_table[type].prefix) == len && strncmp(type_table[type].prefix, name, len) == 0) {
			*ret = type;
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "unknown event type \"%.*s:\"; the types are hw sw trace cache raw break other synth", (int)len,
			      name);
}

/* A list without signs replaces what the type, or every type, would show. */
static void begin_replacing(struct script_fields *fields, int type)
{
	for (int i = 0; i < SCRIPT_TYPE_COUNT; i++)
		if (type < 0 || i == type) {
			fields->shown[i] = fields->asked[i] = 0;
			fields->chosen[i] = true;
		}
}

struct error *script_fields_parse(struct script_fields *fields, const char *text)
{
	struct parse parse = {.fields = fields, .type = -1};
	const char *colon = strchr(text, ':');
	if (colon) {
		struct error *error = parse_type(text, (size_t)(colon - text), &parse.type);
		if (error)
			return error;
		text = colon + 1;
	} else if (!*text) {
		return error_new_kind(ERROR_USAGE, "the list of fields cannot be empty for all event types");
	}
	if (*text != '+' && *text != '-')
		begin_replacing(fields, parse.type);
	char *words = mem_strdup(text), *rest = NULL;
	struct error *error = NULL;
	for (char *word = strtok_r(words, ",", &rest); word && !error; word = strtok_r(NULL, ",", &rest))
		error = parse_word(&parse, word);
	free(words);
	return error;
}

/* Drops what `event` hasn't sampled from its type's set. */
static struct error *check_event(struct script_fields *fields, const struct event *event, const struct script_offer *offer)
{
	enum script_type type = script_type_of(event);
	uint64_t *shown = &fields->shown[type];
	for (size_t field = 0; field < SCRIPT_FIELD_COUNT; field++) {
		const struct script_field_row *row = &script_field_table[field];
		if (!(*shown & SCRIPT_BIT(field)) || !row->sample_type || event->attr.sample_type & row->sample_type)
			continue;
		if (fields->asked[type] & SCRIPT_BIT(field) && offer->traced)
			continue;
		if (fields->asked[type] & SCRIPT_BIT(field))
			return error_new("samples of %s have no %s, so \"%s\" cannot be shown", event->name, row->content, row->name);
		*shown &= ~SCRIPT_BIT(field);
	}
	if (*shown & BIT(TOD) && !offer->has_clock_data)
		return error_new("\"tod\" requires the wall clock: record with -k CLOCK");
	if (*shown & BIT(SYMOFF) && !(*shown & BIT(SYM))) {
		if (fields->asked[type] & BIT(SYMOFF))
			return error_new("\"symoff\" requires \"sym\"");
		*shown &= ~BIT(SYMOFF);
	}
	if (fields->asked[type] & BIT(SRCLINE) && !(*shown & BIT(IP)))
		return error_new("\"srcline\" requires \"ip\"");
	if (fields->asked[type] & BIT(SRCCODE) && !(*shown & BIT(IP)))
		return error_new("\"srccode\" requires \"ip\"");
	if (fields->asked[type] & BIT(BRCNTR) && !branch_counters_any(offer->events))
		return error_new("branches of %s have no counters, so \"brcntr\" cannot be shown; record with -j any,counter", event->name);
	if (!(event->attr.sample_type & (PERF_SAMPLE_IP | PERF_SAMPLE_ADDR))) {
		if (fields->asked[type] & (BIT(SYM) | BIT(DSO)))
			return error_new("samples of %s have no address to resolve to a symbol or file", event->name);
		*shown &= ~(BIT(SYM) | BIT(DSO));
	}
	return NULL;
}

static bool has_stack(const struct event *event)
{
	return event->attr.sample_type & PERF_SAMPLE_CALLCHAIN;
}

/* Pipes tell their events one by one; the first of each type sees those before it. */
static void add_pipe_stacks(struct script_fields *fields, const struct event_list *events, size_t index)
{
	uint64_t all = 0;
	for (size_t i = 0; i <= index; i++)
		all |= events->events.data[i]->attr.sample_type;
	const uint64_t unwound = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	if (!(all & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK)) && (all & unwound) != unwound)
		return;
	enum script_type type = script_type_of(events->events.data[index]);
	fields->shown[type] |= (BIT(IP) | BIT(SYM)) & ~fields->removed[type];
}

static void add_tracepoint_stacks(struct script_fields *fields, const struct event_list *events)
{
	if (fields->chosen[SCRIPT_TRACEPOINT])
		return;
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		if (script_type_of(event) == SCRIPT_TRACEPOINT && has_stack(event)) {
			fields->shown[SCRIPT_TRACEPOINT] |= BIT(IP) | BIT(SYM) | BIT(SYMOFF) | BIT(DSO);
			return;
		}
	}
}

static bool reads_groups(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->members > 1 && events->events.data[i]->attr.sample_type & PERF_SAMPLE_READ)
			return true;
	return false;
}

/* Fields that can be named, as with the kernel's perf, but have nothing to show in this recording. */
static void tell_empty_fields(const struct script_fields *fields, const struct event_list *events, bool traced)
{
	uint64_t asked = 0;
	for (size_t type = 0; type < SCRIPT_TYPE_COUNT; type++)
		asked |= fields->asked[type];
	if (!traced && asked & (BIT(FLAGS) | BIT(CALLINDENT) | BIT(IPC)))
		log_warning("-F: flags, callindent and ipc come from decoded instruction traces (Intel PT, Arm CoreSight) and are empty "
			    "here; brstack shows branches recorded with -b");
	if (asked & BIT(METRIC) && !reads_groups(events))
		log_warning("-F: metric requires samples of a group that reads all its counters: record with -e '{cycles,instructions}:S'");
}

struct error *script_fields_check(struct script_fields *fields, const struct script_offer *offer)
{
	const struct event_list *events = offer->events;
	unsigned int seen = 0;
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		unsigned int type = script_type_of(event);
		if (seen >> type & 1 || event_is_dummy(event))
			continue;
		seen |= 1u << type;
		if (!fields->shown[type])
			continue;
		struct error *error = check_event(fields, event, offer);
		if (error)
			return error;
		if (offer->pipe && offer->callchains)
			add_pipe_stacks(fields, events, i);
	}
	if (offer->callchains && !offer->pipe)
		add_tracepoint_stacks(fields, events);
	if (!offer->pipe)
		tell_empty_fields(fields, events, offer->traced);
	return NULL;
}

void script_fields_list(struct strbuf *ret)
{
	for (size_t i = 0; i < SCRIPT_FIELD_COUNT; i++)
		strbuf_printf(ret, "%s%s", i ? "," : "", script_field_table[i].name);
}

void script_fields_describe(struct strbuf *ret)
{
	for (size_t i = 0; i < SCRIPT_FIELD_COUNT; i++)
		strbuf_printf(ret, "    %-16s %s\n", script_field_table[i].name, script_field_table[i].help);
}
