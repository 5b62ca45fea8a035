/* Classes: distinct combinations of keys, and their ranks.
 *
 * Classes are made before samples are added up, one for each actor, frame and extra that an entry uses. Words that tell them apart aren't
 * stored: they are made again from the representative when hashes are equal.
 */
#include "analysis/report/rows_internal.h"

#include "base/hash.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = ROWS_KEYS_MAX * 2 };

static void source_of(const struct rows *rows, unsigned int domain, uint32_t representative, struct key_source *ret)
{
	const struct fold *fold = rows->fold;
	*ret = (struct key_source){.level = '.'};
	if (domain == CLASS_ACTOR) {
		ret->actor = &fold->actors[representative];
	} else if (domain == CLASS_EXTRA) {
		ret->words = fold->extras + (size_t)representative * fold->extra_words;
	} else if (rows->options.branches) {
		const struct fold_piece *pair = &fold->pieces[representative];
		ret->place = &fold->frames[*fold_piece_frame(fold, pair, 0)];
		ret->target = &fold->frames[*fold_piece_frame(fold, pair, pair->frame_count > 1)];
	} else {
		ret->place = &fold->frames[representative & ~PLACE_CALLER];
		ret->caller = representative & PLACE_CALLER;
	}
}

static unsigned int identify(const struct rows *rows, const struct classes *classes, unsigned int domain, uint32_t representative,
			     uint64_t *words)
{
	struct key_source source;
	source_of(rows, domain, representative, &source);
	unsigned int count = 0;
	for (unsigned int i = 0; i < classes->key_count; i++) {
		classes->keys[i]->identify(rows->context, &source, words + count);
		count += classes->keys[i]->words;
	}
	return count;
}

static uint32_t class_hash(const struct rows *rows, unsigned int domain, uint32_t representative)
{
	uint64_t words[WORDS_MAX];
	unsigned int count = identify(rows, &rows->private->classes[domain], domain, representative, words);
	return (uint32_t)hash_words(words, count, 0).lo;
}

static bool class_same(const struct rows *rows, unsigned int domain, uint32_t a, uint32_t b)
{
	const struct classes *classes = &rows->private->classes[domain];
	uint64_t words[WORDS_MAX], other[WORDS_MAX];
	unsigned int count = identify(rows, classes, domain, a, words);
	identify(rows, classes, domain, b, other);
	return !memcmp(words, other, count * sizeof(*words));
}

/* Frames come in an order that is chance; of those that are alike the first by its file and address stands for the class. */
static bool represents_better(const struct rows *rows, unsigned int domain, uint32_t a, uint32_t b)
{
	if (domain != CLASS_PLACE)
		return false;
	if (rows->options.branches)
		return fold_piece_compare(rows->fold, a, b) < 0;
	const struct fold_frame *frames = rows->fold->frames;
	int result = fold_frame_compare(&frames[a & ~PLACE_CALLER], &frames[b & ~PLACE_CALLER]);
	return result ? result < 0 : (a & PLACE_CALLER) < (b & PLACE_CALLER);
}

/* `hash` is class_hash()'s. */
static uint32_t class_by_hash(struct rows *rows, unsigned int domain, uint32_t representative, uint32_t hash)
{
	struct classes *classes = &rows->private->classes[domain];
	struct id_probe probe;
	for (uint32_t id = id_table_first(&classes->ids, hash, &probe); id != ID_NONE; id = id_table_next(&classes->ids, &probe))
		if (class_same(rows, domain, representative, classes->representatives.data[id])) {
			if (represents_better(rows, domain, representative, classes->representatives.data[id]))
				classes->representatives.data[id] = representative;
			return id;
		}
	uint32_t id = (uint32_t)classes->representatives.len;
	vec_push(&classes->representatives, representative);
	id_table_insert(&classes->ids, hash, id);
	return id;
}

static uint32_t class_of(struct rows *rows, unsigned int domain, uint32_t representative)
{
	return class_by_hash(rows, domain, representative, class_hash(rows, domain, representative));
}

