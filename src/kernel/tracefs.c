/* Finding tracefs and listing what is in it. Nothing is cached here: a listing costs a directory read. */
#include "kernel/tracefs.h"

#include "base/cleanup.h"
#include "kernel/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const mount_points[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

struct error *tracefs_find(const char *root, char **ret_path)
{
	bool forbidden = false, present = false;

	for (size_t i = 0; i < sizeof(mount_points) / sizeof(mount_points[0]); i++) {
		cleanup_free char *path = mem_printf("%s%s", root ? root : "", mount_points[i]);
		cleanup_free char *events = mem_printf("%s/events", path);
		struct stat st;

		if (stat(events, &st) == 0 && access(events, R_OK | X_OK) == 0) {
			*ret_path = take_pointer(path);
			return NULL;
		}
		forbidden |= errno == EACCES || errno == EPERM;
		present |= stat(path, &st) == 0;
	}
	if (forbidden)
		return error_new_kind(
			ERROR_PERMISSION,
			"no permission to read tracefs, which describes the tracepoints: run as root, or let everybody read it:\n"
			"  sudo mount -o remount,mode=755 /sys/kernel/tracing");
	if (present)
		return error_new_kind(ERROR_UNSUPPORTED, "tracefs, which describes the tracepoints, is not mounted:\n"
							 "  sudo mount -t tracefs nodev /sys/kernel/tracing");
	return error_new_kind(ERROR_UNSUPPORTED, "this kernel has no tracefs (CONFIG_TRACING is off), so there are no tracepoints");
}

void tracefs_names_deinit(struct tracefs_names *list)
{
	for (size_t i = 0; i < list->names.len; i++)
		free(list->names.data[i]);
	vec_deinit(&list->names);
}

static bool is_directory(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_name[0] == '.')
		return false;
	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static struct error *list_directories(const char *path, struct tracefs_names *ret)
{
	DIR *dir = opendir(path);

	if (!dir)
		return errno == ENOENT ? NULL : error_system(errno, "%s", path);
	for (struct dirent *entry; (entry = readdir(dir));)
		if (is_directory(dir, entry))
			vec_push(&ret->names, mem_strdup(entry->d_name));
	closedir(dir);
	return NULL;
}

struct error *tracefs_systems(const char *tracefs, struct tracefs_names *ret)
{
	cleanup_free char *path = mem_printf("%s/events", tracefs);

	return list_directories(path, ret);
}

struct error *tracefs_events(const char *tracefs, const char *system, struct tracefs_names *ret)
{
	cleanup_free char *path = mem_printf("%s/events/%s", tracefs, system);

	return list_directories(path, ret);
}

bool tracefs_has_system(const char *tracefs, const char *system)
{
	cleanup_free char *path = mem_printf("%s/events/%s", tracefs, system);

	return access(path, F_OK) == 0;
}

bool tracefs_event_id(const char *tracefs, const char *system, const char *event, int *ret_id)
{
	cleanup_free char *path = mem_printf("%s/events/%s/%s/id", tracefs, system, event);
	int64_t id;

	if (!proc_read_int(path, &id) || id < 0 || id > INT32_MAX)
		return false;
	*ret_id = (int)id;
	return true;
}

struct error *tracefs_event_format(const char *tracefs, const char *system, const char *event, struct strbuf *out)
{
	cleanup_free char *path = mem_printf("%s/events/%s/%s/format", tracefs, system, event);

	int result = proc_read_file(AT_FDCWD, path, out);

	return result ? error_system(-result, "%s", path) : NULL;
}
