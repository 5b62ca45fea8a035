/* Rows: their life, and what is asked of them. Classes are made in rows_classes.c, sums in rows_add.c, the order in rows_sort.c. */
#include "analysis/report/rows_internal.h"

#include "analysis/script/sample_text.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

int rows_event(const struct rows *rows, const struct fold_entry *entry)
{
	const struct rows_options *options = &rows->options;
	if (options->event_count == 1)
		return entry->event == options->events[0]->index ? 0 : -1;
	return rows->private->event_position[entry->event];
}

static bool row_shown(const struct rows *rows, uint32_t row)
{
	const struct fold_entry *entry = &rows->fold->entries[rows->rows[row].first];
	if (rows->options.exclude_other && rows->private->parent_key && !rows->private->parents.data[rows->rows[row].extra].parent)
		return false;
	if (rows->options.place_shown) {
		struct key_source source;
		classes_source(rows, CLASS_PLACE, rows->rows[row].place, NULL, &source);
		if (!rows->options.place_shown(rows->options.context, source.place))
			return false;
	}
	return !rows->options.shown || rows->options.shown(rows->options.context, rows->fold, entry);
}

static void leave_out_others(struct rows *rows)
{
	size_t count = rows->shown_count;
	if (!rows->options.shown && !rows->options.place_shown && !rows->options.exclude_other)
		return;
	rows->shown_count = 0;
	for (size_t i = 0; i < count; i++)
		if (row_shown(rows, rows->order[i]))
			rows->order[rows->shown_count++] = rows->order[i];
}

/* All rows are sorted: where keys contradict each other, rows that aren't shown have a say in the order of the others. Not where few of
 * many are asked for, and the first key, a sum, says which ones come into question: names of the others need no order, either. */
static void make_order(struct rows *rows)
{
	bool chosen = rows_can_choose(rows);
	rows->order = mem_alloc_array(rows->row_count + 1, sizeof(*rows->order));
	for (uint32_t i = 0; i < rows->row_count; i++)
		rows->order[i] = i;
	rows->shown_count = rows->row_count;
	if (chosen) {
		leave_out_others(rows);
		rows_choose(rows);
	}
	classes_rank(rows, chosen);
	rows_sort(rows);
	if (!chosen)
		leave_out_others(rows);
}

/* A single event needs no table: it would cost as much as all events, for each of them. */
static void place_events(struct rows *rows)
{
	const struct rows_options *options = &rows->options;
	size_t events = rows->fold->session->reader->events.events.len;
	rows->private->event_position = mem_alloc_array(events + 1, sizeof(int));
	for (size_t i = 0; i < events; i++)
		rows->private->event_position[i] = -1;
	for (size_t i = 0; i < options->event_count; i++)
		rows->private->event_position[options->events[i]->index] = (int)i;
}

/* Threads cost more than a few entries. */
static unsigned int choose_jobs(const struct fold *fold, unsigned int jobs)
{
	enum { FEW = 512 };
	return jobs && fold->entry_count > FEW ? jobs : 1;
}

struct rows *rows_create(struct fold *fold, struct key_context *context, const struct rows_options *options)
{
	struct rows *rows = mem_zalloc(sizeof(*rows));
	rows->fold = fold;
	rows->context = context;
	rows->options = *options;
	rows->options.jobs = choose_jobs(fold, options->jobs);
	rows->private = mem_zalloc(sizeof(*rows->private));
	if (options->event_count > 1)
		place_events(rows);
	rows->total = mem_zalloc_array(options->event_count * 4 + 1, sizeof(uint64_t));
	rows->total_shown = rows->total + options->event_count;
	rows->samples = rows->total_shown + options->event_count;
	rows->samples_shown = rows->samples + options->event_count;
	classes_create(rows);
	rows_add_all(rows);
	make_order(rows);
	return rows;
}

void rows_destroy(struct rows *rows)
{
	if (!rows)
		return;
	classes_destroy(rows);
	free(rows->private->depths);
	stack_order_destroy(rows->private->order);
	free(rows->private->sections);
	free(rows->private->event_position);
	free(rows->private);
	free(rows->rows);
	free(rows->sums);
	free(rows->modes);
	free(rows->order);
	free(rows->total);
	free(rows);
}

/* The level letter: k, ., g, u, H. An address that isn't mapped has that of the frame looked at before it, beginning with the sample's own:
 * as the kernel's tool shows it. */
