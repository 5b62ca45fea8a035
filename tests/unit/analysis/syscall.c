/* System calls as text: values, flags, strings and structures, in both styles, also of memory that is too short. */
#include "analysis/syscalls/syscall.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

static const struct syscall_style plain = {.names = true, .string_limit = 8};
static const struct syscall_style like_strace = {.zeros = true, .prefixes = true, .string_limit = 8};

static void expect(const struct syscall *call, const struct syscall_style *style, const char *text, const char *result)
{
	struct strbuf out = {0};

	syscall_add_text(call, style, &out);
	assert_string_equal(strbuf_str(&out), text);
	strbuf_clear(&out);
	syscall_add_result(call, style, &out);
	assert_string_equal(strbuf_str(&out), result);
	strbuf_deinit(&out);
}

static struct syscall_memory memory(unsigned int argument, const void *data, size_t size, size_t wanted)
{
	return (struct syscall_memory){.argument = (uint8_t)argument,
				       .kind = SYSCALL_MEMORY_EXIT,
				       .size = (uint32_t)size,
				       .wanted = (uint32_t)wanted,
				       .data = data};
}

static void files(void **state)
{
	struct syscall_memory path = memory(1, "/etc/a\"b\n", 10, 0);
	struct syscall call = {.description = syscall_describe("openat"),
			       .arguments = {(uint64_t)AT_FDCWD, 0x1000, O_RDONLY | O_CLOEXEC, 0644},
			       .result = 3,
			       .files = {NULL, NULL, "/etc/x"},
			       .memory = &path,
			       .memory_count = 1};

	expect(&call, &plain, "openat(dfd: CWD, filename: \"/etc/a\\\"b\\n\", flags: RDONLY|CLOEXEC)", "3</etc/x>");
	expect(&call, &like_strace, "openat(AT_FDCWD, \"/etc/a\\\"b\\n\", O_RDONLY|O_CLOEXEC)", "3</etc/x>");
	call.arguments[2] = O_WRONLY | O_CREAT | O_SYNC | 0x40000000;
	call.result = -ENOENT;
	call.memory_count = 0;
	expect(&call, &like_strace, "openat(AT_FDCWD, 0x1000, O_WRONLY|O_CREAT|O_SYNC|0x40000000, 0644)",
	       "-1 ENOENT (No such file or directory)");
}

static void buffers(void **state)
{
	struct syscall_memory bytes = memory(1,
					     "\1\0012\0"
					     "8\377xyz",
					     10, 100);
	struct syscall call = {
		.description = syscall_describe("read"), .arguments = {0, 0x1000, 100}, .result = 100, .memory = &bytes, .memory_count = 1};

	expect(&call, &plain, "read(fd: 0, buf: \"\\1\\0012\\08\\377xy\"..., count: 100)", "100");
	bytes.size = bytes.wanted = 0;
	call.result = 0;
	expect(&call, &plain, "read(fd: 0, buf: \"\", count: 100)", "0");
	bytes.kind = SYSCALL_MEMORY_FAULT;
	expect(&call, &plain, "read(fd: 0, buf: 0x1000, count: 100)", "0");
}

static void numbers_and_memory(void **state)
{
	struct syscall call = {.description = syscall_describe("mmap"),
			       .arguments = {0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0},
			       .result = 0x7f0000001000};

	expect(&call, &plain, "mmap(len: 8192, prot: READ|WRITE, flags: PRIVATE|ANONYMOUS)", "0x7f0000001000");
	expect(&call, &like_strace, "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)", "0x7f0000001000");
	call.arguments[2] = 0;
	expect(&call, &like_strace, "mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)", "0x7f0000001000");
	call = (struct syscall){.description = syscall_describe("exit_group"), .arguments = {3}};
	expect(&call, &plain, "exit_group(error_code: 3)", "?");
	call = (struct syscall){.description = syscall_describe("pause"), .result = -514};
	expect(&call, &plain, "pause()", "? ERESTARTNOHAND (To be restarted if no handler)");
	call = (struct syscall){.description = syscall_describe("pause"), .result = -4000};
	expect(&call, &plain, "pause()", "-1 (errno 4000)");
}

static void structures(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct syscall_memory at = memory(1, &address, sizeof(address), sizeof(address));
	struct syscall call = {.description = syscall_describe("connect"),
			       .arguments = {5, 0x1000, 16},
			       .files = {"socket:[1]"},
			       .memory = &at,
			       .memory_count = 1};

	expect(&call, &plain,
	       "connect(fd: 5<socket:[1]>, uservaddr: {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"127.0.0.1\")}, addrlen: "
	       "16)",
	       "0");
	at.size = 3;
	expect(&call, &plain, "connect(fd: 5<socket:[1]>, uservaddr: {sa_family=AF_INET, sa_data=\"\\0\"}, addrlen: 16)", "0");
	at.size = 1;
	expect(&call, &plain, "connect(fd: 5<socket:[1]>, uservaddr: \"\\2\", addrlen: 16)", "0");

	uint64_t time[2] = {5, 7};
	at = memory(2, time, sizeof(time), sizeof(time));
	call = (struct syscall){
		.description = syscall_describe("clock_nanosleep"), .arguments = {1, 0, 0x1000, 0}, .memory = &at, .memory_count = 1};
	expect(&call, &plain, "clock_nanosleep(which_clock: MONOTONIC, rqtp: {tv_sec=5, tv_nsec=7})", "0");
	at.size = 8;
	expect(&call, &plain, "clock_nanosleep(which_clock: MONOTONIC, rqtp: 0x1000)", "0");
	call.compat = true;
	at.size = 16;
	expect(&call, &plain, "clock_nanosleep(which_clock: MONOTONIC, rqtp: 0x1000)", "0");
}

