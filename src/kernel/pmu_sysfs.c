/* Reading the PMU directories of sysfs. Details are read only for a PMU that is asked for: big servers have a hundred of them. */
#include "kernel/pmu_sysfs.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "kernel/proc.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Calls visit for each name in PATH/SUB, hidden ones left out. */
static void visit_directory(const char *path, void (*visit)(struct pmu_list *list, struct pmu *pmu, const char *dir, const char *name),
			    struct pmu_list *list, struct pmu *pmu)
{
	DIR *dir = opendir(path);

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			visit(list, pmu, path, entry->d_name);
	closedir(dir);
}

/* Directories without a type are no PMUs. */
static void add_pmu(struct pmu_list *list, struct pmu *unused, const char *dir, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s/type", dir, name);
	int64_t type;

	if (!proc_read_int(path, &type) || type < 0 || type > UINT32_MAX)
		return;
	struct pmu *pmu = arena_zalloc(&list->arena, sizeof(*pmu));
	pmu->name = arena_strdup(&list->arena, name);
	pmu->path = arena_printf(&list->arena, "%s/%s", dir, name);
	pmu->type = (uint32_t)type;
	vec_push(&list->pmus, pmu);
}

/* Numbers in names by value, for qsort(). */
static int compare_names(const void *a, const void *b)
{
	return strverscmp((*(struct pmu *const *)a)->name, (*(struct pmu *const *)b)->name);
}

struct pmu_list *pmu_list_load(const char *root)
{
	struct pmu_list *list = mem_zalloc(sizeof(*list));
	cleanup_free char *path = mem_printf("%s/sys/bus/event_source/devices", root ? root : "");

	visit_directory(path, add_pmu, list, NULL);
	if (list->pmus.len)
		qsort(list->pmus.data, list->pmus.len, sizeof(*list->pmus.data), compare_names);
	return list;
}

void pmu_list_destroy(struct pmu_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->pmus.len; i++) {
		struct pmu *pmu = list->pmus.data[i];
		vec_deinit(&pmu->formats);
		vec_deinit(&pmu->aliases);
		vec_deinit(&pmu->capabilities);
	}
	vec_deinit(&list->pmus);
	arena_deinit(&list->arena);
	free(list);
}

struct pmu *pmu_by_name(const struct pmu_list *list, const char *name)
{
	for (size_t i = 0; i < list->pmus.len; i++)
		if (!strcmp(list->pmus.data[i]->name, name))
			return list->pmus.data[i];
	return NULL;
}

struct pmu *pmu_find(struct pmu_list *list, const char *name)
{
	struct pmu *found = pmu_by_name(list, name);

	for (size_t i = 0; !found && i < list->pmus.len; i++) {
		struct pmu *pmu = list->pmus.data[i];
		pmu_load_head(list, pmu);
		if (pmu->other_name && !strcmp(pmu->other_name, name))
			found = pmu;
	}
	return found;
}

/* Cheaper than pmu_load_head(): big machines have a hundred PMUs and no command is without this question. */
static bool describes_cores(const struct pmu *pmu)
{
	cleanup_free char *path = mem_printf("%s/cpus", pmu->path);

	return !strcmp(pmu->name, "cpu") || access(path, F_OK) == 0;
}

size_t pmu_core_kinds(struct pmu_list *list, struct pmu **ret, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < list->pmus.len; i++) {
		struct pmu *pmu = list->pmus.data[i];
		if (!describes_cores(pmu))
			continue;
		pmu_load_head(list, pmu);
		if (count < max)
			ret[count] = pmu;
		count++;
	}
	return count;
}

size_t pmu_stem(const char *name)
{
	size_t len = strlen(name), end = len;

	while (end && strchr("0123456789abcdef", name[end - 1]))
		end--;
	/* Letters make a number only behind '_', and only a long one: "uncore_ha_0" has the stem "uncore_ha", "cpu_a" itself. */
	if (end && name[end - 1] == '_' && len - end > 2)
		return end - 1;
	for (end = len; end && name[end - 1] >= '0' && name[end - 1] <= '9';)
		end--;
	if (!end || end == len)
		return len;
	return name[end - 1] == '_' && end > 1 ? end - 1 : end;
}

bool pmu_sink(const struct pmu *pmu, const char *name, uint64_t *ret)
{
	cleanup_free char *path = strchr(name, '/') ? NULL : mem_printf("%s/sinks/%s", pmu->path, name);
	char line[64];

	return path && proc_read_line(path, line, sizeof(line)) && number_parse_hex(line, ret);
}

/* "0-7,32-35" or "4" as a mask; false for anything else. */
static bool parse_bits(const char *text, uint64_t *ret)
{
	uint64_t mask = 0;

	while (*text) {
		char *end;
		unsigned long low = strtoul(text, &end, 10), high = low;
		if (end == text)
			return false;
		if (*end == '-') {
			text = end + 1;
			high = strtoul(text, &end, 10);
			if (end == text)
				return false;
		}
		if (low > high || high > 63 || (*end && *end != ','))
			return false;
		mask |= (UINT64_MAX >> (63 - (high - low))) << low;
		text = *end ? end + 1 : end;
	}
	*ret = mask;
	return mask != 0;
}