static uint32_t *none_array(size_t count)
{
	uint32_t *array = mem_alloc_array(count + 1, sizeof(*array));
	memset(array, 0xff, (count + 1) * sizeof(*array));
	return array;
}

static bool bit(const uint64_t *bits, size_t index)
{
	return bits[index / 64] >> (index % 64) & 1;
}

static void set_bit(uint64_t *bits, size_t index)
{
	bits[index / 64] |= (uint64_t)1 << (index % 64);
}

/* As its own frame's class: a caller that looks like a sample's own place. */
static bool is_same_as_caller(const struct rows *rows, const struct fold_frame *place)
{
	return (place->symbol && !rows->fold->functions) || !place->map || map_to_dso(place->map, place->ip) == place->ip;
}

/* A class that is asked for while the memory for others is on its way. */
struct wanted {
	uint32_t *class; /* where it is stored */
	uint32_t representative, hash;
};

enum { WANTED_MAX = 64 };

struct wanted_list {
	struct wanted items[WANTED_MAX];
	size_t count;
};

static void want(struct rows *rows, struct wanted_list *list, uint32_t representative, uint32_t *class)
{
	uint32_t hash = class_hash(rows, CLASS_PLACE, representative);
	id_table_prefetch(&rows->private->classes[CLASS_PLACE].ids, hash);
	list->items[list->count++] = (struct wanted){.class = class, .representative = representative, .hash = hash};
}

static void make_wanted(struct rows *rows, struct wanted_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		*list->items[i].class = class_by_hash(rows, CLASS_PLACE, list->items[i].representative, list->items[i].hash);
	list->count = 0;
}

/* In the order of the frames, so that later walks over classes go through memory in order. */
static void make_frame_classes(struct rows *rows, const uint64_t *leaves, const uint64_t *callers)
{
	struct rows_private *private = rows->private;
	struct wanted_list list;
	list.count = 0;
	for (uint32_t frame = 0; frame < rows->fold->frame_count; frame++) {
		bool leaf = bit(leaves, frame), caller = callers && bit(callers, frame);
		if (leaf)
			want(rows, &list, frame, &private->self_class[frame]);
		if (caller && !(leaf && is_same_as_caller(rows, &rows->fold->frames[frame])))
			want(rows, &list, frame | PLACE_CALLER, &private->caller_class[frame]);
		if (list.count + 2 > WANTED_MAX)
			make_wanted(rows, &list);
	}
	make_wanted(rows, &list);
	for (uint32_t frame = 0; callers && frame < rows->fold->frame_count; frame++)
		if (bit(callers, frame) && private->caller_class[frame] == FOLD_NONE)
	private->caller_class[frame] = private->self_class[frame];
}

static void make_pair_classes(struct rows *rows)
{
	struct rows_private *private = rows->private;
	private->pair_class = none_array(rows->fold->piece_count);
	for (size_t i = 0; i < rows->fold->piece_count; i++)
		if (rows->fold->pieces[i].frame_count)
	private->pair_class[i] = class_of(rows, CLASS_PLACE, (uint32_t)i);
}

static void make_places(struct rows *rows)
{
	struct rows_private *private = rows->private;
	struct fold *fold = rows->fold;
	if (rows->options.branches) {
		make_pair_classes(rows);
		return;
	}
	uint64_t *leaves = mem_zalloc_array(fold->frame_count / 64 + 1, sizeof(*leaves)), *callers = NULL;
	for (size_t i = 0; i < fold->entry_count; i++)
		set_bit(leaves, fold->entries[i].leaf);
	private->self_class = none_array(fold->frame_count);
	if (rows->options.children) {
		callers = mem_zalloc_array(fold->frame_count / 64 + 1, sizeof(*callers));
		private->caller_class = none_array(fold->frame_count);
		for (size_t i = 0; i < fold->piece_count; i++)
			for (uint32_t f = 0; f < fold->pieces[i].frame_count - fold->pieces[i].shared; f++)
				set_bit(callers, fold->frame_ids[fold->pieces[i].frames + f]);
	}
	make_frame_classes(rows, leaves, callers);
	free(leaves);
	free(callers);
}

