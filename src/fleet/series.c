/* Series of a window (series.h). */
#include "fleet/series.h"

#include "view/export/pprof.h"

#include <ctype.h>
#include <string.h>

struct building {
	const struct window *window;
	struct arena arena;	     /* of one series */
	struct window_labels of_set; /* as the window has them */
	struct series series;
};

/* Letters, digits and _; a digit isn't the first. */
static const char *name_of(struct arena *arena, const char *text)
{
	char *name = isdigit((unsigned char)*text) ? arena_printf(arena, "_%s", text) : arena_strdup(arena, text);
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	return name;
}

/* In its place; one that is there already stays, and an empty one is none. */
static void add_label(struct building *building, const char *text, const char *value)
{
	struct window_labels *labels = &building->series.labels;
	const char *name = name_of(&building->arena, text);
	size_t place = labels->list.len;
	if (!value || !*value || window_labels_find(labels, name))
		return;
	vec_push(&labels->list, (struct window_label){name, value});
	for (; place > 0 && strcmp(labels->list.data[place - 1].name, name) > 0; place--)
		labels->list.data[place] = labels->list.data[place - 1];
	labels->list.data[place] = (struct window_label){name, value};
}

/* Engines group by it. */
static const char *service_of(const struct window *window, uint32_t set)
{
	static const char *const names[] = {"service_name", "service", "unit", "container"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = window_label(window, set, names[i]);
		if (value && *value)
			return value;
	}
	return "unknown_service";
}

static void add_labels(struct building *building, uint32_t set)
{
	const struct window *window = building->window;
	const struct window_labels *labels = &building->of_set;
	window_labels_of_set(window, set, &building->of_set);
	add_label(building, "service_name", service_of(window, set));
	add_label(building, "host", window->host);
	add_label(building, "host_id", window->host_id);
	for (size_t i = 0; i < labels->list.len; i++)
		add_label(building, labels->list.data[i].name, labels->list.data[i].value);
}

static void build(struct building *building, uint32_t set, uint32_t event)
{
	const struct window *window = building->window;
	const char *type = window_event_type(&window->samples->events.data[event]);
	const struct pprof_choice choice = {.samples = window->samples, .window = window, .set = set, .type = type, .event = event};
	const struct sink out = sink_to_text(&building->series.profile);
	building->series.profile_name = !strcmp(type, "cpu") ? "process_cpu" : name_of(&building->arena, type);
	building->series.labels.list.len = 0;
	add_labels(building, set);
	window_part_id(window, set, event, building->series.id);
	strbuf_clear(&building->series.profile);
	pprof_write_compressed(&choice, &out);
}

void series_for_each(const struct window *window, void (*add)(void *context, const struct series *series), void *context)
{
	struct building building = {.window = window};
	for (uint32_t set = 0; set < window->sets.len; set++)
		for (uint32_t event = 0; event < window->samples->events.len; event++) {
			if (!window_has_rows(window, set, event))
				continue;
			build(&building, set, event);
			add(context, &building.series);
			arena_deinit(&building.arena);
		}
	vec_deinit(&building.of_set.list);
	vec_deinit(&building.series.labels.list);
	strbuf_deinit(&building.series.profile);
}