/* A file "config1:0-7,32" of format/. */
static void add_format(struct pmu_list *list, struct pmu *pmu, const char *dir, const char *name)
{
	static const char *const words[] = {"config:", "config1:", "config2:", "config3:"};
	cleanup_free char *path = mem_printf("%s/%s", dir, name);
	char line[256];
	struct pmu_format format = {0};

	if (!proc_read_line(path, line, sizeof(line)))
		return;
	for (uint32_t i = 0; i < 4; i++) {
		if (!str_starts_with(line, words[i]) || !parse_bits(line + strlen(words[i]), &format.mask))
			continue;
		format.name = arena_strdup(&list->arena, name);
		format.word = i;
		vec_push(&pmu->formats, format);
	}
}

/* A companion file of an alias; the text or NULL. */
static bool read_companion(const char *dir, const char *name, const char *suffix, char *buffer, size_t size)
{
	cleanup_free char *path = mem_printf("%s/%s.%s", dir, name, suffix);

	return proc_read_line(path, buffer, size);
}

/* A file of events/; its companions NAME.unit and so on are read with it, and are no events. */
static void add_alias(struct pmu_list *list, struct pmu *pmu, const char *dir, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s", dir, name);
	struct pmu_alias alias = {.scale = 1};
	char line[1024];

	if (str_ends_with(name, ".unit") || str_ends_with(name, ".scale") || str_ends_with(name, ".per-pkg") ||
	    str_ends_with(name, ".snapshot"))
		return;
	if (!proc_read_line(path, line, sizeof(line)))
		return;
	alias.name = arena_strdup(&list->arena, name);
	alias.terms = arena_strdup(&list->arena, line);
	if (read_companion(dir, name, "unit", line, sizeof(line)))
		alias.unit = arena_strdup(&list->arena, line);
	if (read_companion(dir, name, "scale", line, sizeof(line)))
		number_parse_double(line, &alias.scale);
	alias.per_package = read_companion(dir, name, "per-pkg", line, sizeof(line)) && strcmp(line, "0");
	alias.snapshot = read_companion(dir, name, "snapshot", line, sizeof(line)) && strcmp(line, "0");
	vec_push(&pmu->aliases, alias);
}

/* A file of caps/: its name, and its text as the value. */
static void add_capability(struct pmu_list *list, struct pmu *pmu, const char *dir, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s", dir, name);
	struct pmu_capability capability;
	char line[1024];

	if (!proc_read_line(path, line, sizeof(line)))
		return;
	capability.name = arena_strdup(&list->arena, name);
	capability.value = arena_strdup(&list->arena, line);
	vec_push(&pmu->capabilities, capability);
}

static void load_directory(struct pmu_list *list, struct pmu *pmu, const char *sub,
			   void (*visit)(struct pmu_list *list, struct pmu *pmu, const char *dir, const char *name))
{
	cleanup_free char *path = mem_printf("%s/%s", pmu->path, sub);

	visit_directory(path, visit, list, pmu);
}

/* Which CPUs a PMU is to be opened on, and whether it is one of cores. */
static void load_cpus(struct pmu_list *list, struct pmu *pmu)
{
	static const char *const files[] = {"cpumask", "cpus"};
	char line[1024];

	for (size_t i = 0; i < 2; i++) {
		cleanup_free char *path = mem_printf("%s/%s", pmu->path, files[i]);
		if (!proc_read_line(path, line, sizeof(line)))
			continue;
		pmu->cpus = arena_strdup(&list->arena, line);
		pmu->is_core = i == 1;
		break;
	}
	pmu->is_core |= !strcmp(pmu->name, "cpu");
}

void pmu_load_head(struct pmu_list *list, struct pmu *pmu)
{
	if (pmu->head_loaded)
		return;
	pmu->head_loaded = true;
	load_directory(list, pmu, "caps", add_capability);
	load_cpus(list, pmu);
	cleanup_free char *path = mem_printf("%s/alias", pmu->path);
	char line[256];
	if (proc_read_line(path, line, sizeof(line)) && line[0])
		pmu->other_name = arena_strdup(&list->arena, line);
}

static int compare_formats(const void *a, const void *b)
{
	return strcmp(((const struct pmu_format *)a)->name, ((const struct pmu_format *)b)->name);
}

static int compare_aliases(const void *a, const void *b)
{
	return strcmp(((const struct pmu_alias *)a)->name, ((const struct pmu_alias *)b)->name);
}

void pmu_load(struct pmu_list *list, struct pmu *pmu)
{
	if (pmu->loaded)
		return;
	pmu->loaded = true;
	pmu_load_head(list, pmu);
	load_directory(list, pmu, "format", add_format);
	load_directory(list, pmu, "events", add_alias);
	if (pmu->formats.len)
		qsort(pmu->formats.data, pmu->formats.len, sizeof(*pmu->formats.data), compare_formats);
	if (pmu->aliases.len)
		qsort(pmu->aliases.data, pmu->aliases.len, sizeof(*pmu->aliases.data), compare_aliases);
}

const char *pmu_capability(const struct pmu *pmu, const char *name)
{
	for (size_t i = 0; i < pmu->capabilities.len; i++)
		if (!strcmp(pmu->capabilities.data[i].name, name))
			return pmu->capabilities.data[i].value;
	return NULL;
}

const struct pmu_format *pmu_format(const struct pmu *pmu, const char *name)
{
	for (size_t i = 0; i < pmu->formats.len; i++)
		if (!strcmp(pmu->formats.data[i].name, name))
			return &pmu->formats.data[i];
	return NULL;
}

const struct pmu_alias *pmu_alias(const struct pmu *pmu, const char *name)
{
	for (size_t i = 0; i < pmu->aliases.len; i++)
		if (!strcasecmp(pmu->aliases.data[i].name, name))
			return &pmu->aliases.data[i];
	return NULL;
}
