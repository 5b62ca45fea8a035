/* The spool: batches in order, whole or not there. A child is killed right before each of its calls that change the folder, one after
 * the other, and what the next process finds is what had been done by then. */
#include "fleet/spool.h"
#include "dying.h"

#include "base/files/replacement.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the moment of death ---- */

atomic_int calls_to_live = -1;

#ifndef __SANITIZE_THREAD__
static void count_call(void)
{
	if (atomic_load(&calls_to_live) >= 0 && atomic_fetch_sub(&calls_to_live, 1) == 0)
		kill(getpid(), SIGKILL);
}

/* In place of the C library's. */
ssize_t write(int fd, const void *data, size_t size)
{
	count_call();
	return syscall(SYS_write, fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t place)
{
	count_call();
	return syscall(SYS_pwrite64, fd, data, size, place);
}

int fsync(int fd)
{
	count_call();
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	count_call();
	return (int)syscall(SYS_fdatasync, fd);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	count_call();
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

int unlinkat(int fd, const char *name, int flags)
{
	count_call();
	return (int)syscall(SYS_unlinkat, fd, name, flags);
}
#endif

/* ---- helpers ---- */

static char *folder;

static int make_folder(void **state)
{
	return temporary_directory("perf-spool", &folder) != NULL;
}

static void each_file(void (*visit)(int dir, const char *name))
{
	DIR *dir = opendir(folder);
	for (struct dirent *entry; (entry = readdir(dir));)
		if (*entry->d_name != '.')
			visit(dirfd(dir), entry->d_name);
	closedir(dir);
}

static void remove_file(int dir, const char *name)
{
	unlinkat(dir, name, 0);
}

static int remove_folder(void **state)
{
	each_file(remove_file);
	int failed = rmdir(folder);
	free(folder);
	return failed;
}

static struct spool *open_spool(uint64_t damaged)
{
	struct spool_totals found;
	struct spool *spool;
	struct error *error = spool_open(folder, &spool, &found);
	if (error)
		print_error("%s\n", error_message(error));
	assert_null(error);
	assert_int_equal(found.batches, damaged);
	return spool;
}

/* Batch `number`: so many samples, and text that tells it. */
static struct error *add(struct spool *spool, uint8_t number)
{
	const uint8_t id[SPOOL_ID] = {number};
	char *text = mem_printf("batch %u", number);
	struct error *error = spool_add(spool, id, number, text, strlen(text));
	free(text);
	return error;
}

static void expect(struct spool *spool, size_t place, uint8_t number)
{
	assert_true(place < spool->batches.len);
	assert_int_equal(spool->batches.data[place].id[0], number);
	assert_int_equal(spool->batches.data[place].samples, number);
}

static void expect_first(struct spool *spool, uint8_t number)
{
	struct strbuf data = {0};
	char *text = mem_printf("batch %u", number);
	expect(spool, 0, number);
	assert_null(spool_read_first(spool, &data));
	assert_string_equal(strbuf_str(&data), text);
	free(text);
	strbuf_deinit(&data);
}

/* ---- tests ---- */

static void in_order(struct spool *spool, bool reopens)
{
	const struct spool_totals before = spool->dropped;
	for (uint8_t i = 1; i <= 20; i++)
		assert_null(add(spool, i));
	for (uint8_t i = 1; i <= 20; i++) {
		if (reopens && i % 5 == 0) {
			spool_close(spool);
			spool = open_spool(0);
		}
		expect_first(spool, i);
		if (i == 2) {
			spool_drop(spool, 1);
			i++;
			spool_remove_first(spool);
			continue;
		}
		spool_remove_first(spool);
	}
	assert_int_equal(spool->batches.len, 0);
	assert_int_equal(spool->bytes, 0);
	assert_int_equal(spool->dropped.batches, before.batches + 1);
	assert_int_equal(spool->dropped.samples, before.samples + 3);
	spool_close(spool);
}

static void batches_come_in_order(void **state)
{
	struct spool_totals damaged;
	struct spool *memory;
	in_order(open_spool(0), true);
	in_order(open_spool(0), false);
	assert_null(spool_open(NULL, &memory, &damaged));
	in_order(memory, false);
}

static void one_process_has_it(void **state)
{
	struct spool *spool = open_spool(0), *other;
	struct spool_totals damaged;
	struct error *error = spool_open(folder, &other, &damaged);
	assert_non_null(error);
	assert_non_null(strstr(error_message(error), "in use"));
	error_free(error);
	spool_close(spool);
	spool_close(open_spool(0));
	chmod(folder, 0777);
	error = spool_open(folder, &other, &damaged);
	assert_int_equal(error_kind(error), ERROR_PERMISSION);
	error_free(error);
}

/* One byte of each file is changed, or its last one is missing. */
static int damage_place;

static void damage(int dir, const char *name)
{
	if (!strstr(name, ".batch"))
		return;
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC);
	struct stat st;
	char byte;
	assert_int_equal(fstat(fd, &st), 0);
	if (damage_place < 0) {
		assert_int_equal(ftruncate(fd, st.st_size - 1), 0);
	} else if (damage_place < st.st_size) {
		assert_int_equal(pread(fd, &byte, 1, damage_place), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, damage_place), 1);
	}
	close(fd);
}

