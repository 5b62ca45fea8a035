/* The event grammar: lists, groups, and the kinds of events by the form of their name. A hand-written parser that reads each character
 * once; terms, modifiers and tracepoints have their own files. */
#include "event/parse_internal.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "event/builtin.h"

#include <fnmatch.h>
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

static char *arena_text(struct parser *parser, const char *begin, const char *end)
{
	return arena_strndup(&parser->list->arena, begin, (size_t)(end - begin));
}

static struct event *add_event(struct parser *parser, const char *name, uint32_t type, uint64_t config)
{
	struct event *event = event_list_add(parser->list, name);

	event->attr.type = type;
	event->attr.config = config;
	event->attr.exclude_guest = 1;
	return event;
}

static struct event *event_at(struct parser *parser, size_t index)
{
	return parser->list->events.data[index];
}

/* Gives the events from `first` on the text [begin, parser->at) as their name, unless a term named them. */
static void name_events(struct parser *parser, size_t first, const char *begin)
{
	const char *name = arena_text(parser, begin, parser->at);

	for (size_t i = first; i < parser->list->events.len; i++) {
		struct event *event = event_at(parser, i);
		if (!event->name[0])
			event->name = parser->per_core_kind ? arena_printf(&parser->list->arena, "%s/%s/", event->pmu_name, name) : name;
	}
}

/* mem:ADDR[/LEN][:ACCESS] */
static struct error *parse_breakpoint(struct parser *parser, const char *begin)
{
	const char *digits = parser->at += 4;
	uint64_t addr, len = 0;
	uint32_t type = 0;

	parser->at += strspn(parser->at, "0123456789abcdefxABCDEFX");
	cleanup_free char *number = mem_strndup(digits, (size_t)(parser->at - digits));
	if (!number_parse_u64(number, &addr))
		return parse_fail(parser, digits, "an address, such as 0x4040a0", "no address behind 'mem:'");
	const char *name_end = parser->at;
	if (*parser->at == '/') {
		digits = ++parser->at;
		parser->at += strspn(parser->at, "0123456789");
		cleanup_free char *size = mem_strndup(digits, (size_t)(parser->at - digits));
		if (!number_parse_u64(size, &len) || !len)
			return parse_fail(parser, digits, "1, 2, 4 or 8 bytes", "no length behind 'mem:%s/'", number);
	} else if (*parser->at == ':' && parser->at[1] && strchr("rwx", parser->at[1])) {
		name_end = NULL; /* the name goes on up to the end */
	}
	if (*parser->at == ':' && parser->at[1] && strchr("rwx", parser->at[1])) {
		size_t letters = strspn(parser->at + 1, "rwx");
		for (const char *c = parser->at + 1; c < parser->at + 1 + letters; c++) {
			uint32_t bit = *c == 'r' ? HW_BREAKPOINT_R : *c == 'w' ? HW_BREAKPOINT_W : HW_BREAKPOINT_X;
			if (type & bit)
				return parse_fail(parser, c, "each of r, w, x once", "'%c' is there twice", *c);
			type |= bit;
		}
		parser->at += 1 + letters;
	}
	struct event *event = add_event(parser, "", PERF_TYPE_BREAKPOINT, 0);
	event->attr.bp_addr = addr;
	event->attr.bp_type = type ? type : HW_BREAKPOINT_RW;
	event->attr.bp_len = len ? len : event->attr.bp_type == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	event->attr.sample_period = 1;
	if (name_end)
		event->name = arena_text(parser, begin, name_end);
	return NULL;
}

/* A PMU by its name, or by the beginning that "uncore_imc" and uncore_imc_0 share ("imc" too), or by a pattern. */
static bool is_pmu_wanted(const struct pmu *pmu, const char *wanted)
{
	const char *name = pmu->name;

	if (str_starts_with(name, "uncore_") && !str_starts_with(wanted, "uncore_"))
		name += 7;
	if (str_has_glob(wanted))
		return str_glob_match(wanted, name) || str_glob_match(wanted, pmu->name);
	size_t len = strlen(wanted);
	if (strncmp(name, wanted, len))
		return false;
	const char *rest = name + len;
	if (*rest == '_' && len)
		rest++;
	return rest[strspn(rest, "0123456789")] == '\0';
}

static struct error *add_pmu_event(struct parser *parser, struct pmu *pmu, const struct term_list *terms)
{
	pmu_load(event_catalog_pmus(parser->catalog), pmu);
	struct event *event = add_event(parser, "", pmu->type, 0);
	event->pmu_name = arena_strdup(&parser->list->arena, pmu->name);
	if (pmu->cpus)
		event->pmu_cpus = arena_strdup(&parser->list->arena, pmu->cpus);
	return parse_apply_terms(parser, event, pmu, terms);
}

static struct error *unknown_pmu(struct parser *parser, const char *at, const char *name)
{
	struct pmu_list *pmus = event_catalog_pmus(parser->catalog);
	struct strbuf hint = {0};

