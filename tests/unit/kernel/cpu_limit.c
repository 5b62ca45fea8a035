/* Limits of CPU time on made-up control groups. */
#include "kernel/process/cpu_limit.h"

#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Ten names of 38 letters. */
#define FIVE(x) x x x x x
#define LONG FIVE("/kubepods-besteffort-pod0123456789abcde") FIVE("/kubepods-besteffort-pod0123456789abcde")

static char root[] = "/tmp/test-cpu-limit-XXXXXX";

static int make(void **state)
{
	static tree_file tree[] = {
		{"v2/cpu.max", "50000 100000"},
		{"v2/cpu.stat", "usage_usec 9\nnr_periods 8\nnr_throttled 3\nthrottled_usec 70"},
		{"v2/free/cpu.max", "max 100000"},
		{"v2/free/cpu.stat", "nr_throttled 0\nthrottled_usec 0"},
		{"v2/tight box/cpu.max", "1000 100000"},
		{"v2/tight box/cpu.stat", "nr_throttled 4\nthrottled_usec 80"},
		{"v2" LONG "/cpu.max", "2000 100000"},
		{"v2" LONG "/cpu.stat", "nr_throttled 5\nthrottled_usec 90"},
		{"v1/cpu.cfs_quota_us", "200000"},
		{"v1/cpu.cfs_period_us", "100000"},
		{"v1/cpu.stat", "nr_periods 8\nnr_throttled 6\nthrottled_time 7000"},
	};
	tree_make(root, tree, sizeof(tree) / sizeof(tree[0]));
	return 0;
}

static int clear(void **state)
{
	return tree_remove(root);
}

/* The lines of mounts whose root is `top`. */
static bool find(const char *top, const char *groups, struct cpu_limit *ret)
{
	char mounts[4096];
	snprintf(mounts, sizeof(mounts),
		 "22 1 0:20 / /proc rw,relatime - proc proc rw\n"
		 "30 25 0:26 / %s/absent rw,nosuid shared:9 master:2 - cgroup2 cgroup2 rw,nsdelegate\n"
		 "31 25 0:26 %s %s/v2 rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
		 "32 25 0:27 / %s/absent rw,nosuid - cgroup cgroup rw,cpuset,cpuacct\n"
		 "33 25 0:28 %s %s/v1 rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
		 "34 25",
		 root, top, root, root, top, root);
	return cpu_limit_find(mounts, groups, ret);
}

static void expect(const char *top, const char *groups, const char *group, const char *directory, double cpus)
{
	struct cpu_limit limit;
	size_t length = strlen(root);
	assert_true(find(top, groups, &limit));
	assert_string_equal(limit.group, group);
	assert_memory_equal(limit.directory, root, length);
	assert_string_equal(limit.directory + length, directory);
	assert_true(limit.cpus == cpus);
}

static void innermost_group_with_a_limit(void **state)
{
	expect("/", "0::/tight box/below/it\n", "/tight box", "/v2/tight box", 0.01);
	expect("/", "9:name=systemd:/x\n0::" LONG "\n", LONG, "/v2" LONG, 0.02);
}

static void root_of_a_container(void **state)
{
	struct cpu_limit limit;
	expect("/", "0::/\n", "/", "/v2", 0.5);
	expect("/", "0::/free\n", "/", "/v2", 0.5);
	expect("/", "3:cpuset:/x\n4:cpu,cpuacct:/\n", "/", "/v1", 2);
	expect("/docker/0123\\040x", "0::/docker/0123 x\n", "/docker/0123 x", "/v2", 0.5);
	expect("/docker/0123", "0::/docker/0123/free\n", "/docker/0123", "/v2", 0.5);
	expect("/docker/0123", "0::/docker/0123/tight box\n", "/docker/0123/tight box", "/v2/tight box", 0.01);
	assert_true(find("/", "4:cpu,cpuacct:/\n", &limit));
	assert_int_equal(limit.throttled, 6);
	assert_int_equal(limit.throttled_ns, 7000);
	assert_true(find("/", "0::/\n", &limit));
	assert_int_equal(limit.throttled, 3);
	assert_int_equal(limit.throttled_ns, 70000);
}

/* What isn't below a mount is in none of its groups. */
static void groups_that_are_not_here(void **state)
{
	static const char *const groups[] = {"0::/../v1\n", "0::/..\n", "3:cpuset,cpuacct:/\n", "", "0\n", "0::\n", "::x"};
	struct cpu_limit limit;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		assert_false(find("/", groups[i], &limit));
	assert_false(find("/docker/0123", "0::/docker/01234\n", &limit));
	assert_false(find("/docker/0123", "0::/docker\n", &limit));
	assert_false(find("/docker/0123", "0::/\n", &limit));
}

int kernel_cpu_limit_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(innermost_group_with_a_limit), cmocka_unit_test(root_of_a_container),
					   cmocka_unit_test(groups_that_are_not_here)};
	return cmocka_run_group_tests_name("kernel/cpu_limit", tests, make, clear);
}
