#include "capture/mapped_files.h"

#include "base/mem.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void mapped_files_deinit(struct mapped_files *files)
{
	map64_deinit(&files->index);
	vec_deinit(&files->list);
}

static uint64_t hash_file(uint32_t major, uint32_t minor, uint64_t inode)
{
	return hash_combine((uint64_t)major << 32 | minor, inode);
}

void mapped_files_note(struct mapped_files *files, const struct record_header *header)
{
	const struct record_mmap2 *record = (const void *)header;
	bool is_new;

	if (header->type != RECORD_MMAP2 || record_has_build_id(header) || !record->inode)
		return;
	uint64_t *at = map64_insert(&files->index, hash_file(record->major, record->minor, record->inode), &is_new);
	if (is_new) {
		*at = files->list.len;
		vec_push(&files->list, (struct mapped_file){0});
	}
	files->list.data[*at] = (struct mapped_file){.pid = record->pid, .start = record->start, .end = record->start + record->length};
}

void mapped_files_carry(struct mapped_files *files, const struct machine *machine, const struct carrying *carrying)
{
	struct mapped_files kept = {0};
	bool is_new;

	machine_each_dso (dso, machine) {
		uint64_t hash = hash_file(dso->major, dso->minor, dso->inode);
		const uint64_t *at = dso->inode && machine_keeps_file(carrying, dso) ? map64_find(&files->index, hash) : NULL;
		if (!at)
			continue;
		uint64_t *place = map64_insert(&kept.index, hash, &is_new);
		if (!is_new)
			continue;
		*place = kept.list.len;
		vec_push(&kept.list, files->list.data[*at]);
	}
	mapped_files_deinit(files);
	*files = kept;
}

/* What is mapped can be opened by who has CAP_CHECKPOINT_RESTORE, or CAP_SYS_ADMIN before Linux 5.9; the program that a process runs by
 * whoever may look at the process. */
char *mapped_files_path(void *context, const struct dso *dso)
{
	const struct mapped_files *files = context;
	const uint64_t *at = dso->inode ? map64_find(&files->index, hash_file(dso->major, dso->minor, dso->inode)) : NULL;
	struct stat status;

	if (!at)
		return NULL;
	const struct mapped_file *file = &files->list.data[*at];
	char *path = mem_printf("/proc/%u/map_files/%llx-%llx", file->pid, (unsigned long long)file->start, (unsigned long long)file->end);
	if (!access(path, R_OK))
		return path;
	free(path);
	path = mem_printf("/proc/%u/exe", file->pid);
	if (!stat(path, &status) && status.st_ino == dso->inode)
		return path;
	free(path);
	return NULL;
}
