/* The first screen: the largest reasons, each in a sentence. Then what each thread did. */
#include "cmd/where/where.h"

#include "analysis/lock/types.h"
#include "app/pager.h"
#include "base/number.h"
#include "base/text.h"
#include "kernel/hardware/block_devices.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_ALWAYS = 3, SENTENCE_AT = 21 };

/* ---- words ---- */

static void add_count(struct strbuf *out, uint64_t count)
{
	char grouped[32];
	strbuf_add_str(out, number_format_grouped(count, grouped));
}

static void add_time(struct strbuf *out, uint64_t ns)
{
	if (ns >= 1000000000)
		strbuf_printf(out, "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		strbuf_printf(out, "%.1f ms", (double)ns / 1e6);
	else
		strbuf_printf(out, "%.1f µs", (double)ns / 1e3);
}

static void add_function(struct strbuf *out, const char *function)
{
	text_add_safe(out, function, strlen(function));
	if (!strchr(function, '(') && *function != '[')
		strbuf_add_str(out, "()");
}

static unsigned int percent_of(uint64_t part, uint64_t all)
{
	return all ? (unsigned int)(((double)part * 100.0) / (double)all + 0.5) : 0;
}

/* The kernel numbers devices by 12 bits and 20 (MKDEV of linux/kdev_t.h), as the fields of block events do. */
static void add_device(struct strbuf *out, const struct where_answer *answer, uint32_t device)
{
	uint32_t major = device >> 20, minor = device & 0xfffff;
	struct strbuf name = {0}, targets = {0}, mapped = {0};
	if (answer->is_live && block_device_add_name(major, minor, &name))
		text_add_safe(out, strbuf_str(&name), name.len);
	else
		strbuf_printf(out, "device %u:%u", major, minor);
	if (answer->is_live && block_device_add_targets(major, minor, &targets)) {
		strbuf_add_str(out, " (device-mapper target ");
		text_add_safe(out, strbuf_str(&targets), targets.len);
		strbuf_add_char(out, ')');
	} else if (answer->is_live && block_device_add_mapper_name(major, minor, &mapped)) {
		strbuf_add_str(out, " (device-mapper device ");
		text_add_safe(out, strbuf_str(&mapped), mapped.len);
		strbuf_add_char(out, ')');
	}
	strbuf_deinit(&mapped);
	strbuf_deinit(&name);
	strbuf_deinit(&targets);
}

void where_add_devices(struct strbuf *out, const struct where_answer *answer, const struct where_reason *reason)
{
	if (reason->device && reason->device != reason->below) {
		add_device(out, answer, reason->device);
		strbuf_add_str(out, " → ");
	}
	add_device(out, answer, reason->below);
}

/* ---- what it did ---- */

static void add_subject(struct strbuf *out, const struct where_reason *reason)
{
	if (reason->threads > 1) {
		add_count(out, reason->threads);
		strbuf_add_str(out, reason->threads == reason->processes ? " processes "
				    : reason->are_named			 ? " threads named "
									 : " threads of ");
	}
	text_add_untrusted(out, reason->comm);
}

/* ---- for what ---- */

struct lock_words {
	const char *family, *waits, *makes_wait, *name;
	bool is_held; /* whoever ends the wait had it */
};

/* With what is known of a lock of a program by the C library's functions. */
static const struct lock_words *words_of_lock(uint64_t lock)
{
	static const struct lock_words words[] = {
		{"mutex", " for", " to release", "mutex", true},
		{"rwlock", " for", " to release", "reader-writer lock", true},
		{"condition", " for", " at", "condition", false},
		{"semaphore", " for", " at", "semaphore", false},
		{"barrier", " at", " at", "barrier", false},
		{"join", " for a thread to end", " to end", NULL, false},
		{"futex", " for", " at", "lock or condition (futex)", false},
		{"", " for", " to release", "file lock or System V semaphore", true},
	};
	enum { WORDS = sizeof(words) / sizeof(*words) };
	const char *family = lock ? lock_type_family(lock) : "";
	size_t i = 0;
	while (i < WORDS - 1 && strcmp(words[i].family, family) != 0)
		i++;
	return &words[i];
}

/* What was waited for longest, when it was so for half of the time. */
static const char *main_object(const where_details *objects, uint64_t ns, bool *ret_mostly)
{
	unsigned int percent = objects->len ? percent_of(objects->data[0].ns, ns) : 0;
	*ret_mostly = percent < 90;
	return percent < 50 ? NULL : objects->data[0].object;
}

static void add_object(struct strbuf *out, const where_details *objects, uint64_t ns, const char *before)
{
	bool mostly;
	const char *object = main_object(objects, ns, &mostly);
	if (!object)
		return;
	strbuf_add_str(out, mostly ? " mostly" : "");
	strbuf_add_str(out, before);
	text_add_safe(out, object, strlen(object));
}

/* " for a mutex", " for the mutex cache_lock", ", mostly for the mutex cache_lock"; `verb` is what comes before. */
static void add_lock(struct strbuf *out, const struct lock_words *words, const char *verb, const where_details *locks, uint64_t ns)
{
	bool mostly;
	const char *lock = main_object(locks, ns, &mostly);
	strbuf_add_str(out, lock && mostly ? ", mostly" : "");
	strbuf_add_str(out, verb);
	if (!words->name)
		return;
	strbuf_printf(out, lock ? " the %s " : " a %s", words->name);
	if (lock)
		text_add_safe(out, lock, strlen(lock));
}

static const char *verb_of(const struct where_reason *reason)
{
	static const char *const verbs[WHERE_KINDS] = {
		[WHERE_CPU] = " ran",
		[WHERE_QUEUE] = " could run, but ", /* who had the CPU */
		[WHERE_DISK] = " waited for disk I/O",
		[WHERE_FAULT] = " waited for pages of memory to be read from disk",
		[WHERE_NETWORK] = " waited for the network",
		[WHERE_LOCK] = " waited",
		[WHERE_KERNEL_LOCK] = " waited for a lock inside the kernel",
		[WHERE_PIPE] = " waited for another process (pipe, local socket or terminal)",
		[WHERE_TIMER] = " slept",
		[WHERE_CHILD] = " waited for a child process",
		[WHERE_POLL] = " waited for something to happen (poll)",
		[WHERE_SIGNAL] = " waited for a signal",
		[WHERE_STOPPED] = " was stopped (SIGSTOP, a debugger, or the freezer of its control group)",
		[WHERE_OTHER] = " waited in the kernel",
		[WHERE_UNKNOWN] = " waited for something unknown",
	};
	return verbs[reason->kind];
}

static void add_kernel_part(struct strbuf *out, const struct where_reason *reason)
{
	enum { LEAST_PERCENT = 20 };
	unsigned int kernel = percent_of(reason->kernel_samples, reason->samples),
		     faults = percent_of(reason->fault_samples, reason->samples);
	if (kernel >= LEAST_PERCENT)
		strbuf_printf(out, ", %u %% of it in the kernel", kernel);
	if (faults >= LEAST_PERCENT)
		strbuf_printf(out, kernel == faults ? " for page faults" : ", %u %% for page faults", faults);
}

static void add_verb(struct strbuf *out, const struct where_answer *answer, const struct where_reason *reason)
{
	strbuf_add_str(out, verb_of(reason));
	if (reason->below) {
		strbuf_add_str(out, reason->kind == WHERE_FAULT ? ": " : " on ");
		where_add_devices(out, answer, reason);
	}
	if (reason->kind == WHERE_LOCK)
		add_lock(out, words_of_lock(reason->lock), words_of_lock(reason->lock)->waits, &reason->objects, reason->ns);
	if (reason->kind == WHERE_CPU)
		add_kernel_part(out, reason);
}

/* ---- where, and who ---- */

static bool is_wrapper(const char *function, const char *syscall)
{
	size_t length = strlen(syscall);
	const char *found = strstr(function, syscall);
	return found && strspn(function, "_") == (size_t)(found - function) && (!found[length] || !strcmp(found + length, "64"));
}

static void add_place(struct strbuf *out, const struct where_reason *reason, const struct where_detail *place)
{
	if (reason->kind == WHERE_CPU && place->syscall && place->function) {
		add_function(out, place->function);
		strbuf_add_str(out, " in ");
		add_function(out, place->syscall);
	} else if (place->syscall) {
		add_function(out, place->syscall);
		if (reason->kind != WHERE_LOCK)
			add_object(out, &reason->objects, reason->ns, " of ");
		if (place->function && !is_wrapper(place->function, place->syscall)) {
			strbuf_add_str(out, " from ");
			add_function(out, place->function);
		}
	} else if (place->function) {
		add_function(out, place->function);
	}
}

/* What runs: up to three functions that samples saw more than by chance. */
static void add_functions(struct strbuf *out, const struct where_reason *reason)
{
	enum { MOST = 3, LEAST_SAMPLES = 3, LEAST_PERCENT = 5 };
	unsigned int shown = 0;
	uint64_t sampled = 0;
	for (size_t i = 0; i < reason->places.len; i++)
		sampled += reason->places.data[i].ns;
	for (size_t i = 0; i < reason->places.len && shown < MOST; i++) {
		const struct where_detail *place = &reason->places.data[i];
		unsigned int percent = percent_of(place->ns, sampled);
		if (place->count < LEAST_SAMPLES || percent < LEAST_PERCENT || (!place->function && !place->syscall))
			continue;
		strbuf_add_str(out, shown ? ", " : ": ");
		add_place(out, reason, place);
		strbuf_printf(out, " %u %%", percent);
		shown++;
	}
}

static void add_wait_place(struct strbuf *out, const struct where_reason *reason)
{
	const struct where_detail *place = reason->places.data;
	if (!reason->places.len || (!place->syscall && !place->function))
		return;
	unsigned int percent = percent_of(place->ns, reason->ns);
	if (percent < 20)
		return;
	strbuf_add_str(out, percent < 90 ? ", mostly in " : ", in ");
	add_place(out, reason, place);
}

static void add_limit(struct strbuf *out, const struct where_limit *limit, bool of_several)
{
	uint64_t times = limit->last.throttled - limit->first.throttled;
	strbuf_printf(out, "the CPU limit of %s control group ", of_several ? "their" : "its");
	text_add_safe(out, limit->last.group, strlen(limit->last.group));
	strbuf_printf(out, " (%.4g CPUs) held %s back ", limit->last.cpus, of_several ? "them" : "it");
	add_count(out, times);
	strbuf_add_str(out, times == 1 ? " time, for " : " times, for ");
	add_time(out, limit->last.throttled_ns - limit->first.throttled_ns);
	strbuf_add_str(out, " in total");
}

static void add_takers(struct strbuf *out, const struct where_answer *answer, const struct where_reason *reason)
{
	enum { MOST = 2, LEAST_PERCENT = 10 };
	const struct where_limit *limit = where_limits_find(answer->limits, reason);
	size_t shown = 0;
	if (limit)
		add_limit(out, limit, reason->threads > 1);
	while (shown < reason->who.len && shown < MOST && percent_of(reason->who.data[shown].ns, reason->ns) >= LEAST_PERCENT) {
		strbuf_add_str(out, shown ? " and " : limit ? "; otherwise, " : "");
		text_add_untrusted(out, reason->who.data[shown++].comm);
	}
	if (shown)
		strbuf_add_str(out, " had the CPU");
	else if (!limit)
		strbuf_add_str(out, "got no CPU");
}

static void add_times(struct strbuf *out, const struct where_reason *reason)
{
	if (reason->count == 1)
		return;
	strbuf_add_str(out, ", ");
	add_count(out, reason->count);
	strbuf_add_str(out, " times, ");
	add_time(out, reason->ns / reason->count);
	strbuf_add_str(out, " each");
}

/* Who ended the waits, where that isn't told by the path. */
static void add_wakers(struct strbuf *out, const struct where_answer *answer, const struct where_reason *reason)
{
	if (!reason->who.len || percent_of(reason->who.data[0].ns, reason->ns) < 50)
		return;
	if (reason->held_ns * 2 > reason->ns) {
		if (!words_of_lock(reason->lock)->is_held)
			return; /* a thread whose end is waited for */
		strbuf_add_str(out, ", held by ");
		text_add_untrusted(out, reason->who.data[0].comm);
		return;
	}
	if (answer->timeline->root)
		return;
	strbuf_add_str(out, reason->kind == WHERE_LOCK && words_of_lock(reason->lock)->is_held ? ", released by " : ", woken up by ");
	text_add_untrusted(out, reason->who.data[0].comm);
}

/* Who was kept waiting by it. */
static void add_waiter(struct strbuf *out, const struct where_reason *reason)
{
	static const char *const at[WHERE_KINDS] = {
		[WHERE_KERNEL_LOCK] = " at a lock of the kernel",
		[WHERE_PIPE] = " at a pipe or local socket",
		[WHERE_NETWORK] = " at a network socket",
		[WHERE_CHILD] = " to end",
		[WHERE_POLL] = " in poll()",
	};
	if (!reason->waiter_comm)
		return;
	strbuf_add_str(out, "; ");
	if (reason->of_same_process)
		strbuf_add_str(out, reason->waiter_comm != reason->comm ? ""
				    : reason->are_named			? "another thread named "
									: "another thread of ");
	text_add_untrusted(out, reason->waiter_comm);
	strbuf_add_str(out, reason->waited == WHERE_STOPPED ? " was stopped until then"
			    : reason->threads > 1	    ? " waited for them"
							    : " waited for it");
	if (reason->waited == WHERE_LOCK) {
		const struct lock_words *words = words_of_lock(reason->waited_objects.data[0].lock);
		add_lock(out, words, words->makes_wait, &reason->waited_objects, reason->ns);
	} else if (at[reason->waited]) {
		strbuf_add_str(out, at[reason->waited]);
		add_object(out, &reason->waited_objects, reason->ns, ": ");
	}
}

static void add_sentence(struct strbuf *out, const struct where_answer *answer, const struct where_reason *reason)
{
	add_subject(out, reason);
	add_verb(out, answer, reason);
	if (reason->kind == WHERE_CPU)
		add_functions(out, reason);
	else if (reason->kind == WHERE_QUEUE)
		add_takers(out, answer, reason);
	else
		add_wait_place(out, reason);
	if (reason->kind != WHERE_CPU)
		add_times(out, reason);
	if (reason->kind != WHERE_CPU && reason->kind != WHERE_QUEUE)
		add_wakers(out, answer, reason);
	add_waiter(out, reason);
	strbuf_add_str(out, ".\n");
}

/* ---- the screen ---- */

/* "  71.2 %    878.5 ms  " */
static void add_share(struct strbuf *out, const struct where_answer *answer, uint64_t ns)
{
	enum { TIME_COLUMNS = 9 };
	struct strbuf time = {0};
	add_time(&time, ns);
	size_t width = text_width(strbuf_str(&time), time.len);
	strbuf_printf(out, "%6.1f %%  ", 100.0 * (double)ns / (double)answer->reasons->total_ns);
	strbuf_add_chars(out, ' ', width < TIME_COLUMNS ? TIME_COLUMNS - width : 0);
	strbuf_printf(out, "%s  ", strbuf_str(&time));
	strbuf_deinit(&time);
}

static void add_reason(struct strbuf *out, const struct where_answer *answer, const struct where_reason *reason)
{
	struct strbuf sentence = {0};
	unsigned int columns = output_columns();
	add_sentence(&sentence, answer, reason);
	add_share(out, answer, reason->ns);
	sentence.data[--sentence.len] = '\0';
	text_add_wrapped(out, strbuf_str(&sentence), SENTENCE_AT, SENTENCE_AT, columns ? columns : 100);
	strbuf_deinit(&sentence);
}

/* How many are worth a sentence. */
static size_t count_shown(const struct where_answer *answer)
{
	const struct where_reasons *reasons = answer->reasons;
	size_t shown = 0;
	while (shown < reasons->all.len && shown < answer->command->most &&
	       (shown < SHOWN_ALWAYS || reasons->all.data[shown].ns * 100 >= reasons->total_ns))
		shown++;
	return shown;
}

static void add_rest(struct strbuf *out, const struct where_answer *answer, size_t shown)
{
	const struct where_reasons *reasons = answer->reasons;
	uint64_t rest = 0;
	for (size_t i = shown; i < reasons->all.len; i++)
		rest += reasons->all.data[i].ns;
	if (shown == reasons->all.len)
		return;
	add_share(out, answer, rest);
	strbuf_printf(out, "%zu smaller reason%s\n", reasons->all.len - shown, reasons->all.len - shown == 1 ? "" : "s");
}

static void count_threads(const struct where_answer *answer, uint64_t *ret_all, uint64_t *ret_idle)
{
	*ret_all = answer->sums->threads.len;
	*ret_idle = 0;
	for (size_t i = 0; i < answer->sums->threads.len; i++)
		*ret_idle += answer->sums->threads.data[i].is_idle;
}

static void add_head(struct strbuf *out, const struct where_answer *answer, uint64_t threads, uint64_t idle)
{
	const struct where_timeline *timeline = answer->timeline;
	uint64_t wall = timeline->end - timeline->begin;
	if (timeline->root) {
		strbuf_add_str(out, "The run of ");
		text_add_untrusted(out, thread_comm_settled(timeline->root->task.thread, UINT64_MAX));
		strbuf_add_str(out, " took ");
		add_time(out, wall);
		strbuf_printf(out,
			      threads > 1 ? ", with %" PRIu64 " threads. What its end had to wait for:\n\n" : ". Where the time went:\n\n",
			      threads);
		return;
	}
	strbuf_add_str(out, "In ");
	add_time(out, wall);
	strbuf_printf(out, ", %" PRIu64 " thread%s spent ", threads - idle, threads - idle == 1 ? "" : "s");
	add_time(out, answer->reasons->total_ns);
	strbuf_add_str(out, " together:\n\n");
}

static void add_deadlock_thread(struct strbuf *out, const struct where_thread *thread)
{
	const struct where_wait *wait = where_held_wait(thread);
	text_add_untrusted(out, thread_comm_settled(thread->task.thread, UINT64_MAX));
	strbuf_printf(out, " (%" PRIu32 ") waits for the mutex ", thread->task.tid);
	text_add_safe(out, wait->object, strlen(wait->object));
	strbuf_add_str(out, ", held by ");
	text_add_untrusted(out, thread_comm_settled(wait->waker->task.thread, UINT64_MAX));
	strbuf_printf(out, " (%" PRIu32 ")", wait->waker->task.tid);
}

/* Threads that wait for one another: nothing else matters. */
static void add_deadlocks(struct strbuf *out, const struct where_answer *answer)
{
	const struct where_thread *first = where_find_deadlock(answer->timeline), *thread = first;
	struct strbuf text = {0};
	if (!first)
		return;
	strbuf_add_str(&text, "Deadlock: ");
	do {
		strbuf_add_str(&text, thread == first ? "" : "; ");
		add_deadlock_thread(&text, thread);
		thread = where_held_wait(thread)->waker;
	} while (thread != first);
	strbuf_add_str(&text, ".");
	unsigned int columns = output_columns();
	text_add_wrapped(out, strbuf_str(&text), 0, 0, columns ? columns : 100);
	strbuf_add_str(out, "\n");
	strbuf_deinit(&text);
}

static void print_threads(const struct where_answer *answer, uint64_t idle)
{
	struct table *table = where_threads_table(answer, true);
	const struct view_options view = {.header = true, .columns = output_columns()};
	struct sink out = sink_to_file(stdout);
	printf("\nEach thread's time in milliseconds:\n\n");
	fflush(stdout);
	error_free(view_write_one(view_find("stdio"), (struct result){RESULT_TABLE, .table = table}, &view, &out));
	size_t more = where_threads_beyond(answer);
	if (more)
		printf("\n%zu more thread%s ran for less (--format csv has all).\n", more, more == 1 ? "" : "s");
	if (idle && !answer->command->all_threads)
		printf("\n%" PRIu64 " thread%s only waited for work, or belong%s to the kernel (--idle shows them).\n", idle,
		       idle == 1 ? "" : "s", idle == 1 ? "s" : "");
	table_destroy(table);
}

void where_show(const struct where_answer *answer)
{
	struct strbuf out = {0};
	uint64_t threads, idle;
	size_t shown = count_shown(answer);
	count_threads(answer, &threads, &idle);
	if (!answer->reasons->total_ns) {
		fprintf(stderr,
			"Nothing of what was asked for ran during the measurement: it was blocked throughout, or there is no such process.\n");
		return;
	}
	add_deadlocks(&out, answer);
	add_head(&out, answer, threads, idle);
	for (size_t i = 0; i < shown; i++)
		add_reason(&out, answer, &answer->reasons->all.data[i]);
	add_rest(&out, answer, shown);
	fwrite(strbuf_str(&out), 1, out.len, stdout);
	strbuf_deinit(&out);
	print_threads(answer, idle);
}
