/* Files that are replaced as a whole, and directories for what is only needed for a while. */
#include "base/files/replacement.h"
#include "base/cleanup.h"
#include "base/files/output.h"
#include "base/files/process_file.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/* In /dev/shm and /dev/mqueue everybody may make files, links as well. */
bool output_is_device(const char *path)
{
	if (str_starts_with(path, "/dev/shm/") || str_starts_with(path, "/dev/mqueue/"))
		return false;
	return str_starts_with(path, "/dev/") || str_starts_with(path, "/proc/");
}

/* `link`: what lstat() says of the path. */
static struct error *check_link(const char *path, const struct stat *link)
{
	if (!S_ISLNK(link->st_mode) || output_is_device(path) || owner_is_trusted(link->st_uid))
		return NULL;
	return error_new_kind(ERROR_PERMISSION,
			      "refusing to write through %s, a symbolic link of another user; remove it or choose another file", path);
}

struct error *output_file_open(const char *path, bool append, int *ret_fd)
{
	struct stat link;
	bool there = lstat(path, &link) == 0;
	struct error *error = there ? check_link(path, &link) : NULL;
	if (error)
		return error;
	/* Nobody can put a link there in between. */
	int follow = there && S_ISLNK(link.st_mode) ? 0 : output_is_device(path) ? 0 : O_NOFOLLOW;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | follow | (append ? O_APPEND : O_TRUNC), 0666);
	if (fd < 0)
		return error_system(errno, "%s", path);
	*ret_fd = fd;
	return NULL;
}

struct error *output_stream_open(const char *path, bool append, FILE **ret)
{
	int fd;
	struct error *error = output_file_open(path, append, &fd);
	if (error)
		return error;
	*ret = fdopen(fd, append ? "a" : "w");
	if (!*ret)
		mem_exhausted();
	return NULL;
}

/* What is to be replaced for `path`: NULL when it is to be written as it is. */
static struct error *find_target(const char *path, char **ret)
{
	struct stat link, target;
	*ret = NULL;
	if (lstat(path, &link)) {
		if (errno != ENOENT)
			return error_system(errno, "%s", path);
		*ret = mem_strdup(path);
		return NULL;
	}
	if (output_is_device(path))
		return NULL;
	struct error *error = check_link(path, &link);
	if (error)
		return error;
	if (stat(path, &target) || !S_ISREG(target.st_mode))
		return NULL;
	char *real = realpath(path, NULL);
	if (!real)
		return error_system(errno, "%s", path);
	*ret = real;
	return NULL;
}

/* A file that nobody else can have put there. open() instead of mkstemp(), so that its rights are those that the umask leaves. */
static int create_beside(const char *path, char **ret_name)
{
	for (;;) {
		uint32_t number;
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -1;
		cleanup_free char *name = mem_printf("%s.%08x", path, number);
		int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd >= 0)
			*ret_name = take_pointer(name);
		return fd;
	}
}

/* The file at `path` lends its rights to the new one, if it is ours: the rights that somebody else chose are not for what we write. */
static void keep_mode(const char *path, int fd)
{
	struct stat old;
	if (stat(path, &old) == 0 && old.st_uid == geteuid())
		fchmod(fd, old.st_mode & 0777);
}

/* `target` is taken over; NULL: `path` is written as it is. */
static struct error *begin(const char *path, char *target, struct replacement *ret)
{
	struct replacement made = {.path = target ? target : mem_strdup(path)};
	int fd = target ? create_beside(target, &made.beside) : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		struct error *error = error_system(errno, "cannot write %s", path);
		free(made.path);
		return error;
	}
	made.file = fdopen(fd, "w");
	if (!made.file)
		mem_exhausted();
	*ret = made;
	return NULL;
}

struct error *replacement_begin(const char *path, struct replacement *ret)
{
	char *target;
	struct error *error = find_target(path, &target);
	error = error ? error : begin(path, target, ret);
	if (!error && ret->beside)
		keep_mode(ret->path, fileno(ret->file));
	return error;
}

struct error *replacement_begin_here(const char *path, struct replacement *ret)
{
	return begin(path, mem_strdup(path), ret);
}

struct error *replacement_end(struct replacement *replacement, struct error *error)
{
	const char *path = replacement->path, *beside = replacement->beside;
	int failure = output_close(replacement->file);
	if (failure && !error)
		error = error_system(failure, "cannot write %s", path);
	if (beside && !error && rename(beside, path))
		error = error_system(errno, "cannot write %s", path);
	if (beside && error)
		unlink(beside);
	free(replacement->path);
	free(replacement->beside);
	*replacement = (struct replacement){0};
	return error;
}

struct error *temporary_directory(const char *name, char **ret_path)
{
	const char *places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp"};
	int reason = ENOENT;
	for (size_t i = 0; i < 3; i++) {
		if (!places[i] || !*places[i])
			continue;
		char *path = mem_printf("%s/%s-XXXXXX", places[i], name);
		if (mkdtemp(path)) {
			*ret_path = path;
			return NULL;
		}
		reason = errno;
		free(path);
	}
	return error_system(reason, "cannot create a temporary directory in TMPDIR, /tmp or /var/tmp");
}

bool directories_make(const char *path, unsigned int mode)
{
	cleanup_free char *copy = mem_strdup(path);
	for (char *at = copy + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST)
			return false;
		*at = '/';
	}
	return mkdir(copy, mode) == 0 || errno == EEXIST;
}
