/* The tracker of waits, and its rows (contention.h). */
#include "analysis/lock/contention.h"

#include "analysis/stack.h"
#include "analysis/tracker.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* Where functions of locks are: [begin, end). */
struct section {
	uint64_t begin, end;
};

struct wait {
	uint64_t key;
	struct lock_row *row; /* NULL = unused */
	uint64_t since;
};

/* What counts of a stack, so that one that comes again needs not be looked at. */
struct known_stack {
	uint64_t hash; /* of the row's key, LOCK_BY_CALLER */
	bool is_chosen;
};

/* Few rows have most waits, and few threads wait at a time. */
enum { RECENT_ROWS = 256, WAITS = 256 };

struct recent_row {
	uint64_t key;
	struct lock_row *row; /* NULL = unused */
};

struct lock_contention {
	struct session *session;
	struct resolver *resolver;
	struct lock_options options;
	struct tracker *tracker;
	struct section sections[2];
	bool sections_known;
	struct stack stack;    /* addresses only */
	struct map64 by_chain; /* stack_chain_key_of() → in `stacks` */
	VEC(struct known_stack) stacks;
	struct arena arena;
	struct lock_rows rows;
	struct map64 rows_by_key;   /* by hash of what the row is about */
	struct wait waiting[WAITS]; /* by hash of thread and lock; … */
	struct map64 also_waiting;  /* … where another one has its place → struct wait * */
	VEC(struct wait *) free_waits;
	struct recent_row recent[RECENT_ROWS];
	bool lacks_cgroups; /* they are asked for, and a sample has none */
};

enum { ADDRESS, FLAGS, CHAIN };

static bool depends_on_stacks(const struct lock_contention *contention)
{
	return contention->options.by == LOCK_BY_CALLER || contention->options.function_count;
}

/* ---- stacks ---- */

/* The kernel's linker script puts these labels around the sections. */
static void find_sections(struct lock_contention *contention)
{
	static const char *const labels[2][2] = {{"__sched_text_start", "__sched_text_end"}, {"__lock_text_start", "__lock_text_end"}};
	const struct machine *machine = contention->session->machine;
	if (contention->sections_known || !machine->kernel)
		return;
	contention->sections_known = true;
	const struct symtab *symtab = resolver_symtab(contention->resolver, machine->kernel);
	for (size_t i = 0; i < 2; i++) {
		const struct symbol *begin = symtab_by_name(symtab, labels[i][0]), *end = symtab_by_name(symtab, labels[i][1]);
		if (begin && end)
			contention->sections[i] = (struct section){begin->start, end->start};
	}
}

static bool is_lock_function(const struct lock_contention *contention, uint64_t ip)
{
	for (size_t i = 0; i < 2; i++)
		if (ip >= contention->sections[i].begin && ip < contention->sections[i].end)
			return true;
	return false;
}

static void resolve(const struct lock_contention *contention, const struct tracker_event *event, const struct frame *at, struct frame *ret)
{
	const struct machine *machine = contention->session->machine;
	const struct thread *thread =
		machine_thread_or_new(contention->session->machine, event->pid, event->tid, event->record->model_time);
	resolver_frame(contention->resolver, machine_maps(machine, thread, at->cpumode), at->cpumode, at->ip, event->record->model_time,
		       ret);
}

/* Of the frames behind those to skip, without lock functions; 0 when there are none. */
static uint64_t hash_stack(const struct lock_contention *contention)
{
	uint64_t hash = 0;
	for (size_t i = contention->options.stack_skip; i < contention->stack.frames.len; i++) {
		uint64_t ip = contention->stack.frames.data[i].ip;
		if (!is_lock_function(contention, ip))
			hash = hash_combine(hash, ip);
	}
	return hash;
}

