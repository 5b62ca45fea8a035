/* The beginning of a line: thread, CPU, time, period, event, and what a tracepoint tells. These fields are printed for each of
 * millions of samples. */
#include "analysis/script/internal.h"

#include "base/digits.h"
#include "base/text.h"
#include "event/tracepoint/tracepoint.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NS_PER_SEC = 1000000000 };

static char *put_right_aligned(char *to, const char *digits, size_t count, unsigned int width)
{
	for (size_t fill = count; fill < width; fill++)
		*to++ = ' ';
	memcpy(to, digits, count);
	return to + count;
}

char *script_put_plain(char *to, const char *name, size_t limit)
{
	size_t i = 0;
	for (; name[i]; i++) {
		if ((unsigned char)(name[i] - 0x20) >= 0x7f - 0x20 || i == limit)
			return NULL;
		to[i] = name[i];
	}
	return to + i;
}

/* "%*d" of a number that was read as unsigned: -1 is how records say "none". */
static char *put_signed(char *to, uint32_t value, unsigned int width)
{
	int32_t number = (int32_t)value;
	if (number >= 0)
		return digits_put_u64(to, value, width);
	char digits[1 + DIGITS_ROOM] = "-";
	char *end = digits_put_u64(digits + 1, (uint64_t) - (int64_t)number, 0);
	return put_right_aligned(to, digits, (size_t)(end - digits), width);
}

static void advance_to(struct strbuf *out, const char *end)
{
	strbuf_advance(out, (size_t)(end - (out->data + out->len)));
}

/* Eight columns, never more. */
static void add_short_comm(const char *comm, size_t length, struct strbuf *out)
{
	enum { SHORT = 8 };
	strbuf_add_chars(out, ' ', length < SHORT ? SHORT - length : 0);
	text_add_safe(out, comm, length < SHORT ? length : SHORT);
	strbuf_add_char(out, ' ');
}

void script_print_comm(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	enum { NAME_LIMIT = 64 };
	const char *comm = untrusted_raw(at->comm ? at->comm : at->thread ? thread_comm(at->thread, at->model_time) : untrusted(":-1"));
	size_t length = strlen(comm), width = at->plan->comm_aligned ? 16 : 0;
	if (text->options.latency) {
		add_short_comm(comm, length, out);
		return;
	}
	size_t fill = width > length ? width - length : 0;
	char *to = strbuf_reserve(out, width + NAME_LIMIT + 1);
	memset(to, ' ', fill);
	char *end = script_put_plain(to + fill, comm, NAME_LIMIT);
	if (end) {
		*end++ = ' ';
		strbuf_advance(out, (size_t)(end - to));
		return;
	}
	strbuf_add_chars(out, ' ', fill);
	text_add_safe(out, comm, length);
	strbuf_add_char(out, ' ');
}

char *script_put_machine_pid(struct script_text *text, const struct script_sample *at, char *to)
{
	if (!at->sample->guest.machine_pid)
		return to;
	memcpy(to, "VM:", 3);
	to = put_signed(to + 3, at->sample->guest.machine_pid, 5);
	*to++ = ' ';
	return to;
}

char *script_put_vcpu(struct script_text *text, const struct script_sample *at, char *to)
{
	const struct sample_guest *guest = &at->sample->guest;
	return guest->machine_pid ? to + snprintf(to, SCRIPT_PUT_ROOM, "VCPU:%03d ", (int)guest->vcpu) : to;
}

char *script_put_pid(struct script_text *text, const struct script_sample *at, char *to)
{
	to = put_signed(to, at->sample->pid, 5);
	if (script_shows(at->plan, SCRIPT_TID)) {
		*to++ = '/';
		char *tid = to;
		to = put_signed(to, at->sample->tid, 0);
		while (to < tid + 5)
			*to++ = ' ';
	}
	*to++ = ' ';
	return to;
}

char *script_put_tid(struct script_text *text, const struct script_sample *at, char *to)
{
	to = put_signed(to, at->sample->tid, 5);
	*to++ = ' ';
	return to;
}