/* Extras are told apart by their words, but some keys by a text that the words stand for: then classes are made of texts. */
static unsigned int extra_words(struct rows *rows, uint32_t extra, uint32_t entry, uint64_t *words)
{
	const struct classes *classes = &rows->private->classes[CLASS_EXTRA];
	const struct fold *fold = rows->fold;
	unsigned int count = 0;
	for (unsigned int k = 0; k < classes->key_count; k++) {
		const struct key *key = classes->keys[k];
		struct key_source source = {.words = fold->extras + (size_t)extra * fold->extra_words + k,
					    .entry = &fold->entries[entry],
					    .record = fold->details ? fold->details[entry].first : NULL};
		words[count++] = key->string ? (uintptr_t)key->string(rows->context, key, &source) : source.words[0];
	}
	return count;
}

static uint32_t extra_class(struct rows *rows, uint32_t extra, uint32_t entry)
{
	struct classes *classes = &rows->private->classes[CLASS_EXTRA];
	uint64_t words[ROWS_KEYS_MAX];
	unsigned int count = extra_words(rows, extra, entry, words);
	uint32_t hash = (uint32_t)hash_words(words, count, 0).lo;
	struct id_probe probe;
	for (uint32_t id = id_table_first(&classes->ids, hash, &probe); id != ID_NONE; id = id_table_next(&classes->ids, &probe))
		if (!memcmp(words, classes->words.data + (size_t)id * count, count * sizeof(*words)))
			return id;
	uint32_t id = (uint32_t)classes->representatives.len;
	vec_push(&classes->representatives, extra);
	vec_push(&classes->entries, entry);
	for (unsigned int i = 0; i < count; i++)
		vec_push(&classes->words, words[i]);
	id_table_insert(&classes->ids, hash, id);
	return id;
}

static void make_extras(struct rows *rows)
{
	struct rows_private *private = rows->private;
	struct fold *fold = rows->fold;
	size_t extras = 1;
	for (size_t i = 0; i < fold->entry_count; i++)
		if (fold_extra(fold, &fold->entries[i]) >= extras)
			extras = fold_extra(fold, &fold->entries[i]) + (size_t)1;
	private->extra_class = none_array(extras);
	for (uint32_t i = 0; i < fold->entry_count; i++) {
		uint32_t extra = fold_extra(fold, &fold->entries[i]);
		if (private->extra_class[extra] == FOLD_NONE && rows_event(rows, &fold->entries[i]) >= 0)
		private->extra_class[extra] = extra_class(rows, extra, i);
	}
}

const struct symbol *rows_parent(const struct rows *rows, const struct fold_entry *entry)
{
	const struct fold *fold = rows->fold;
	uint32_t depth = fold_depth(fold, entry);
	for (uint32_t i = 0; i < depth; i++) {
		const struct symbol *symbol =
			fold->frames[fold_frame_id(fold, entry, rows->options.caller_order ? depth - 1 - i : i)].symbol;
		if (symbol && !regexec(rows->context->parent_regex, symbol->name, 0, NULL, 0))
			return symbol;
	}
	return NULL;
}

static void make_parents(struct rows *rows)
{
	struct rows_private *private = rows->private;
	struct fold *fold = rows->fold;
	private->entry_extra = mem_alloc_array(fold->entry_count + 1, sizeof(*private->entry_extra));
	for (size_t i = 0; i < fold->entry_count; i++) {
		bool chain = fold->entries[i].inner != FOLD_NONE || fold->entries[i].outer != FOLD_NONE;
		struct parent_class wanted = {.extra = private->extra_class[fold_extra(fold, &fold->entries[i])],
					      .parent = chain ? rows_parent(rows, &fold->entries[i]) : NULL};
		uint32_t hash = (uint32_t)hash_combine((uintptr_t)wanted.parent, wanted.extra), id;
		struct id_probe probe;
		for (id = id_table_first(&private->parent_ids, hash, &probe); id != ID_NONE;
		     id = id_table_next(&private->parent_ids, &probe))
			if (private->parents.data[id].extra == wanted.extra && private->parents.data[id].parent == wanted.parent)
				break;
		if (id == ID_NONE) {
			id = (uint32_t) private->parents.len;
			vec_push(&private->parents, wanted);
			id_table_insert(&private->parent_ids, hash, id);
		}
		private->entry_extra[i] = id;
	}
}

