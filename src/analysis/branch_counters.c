/* Counters of branches: which events of a recording they count, by its events and its group's order. */
#include "analysis/branch_counters.h"

#include "base/number.h"
#include "base/vec.h"

#include <string.h>

static bool counts_branches(const struct event *event)
{
	return event->attr.branch_sample_type & EVENT_BRANCH_COUNTERS;
}

bool branch_counters_any(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (counts_branches(events->events.data[i]))
			return true;
	return false;
}

unsigned int branch_counters_width(const struct features *features)
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

/* Of the one before which so many others of the recording count. */
static char letter_of(unsigned int before)
{
	return before < 26 ? (char)('A' + before) : '?';
}

const struct event *branch_counters_next(const struct event_list *events, const struct event *event, unsigned int *at, char *ret_letter)
{
	unsigned int before = 0;
	for (unsigned int i = 0; i < events->events.len; i++) {
		const struct event *other = events->events.data[i];
		if (!counts_branches(other))
			continue;
		if (i >= *at && other->leader == event->leader) {
			*ret_letter = letter_of(before);
			*at = i + 1;
			return other;
		}
		before++;
	}
	return NULL;
}

struct branch_counter *branch_counters_of(const struct event_list *events, const struct event *event, struct arena *arena,
					  size_t *ret_count)
{
	struct branch_counter *list = arena_alloc(arena, (events->events.len + 1) * sizeof(*list));
	size_t count = 0;
	unsigned int before = 0;
	bool has_some = !event || counts_branches(event);
	for (size_t i = 0; has_some && i < events->events.len; i++) {
		const struct event *other = events->events.data[i];
		if (!counts_branches(other))
			continue;
		if (!event || other->leader == event->leader)
			list[count++] = (struct branch_counter){.name = other->name, .letter = letter_of(before)};
		before++;
	}
	*ret_count = count;
	return list;
}

void branch_counters_legend(const struct event_list *events, struct strbuf *out)
{
	struct arena arena = {0};
	size_t count;
	const struct branch_counter *list = branch_counters_of(events, NULL, &arena, &count);
	strbuf_add_str(out, "# " BRANCH_COUNTERS_TITLE ":\n");
	branch_counters_add_legend(list, count, "# ", out);
	arena_deinit(&arena);
}
