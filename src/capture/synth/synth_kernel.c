/* Side-band of what isn't a process: the kernel's text, its modules, cgroups.
 *
 * The kernel's end is the expensive part: /proc/kallsyms is sorted by address and its end of text lies in the middle of some 100,000 lines
 * (40 ms). /proc/iomem has the size of the kernel's code in one of its first lines, where it may be read; the start is among the first
 * symbols. */
#include "capture/synth/synth.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "capture/synth/synth_internal.h"
#include "kernel/cgroups.h"
#include "kernel/proc.h"
#include "symbol/kernel/kallsyms.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static void put_kernel_map(struct synth *synth, uint64_t start, uint64_t size, uint64_t offset, const char *name)
{
	struct buildid id = {0};
	bool identified = synth->build_id && synth->build_id(name, &id);
	size_t length = strlen(name);

	if (identified) {
		const struct record_mmap2 record = {
			.header.misc = CPUMODE_KERNEL, .pid = UINT32_MAX, .start = start, .length = size, .pgoff = offset};
		synth_put_mmap2(synth, record, &id, name, length);
	} else {
		const struct record_mmap record = {.header = {.type = RECORD_MMAP, .misc = CPUMODE_KERNEL},
						   .pid = UINT32_MAX,
						   .start = start,
						   .length = size,
						   .pgoff = offset};
		synth_put(synth, &record, sizeof(record), name, length);
	}
}

/* Size of the kernel's text in memory, from "  01000000-022090c7 : Kernel code"; 0 = unknown (unprivileged: all zero). */
static uint64_t kernel_code_size(void)
{
	struct strbuf text = {0};
	uint64_t size = 0;

	if (proc_read_file(AT_FDCWD, "/proc/iomem", &text) == 0) {
		const char *line = strstr(strbuf_str(&text), " : Kernel code\n");
		while (line && line > text.data && line[-1] != '\n')
			line--;
		char *end;
		uint64_t first = line ? strtoull(line, &end, 16) : 0;
		uint64_t last = line && *end == '-' ? strtoull(end + 1, NULL, 16) : 0;
		size = last > first ? last - first + 1 : 0;
	}
	strbuf_deinit(&text);
	return size;
}

struct landmarks {
	uint64_t text, stext, etext; /* 0 = not seen */
	bool want_etext;
};

/* False when nothing more is of use. Where the list begins with the code behind the image's head (arm64), there is no _text: by order of
 * addresses, it isn't to come once a line lies above _stext. */
static bool note_landmark(void *context, uint64_t address, char type, const char *name, const char *module)
{
	struct landmarks *marks = context;

	if (!strcmp(name, "_text"))
		marks->text = address;
	else if (!strcmp(name, "_stext"))
		marks->stext = address;
	else if (!strcmp(name, "_etext"))
		marks->etext = address;
	if (marks->want_etext)
		return !marks->etext;
	return !marks->text && (!marks->stext || address <= marks->stext);
}

/* Names of module files by module: "kernel/fs/ext4/ext4.ko: …" lines of modules.dep, where - in file names stands for _ in module names. */
static bool module_path(const struct strbuf *dep, const char *release, const char *module, struct strbuf *ret)
{
	size_t length = strlen(module);

	for (const char *line = strbuf_str(dep); *line;) {
		const char *end = strchrnul(line, '\n'), *colon = memchr(line, ':', (size_t)(end - line));
		const char *base = colon;
		while (base && base > line && base[-1] != '/')
			base--;
		bool same = base && (size_t)(colon - base) > length && base[length] == '.';
		for (size_t i = 0; same && i < length; i++)
			same = base[i] == module[i] || (base[i] == '-' && module[i] == '_');
		if (same) {
			strbuf_clear(ret);
			strbuf_printf(ret, "/lib/modules/%s/%.*s", release, (int)(colon - line), line);
			return true;
		}
		line = *end ? end + 1 : end;
	}
	return false;
}

/* "name size refs users state 0xaddress" */
static void put_modules(struct synth *synth)
{
	struct strbuf modules = {0}, dep = {0}, path = {0};
	struct utsname system;
	char dep_path[256];

	if (proc_read_file(AT_FDCWD, "/proc/modules", &modules) == 0 && modules.len && uname(&system) == 0) {
		snprintf(dep_path, sizeof(dep_path), "/lib/modules/%s/modules.dep", system.release);
		proc_read_file(AT_FDCWD, dep_path, &dep);
	}
	for (char *rest = modules.data, *line; rest && (line = strsep(&rest, "\n"));) {
		char *words[6] = {0};
		int count = 0;
		for (char *word; count < 6 && (word = strsep(&line, " "));)
			words[count++] = word;
		uint64_t size, address;
		if (count < 6 || !number_parse_u64(words[1], &size) || !number_parse_hex(words[5], &address) || !address)
			continue;
		if (!module_path(&dep, system.release, words[0], &path)) {
			strbuf_clear(&path);
			strbuf_printf(&path, "[%s]", words[0]);
		}
		put_kernel_map(synth, address, size, 0, strbuf_str(&path));
	}
	strbuf_deinit(&modules);
	strbuf_deinit(&dep);
	strbuf_deinit(&path);
}

bool synth_kernel(struct synth *synth)
{
	uint64_t size = kernel_code_size();
	struct landmarks marks = {.want_etext = !size};

	error_free(kallsyms_visit("/proc/kallsyms", note_landmark, &marks));
	uint64_t start = marks.text ? marks.text : marks.stext;
	if (!start)
		return false;
	if (!size)
		size = marks.etext > start ? marks.etext - start : UINT64_MAX - start;
	put_kernel_map(synth, start, size, start, marks.text ? "[kernel.kallsyms]_text" : "[kernel.kallsyms]_stext");
	put_modules(synth);
	return true;
}

static void put_cgroup(void *context, uint64_t id, const char *name)
{
	struct synth *synth = context;
	const struct record_cgroup record = {.header.type = RECORD_CGROUP, .id = id};
	synth_put(synth, &record, sizeof(record), name, strlen(name));
}

void synth_cgroups(struct synth *synth)
{
	cgroups_visit(false, put_cgroup, synth);
}
