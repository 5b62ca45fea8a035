/* Copies of the kernel's code (kcore_copy.h).
 *
 *	kallsyms: _stext … _etext ─┐
 *	modules:  address, size ───┼─► ranges of whole pages, in order ──► kcore: ELF header, a PT_LOAD for each, the bytes
 *	kallsyms: BPF programs ────┘
 *
 * All else that /proc/kcore shows, the machine's memory, stays where it is. */
#include "symbol/kernel/kcore_copy.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "symbol/kernel/kallsyms.h"
#include "symbol/kernel/kcore.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, TEXT_MOST = 1 << 28, RANGES_MOST = 1 << 16, FILES = 3 };

static const char *const files[FILES] = {"kcore", "kallsyms", "modules"};

struct code_span {
	uint64_t start, end;
};

struct spans {
	VEC(struct code_span) list;
	uint64_t text_start, text_end;
};

/* ---- what is copied ---- */

static void add_span(struct spans *spans, uint64_t start, uint64_t size)
{
	uint64_t end = start + size;
	if (size && size <= TEXT_MOST && end > start && spans->list.len < RANGES_MOST)
		vec_push(&spans->list, (struct code_span){start & -(uint64_t)PAGE, (end + PAGE - 1) & -(uint64_t)PAGE});
}

static bool note_symbol(void *context, uint64_t address, char type, const char *name, const char *module)
{
	struct spans *spans = context;
	if (module && !strcmp(module, "bpf") && (type == 't' || type == 'T'))
		add_span(spans, address, PAGE);
	else if (!module && !strcmp(name, "_etext"))
		spans->text_end = address;
	else if (!module && (!strcmp(name, "_stext") || (!strcmp(name, "_text") && !spans->text_start)))
		spans->text_start = address;
	return true;
}

/* Lines of /proc/modules: "ext4 983040 1 - Live 0xffffffffc0a00000". */
static void note_modules(struct spans *spans, const char *path)
{
	cleanup_fclose FILE *file = fopen(path, "re");
	char line[4096];
	uint64_t size, address;
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*s %" SCNu64 " %*s %*s %*s 0x%" SCNx64, &size, &address) == 2)
			add_span(spans, address, size);
}

static int by_start(const void *a, const void *b)
{
	const struct code_span *left = a, *right = b;
	return (left->start > right->start) - (left->start < right->start);
}

static void merge(struct spans *spans)
{
	size_t kept = 0;
	qsort(spans->list.data, spans->list.len, sizeof(*spans->list.data), by_start);
	for (size_t i = 0; i < spans->list.len; i++) {
		struct code_span *last = kept ? &spans->list.data[kept - 1] : NULL, next = spans->list.data[i];
		if (!last || next.start > last->end)
			spans->list.data[kept++] = next;
		else if (next.end > last->end)
			last->end = next.end;
	}
	spans->list.len = kept;
}

static struct error *find_spans(const char *folder, struct spans *spans)
{
	cleanup_free char *list = mem_printf("%s/kallsyms", folder), *modules = mem_printf("%s/modules", folder);
	struct error *error = kallsyms_visit(list, note_symbol, spans);
	if (error)
		return error;
	if (!spans->text_start || spans->text_end <= spans->text_start)
		return error_new_kind(ERROR_PERMISSION,
				      "%s does not show where the kernel's code is: its addresses are hidden (kernel.kptr_restrict)", list);
	add_span(spans, spans->text_start, spans->text_end - spans->text_start);
	note_modules(spans, modules);
	merge(spans);
	return NULL;
}

/* ---- files ---- */

