/* Branch records: FROM/TO/predicted/transaction/abort/cycles, newest first, with addresses, functions or offsets in files. */
#include "analysis/script/branch.h"

#include "analysis/script/internal.h"
#include "base/number.h"
#include "base/text.h"

#include <stdbool.h>
#include <string.h>

enum { FLAG_MISPREDICTED = 1, FLAG_PREDICTED = 2, FLAG_TRANSACTION = 4, FLAG_ABORT = 8 };

static void add_flags(const struct branch_entry *branch, struct strbuf *out)
{
	uint64_t flags = branch->flags;
	char predicted = flags & FLAG_MISPREDICTED ? 'M' : flags & FLAG_PREDICTED ? 'P' : '-';
	const char text[] = {'/', predicted, '/', flags & FLAG_TRANSACTION ? 'X' : '-', '/', flags & FLAG_ABORT ? 'A' : '-', '/'};
	strbuf_add(out, text, sizeof(text));
	strbuf_add_u64(out, branch_cycles(branch), 0);
	strbuf_add_char(out, '/');
}

static void add_file(const struct script_text *text, const struct script_sample *at, const struct frame *frame, struct strbuf *out)
{
	if (!script_shows(at->plan, SCRIPT_DSO))
		return;
	strbuf_add_char(out, '(');
	script_add_dso(text, frame->map, out);
	strbuf_add_char(out, ')');
}

typedef void add_end_fn(struct script_text *text, const struct script_sample *at, uint64_t addr, struct strbuf *out);

static void add_address(struct script_text *text, const struct script_sample *at, uint64_t addr, struct strbuf *out)
{
	strbuf_add(out, "0x", 2);
	strbuf_add_hex(out, addr, 0);
	if (!script_shows(at->plan, SCRIPT_DSO))
		return;
	struct frame frame;
	script_resolve_data(text, at, addr, &frame);
	add_file(text, at, &frame, out);
}

static void add_function(struct script_text *text, const struct script_sample *at, uint64_t addr, struct strbuf *out)
{
	struct frame frame;
	script_resolve_data(text, at, addr, &frame);
	script_add_symbol(&frame, script_shows(at->plan, SCRIPT_SYMOFF), out);
	add_file(text, at, &frame, out);
}

static void add_offset(struct script_text *text, const struct script_sample *at, uint64_t addr, struct strbuf *out)
{
	struct frame frame;
	script_resolve_data(text, at, addr, &frame);
	strbuf_add(out, "0x", 2);
	strbuf_add_hex(out, frame.map ? addr - frame.map->start + frame.map->pgoff : addr, 0);
	add_file(text, at, &frame, out);
}

static void add_branches(struct script_text *text, const struct script_sample *at, const char *before, add_end_fn *add_end,
			 const char *after, struct strbuf *out)
{
	for (uint64_t i = 0; i < at->sample->branch_count; i++) {
		const struct branch_entry *branch = &at->sample->branches[i];
		strbuf_add_str(out, before);
		add_end(text, at, branch->from, out);
		strbuf_add_char(out, '/');
		add_end(text, at, branch->to, out);
		add_flags(branch, out);
		strbuf_add_str(out, after);
	}
}

void script_print_brstack(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_branches(text, at, " ", add_address, " ", out);
}

void script_print_brstacksym(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_branches(text, at, "", add_function, " ", out);
}

void script_print_brstackoff(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_branches(text, at, " ", add_offset, " ", out);
}

/* ---- counters ---- */

static bool counts_branches(const struct event *event)
{
	return event->attr.branch_sample_type & EVENT_BRANCH_COUNTERS;
}

bool script_has_branch_counters(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (counts_branches(events->events.data[i]))
			return true;
	return false;
}

unsigned int script_branch_counter_width(const struct features *features)
{
	enum { USUAL = 2, MOST = 8 }; /* a letter for each count */
	uint32_t width;
	for (size_t i = 0; i < features->pmu_caps.len; i++) {
		const struct feature_pmu_caps *caps = &features->pmu_caps.data[i];
		for (uint32_t j = 0; j < caps->count; j++)
			if (!strcmp(caps->names[j], "branch_counter_width") && number_parse_u32(caps->values[j], &width) && width &&
			    width <= MOST)
				return width;
	}
	return USUAL;
}

const struct event *script_next_branch_counter(const struct event_list *events, const struct event *event, unsigned int *at,
					       char *ret_letter)
{
	unsigned int before = 0;
	for (unsigned int i = 0; i < events->events.len; i++) {
		const struct event *other = events->events.data[i];
		if (!counts_branches(other))
			continue;
		if (i >= *at && other->leader == event->leader) {
			*ret_letter = before < 26 ? (char)('A' + before) : '?';
			*at = i + 1;
			return other;
		}
		before++;
	}
	return NULL;
}

void script_branch_counter_legend(const struct event_list *events, struct strbuf *out)
{
	unsigned int before = 0;
	strbuf_add_str(out, "# Branch counter abbr list:\n");
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		if (!counts_branches(event))
			continue;
		strbuf_add_str(out, "# ");
		text_add_safe(out, event->name, strlen(event->name));
		strbuf_printf(out, " = %c\n", before < 26 ? 'A' + (int)before : '?');
		before++;
	}
	strbuf_add_str(out, "# '-' No event occurs\n# '+' Event occurrences may be lost due to branch counter saturated\n");
}
