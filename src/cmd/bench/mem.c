/* perf bench mem: memory bandwidth of ways to copy and to fill memory, and what finding set bits costs. */
#include "cmd/bench/bench.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "kernel/perf_open.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- functions ---- */

/* `source` is not looked at by those that fill. */
typedef void fill_fn(void *target, const void *source, size_t size);

struct function {
	const char *name, *summary;
	fill_fn *run;
};

static void copy_default(void *target, const void *source, size_t size)
{
	memcpy(target, source, size);
}

static void fill_default(void *target, const void *source, size_t size)
{
	memset(target, 0, size);
}

#ifdef __x86_64__
static void copy_unrolled(void *target, const void *source, size_t size)
{
	uint64_t *to = target;
	const uint64_t *from = source;
	for (; size >= 64; size -= 64, to += 8, from += 8) {
		uint64_t a = from[0], b = from[1], c = from[2], d = from[3], e = from[4], f = from[5], g = from[6], h = from[7];
		__asm__ volatile(""
				 : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g),
				   "+r"(h)); /* word by word, not by vectors */
		to[0] = a, to[1] = b, to[2] = c, to[3] = d, to[4] = e, to[5] = f, to[6] = g, to[7] = h;
	}
	for (size_t i = 0; i < size; i++)
		((volatile char *)to)[i] = ((const char *)from)[i];
}

static void copy_movsq(void *target, const void *source, size_t size)
{
	size_t words = size / 8;
	__asm__ volatile("rep movsq" : "+D"(target), "+S"(source), "+c"(words) : : "memory");
	words = size % 8;
	__asm__ volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(words) : : "memory");
}

static void copy_movsb(void *target, const void *source, size_t size)
{
	__asm__ volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(size) : : "memory");
}

static void fill_unrolled(void *target, const void *source, size_t size)
{
	volatile uint64_t *to = target; /* word by word, not by vectors */
	for (; size >= 64; size -= 64, to += 8)
		to[0] = 0, to[1] = 0, to[2] = 0, to[3] = 0, to[4] = 0, to[5] = 0, to[6] = 0, to[7] = 0;
	for (size_t i = 0; i < size; i++)
		((volatile char *)to)[i] = 0;
}

static void fill_stosq(void *target, const void *source, size_t size)
{
	size_t words = size / 8;
	__asm__ volatile("rep stosq" : "+D"(target), "+c"(words) : "a"(0) : "memory");
	words = size % 8;
	__asm__ volatile("rep stosb" : "+D"(target), "+c"(words) : "a"(0) : "memory");
}

static void fill_stosb(void *target, const void *source, size_t size)
{
	__asm__ volatile("rep stosb" : "+D"(target), "+c"(size) : "a"(0) : "memory");
}
#endif

static const struct function copies[] = {
	{"default", "Default memcpy() provided by glibc", copy_default},
#ifdef __x86_64__
	{"x86-64-unrolled", "eight words of 8 bytes at a time", copy_unrolled},
	{"x86-64-movsq", "rep movsq", copy_movsq},
	{"x86-64-movsb", "rep movsb", copy_movsb},
#endif
	{0},
};

static const struct function fills[] = {
	{"default", "Default memset() provided by glibc", fill_default},
#ifdef __x86_64__
	{"x86-64-unrolled", "eight words of 8 bytes at a time", fill_unrolled},
	{"x86-64-stosq", "rep stosq", fill_stosq},
	{"x86-64-stosb", "rep stosb", fill_stosb},
#endif
	{0},
};

/* Maps the memory, touches each page and lets go of it. */
static void map_default(void *target, const void *source, size_t size)
{
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return;
	for (size_t at = 0; at < size; at += 4096)
		((volatile char *)pages)[at] = 0;
	munmap(pages, size);
}

static void map_populate(void *target, const void *source, size_t size)
{
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (pages != MAP_FAILED)
		munmap(pages, size);
}

