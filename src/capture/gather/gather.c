/* The machine's facts for a recording's header: names, counts, the command line and PMUs. CPUs, caches and memory are in gather_topology.c.
 */
#include "capture/gather/gather_internal.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "event/tracepoint/tracing_data.h"
#include "kernel/proc.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

const char *gather_line(struct features *features, const char *root, const char *format, ...)
{
	char line[4096];
	va_list args;

	va_start(args, format);
	cleanup_free char *name = mem_vprintf(format, args);
	va_end(args);
	cleanup_free char *path = mem_printf("%s%s", root, name);
	return proc_read_line(path, line, sizeof(line)) ? arena_strdup(&features->arena, line) : NULL;
}

int64_t gather_number(const char *root, int64_t otherwise, const char *format, ...)
{
	int64_t value;
	va_list args;

	va_start(args, format);
	cleanup_free char *name = mem_vprintf(format, args);
	va_end(args);
	cleanup_free char *path = mem_printf("%s%s", root, name);
	return proc_read_int(path, &value) ? value : otherwise;
}

static void set(struct features *features, unsigned int feature, bool present)
{
	if (present)
		features_set(features, feature);
}

static void gather_names(struct features *features)
{
	struct utsname names;

	if (uname(&names))
		return;
	features->hostname = arena_strdup(&features->arena, names.nodename);
	features->os_release = arena_strdup(&features->arena, names.release);
	features->arch = arena_strdup(&features->arena, names.machine);
	features->version = PERF_VERSION;
	features_set(features, FEATURE_HOSTNAME);
	features_set(features, FEATURE_OSRELEASE);
	features_set(features, FEATURE_ARCH);
	features_set(features, FEATURE_VERSION);
}

/* The value behind "KEY : " in the lines of /proc/cpuinfo, runs of spaces made one; NULL when there is none. */
static const char *cpuinfo_value(struct features *features, const char *cpuinfo, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = cpuinfo; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *at = line + len;
		if (strncmp(line, key, len))
			continue;
		at += strspn(at, " \t");
		if (*at != ':')
			continue;
		at++;
		at += strspn(at, " \t");
		char *value = arena_strndup(&features->arena, at, strcspn(at, "\n")), *to = value;
		for (const char *from = value; *from; from++)
			if (!isspace((unsigned char)*from) || (to > value && !isspace((unsigned char)to[-1])))
				*to++ = *from;
		*to = '\0';
		return value;
	}
	return NULL;
}

/* "VENDOR,FAMILY,MODEL,STEPPING" on x86; the main ID register without revision on arm64. */
static const char *cpu_id(struct features *features, const char *root, const char *cpuinfo)
{
	const char *vendor = cpuinfo_value(features, cpuinfo, "vendor_id"), *family = cpuinfo_value(features, cpuinfo, "cpu family");
	const char *model = cpuinfo_value(features, cpuinfo, "model"), *stepping = cpuinfo_value(features, cpuinfo, "stepping");
	uint64_t midr;

	if (vendor && family && model && stepping)
		return arena_printf(&features->arena, "%s,%s,%s,%s", vendor, family, model, stepping);
	const char *text = gather_line(features, root, "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
	if (text && number_parse_hex(text, &midr))
		return arena_printf(&features->arena, "0x%016llx", (unsigned long long)(midr & ~0xf0000full));
	return NULL;
}

static void gather_cpu(struct features *features, const char *root)
{
	static const char *const keys[] = {"model name", "Model Name", "Processor", "cpu model", "uarch", "cpu", "vendor_id"};
	cleanup_free char *path = mem_printf("%s/proc/cpuinfo", root);
	struct strbuf cpuinfo = {0};

	proc_read_file(AT_FDCWD, path, &cpuinfo);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !features->cpu_desc; i++)
		features->cpu_desc = cpuinfo_value(features, strbuf_str(&cpuinfo), keys[i]);
	features->cpuid = cpu_id(features, root, strbuf_str(&cpuinfo));
	set(features, FEATURE_CPUDESC, features->cpu_desc);
	set(features, FEATURE_CPUID, features->cpuid);
	strbuf_deinit(&cpuinfo);
}

/* How many numbers the list in a sysfs file has. */
static uint32_t count_list(struct features *features, const char *root, const char *file)
{
	const char *text = gather_line(features, root, "/sys/devices/system/cpu/%s", file);
	int *list = NULL;
	size_t count = 0;

	if (text && number_parse_list(text, &list, &count))
		free(list);
	return (uint32_t)count;
}

static void gather_cpu_counts(struct features *features, const char *root)
{
	features->cpus_online = count_list(features, root, "online");
	features->cpus_available = count_list(features, root, "present");
	set(features, FEATURE_NRCPUS, features->cpus_online && features->cpus_available);
}

