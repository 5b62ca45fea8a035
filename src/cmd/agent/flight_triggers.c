/* What has the flight recorder write:
 *
 *	load>8                   the load average of the last minute
 *	io-pressure>30%          tasks that were held up for want of it, in the last second (/proc/pressure; cpu, io, memory)
 *	futex>100ms              a system call
 *	probe_app:work>100ms     a function with two probes, at its beginning and its end (work__return)
 *	sys:one..sys:two>100ms   from one event to another one of the same thread
 *
 * Calls are watched by BPF programs (bpf/latency/slow_calls.h), the others are read once in a round. */
#include "cmd/agent/flight_internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "bpf/latency/slow_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- texts ---- */

static struct error *refuse(const char *text)
{
	return error_new_kind(
		ERROR_USAGE,
		"invalid trigger '%s': expected load>N, cpu-pressure>N%% (or io-, memory-), SYSCALL>TIME, SYSTEM:PROBE>TIME or "
		"SYSTEM:BEGIN..SYSTEM:END>TIME, such as futex>100ms",
		text);
}

static bool is_word(const char *text, size_t length)
{
	return length && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") >= length;
}

/* "SYSTEM:EVENT", `length` bytes. */
static bool read_event(const char *text, size_t length, char **ret_system, char **ret_name)
{
	const char *colon = memchr(text, ':', length);
	size_t system = colon ? (size_t)(colon - text) : 0;
	if (!colon || !is_word(text, system) || !is_word(colon + 1, length - system - 1))
		return false;
	*ret_system = mem_strndup(text, system);
	*ret_name = mem_strndup(colon + 1, length - system - 1);
	return true;
}

static bool read_call(const char *name, size_t length, struct flight_trigger *trigger)
{
	const char *dots = memmem(name, length, "..", 2);
	trigger->kind = FLIGHT_LATENCY;
	if (dots)
		return read_event(name, (size_t)(dots - name), &trigger->system, &trigger->begin) &&
		       read_event(dots + 2, length - (size_t)(dots + 2 - name), &trigger->end_system, &trigger->end);
	if (memchr(name, ':', length)) {
		if (!read_event(name, length, &trigger->system, &trigger->begin))
			return false;
		trigger->end_system = mem_strdup(trigger->system);
		trigger->end = mem_printf("%s__return", trigger->begin);
		return true;
	}
	if (!is_word(name, length))
		return false;
	trigger->system = mem_strdup("syscalls");
	trigger->end_system = mem_strdup("syscalls");
	trigger->begin = mem_printf("sys_enter_%.*s", (int)length, name);
	trigger->end = mem_printf("sys_exit_%.*s", (int)length, name);
	return true;
}

static bool read_percent(const char *text, double *ret)
{
	cleanup_free char *number = mem_strdup(text);
	size_t length = strlen(number);
	if (!length || number[length - 1] != '%')
		return false;
	number[length - 1] = '\0';
	return number_parse_double(number, ret) && *ret > 0 && *ret <= 100;
}

static bool read_trigger(const char *text, struct flight_trigger *trigger)
{
	static const char suffix[] = "-pressure";
	const char *sign = strchr(text, '>');
	size_t length = sign ? (size_t)(sign - text) : 0;
	if (!sign)
		return false;
	cleanup_free char *name = mem_strndup(text, length);
	if (!strcmp(name, "load"))
		return number_parse_double(sign + 1, &trigger->level) && trigger->level > 0;
	if (str_ends_with(name, suffix)) {
		trigger->kind = FLIGHT_PRESSURE;
		trigger->resource = mem_strndup(name, length - strlen(suffix));
		bool known = !strcmp(trigger->resource, "cpu") || !strcmp(trigger->resource, "io") || !strcmp(trigger->resource, "memory");
		return known && read_percent(sign + 1, &trigger->level);
	}
	return number_parse_duration(sign + 1, "s", &trigger->ns) && trigger->ns && read_call(name, length, trigger);
}