static const struct function maps[] = {
	{"demand", "Demand loaded mmap()", map_default},
	{"populate", "Eagerly populated mmap()", map_populate},
	{0},
};

/* ---- bandwidth ---- */

struct memory_options {
	struct bench_common common;
	const char *size, *function;
	uint64_t loops;
	bool cycles;
};

static const struct option memory_table[] = {
	OPTION_STRING('s', "size", struct memory_options, size, "SIZE", "bytes of the memory, with B, KB, MB, GB or TB (default 1MB)"),
	OPTION_STRING('f', "function", struct memory_options, function, "NAME", "how: one of those that 'help' lists, or all (default)"),
	OPTION_U64('l', "nr_loops", struct memory_options, loops, "N", "how many times (default 1)"),
	OPTION_FLAG('c', "cycles", struct memory_options, cycles, "count CPU cycles instead of the time"),
	BENCH_COMMON(struct memory_options),
	OPTION_END,
};

struct memory_bench {
	const char *name, *verb;
	const struct function *functions;
	bool copies;
};

struct memory {
	void *target, *source; /* NULL where it isn't used */
	size_t size;
};

static void print_functions(const struct memory_bench *bench)
{
	puts("Available functions:");
	for (const struct function *one = bench->functions; one->name; one++)
		printf("\t%s ... %s\n", one->name, one->summary);
}

static struct error *open_cycles(int *ret)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .size = sizeof(attr), .config = PERF_COUNT_HW_CPU_CYCLES};
	*ret = perf_open_raw(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (*ret >= 0)
		return NULL;
	return error_new_kind(ERROR_UNSUPPORTED, "this machine cannot count cycles here (%s); leave out --cycles to measure the time",
			      strerror(-*ret));
}

