/* The file "probes" of the build-id cache: what is written is read again, whatever stands in it. */
#include "symbol/probe_cache.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/perf-probes-XXXXXX";

static int make_folder(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	cleanup_free char *program = mem_printf("%s/shop", folder), *entry = mem_printf("%s/shop/00ff", folder);
	return mkdir(program, 0700) || mkdir(entry, 0700);
}

static int remove_folder(void **state)
{
	cleanup_free char *program = mem_printf("%s/shop", folder), *entry = mem_printf("%s/shop/00ff", folder),
			  *file = mem_printf("%s/probes", entry);
	unlink(file);
	return rmdir(entry) || rmdir(program) || rmdir(folder);
}

static void write_file(const char *text)
{
	cleanup_free char *path = mem_printf("%s/shop/00ff/probes", folder);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void kept(void **state)
{
	struct probe_cache cache;
	probe_cache_read(folder, "/shop", "00ff", &cache);
	assert_int_equal(cache.entries.len, 0);
	probe_cache_put(&cache, true, "sdt_shop:sale=sale", "p:sdt_shop/sale /shop:0x1 arg1=%di:s32\n");
	probe_cache_put(&cache, false, "main", "p:probe_shop/main /shop:0x2\n");
	probe_cache_put(&cache, false, "main", "p:probe_shop/main /shop:0x3\np:probe_shop/main /shop:0x4\n");
	assert_null(probe_cache_write(&cache));
	probe_cache_deinit(&cache);

	probe_cache_read(folder, "/shop", "00ff", &cache);
	assert_int_equal(cache.entries.len, 2);
	assert_true(cache.entries.data[0].is_static);
	assert_string_equal(cache.entries.data[0].spec, "sdt_shop:sale=sale");
	assert_string_equal(cache.entries.data[1].definitions, "p:probe_shop/main /shop:0x3\np:probe_shop/main /shop:0x4\n");
	assert_true(probe_cache_matches(&cache.entries.data[0], "sdt_shop:*"));
	assert_true(probe_cache_matches(&cache.entries.data[0], "sale"));
	assert_false(probe_cache_matches(&cache.entries.data[0], "sdt_other:*"));
	assert_true(probe_cache_matches(&cache.entries.data[1], "ma*"));
	assert_true(probe_cache_matches(&cache.entries.data[1], "probe_shop:main"));
	probe_cache_remove(&cache, 0);
	assert_string_equal(cache.entries.data[0].spec, "main");
	probe_cache_remove(&cache, 0);
	assert_null(probe_cache_write(&cache));
	assert_int_equal(access(cache.path, F_OK), -1);
	probe_cache_deinit(&cache);
}

static void nonsense(void **state)
{
	struct probe_cache cache;
	write_file("p:before/all /shop:0x1\n\n%\n#broken\nno definition\n%sdt_a:b=b\n");
	probe_cache_read(folder, "/shop", "00ff", &cache);
	assert_int_equal(cache.entries.len, 3);
	assert_string_equal(cache.entries.data[0].spec, "");
	assert_string_equal(cache.entries.data[1].definitions, "no definition\n");
	assert_false(probe_cache_matches(&cache.entries.data[1], "definition"));
	assert_string_equal(cache.entries.data[2].definitions, "");
	probe_cache_deinit(&cache);
}

int symbol_probe_cache_tests(void);
int symbol_probe_cache_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(kept), cmocka_unit_test(nonsense)};
	return cmocka_run_group_tests_name("symbol/probe_cache", tests, make_folder, remove_folder);
}
