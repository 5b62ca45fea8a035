/* Runs a known number of instructions in a function of its own: the argument times ten, and a few dozen around them. */
#include <stdio.h>
#include <stdlib.h>

/* Each turn is ten instructions, of which one is a taken branch; only the last isn't taken. */
__attribute__((noinline)) void spin(unsigned long turns);

#if defined(__x86_64__)
#define TURN "1: nop; nop; nop; nop; nop; nop; nop; nop; dec %0; jnz 1b"
#elif defined(__aarch64__)
#define TURN "1: nop; nop; nop; nop; nop; nop; nop; nop; subs %0, %0, #1; b.ne 1b"
#endif

void spin(unsigned long turns)
{
	__asm__ volatile(TURN : "+r"(turns) : : "cc");
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: loop TURNS\n");
		return 2;
	}
	spin(strtoul(argv[1], NULL, 0));
	return 0;
}
