/* perf iostat: what devices behind each PCIe root port read and write, and what is read and written of them.
 *
 *	perf iostat list                      ports, and which PMU counts each
 *	perf iostat 0000:17,0000:3a -- CMD    while a command runs; without a list of ports all, without a command until Ctrl-C */
#include "analysis/counting/cells.h"
#include "app/command.h"
#include "app/ending.h"
#include "app/format_option.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "capture/counting/counting.h"
#include "capture/counting/measurement.h"
#include "event/event.h"
#include "event/io_ports.h"
#include "event/parse/parse.h"
#include "kernel/hardware/cpus.h"
#include "kernel/hardware/topology.h"
#include "view/view.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct iostat_options {
	uint64_t interval_ms;
	const char *format;
};

struct iostat {
	struct iostat_options options;
	struct event_catalog *catalog;
	struct io_ports ports;
	struct event_list events;
	struct counter_set counters;
	struct counter_cells cells;
	struct workload workload;
	int *cpus;	    /* that are online */
	unsigned int *dies; /* of each */
	size_t cpu_count;
	bool titled;
};

static const struct option options[] = {
	OPTION_U64('I', "interval-print", struct iostat_options, interval_ms, "MS", "show the traffic of each MS milliseconds"),
	OPTION_CUSTOM_FLAGS(0, "format", struct iostat_options, format, "FORMAT", "machine-readable output: csv or json",
			    option_table_format, OPTION_NO_NEGATION),
	OPTION_END,
};

/* ---- results ---- */

/* Since the last time, of the CPUs of the port's die: what the same PMU counts on other dies belongs to other ports. */
static double traffic(const struct iostat *iostat, size_t port, enum io_traffic kind)
{
	size_t event = port * IO_TRAFFIC_KINDS + kind;
	double sum = 0;
	for (size_t i = 0; i < iostat->cpu_count; i++) {
		struct counter_value now = iostat->cells.now[event][i], before = iostat->cells.before[event][i];
		if (iostat->dies[i] != iostat->ports.ports.data[port].die)
			continue;
		now.value -= before.value;
		now.enabled_ns -= before.enabled_ns;
		now.running_ns -= before.running_ns;
		sum += io_ports_megabytes(&now);
	}
	return sum;
}

static struct error *write_table(const struct iostat *iostat)
{
	static const struct column columns[] = {{"port", "Port", COLUMN_TEXT},
						{"inbound_read_mb", "Inbound Read(MB)", COLUMN_REAL, ALIGN_RIGHT, .decimals = 3},
						{"inbound_write_mb", "Inbound Write(MB)", COLUMN_REAL, ALIGN_RIGHT, .decimals = 3},
						{"outbound_read_mb", "Outbound Read(MB)", COLUMN_REAL, ALIGN_RIGHT, .decimals = 3},
						{"outbound_write_mb", "Outbound Write(MB)", COLUMN_REAL, ALIGN_RIGHT, .decimals = 3}};
	struct table *table = table_create_columns("iostat", columns, sizeof(columns) / sizeof(*columns));
	for (size_t port = 0; port < iostat->ports.ports.len; port++) {
		union cell cells[1 + IO_TRAFFIC_KINDS] = {{.text = iostat->ports.ports.data[port].name}};
		for (size_t kind = 0; kind < IO_TRAFFIC_KINDS; kind++)
			cells[1 + kind].real = traffic(iostat, port, kind);
		table_add_row(table, cells);
	}
	return view_print_table(iostat->options.format, table, stdout);
}

static void print_text(struct iostat *iostat)
{
	if (!iostat->titled)
		printf("%7s %20s %20s %20s %20s\n", "port", "Inbound Read(MB)", "Inbound Write(MB)", "Outbound Read(MB)",
		       "Outbound Write(MB)");
	iostat->titled = true;
	for (size_t port = 0; port < iostat->ports.ports.len; port++) {
		printf("%7s", iostat->ports.ports.data[port].name);
		for (size_t kind = 0; kind < IO_TRAFFIC_KINDS; kind++)
			printf(" %20.0f", traffic(iostat, port, kind));
		putchar('\n');
	}
	fflush(stdout);
}

static struct error *show(struct iostat *iostat)
{
	struct error *error = NULL;
	counting_read(&iostat->counters, &iostat->events, iostat->cells.now);
	if (iostat->options.format)
		error = write_table(iostat);
	else
		print_text(iostat);
	counter_cells_keep(&iostat->cells);
	return error;
}

/* ---- measuring ---- */

static void begin(void *context)
{
	struct iostat *iostat = context;
	counter_set_enable(&iostat->counters, &iostat->events);
}

static struct error *end_interval(void *context, bool *ret_enough)
{
	return show(context);
}

struct die {
	int socket, die;
};

