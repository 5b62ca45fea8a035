/* A recording of what a fleet's database says. It is written into a file that nobody else has, and which loses its name at once: commands
 * read it as /proc/self/fd/N, and it goes when they end. */
#include "cmd/from.h"

#include "analysis/import/imported.h"
#include "base/cleanup.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "fleet/clickhouse/query.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 600000 };

struct error *fleet_access_open(const char *url, struct config *config, struct http_options *ret)
{
	if (!url)
		return error_new_kind(ERROR_USAGE, "say where samples are stored, with --from clickhouse://HOST/DATABASE");
	struct error *error = config_open(config);
	*ret = (struct http_options){
		.token_file = config_get(config, "fleet.token-file"),
		.password_file = config_get(config, "fleet.password-file"),
		.ca_file = config_get(config, "fleet.ca-file"),
		.certificate_file = config_get(config, "fleet.certificate-file"),
		.key_file = config_get(config, "fleet.key-file"),
		.timeout_ms = TIMEOUT_MS,
	};
	return error;
}

/* "2026-11-27 10:00" */
static const char *clock_text(uint64_t seconds, char buffer[32])
{
	const time_t time = (time_t)seconds;
	struct tm parts;
	localtime_r(&time, &parts);
	strftime(buffer, 32, "%Y-%m-%d %H:%M:%S", &parts);
	return buffer;
}

static struct error *tell(const struct fleet_profile *profile, uint64_t cut)
{
	char from[32], to[32];
	clock_text(profile->period.from, from);
	clock_text(profile->period.to, to);
	if (!profile->samples)
		return error_new("--from: no such samples from %s to %s: 'perf fleet ls' lists what there is, --time chooses another time",
				 from, to);
	if (profile->undescribed)
		log_warning("%" PRIu64 " of %" PRIu64 " stacks are not described in the database", profile->undescribed, profile->stacks);
	if (profile->scale > 1)
		log_info("Of %" PRIu64 " samples one in %" PRIu64 " is shown as such; sums of the event are those of all", profile->samples,
			 profile->scale);
	if (cut)
		log_warning("%" PRIu64 " stacks are cut: a recording can have no deeper ones", cut);
	log_info("%" PRIu64 " samples, %" PRIu64 " stacks, from %s to %s", profile->samples, profile->stacks, from, to);
	return NULL;
}

/* Written as a file of a folder of our own; the folder and the name are gone when this returns. */
static struct error *write_nameless(struct imported *imported, const char *url, int *ret_fd, uint64_t *ret_cut)
{
	const char *const words[] = {"perf", "report", "--from", url, NULL};
	cleanup_free char *folder = NULL;
	struct error *error = temporary_directory("perf-from", &folder);
	if (error)
		return error;
	cleanup_free char *path = mem_printf("%s/perf.data", folder);
	error = imported_write(imported, path, words, ret_cut);
	*ret_fd = error ? -1 : open(path, O_RDONLY); /* for programs that a screen starts, too */
	if (!error && *ret_fd < 0)
		error = error_system(errno, "%s", path);
	unlink(path);
	rmdir(folder);
	return error;
}

static struct error *ask(const struct input_options *input, const char *time, unsigned int slices, int *ret_fd)
{
	struct config config = {0};
	struct http_options http;
	struct imported imported = {0};
	struct fleet_profile profile;
	uint64_t cut = 0;
	struct error *error = fleet_access_open(input->from.url, &config, &http);
	const struct fleet_question question = {input->from.url, &http, time, input->from.where, input->from.labels, slices};
	error = error ? error : fleet_ask_profile(&question, &imported, &profile);
	if (!error && profile.samples)
		error = write_nameless(&imported, input->from.url, ret_fd, &cut);
	imported_deinit(&imported);
	config_close(&config);
	return error ? error : tell(&profile, cut);
}

struct error *from_apply(struct input_options *input, const char **time, unsigned int slices)
{
	int fd;
	if (!input->from.url)
		return !input->from.where && !input->from.labels[0]
			       ? NULL
			       : error_new_kind(ERROR_USAGE, "--where and --label go with --from, which says where samples are stored");
	if (input->input)
		return error_new_kind(ERROR_USAGE, "-i and --from: choose one");
	struct error *error = ask(input, *time, slices, &fd);
	if (error)
		return error;
	input->input = mem_printf("/proc/self/fd/%d", fd); /* as long as the program */
	*time = NULL;
	return NULL;
}
