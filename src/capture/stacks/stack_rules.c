/* Which rules the walking program is given, and when: before it runs those of what is going to run, then those that copies of stacks have
 * told of, and those of code that has just been mapped. Of a large file only those parts are read that stacks meet. */
#include "capture/stacks/stack_walker_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/text.h"
#include "capture/python/python_layout.h"
#include "unwind/file_rows.h"
#include "unwind/tables.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)USER_STACKS_SP == WALK_SP && (int)USER_STACKS_FP == WALK_FP && (int)USER_STACKS_OTHER == WALK_OTHER &&
		       (int)USER_STACKS_END == WALK_END && (int)USER_STACKS_NONE == WALK_NONE && (int)USER_STACKS_THIRD == WALK_THIRD &&
		       (int)USER_STACKS_ALIGNED == WALK_ALIGNED && (int)USER_STACKS_STUB == WALK_STUB &&
		       (int)USER_STACKS_WIDE == WALK_WIDE && (int)USER_STACKS_SWITCH == WALK_SWITCH &&
		       (int)USER_STACKS_AT_PLACE == WALK_GOES_ON_AT_PLACE && (int)USER_STACKS_BEGINS_THREAD == WALK_BEGINS_THREAD &&
		       (int)USER_STACKS_SIGNAL == WALK_SIGNAL && (int)USER_STACKS_SAME == WALK_SAME && (int)USER_STACKS_LOST == WALK_LOST &&
		       (int)USER_STACKS_MORE_LOST == WALK_MORE_LOST && (int)USER_STACKS_UNIT == WALK_UNIT,
	       "the program's rows mean what those that it is given do");
_Static_assert(sizeof(struct user_stacks_row) == sizeof(struct walk_row) &&
		       offsetof(struct user_stacks_row, ip) == offsetof(struct walk_row, ip) &&
		       offsetof(struct user_stacks_row, more) == offsetof(struct walk_row, more),
	       "and lie as they do");

void stack_walker_explain(enum user_stacks_added added, const char *file, uint64_t memory, const char *more, struct strbuf *out)
{
	if (added == USER_STACKS_NO_ROOM)
		strbuf_printf(out, "no room for more than %.1f MB of unwind rules, such as of ", (double)memory / 1048576);
	else
		strbuf_printf(out, "no room for the unwind rules of more than %d files, such as ", USER_STACKS_FILES);
	text_add_safe(out, file, strlen(file));
	strbuf_add_str(out, ": its stacks are copied, and unwound by the recorder, which takes more time and larger buffers");
	if (added != USER_STACKS_NO_ROOM || memory >= USER_STACKS_MEMORY)
		return;
	if (more)
		strbuf_printf(out, ". More room for rules: %s", more);
	else
		strbuf_printf(out, ". More room for rules: --unwind-memory, up to %d MB", USER_STACKS_MEMORY >> 20);
}

static void complain(struct stack_walker *walker, const struct wanted_rules *wanted, enum user_stacks_added added)
{
	struct strbuf text = {0};

	walker->crowded |= added == USER_STACKS_TOO_MANY;
	if (added == USER_STACKS_ADDED || walker->full)
		return;
	walker->full = true;
	if (walker->told)
		return;
	walker->told = true;
	stack_walker_explain(added, wanted->dso ? wanted->dso->name : "[unknown]", walker->memory, walker->more_memory, &text);
	log_warning("%s", strbuf_str(&text));
	strbuf_deinit(&text);
}

static void want_part(struct wanted_rules *wanted, uint64_t place)
{
	uint64_t part = (place - wanted->begin) / wanted->part;

	if (place < wanted->begin || place >= wanted->end || wanted->noted[part])
		return;
	wanted->noted[part] = 1;
	vec_push(&wanted->parts, (uint32_t)part);
}