static void lists(void **state)
{
	struct syscall_memory pieces[] = {
		memory(0, "/bin/x", 7, 0),
		{.argument = 1, .kind = SYSCALL_MEMORY_STRING, .size = 2, .data = (const uint8_t *)"x"},
		{.argument = 1, .kind = SYSCALL_MEMORY_STRING, .size = 10, .wanted = 1, .data = (const uint8_t *)"123456789"},
		{.argument = 1, .kind = SYSCALL_MEMORY_COUNT, .wanted = 2},
		{.argument = 2, .kind = SYSCALL_MEMORY_COUNT, .wanted = 1}};
	struct syscall call = {
		.description = syscall_describe("execve"), .arguments = {0x1000, 0x2000, 0x3000}, .memory = pieces, .memory_count = 5};
	const uint64_t address = 0x5000;

	expect(&call, &like_strace, "execve(\"/bin/x\", [\"x\", \"12345678\"...], 0x3000 /* 1 var */)", "0");
	pieces[3].kind = SYSCALL_MEMORY_FAULT;
	expect(&call, &like_strace, "execve(\"/bin/x\", [\"x\", \"12345678\"..., ...], 0x3000 /* 1 var */)", "0");
	/* A string that could not be read brings its address; a list of which nothing could be read brings none. */
	pieces[2].kind = SYSCALL_MEMORY_FAULT;
	pieces[2].size = sizeof(address);
	pieces[2].data = (const uint8_t *)&address;
	expect(&call, &like_strace, "execve(\"/bin/x\", [\"x\", 0x5000, ...], 0x3000 /* 1 var */)", "0");
	for (size_t i = 0; i < 5; i++)
		pieces[i] = (struct syscall_memory){.argument = pieces[i].argument, .kind = SYSCALL_MEMORY_FAULT};
	expect(&call, &like_strace, "execve(0x1000, 0x2000, 0x3000)", "0");
}

static void polls(void **state)
{
	struct {
		int fd;
		short events, revents;
	} fds[] = {{3, 1, 0}, {4, 5, 4}};
	struct syscall_memory at = memory(0, fds, sizeof(fds), sizeof(fds));
	struct syscall call = {.description = syscall_describe("poll"),
			       .arguments = {0x1000, 2, (uint64_t)-1},
			       .result = 1,
			       .memory = &at,
			       .memory_count = 1};

	expect(&call, &like_strace, "poll([{fd=3, events=POLLIN}, {fd=4, events=POLLIN|POLLOUT}], 2, -1)", "1 ([{fd=4, revents=POLLOUT}])");
	call.result = 0;
	expect(&call, &like_strace, "poll([{fd=3, events=POLLIN}, {fd=4, events=POLLIN|POLLOUT}], 2, -1)", "0 (Timeout)");
}

/* Each description is printed with nothing to see and with memory of every size, filled with all ones: nothing may be read behind it. */
static void no_description_reads_too_far(void **state)
{
	for (unsigned int i = 0; i < syscall_description_count; i++)
		for (size_t size = 0; size <= 600; size += size < 64 ? 1 : 67) {
			uint8_t *data = test_malloc(size ? size : 1);
			struct syscall_memory pieces[2 * SYSCALL_ARGUMENTS];
			struct syscall call = {.description = &syscall_descriptions[i],
					       .memory = pieces,
					       .memory_count = 2 * SYSCALL_ARGUMENTS,
					       .result = 5};
			struct strbuf out = {0};
			memset(data, 0xff, size);
			for (unsigned int j = 0; j < SYSCALL_ARGUMENTS; j++) {
				call.arguments[j] = j * size + 1;
				pieces[2 * j] = memory(j, data, size, size + 1);
				pieces[2 * j + 1] = pieces[2 * j];
				pieces[2 * j + 1].kind = (uint8_t)(size % (SYSCALL_MEMORY_FAULT + 1));
			}
			syscall_add_text(&call, &like_strace, &out);
			syscall_add_result(&call, &like_strace, &out);
			assert_true(out.len > strlen(call.description->name));
			strbuf_deinit(&out);
			test_free(data);
		}
}

static void descriptions_are_sorted_and_whole(void **state)
{
	assert_true(syscall_description_count > 300);
	for (unsigned int i = 0; i < syscall_description_count; i++) {
		assert_ptr_equal(syscall_describe(syscall_descriptions[i].name), &syscall_descriptions[i]);
		for (unsigned int j = 0; j < syscall_descriptions[i].count; j++)
			assert_non_null(syscall_descriptions[i].arguments[j].type);
	}
	assert_null(syscall_describe("nosuchcall"));
	assert_string_equal(syscall_name(SYSCALL_ABI_X86_64, 0), "read");
	assert_string_equal(syscall_name(SYSCALL_ABI_GENERIC, 63), "read");
	assert_int_equal(syscall_number(SYSCALL_ABI_X86_64, "openat"), 257);
	assert_int_equal(syscall_number(SYSCALL_ABI_X86_64, "file_setattr"), 469);
	assert_null(syscall_name(SYSCALL_ABI_X86_64, 511));
	assert_int_equal(syscall_class("network"), SYSCALL_CLASS_NET);
}

int analysis_syscall_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files),
		cmocka_unit_test(buffers),
		cmocka_unit_test(numbers_and_memory),
		cmocka_unit_test(structures),
		cmocka_unit_test(lists),
		cmocka_unit_test(polls),
		cmocka_unit_test(no_description_reads_too_far),
		cmocka_unit_test(descriptions_are_sorted_and_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
