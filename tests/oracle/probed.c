#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point {
	int x, y;
};

struct item {
	const char *name;
	int count;
	unsigned int low : 3, middle : 7, high : 12;
	struct point where;
	struct item *next;
	char text[16];
	long values[4];
	struct point *corner;
};

int counter = 7;
static const char *title = "a title";
struct item first = {.name = "first", .count = 11};

static inline __attribute__((always_inline)) int scaled(int value, int by)
{
	int result = value * by;

	counter += result;
	return result;
}

__attribute__((noinline)) int weigh(struct item *item, long factor, const char *label)
{
	long sum = 0;

	for (int i = 0; i < 4; i++)
		sum += item->values[i] * factor;
	sum += scaled(item->count, 3);
	if (label)
		sum += (long)strlen(label);
	counter++;
	return (int)sum;
}

__attribute__((noinline)) char *greet(const char *who)
{
	static char text[64];

	snprintf(text, sizeof(text), "hello, %s", who);
	return text;
}

__attribute__((noinline)) static void walk(struct item *list, double ratio, unsigned char small, struct point by_value)
{
	for (struct item *at = list; at; at = at->next) {
		counter += at->where.x + small + by_value.y;
		printf("%s %g\n", at->name, ratio);
	}
}

int main(int argc, char **argv)
{
	struct item second = {.name = "second", .count = 22, .low = 5, .middle = 77, .high = 3000, .where = {3, -4}, .text = "inside"};
	struct point corner = {8, 9};

	second.values[0] = 100;
	second.values[2] = -300;
	second.corner = &corner;
	first.next = &second;
	first.corner = &corner;
	printf("%d\n", weigh(&second, argc, "label"));
	printf("%d\n", weigh(&first, 5, NULL));
	puts(greet("world"));
	walk(&first, 1.5, 200, (struct point){1, 2});
	return counter == 0;
}