	for (size_t i = 0; i < pmus->pmus.len && i < 20; i++)
		strbuf_printf(&hint, "%s%s", i ? ", " : pmus->pmus.len ? "this machine has: " : "", pmus->pmus.data[i]->name);
	struct error *error = parse_fail(parser, at, hint.len ? strbuf_str(&hint) : NULL, "no PMU '%s' on this machine", name);
	strbuf_deinit(&hint);
	return error;
}

static struct error *parse_pmu(struct parser *parser, const char *begin, const char *name, const struct term_list *terms)
{
	struct pmu_list *pmus = event_catalog_pmus(parser->catalog);
	struct pmu *exact = pmu_by_name(pmus, name);
	bool found = false;

	if (exact)
		return add_pmu_event(parser, exact, terms);
	for (size_t i = 0; i < pmus->pmus.len; i++) {
		if (!is_pmu_wanted(pmus->pmus.data[i], name))
			continue;
		struct error *error = add_pmu_event(parser, pmus->pmus.data[i], terms);
		if (error)
			return error;
		found = true;
	}
	return found ? NULL : unknown_pmu(parser, begin, name);
}

/* The name of an event of any PMU: one event for each PMU that has it. *ret_found false: none has. */
static struct error *parse_alias(struct parser *parser, const char *begin, const char *name, bool *ret_found)
{
	struct pmu_list *pmus = event_catalog_pmus(parser->catalog);

	for (size_t i = 0; i < pmus->pmus.len; i++) {
		struct pmu *pmu = pmus->pmus.data[i];
		pmu_load(pmus, pmu);
		if (!pmu_alias(pmu, name))
			continue;
		struct term_list terms = {0};
		vec_push(&terms.terms, (struct term){.at = begin, .value_at = begin, .name = name});
		struct error *error = add_pmu_event(parser, pmu, &terms);
		vec_deinit(&terms.terms);
		if (error)
			return error;
		*ret_found = true;
	}
	return NULL;
}

/* The attr.config of a generic event of one PMU, where several count the same: its type in the upper half (PERF_PMU_TYPE_SHIFT of the
 * kernel). */
enum { PMU_TYPE_SHIFT = 32 };

/* An event of the CPU's cores. Where there are several kinds of cores (Intel's cpu_core and cpu_atom), one for each. */
static void add_core_event(struct parser *parser, uint32_t type, uint64_t config)
{
	struct pmu_list *pmus = event_catalog_pmus(parser->catalog);

	parser->per_core_kind = pmu_by_name(pmus, "cpu_core") && pmu_by_name(pmus, "cpu_atom");
	if (!parser->per_core_kind) {
		add_event(parser, "", type, config);
		return;
	}
	for (size_t i = 0; i < pmus->pmus.len; i++) {
		struct pmu *pmu = pmus->pmus.data[i];
		if (!str_starts_with(pmu->name, "cpu_"))
			continue;
		pmu_load_head(pmus, pmu);
		struct event *event = add_event(parser, "", type, config | (uint64_t)pmu->type << PMU_TYPE_SHIFT);
		event->pmu_name = arena_strdup(&parser->list->arena, pmu->name);
		event->pmu_cpus = pmu->cpus ? arena_strdup(&parser->list->arena, pmu->cpus) : NULL;
		if (type != PERF_TYPE_RAW)
			continue;
		event->attr.type = pmu->type;
		event->attr.config = config;
	}
}

