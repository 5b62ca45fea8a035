/* Asks the kernel for something 5 times, or as often as it is told, from below a frame of 200 KB, of which no copy shows the end. */
#include <stdlib.h>
#include <unistd.h>
static volatile long sink;
static int times = 5;
__attribute__((noinline)) static void leaf(volatile char *room)
{
	for (int i = 0; i < times; i++)
		sink += getppid() + room[i & 4];
}
__attribute__((noinline)) static void wide(void)
{
	volatile char room[200000];
	room[0] = room[4] = 1;
	leaf(room);
	sink += room[1];
}
int main(int argc, char **argv)
{
	if (argc > 1)
		times = atoi(argv[1]);
	wide();
	return sink < 0;
}