static unsigned int domain_of(const struct key *key)
{
	return key->domain == KEY_ACTOR ? CLASS_ACTOR : key->domain == KEY_PLACE ? CLASS_PLACE : CLASS_EXTRA;
}

void classes_create(struct rows *rows)
{
	struct rows_private *private = rows->private;
	for (size_t i = 0; i < rows->options.key_count; i++) {
		const struct key *key = rows->options.keys[i];
		if (key->domain == KEY_STACK) {
			private->parent_key = key;
			continue;
		}
		struct classes *classes = &private->classes[domain_of(key)];
		classes->keys[classes->key_count++] = key;
	}
	private->actor_class = none_array(rows->fold->actor_count);
	for (size_t i = 0; i < rows->fold->actor_count; i++)
	private->actor_class[i] = class_of(rows, CLASS_ACTOR, (uint32_t)i);
	make_places(rows);
	make_extras(rows);
	if (private->parent_key)
		make_parents(rows);
	for (unsigned int i = 0; i < CLASS_DOMAINS; i++)
		id_table_deinit(&private->classes[i].ids);
}

void classes_destroy(struct rows *rows)
{
	struct rows_private *private = rows->private;
	for (unsigned int i = 0; i < CLASS_DOMAINS; i++) {
		struct classes *classes = &private->classes[i];
		vec_deinit(&classes->representatives);
		vec_deinit(&classes->entries);
		vec_deinit(&classes->words);
		id_table_deinit(&classes->ids);
		for (unsigned int k = 0; k < classes->key_count; k++)
			free(classes->ranks[k]);
	}
	vec_deinit(&private->parents);
	id_table_deinit(&private->parent_ids);
	free(private->parent_ranks);
	free(private->entry_extra);
	free(private->actor_class);
	free(private->self_class);
	free(private->caller_class);
	free(private->pair_class);
	free(private->extra_class);
}

uint32_t rows_entry_extra(const struct rows *rows, const struct fold_entry *entry)
{
	const struct rows_private *private = rows->private;
	return private->entry_extra ? private->entry_extra[entry - rows->fold->entries]
				    : private->extra_class[fold_extra(rows->fold, entry)];
}

uint32_t classes_of_row(const struct rows *rows, uint32_t row, const struct key *key)
{
	const struct rows_row *r = &rows->rows[row];
	switch (key->domain) {
	case KEY_ACTOR:
		return r->actor;
	case KEY_PLACE:
		return r->place;
	case KEY_STACK:
		return r->extra;
	default:
		return rows->private->parent_key ? rows->private->parents.data[r->extra].extra : r->extra;
	}
}

void classes_source(const struct rows *rows, unsigned int domain, uint32_t class, const struct key *key, struct key_source *ret)
{
	const struct classes *classes = &rows->private->classes[domain];
	source_of(rows, domain, classes->representatives.data[class], ret);
	if (domain != CLASS_EXTRA)
		return;
	uint32_t entry = classes->entries.data[class];
	ret->entry = &rows->fold->entries[entry];
	ret->record = rows->fold->details ? rows->fold->details[entry].first : NULL;
	unsigned int k = 0;
	while (k + 1 < classes->key_count && classes->keys[k] != key)
		k++;
	ret->words += k;
	if (key->string)
		ret->string = (const char *)(uintptr_t)classes->words.data[(size_t) class * classes->key_count + k];
}

/* Ranks: the number of smaller distinct values. */

struct ranked {
	const char *string;
	int64_t number;
	uint32_t class;
};

static int by_string(const void *a, const void *b)
{
	const char *x = ((const struct ranked *)a)->string, *y = ((const struct ranked *)b)->string;
	if (x == y)
		return 0;
	if (!x || !y)
		return x ? -1 : 1;
	return strcmp(x, y);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = ((const struct ranked *)a)->number, y = ((const struct ranked *)b)->number;
	return (x > y) - (x < y);
}