/* Tells the program of the file, which asks for rows from now on. */
static void enter(struct stack_walker *walker, struct resolver *resolver, struct wanted_rules *wanted)
{
	enum { ALIGN = 1 << USER_STACKS_BLOCK_BITS };
	struct user_stacks_interpreter interpreter;
	bool has_python = walker->python && wanted->dso && python_layout_describe(resolver, wanted->dso, &interpreter);

	if (!wanted->dso || !file_rows_extent(resolver, wanted->dso, ALIGN, &wanted->begin, &wanted->end))
		wanted->begin = wanted->end = 0;
	wanted->part = walker->lazy ? LAZY_PART : PART;
	wanted->noted = mem_zalloc((wanted->end - wanted->begin) / wanted->part + 1);
	wanted->entered = true;
	complain(walker, wanted,
		 bpf_user_stacks_add(walker->program, &wanted->file, wanted->begin, wanted->end, has_python ? &interpreter : NULL,
				     &wanted->code));
	if (!wanted->code.blocks)
		wanted->end = wanted->begin;
	bool wholly = !walker->lazy && wanted->end - wanted->begin <= ALL_OF;
	for (uint64_t place = wanted->begin; wholly && place < wanted->end; place += PART)
		if (wanted->asked - place >= PART)
			want_part(wanted, place);
	want_part(wanted, wanted->asked);
}

/* Returns its end. */
static uint64_t place_of_part(const struct wanted_rules *wanted, uint32_t part, uint64_t *ret_begin)
{
	*ret_begin = wanted->begin + (uint64_t)part * wanted->part;
	return *ret_begin + wanted->part < wanted->end ? *ret_begin + wanted->part : wanted->end;
}

static void give_rows(struct stack_walker *walker, struct wanted_rules *wanted, const struct file_rows *rows, uint64_t begin, uint64_t end)
{
	complain(walker, wanted,
		 bpf_user_stacks_fill(walker->program, &wanted->code, (const void *)rows->rows.data, rows->rows.len, begin, end));
	wanted->rows += rows->rows.len;
}

static void give_part(struct stack_walker *walker, struct resolver *resolver, struct wanted_rules *wanted, uint32_t part)
{
	struct file_rows rows = {0};
	uint64_t begin, end = place_of_part(wanted, part, &begin);

	file_rows_collect(resolver, wanted->dso, begin, end, &rows);
	give_rows(walker, wanted, &rows, begin, end);
	file_rows_deinit(&rows);
}

static void list(struct stack_walker *walker, struct wanted_rules *wanted)
{
	if (!wanted->listed)
		vec_push(&walker->working, (size_t)(wanted - walker->wanted.data));
	wanted->listed = true;
}

/* A file that the machine had forgotten is there again. */
static void know_again(struct stack_walker *walker, struct wanted_rules *wanted, struct dso *dso)
{
	struct wanted_rules *first = &walker->wanted.data[wanted->first];

	wanted->dso = dso;
	if (first->dso && first->dso != dso)
		return;
	first->dso = dso;
	*map64_insert(&walker->by_dso, (uintptr_t)dso, NULL) = wanted->first;
}

/* On overlayfs the kernel tells one identity of a file in its records, as programs see it, and maps another. */
static struct wanted_rules *add_wanted(struct stack_walker *walker, const struct user_stacks_file *file, struct dso *dso, bool *ret_new)
{
	uint64_t *at = map64_insert(&walker->noted, hash_bytes(file, sizeof(*file)), ret_new);
	bool is_first;

	if (*ret_new) {
		*at = walker->wanted.len;
		uint64_t *first = map64_insert(&walker->by_dso, (uintptr_t)dso, &is_first);
		if (is_first)
			*first = *at;
		vec_push(&walker->wanted, ((struct wanted_rules){.file = *file, .dso = dso, .first = *first}));
		list(walker, vec_last(&walker->wanted));
	} else if (!walker->wanted.data[*at].dso) {
		know_again(walker, &walker->wanted.data[*at], dso);
	}
	return &walker->wanted.data[*at];
}

void stack_walker_note(struct stack_walker *walker, const struct user_stacks_copy *copy, struct dso *dso, uint64_t place)
{
	bool is_new;

	if (walker->crowded && !map64_find(&walker->noted, hash_bytes(&copy->file, sizeof(copy->file))))
		return;
	struct wanted_rules *wanted = add_wanted(walker, &copy->file, dso, &is_new), *first = &walker->wanted.data[wanted->first];

	list(walker, first);
	if (first->entered)
		want_part(first, place);
	else if (is_new)
		first->asked = place;
	first->copies++;
	first->waiting++;
	wanted->waiting += wanted != first;
}