static FILE *create(const char *folder, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

/* `failure`: of what was written last, as errno. The error of all that was written to the file, or NULL. */
static struct error *finish(FILE *file, int failure, const char *folder, const char *name)
{
	if (ferror(file) && !failure)
		failure = EIO;
	if (fclose(file) && !failure)
		failure = errno;
	return failure ? error_system(failure, "%s/%s", folder, name) : NULL;
}

static struct error *copy_text(const char *from, const char *to, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s", from, name);
	char bytes[1 << 16];
	size_t size;
	cleanup_fclose FILE *source = fopen(path, "re");
	bool no_modules = !source && errno == ENOENT && !strcmp(name, "modules"); /* a kernel that can't load any */
	if (!source && !no_modules)
		return error_system(errno, "%s", path);
	FILE *file = create(to, name);
	if (!file)
		return error_system(errno, "%s/%s", to, name);
	int failure = 0;
	while (source && !failure && (size = fread(bytes, 1, sizeof(bytes), source)) > 0)
		failure = fwrite(bytes, 1, size, file) == size ? 0 : errno;
	struct error *error = source && ferror(source) ? error_system(errno, "%s", path) : NULL;
	struct error *unwritten = finish(file, failure, to, name);
	if (!error)
		return unwritten;
	error_free(unwritten);
	return error;
}

/* Returns 0, or an errno. */
static int write_headers(FILE *file, const struct kcore *kcore, const struct spans *spans)
{
	uint64_t offset = sizeof(Elf64_Ehdr) + spans->list.len * sizeof(Elf64_Phdr);
	Elf64_Ehdr header = {
		.e_type = ET_CORE,
		.e_machine = kcore->machine,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)spans->list.len,
	};
	offset = (offset + PAGE - 1) & -(uint64_t)PAGE;
	memcpy(header.e_ident, kcore->ident, sizeof(header.e_ident));
	fwrite(&header, sizeof(header), 1, file);
	for (size_t i = 0; i < spans->list.len; i++) {
		const struct code_span *span = &spans->list.data[i];
		const Elf64_Phdr segment = {.p_type = PT_LOAD,
					    .p_flags = PF_R | PF_X,
					    .p_offset = offset,
					    .p_vaddr = span->start,
					    .p_filesz = span->end - span->start,
					    .p_memsz = span->end - span->start,
					    .p_align = PAGE};
		fwrite(&segment, sizeof(segment), 1, file);
		offset += segment.p_filesz;
	}
	for (long at = ftell(file); at % PAGE; at++)
		fputc(0, file);
	return ferror(file) ? errno : 0;
}

/* Spans that can't be read, or their ends, are left out. */
static void leave_out_unreadable(const struct kcore *kcore, struct spans *spans)
{
	size_t kept = 0;
	uint8_t byte;
	for (size_t i = 0; i < spans->list.len && kept < PN_XNUM - 1; i++) {
		struct code_span span = spans->list.data[i];
		while (span.end > span.start && !kcore_read(kcore, span.end - 1, &byte, 1))
			span.end -= PAGE;
		if (span.end > span.start)
			spans->list.data[kept++] = span;
	}
	spans->list.len = kept;
}

static bool has_text(const struct spans *spans)
{
	for (size_t i = 0; i < spans->list.len; i++)
		if (spans->list.data[i].start <= spans->text_start && spans->list.data[i].end >= spans->text_end)
			return true;
	return false;
}

/* The same. */
static int write_code(const struct kcore *kcore, const struct spans *spans, FILE *file)
{
	uint8_t page[PAGE];
	for (size_t i = 0; i < spans->list.len; i++)
		for (uint64_t at = spans->list.data[i].start; at < spans->list.data[i].end; at += PAGE) {
			if (!kcore_read(kcore, at, page, sizeof(page)))
				memset(page, 0, sizeof(page));
			if (fwrite(page, sizeof(page), 1, file) != 1)
				return errno;
		}
	return 0;
}

static struct error *open_core(const char *from, struct kcore *ret)
{
	cleanup_free char *path = mem_printf("%s/kcore", from);
	struct error *error = kcore_open(path, ret);
	int number = error ? error_errno(error) : 0;
	if (number != ENOENT && number != EACCES && number != EPERM)
		return error;
	error_free(error);
	if (number == ENOENT)
		return error_new(
			"%s does not exist: this kernel does not show its memory (CONFIG_PROC_KCORE), and its code cannot be copied", path);
	return error_system(number, "%s: the kernel's memory is only shown to root, and not under lockdown", path);
}

