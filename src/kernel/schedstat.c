/* Reading /proc/schedstat (schedstat.h). */
#include "kernel/schedstat.h"

#include "base/number.h"
#include "base/strbuf.h"
#include "kernel/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { OLDEST = 15, NEWEST = 17 };

static const char *const sysctl = "/proc/sys/kernel/sched_schedstats";

/* The numbers of a line. From version 17 on a domain has a name before them; its CPUs, a mask with commas, come first. */
static void read_values(char *rest, bool domain, uint32_t version, struct schedstat_line *line)
{
	char *state = NULL, *word = strtok_r(rest, " ", &state);
	for (unsigned int skipped = domain ? 1 + (version >= 17) : 0; word && skipped; skipped--)
		word = strtok_r(NULL, " ", &state);
	for (; word && line->count < SCHEDSTAT_VALUES && number_parse_u64(word, &line->values[line->count]); line->count++)
		word = strtok_r(NULL, " ", &state);
}

struct error *schedstat_parse(char *text, struct schedstat_head *ret_head, void (*take)(void *context, const struct schedstat_line *line),
			      void *context)
{
	struct schedstat_line line = {0};
	uint64_t number = 0;
	char *state = NULL;
	*ret_head = (struct schedstat_head){0};
	for (char *row = strtok_r(text, "\n", &state); row; row = strtok_r(NULL, "\n", &state)) {
		char *rest = strchr(row, ' '), *digits = row + strcspn(row, "0123456789 ");
		if (!rest)
			continue;
		*rest++ = '\0';
		bool is_number = number_parse_u64(digits, &number) && number < UINT32_MAX;
		if (!strcmp(row, "version") && number_parse_u64(rest, &number))
			ret_head->version = (uint32_t)number;
		else if (!strcmp(row, "timestamp"))
			number_parse_u64(rest, &ret_head->timestamp);
		else if (is_number && !strncmp(row, "cpu", 3))
			line = (struct schedstat_line){.cpu = (uint32_t)number, .domain = -1};
		else if (is_number && !strncmp(row, "domain", 6))
			line = (struct schedstat_line){.cpu = line.cpu, .domain = (int)(number & 0xffff)};
		else
			continue;
		if (!is_number || ret_head->version < OLDEST || ret_head->version > NEWEST)
			continue;
		read_values(rest, line.domain >= 0, ret_head->version, &line);
		take(context, &line);
	}
	if (ret_head->version < OLDEST || ret_head->version > NEWEST)
		return error_new_kind(ERROR_UNSUPPORTED, "/proc/schedstat has version %u: versions %d to %d are known", ret_head->version,
				      OLDEST, NEWEST);
	return NULL;
}

struct error *schedstat_read(struct schedstat_head *ret_head, void (*take)(void *context, const struct schedstat_line *line), void *context)
{
	struct strbuf text = {0};
	if (proc_read_file(AT_FDCWD, "/proc/schedstat", &text) < 0) {
		strbuf_deinit(&text);
		return error_new_kind(ERROR_UNSUPPORTED,
				      "this kernel keeps no statistics of its scheduler (no /proc/schedstat; it was built "
				      "without CONFIG_SCHEDSTATS); 'perf sched record' and 'perf sched runqlat' need none");
	}
	strbuf_add_char(&text, '\0');
	struct error *error = schedstat_parse(text.data, ret_head, take, context);
	strbuf_deinit(&text);
	return error;
}

bool schedstat_is_counting(bool *ret)
{
	int64_t value;
	if (!proc_read_int(sysctl, &value))
		return false;
	*ret = value != 0;
	return true;
}

bool schedstat_set_counting(bool on)
{
	int file = open(sysctl, O_WRONLY | O_CLOEXEC);
	bool done = file >= 0 && write(file, on ? "1" : "0", 1) == 1;
	if (file >= 0)
		close(file);
	return done;
}
