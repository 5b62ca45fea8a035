/* The file is read first: who finds the switch on already need not be root, and leaves it on. */
#include "kernel/hardware/smi_freeze.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "kernel/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static const char path[] = "/sys/devices/cpu/freeze_on_smi";

/* 0 or -errno. */
static int turn(const char *state)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, state, 1) != 1 ? -errno : 0;
}

/* *ret_was_off says whether smi_freeze_end() is to be called. */
struct error *smi_freeze_begin(bool *ret_was_off)
{
	int64_t on;

	if (!proc_read_int(path, &on))
		return error_new_kind(
			ERROR_UNSUPPORTED,
			"counters cannot be frozen during system management interrupts on this machine: %s exists on Intel processors "
			"only, and only if no hypervisor hides their counters",
			path);
	int failure = on ? 0 : turn("1");
	if (failure == -EACCES || failure == -EPERM)
		return error_new_kind(ERROR_PERMISSION, "only root can freeze counters during system management interrupts:  echo 1 >%s",
				      path);
	if (failure)
		return error_system(-failure, "cannot set %s", path);
	*ret_was_off = !on;
	return NULL;
}

void smi_freeze_end(void)
{
	int failure = turn("0");

	if (failure)
		log_warning("%s stays 1: %s", path, strerror(-failure));
}
