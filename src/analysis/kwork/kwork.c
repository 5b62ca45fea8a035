/* The tracker of the kernel's own work (kwork.h). */
#include "analysis/kwork/kwork.h"

#include "analysis/kwork/soft_names.h"
#include "analysis/tracker.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { RECENT = 1024 };

struct kwork_tracker {
	struct session *session;
	struct resolver *resolver;
	const struct kwork_options *options;
	struct kwork *kwork;
	struct map64 works;	/* by hash of class, CPU and id → struct kwork_work * */
	struct map64 functions; /* by address → name of a workqueue's function, once it is known */
	struct stack stack;
	struct kwork_work *recent[RECENT]; /* those that were asked for last */
};

const char *kwork_class_name(enum kwork_class class)
{
	static const char *const names[] = {
		[KWORK_IRQ] = "irq", [KWORK_SOFTIRQ] = "softirq", [KWORK_WORKQUEUE] = "workqueue", [KWORK_SCHED] = "sched"};
	return names[class];
}

void kwork_add_name(struct strbuf *out, const struct kwork_work *work)
{
	static const char *const prefixes[] = {[KWORK_IRQ] = "", [KWORK_SOFTIRQ] = "(s)", [KWORK_WORKQUEUE] = "(w)", [KWORK_SCHED] = ""};
	strbuf_add_str(out, prefixes[work->class]);
	if (work->name)
		strbuf_add_str(out, work->name);
	if (work->class == KWORK_WORKQUEUE && !work->name)
		strbuf_printf(out, "0x%" PRIx64, work->id);
	else if (work->class != KWORK_WORKQUEUE)
		strbuf_printf(out, ":%" PRIu64, work->id);
}

/* ---- works ---- */

static const char *keep_safe(struct kwork_tracker *tracker, const char *name, size_t length)
{
	struct strbuf text = {0};
	text_add_safe(&text, name, length);
	const char *kept = intern_string(&tracker->kwork->names, strbuf_str(&text));
	strbuf_deinit(&text);
	return kept;
}

static struct kwork_work *find_or_add(struct kwork_tracker *tracker, enum kwork_class class, uint32_t cpu, uint64_t id)
{
	bool is_new;
	uint64_t *slot = map64_insert(&tracker->works, hash_combine(hash_combine(cpu, class), id), &is_new);
	if (is_new) {
		struct kwork_work *made = arena_zalloc(&tracker->kwork->arena, sizeof(*made));
		made->class = class;
		made->cpu = cpu;
		made->id = id;
		vec_push(&tracker->kwork->works, made);
		*slot = (uintptr_t)made;
	}
	return (struct kwork_work *)(uintptr_t)*slot;
}

static struct kwork_work *get_work(struct kwork_tracker *tracker, enum kwork_class class, const struct tracker_event *event)
{
	uint32_t cpu = event->cpu;
	uint64_t id = event->values[0];
	struct kwork_work **recent = &tracker->recent[(id ^ id >> 12 ^ (uint64_t)cpu << 4 ^ (uint64_t) class << 2) % RECENT];
	if (!*recent || (*recent)->class != class || (*recent)->cpu != cpu || (*recent)->id != id)
		*recent = find_or_add(tracker, class, cpu, id);
	return *recent;
}

static bool is_wanted(struct kwork_tracker *tracker, const struct kwork_work *work, uint64_t time)
{
	const struct kwork_options *options = tracker->options;
	struct kwork *kwork = tracker->kwork;
	if (!sched_scope_has_cpu(&options->scope, work->cpu) || !sched_scope_has_time(&options->scope, time) ||
	    (options->name && (!work->name || strcmp(work->name, options->name) != 0)))
		return false;
	if (!kwork->begin || time < kwork->begin)
		kwork->begin = time;
	if (time > kwork->end)
		kwork->end = time;
	return true;
}

/* ---- steps ---- */

static void add_span(struct kwork_work *work, uint64_t begin, uint64_t end)
{
	if (!begin || end < begin)
		return;
	if (end - begin > work->max || !work->max) {
		work->max = end - begin;
		work->max_begin = begin;
		work->max_end = end;
	}
	work->total += end - begin;
	work->count++;
}

/* The newest one that waits for its other end; false when there is none. */
static bool take_pending(struct kwork_work *work, enum kwork_step step, uint64_t *ret)
{
	if (!work->pending[step].len)
		return false;
	*ret = *vec_last(&work->pending[step]);
	work->pending[step].len--;
	return true;
}