void stack_walker_note_code(struct stack_walker *walker, struct dso *dso, uint64_t place)
{
	const uint64_t *at = map64_find(&walker->by_dso, (uintptr_t)dso);

	if (!at || !walker->wanted.data[*at].entered)
		return;
	want_part(&walker->wanted.data[*at], place);
	list(walker, &walker->wanted.data[*at]);
}

static bool has_work(const struct wanted_rules *wanted)
{
	return wanted->dso && (!wanted->entered || wanted->parts.len);
}

/* Most copies are spared by the rows of this one. NULL: there is none left. */
static struct wanted_rules *most_wanted(struct stack_walker *walker)
{
	struct wanted_rules *most = NULL;

	for (size_t i = 0; i < walker->working.len;) {
		struct wanted_rules *wanted = &walker->wanted.data[walker->working.data[i]];
		wanted->listed = has_work(wanted);
		if (!wanted->listed) {
			walker->working.data[i] = walker->working.data[--walker->working.len];
			continue;
		}
		if (!most || wanted->waiting > most->waiting)
			most = wanted;
		i++;
	}
	return most;
}

static void debug_rows(const struct stack_walker *walker, const struct wanted_rules *wanted)
{
	struct strbuf file = {0};

	if (log_level() < LOG_DEBUG)
		return;
	if (wanted->dso)
		text_add_safe(&file, wanted->dso->name, strlen(wanted->dso->name));
	log_debug("stacks: %zu unwind rules of %s after %llu copies, %llu KB for all", wanted->rows, strbuf_str(&file),
		  (unsigned long long)wanted->copies, (unsigned long long)bpf_user_stacks_memory(walker->program) >> 10);
	strbuf_deinit(&file);
}

void stack_walker_expect(struct stack_walker *walker, struct dso *dso)
{
	bool is_new;

	if (walker->lazy || dso->kind != DSO_FILE || !dso->inode)
		return;
	map64_insert(&walker->met, (uintptr_t)dso, &is_new);
	if (is_new)
		vec_push(&walker->expected, dso);
}

/* Takes out those dsos, keys of the map, that go. */
static void carry_keys(struct map64 *dsos, const struct carrying *carrying)
{
	VEC(uint64_t) gone = {0};

	map64_each (slot, dsos)
		if (!machine_keeps_file(carrying, (const struct dso *)(uintptr_t)slot->key))
			vec_push(&gone, slot->key);
	for (size_t i = 0; i < gone.len; i++)
		map64_remove(dsos, gone.data[i]);
	vec_deinit(&gone);
}

void stack_walker_carry(struct stack_walker *walker, const struct carrying *carrying)
{
	size_t kept = 0;

	for (size_t i = 0; i < walker->wanted.len; i++) {
		struct wanted_rules *wanted = &walker->wanted.data[i];
		if (!wanted->dso || machine_keeps_file(carrying, wanted->dso))
			continue;
		wanted->dso = NULL;
		while (wanted->parts.len) /* asked for again when a stack meets them */
			wanted->noted[wanted->parts.data[--wanted->parts.len]] = 0;
	}
	for (size_t i = 0; i < walker->expected.len; i++)
		if (machine_keeps_file(carrying, walker->expected.data[i]))
			walker->expected.data[kept++] = walker->expected.data[i];
	walker->expected.len = kept;
	carry_keys(&walker->by_dso, carrying);
	carry_keys(&walker->met, carrying);
}

/* What the program is going to know the file by, as our own mapping of it shows; false: there is no such file. */
static bool find_identity(const struct stack_walker *walker, struct resolver *resolver, struct dso *dso, struct user_stacks_file *ret)
{
	if (dso->kind == DSO_VDSO) {
		*ret = (struct user_stacks_file){.inode = USER_STACKS_VDSO};
		return true;
	}
	const struct unwind_tables *tables = resolver_attachment(resolver, dso, unwind_tables_make, unwind_tables_destroy);
	return stack_walker_identify(walker, tables->runtime.mapping.data, ret);
}

/* The next one that is expected and not known yet; NULL: there is none. */
static struct wanted_rules *next_expected(struct stack_walker *walker, struct resolver *resolver)
{
	enum { LARGEST = 16 << 20 };