static void deinit_trigger(struct flight_trigger *trigger)
{
	free(trigger->text);
	free(trigger->resource);
	free(trigger->system);
	free(trigger->begin);
	free(trigger->end_system);
	free(trigger->end);
}

struct error *flight_triggers_parse(const char *text, flight_trigger_list *ret)
{
	cleanup_free char *list = mem_strdup(text);
	char *rest = list, *word;
	while ((word = strtok_r(rest, ", \t", &rest))) {
		struct flight_trigger trigger = {.text = mem_strdup(word)};
		if (!read_trigger(word, &trigger)) {
			deinit_trigger(&trigger);
			return refuse(word);
		}
		vec_push(ret, trigger);
	}
	return NULL;
}

void flight_triggers_deinit(flight_trigger_list *triggers)
{
	for (size_t i = 0; i < triggers->len; i++)
		deinit_trigger(&triggers->data[i]);
	vec_deinit(triggers);
}

uint64_t flight_wait_ns(const struct flight_settings *settings)
{
	uint64_t least = 50000000;
	for (size_t i = 0; i < settings->triggers.len; i++)
		if (settings->triggers.data[i].kind == FLIGHT_LATENCY && settings->triggers.data[i].ns / 2 < least)
			least = settings->triggers.data[i].ns / 2;
	return least > 1000000 ? least : 1000000;
}

/* ---- watching ---- */

static const uint64_t missed_every_ns = UINT64_C(60000000000);

struct watched {
	const struct flight_trigger *trigger;
	struct flight_calls calls;    /* LATENCY */
	uint64_t missed, missed_told; /* calls that came too fast; when that was said last */
	unsigned int taken;	      /* calls in this look */
	int file;		      /* LOAD, PRESSURE; -1 = none */
	bool above;		      /* when it was looked at last */
	uint64_t time;		      /* of that look; 0 = none yet */
	uint64_t total_us;
};

struct flight_watch {
	VEC(struct watched) list;
	size_t at; /* which is asked next */
};

static bool next_call(void *calls, struct slow_call *ret)
{
	return bpf_slow_calls_next(calls, ret);
}

static uint64_t missed_calls(const void *calls)
{
	return bpf_slow_calls_missed(calls);
}

static void close_calls(void *calls)
{
	bpf_slow_calls_close(calls);
}

static struct error *open_calls(struct flight_watch *watch, const struct flight_trigger *trigger)
{
	struct bpf_slow_calls *calls;
	const struct bpf_slow_calls_options options = {
		.begin = {trigger->system, trigger->begin}, .end = {trigger->end_system, trigger->end}, .config.threshold_ns = trigger->ns};
	struct error *error = bpf_slow_calls_open(&options, &calls);
	if (!error)
		flight_watch_add_calls(watch, trigger, &(struct flight_calls){next_call, missed_calls, close_calls, calls});
	return error;
}

static struct error *open_file(struct flight_watch *watch, const struct flight_trigger *trigger)
{
	cleanup_free char *path =
		trigger->kind == FLIGHT_LOAD ? mem_strdup("/proc/loadavg") : mem_printf("/proc/pressure/%s", trigger->resource);
	struct watched watched = {.trigger = trigger, .file = open(path, O_RDONLY | O_CLOEXEC)};
	if (watched.file >= 0) {
		vec_push(&watch->list, watched);
		return NULL;
	}
	return errno == ENOENT ? error_new_kind(ERROR_UNSUPPORTED, "this kernel has no %s (CONFIG_PSI, or the boot parameter psi=1)", path)
			       : error_system(errno, "%s", path);
}

void flight_watch_add_calls(struct flight_watch *watch, const struct flight_trigger *trigger, const struct flight_calls *calls)
{
	vec_push(&watch->list, ((struct watched){.trigger = trigger, .calls = *calls, .file = -1}));
}