static void read_stack(struct lock_contention *contention, const struct tracker_event *event)
{
	const struct machine *machine = contention->session->machine;
	const struct stack_options options = {.max_depth = contention->options.max_stack};
	find_sections(contention);
	stack_addresses(contention->resolver, machine, NULL, event->record->event, tracker_sample(event), event->record->model_time,
			&options, &contention->stack);
	if (!(event->record->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		contention->stack.frames.len = 0;
}

/* ---- filters ---- */

static bool is_chosen_lock(const struct lock_contention *contention, uint64_t address)
{
	const struct lock_options *options = &contention->options;
	uint64_t start;
	const struct symbol *symbol = options->name_count ? resolver_kernel_symbol(contention->resolver, address, &start) : NULL;
	return lock_is_chosen_lock(options, address, symbol ? symbol->name : NULL);
}

static bool is_chosen_stack(const struct lock_contention *contention, const struct tracker_event *event)
{
	const struct lock_options *options = &contention->options;
	for (size_t i = 0; options->function_count && i < contention->stack.frames.len; i++) {
		struct frame frame;
		resolve(contention, event, &contention->stack.frames.data[i], &frame);
		if (frame.symbol && lock_is_chosen_function(options, frame.symbol->name))
			return true;
	}
	return !options->function_count;
}

static bool is_chosen(const struct lock_contention *contention, const struct tracker_event *event, uint64_t address, uint64_t flags)
{
	return lock_is_chosen_wait(&contention->options, contention->session->machine, event, flags) && is_chosen_lock(contention, address);
}

static struct known_stack look_at_stack(struct lock_contention *contention, const struct tracker_event *event)
{
	read_stack(contention, event);
	return (struct known_stack){
		contention->options.by == LOCK_BY_CALLER ? hash_stack(contention) : 0,
		is_chosen_stack(contention, event),
	};
}

static struct known_stack know_stack(struct lock_contention *contention, const struct tracker_event *event)
{
	uint64_t hash = event->values[CHAIN], time = event->record->model_time;
	bool is_new;
	if (!hash)
		return look_at_stack(contention, event);
	const struct thread *thread = hash & 1 ? machine_thread_or_new(contention->session->machine, event->pid, event->tid, time) : NULL;
	uint64_t key = stack_chain_key_of(thread, hash, time);
	uint64_t *place = map64_insert(&contention->by_chain, key, &is_new);
	if (is_new) {
		*place = contention->stacks.len;
		vec_push(&contention->stacks, look_at_stack(contention, event));
	}
	return contention->stacks.data[*place];
}

/* ---- waits ---- */

static void describe(struct lock_contention *contention, const struct tracker_event *event, struct lock_row *row)
{
	uint64_t start;
	const struct symbol *symbol = resolver_kernel_symbol(contention->resolver, row->address, &start);
	size_t count = contention->stack.frames.len;
	struct lock_frame *frames = arena_alloc(&contention->arena, count * sizeof(*frames));
	row->symbol = symbol ? arena_strdup(&contention->arena, symbol->name) : "";
	row->name = NULL;
	for (size_t i = 0; i < count; i++) {
		struct frame frame;
		resolve(contention, event, &contention->stack.frames.data[i], &frame);
		frames[i] = (struct lock_frame){frame.ip, lock_name_frame(&contention->arena, &frame)};
		if (!row->name && i >= contention->options.stack_skip && frame.symbol && !is_lock_function(contention, frame.ip))
			row->name = frames[i].name;
	}
	if (!row->name)
		row->name = "Unknown";
	row->stack = frames;
	row->stack_len = count;
}

static struct lock_row *find_row(struct lock_contention *contention, const struct tracker_event *event, const struct known_stack *stack,
				 uint64_t address, uint64_t flags)
{
	const struct thread *thread = NULL;
	uint64_t key = address;
	if (contention->options.by == LOCK_BY_CALLER) {
		key = stack->hash;
	} else if (contention->options.by == LOCK_BY_THREAD) {
		thread = machine_thread_or_new(contention->session->machine, event->pid, event->tid, event->record->model_time);
		key = (uintptr_t)thread;
	} else if (contention->options.by == LOCK_BY_CGROUP) {
		key = tracker_sample(event)->cgroup;
	}
	bool is_new;
	struct recent_row *recent = &contention->recent[(key ^ key >> 6 ^ key >> 12) % RECENT_ROWS];
	if (recent->row && recent->key == key)
		return recent->row;
	uint64_t *slot = map64_insert(&contention->rows_by_key, key, &is_new);
	struct lock_row *row = is_new ? arena_zalloc(&contention->arena, sizeof(*row)) : (void *)(uintptr_t)*slot;
	*recent = (struct recent_row){key, row};
	if (!is_new)
		return row;
	*slot = (uintptr_t)row;
	*row = (struct lock_row){.thread = thread, .cgroup = tracker_sample(event)->cgroup, .address = address, .flags = flags};
	read_stack(contention, event);
	describe(contention, event, row);
	vec_push(&contention->rows.all, row);
	return row;
}

/* Each CPU's idle task has the id 0. */
static uint64_t wait_key(const struct tracker_event *event, uint64_t address)
{
	return hash_combine(event->tid ? event->tid : 1ull << 32 | event->cpu, address);
}

/* Of the thread that waits for the lock; NULL: it does already. To be filled. */
static struct wait *begin_wait(struct lock_contention *contention, uint64_t key)
{
	struct wait *wait = &contention->waiting[key % WAITS];
	bool is_new;
	if (wait->row && wait->key == key)
		return NULL;
	if (!wait->row && (!contention->also_waiting.count || !map64_find(&contention->also_waiting, key)))
		return wait;
	uint64_t *slot = map64_insert(&contention->also_waiting, key, &is_new);
	if (!is_new)
		return NULL;
	wait = contention->free_waits.len ? contention->free_waits.data[--contention->free_waits.len]
					  : arena_alloc(&contention->arena, sizeof(*wait));
	*slot = (uintptr_t)wait;
	return wait;
}

static bool end_wait(struct lock_contention *contention, uint64_t key, struct wait *ret)
{
	struct wait *wait = &contention->waiting[key % WAITS];
	if (wait->row && wait->key == key) {
		*ret = *wait;
		wait->row = NULL;
		return true;
	}
	const uint64_t *slot = contention->also_waiting.count ? map64_find(&contention->also_waiting, key) : NULL;
	if (!slot)
		return false;
	wait = (void *)(uintptr_t)*slot;
	*ret = *wait;
	map64_remove(&contention->also_waiting, key);
	vec_push(&contention->free_waits, wait);
	return true;
}

static void on_begin(void *context, const struct tracker_event *event)
{
	struct lock_contention *contention = context;
	uint64_t address = event->values[ADDRESS], flags = event->values[FLAGS];
	if ((contention->options.by == LOCK_BY_CGROUP || contention->options.cgroup_count) &&
	    !(event->record->event->attr.sample_type & PERF_SAMPLE_CGROUP))
		contention->lacks_cgroups = true;
	if (!is_chosen(contention, event, address, flags))
		return;
	const struct known_stack stack =
		depends_on_stacks(contention) ? know_stack(contention, event) : (struct known_stack){.is_chosen = true};
	if (!stack.is_chosen)
		return;
	uint64_t key = wait_key(event, address);
	struct wait *wait = begin_wait(contention, key);
	if (!wait)
		return;
	*wait = (struct wait){key, find_row(contention, event, &stack, address, flags), event->time};
	wait->row->contended++;
}

static void on_end(void *context, const struct tracker_event *event)
{
	struct lock_contention *contention = context;
	struct wait wait;
	if (!end_wait(contention, wait_key(event, event->values[ADDRESS]), &wait))
		return;
	wait.row->acquired++;
	lock_row_add_wait(wait.row, event->time > wait.since ? event->time - wait.since : 0);
}

#define END                                                              \
	{                                                                \
		"lock:contention_end", {[ADDRESS] = "lock_addr"}, on_end \
	}
static const struct tracker_handler handlers[] = {
	{"lock:contention_begin", {[ADDRESS] = "lock_addr", [FLAGS] = "flags"}, on_begin},
	END,
	{0},
};
static const struct tracker_handler handlers_by_stack[] = {
	{"lock:contention_begin", {[ADDRESS] = "lock_addr", [FLAGS] = "flags", [CHAIN] = TRACKER_CHAIN}, on_begin},
	END,
	{0},
};

struct lock_contention *lock_contention_create(struct session *session, struct resolver *resolver, const struct lock_options *options)
{
	struct lock_contention *contention = mem_zalloc(sizeof(*contention));
	contention->session = session;
	contention->resolver = resolver;
	contention->options = *options;
	contention->tracker = tracker_create(session, depends_on_stacks(contention) ? handlers_by_stack : handlers, contention);
	tracker_digest_ahead(contention->tracker);
	return contention;
}

struct error *lock_contention_run(struct lock_contention *contention)
{
	return tracker_run(contention->tracker);
}

void lock_contention_destroy(struct lock_contention *contention)
{
	if (!contention)
		return;
	tracker_destroy(contention->tracker);
	stack_deinit(&contention->stack);
	lock_rows_deinit(&contention->rows);
	vec_deinit(&contention->free_waits);
	map64_deinit(&contention->rows_by_key);
	map64_deinit(&contention->also_waiting);
	map64_deinit(&contention->by_chain);
	vec_deinit(&contention->stacks);
	arena_deinit(&contention->arena);
	free(contention);
}

void lock_contention_take(struct lock_contention *contention, const struct record *record)
{
	tracker_give(contention->tracker, record);
}

struct error *lock_contention_require(const struct lock_contention *contention)
{
	static const char recorder[] = "perf lock record";
	struct error *error = tracker_require(contention->tracker, "lock:contention_begin", recorder);
	if (!error)
		error = tracker_require(contention->tracker, "lock:contention_end", recorder);
	if (!error && contention->lacks_cgroups)
		error = error_new("the recording contains no cgroups; record with '%s --all-cgroups'", recorder);
	return error;
}

struct lock_rows *lock_contention_rows(struct lock_contention *contention)
{
	return &contention->rows;
}