/* Strings repeat a lot and are interned or immutable: each pointer is sorted once. */
static void rank_strings(struct ranked *values, size_t count, uint32_t *ranks)
{
	struct map64 seen = {0};
	VEC(struct ranked) distinct = {0};
	for (size_t i = 0; i < count; i++) {
		bool new;
		map64_insert(&seen, (uintptr_t)values[i].string, &new);
		if (new)
			vec_push(&distinct, values[i]);
	}
	if (distinct.len)
		qsort(distinct.data, distinct.len, sizeof(*distinct.data), by_string);
	uint32_t rank = 0;
	for (size_t i = 0; i < distinct.len; i++) {
		if (i && by_string(&distinct.data[i - 1], &distinct.data[i]))
			rank++;
		*map64_find(&seen, (uintptr_t)distinct.data[i].string) = rank;
	}
	for (size_t i = 0; i < count; i++)
		ranks[values[i].class] = (uint32_t)*map64_find(&seen, (uintptr_t)values[i].string);
	vec_deinit(&distinct);
	map64_deinit(&seen);
}

static void rank_numbers(struct ranked *values, size_t count, uint32_t *ranks)
{
	qsort(values, count, sizeof(*values), by_number);
	uint32_t rank = 0;
	for (size_t i = 0; i < count; i++) {
		if (i && values[i - 1].number != values[i].number)
			rank++;
		ranks[values[i].class] = rank;
	}
}

/* A bitmap of classes: those that rows in `order` have. */
static uint64_t *ordered_classes(const struct rows *rows, const struct key *key, size_t count)
{
	uint64_t *wanted = mem_zalloc_array(count / 64 + 1, sizeof(*wanted));
	for (size_t i = 0; i < rows->shown_count; i++)
		set_bit(wanted, classes_of_row(rows, rows->order[i], key));
	return wanted;
}

/* `wanted` NULL: all classes. */
static uint32_t *rank_key(struct rows *rows, unsigned int domain, const struct key *key, const uint64_t *wanted)
{
	size_t classes = rows->private->classes[domain].representatives.len, count = 0;
	struct ranked *values = mem_alloc_array(classes + 1, sizeof(*values));
	uint32_t *ranks = mem_zalloc_array(classes + 1, sizeof(*ranks));
	for (size_t i = 0; i < classes; i++) {
		struct key_source source;
		if (wanted && !bit(wanted, i))
			continue;
		classes_source(rows, domain, (uint32_t)i, key, &source);
		struct ranked *value = &values[count++];
		*value = (struct ranked){.class = (uint32_t)i};
		if (key->string)
			value->string = source.string ? source.string : key->string(rows->context, key, &source);
		else
			value->number = key->number(rows->context, key, &source);
	}
	if (key->string)
		rank_strings(values, count, ranks);
	else
		rank_numbers(values, count, ranks);
	free(values);
	if (key->flags & KEY_DESCENDING)
		for (size_t i = 0; i < classes; i++)
			ranks[i] = UINT32_MAX - ranks[i];
	return ranks;
}

void classes_rank(struct rows *rows, bool ordered_only)
{
	struct rows_private *private = rows->private;
	for (unsigned int d = 0; d < CLASS_DOMAINS; d++) {
		struct classes *classes = &private->classes[d];
		for (unsigned int k = 0; k < classes->key_count; k++) {
			const struct key *key = classes->keys[k];
			uint64_t *wanted = ordered_only ? ordered_classes(rows, key, classes->representatives.len) : NULL;
			classes->ranks[k] = rank_key(rows, d, key, wanted);
			free(wanted);
		}
	}
	if (!private->parent_key)
		return;
	size_t count = private->parents.len;
	struct ranked *values = mem_alloc_array(count + 1, sizeof(*values));
	private->parent_ranks = mem_alloc_array(count + 1, sizeof(*private->parent_ranks));
	for (size_t i = 0; i < count; i++)
		values[i] = (struct ranked){.class = (uint32_t)i,
					    .string = private->parents.data[i].parent ? private->parents.data[i].parent->name : NULL};
	rank_strings(values, count, private->parent_ranks);
	free(values);
}
