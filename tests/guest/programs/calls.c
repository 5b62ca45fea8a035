/* Makes a known number of system calls: for i below the argument getppid() and, in seek(), lseek(-1, i, SEEK_SET). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The system call is made in this function, which has a frame, not in the C library, which has none. */
__attribute__((noinline)) static long seek(long fd, long offset, long whence)
{
	void *frame = __builtin_frame_address(0); /* asked for, it is made */
#if defined(__x86_64__)
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_lseek), "D"(fd), "S"(offset), "d"(whence), "r"(frame) : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x0 __asm__("x0") = fd, x1 __asm__("x1") = offset, x2 __asm__("x2") = whence, x8 __asm__("x8") = SYS_lseek;
	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x8), "r"(frame) : "memory");
	return x0;
#endif
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: calls TIMES\n");
		return 2;
	}
	long times = atol(argv[1]), sum = 0;
	for (long i = 0; i < times; i++) {
		syscall(SYS_getppid);
		sum += seek(-1, i, SEEK_SET);
	}
	return sum > 0;
}