static void damage_is_counted(void **state)
{
	enum { HEAD = 56, LAST = HEAD + 6 };
	uint64_t batches = 0, samples = 0;
	for (damage_place = -1; damage_place <= LAST; damage_place++) {
		struct spool *spool = open_spool(0);
		struct strbuf data = {0};
		assert_null(add(spool, 9));
		spool_close(spool);
		each_file(damage);
		spool = open_spool(damage_place < HEAD);
		if (damage_place >= HEAD) { /* is seen when it is sent */
			struct error *error = spool_read_first(spool, &data);
			assert_non_null(error);
			assert_int_equal(error_kind(error), ERROR_FORMAT);
			error_free(error);
			spool_drop(spool, 0);
		}
		samples += damage_place < 0 || damage_place >= HEAD ? 9 : 0;
		assert_int_equal(spool->batches.len, 0);
		assert_int_equal(spool->dropped.batches, ++batches);
		assert_int_equal(spool->dropped.samples, samples);
		spool_close(spool);
		strbuf_deinit(&data);
	}
}

/* A whole batch under another one's name: what is read must be what was put there. */
static void another_ones_name(void **state)
{
	struct spool *spool = open_spool(0);
	struct strbuf data = {0};
	assert_null(add(spool, 3));
	assert_null(add(spool, 4));
	char *first = mem_printf("%s/%016x.batch", folder, 1), *second = mem_printf("%s/%016x.batch", folder, 2);
	assert_int_equal(rename(second, first), 0);
	struct error *error = spool_read_first(spool, &data);
	assert_non_null(error);
	assert_int_equal(error_kind(error), ERROR_FORMAT);
	error_free(error);
	spool_close(spool);
	strbuf_deinit(&data);
	free(first);
	free(second);
}

/* What a process has done, in memory that its parent sees. */
struct done {
	uint32_t added, removed, dropped; /* begun: when the call returns, the other numbers are equal */
	uint32_t added_whole, removed_whole, dropped_whole;
};

static void work(struct done *done)
{
	struct spool *spool = open_spool(0);
	for (uint8_t i = 1; i <= 6; i++) {
		done->added++;
		error_free(add(spool, i));
		done->added_whole++;
		if (i == 3 || i == 5) {
			done->dropped++;
			spool_drop(spool, 0);
			done->dropped_whole++;
		}
	}
	done->removed++;
	spool_remove_first(spool);
	done->removed_whole++;
	spool_close(spool);
}

/* Each batch is there, dropped or removed: the one of which that was being done when the process died is one or the other. */
static void check_after(const struct done *done)
{
	struct spool *spool = open_spool(0);
	uint64_t all = spool->batches.len + spool->dropped.batches + done->removed_whole;
	assert_true(spool->dropped.batches >= done->dropped_whole && spool->dropped.batches <= done->dropped);
	assert_true(all <= done->added);
	assert_true(all + (done->removed - done->removed_whole) >= done->added_whole);
	uint8_t next = (uint8_t)(done->added + 1);
	for (size_t i = spool->batches.len; i-- > 0;) {
		assert_true(spool->batches.data[i].id[0] < next);
		next = spool->batches.data[i].id[0];
	}
	uint64_t samples = spool->dropped.batches * (spool->dropped.batches + 1) / 2; /* 1 + 2 + … */
	assert_int_equal(spool->dropped.samples, samples);
	while (spool->batches.len) {
		expect_first(spool, spool->batches.data[0].id[0]);
		spool_remove_first(spool);
	}
	spool_close(spool);
}

static void killed_at_each_call(void **state)
{
	struct done *done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int moment = 0, status = -1;
	NEEDS_TO_DIE();
	for (; status; moment++) {
		memset(done, 0, sizeof(*done));
		pid_t child = fork();
		if (!child) {
			calls_to_live = moment;
			work(done);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(!status || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
		check_after(done);
		each_file(remove_file);
	}
	assert_true(moment > 30);
	munmap(done, sizeof(*done));
}

/* A file system of 64 KB, where this process may mount one. */
static void full_disk(void **state)
{
	if (mount("none", folder, "tmpfs", 0, "size=64k,mode=700")) {
		print_message("skip: this process may not mount a file system\n");
		skip();
	}
	struct spool *spool = open_spool(0);
	char *text = mem_zalloc(10000);
	const uint8_t id[SPOOL_ID] = {1};
	struct error *error = NULL;
	uint64_t count = 0;
	while (!error && count < 100)
		if (!(error = spool_add(spool, id, 7, text, 10000)))
			count++;
	assert_non_null(error);
	assert_int_equal(error_errno(error), ENOSPC);
	error_free(error);
	assert_int_equal(spool->batches.len, count);
	spool_drop(spool, 0); /* is noted, though there is no room */
	spool_count_dropped(spool, 5);
	assert_null(spool_add(spool, id, 7, text, 10000));
	spool_close(spool);
	spool = open_spool(0);
	assert_int_equal(spool->batches.len, count);
	assert_int_equal(spool->dropped.batches, 2);
	assert_int_equal(spool->dropped.samples, 12);
	spool_close(spool);
	free(text);
	assert_int_equal(umount(folder), 0);
}

int fleet_spool_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(batches_come_in_order, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(one_process_has_it, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(damage_is_counted, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(another_ones_name, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(killed_at_each_call, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(full_disk, make_folder, remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
