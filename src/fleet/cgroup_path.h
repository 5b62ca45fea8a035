/* What the path of a control group tells: the systemd unit, the container, the pod. Only text: nobody is asked.
 *
 *	/system.slice/nginx.service                                                         unit
 *	/system.slice/docker-ID.scope, /docker/ID                                           container
 *	/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope    container, pod
 *	/kubepods/burstable/podUID/ID                                                       the same without systemd
 */
#pragma once

#include <stdbool.h>

enum { CGROUP_UNIT_SIZE = 256, CGROUP_ID_SIZE = 65, CGROUP_RUNTIME_SIZE = 32 };

/* "" where the path doesn't tell. Unsafe bytes are still in `unit`. */
struct cgroup_owner {
	char unit[CGROUP_UNIT_SIZE];	   /* the innermost service or scope that is none of a container's: "nginx.service" */
	char container[CGROUP_ID_SIZE];	   /* its id, or the name that LXC and systemd-nspawn know it by */
	char runtime[CGROUP_RUNTIME_SIZE]; /* who runs it: "docker", "containerd", "cri-o", "podman", "lxc", "nspawn"; "" = not known */
	char pod_uid[CGROUP_ID_SIZE];	   /* of Kubernetes, with '-' in it; of Podman the pod's id */
};

void cgroup_path_read(const char *path, struct cgroup_owner *ret);
/* Whether anything was found. */
bool cgroup_owner_known(const struct cgroup_owner *owner);
