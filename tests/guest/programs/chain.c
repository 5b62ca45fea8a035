/* Spends its time in a leaf function three calls deep: main, outer, middle, leaf. On arm64 the return addresses on the stack are signed. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned long leaf(unsigned long turns)
{
	unsigned long sum = 0;
	for (unsigned long i = 0; i < turns; i++)
		__asm__ volatile("" : "+r"(sum));
	return sum;
}

__attribute__((noinline)) static unsigned long middle(unsigned long turns)
{
	unsigned long sum = 1;
	for (unsigned long done = 0; done < turns; done += 100000)
		sum += leaf(100000);
	return sum;
}

__attribute__((noinline)) static unsigned long outer(unsigned long turns)
{
	return 2 * middle(turns);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: chain TURNS\n");
		return 2;
	}
	return outer(strtoul(argv[1], NULL, 0)) != 2;
}
