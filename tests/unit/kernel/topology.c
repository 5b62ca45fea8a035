/* Topology of CPUs on a made-up /sys. */
#include "kernel/hardware/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void put(const char *root, const char *path, const char *text)
{
	char command[1024];

	snprintf(command, sizeof(command), "mkdir -p '%s/sys/devices/system/cpu/%s' && rmdir '%s/sys/devices/system/cpu/%s'", root, path,
		 root, path);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "%s/sys/devices/system/cpu/%s", root, path);
	FILE *file = fopen(command, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", text);
	fclose(file);
}

static void cpus_have_places(void **state)
{
	char root[] = "/tmp/topology-XXXXXX", command[128];
	struct cpu_topology topology;
	int level, first;

	assert_non_null(mkdtemp(root));
	put(root, "cpu5/topology/physical_package_id", "1");
	put(root, "cpu5/topology/die_id", "0");
	put(root, "cpu5/topology/core_id", "3");
	put(root, "cpu5/topology/cluster_id", "65535");
	put(root, "cpu5/node2/cpulist", "4-7");
	put(root, "cpu5/cache/index0/level", "1");
	put(root, "cpu5/cache/index0/shared_cpu_list", "5");
	put(root, "cpu5/cache/index1/level", "2");
	put(root, "cpu5/cache/index1/shared_cpu_list", "4-5");
	put(root, "cpu5/cache/index2/level", "3");
	put(root, "cpu5/cache/index2/shared_cpu_list", "2,4-7");

	topology_of_cpu(root, 5, &topology);
	assert_int_equal(topology.socket, 1);
	assert_int_equal(topology.die, 0);
	assert_int_equal(topology.core, 3);
	assert_int_equal(topology.cluster, -1);
	assert_int_equal(topology.node, 2);
	assert_true(topology_cache(root, 5, 0, &level, &first));
	assert_int_equal(level, 3);
	assert_int_equal(first, 2);
	assert_true(topology_cache(root, 5, 2, &level, &first));
	assert_int_equal(first, 4);
	assert_false(topology_cache(root, 5, 4, &level, &first));

	topology_of_cpu(root, 6, &topology);
	assert_int_equal(topology.socket, -1);
	assert_int_equal(topology.node, -1);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

int kernel_topology_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(cpus_have_places)};
	return cmocka_run_group_tests_name("kernel/topology", tests, NULL, NULL);
}
