/* A folder of files, one for each window: perf.data or pprof. The oldest are removed.
 *
 *	file:///var/lib/perf/windows?format=pprof&keep=1000&limit=500M
 *
 * A file is written under a name with a dot in front, brought to disk, and then gets its name; that begins with the window's time and
 * ends with its id, so that a window that comes again is the same file. Only files with such names are ever removed.
 *
 * A batch is the name, a newline and the profile. A recording is made of the profile when the file is written: its names are in it. */
#include "analysis/import/imported.h"
#include "base/cleanup.h"
#include "base/files/kept_files.h"
#include "base/files/whole.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "fleet/sink.h"
#include "fleet/sink_url.h"
#include "view/export/pprof.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { KEEP_DEFAULT = 10000, TIME_LENGTH = 16, ID_BYTES = 8, HOST_MAX = 100 };
#define LIMIT_DEFAULT (UINT64_C(1) << 30)

struct folder {
	char *path;
	bool recordings;    /* else pprof */
	uint64_t keep;	    /* files */
	uint64_t limit;	    /* bytes of all of them */
	const char *suffix; /* of the files' names */
};

static struct error *read_number(const struct sink_url *url, const char *name, bool (*parse)(const char *text, uint64_t *ret),
				 uint64_t *ret)
{
	const char *text = sink_url_parameter(url, name);
	if (!text || (parse(text, ret) && *ret))
		return NULL;
	return error_new_kind(ERROR_USAGE, "%s= of its URL isn't a number above 0", name);
}

static struct error *read_url(const struct sink_url *url, struct folder *folder)
{
	const char *format = sink_url_parameter(url, "format");
	folder->path = mem_strdup(url->path);
	folder->recordings = !format || !strcmp(format, "perf.data");
	folder->suffix = folder->recordings ? ".perf.data" : ".pb.gz";
	if (url->user || url->port || *url->host || *url->path != '/')
		return error_new_kind(ERROR_USAGE, "file:// takes an absolute path: three slashes, as in file:///var/lib/perf/windows");
	if (!folder->recordings && strcmp(format, "pprof") != 0)
		return error_new_kind(ERROR_USAGE, "format= of its URL is perf.data or pprof");
	struct error *error = read_number(url, "keep", number_parse_u64, &folder->keep);
	return error ? error : read_number(url, "limit", number_parse_size, &folder->limit);
}

static void close_folder(void *state)
{
	struct folder *folder = state;
	free(folder->path);
	free(folder);
}

static struct error *open_folder(const struct fleet_sink_options *options, void **ret_state)
{
	static const char *const names[] = {"format", "keep", "limit", NULL};
	struct sink_url url;
	struct error *error = sink_url_parse(options->url, names, &url);
	if (error)
		return error;
	struct folder *folder = mem_zalloc(sizeof(*folder));
	*folder = (struct folder){.keep = KEEP_DEFAULT, .limit = LIMIT_DEFAULT};
	error = read_url(&url, folder);
	sink_url_deinit(&url);
	if (error)
		close_folder(folder);
	else
		*ret_state = folder;
	return error;
}

/* ---- batches ---- */

/* 20261127T193326Z-web1-0123456789abcdef */
static void add_name(const struct window *window, struct strbuf *out)
{
	const time_t seconds = (time_t)(window->begin_ns / 1000000000);
	struct tm parts;
	char text[TIME_LENGTH + 1];
	gmtime_r(&seconds, &parts);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &parts);
	strbuf_printf(out, "%s-", text);
	for (const char *c = window->host ? window->host : "host"; *c && out->len < HOST_MAX; c++)
		strbuf_add_char(out, isalnum((unsigned char)*c) || *c == '.' || *c == '_' ? *c : '-');
	strbuf_add_char(out, '-');
	for (size_t i = 0; i < ID_BYTES; i++)
		strbuf_printf(out, "%02x", window->id[i]);
}

static struct error *encode(void *state, const struct window *window, struct strbuf *ret)
{
	const struct folder *folder = state;
	const struct pprof_choice choice = {.samples = window->samples, .window = window, .set = PPROF_ALL_SETS};
	const struct sink out = sink_to_text(ret);
	add_name(window, ret);
	strbuf_add_char(ret, '\n');
	(folder->recordings ? pprof_write : pprof_write_compressed)(&choice, &out);
	return NULL;
}

/* ---- files ---- */

static struct error *write_bytes(const char *path, const char *data, size_t size)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || !whole_write(fd, data, size))
		return error_system(errno, "%s", path);
	return NULL;
}

static struct error *write_recording(const char *path, const char *data, size_t size)
{
	static const char *const words[] = {"perf", "agent", NULL};
	struct imported imported = {0};
	uint64_t cut;
	struct error *error = import_pprof(data, size, &(struct import_options){.name = "a window"}, &imported);
	error = error ? error : imported_write(&imported, path, words, &cut);
	imported_deinit(&imported);
	return error;
}

static struct error *write_file(const struct folder *folder, const char *name, const char *data, size_t size)
{
	cleanup_free char *path = mem_printf("%s/%s%s", folder->path, name, folder->suffix);
	cleanup_free char *beside = mem_printf("%s/.%s%s", folder->path, name, folder->suffix);
	if (mkdir(folder->path, 0700) && errno != EEXIST)
		return error_system(errno, "%s", folder->path);
	unlink(beside); /* of one who was killed while he wrote the same window */
	struct error *error = (folder->recordings ? write_recording : write_bytes)(beside, data, size);
	error = error ? error : kept_files_settle(beside);
	if (!error && rename(beside, path))
		error = error_system(errno, "%s", path);
	if (error)
		unlink(beside);
	return error ? error : kept_files_settle(folder->path);
}

/* ---- no more than so many ---- */

/* Whether a file is one of ours, by its name. */
static bool is_window(const void *suffix, const char *name)
{
	return kept_files_begins_with_time(name, 'Z') && name[TIME_LENGTH] == '-' && str_ends_with(name, suffix);
}

static enum sink_outcome send_batch(void *state, const uint8_t *id, const void *batch, size_t size, struct error **ret_why)
{
	const struct folder *folder = state;
	const char *data = batch, *newline = memchr(data, '\n', size);
	(void)id; /* it is in the name */
	size_t length = newline ? (size_t)(newline - data) : 0;
	cleanup_free char *name = mem_strndup(data, length);
	if (!newline || !is_window("", name) || strchr(name, '/')) {
		*ret_why = error_new_kind(ERROR_FORMAT, "the batch doesn't begin with the name of a window");
		return SINK_REFUSED;
	}
	*ret_why = write_file(folder, name, newline + 1, size - length - 1);
	if (!*ret_why) {
		kept_files_remove_oldest(folder->path, is_window, folder->suffix, SIZE_MAX, folder->keep, folder->limit);
		return SINK_TAKEN;
	}
	return error_kind(*ret_why) == ERROR_SYSTEM ? SINK_LATER : SINK_REFUSED;
}

static struct error *check(void *state)
{
	const struct folder *folder = state;
	if (mkdir(folder->path, 0700) && errno != EEXIST)
		return error_system(errno, "cannot make the folder %s", folder->path);
	cleanup_free char *path = mem_printf("%s/.perf-agent-check", folder->path);
	unlink(path);
	struct error *error = write_bytes(path, "", 0);
	unlink(path);
	return error;
}

static const char *const schemes[] = {"file", NULL};
const struct sink_kind sink_folder = {
	.schemes = schemes,
	.summary = "a folder of perf.data or pprof files, one for each window",
	.open = open_folder,
	.close = close_folder,
	.encode = encode,
	.send = send_batch,
	.check = check,
};
