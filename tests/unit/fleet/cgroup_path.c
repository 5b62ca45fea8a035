/* Paths of control groups, as systemd, Docker, containerd, CRI-O, Podman, LXC and Kubernetes make them. */
#include "fleet/cgroup_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "5e23a1c0-9b1d-4f6e-8c7a-0a1b2c3d4e5f"
#define SLICE_UID "5e23a1c0_9b1d_4f6e_8c7a_0a1b2c3d4e5f"

static void test_shapes(void **state)
{
	static const struct {
		const char *path, *unit, *container, *runtime, *pod;
	} shapes[] = {
		{"/", "", "", "", ""},
		{"", "", "", "", ""},
		{"/user.slice", "", "", "", ""},
		{"/system.slice/nginx.service", "nginx.service", "", "", ""},
		{"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "", "", ""},
		{"/user.slice/user-1000.slice/session-3.scope", "session-3.scope", "", "", ""},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/a.service", "a.service", "", "", ""},
		{"/init.scope", "init.scope", "", "", ""},
		{"/docker/" ID, "", ID, "docker", ""},
		{"/system.slice/docker-" ID ".scope", "", ID, "docker", ""},
		{"/system.slice/docker.service", "docker.service", "", "", ""},
		{"/system.slice/docker-" ID ".scope/system.slice/cron.service", "cron.service", ID, "docker", ""},
		{"/system.slice/nerdctl-" ID ".scope", "", ID, "containerd", ""},
		{"/machine.slice/libpod-" ID ".scope/container", "", ID, "podman", ""},
		{"/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", "", "", ""},
		{"/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" ID ".scope", "", ID, "podman", ""},
		{"/libpod_parent/libpod_pod_" ID "/libpod-" ID, "", ID, "podman", ID},
		{"/machine.slice/machine-web.scope/payload", "", "web", "nspawn", ""},
		{"/lxc/web", "", "web", "lxc", ""},
		{"/lxc.payload.web/system.slice/ssh.service", "ssh.service", "web", "lxc", ""},
		{"/kubepods/burstable/pod" UID "/" ID, "", ID, "", UID},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" SLICE_UID ".slice/cri-containerd-" ID ".scope", "", ID,
		 "containerd", UID},
		{"/kubepods.slice/kubepods-pod" SLICE_UID ".slice/crio-" ID ".scope", "", ID, "cri-o", UID},
		{"/kubepods.slice/kubepods-pod" SLICE_UID ".slice/crio-conmon-" ID ".scope", "crio-conmon-" ID ".scope", "", "", UID},
		{"/system.slice/containerd.service/kubepods-burstable-pod" SLICE_UID ".slice:cri-containerd:" ID, "", ID, "containerd",
		 UID},
		{"/ecs/55091c13-b8cf-4801-b527-f4601742204d/" ID, "", ID, "", ""},
		{"/0123456789abcdef", "", "", "", ""},
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct cgroup_owner owner;
		cgroup_path_read(shapes[i].path, &owner);
		assert_string_equal(owner.unit, shapes[i].unit);
		assert_string_equal(owner.container, shapes[i].container);
		assert_string_equal(owner.runtime, shapes[i].runtime);
		assert_string_equal(owner.pod_uid, shapes[i].pod);
		assert_int_equal(cgroup_owner_known(&owner), *owner.unit || *owner.container || *owner.pod_uid);
	}
}

/* Whatever somebody calls a group, nothing is written behind its place. */
static void test_long_names(void **state)
{
	char path[5000];
	struct cgroup_owner owner;
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = 'a';
	path[0] = '/';
	memcpy(path + sizeof(path) - 9, ".service", 9);
	cgroup_path_read(path, &owner);
	assert_int_equal(strlen(owner.unit), CGROUP_UNIT_SIZE - 1);
	memcpy(path, "/machine-", 9);
	memcpy(path + sizeof(path) - 7, ".scope", 7);
	cgroup_path_read(path, &owner);
	assert_int_equal(strlen(owner.container), CGROUP_ID_SIZE - 1);
}

int fleet_cgroup_path_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_long_names),
	};
	return cmocka_run_group_tests_name("fleet/cgroup_path", tests, NULL, NULL);
}