struct error *flight_watch_open(const flight_trigger_list *triggers, struct flight_watch **ret)
{
	struct flight_watch *watch = mem_zalloc(sizeof(*watch));
	struct error *error = NULL;
	for (size_t i = 0; i < triggers->len && !error; i++) {
		const struct flight_trigger *trigger = &triggers->data[i];
		error = trigger->kind == FLIGHT_LATENCY ? open_calls(watch, trigger) : open_file(watch, trigger);
		error = error_wrap(error, "--flight-on %s", trigger->text);
	}
	if (error)
		flight_watch_close(watch);
	else
		*ret = watch;
	return error;
}

void flight_watch_close(struct flight_watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->list.len; i++) {
		if (watch->list.data[i].calls.close)
			watch->list.data[i].calls.close(watch->list.data[i].calls.context);
		if (watch->list.data[i].file >= 0)
			close(watch->list.data[i].file);
	}
	vec_deinit(&watch->list);
	free(watch);
}

static bool read_line(int file, char *line, size_t size)
{
	ssize_t got = pread(file, line, size - 1, 0);
	line[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static double read_load(struct watched *watched)
{
	char line[128];
	double load;
	return read_line(watched->file, line, sizeof(line)) && sscanf(line, "%lf", &load) == 1 ? load : 0;
}

/* In percent, since the last look: "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234", in microseconds. */
static double read_pressure(struct watched *watched, uint64_t now)
{
	char line[256];
	unsigned long long total;
	const char *at = read_line(watched->file, line, sizeof(line)) ? strstr(line, "total=") : NULL;
	if (!at || sscanf(at, "total=%llu", &total) != 1)
		return 0;
	double passed_us = (double)(now - watched->time) / 1e3;
	double percent = watched->time && passed_us > 0 ? 100.0 * (double)(total - watched->total_us) / passed_us : 0;
	watched->total_us = total;
	watched->time = now;
	return percent;
}

/* Once, until it was below again. */
static bool look_at_level(struct watched *watched, struct flight_cause *ret)
{
	const struct flight_trigger *trigger = watched->trigger;
	bool was_above = watched->above, load = trigger->kind == FLIGHT_LOAD;
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
	double level = load ? read_load(watched) : read_pressure(watched, now);
	watched->above = level > trigger->level;
	if (!watched->above || was_above)
		return false;
	*ret = (struct flight_cause){.time = now};
	if (load)
		snprintf(ret->what, sizeof(ret->what), "the load average is %.2f, above %g", level, trigger->level);
	else
		snprintf(ret->what, sizeof(ret->what), "%s pressure was %.1f%%, above %g%%", trigger->resource, level, trigger->level);
	return true;
}

/* Of a trigger that nearly each call raises it would have to be said each second. */
static void tell_missed(struct watched *watched)
{
	uint64_t missed = watched->calls.missed(watched->calls.context), now = clock_now_ns(CLOCK_MONOTONIC);
	if (missed == watched->missed || (watched->missed && now < watched->missed_told + missed_every_ns))
		return;
	log_warning("--flight-on %s: %llu slow calls came too fast to be told of", watched->trigger->text,
		    (unsigned long long)(missed - watched->missed));
	watched->missed = missed;
	watched->missed_told = now;
}

static bool look_at_calls(struct watched *watched, struct flight_cause *ret)
{
	struct slow_call call;
	tell_missed(watched);
	if (!watched->calls.next(watched->calls.context, &call))
		return false;
	*ret = (struct flight_cause){.time = call.end, .begin = call.begin, .pid = call.pid, .tid = call.tid};
	snprintf(ret->what, sizeof(ret->what), "%s: a call took %.3f ms (process %u, thread %u)", watched->trigger->text,
		 (double)(call.end - call.begin) / 1e6, call.pid, call.tid);
	return true;
}

bool flight_watch_next(struct flight_watch *watch, struct flight_cause *ret)
{
	while (watch->at < watch->list.len) {
		struct watched *watched = &watch->list.data[watch->at];
		if (watched->calls.next && watched->taken < FLIGHT_CALLS_MOST && look_at_calls(watched, ret)) {
			watched->taken++;
			return true;
		}
		watched->taken = 0;
		watch->at++;
		if (!watched->calls.next && look_at_level(watched, ret))
			return true;
	}
	watch->at = 0;
	return false;
}
