/* Events of the I/O stacks: Intel's "Uncore Performance Monitoring Reference Manual", UNC_IIO_DATA_REQ_OF_CPU (0x83) and
 * UNC_IIO_DATA_REQ_BY_CPU (0xc0), of all ports (ch_mask) and all kinds of requests (fc_mask). */
#include "event/io_ports.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PMU[] = "uncore_iio_";

/* "0000:17". */
static bool is_port_name(const char *text)
{
	size_t domain = strspn(text, "0123456789abcdefABCDEF"), bus;
	if (!domain || text[domain] != ':')
		return false;
	bus = strspn(text + domain + 1, "0123456789abcdefABCDEF");
	return bus && bus <= 2 && !text[domain + 1 + bus];
}

static void add_die(struct io_ports *ports, const struct pmu *pmu, unsigned int stack, const char *file)
{
	uint32_t die;
	char line[64] = "";
	if (strncmp(file, "die", 3) != 0 || !number_parse_u32(file + 3, &die))
		return;
	cleanup_free char *path = mem_printf("%s/%s", pmu->path, file);
	FILE *stream = fopen(path, "re");
	bool read = stream && fgets(line, sizeof(line), stream);
	if (stream)
		fclose(stream);
	line[strcspn(line, "\n")] = 0;
	if (read && is_port_name(line))
		vec_push(&ports->ports, ((struct io_port){.name = arena_strdup(&ports->arena, line),
							  .pmu = arena_strdup(&ports->arena, pmu->name),
							  .stack = stack,
							  .die = die}));
}

static void add_stack(struct io_ports *ports, const struct pmu *pmu)
{
	uint32_t stack;
	if (strncmp(pmu->name, PMU, strlen(PMU)) != 0 || !number_parse_u32(pmu->name + strlen(PMU), &stack))
		return;
	DIR *folder = opendir(pmu->path);
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		add_die(ports, pmu, stack, entry->d_name);
	if (folder)
		closedir(folder);
}

static int compare_ports(const void *left, const void *right)
{
	return strcmp(((const struct io_port *)left)->name, ((const struct io_port *)right)->name);
}

struct error *io_ports_find(struct event_catalog *catalog, struct io_ports *ret)
{
	const struct pmu_list *pmus = event_catalog_pmus(catalog);
	*ret = (struct io_ports){0};
	for (size_t i = 0; i < pmus->pmus.len; i++)
		add_stack(ret, pmus->pmus.data[i]);
	if (!ret->ports.len)
		return error_new_kind(
			ERROR_UNSUPPORTED,
			"this machine has no PMUs that count the traffic of PCIe root ports (uncore_iio_0/die0 and so on in "
			"/sys/bus/event_source/devices): Intel's servers since Skylake-SP have them, with Linux 5.10 or newer and the "
			"module intel_uncore; virtual machines don't. 'perf stat -a -e \"block:*\"' counts block I/O anywhere");
	qsort(ret->ports.data, ret->ports.len, sizeof(*ret->ports.data), compare_ports);
	return NULL;
}

void io_ports_deinit(struct io_ports *ports)
{
	vec_deinit(&ports->ports);
	arena_deinit(&ports->arena);
}

static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strcspn(at, ",") == len && !strncasecmp(at, name, len))
			return true;
	}
	return false;
}

struct error *io_ports_choose(struct io_ports *ports, const char *list)
{
	cleanup_free char *copy = mem_strdup(list);
	char *rest = copy, *word;
	while ((word = strsep(&rest, ","))) {
		bool known = false;
		for (size_t i = 0; i < ports->ports.len; i++)
			known |= !strcasecmp(ports->ports.data[i].name, word);
		if (!known)
			return error_new_kind(ERROR_USAGE, "this machine has no root port '%s'; 'perf iostat list' lists those that it has",
					      word);
	}
	size_t kept = 0;
	for (size_t i = 0; i < ports->ports.len; i++)
		if (is_listed(list, ports->ports.data[i].name))
			ports->ports.data[kept++] = ports->ports.data[i];
	ports->ports.len = kept;
	return NULL;
}

void io_ports_add_events(const struct io_ports *ports, struct strbuf *out)
{
	static const char *const codes[IO_TRAFFIC_KINDS] = {[IO_INBOUND_READ] = "event=0x83,umask=0x04",
							    [IO_INBOUND_WRITE] = "event=0x83,umask=0x01",
							    [IO_OUTBOUND_READ] = "event=0xc0,umask=0x04",
							    [IO_OUTBOUND_WRITE] = "event=0xc0,umask=0x01"};
	for (size_t i = 0; i < ports->ports.len; i++) {
		strbuf_add_str(out, out->len ? ",{" : "{");
		for (size_t kind = 0; kind < IO_TRAFFIC_KINDS; kind++)
			strbuf_printf(out, "%s%s/%s,ch_mask=0xf,fc_mask=0x7/", kind ? "," : "", ports->ports.data[i].pmu, codes[kind]);
		strbuf_add_char(out, '}');
	}
}

double io_ports_megabytes(const struct counter_value *count)
{
	enum { UNITS_PER_MEGABYTE = (1 << 20) / 4 };
	if (!count->open || !count->running_ns)
		return 0;
	return (double)count->value * ((double)count->enabled_ns / (double)count->running_ns) / UNITS_PER_MEGABYTE;
}
