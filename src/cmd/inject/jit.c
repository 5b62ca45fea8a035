/* -j: generated code, for tools that don't read jitdumps. Each piece of code of a dump becomes a file jitted-PID-NUMBER.so in a folder
 * beside the output (OUTPUT.jit), and a MMAP2 record of that file at the time when it was there:
 *
 *	in    mmap jit-9.dump ─── mmap //anon ─── sample ─────────────────── sample
 *	out                                       sample ── mmap jitted-9-4.so ─ sample
 *
 * What maps the dump itself, and the memory that the code is in, is left out: it would hide the code.
 *
 * The dump decides on numbers and contents of files only, never on their place; and a file that is there is replaced, not written through.
 */
#include "cmd/inject/inject.h"

#include "base/cleanup.h"
#include "base/files/process_file.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/synth/synth.h"
#include "symbol/code/code_image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void inject_jit_note(void *context, const struct session_code *code)
{
	struct inject *inject = context;
	vec_push(&inject->codes, *code);
}

/* Makes the folder, when the first file goes there. */
static struct error *make_folder(struct inject *inject)
{
	const struct inject_options *options = inject->options;
	struct stat st;
	if (inject->image_folder)
		return NULL;
	cleanup_free char *path = mem_printf("%s.jit", inject_written_file(options));
	if ((mkdir(path, 0777) && errno != EEXIST) || lstat(path, &st))
		return error_system(errno, "%s", path);
	if (!S_ISDIR(st.st_mode) || !owner_is_trusted(st.st_uid))
		return error_new_kind(ERROR_PERMISSION, "%s is in the way: it is not a directory, or you do not own it", path);
	inject->image_folder = realpath(path, NULL);
	return inject->image_folder ? NULL : error_system(errno, "%s", path);
}

/* "FOLDER/jitted-PID-NUMBER.so": the process as the dump's name has it, which in a container is another number than the recording's. Where
 * two dumps have the same, "-2" and so on tells them apart. */
static char *image_path(struct inject *inject, const struct session_code *code)
{
	unsigned int pid = code->pid;
	bool fresh;
	const char *slash = strrchr(code->dump->path, '/');
	sscanf(slash ? slash : "", "/jit-%u.dump", &pid);
	uint64_t *used = map64_insert(&inject->image_names, (uint64_t)pid << 32 ^ code->code->index, &fresh);
	*used = fresh ? 1 : *used + 1;
	cleanup_free char *plain = mem_printf("%s/jitted-%u-%llu", inject->image_folder, pid, (unsigned long long)code->code->index);
	return *used == 1 ? mem_printf("%s.so", plain) : mem_printf("%s-%llu.so", plain, (unsigned long long)*used);
}

static struct error *write_image(struct inject_image *image, const struct session_code *code, const char *path)
{
	struct strbuf bytes = {0};
	struct replacement file;
	struct stat st = {0};
	struct error *error = replacement_begin_here(path, &file);
	if (error)
		return error;
	code_image_make(code->dump, code->code, &bytes, &image->id);
	if (fwrite(bytes.data, 1, bytes.len, file.file) != bytes.len || fflush(file.file) || fstat(fileno(file.file), &st))
		error = error_system(errno, "cannot write %s", path);
	strbuf_deinit(&bytes);
	image->major = major(st.st_dev);
	image->minor = minor(st.st_dev);
	image->inode = st.st_ino;
	return replacement_end(&file, error);
}

/* The file of a piece of code, made when it is there for the first time. */
static struct error *find_image(struct inject *inject, const struct session_code *code, struct inject_image *ret)
{
	bool fresh;
	uint64_t *slot = map64_insert(&inject->image_by_code, (uintptr_t)code->code, &fresh);
	if (!fresh) {
		*ret = inject->images.data[*slot];
		return NULL;
	}
	struct error *error = make_folder(inject);
	if (error)
		return error_wrap(error, "-j writes the code to a directory");
	cleanup_free char *path = image_path(inject, code);
	struct inject_image image = {.name = arena_strdup(&inject->features.arena, path)};
	error = write_image(&image, code, path);
	if (error)
		return error_wrap(error, "-j writes the code to a directory");
	*map64_find(&inject->image_by_code, (uintptr_t)code->code) = inject->images.len;
	vec_push(&inject->images, image);
	*ret = image;
	return inject_image_build_id(inject, &image);
}

static struct error *put_map(struct inject *inject, const struct session_code *code, const struct inject_image *image)
{
	const struct sample_layout *layout = &inject->session->reader->layouts[0];
	const struct event *event = inject->events.events.data[0];
	struct jitdump_unwind unwind = {0};
	uint64_t size = code->code->size;
	if (jitdump_unwind(code->dump, code->code, &unwind) && unwind.mapped_size)
		size = ((size + 7) & ~(uint64_t)7) + unwind.mapped_size;
	const struct map_description map = {
		.pid = code->pid,
		.tid = code->pid,
		.start = code->address,
		.end = code->address + size,
		.pgoff = CODE_IMAGE_TEXT,
		.name = image->name,
		.prot = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE,
		.major = image->major,
		.minor = image->minor,
		.inode = image->inode,
	};
	const struct sample_id id = {.pid = code->pid, .tid = code->pid, .time = code->time, .id = event->ids.len ? event->ids.data[0] : 0};
	struct strbuf record = {0};
	struct synth synth = {.out = &record, .trailer = layout->trailer};
	synth_map(&synth, &map, false);
	if (record.len)
		sample_id_encode(layout, &id, record.data + record.len);
	struct error *error = record.len ? inject_write(inject, (const struct record_header *)record.data) : NULL;
	strbuf_deinit(&record);
	return error;
}

static struct error *put_code(struct inject *inject, const struct session_code *code)
{
	struct inject_image image = {0};
	struct error *error = find_image(inject, code, &image);
	return error ? error : put_map(inject, code, &image);
}

struct error *inject_jit(struct inject *inject, const struct record *record)
{
	struct error *error = NULL;
	while (!error && inject->code_at < inject->codes.len && inject->codes.data[inject->code_at].time <= record->model_time)
		error = put_code(inject, &inject->codes.data[inject->code_at++]);
	if (inject->code_at == inject->codes.len)
		inject->codes.len = inject->code_at = 0;
	return error;
}

void inject_jit_tell(const struct inject *inject)
{
	if (!inject->images.len)
		log_warning("-j: no JIT-compiled code: this recording maps no readable jitdump");
	else if (isatty(STDERR_FILENO) || log_level() >= LOG_INFO)
		log_warning("%zu files of JIT-compiled code are in %s; the new recording needs them there", inject->images.len,
			    inject->image_folder);
}

void inject_jit_deinit(struct inject *inject)
{
	vec_deinit(&inject->codes);
	vec_deinit(&inject->images);
	map64_deinit(&inject->image_by_code);
	map64_deinit(&inject->image_names);
	free(inject->image_folder);
}
