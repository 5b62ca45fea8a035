/* A program with a known answer, for the tutorial and the tests: it counts how often each of many words occurs, and nearly all of its time
 * goes to find_word(), which walks a list. With -f it looks the words up in a hash table instead, and the time goes to making the words.
 *
 *	cc -O1 -g -fno-omit-frame-pointer -o wordcount wordcount.c
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 4000, BUCKETS = 8192 };

struct word {
	uint64_t letters; /* eight of them */
	unsigned int count;
	struct word *next;
};

static struct word *list;
static struct word *table[BUCKETS];

/* The next word of an endless text: pseudo-random, so that each run is the same. */
__attribute__((noinline)) static uint64_t make_word(uint32_t *state)
{
	uint64_t word = 0;
	*state = *state * 1664525 + 1013904223;
	unsigned int number = (*state >> 8) % WORDS;
	for (int i = 0; i < 8; i++, number /= 3)
		word = word << 8 | ('a' + number % 3 + (unsigned int)i);
	return word;
}

__attribute__((noinline)) static struct word *find_word(struct word *first, uint64_t letters)
{
	for (struct word *word = first; word; word = word->next)
		if (word->letters == letters)
			return word;
	return NULL;
}

static struct word *add_word(struct word **first, uint64_t letters)
{
	struct word *word = calloc(1, sizeof(*word));
	if (!word)
		abort();
	word->letters = letters;
	word->next = *first;
	return *first = word;
}

static void count(struct word **first, uint64_t letters)
{
	struct word *word = find_word(*first, letters);
	if (!word)
		word = add_word(first, letters);
	word->count++;
}

__attribute__((noinline)) static void count_slowly(uint32_t *state)
{
	count(&list, make_word(state));
	__asm__ volatile(""); /* no tail call: this function stays in the stack */
}

__attribute__((noinline)) static void count_fast(uint32_t *state)
{
	uint64_t letters = make_word(state);
	count(&table[(letters * 0x9e3779b97f4a7c15u) >> 51], letters);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int fast = argc > 1 && strcmp(argv[1], "-f") == 0;
	int rounds = argc > 1 + fast ? atoi(argv[1 + fast]) : 300000;
	uint32_t state = 1;
	for (int i = 0; i < rounds; i++) {
		if (fast)
			count_fast(&state);
		else
			count_slowly(&state);
	}
	printf("%d words read\n", rounds);
	return 0;
}
