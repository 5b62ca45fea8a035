/* Stacks of about 75 frames, through several functions of different frames and the C library. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile uint64_t sink;
static uint64_t seed = 1;

typedef uint64_t step(int left);
static step *const *steps(void);

static inline unsigned int draw(unsigned int n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(seed >> 40) % n;
}

__attribute__((noinline)) static uint64_t spin(void)
{
	uint64_t sum = 0;
	for (int i = 0; i < 2000; i++)
		sum += sink ^ (uint64_t)i;
	return sum;
}

__attribute__((noinline)) static uint64_t descend(int left)
{
	return left <= 0 ? spin() : steps()[draw(8)](left) + 1;
}

static int compare(const void *a, const void *b)
{
	if (*(const int *)a + *(const int *)b == 1)
		sink += descend(*(const int *)a ? 0 : -1);
	return *(const int *)a - *(const int *)b;
}

#define STEP(n)                                                             \
	__attribute__((noinline)) static uint64_t step##n(int left)         \
	{                                                                   \
		volatile char bytes[n * 24 + 8];                            \
		uint64_t a = sink, b = sink * n, c = sink ^ n;              \
		bytes[n] = (char)left;                                      \
		uint64_t r = descend(left - 1);                             \
		return n % 2 ? r + a + bytes[n] : r * a + b * c + bytes[n]; \
	}
/* clang-format off */
STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
	/* clang-format on */

	__attribute__((noinline)) static uint64_t step8(int left)
{
	int numbers[4] = {3, 1, 0, 2};
	qsort(numbers, 4, sizeof(*numbers), compare);
	return descend(left - 1) + (uint64_t)numbers[0];
}

static step *const *steps(void)
{
	static step *const all[] = {step1, step2, step3, step4, step5, step6, step7, step8};
	return all;
}

int main(int argc, char **argv)
{
	clock_t end = (argc > 1 ? atoi(argv[1]) : 5) * CLOCKS_PER_SEC; /* of CPU time */
	while (clock() < end)
		for (int i = 0; i < 100; i++)
			sink += descend(56);
	return 0;
}