	if (walker->crowded)
		walker->expected.len = 0;
	while (walker->expected.len) {
		struct dso *dso = walker->expected.data[--walker->expected.len];
		struct user_stacks_file file;
		bool is_new;
		if (!find_identity(walker, resolver, dso, &file) || file.size > LARGEST)
			continue;
		struct wanted_rules *wanted = add_wanted(walker, &file, dso, &is_new);
		if (is_new)
			return wanted;
	}
	return NULL;
}

static void add_identity(struct stack_walker *walker, struct resolver *resolver, struct wanted_rules *wanted)
{
	struct wanted_rules *first = &walker->wanted.data[wanted->first];

	if (!first->entered)
		enter(walker, resolver, first);
	if (!bpf_user_stacks_add_name(walker->program, &wanted->file, &first->file))
		complain(walker, wanted, USER_STACKS_TOO_MANY);
	wanted->entered = true;
	wanted->waiting = 0;
}

static void learn(struct stack_walker *walker, struct resolver *resolver, struct wanted_rules *wanted)
{
	if (wanted->first != (size_t)(wanted - walker->wanted.data)) {
		add_identity(walker, resolver, wanted);
		return;
	}
	if (!wanted->entered)
		enter(walker, resolver, wanted);
	if (wanted->parts.len)
		give_part(walker, resolver, wanted, wanted->parts.data[--wanted->parts.len]);
	if (wanted->parts.len)
		return;
	debug_rows(walker, wanted);
	wanted->waiting = 0;
}

void stack_walker_clear_wanted(struct stack_walker *walker)
{
	for (size_t i = 0; i < walker->wanted.len; i++) {
		free(walker->wanted.data[i].noted);
		vec_deinit(&walker->wanted.data[i].parts);
	}
	vec_deinit(&walker->wanted);
	vec_deinit(&walker->working);
	vec_deinit(&walker->expected);
	map64_deinit(&walker->noted);
	map64_deinit(&walker->by_dso);
	map64_deinit(&walker->met);
}

/* What runs for days meets more files than there is room for: those that are no longer run make room for others. */
static void renew(struct stack_walker *walker)
{
	const uint64_t every_ns = UINT64_C(600) * 1000000000;
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC);

	if (!walker->lazy || !walker->full || now - walker->renewed_ns < every_ns)
		return;
	log_debug("stacks: all unwind rules make room for those that are needed now");
	stack_walker_clear_wanted(walker);
	bpf_user_stacks_clear(walker->program);
	walker->renewed_ns = now;
	walker->full = walker->crowded = false;
}

/* All that stacks were copied for comes before the next look into the rings, where there are more of them meanwhile, each to be unwound. */
bool stack_walker_learn(struct stack_walker *walker, struct resolver *resolver)
{
	enum { AT_ONCE = 32 };

	renew(walker);
	struct wanted_rules *wanted = most_wanted(walker);

	if (!wanted)
		wanted = next_expected(walker, resolver);
	if (!wanted)
		return false;
	learn(walker, resolver, wanted);
	for (int i = 1; i < AT_ONCE && (wanted = most_wanted(walker)) && wanted->waiting; i++)
		learn(walker, resolver, wanted);
	return true;
}

/* ---- before it runs ---- */

struct reading_ahead {
	struct stack_walker *walker;
	struct resolver *resolver;
	const struct stack_walker_ahead *ahead;
	pthread_mutex_t lock; /* of all below, and of the walker */
	uint64_t estimate;    /* of rows */
	uint64_t rows;	      /* that were given */
	size_t files;	      /* that were read to their ends */
};

static bool is_over(const struct reading_ahead *reading)
{
	return clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) >= reading->ahead->until_ns;
}

/* pool_run()'s: opens a file. A row takes about 8 bytes of call frame information. */
static void open_file(void *context, unsigned int worker, size_t item)
{
	enum { PER_ROW = 8 };
	struct reading_ahead *reading = context;

	if (is_over(reading))
		return;
	const struct unwind_tables *tables =
		resolver_attachment(reading->resolver, reading->ahead->dsos[item], unwind_tables_make, unwind_tables_destroy);
	pthread_mutex_lock(&reading->lock);
	for (int i = 0; i < UNWIND_SECTIONS && (item < reading->ahead->wholly || tables->runtime.size <= ALL_OF); i++)
		reading->estimate += tables->sections[i].size / PER_ROW;
	pthread_mutex_unlock(&reading->lock);
}