/* Generic, cache and raw events; false: the name is none of them. */
static bool add_builtin(struct parser *parser, const char *name, size_t len)
{
	const struct builtin_event *builtin = builtin_find(name, len);
	uint64_t config;

	if (builtin && builtin->type == PERF_TYPE_HARDWARE) {
		add_core_event(parser, builtin->type, builtin->config);
	} else if (builtin) {
		struct event *event = add_event(parser, "", builtin->type, builtin->config);
		event->tool = builtin->tool;
		if (builtin->config == PERF_COUNT_SW_BPF_OUTPUT) {
			event->attr.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
			event->attr.sample_period = 1;
		}
	} else if (builtin_find_cache(name, len, &config)) {
		add_core_event(parser, PERF_TYPE_HW_CACHE, config);
	} else if (name[0] == 'r' && len > 1 && strspn(name + 1, "0123456789abcdefABCDEF") == len - 1 &&
		   number_parse_hex(name + 1, &config)) {
		add_core_event(parser, PERF_TYPE_RAW, config);
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

/* TYPE ":" CONFIG, both numbers. */
static bool parse_numeric(struct parser *parser, const char *name)
{
	const char *begin = parser->at + 1, *end = name_end(begin);
	cleanup_free char *number = mem_strndup(begin, (size_t)(end - begin));
	uint64_t config;
	uint32_t type;

	if (!number_parse_u32(name, &type) || !number_parse_u64(number, &config))
		return false;
	add_event(parser, "", type, config);
	parser->at = end;
	return true;
}

/* NAME ":" EVENT */
static struct error *parse_system_event(struct parser *parser, const char *begin, const char *name)
{
	const char *event = parser->at + 1, *end = name_end(event);
	struct term_list terms = {0};

	parser->at = end;
	if (end == event)
		return parse_fail(parser, event, "the name of a tracepoint", "nothing behind '%s:'", name);
	struct error *error = parse_terms(parser, &terms);
	if (!error)
		error = parse_tracepoints(parser, begin, name, arena_text(parser, event, end), &terms);
	vec_deinit(&terms.terms);
	return error;
}

/* What follows a built-in name, or a PMU with its terms. */
static struct error *parse_named(struct parser *parser, const char *begin, const char *name, bool builtin, size_t first)
{
	struct term_list terms = {0};
	bool found = builtin;
	struct error *error = parse_terms(parser, &terms);

	for (size_t i = first; !error && builtin && i < parser->list->events.len; i++)
		error = parse_apply_terms(parser, event_at(parser, i), NULL, &terms);
	if (!error && builtin)
		;
	else if (!error && terms.present)
		error = parse_pmu(parser, begin, name, &terms);
	else if (!error)
		error = parse_alias(parser, begin, name, &found);
	if (!error && !found && !terms.present)
		error = parse_unknown_name(parser, begin, name);
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
	const char *name = arena_text(parser, begin, end);
	size_t first = parser->list->events.len;
	struct error *error;

	parser->per_core_kind = false;
	if (end == begin)
		return parse_fail(parser, begin, "an event, such as cycles, cpu-clock:u or sched:sched_switch",
				  *begin ? "'%c' where an event is expected" : "an event is missing", *begin);
	if (str_starts_with(begin, "mem:")) {
		error = parse_breakpoint(parser, begin);
	} else {
		parser->at = end;
		bool builtin = add_builtin(parser, name, (size_t)(end - begin));
		if (!builtin && *end == ':' && parse_numeric(parser, name))
			error = NULL;
		else if (!builtin && *end == ':' && !(modifiers_follow(end) && !str_has_glob(name)))
			error = parse_system_event(parser, begin, name);
		else
			error = parse_named(parser, begin, name, builtin, first);
	}
	if (!error)
		error = parse_modifiers(parser, first, false);
	if (!error)
		name_events(parser, first, begin);
	return error;
}

static bool is_same_pmu(const struct event *a, const struct event *b)
{
	return a->pmu_name && b->pmu_name && !strcmp(a->pmu_name, b->pmu_name);
}

/* Sorts the events from `first` on by kind of cores, in each kind in the order of the text: a group lies on one PMU. */
static void sort_by_core_kind(struct parser *parser, size_t first)
{
	struct event **events = parser->list->events.data;
	size_t len = parser->list->events.len;

	for (size_t done = first; done < len;) {
		const struct event *kind = events[done];
		size_t to = ++done;
		for (size_t i = done; i < len; i++) {
			struct event *event = events[i];
			if (!is_same_pmu(event, kind))
				continue;
			memmove(&events[to + 1], &events[to], (i - to) * sizeof(*events));
			events[to++] = event;
		}
		done = to;
	}
	for (size_t i = first; i < len; i++)
		events[i]->index = (unsigned int)i;
}

static void make_group(struct parser *parser, size_t first, size_t end, const char *name)
{
	for (size_t i = first; i < end; i++) {
		event_at(parser, i)->leader = (unsigned int)first;
		event_at(parser, i)->members = i == first ? (unsigned int)(end - first) : 0;
	}
	if (name[0])
		event_at(parser, first)->group_name = name;
}

/* The events from `first` on become one group; one for each kind of cores when they are of several. */
static void make_groups(struct parser *parser, size_t first, bool per_core_kind, const char *name)
{
	size_t len = parser->list->events.len;

	if (per_core_kind)
		sort_by_core_kind(parser, first);
	for (size_t begin = first, i = first + 1; begin < len; i++) {
		if (i < len && (!per_core_kind || is_same_pmu(event_at(parser, i), event_at(parser, begin))))
			continue;
		make_group(parser, begin, i, name);
		begin = i;
	}
}

static struct error *parse_group(struct parser *parser, const char *open)
{
	const char *name = arena_text(parser, parser->at, open);
	size_t first = parser->list->events.len;
	bool per_core_kind = false;

	parser->at = open + 1;
	for (;;) {
		skip_space(parser);
		struct error *error = parse_event(parser);
		if (error)
			return error;
		per_core_kind |= parser->per_core_kind;
		skip_space(parser);
		if (*parser->at == '}')
			break;
		if (*parser->at != ',')
			return parse_fail(parser, parser->at, "',' or '}'", "the group that '{' opens isn't closed");
		parser->at++;
	}
	parser->at++;
	make_groups(parser, first, per_core_kind, name);
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
			return parse_fail(parser, parser->at, "',' and another event, or the end", "'%c' is not understood here",
					  *parser->at);
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
