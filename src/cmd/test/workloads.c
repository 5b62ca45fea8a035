/* Small programs with a known profile, for trying what a command shows. Names of functions and arguments are those of the kernel's tool, so
 * that examples for it work. Functions end by a signal's handler that leaves the process: a flag in memory would be one more access in
 * loops that are to be nothing but what they are called. */
#include "cmd/test/test.h"

#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Its own symbol, and called as it is written. */
#if __has_attribute(noipa)
#define VISIBLE __attribute__((noipa))
#else
#define VISIBLE __attribute__((noinline))
#endif

enum { BRANCH_ROUNDS = 999999 };

static void leave(int number)
{
	_exit(0);
}

/* The first argument as a number, or the default. That it is one was looked at before (struct workload_row). */
static double argument(int argc, char **argv, double otherwise)
{
	double number = otherwise;

	if (argc > 0)
		number_parse_double(argv[0], &number);
	return number;
}

/* 0: only Ctrl-C does. */
static void end_after(double seconds)
{
	struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)((seconds - floor(seconds)) * 1e6)}};

	signal(SIGINT, leave);
	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static VISIBLE int noploop(int argc, char **argv)
{
	end_after(argument(argc, argv, 1));
	for (;;)
		__asm__ volatile("");
	return 0;
}

static VISIBLE void test_loop(volatile unsigned int *count)
{
	/* Who asks for its frame has one, so that frame pointers lead to the caller. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (;;)
		__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

static VISIBLE void *thfunc(void *count)
{
	test_loop(count);
	return NULL;
}

static VISIBLE int thloop(int argc, char **argv)
{
	volatile unsigned int count = 0;
	pthread_t thread;

	end_after(argument(argc, argv, 1));
	int error = pthread_create(&thread, NULL, thfunc, (void *)&count);
	if (error) {
		fprintf(stderr, "thloop: %s\n", strerror(error));
		return 1;
	}
	test_loop(&count);
	return 0;
}

/* As its name says: compilers set up no frame for a function that calls none, and its caller is to be found all the same. */
static VISIBLE void leaf(volatile int value)
{
	volatile int sum = 0;

	for (;;)
		sum = sum + value;
}

static VISIBLE void parent(volatile int value)
{
	leaf(value);
	__asm__ volatile("");
}

static VISIBLE int leafloop(int argc, char **argv)
{
	end_after(argument(argc, argv, 1));
	parent(1);
	return 0;
}

static VISIBLE void sqrtloop_child(double seconds)
{
	volatile double root;

	end_after(seconds);
	for (;;)
		root = sqrt(rand());
	(void)root;
}

static VISIBLE int sqrtloop(int argc, char **argv)
{
	pid_t child = fork();

	if (child == 0)
		sqrtloop_child(argument(argc, argv, 1));
	while (child > 0 && wait(NULL) < 0 && errno == EINTR)
		;
	return child < 0;
}

static VISIBLE void brstack_bar(void)
{
	__asm__ volatile("");
}

static VISIBLE void brstack_foo(void)
{
	brstack_bar(); /* a call */
	__asm__ volatile("");
}

/* Conditional, direct and indirect branches in each round. */
static VISIBLE void brstack_bench(int round)
{
	void (*volatile indirect)(void) = brstack_foo;

	if (round % 3)
		brstack_foo();
	brstack_bar();
	indirect();
}

static VISIBLE int brstack(int argc, char **argv)
{
	/* The kernel's tool counts each round twice. */
	int rounds = (int)argument(argc, argv, BRANCH_ROUNDS);

	for (int round = 0; round <= rounds; round += 2)
		brstack_bench(round);
	return 0;
}

/* Two members in one cache line, with a symbol of data: who touches what (perf mem, data profiles). */
static struct buffer {
	volatile char data1;
	char reserved[55];
	volatile char data2;
} __attribute__((aligned(64))) buf1 = {.reserved[0] = 1};

static VISIBLE int datasym(int argc, char **argv)
{
	end_after(argument(argc, argv, 1));
	for (;;) {
		buf1.data1++;
		buf1.data2 = (char)(buf1.data2 + buf1.data1);
	}
	return 0;
}

/* System calls with structures as arguments, which fail: there is no such descriptor. */
static VISIBLE int landlock(int argc, char **argv)
{
	enum { ADD_RULE = 445, RULESET = 11, DIRECTORY = 14, PORT = 19, PATH_BENEATH = 1, NET_PORT = 2, FLAGS = 45 };
	struct {
		uint64_t allowed_access;
		int32_t parent_fd;
	} __attribute__((packed)) path = {1 << 2, DIRECTORY};
	struct {
		uint64_t allowed_access, port;
	} port = {1 << 1, PORT};

	syscall(ADD_RULE, RULESET, PATH_BENEATH, &path, FLAGS);
	syscall(ADD_RULE, RULESET, NET_PORT, &port, FLAGS);
	return 0;
}

const struct workload_row workload_rows[] = {
	{"noploop", "[SECONDS]", "runs an empty loop, for one second", noploop},
	{"thloop", "[SECONDS]", "runs two threads in test_loop, for one second", thloop},
	{"leafloop", "[SECONDS]", "runs a loop in leaf(), called by parent(), for one second", leafloop},
	{"sqrtloop", "[SECONDS]", "computes square roots in a child process, for one second", sqrtloop},
	{"brstack", "[ROUNDS]", "executes calls and branches of all kinds, 999999 iterations", brstack},
	{"datasym", "[SECONDS]", "writes two members of the variable buf1, for one second", datasym},
	{"landlock", "", "makes two system calls with structures as arguments", landlock},
	{NULL, NULL, NULL, NULL},
};
