/* From sysfs (Documentation/ABI/stable/sysfs-block: the "uevent" of a device has its DEVNAME) and from the device mapper
 * (linux/dm-ioctl.h: DM_TABLE_STATUS with DM_STATUS_TABLE_FLAG lists a table's targets). */
#include "kernel/hardware/block_devices.h"

#include "base/cleanup.h"
#include "kernel/proc.h"

#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

bool block_device_add_name(uint32_t major, uint32_t minor, struct strbuf *out)
{
	static const char key[] = "DEVNAME=";
	char path[80];
	struct strbuf text = {0};
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", major, minor);
	const char *found = !proc_read_file(AT_FDCWD, path, &text) ? strstr(strbuf_str(&text), key) : NULL;
	if (found) {
		found += strlen(key);
		strbuf_add(out, found, strcspn(found, "\n"));
	}
	strbuf_deinit(&text);
	return found;
}

bool block_device_add_mapper_name(uint32_t major, uint32_t minor, struct strbuf *out)
{
	char path[80], name[DM_NAME_LEN];
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/dm/name", major, minor);
	if (!proc_read_line(path, name, sizeof(name)))
		return false;
	strbuf_add_str(out, name);
	return true;
}

union dm_answer {
	struct dm_ioctl head;
	char bytes[16384];
};

static bool ask_for_table(uint32_t major, uint32_t minor, union dm_answer *ret)
{
	int control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (control < 0)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->head = (struct dm_ioctl){
		.version = {DM_VERSION_MAJOR, 0, 0},
		.data_size = sizeof(*ret),
		.data_start = sizeof(ret->head),
		.flags = DM_STATUS_TABLE_FLAG,
		/* The kernel's own encoding of device numbers: huge_encode_dev() of linux/kdev_t.h. */
		.dev = (minor & 0xff) | (uint64_t)major << 8 | (uint64_t)(minor & ~0xffu) << 12,
	};
	int failed = ioctl(control, DM_TABLE_STATUS, ret);
	close(control);
	return !failed && ret->head.target_count && !(ret->head.flags & DM_BUFFER_FULL_FLAG);
}

bool block_device_add_targets(uint32_t major, uint32_t minor, struct strbuf *out)
{
	cleanup_free union dm_answer *answer = mem_alloc(sizeof(*answer));
	size_t begin = out->len, at = 0;
	if (!ask_for_table(major, minor, answer) || answer->head.data_start > sizeof(*answer))
		return false;
	size_t size = sizeof(*answer) - answer->head.data_start;
	const char *data = answer->bytes + answer->head.data_start;
	for (uint32_t i = 0; i < answer->head.target_count && at + sizeof(struct dm_target_spec) <= size; i++) {
		struct dm_target_spec target;
		char kind[DM_MAX_TYPE_NAME + 1] = "";
		memcpy(&target, data + at, sizeof(target));
		memcpy(kind, target.target_type, DM_MAX_TYPE_NAME);
		if (!strstr(strbuf_str(out) + begin, kind)) {
			strbuf_add_str(out, out->len > begin ? ", " : "");
			strbuf_add_str(out, kind);
		}
		at = target.next; /* from the beginning of the data */
		if (!at)
			break;
	}
	return out->len > begin;
}