static void gather_total_memory(struct features *features, const char *root)
{
	cleanup_free char *path = mem_printf("%s/proc/meminfo", root);
	struct strbuf text = {0};
	const char *found;

	if (!proc_read_file(AT_FDCWD, path, &text) && (found = strstr(strbuf_str(&text), "MemTotal:"))) {
		features->total_memory_kb = strtoull(found + 9, NULL, 10);
		features_set(features, FEATURE_TOTAL_MEM);
	}
	strbuf_deinit(&text);
}

static void gather_command_line(struct features *features, const char *const *arguments)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	uint32_t count = 0;

	while (arguments && arguments[count])
		count++;
	if (len < 0 || !count)
		return;
	features->command_line = arena_alloc(&features->arena, (count + 2) * sizeof(char *));
	features->command_line[0] = arena_strndup(&features->arena, path, (size_t)len);
	for (uint32_t i = 0; i <= count; i++)
		features->command_line[i + 1] = arguments[i] ? arena_strdup(&features->arena, arguments[i]) : NULL;
	features->command_line_count = count + 1;
	features_set(features, FEATURE_CMDLINE);
}

static void add_caps(struct features *features, const struct pmu *pmu)
{
	struct feature_pmu_caps caps = {.pmu_name = arena_strdup(&features->arena, pmu->name), .count = (uint32_t)pmu->capabilities.len};
	const char **names = arena_alloc(&features->arena, caps.count * sizeof(char *));
	const char **values = arena_alloc(&features->arena, caps.count * sizeof(char *));

	for (uint32_t i = 0; i < caps.count; i++) {
		names[i] = arena_strdup(&features->arena, pmu->capabilities.data[i].name);
		values[i] = arena_strdup(&features->arena, pmu->capabilities.data[i].value);
	}
	caps.names = names;
	caps.values = values;
	vec_push(&features->pmu_caps, caps);
	features_set(features, strcmp(pmu->name, "cpu") ? FEATURE_PMU_CAPS : FEATURE_CPU_PMU_CAPS);
}

static void gather_pmus(struct features *features, struct event_catalog *catalog)
{
	struct pmu_list *list = event_catalog_pmus(catalog);

	for (size_t i = 0; i < list->pmus.len; i++) {
		struct pmu *pmu = list->pmus.data[i];
		vec_push(&features->pmus, (struct feature_pmu){.type = pmu->type, .name = arena_strdup(&features->arena, pmu->name)});
		pmu_load_head(list, pmu);
		if (pmu->capabilities.len)
			add_caps(features, pmu);
		if (!pmu->is_core || !strcmp(pmu->name, "cpu") || !pmu->cpus)
			continue;
		vec_push(&features->hybrids, (struct feature_hybrid){.pmu_name = arena_strdup(&features->arena, pmu->name),
								     .cpus = arena_strdup(&features->arena, pmu->cpus)});
		features_set(features, FEATURE_HYBRID_TOPOLOGY);
	}
	set(features, FEATURE_PMU_MAPPINGS, list->pmus.len);
}

void gather_features(const struct gather_options *options, struct features *features)
{
	const char *root = options->root ? options->root : "";

	gather_names(features);
	gather_cpu_counts(features, root);
	gather_cpu(features, root);
	gather_total_memory(features, root);
	gather_command_line(features, options->arguments);
	gather_cpu_topology(features, root, features->cpus_available);
	gather_caches(features, root, features->cpus_available);
	gather_numa(features, root);
	gather_memory(features, root);
	gather_pmus(features, options->catalog);
}

struct error *gather_tracing_data(struct event_catalog *catalog, const struct event_list *events, struct features *features)
{
	struct strbuf data = {0};
	struct error *error = tracing_data_gather(catalog, events, &data);

	if (!error && data.len) {
		features->tracing_data = arena_copy(&features->arena, data.data, data.len);
		features->tracing_data_size = data.len;
		features_set(features, FEATURE_TRACING_DATA);
	}
	strbuf_deinit(&data);
	return error;
}

void gather_clock(clockid_t clock, struct features *features)
{
	struct timespec resolution, wall, now;

	if (clock_getres(clock, &resolution) || clock_gettime(CLOCK_REALTIME, &wall) || clock_gettime(clock, &now))
		return;
	features->clock_resolution_ns = (uint64_t)resolution.tv_sec * 1000000000u + (uint64_t)resolution.tv_nsec;
	features->clock_id = (uint32_t)clock;
	features->clock_wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
	features->clock_clockid_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	features_set(features, FEATURE_CLOCKID);
	features_set(features, FEATURE_CLOCK_DATA);
}
