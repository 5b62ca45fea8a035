/* The BPF program of system calls on the running kernel: what this process does itself is seen with its arguments, memory and files.
 * Skipped where BPF programs cannot be loaded. */
#include "bpf/syscalls/syscalls.h"
#include "bpf/support.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct syscall_plan *plans_create(void)
{
	struct syscall_plan *plans = calloc(SYSCALLS_NUMBERS, sizeof(*plans));

	plans[SYS_getppid].selected = 1;
	plans[SYS_write] = (struct syscall_plan){.selected = 1, .arguments = 2};
	plans[SYS_write].files[0] = 1;
	plans[SYS_write].argument[1] = (struct syscall_argument){.copy = SYSCALL_COPY_BYTES, .length = 2};
	plans[SYS_openat] = (struct syscall_plan){.selected = 1, .arguments = 2, .returns_file = 1};
	plans[SYS_openat].argument[1] = (struct syscall_argument){.copy = SYSCALL_COPY_PATH};
	plans[SYS_execve] = (struct syscall_plan){.selected = 1, .arguments = 2, .replaces = 1, .at_entry = 1};
	plans[SYS_execve].argument[0] = (struct syscall_argument){.copy = SYSCALL_COPY_PATH, .when = SYSCALL_AT_ENTRY};
	plans[SYS_execve].argument[1] = (struct syscall_argument){.copy = SYSCALL_COPY_STRINGS, .when = SYSCALL_AT_ENTRY};
	return plans;
}

static struct bpf_syscalls *open_syscalls(const struct syscalls_config *config, pid_t target, enum syscalls_target kind)
{
	struct syscall_plan *plans = plans_create();
	struct bpf_syscalls_options options = {.config = *config, .plans = plans, .ring_bytes = 1 << 20};
	struct bpf_syscalls *syscalls = NULL;
	struct error *error = bpf_support_check();

	if (error) {
		print_message("%s\n", error_message(error));
		error_free(error);
		free(plans);
		skip();
	}
	error = bpf_syscalls_open(&options, &syscalls);
	if (error)
		fail_msg("%s", error_message(error));
	assert_null(bpf_syscalls_add_target(syscalls, target, kind));
	assert_null(bpf_syscalls_start(syscalls));
	free(plans);
	return syscalls;
}

/* The next call of this number; other records in between are skipped but for files, whose last name goes to `path`. */
static const struct syscall_record *next_call(struct bpf_syscalls *syscalls, int number, char path[64], uint64_t *ret_file)
{
	const struct syscalls_record *record;

	while ((record = bpf_syscalls_next(syscalls))) {
		if (record->type == SYSCALLS_RECORD_FILE) {
			const struct file_record *file = (const void *)record;
			snprintf(path, 64, "%s", (const char *)(file + 1));
			*ret_file = file->id;
		}
		if (record->type == SYSCALLS_RECORD_CALL && ((const struct syscall_record *)(const void *)record)->number == number)
			return (const void *)record;
	}
	return NULL;
}

static void calls_are_seen_with_memory_and_files(void **state)
{
	const struct syscalls_config config = {.string_size = 5, .calls = 1, .files = 1};
	struct bpf_syscalls *syscalls = open_syscalls(&config, getpid(), SYSCALLS_TARGET_PROCESS);
	uint64_t file = 0;
	char path[64] = "";

	syscall(SYS_getppid);
	int fd = openat(AT_FDCWD, "/dev/null", O_WRONLY);
	assert_int_equal(write(fd, "hello, world", 12), 12);
	syscall(SYS_openat, AT_FDCWD, "/no/such/file", O_RDONLY);
	bpf_syscalls_stop(syscalls);

	const struct syscall_record *call = next_call(syscalls, SYS_getppid, path, &file);
	assert_non_null(call);
	assert_int_equal(call->thread.tid, getpid());
	assert_int_equal(call->result, getppid());
	assert_true(call->duration > 0 && call->duration < 1000000000);

	call = next_call(syscalls, SYS_openat, path, &file);
	assert_non_null(call);
	const struct syscall_piece *piece = (const void *)(call + 1);
	assert_int_equal(piece->argument, 1);
	assert_string_equal((const char *)piece->data, "/dev/null");
	assert_int_equal(call->result, fd);
	assert_string_equal(path, "null");
	assert_int_equal(call->files[2], file);

	call = next_call(syscalls, SYS_write, path, &file);
	assert_non_null(call);
	piece = (const void *)(call + 1);
	assert_int_equal(piece->size, 5);
	assert_int_equal(piece->wanted, 12);
	assert_memory_equal(piece->data, "hello", 5);
	assert_int_equal(call->files[0], file);
	assert_int_equal(call->arguments[2], 12);

	call = next_call(syscalls, SYS_openat, path, &file);
	assert_non_null(call);
	assert_int_equal(call->result, -2);
	assert_null(next_call(syscalls, SYS_openat, path, &file));
	bpf_syscalls_close(syscalls);
	close(fd);
}

