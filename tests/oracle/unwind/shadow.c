/* A program that knows its own call path: each function notes itself and its return address in a shadow stack, which lies in main()'s
 * frame, so that every copied stack that is complete carries the truth about itself. -DSIMPLE: no signals, no C library. */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { DEPTH = 80 };

/* tests/lib/shadow.py reads it. */
struct shadow {
	uint64_t magic[2];
	uint64_t depth;
	struct {
		int64_t function, caller; /* of the function and its return address: distance from main() */
		uint64_t is_handler;	  /* of a signal */
	} at[DEPTH];
};

int main(int argc, char **argv);
static struct shadow *volatile shadow;
static volatile uint64_t sink;
static uint64_t seed = 88172645463325252u;

/* Whom a signal's handler interrupts may be about to fill the next place: the handler leaves that alone. */
static inline __attribute__((always_inline)) void enter(void *function, void *caller, uint64_t is_handler)
{
	struct shadow *s = shadow;
	uint64_t place = s->depth + is_handler;
	s->at[place].function = (char *)function - (char *)main;
	s->at[place].caller = (char *)caller - (char *)main;
	s->at[place].is_handler = is_handler;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	s->depth = place + 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline __attribute__((always_inline)) void leave(uint64_t is_handler)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	shadow->depth -= 1 + is_handler;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#define ENTER(name) enter((void *)name, __builtin_return_address(0), 0)
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static uint64_t draw(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static NOINLINE uint64_t go(int left);

static NOINLINE uint64_t leaf(int n)
{
	ENTER(leaf);
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += sink ^ (uint64_t)i;
	leave(0);
	return sum;
}

static NOINLINE uint64_t small(int left)
{
	ENTER(small);
	uint64_t r = go(left - 1) + 1;
	leave(0);
	return r;
}

/* All callee-saved registers are in use. */
static NOINLINE uint64_t crowded(int left)
{
	ENTER(crowded);
	uint64_t a = sink, b = sink + 1, c = sink * 3, d = sink ^ 7, e = sink - 9, f = sink | 1, g = sink & 0xff, h = sink << 3;
	uint64_t r = go(left - 1);
	for (int i = 0; i < 9; i++) {
		r += a * b + c * d + e * f + g * h;
		a += h, b ^= r, c += 3, d += a, e ^= c, f += d, g += e, h += f;
	}
	leave(0);
	return r;
}

/* The frame's size isn't known when it is compiled. */
static NOINLINE uint64_t variable(int left)
{
	ENTER(variable);
	size_t size = draw(120) + 8;
	volatile char *bytes = alloca(size);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)left;
	uint64_t r = go(left - 1) + (uint64_t)bytes[size - 1];
	leave(0);
	return r;
}

/* The stack is aligned anew: where the caller's registers are is told by expressions. */
static NOINLINE uint64_t aligned(int left)
{
	ENTER(aligned);
	_Alignas(64) volatile char bytes[128];
	bytes[5] = (char)left;
	char *more = alloca(draw(50) + 1);
	*more = bytes[5];
	uint64_t r = go(left - 1) + (uint64_t)bytes[5] + (uint64_t)*more;
	leave(0);
	return r;
}

static NOINLINE uint64_t branching(int left)
{
	ENTER(branching);
	uint64_t r;
	if (left & 1) {
		volatile uint64_t room[20];
		for (int i = 0; i < 20; i++)
			room[i] = sink + (uint64_t)i;
		r = go(left - 1) + room[7];
	} else if (left & 2) {
		r = go(left - 2) * 3;
	} else {
		r = leaf(50) + go(left - 1);
	}
	leave(0);
	return r;
}

static NOINLINE uint64_t many(int left, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h, uint64_t i)
{
	ENTER(many);
	uint64_t r = go(left - 1) + b * c + d * e + f * g + h * i;
	leave(0);
	return r;
}

static int compare(const void *a, const void *b)
{
	ENTER(compare);
	sink += leaf(5);
	leave(0);
	return *(const int *)a - *(const int *)b;
}

__attribute__((unused)) static NOINLINE uint64_t sorting(int left)
{
	ENTER(sorting);
	int numbers[12];
	for (int i = 0; i < 12; i++)
		numbers[i] = (int)draw(100);
	qsort(numbers, 12, sizeof(*numbers), compare);
	uint64_t r = go(left - 1) + (uint64_t)numbers[3];
	leave(0);
	return r;
}

/* Not noted, since it is never left. */
static NOINLINE void jump(jmp_buf where, int levels)
{
	if (!levels)
		longjmp(where, 1);
	jump(where, levels - 1);
	sink++;
}

__attribute__((unused)) static NOINLINE uint64_t jumping(int left)
{
	ENTER(jumping);
	jmp_buf where;
	if (!setjmp(where))
		jump(where, 3);
	uint64_t r = go(left - 1);
	leave(0);
	return r;
}

__attribute__((unused)) static NOINLINE uint64_t raising(int left)
{
	ENTER(raising);
#ifndef SIMPLE
	raise(SIGUSR1);
#endif
	uint64_t r = go(left - 1);
	leave(0);
	return r;
}

static NOINLINE uint64_t go(int left)
{
#ifndef SIMPLE
	static uint64_t (*const kinds[])(int) = {small, crowded, variable, aligned, branching, sorting, jumping, raising};
#else
	static uint64_t (*const kinds[])(int) = {small, crowded, variable, aligned, branching, crowded, aligned, variable};
#endif
	uint64_t r;
	ENTER(go);
	uint64_t choice = draw(40);
	if (left <= 0)
		r = leaf(200);
	else if (choice < 32)
		r = kinds[choice % 8](left);
	else
		r = many(left, 2, 3, choice, 5, sink, 7, 8, 9);
	leave(0);
	return r;
}

static void on_signal(int number)
{
	(void)number;
	enter((void *)on_signal, __builtin_return_address(0), 1);
	sink += leaf(300);
	leave(1);
}

int main(int argc, char **argv)
{
	volatile struct shadow mine;
	memset((void *)&mine, 0, sizeof(mine));
	mine.magic[0] = 0x776f64616873212au;
	mine.magic[1] = 0x2a216b6361747321u;
	shadow = (struct shadow *)&mine;
	struct sigaction action = {.sa_handler = on_signal};
	struct itimerval every = {.it_interval = {.tv_usec = 1700}, .it_value = {.tv_usec = 1700}};
	struct timeval start, now;
	sigfillset(&action.sa_mask);
	ENTER(main);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
#ifndef SIMPLE
	setitimer(ITIMER_REAL, &every, NULL);
#else
	(void)every;
#endif
	gettimeofday(&start, NULL);
	do {
		for (int i = 0; i < 100; i++)
			sink += go(3 + (int)draw(12));
		gettimeofday(&now, NULL);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_usec - start.tv_usec) / 1000 < (argc > 1 ? atoi(argv[1]) : 1000));
	_exit(0); /* nothing runs outside of main() */
}
