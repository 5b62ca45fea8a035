/* Paths of control groups, component by component: each runtime has its own way to put an id into one (systemd's scopes "RUNTIME-ID.scope",
 * folders "/RUNTIME/ID", containerd's "SLICE:RUNTIME:ID"). What they have in common is the id, 64 hexadecimal digits. */
#include "fleet/cgroup_path.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

enum { ID_LENGTH = 64 };

struct component {
	const char *text;
	size_t length;
};

/* "a.scope" has the end ".scope". */
static bool ends_with(const struct component *component, const char *end)
{
	size_t length = strlen(end);
	return component->length > length && !memcmp(component->text + component->length - length, end, length);
}

static bool begins_with(const struct component *component, const char *begin)
{
	return component->length > strlen(begin) && !memcmp(component->text, begin, strlen(begin));
}

static void copy(char *to, size_t size, const char *from, size_t length)
{
	if (length >= size)
		length = size - 1;
	memcpy(to, from, length);
	to[length] = '\0';
}

/* ---- containers ---- */

/* What stands before an id → what we call it. */
static const struct {
	const char *prefix, *runtime;
} runtimes[] = {
	{"docker", "docker"},
	{"cri-containerd", "containerd"},
	{"containerd", "containerd"},
	{"nerdctl", "containerd"},
	{"crio", "cri-o"},
	{"libpod", "podman"},
	{"podman", "podman"},
};

static const char *find_runtime(const char *prefix, size_t length)
{
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
		if (strlen(runtimes[i].prefix) == length && !memcmp(runtimes[i].prefix, prefix, length))
			return runtimes[i].runtime;
	return "";
}

static size_t count_hex_before(const char *text, size_t length)
{
	size_t count = 0;
	while (count < length && isxdigit((unsigned char)text[length - 1 - count]))
		count++;
	return count;
}

/* An id at the end, or before ".scope"; what monitors a container isn't in it. `parent` is the folder, whose name is the runtime's where
 * nothing stands before the id. */
static bool take_container(const struct component *component, const struct component *parent, struct cgroup_owner *ret)
{
	size_t length = component->length - (ends_with(component, ".scope") ? strlen(".scope") : 0);
	if (count_hex_before(component->text, length) != ID_LENGTH)
		return false;
	size_t prefix = length - ID_LENGTH;
	if (prefix && (strchr("-_:", component->text[prefix - 1]) == NULL || prefix == 1))
		return false;
	if (prefix >= 7 && !memcmp(component->text + prefix - 7, "conmon", 6))
		return false;
	copy(ret->container, sizeof(ret->container), component->text + prefix, ID_LENGTH);
	const char *runtime = prefix ? find_runtime(component->text, prefix - 1) : find_runtime(parent->text, parent->length);
	copy(ret->runtime, sizeof(ret->runtime), runtime, strlen(runtime));
	return true;
}

/* LXC and systemd-nspawn know containers by names: "lxc.payload.NAME", "/lxc/NAME", "machine-NAME.scope". */
static bool take_named(const struct component *component, const struct component *parent, struct cgroup_owner *ret)
{
	static const char payload[] = "lxc.payload.", machine[] = "machine-";
	bool in_lxc = parent->length == 3 && !memcmp(parent->text, "lxc", 3);
	if (begins_with(component, payload) || in_lxc) {
		size_t skip = in_lxc ? 0 : strlen(payload);
		copy(ret->container, sizeof(ret->container), component->text + skip, component->length - skip);
		strcpy(ret->runtime, "lxc");
	} else if (begins_with(component, machine) && ends_with(component, ".scope")) {
		copy(ret->container, sizeof(ret->container), component->text + strlen(machine),
		     component->length - strlen(machine) - strlen(".scope"));
		strcpy(ret->runtime, "nspawn");
	} else {
		return false;
	}
	return true;
}

/* ---- pods ---- */

/* "pod" and an UUID of 36 characters, with '_' for '-' in names of slices; "libpod_pod_ID". */
static bool take_pod(const struct component *component, struct cgroup_owner *ret)
{
	enum { UUID_LENGTH = 36 };
	static const char podman[] = "libpod_pod_";
	size_t length = component->length - (ends_with(component, ".slice") ? strlen(".slice") : 0);
	const char *text = component->text;
	if (begins_with(component, podman) && count_hex_before(text, length) == ID_LENGTH) {
		copy(ret->pod_uid, sizeof(ret->pod_uid), text + strlen(podman), ID_LENGTH);
		return true;
	}
	const char *pod = length > UUID_LENGTH + 3 || (length == UUID_LENGTH + 3 && *text == 'p') ? text + length - UUID_LENGTH - 3 : NULL;
	if (!pod || memcmp(pod, "pod", 3) != 0 || (pod > text && pod[-1] != '-'))
		return false;
	copy(ret->pod_uid, sizeof(ret->pod_uid), pod + 3, UUID_LENGTH);
	for (char *c = ret->pod_uid; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return true;
}

/* ---- */

static void take(const struct component *component, const struct component *parent, struct cgroup_owner *ret)
{
	if (take_pod(component, ret))
		return;
	if (take_container(component, parent, ret) || take_named(component, parent, ret))
		ret->unit[0] = '\0'; /* of whoever runs it */
	else if (ends_with(component, ".service") || ends_with(component, ".scope"))
		copy(ret->unit, sizeof(ret->unit), component->text, component->length);
}

/* "kubepods-burstable-podUID.slice:cri-containerd:ID" is two. */
static void take_pieces(const struct component *component, const struct component *parent, struct cgroup_owner *ret)
{
	static const char slice[] = ".slice:";
	const char *colon = memmem(component->text, component->length, slice, strlen(slice));
	if (!colon) {
		take(component, parent, ret);
		return;
	}
	const struct component first = {component->text, (size_t)(colon - component->text) + strlen(slice) - 1};
	const struct component second = {first.text + first.length + 1, component->length - first.length - 1};
	take(&first, parent, ret);
	take(&second, &first, ret);
}

void cgroup_path_read(const char *path, struct cgroup_owner *ret)
{
	struct component parent = {"", 0};
	*ret = (struct cgroup_owner){0};
	while (*path) {
		struct component component = {path, strcspn(path, "/")};
		if (component.length)
			take_pieces(&component, &parent, ret);
		parent = component;
		path += component.length;
		path += *path == '/';
	}
}

bool cgroup_owner_known(const struct cgroup_owner *owner)
{
	return *owner->unit || *owner->container || *owner->pod_uid;
}