static void calls_are_added_up_in_the_kernel(void **state)
{
	const struct syscalls_config config = {.sums = 1, .histograms = 1, .errors = 1};
	struct bpf_syscalls *syscalls = open_syscalls(&config, getpid(), SYSCALLS_TARGET_THREAD);
	struct syscall_sum_key key = {0};
	struct syscall_sum sum;
	struct syscall_histogram histogram;
	struct syscall_errno_key error = {0};
	uint64_t calls = 0, errors = 0, in_histogram = 0, count = 0;

	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	syscall(SYS_openat, AT_FDCWD, "/no/such/file", O_RDONLY);
	bpf_syscalls_stop(syscalls);
	for (bool first = true; bpf_syscalls_next_sum(syscalls, first, &key, &sum, &histogram); first = false) {
		if (key.number == SYS_getppid) {
			calls += sum.calls;
			assert_true(sum.shortest <= sum.longest && sum.total >= 1000 * sum.shortest);
			for (size_t i = 0; i < 40; i++)
				in_histogram += histogram.calls[i];
		}
		errors += sum.errors;
	}
	assert_int_equal(calls, 1000);
	assert_int_equal(in_histogram, 1000);
	assert_int_equal(errors, 1);
	assert_true(bpf_syscalls_next_error(syscalls, true, &error, &count));
	assert_int_equal(error.error, 2);
	assert_int_equal(error.call.number, SYS_openat);
	assert_int_equal(count, 1);
	bpf_syscalls_close(syscalls);
}

/* A command is followed from its exec on, and its children with it. */
static void a_command_is_followed_from_its_exec(void **state)
{
	const struct syscalls_config config = {.string_size = 32, .calls = 1, .files = 1, .inherit = 1};
	int release[2];
	uint64_t file = 0;
	char path[64] = "", byte = 0;

	assert_int_equal(pipe(release), 0);
	pid_t pid = fork();
	if (!pid) {
		if (read(release[0], &byte, 1) == 1)
			execl("/bin/sh", "sh", "-c", "/bin/true; /bin/true", NULL);
		_exit(127);
	}
	struct bpf_syscalls *syscalls = open_syscalls(&config, pid, SYSCALLS_TARGET_COMMAND);
	assert_int_equal(write(release[1], &byte, 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	bpf_syscalls_stop(syscalls);

	const struct syscall_record *call;
	const char *wanted[] = {"/bin/sh", "/bin/true", "/bin/true"};
	size_t entries = 0, exits = 0;
	while ((call = next_call(syscalls, SYS_execve, path, &file)))
		if (call->flags & SYSCALL_ENTERED) {
			const struct syscall_piece *piece = (const void *)(call + 1);
			if (piece->kind == SYSCALL_PIECE_ENTRY && entries < 3)
				assert_string_equal((const char *)piece->data, wanted[entries]);
			entries++;
		} else {
			exits++;
		}
	assert_true(entries >= 2);
	assert_int_equal(exits, 3);
	bpf_syscalls_close(syscalls);
	close(release[0]);
	close(release[1]);
}

int bpf_syscalls_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_seen_with_memory_and_files),
		cmocka_unit_test(calls_are_added_up_in_the_kernel),
		cmocka_unit_test(a_command_is_followed_from_its_exec),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
