/* The sink that is a folder: files with the window's samples, the oldest removed, nobody else's touched. */
#include "base/files/replacement.h"
#include "base/mem.h"
#include "examine.h"
#include "fleet/sink.h"
#include "made/windows.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char *folder;

static int make_folder(void **state)
{
	return temporary_directory("perf-folder", &folder) != NULL;
}

static int remove_folder(void **state)
{
	DIR *dir = opendir(folder);
	for (struct dirent *entry; (entry = readdir(dir));)
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	int failed = rmdir(folder);
	free(folder);
	return failed;
}

static struct fleet_sink *open_sink(const char *parameters)
{
	static char *url; /* a sink keeps the pointer */
	free(url);
	url = mem_printf("file://%s%s", folder, parameters);
	const struct fleet_sink_options options = {.name = "files", .url = url};
	struct fleet_sink *sink;
	assert_null(fleet_sink_open(&options, &sink));
	return sink;
}

static void put_as(struct fleet_sink *sink, uint8_t number, uint8_t id, uint32_t count)
{
	struct window *window = made_window(number);
	struct strbuf batch = {0};
	struct error *why = NULL;
	window->id[0] = id;
	made_window_add(window, 0, 7, 1, "main;work", count, count * UINT64_C(1000));
	assert_null(fleet_sink_encode(sink, window, &batch));
	assert_int_equal(fleet_sink_send(sink, window->id, batch.data, batch.len, &why), SINK_TAKEN);
	strbuf_deinit(&batch);
	window_destroy(window);
}

static void put(struct fleet_sink *sink, uint8_t number, uint32_t count)
{
	put_as(sink, number, number, count);
}

/* How many there are, and the first and last name. */
static int list(char **ret_first, char **ret_last)
{
	struct dirent **names;
	int count = scandir(folder, &names, NULL, alphasort);
	*ret_first = mem_strdup(names[2]->d_name);
	*ret_last = mem_strdup(names[count - 1]->d_name);
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	return count - 2; /* . and .. */
}

static void a_window_twice_is_one_file(void **state)
{
	struct fleet_sink *sink = open_sink("?format=pprof");
	char *first, *last;
	put(sink, 1, 3);
	put(sink, 1, 3);
	assert_int_equal(list(&first, &last), 1);
	assert_string_equal(first, "20261127T193336Z-web1-0100000000000000.pb.gz");
	free(first);
	free(last);
	fleet_sink_close(sink);
}

/* Of one host and time, as when a clock was set back: none takes the other's place. */
static void two_windows_are_two_files(void **state)
{
	struct fleet_sink *sink = open_sink("?format=pprof");
	char *first, *last;
	put_as(sink, 1, 1, 3);
	put_as(sink, 1, 2, 3);
	assert_int_equal(list(&first, &last), 2);
	assert_string_equal(first, "20261127T193336Z-web1-0100000000000000.pb.gz");
	assert_string_equal(last, "20261127T193336Z-web1-0200000000000000.pb.gz");
	free(first);
	free(last);
	fleet_sink_close(sink);
}

static void the_oldest_are_removed(void **state)
{
	struct fleet_sink *sink = open_sink("?format=pprof&keep=3");
	char *first, *last, *other = mem_printf("%s/19990101T000000Z.pb.gz", folder);
	close(open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	for (uint8_t i = 1; i <= 9; i++)
		put(sink, i, 1);
	assert_int_equal(list(&first, &last), 4);
	assert_string_equal(first, "19990101T000000Z.pb.gz"); /* not ours, though it looks like it */
	assert_string_equal(last, "20261127T193456Z-web1-0900000000000000.pb.gz");
	assert_int_equal(unlink(other), 0);
	free(first);
	free(last);
	free(other);
	fleet_sink_close(sink);
	sink = open_sink("?format=pprof&limit=1"); /* of which there is always one */
	put(sink, 10, 1);
	assert_int_equal(list(&first, &last), 1);
	assert_string_equal(first, "20261127T193506Z-web1-0a00000000000000.pb.gz");
	free(first);
	free(last);
	fleet_sink_close(sink);
}

static void recordings_have_each_sample(void **state)
{
	struct fleet_sink *sink = open_sink("");
	char *first, *last;
	put(sink, 1, 5);
	assert_int_equal(list(&first, &last), 1);
	char *path = mem_printf("%s/%s", folder, first);
	struct strbuf data = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(strbuf_read(&data, fd, 1 << 20), 0);
	close(fd);
	const struct examined examined = examine_recording(data.data, data.len);
	assert_int_equal(examined.opened, 1);
	assert_int_equal(examined.samples, 5);
	assert_int_equal(examined.broken, 0);
	strbuf_deinit(&data);
	free(path);
	free(first);
	free(last);
	fleet_sink_close(sink);
}

static void urls(void **state)
{
	static const struct {
		const char *url, *why;
	} wrong[] = {
		{"file://relative/path", "three slashes"},
		{"file:///x?format=json", "perf.data or pprof"},
		{"file:///x?keep=0", "keep="},
		{"file:///x?limit=many", "limit="},
		{"nosuch://x", "file://"},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const struct fleet_sink_options options = {.name = "x", .url = wrong[i].url};
		struct fleet_sink *sink;
		struct error *error = fleet_sink_open(&options, &sink);
		assert_non_null(error);
		assert_non_null(strstr(error_message(error), wrong[i].why));
		error_free(error);
	}
}

/* Nothing is left behind, and the batch comes again. */
static void no_such_folder(void **state)
{
	const struct fleet_sink_options options = {.name = "x", .url = "file:///proc/nowhere/deep"};
	struct fleet_sink *sink;
	struct error *why = NULL;
	assert_null(fleet_sink_open(&options, &sink));
	struct error *error = fleet_sink_check(sink);
	assert_non_null(error);
	error_free(error);
	struct window *window = made_window(1);
	struct strbuf batch = {0};
	assert_null(fleet_sink_encode(sink, window, &batch));
	assert_int_equal(fleet_sink_send(sink, window->id, batch.data, batch.len, &why), SINK_LATER);
	error_free(why);
	assert_int_equal(fleet_sink_send(sink, window->id, "../x\nabc", 8, &why), SINK_REFUSED);
	error_free(why);
	strbuf_deinit(&batch);
	window_destroy(window);
	fleet_sink_close(sink);
}

int fleet_folder_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_window_twice_is_one_file, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(two_windows_are_two_files, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(the_oldest_are_removed, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(recordings_have_each_sample, make_folder, remove_folder),
		cmocka_unit_test(urls),
		cmocka_unit_test(no_such_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
