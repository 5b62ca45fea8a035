/* For bench/fleet.py: rows of a fleet that doesn't exist, in RowBinary as ClickHouse takes them.
 *
 *	fleet_rows samples HOSTS FIRST_MINUTE MINUTES SECOND PER_MINUTE    what so many hosts sent, window by window
 *	fleet_rows stacks DAY, fleet_rows frames DAY                       what these samples refer to
 *
 * Each host runs one service, whose samples have one of 20,000 stacks: the k-th with a probability of 1/k, so that the first hundred are
 * half of all, and each minute has stacks that are seldom. Hosts are of five versions, with three sets of labels each. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACKS = 20000, FUNCTIONS = 6000, DEPTH = 30, ROWS_MAX = 1 << 16 };

static uint64_t state = 88172645463325252u;
static double sums[STACKS];

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1du;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

static uint64_t stack_id(int number)
{
	return mix(1000003 + (uint64_t)number);
}

static uint64_t frame_id(int number)
{
	return mix(77000003 + (uint64_t)number);
}

static int draw_stack(void)
{
	double wanted = (double)(draw() >> 11) * 0x1p-53 * sums[STACKS - 1];
	int low = 0, high = STACKS - 1;
	while (low < high) {
		int middle = (low + high) / 2;
		if (sums[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void put(const void *data, size_t size)
{
	fwrite_unlocked(data, 1, size, stdout);
}

static void put_text(const char *text)
{
	size_t length = strlen(text);
	putchar_unlocked((int)length);
	put(text, length);
}

struct row {
	uint64_t stack, labels;
	uint32_t count;
};

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return x->stack != y->stack ? (x->stack < y->stack ? -1 : 1) : x->labels < y->labels ? -1 : x->labels > y->labels;
}

static void put_window(int host, uint32_t time, int samples)
{
	static struct row rows[ROWS_MAX];
	char name[40];
	int count = 0;
	for (int i = 0; i < samples && i < ROWS_MAX; i++) {
		uint64_t kind = draw() % 10;
		rows[count++] = (struct row){stack_id(draw_stack()), mix((uint64_t)(host % 5) * 10 + (kind < 7 ? 0 : kind < 9 ? 1 : 2)), 1};
	}
	qsort(rows, (size_t)count, sizeof(*rows), compare);
	snprintf(name, sizeof(name), "web-%04d.eu.example.com", host);
	for (int from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && !compare(&rows[from], &rows[to]); to++)
			rows[from].count += rows[to].count;
		uint64_t value = rows[from].count * UINT64_C(52631578);
		put(&time, sizeof(time));
		put_text(name);
		put_text("checkout");
		put_text("cpu-clock");
		put_text("ns");
		put(&rows[from].labels, sizeof(rows[from].labels));
		put(&rows[from].stack, sizeof(rows[from].stack));
		put(&value, sizeof(value));
		put(&rows[from].count, sizeof(rows[from].count));
	}
}

static void put_samples(char **words)
{
	int hosts = atoi(words[0]), first = atoi(words[1]), minutes = atoi(words[2]), per_minute = atoi(words[4]);
	uint32_t second = (uint32_t)strtoul(words[3], NULL, 10);
	state ^= mix((uint64_t)first + 1);
	for (int i = 0; i < STACKS; i++)
		sums[i] = (i ? sums[i - 1] : 0) + 1.0 / (i + 1);
	for (int minute = first; minute < first + minutes; minute++)
		for (int host = 0; host < hosts; host++)
			put_window(host, second + (uint32_t)minute * 60, per_minute / 2 + (int)(draw() % (uint64_t)per_minute));
}

static void put_stacks(uint16_t day)
{
	for (int i = 0; i < STACKS; i++) {
		uint64_t id = stack_id(i), path = mix((uint64_t)i);
		put(&id, sizeof(id));
		put(&day, sizeof(day));
		put_text("cpu-clock");
		put_text("ns");
		put_text("checkout");
		putchar_unlocked(DEPTH);
		/* Neighbours have their outer frames in common. */
		for (int depth = 0; depth < DEPTH; depth++) {
			uint64_t branch =
				depth < 8 ? (uint64_t)depth : mix((uint64_t)depth + (path >> (60 - 2 * (depth - 8) % 60))) % FUNCTIONS;
			uint64_t frame = frame_id((int)branch);
			put(&frame, sizeof(frame));
		}
	}
}

static void put_frames(uint16_t day)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		const uint64_t id = frame_id(i), address = 0;
		const uint32_t version = (1u << 20) + day, line = 0;
		char name[80];
		put(&id, sizeof(id));
		put(&day, sizeof(day));
		put(&version, sizeof(version));
		put_text("0123456789abcdef0123456789abcdef01234567");
		put(&address, sizeof(address));
		put_text("/usr/lib/checkout/checkout");
		snprintf(name, sizeof(name), "checkout::module_%d::Function%d", i % 97, i);
		put_text(name);
		put_text("");
		put(&line, sizeof(line));
		putchar_unlocked(0);
		putchar_unlocked(0);
	}
}

int main(int count, char **words)
{
	if (count == 7 && !strcmp(words[1], "samples"))
		put_samples(words + 2);
	else if (count == 3 && !strcmp(words[1], "stacks"))
		put_stacks((uint16_t)atoi(words[2]));
	else if (count == 3 && !strcmp(words[1], "frames"))
		put_frames((uint16_t)atoi(words[2]));
	else
		return 2;
	return 0;
}