static uint64_t now(int cycles)
{
	uint64_t count;
	if (cycles < 0)
		return clock_now_ns(CLOCK_MONOTONIC);
	return read(cycles, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

/* In the units of the kernel's tool, which are those of binary prefixes. */
static void print_bandwidth(const struct function *function, double bytes, double seconds)
{
	double rate = seconds > 0 ? bytes / seconds : INFINITY;
	static const struct {
		double from;
		const char *unit;
	} units[] = {{1 << 30, "GB"}, {1 << 20, "MB"}, {1 << 10, "KB"}, {0, "B"}};
	size_t i = 0;
	while (rate < units[i].from)
		i++;
	bench_say(" %14lf %s/sec\n", rate / (units[i].from ? units[i].from : 1), units[i].unit);
	bench_simple("%lf\n", rate);
	bench_figure("B/s", rate, "%s", function->name);
}

static void measure(const struct memory_bench *bench, const struct function *function, const struct memory_options *options,
		    const struct memory *memory, int cycles)
{
	function->run(memory->target, memory->source, memory->size); /* the pages are there, and the code */
	uint64_t begin = now(cycles);
	for (uint64_t loop = 0; loop < options->loops; loop++) {
		function->run(memory->target, memory->source, memory->size);
		__asm__ volatile("" : : "r"(memory->target) : "memory");
	}
	uint64_t elapsed = now(cycles) - begin;
	double bytes = (double)memory->size * (double)options->loops;
	bench_print("# function '%s' (%s)\n", function->name, function->summary);
	bench_say("# %s %s bytes ...\n\n", bench->verb, options->size);
	if (cycles < 0) {
		print_bandwidth(function, bytes, (double)elapsed / 1e9);
	} else {
		bench_print(" %14lf cycles/byte\n", (double)elapsed / bytes);
		bench_figure("cycles/B", (double)elapsed / bytes, "%s", function->name);
	}
}

static struct error *choose(const struct memory_bench *bench, const struct memory_options *options, bool *ret_list)
{
	uint64_t size;
	if (!number_parse_size(options->size, &size) || !size || size > (uint64_t)1 << 46)
		return error_new_kind(ERROR_USAGE, "invalid size '%s': expected a number with B, KB, MB, GB or TB, such as 16MB",
				      options->size);
	*ret_list = !strcmp(options->function, "help");
	if (*ret_list || !strcmp(options->function, "all"))
		return bench_check_positive("--nr_loops", options->loops);
	for (const struct function *one = bench->functions; one->name; one++)
		if (!strcmp(one->name, options->function))
			return bench_check_positive("--nr_loops", options->loops);
	return error_new_kind(ERROR_USAGE, "unknown function '%s'; '--function help' lists them", options->function);
}

static struct error *allocate(const struct memory_bench *bench, const struct memory_options *options, struct memory *ret)
{
	uint64_t size = 0;
	number_parse_size(options->size, &size);
	*ret = (struct memory){.size = (size_t)size};
	if (bench->functions == maps)
		return NULL;
	ret->target = malloc(ret->size);
	ret->source = bench->copies ? calloc(1, ret->size) : NULL;
	if (ret->target && (ret->source || !bench->copies)) {
		if (ret->source)
			memset(ret->source, 1, ret->size); /* pages of its own: all that were never written are one */
		return NULL;
	}
	return error_new("there is no memory for %s; use a smaller --size", options->size);
}

static struct error *run_memory(const struct memory_bench *bench, int argc, char **argv)
{
	struct memory_options options = {.size = "1MB", .function = "all", .loops = 1};
	struct memory memory = {0};
	cleanup_close int cycles = -1;
	bool list = false;
	struct error *error = options_parse_alone(memory_table, argc, argv, &options, "");
	if (!error)
		error = choose(bench, &options, &list);
	if (!error && list) {
		print_functions(bench);
		return NULL;
	}
	if (!error && options.cycles)
		error = open_cycles(&cycles);
	if (!error)
		error = allocate(bench, &options, &memory);
	if (!error) {
		bench_begin(bench->name, &options.common);
		for (const struct function *one = bench->functions; one->name; one++)
			if (!strcmp(options.function, "all") || !strcmp(options.function, one->name))
				measure(bench, one, &options, &memory, cycles);
		bench_end();
	}
	free(memory.target);
	free(memory.source);
	return error;
}

static struct error *run_memcpy(int argc, char **argv, int *ret_status)
{
	return run_memory(&(struct memory_bench){"mem/memcpy", "Copying", copies, true}, argc, argv);
}

static struct error *run_memset(int argc, char **argv, int *ret_status)
{
	return run_memory(&(struct memory_bench){"mem/memset", "Copying", fills, false}, argc, argv);
}

static struct error *run_mmap(int argc, char **argv, int *ret_status)
{
	return run_memory(&(struct memory_bench){"mem/mmap", "Mapping", maps, false}, argc, argv);
}

static const struct command memcpy_command = BENCH(mem, "memcpy", "Ways to copy memory", memory_table, run_memcpy);
static const struct command memset_command = BENCH(mem, "memset", "Ways to fill memory", memory_table, run_memset);
static const struct command mmap_command = BENCH(mem, "mmap", "Ways to get new pages", memory_table, run_mmap);

/* ---- find_bit ---- */

struct bits_options {
	struct bench_common common;
	uint64_t outer, inner;
};

static const struct option bits_table[] = {
	OPTION_U64('i', "outer-iterations", struct bits_options, outer, "N", "times each number of bits is measured (default 5)"),
	OPTION_U64('j', "inner-iterations", struct bits_options, inner, "N", "operations that are measured together (default 100000)"),
	BENCH_COMMON(struct bits_options),
	OPTION_END,
};

enum { MOST_BITS = 2048, WORD_BITS = 64 };

/* What the loops do with each set bit, in memory. */
struct seen {
	unsigned int sum, count;
};

static void __attribute__((noinline)) visit(struct seen *seen, unsigned int bit)
{
	seen->sum += bit;
	seen->count++;
}

/* The first set bit from `from` on, or `bits`: a call for each, as for users of a bitmap. */
static unsigned int __attribute__((noinline)) find_next_set(const uint64_t *words, unsigned int bits, unsigned int from)
{
	if (from >= bits)
		return bits;
	unsigned int word = from / WORD_BITS;
	uint64_t rest = words[word] & ~0ull << from % WORD_BITS;
	while (!rest) {
		if (++word * WORD_BITS >= bits)
			return bits;
		rest = words[word];
	}
	unsigned int found = word * WORD_BITS + (unsigned int)__builtin_ctzll(rest);
	return found < bits ? found : bits;
}

static void __attribute__((noinline)) each_set_bit(const uint64_t *words, unsigned int bits, struct seen *seen)
{
	for (unsigned int bit = find_next_set(words, bits, 0); bit < bits; bit = find_next_set(words, bits, bit + 1))
		visit(seen, bit);
}

/* In memory, each time: by the processor's instruction for that where it has one. */
static inline bool is_set(const uint64_t *words, uint64_t bit)
{
#ifdef __x86_64__
	bool set;
	__asm__ volatile("btq %2, %1" : "=@ccc"(set) : "m"(*words), "r"(bit) : "memory");
	return set;
#else
	return ((const volatile uint64_t *)words)[bit / WORD_BITS] >> bit % WORD_BITS & 1;
#endif
}

static void __attribute__((noinline)) each_bit_tested(const uint64_t *words, unsigned int bits, struct seen *seen)
{
	for (unsigned int bit = 0; bit < bits; bit++)
		if (is_set(words, bit))
			visit(seen, bit);
}

typedef void walk_fn(const uint64_t *words, unsigned int bits, struct seen *seen);

static void measure_bits(walk_fn *walk, const uint64_t *words, unsigned int bits, const struct bits_options *options,
			 struct statistics *mean)
{
	struct seen seen = {0};
	for (uint64_t i = 0; i < options->outer; i++) {
		uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
		for (uint64_t j = 0; j < options->inner; j++)
			walk(words, bits, &seen);
		statistics_add(mean, (double)(clock_now_ns(CLOCK_MONOTONIC) - begin) / 1e3);
	}
}

static struct error *run_find_bit(int argc, char **argv, int *ret_status)
{
	struct bits_options options = {.outer = 5, .inner = 100000};
	struct error *error = options_parse_alone(bits_table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--outer-iterations", options.outer);
	if (!error)
		error = bench_check_positive("--inner-iterations", options.inner);
	if (error)
		return error;
	bench_begin("mem/find_bit", &options.common);
	for (unsigned int bits = 1; bits <= MOST_BITS; bits <<= 1)
		for (unsigned int set = 1; set <= bits; set <<= 1) {
			uint64_t words[MOST_BITS / WORD_BITS] = {0};
			struct statistics finding = {0}, testing = {0};
			for (unsigned int i = 0; i < set; i++)
				words[i * (bits / set) / WORD_BITS] |= 1ull << i * (bits / set) % WORD_BITS;
			measure_bits(each_set_bit, words, bits, &options, &finding);
			measure_bits(each_bit_tested, words, bits, &options, &testing);
			bench_print("%" PRIu64 " operations %u bits set of %u bits\n", options.inner, set, bits);
			bench_print("  Average for_each_set_bit took: %.3f usec (+- %.3f usec)\n", finding.mean,
				    statistics_deviation(&finding));
			bench_print("  Average test_bit loop took:    %.3f usec (+- %.3f usec)\n", testing.mean,
				    statistics_deviation(&testing));
			bench_figure("us", finding.mean, "for_each_set_bit, %u of %u", set, bits);
			bench_figure("us", testing.mean, "test_bit loop, %u of %u", set, bits);
		}
	bench_end();
	return NULL;
}

static const struct command find_bit = BENCH(mem, "find_bit", "Finding the bits that are set", bits_table, run_find_bit);
static const struct command *const benchmarks[] = {&memcpy_command, &memset_command, &find_bit, &mmap_command, NULL};
BENCH_COLLECTION(mem, "Memory: copying, filling, mapping, finding bits", benchmarks);