/* All of a large file too, from its beginning on. */
static void want_all(struct wanted_rules *wanted)
{
	for (uint64_t place = wanted->end; place > wanted->begin;) {
		place = (place - 1 - wanted->begin) / PART * PART + wanted->begin;
		want_part(wanted, place);
	}
}

/* Whether there is something to do. */
static bool begin_file(struct reading_ahead *reading, size_t item, size_t *ret_number)
{
	struct stack_walker *walker = reading->walker;
	struct dso *dso = reading->ahead->dsos[item];
	struct user_stacks_file file;
	bool is_new;

	if (!find_identity(walker, reading->resolver, dso, &file))
		return false;
	pthread_mutex_lock(&reading->lock);
	struct wanted_rules *wanted = add_wanted(walker, &file, dso, &is_new);
	*ret_number = wanted - walker->wanted.data;
	is_new &= wanted->first == *ret_number;
	if (is_new) {
		enter(walker, reading->resolver, wanted);
		if (item < reading->ahead->wholly)
			want_all(wanted);
	}
	pthread_mutex_unlock(&reading->lock);
	return is_new;
}

/* Half of the memory is for what comes while the program runs. */
static bool have_room(const struct reading_ahead *reading, size_t more)
{
	return (reading->rows + more) * sizeof(struct user_stacks_row) <= reading->walker->memory / 2;
}

/* One part of a file; false: there are no more, or no more should be read. What isn't read stack by stack asks for. */
static bool read_part(struct reading_ahead *reading, size_t number)
{
	enum { BLOCK = 1 << USER_STACKS_BLOCK_BITS };
	struct stack_walker *walker = reading->walker;
	struct file_rows rows = {0};
	uint32_t part = 0;

	pthread_mutex_lock(&reading->lock);
	struct wanted_rules wanted = walker->wanted.data[number];
	if (wanted.parts.len)
		part = wanted.parts.data[wanted.parts.len - 1];
	pthread_mutex_unlock(&reading->lock);
	if (!wanted.parts.len)
		return false;
	uint64_t begin, end = place_of_part(&wanted, part, &begin);
	file_rows_collect(reading->resolver, wanted.dso, begin, end, &rows);
	pthread_mutex_lock(&reading->lock);
	struct wanted_rules *now = &walker->wanted.data[number];
	size_t count = rows.rows.len + (end - begin) / BLOCK;
	bool good = have_room(reading, count);
	if (good) {
		now->parts.len--;
		give_rows(walker, now, &rows, begin, end);
		reading->rows += count;
	}
	pthread_mutex_unlock(&reading->lock);
	file_rows_deinit(&rows);
	return good;
}

static void end_file(struct reading_ahead *reading, size_t number)
{
	pthread_mutex_lock(&reading->lock);
	struct wanted_rules *wanted = &reading->walker->wanted.data[number];
	reading->files += !wanted->parts.len;
	if (!wanted->parts.len)
		debug_rows(reading->walker, wanted);
	while (wanted->parts.len)
		wanted->noted[wanted->parts.data[--wanted->parts.len]] = 0;
	pthread_mutex_unlock(&reading->lock);
}

/* pool_run()'s. */
static void read_file(void *context, unsigned int worker, size_t item)
{
	struct reading_ahead *reading = context;
	size_t number;

	if (is_over(reading) || !begin_file(reading, item, &number))
		return;
	while (!is_over(reading) && read_part(reading, number))
		;
	end_file(reading, number);
}

size_t stack_walker_read_ahead(struct stack_walker *walker, struct resolver *resolver, const struct stack_walker_ahead *ahead)
{
	struct reading_ahead reading = {.walker = walker, .resolver = resolver, .ahead = ahead, .lock = PTHREAD_MUTEX_INITIALIZER};
	unsigned int jobs = pool_default_jobs();

	pool_run(jobs, ahead->count, open_file, &reading);
	uint64_t most = walker->memory / 2 / sizeof(struct user_stacks_row);
	bpf_user_stacks_reserve(walker->program, reading.estimate < most ? reading.estimate : most);
	pool_run(jobs, ahead->count, read_file, &reading);
	return reading.files;
}