static int compare_dies(const void *left, const void *right)
{
	const struct die *a = left, *b = right;
	return a->socket != b->socket ? (a->socket > b->socket) - (a->socket < b->socket) : (a->die > b->die) - (a->die < b->die);
}

/* Dies are numbered in the order of sockets and, in each, of its dies: the PMUs' files count them like that, whatever numbers the processor
 * gives them. */
static void find_dies(struct iostat *iostat)
{
	size_t count = 0, cpus = iostat->cpu_count;
	struct die *of = mem_zalloc_array(cpus + 1, sizeof(*of)), *all = mem_zalloc_array(cpus + 1, sizeof(*all));
	for (size_t i = 0; i < cpus; i++) {
		struct cpu_topology topology;
		topology_of_cpu("", iostat->cpus[i], &topology);
		all[i] = of[i] = (struct die){topology.socket, topology.die};
	}
	qsort(all, cpus, sizeof(*all), compare_dies);
	for (size_t i = 0; i < cpus; i++)
		if (!count || compare_dies(&all[count - 1], &all[i]) != 0)
			all[count++] = all[i];
	iostat->dies = mem_zalloc_array(cpus + 1, sizeof(*iostat->dies));
	for (size_t i = 0; i < cpus; i++)
		iostat->dies[i] = (unsigned int)((struct die *)bsearch(&of[i], all, count, sizeof(*all), compare_dies) - all);
	free(of);
	free(all);
}

static struct error *open_counters(struct iostat *iostat)
{
	static const pid_t anybody = -1;
	struct strbuf text = {0};
	cpus_online(&iostat->cpus, &iostat->cpu_count);
	find_dies(iostat);
	io_ports_add_events(&iostat->ports, &text);
	struct error *error = event_parse(&iostat->events, iostat->catalog, strbuf_str(&text));
	strbuf_deinit(&text);
	if (error)
		return error;
	const struct counting_scope scope = {.by_cpu = true};
	const struct counter_target target = {
		.cpus = iostat->cpus, .cpu_count = iostat->cpu_count, .threads = &anybody, .thread_count = 1, .cgroup = -1};
	counting_configure(&iostat->events, &scope);
	counter_cells_allocate(&iostat->cells, iostat->events.events.len, iostat->cpu_count, 1);
	return counter_set_open(&iostat->counters, &iostat->events, &target);
}

static struct error *measure(struct iostat *iostat, char **command, int *ret_status)
{
	const struct measurement_options measured = {.workload = command ? &iostat->workload : NULL,
						     .events = &iostat->events,
						     .interval_ns = iostat->options.interval_ms * 1000000,
						     .begin = begin,
						     .end_interval = end_interval,
						     .context = iostat};
	struct error *error = command ? workload_start(&iostat->workload, command, false) : NULL;
	if (error)
		return error;
	error = open_counters(iostat);
	if (!error) {
		int ended_by;
		error = measurement_take(&measured, &ended_by);
		if (!error)
			error = show(iostat);
		if (!error)
			*ret_status = ending_status(ENDING_STAT, &iostat->workload, ended_by);
	}
	workload_stop(&iostat->workload);
	workload_deinit(&iostat->workload);
	return error;
}

/* ---- */

static void list_ports(const struct io_ports *ports)
{
	for (size_t i = 0; i < ports->ports.len; i++) {
		const struct io_port *port = &ports->ports.data[i];
		printf("S%u-%s<%s>\n", port->die, port->pmu, port->name);
	}
}

/* A list of ports: everything else in its place is a command. */
static bool are_ports(const char *word)
{
	return strchr(word, ':') && strspn(word, "0123456789abcdefABCDEF:,") == strlen(word);
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct iostat iostat = {0};
	int words;
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &iostat.options, &words);
	if (error)
		return error;
	bool list = words == 1 && !strcmp(argv[0], "list");
	const char *chosen = words && are_ports(argv[0]) ? argv[0] : NULL;
	char **command = argv + (chosen != NULL);
	if (chosen && *command && !strcmp(*command, "--"))
		command++;
	iostat.catalog = event_catalog_create("");
	error = io_ports_find(iostat.catalog, &iostat.ports);
	if (!error && chosen)
		error = io_ports_choose(&iostat.ports, chosen);
	if (!error && list)
		list_ports(&iostat.ports);
	else if (!error)
		error = measure(&iostat, *command ? command : NULL, ret_status);
	counter_set_close(&iostat.counters);
	counter_cells_deinit(&iostat.cells);
	event_list_deinit(&iostat.events);
	io_ports_deinit(&iostat.ports);
	event_catalog_destroy(iostat.catalog);
	free(iostat.cpus);
	free(iostat.dies);
	return error;
}

static const char *const usage[] = {"[-I MS] [<ports>] [--] [<command>]", "list", NULL};
const struct command cmd_iostat = {"iostat", "Count the traffic of PCIe root ports", usage, options, run};