bool kcore_copy_is_trap(const char *folder, const char *name)
{
	struct stat status;
	cleanup_free char *path = mem_printf("%s/%s", folder, name);
	return !lstat(path, &status) && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

struct error *kcore_copy_check(const char *from)
{
	struct kcore kcore = {0};
	for (size_t i = 0; i < FILES; i++)
		if (kcore_copy_is_trap(from, files[i]))
			return error_new("%s/%s is not a regular file", from, files[i]);
	struct error *error = open_core(from, &kcore);
	kcore_close(&kcore);
	return error;
}

static struct error *copy_code(const char *from, const char *to)
{
	struct spans spans = {0};
	struct kcore kcore = {0};
	struct error *error = open_core(from, &kcore);
	if (!error)
		error = find_spans(to, &spans);
	if (!error)
		leave_out_unreadable(&kcore, &spans);
	if (!error && !has_text(&spans))
		error = error_new("%s/kcore does not show the kernel's code", from);
	FILE *file = error ? NULL : create(to, "kcore");
	if (!error && !file)
		error = error_system(errno, "%s/kcore", to);
	if (file) {
		int failure = write_headers(file, &kcore, &spans);
		error = finish(file, failure ? failure : write_code(&kcore, &spans, file), to, "kcore");
	}
	kcore_close(&kcore);
	vec_deinit(&spans.list);
	return error;
}

static void remove_copy(const char *folder)
{
	for (size_t i = 0; i < FILES; i++) {
		cleanup_free char *path = mem_printf("%s/%s", folder, files[i]);
		unlink(path);
	}
	rmdir(folder);
}

struct error *kcore_copy(const char *from, const char *to)
{
	if (mkdir(to, 0700))
		return error_system(errno, "%s", to);
	struct error *error = kcore_copy_check(from);
	if (!error)
		error = copy_text(from, to, "kallsyms");
	if (!error)
		error = copy_text(from, to, "modules");
	if (!error)
		error = copy_code(from, to);
	if (error)
		remove_copy(to);
	return error;
}

/* ---- the cache ---- */

static char *copies_of(const char *cache, const struct buildid *id)
{
	char text[41];
	return mem_printf("%s/[kernel.kcore]/%s", cache, buildid_format(id, text));
}

char *kcore_copy_find(const char *cache, const struct buildid *id, const char *symbol, uint64_t address)
{
	cleanup_free char *folder = copies_of(cache, id), *found = NULL;
	DIR *directory = opendir(folder);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		cleanup_free char *list = mem_printf("%s/%s/kallsyms", folder, entry->d_name);
		uint64_t there;
		if (*entry->d_name != '.' && (!found || strcmp(entry->d_name, found) > 0) && kallsyms_read_address(list, symbol, &there) &&
		    there == address) {
			free(found);
			found = mem_strdup(entry->d_name);
		}
	}
	if (directory)
		closedir(directory);
	return found ? mem_printf("%s/%s", folder, found) : NULL;
}

struct error *kcore_copy_to_cache(const char *from, const char *cache, const struct buildid *id, char **ret, bool *ret_new)
{
	cleanup_free char *list = mem_printf("%s/kallsyms", from), *all = mem_printf("%s/[kernel.kcore]", cache);
	cleanup_free char *folder = copies_of(cache, id);
	struct timespec now;
	struct tm local;
	char stamp[32];
	uint64_t address;
	struct error *error = kcore_copy_check(from);
	if (error)
		return error;
	if (kallsyms_read_address(list, "_text", &address) && (*ret = kcore_copy_find(cache, id, "_text", address))) {
		*ret_new = false;
		return NULL;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", localtime_r(&now.tv_sec, &local));
	mkdir(cache, 0755);
	mkdir(all, 0700);
	mkdir(folder, 0700);
	char *path = mem_printf("%s/%s%02ld", folder, stamp, now.tv_nsec / 10000000);
	error = kcore_copy(from, path);
	if (error) {
		free(path);
		return error;
	}
	*ret = path;
	*ret_new = true;
	return NULL;
}

void kcore_copy_purge(const char *cache)
{
	cleanup_free char *all = mem_printf("%s/[kernel.kcore]", cache);
	DIR *kernels = opendir(all);
	for (struct dirent *kernel; kernels && (kernel = readdir(kernels));) {
		cleanup_free char *folder = mem_printf("%s/%s", all, kernel->d_name);
		DIR *copies = *kernel->d_name == '.' ? NULL : opendir(folder);
		for (struct dirent *copy; copies && (copy = readdir(copies));) {
			cleanup_free char *path = mem_printf("%s/%s", folder, copy->d_name);
			if (*copy->d_name != '.')
				remove_copy(path);
		}
		if (copies)
			closedir(copies);
		if (*kernel->d_name != '.')
			rmdir(folder);
	}
	if (kernels)
		closedir(kernels);
	rmdir(all);
}
