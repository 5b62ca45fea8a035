/* Finding tracefs and listing what is in it. Nothing is cached here: a listing costs a directory read. */
#include "kernel/tracing/tracefs.h"

#include "base/cleanup.h"
#include "kernel/fix.h"
#include "kernel/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const mount_points[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
/* The folder where debugfs is mounted, when it is another than usual: tracefs is in its tracing. */
static const char debugfs_variable[] = "PERF_DEBUGFS_DIR";

/* Can the directory of events be read, and the files below it? They may be closed though the directory is open. */
static enum tracefs_state look_into(const char *path)
{
	cleanup_free char *events = mem_printf("%s/events", path);
	cleanup_free char *file = mem_printf("%s/header_page", events);
	struct stat st;

	if (stat(events, &st) < 0) {
		if (errno == EACCES || errno == EPERM)
			return TRACEFS_FORBIDDEN;
		return stat(path, &st) == 0 ? TRACEFS_NOT_MOUNTED : TRACEFS_ABSENT;
	}
	if (access(events, R_OK | X_OK) < 0 || (access(file, R_OK) < 0 && errno == EACCES))
		return TRACEFS_FORBIDDEN;
	return TRACEFS_READABLE;
}

enum tracefs_state tracefs_look(const char *root, char **ret_path)
{
	enum tracefs_state best = TRACEFS_ABSENT;

	*ret_path = NULL;
	const char *debugfs = root && *root ? NULL : getenv(debugfs_variable);
	if (debugfs) {
		*ret_path = mem_printf("%s/tracing", debugfs);
		return look_into(*ret_path);
	}
	for (size_t i = 0; i < sizeof(mount_points) / sizeof(mount_points[0]) && best != TRACEFS_READABLE; i++) {
		cleanup_free char *path = mem_printf("%s%s", root ? root : "", mount_points[i]);
		enum tracefs_state state = look_into(path);
		/* debugfs is closed to all but root: whether tracefs is in it cannot be seen, and it need not be. */
		if (state == TRACEFS_FORBIDDEN && i && best == TRACEFS_NOT_MOUNTED)
			continue;
		if (state >= best)
			continue;
		best = state;
		free(*ret_path);
		*ret_path = state <= TRACEFS_FORBIDDEN ? take_pointer(path) : NULL;
	}
	return best;
}

/* Distributions mount it when they start; minimal ones and virtual machines may not. Who may mount it needs no riddle. */
static bool mount_tracefs(const char *root)
{
	if ((root && *root) || getenv(debugfs_variable))
		return false;
	return mount("tracefs", mount_points[0], "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}

struct error *tracefs_find(const char *root, char **ret_path)
{
	cleanup_free char *path = NULL;
	struct strbuf remedy = {0};
	struct error *error = NULL;
	enum tracefs_state state = tracefs_look(root, &path);

	if (state == TRACEFS_NOT_MOUNTED && mount_tracefs(root))
		state = tracefs_look(root, &path);
	switch (state) {
	case TRACEFS_READABLE:
		*ret_path = take_pointer(path);
		break;
	case TRACEFS_FORBIDDEN:
		fix_tracefs_rights(&remedy, path);
		error = error_new_kind(
			ERROR_PERMISSION,
			"no permission to read tracefs, which describes the tracepoints: run as root, or join a group that has "
			"permission:\n  %s",
			strbuf_str(&remedy));
		strbuf_deinit(&remedy);
		break;
	case TRACEFS_NOT_MOUNTED:
		error = error_new_kind(ERROR_UNSUPPORTED,
				       "tracefs, which describes the tracepoints, is not mounted:\n  " FIX_TRACEFS_MOUNT);
		break;
	case TRACEFS_ABSENT:
		error = error_new_kind(ERROR_UNSUPPORTED,
				       "this kernel has no tracefs (CONFIG_TRACING is off), so there are no tracepoints");
		break;
	}
	return error;
}

void tracefs_names_deinit(struct tracefs_names *list)
{
	for (size_t i = 0; i < list->names.len; i++)
		free(list->names.data[i]);
	vec_deinit(&list->names);
}

/* Where the directory's entries don't tell, the file is asked. */
static bool is_directory(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_name[0] == '.')
		return false;
	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted by name. */
static struct error *list_directories(const char *path, struct tracefs_names *ret)
{
	DIR *dir = opendir(path);

	if (!dir)
		return errno == ENOENT ? NULL : error_system(errno, "%s", path);
	for (struct dirent *entry; (entry = readdir(dir));)
		if (is_directory(dir, entry))
			vec_push(&ret->names, mem_strdup(entry->d_name));
	closedir(dir);
	if (ret->names.len)
		qsort(ret->names.data, ret->names.len, sizeof(*ret->names.data), compare_names);
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
