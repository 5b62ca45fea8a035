/* What touches the system: mapped files that shrink, temporary files, files that are replaced, parallel loops, errors. */
#include "base/error.h"
#include "base/files/mapping.h"
#include "base/files/replacement.h"
#include "base/pool.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* More mappings at a time than a block of the handler's list has. Within the test that has installed the handler: for the next one the
 * framework puts its own. */
static void many_files_that_shrink(void)
{
	enum { COUNT = 600 };
	static struct mapping mappings[COUNT];
	char path[] = "/tmp/perf-unit-mapping-XXXXXX";
	int fd = mkstemp(path);
	off_t page = sysconf(_SC_PAGESIZE);
	assert_int_equal(ftruncate(fd, 2 * page), 0);
	for (size_t i = 0; i < COUNT; i++)
		assert_null(mapping_open_fd(fd, path, &mappings[i]));
	assert_int_equal(ftruncate(fd, page), 0);
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(mappings[i].data[page], 0);
	for (size_t i = 0; i < COUNT; i++)
		mapping_close(&mappings[i]);
	close(fd);
	unlink(path);
}

/* mincore() tells of the file, not of us: what we have in memory is in the lines of smaps. */
static long resident_kb(const void *data)
{
	char line[256], begin[32];
	long kb = -1;
	bool found = false;
	FILE *smaps = fopen("/proc/self/smaps", "re");
	snprintf(begin, sizeof(begin), "%lx-", (unsigned long)data);
	while (smaps && kb < 0 && fgets(line, sizeof(line), smaps)) {
		found |= !strncmp(line, begin, strlen(begin));
		if (found)
			sscanf(line, "Rss: %ld kB", &kb);
	}
	if (smaps)
		fclose(smaps);
	return kb;
}

static void pages_of_all_mappings_are_forgotten(void **state)
{
	char path[] = "/tmp/perf-unit-mapping-XXXXXX";
	int fd = mkstemp(path);
	struct mapping mappings[2];
	assert_int_equal(ftruncate(fd, 2 * sysconf(_SC_PAGESIZE)), 0);
	assert_int_equal(pwrite(fd, "x", 1, sysconf(_SC_PAGESIZE)), 1);
	for (int i = 0; i < 2; i++) {
		assert_null(mapping_open_fd(fd, path, &mappings[i]));
		assert_int_equal(mappings[i].data[sysconf(_SC_PAGESIZE)], 'x');
		assert_true(resident_kb(mappings[i].data) > 0);
	}
	mapping_forget_all();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(resident_kb(mappings[i].data), 0);
		assert_int_equal(mappings[i].data[sysconf(_SC_PAGESIZE)], 'x');
		mapping_close(&mappings[i]);
	}
	mapping_forget_all();
	close(fd);
	unlink(path);
}

static void a_file_that_shrinks_reads_as_zero(void **state)
{
	char path[] = "/tmp/perf-unit-mapping-XXXXXX";
	int fd = mkstemp(path);
	size_t size = (size_t)sysconf(_SC_PAGESIZE) * 3;
	char *bytes = malloc(size);
	memset(bytes, 'x', size);
	assert_int_equal(write(fd, bytes, size), size);
	free(bytes);
	struct mapping mapping;
	assert_null(mapping_open(path, &mapping));
	assert_int_equal(mapping.size, size);
	assert_int_equal(mapping.data[size - 1], 'x');
	assert_int_equal(ftruncate(fd, 10), 0);
	assert_int_equal(mapping.data[9], 'x');
	assert_false(mapping_lost_pages(&mapping));
	assert_int_equal(mapping.data[size / 2], 0);
	assert_true(mapping_lost_pages(&mapping));
	assert_int_equal(mapping.data[size + MAPPING_GUARD - 1], 0); /* the guard */
	assert_int_equal(mapping.data[size - 1], 0);
	mapping_close(&mapping);
	assert_null(mapping.data);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_null(mapping_open(path, &mapping));
	assert_null(mapping.data);
	assert_int_equal(mapping.size, 0);
	mapping_close(&mapping);
	close(fd);
	unlink(path);
	many_files_that_shrink();
}

static void what_is_no_file(void **state)
{
	struct mapping mapping;
	static const char *const paths[] = {"/nonexistent/file", "/tmp", "/dev/null"};
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct error *error = mapping_open(paths[i], &mapping);
		assert_non_null(error);
		assert_non_null(strstr(error_message(error), paths[i]));
		error_free(error);
	}
}

static void temporary_files(void **state)
{
	int fd;
	assert_null(mapping_create_temporary(&fd));
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	setenv("TMPDIR", "/nonexistent", 1);
	assert_null(mapping_create_temporary(&fd));
	close(fd);
	unsetenv("TMPDIR");
}