char *script_put_cpu(struct script_text *text, const struct script_sample *at, char *to)
{
	uint32_t cpu = at->sample->cpu;
	if (text->options.latency) {
		to = put_signed(to, cpu, 3);
		*to++ = ' ';
		return to;
	}
	*to++ = '[';
	if (cpu < 1000) {
		*to++ = (char)('0' + cpu / 100);
		*to++ = (char)('0' + cpu / 10 % 10);
		*to++ = (char)('0' + cpu % 10);
	} else if ((int32_t)cpu == -1) {
		memcpy(to, "-01", 3);
		to += 3;
	} else {
		to = put_signed(to, cpu, 0);
	}
	*to++ = ']';
	*to++ = ' ';
	return to;
}

/* The modes are numbers, but each letter is printed when all bits of its mode are set. */
static char *put_modes(char *to, uint16_t misc)
{
	static const char letters[] = {[CPUMODE_KERNEL] = 'K',
				       [CPUMODE_USER] = 'U',
				       [CPUMODE_HYPERVISOR] = 'H',
				       [CPUMODE_GUEST_KERNEL] = 'G',
				       [CPUMODE_GUEST_USER] = 'g'};
	for (unsigned int mode = CPUMODE_KERNEL; mode <= CPUMODE_GUEST_USER; mode++)
		if ((misc & mode) == mode)
			*to++ = letters[mode];
	return to;
}

char *script_put_misc(struct script_text *text, const struct script_sample *at, char *to)
{
	char *start = to;
	to = put_modes(to, at->misc);
	if ((at->type == RECORD_MMAP || at->type == RECORD_MMAP2) && at->misc & RECORD_MISC_MMAP_DATA)
		*to++ = 'M';
	if (at->type == RECORD_COMM && at->misc & RECORD_MISC_COMM_EXEC)
		*to++ = 'E';
	if ((at->type == RECORD_SWITCH || at->type == RECORD_SWITCH_CPU_WIDE) && at->misc & RECORD_MISC_SWITCH_OUT) {
		*to++ = 'S';
		if (at->misc & RECORD_MISC_SWITCH_OUT_PREEMPT)
			*to++ = 'p';
	}
	while (to < start + 6)
		*to++ = ' ';
	return to;
}

/* A fraction of a second with all its digits. */
void script_print_tod(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct features *features = &text->session->reader->features;
	uint64_t wall = at->sample->time - features->clock_clockid_ns + features->clock_wall_ns;
	time_t seconds = (time_t)(wall / NS_PER_SEC);
	struct tm tm;
	char date[64] = "";
	if (localtime_r(&seconds, &tm))
		strftime(date, sizeof(date), "%F %H:%M:%S", &tm);
	strbuf_add_str(out, date);
	char *to = strbuf_reserve(out, 16);
	*to++ = '.';
	uint32_t rest = (uint32_t)(wall % NS_PER_SEC);
	to = text->options.nanoseconds ? digits_put_fraction(to, rest, 9) : digits_put_fraction(to, rest / 1000, 6);
	*to++ = ' ';
	advance_to(out, to);
}

static uint64_t shown_time(struct script_text *text, uint64_t time)
{
	if (text->options.relative) {
		if (!text->first_time)
			text->first_time = time;
		return time - text->first_time;
	}
	if (text->options.delta) {
		uint64_t delta = text->previous_time ? time - text->previous_time : 0;
		text->previous_time = time;
		return delta;
	}
	return time;
}

char *script_put_time(struct script_text *text, const struct script_sample *at, char *to)
{
	uint64_t time = shown_time(text, at->sample->time);
	uint32_t rest = (uint32_t)(time % NS_PER_SEC);
	/* Seconds take 5 columns, with 9 decimals and with 6. */
	to = digits_put_u64(to, time / NS_PER_SEC, 5);
	*to++ = '.';
	to = text->options.nanoseconds ? digits_put_fraction(to, rest, 9) : digits_put_fraction(to, rest / 1000, 6);
	*to++ = ':';
	*to++ = ' ';
	return to;
}

char *script_put_period(struct script_text *text, const struct script_sample *at, char *to)
{
	to = digits_put_u64(to, at->sample->period, 10);
	*to++ = ' ';
	return to;
}

void script_print_event(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	strbuf_add(out, at->plan->name.data, at->plan->name.len);
}

void script_print_trace(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	if (at->event->tracepoint && at->plan->type == SCRIPT_TRACEPOINT)
		tracepoint_print(at->event->tracepoint, at->sample->raw, at->sample->raw_size, out);
}
