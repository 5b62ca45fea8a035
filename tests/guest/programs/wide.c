/* Asks the kernel for something five times from below a frame of 200 KB, of which no copy shows the end. */
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) static void leaf(volatile char *room)
{
	for (int i = 0; i < 5; i++)
		sink += getppid() + room[i];
}
__attribute__((noinline)) static void wide(void)
{
	volatile char room[200000];
	room[0] = room[4] = 1;
	leaf(room);
	sink += room[1];
}
int main(void)
{
	wide();
	return sink < 0;
}