static void expect_text(const char *path, const char *text)
{
	char found[64] = "";
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fgets(found, sizeof(found), file) || !*text);
	fclose(file);
	assert_string_equal(found, text);
}

static void replace(const char *path, const char *text)
{
	struct replacement file;
	assert_null(replacement_begin(path, &file));
	fputs(text, file.file);
	assert_null(replacement_end(&file, NULL));
	expect_text(path, text);
}

static unsigned int mode_of(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode;
}

/* The mode stays, links stay links, what goes wrong leaves the old file, and nothing else is left behind. */
static void replaced_files(void **state)
{
	char *directory, file[64], other[64];
	struct replacement replacement;
	setenv("TMPDIR", "/nonexistent", 1);
	assert_null(temporary_directory("perf-unit", &directory));
	unsetenv("TMPDIR");
	snprintf(file, sizeof(file), "%s/file", directory);
	snprintf(other, sizeof(other), "%s/link", directory);
	mode_t mask = umask(027);
	replace(file, "one");
	umask(mask);
	assert_int_equal(mode_of(file), S_IFREG | 0640);
	chmod(file, 0604);
	replace(file, "two");
	assert_int_equal(mode_of(file), S_IFREG | 0604);
	assert_int_equal(symlink("file", other), 0);
	replace(other, "three");
	assert_true(S_ISLNK(mode_of(other)));
	expect_text(file, "three");
	assert_null(replacement_begin(file, &replacement));
	fputs("four", replacement.file);
	error_free(replacement_end(&replacement, error_new("failed")));
	expect_text(file, "three");
	unlink(file);
	replace(other, "made through the link");
	unlink(file);
	unlink(other);
	replace("/dev/null", "");
	assert_true(S_ISCHR(mode_of("/dev/null")));
	assert_int_equal(rmdir(directory), 0);
	free(directory);
}

/* Where all may make files, links of others are not written through, be it below /dev. */
static void links_of_others(void **state)
{
	enum { OTHER = 65534 };
	char link[64], target[] = "/tmp/perf-unit-target-XXXXXX";
	struct error *error;
	int fd = mkstemp(target), out = -1;
	close(fd);
	snprintf(link, sizeof(link), "/dev/shm/perf-unit-link-%d", (int)getpid());
	if (symlink(target, link) < 0 || lchown(link, OTHER, OTHER) < 0) {
		unlink(link);
		unlink(target);
		skip();
	}
	error = output_file_open(link, false, &out);
	assert_non_null(error);
	assert_int_equal(error_kind(error), ERROR_PERMISSION);
	error_free(error);
	unlink(link);
	unlink(target);
	assert_null(output_file_open("/dev/null", false, &out));
	close(out);
}

static void count(void *context, unsigned int worker, size_t item)
{
	atomic_fetch_add(&((_Atomic unsigned int *)context)[item], worker < 8 ? 1 : 100);
}

static void every_item_once(void **state)
{
	static const size_t sizes[] = {0, 1, 7, 5000};
	for (unsigned int jobs = 1; jobs <= 8; jobs += 7) {
		for (size_t i = 0; i < 4; i++) {
			_Atomic unsigned int *done = calloc(sizes[i] + 1, sizeof(*done));
			pool_run(jobs, sizes[i], count, done);
			for (size_t item = 0; item < sizes[i]; item++)
				assert_int_equal(done[item], 1);
			assert_int_equal(done[sizes[i]], 0);
			free((void *)done);
		}
	}
	assert_true(pool_default_jobs() >= 1);
}

static void errors_gather_context(void **state)
{
	struct error *error = error_system(ENOSPC, "writing %d bytes", 7);
	error = error_wrap(error, "perf.data: record at %#x", 0x1f40);
	assert_string_equal(error_message(error), "perf.data: record at 0x1f40: writing 7 bytes: No space left on device");
	assert_int_equal(error_kind(error), ERROR_SYSTEM);
	assert_int_equal(error_errno(error), ENOSPC);
	error_free(error);
	assert_null(error_wrap(NULL, "nothing"));
	error_free(NULL);
}

int base_system_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_shrinks_reads_as_zero),
		cmocka_unit_test(pages_of_all_mappings_are_forgotten),
		cmocka_unit_test(what_is_no_file),
		cmocka_unit_test(temporary_files),
		cmocka_unit_test(replaced_files),
		cmocka_unit_test(links_of_others),
		cmocka_unit_test(every_item_once),
		cmocka_unit_test(errors_gather_context),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