static const char *read_stack(struct kwork_tracker *tracker, const struct tracker_event *event)
{
	const struct record *record = event->record;
	const struct stack_options options = {.max_depth = tracker->options->max_stack};
	if (!options.max_depth || !(record->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return NULL;
	struct machine *machine = tracker->session->machine;
	const struct thread *thread = machine_thread_or_new(machine, event->pid, event->tid, record->model_time);
	stack_resolve(tracker->resolver, machine, thread, record->event, tracker_sample(event), record->model_time, &options,
		      &tracker->stack);
	struct strbuf text = {0};
	for (size_t i = 0; i < tracker->stack.frames.len; i++) {
		const struct symbol *symbol = tracker->stack.frames.data[i].symbol;
		const char *name = symbol ? symbol->name : "[unknown]";
		strbuf_add_str(&text, i ? " <- " : "");
		text_add_safe(&text, name, strlen(name));
	}
	const char *kept = text.len ? intern_string(&tracker->kwork->names, strbuf_str(&text)) : NULL;
	strbuf_deinit(&text);
	return kept;
}

static void enter_run(struct kwork_tracker *tracker, const struct tracker_event *event, struct kwork_work *work)
{
	uint64_t raised;
	vec_push(&work->delays,
		 take_pending(work, KWORK_RAISE, &raised) && raised <= event->record->time ? event->record->time - raised : 0);
	vec_push(&work->stacks, read_stack(tracker, event));
	vec_push(&work->pending[KWORK_ENTRY], event->record->time);
}

static void end_run(struct kwork_tracker *tracker, struct kwork_work *work, uint64_t begin, uint64_t end)
{
	const struct kwork_run run = {.work = work,
				      .begin = begin,
				      .end = end,
				      .delay = work->delays.data[work->delays.len - 1],
				      .stack = work->stacks.data[work->stacks.len - 1]};
	work->delays.len--;
	work->stacks.len--;
	work->count++;
	tracker->options->run(tracker->options->context, &run);
}

static bool is_asked_for(enum kwork_question question, enum kwork_step step)
{
	return !(step == KWORK_RAISE && question == KWORK_RUNTIMES) && !(step == KWORK_EXIT && question == KWORK_DELAYS);
}

static void take_step(struct kwork_tracker *tracker, const struct tracker_event *event, struct kwork_work *work, enum kwork_step step)
{
	enum kwork_question question = tracker->options->question;
	uint64_t time = event->record->time, before;
	if (!is_asked_for(question, step) || !is_wanted(tracker, work, time))
		return;
	enum kwork_step last = question == KWORK_DELAYS ? KWORK_ENTRY : KWORK_EXIT;
	if (step == KWORK_ENTRY && question == KWORK_RUNS)
		enter_run(tracker, event, work);
	else if (step != last || !take_pending(work, (enum kwork_step)(step - 1), &before))
		vec_push(&work->pending[step], time);
	else if (question == KWORK_RUNS)
		end_run(tracker, work, before, time);
	else
		add_span(work, before, time);
}

/* ---- events ---- */

static bool has_class(const struct kwork_tracker *tracker, enum kwork_class class)
{
	for (size_t i = 0; i < tracker->options->class_count; i++)
		if (tracker->options->classes[i] == class)
			return true;
	return false;
}

static void on_irq(struct kwork_tracker *tracker, const struct tracker_event *event, enum kwork_step step)
{
	struct kwork_work *work = get_work(tracker, KWORK_IRQ, event);
	if (!work->name && event->fields[1]) {
		size_t length;
		const struct untrusted *name = tracker_text(event, 1, &length);
		work->name = keep_safe(tracker, untrusted_raw(name), strnlen(untrusted_raw(name), length));
	}
	take_step(tracker, event, work, step);
}

static void on_irq_entry(void *context, const struct tracker_event *event)
{
	on_irq(context, event, KWORK_ENTRY);
}

static void on_irq_exit(void *context, const struct tracker_event *event)
{
	on_irq(context, event, KWORK_EXIT);
}

static void on_softirq(struct kwork_tracker *tracker, const struct tracker_event *event, enum kwork_step step)
{
	struct kwork_work *work = get_work(tracker, KWORK_SOFTIRQ, event);
	if (!work->name)
		work->name = kwork_softirq_name(event->values[0]);
	take_step(tracker, event, work, step);
}

static void on_softirq_raise(void *context, const struct tracker_event *event)
{
	on_softirq(context, event, KWORK_RAISE);
}

static void on_softirq_entry(void *context, const struct tracker_event *event)
{
	on_softirq(context, event, KWORK_ENTRY);
}

static void on_softirq_exit(void *context, const struct tracker_event *event)
{
	on_softirq(context, event, KWORK_EXIT);
}

/* NULL = none is known, as of the functions of modules that are told of later. */
static const char *name_function(struct kwork_tracker *tracker, uint64_t address)
{
	uint64_t start;
	const uint64_t *known = map64_find(&tracker->functions, address);
	if (known)
		return (const char *)(uintptr_t)*known;
	const struct symbol *symbol = resolver_kernel_symbol(tracker->resolver, address, &start);
	const char *name = symbol ? keep_safe(tracker, symbol->name, strlen(symbol->name)) : NULL;
	if (name)
		*map64_insert(&tracker->functions, address, NULL) = (uintptr_t)name;
	return name;
}

static void on_workqueue(struct kwork_tracker *tracker, const struct tracker_event *event, enum kwork_step step)
{
	struct kwork_work *work = get_work(tracker, KWORK_WORKQUEUE, event);
	if (!work->name && event->values[1])
		work->name = name_function(tracker, event->values[1]);
	take_step(tracker, event, work, step);
}

static void on_activate(void *context, const struct tracker_event *event)
{
	on_workqueue(context, event, KWORK_RAISE);
}

static void on_execute_start(void *context, const struct tracker_event *event)
{
	on_workqueue(context, event, KWORK_ENTRY);
}

static void on_execute_end(void *context, const struct tracker_event *event)
{
	on_workqueue(context, event, KWORK_EXIT);
}

static const struct kwork_event {
	enum kwork_class class;
	enum kwork_step step;
	struct tracker_handler handler;
} kwork_events[] = {
	{KWORK_IRQ, KWORK_ENTRY, {"irq:irq_handler_entry", {"irq", "name"}, on_irq_entry}},
	{KWORK_IRQ, KWORK_EXIT, {"irq:irq_handler_exit", {"irq"}, on_irq_exit}},
	{KWORK_SOFTIRQ, KWORK_RAISE, {"irq:softirq_raise", {"vec"}, on_softirq_raise}},
	{KWORK_SOFTIRQ, KWORK_ENTRY, {"irq:softirq_entry", {"vec"}, on_softirq_entry}},
	{KWORK_SOFTIRQ, KWORK_EXIT, {"irq:softirq_exit", {"vec"}, on_softirq_exit}},
	{KWORK_WORKQUEUE, KWORK_RAISE, {"workqueue:workqueue_activate_work", {"work", "function"}, on_activate}},
	{KWORK_WORKQUEUE, KWORK_ENTRY, {"workqueue:workqueue_execute_start", {"work", "function"}, on_execute_start}},
	{KWORK_WORKQUEUE, KWORK_EXIT, {"workqueue:workqueue_execute_end", {"work", "function"}, on_execute_end}},
};
enum { KWORK_EVENTS = sizeof(kwork_events) / sizeof(*kwork_events) };

/* Handlers of the events that the question is about: others aren't looked at. Where works are chosen by name, which any event may tell, all
 * are. `ret` has room for one more. */
static void choose_handlers(const struct kwork_tracker *tracker, struct tracker_handler *ret)
{
	const struct kwork_options *options = tracker->options;
	for (size_t i = 0; i < KWORK_EVENTS; i++) {
		const struct kwork_event *event = &kwork_events[i];
		if (has_class(tracker, event->class) && (options->name || is_asked_for(options->question, event->step)))
			*ret++ = event->handler;
	}
	*ret = (struct tracker_handler){0};
}

static struct error *require_events(const struct kwork_tracker *tracker, const struct tracker *events)
{
	static const char *const needed[] = {[KWORK_IRQ] = "irq:irq_handler_entry",
					     [KWORK_SOFTIRQ] = "irq:softirq_entry",
					     [KWORK_WORKQUEUE] = "workqueue:workqueue_execute_start"};
	for (size_t i = 0; i < tracker->options->class_count; i++)
		if (tracker_has(events, needed[tracker->options->classes[i]]))
			return NULL;
	return tracker_require(events, needed[tracker->options->classes[0]], "perf kwork record");
}

/* ---- order ---- */

enum { MOST_KEYS = 8 };

struct kwork_order {
	char keys[MOST_KEYS + 1]; /* r = sum, a = mean, m = longest, c = count */
	enum kwork_class classes[KWORK_CLASSES];
	size_t class_count;
};

static struct error *parse_sort(const struct kwork_options *options, struct kwork_order *ret)
{
	const char *mean = options->question == KWORK_DELAYS ? "avg" : "runtime";
	const char *text = options->sort ? options->sort : "";
	size_t count = 0;
	while (*text && count < MOST_KEYS) {
		size_t length = strcspn(text, ", ");
		char key = 0;
		if (length == strlen(mean) && !strncmp(text, mean, length))
			key = options->question == KWORK_DELAYS ? 'a' : 'r';
		else if (length == strlen("max") && !strncmp(text, "max", length))
			key = 'm';
		else if (length == strlen("count") && !strncmp(text, "count", length))
			key = 'c';
		if (!key && length)
			return error_new_kind(ERROR_USAGE, "-s %s: unknown key; the keys are %s, max and count", options->sort, mean);
		if (key)
			ret->keys[count++] = key;
		text += length + (text[length] != '\0');
	}
	if (!count)
		memcpy(ret->keys, options->question == KWORK_DELAYS ? "amc" : "rmc", sizeof("rmc"));
	memcpy(ret->classes, options->classes, sizeof(ret->classes));
	ret->class_count = options->class_count;
	return NULL;
}

static uint64_t value_of(const struct kwork_work *work, char key)
{
	switch (key) {
	case 'r':
		return work->total;
	case 'a':
		return work->count ? work->total / work->count : 0;
	case 'm':
		return work->max;
	default:
		return work->count;
	}
}

static size_t place_of(const struct kwork_order *order, enum kwork_class class)
{
	size_t i = 0;
	while (i < order->class_count && order->classes[i] != class)
		i++;
	return i;
}

static int largest_first(uint64_t left, uint64_t right)
{
	return (left < right) - (left > right);
}

static int compare_works(const void *a, const void *b, void *context)
{
	const struct kwork_work *left = *(const struct kwork_work *const *)a, *right = *(const struct kwork_work *const *)b;
	const struct kwork_order *order = context;
	int result = 0;
	for (const char *key = order->keys; *key && !result; key++)
		result = largest_first(value_of(left, *key), value_of(right, *key));
	if (!result)
		result = largest_first(place_of(order, right->class), place_of(order, left->class));
	if (!result)
		result = largest_first(left->cpu, right->cpu);
	return result ? result : largest_first(left->id, right->id);
}

static void finish(struct kwork *kwork, const struct session *session, struct kwork_order *order)
{
	for (size_t i = 0; i < kwork->works.len; i++)
		for (enum kwork_step step = 0; step < KWORK_STEPS; step++)
			kwork->skipped[step] += kwork->works.data[i]->pending[step].len;
	for (size_t type = 0; type < sizeof(session->record_counts) / sizeof(*session->record_counts); type++)
		kwork->records += session->record_counts[type];
	if (kwork->works.len)
		qsort_r(kwork->works.data, kwork->works.len, sizeof(*kwork->works.data), compare_works, order);
}

struct error *kwork_create(struct session *session, struct resolver *resolver, const struct kwork_options *options, struct kwork **ret)
{
	struct kwork_order order = {0};
	struct error *error = parse_sort(options, &order);
	if (error)
		return error;
	struct kwork_tracker tracker = {
		.session = session, .resolver = resolver, .options = options, .kwork = mem_zalloc(sizeof(*tracker.kwork))};
	struct tracker_handler handlers[KWORK_EVENTS + 1];
	choose_handlers(&tracker, handlers);
	struct tracker *events = tracker_create(session, handlers, &tracker);
	error = tracker_run(events);
	if (!error)
		error = require_events(&tracker, events);
	if (!error)
		finish(tracker.kwork, session, &order);
	tracker_destroy(events);
	map64_deinit(&tracker.works);
	map64_deinit(&tracker.functions);
	stack_deinit(&tracker.stack);
	if (error)
		kwork_destroy(tracker.kwork);
	else
		*ret = tracker.kwork;
	return error;
}

void kwork_destroy(struct kwork *kwork)
{
	if (!kwork)
		return;
	for (size_t i = 0; i < kwork->works.len; i++) {
		struct kwork_work *work = kwork->works.data[i];
		for (enum kwork_step step = 0; step < KWORK_STEPS; step++)
			vec_deinit(&work->pending[step]);
		vec_deinit(&work->delays);
		vec_deinit(&work->stacks);
	}
	vec_deinit(&kwork->works);
	intern_deinit(&kwork->names);
	arena_deinit(&kwork->arena);
	free(kwork);
}