static char row_level(const struct rows *rows, uint32_t row, const struct key *key, const struct key_source *source)
{
	const struct fold *fold = rows->fold;
	if (rows->options.branches && !(key->flags & KEY_BRANCH))
		return sample_text_mode(fold->entries[rows->rows[row].first].cpumode);
	if (rows->options.branches)
		return sample_text_mode(source->place->cpumode);
	if (!source->caller)
		return sample_text_mode(source->place->cpumode);
	if (source->place->map)
		return source->place->map->dso->kernel		? 'k'
		       : source->place->cpumode == CPUMODE_USER ? '.'
								: sample_text_mode(source->place->cpumode);
	const struct fold_entry *entry = &fold->entries[rows->rows[row].first];
	char level = sample_text_mode(entry->cpumode);
	uint32_t depth = fold_depth(fold, entry);
	for (uint32_t i = 0; i < depth; i++) {
		uint32_t frame = fold_frame_id(fold, entry, rows->options.caller_order ? depth - 1 - i : i);
		if (fold->frames[frame].map)
			level = fold->frames[frame].map->dso->kernel ? 'k' : sample_text_mode(fold->frames[frame].cpumode);
		if (rows->private->caller_class[frame] == rows->rows[row].place)
			return level;
	}
	return level;
}

static void class_source(const struct rows *rows, uint32_t class, const struct key *key, struct key_source *ret)
{
	if (key->domain == KEY_STACK) {
		*ret = (struct key_source){.parent = rows->private->parents.data[class].parent};
		return;
	}
	unsigned int domain = key->domain == KEY_ACTOR ? CLASS_ACTOR : key->domain == KEY_PLACE ? CLASS_PLACE : CLASS_EXTRA;
	classes_source(rows, domain, class, key, ret);
}

void rows_source(const struct rows *rows, uint32_t row, const struct key *key, struct key_source *ret)
{
	class_source(rows, classes_of_row(rows, row, key), key, ret);
	ret->count = rows->sums[row * rows->options.event_count].count;
	if (key->domain == KEY_PLACE)
		ret->level = row_level(rows, row, key, ret);
}

static size_t classes_with(const struct rows *rows, const struct key *key)
{
	switch (key->domain) {
	case KEY_ACTOR:
		return rows->private->classes[CLASS_ACTOR].representatives.len;
	case KEY_PLACE:
		return rows->private->classes[CLASS_PLACE].representatives.len;
	case KEY_STACK:
		return rows->private->parents.len;
	default:
		return rows->private->classes[CLASS_EXTRA].representatives.len;
	}
}

static size_t text_length(const struct rows *rows, const struct key *key, const struct key_source *source, struct strbuf *text)
{
	if (key->length)
		return key->length(rows->context, source);
	strbuf_clear(text);
	if (key->text)
		key->text(rows->context, key, source, text);
	else if (key->string)
		strbuf_add_str(text, (source->string ? source->string : key->string(rows->context, key, source)) ?: "");
	else
		strbuf_add_u64(text, (uint64_t)key->number(rows->context, key, source), 0);
	return text_safe_length(strbuf_str(text), text->len);
}

uint64_t *rows_shown(const struct rows *rows)
{
	uint64_t *shown = mem_zalloc_array(rows->row_count / 64 + 1, sizeof(*shown));
	for (size_t i = 0; i < rows->shown_count; i++)
		shown[rows->order[i] / 64] |= (uint64_t)1 << (rows->order[i] % 64);
	return shown;
}

static uint64_t *shown_classes(const struct rows *rows, const struct key *key, size_t count)
{
	uint64_t *shown = mem_zalloc_array(count / 64 + 1, sizeof(*shown)), *shown_rows = rows_shown(rows);
	for (uint32_t row = 0; row < rows->row_count; row++) {
		if (!(shown_rows[row / 64] >> (row % 64) & 1))
			continue;
		uint32_t class = classes_of_row(rows, row, key);
		shown[class / 64] |= (uint64_t)1 << (class % 64);
	}
	free(shown_rows);
	return shown;
}

/* One look at each class that a shown row has. */
unsigned int rows_width(struct rows *rows, const struct key *key)
{
	struct strbuf text = {0};
	size_t widest = 0, count = classes_with(rows, key);
	uint64_t *shown = shown_classes(rows, key, count);
	for (uint32_t class = 0; class < count; class ++) {
		if (!(shown[class / 64] >> (class % 64) & 1))
			continue;
		struct key_source source;
		class_source(rows, class, key, &source);
		size_t length = text_length(rows, key, &source, &text);
		if (length > widest)
			widest = length;
	}
	free(shown);
	strbuf_deinit(&text);
	return (unsigned int)widest;
}

/* Whether a shown row's place has no symbol. */
bool rows_have_unresolved(const struct rows *rows, const struct key *key)
{
	size_t count = classes_with(rows, key);
	uint64_t *shown = shown_classes(rows, key, count);
	bool found = false;
	for (uint32_t class = 0; class < count && !found; class ++) {
		struct key_source source;
		if (!(shown[class / 64] >> (class % 64) & 1))
			continue;
		class_source(rows, class, key, &source);
		found = !(source.target ? source.target : source.place)->symbol;
	}
	free(shown);
	return found;
}
