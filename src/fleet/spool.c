/* The spool (spool.h).
 *
 * A file is a head and the batch. The head has a sum of itself, so that of a batch that is damaged behind it one still knows how many
 * samples are gone.
 *
 * Notes of what was dropped are two places in one file, written in turn, each with a sum: a note that was cut off leaves the one before.
 * They need no room, so that a full disk doesn't stop them. The newest says which batch was dropped last; if its file is still there,
 * the process was killed before it could remove it. */
#include "fleet/spool.h"

#include "base/cleanup.h"
#include "base/files/replacement.h"
#include "base/files/whole.h"
#include "base/hash.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { NAME_SIZE = 32, NUMBER_DIGITS = 16, BATCH_MAX = 1 << 30, NOTES = 2 };
#define SUFFIX ".batch"

static const char magic[8] = {'P', 'e', 'r', 'f', 'S', 'p', 'l', '1'};

/* In the byte order of the machine: a spool doesn't travel. */
struct head {
	char magic[sizeof(magic)];
	uint8_t id[SPOOL_ID];
	uint64_t samples, size;
	uint64_t data_sum, head_sum; /* head_sum: of all that is before it */
};

struct note {
	uint64_t number; /* of notes, from 1 on */
	uint64_t batch;	 /* that was dropped last */
	struct spool_totals totals;
	uint64_t sum; /* of all that is before it */
};

enum { SUM_DATA, SUM_HEAD, SUM_NOTE };

static uint64_t head_sum(const struct head *head)
{
	return hash_id(head, offsetof(struct head, head_sum), SUM_HEAD);
}

static uint64_t note_sum(const struct note *note)
{
	return hash_id(note, offsetof(struct note, sum), SUM_NOTE);
}

/* ---- files ---- */

static void name_of(uint64_t number, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "%016" PRIx64 SUFFIX, number);
}

static bool number_of(const char *name, uint64_t *ret)
{
	char *end;
	if (strspn(name, "0123456789abcdef") != NUMBER_DIGITS || strcmp(name + NUMBER_DIGITS, SUFFIX) != 0)
		return false;
	*ret = strtoull(name, &end, 16);
	return true;
}

/* What the head alone tells. */
static bool decode_head(const struct head *head, struct spool_batch *ret)
{
	if (memcmp(head->magic, magic, sizeof(magic)) != 0 || head->head_sum != head_sum(head))
		return false;
	memcpy(ret->id, head->id, SPOOL_ID);
	ret->samples = head->samples;
	ret->bytes = sizeof(*head) + head->size;
	return true;
}

bool spool_decode(const void *file, size_t size, struct spool_batch *ret, const void **ret_data, size_t *ret_size)
{
	struct head head;
	if (size < sizeof(head))
		return false;
	memcpy(&head, file, sizeof(head));
	*ret_data = (const char *)file + sizeof(head);
	*ret_size = size - sizeof(head);
	return decode_head(&head, ret) && head.size == *ret_size && head.data_sum == hash_id(*ret_data, *ret_size, SUM_DATA);
}

static void make_head(const uint8_t *id, uint64_t samples, const void *data, size_t size, struct head *ret)
{
	*ret = (struct head){.samples = samples, .size = size, .data_sum = hash_id(data, size, SUM_DATA)};
	memcpy(ret->magic, magic, sizeof(magic));
	memcpy(ret->id, id, SPOOL_ID);
	ret->head_sum = head_sum(ret);
}

static struct error *fail(const struct spool *spool, const char *name)
{
	return error_system(errno, "%s/%s", spool->folder, name);
}

static struct error *write_batch(const struct spool *spool, const char *name, const struct head *head, const void *data, size_t size)
{
	static const char beside[] = "new";
	cleanup_close int fd = openat(spool->folder_fd, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool written = fd >= 0 && whole_write(fd, head, sizeof(*head)) && whole_write(fd, data, size) && !fsync(fd);
	if (written && !renameat(spool->folder_fd, beside, spool->folder_fd, name) && !fsync(spool->folder_fd))
		return NULL;
	struct error *error = fail(spool, name);
	unlinkat(spool->folder_fd, beside, 0);
	unlinkat(spool->folder_fd, name, 0);
	return error;
}

/* ---- notes ---- */

static void read_notes(struct spool *spool, uint64_t *ret_batch)
{
	struct note notes[NOTES] = {0};
	*ret_batch = 0;
	if (pread(spool->notes_fd, notes, sizeof(notes), 0) < 0)
		return;
	for (size_t i = 0; i < NOTES; i++) {
		const struct note *note = &notes[i];
		if (note->number <= spool->notes || note->sum != note_sum(note))
			continue;
		spool->notes = note->number;
		spool->dropped = note->totals;
		*ret_batch = note->batch;
	}
}

static void write_note(struct spool *spool, uint64_t batch)
{
	struct note note = {.number = spool->notes + 1, .batch = batch, .totals = spool->dropped};
	note.sum = note_sum(&note);
	off_t place = (off_t)(note.number % NOTES * sizeof(note));
	if (pwrite(spool->notes_fd, &note, sizeof(note), place) == (ssize_t)sizeof(note) && !fdatasync(spool->notes_fd))
		spool->notes = note.number;
}

/* Notes have their room from the beginning on. */
static struct error *open_notes(struct spool *spool)
{
	static const char nothing[NOTES * sizeof(struct note)];
	struct stat st;
	spool->notes_fd = openat(spool->folder_fd, "dropped", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (spool->notes_fd < 0 || fstat(spool->notes_fd, &st))
		return fail(spool, "dropped");
	size_t has = st.st_size < (off_t)sizeof(nothing) ? (size_t)st.st_size : sizeof(nothing), lacks = sizeof(nothing) - has;
	if (lacks && (pwrite(spool->notes_fd, nothing, lacks, (off_t)has) != (ssize_t)lacks || fsync(spool->notes_fd)))
		return fail(spool, "dropped");
	return NULL;
}

/* ---- opening ---- */

static struct error *open_folder(struct spool *spool)
{
	struct stat st;
	if (!directories_make(spool->folder, 0700))
		return error_system(errno, "cannot make the folder %s", spool->folder);
	spool->folder_fd = open(spool->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (spool->folder_fd < 0 || fstat(spool->folder_fd, &st))
		return error_system(errno, "%s", spool->folder);
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return error_new_kind(ERROR_PERMISSION,
				      "%s belongs to somebody else, or others may write in it: chmod 700 it, or choose another folder",
				      spool->folder);
	spool->lock_fd = openat(spool->folder_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (spool->lock_fd < 0)
		return fail(spool, "lock");
	if (flock(spool->lock_fd, LOCK_EX | LOCK_NB))
		return error_new("%s is in use by another process; give each a spool of its own", spool->folder);
	return open_notes(spool);
}

static int by_number(const void *a, const void *b)
{
	const struct spool_batch *x = a, *y = b;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Only the head is read; whether the rest is whole is seen when it is sent. */
static bool look_at(const struct spool *spool, const char *name, struct spool_batch *ret)
{
	struct head head;
	struct stat st;
	cleanup_close int fd = openat(spool->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !whole_read(fd, &head, sizeof(head)))
		return false;
	return decode_head(&head, ret) && ret->bytes == (uint64_t)st.st_size && ret->bytes <= BATCH_MAX;
}

static void count_dropped(struct spool *spool, const struct spool_batch *batch)
{
	spool->dropped.batches++;
	spool->dropped.samples += batch->samples;
	if (spool->folder)
		write_note(spool, batch->number);
}

/* No batch has number 0. */
void spool_count_dropped(struct spool *spool, uint64_t samples)
{
	count_dropped(spool, &(struct spool_batch){.samples = samples});
}

static void find_batch(struct spool *spool, const char *name, struct spool_totals *ret_damaged)
{
	struct spool_batch batch = {0};
	if (!number_of(name, &batch.number))
		return;
	if (spool->next <= batch.number)
		spool->next = batch.number + 1;
	if (look_at(spool, name, &batch)) {
		vec_push(&spool->batches, batch);
		spool->bytes += batch.bytes;
	} else {
		ret_damaged->batches++;
		ret_damaged->samples += batch.samples;
		count_dropped(spool, &batch);
		unlinkat(spool->folder_fd, name, 0);
	}
}

static struct error *find_batches(struct spool *spool, struct spool_totals *ret_damaged)
{
	uint64_t last_dropped;
	char name[NAME_SIZE];
	DIR *dir = opendir(spool->folder);
	if (!dir)
		return error_system(errno, "%s", spool->folder);
	read_notes(spool, &last_dropped);
	spool->next = last_dropped + 1;
	name_of(last_dropped, name);
	unlinkat(spool->folder_fd, name, 0);
	for (struct dirent *entry; (entry = readdir(dir));)
		find_batch(spool, entry->d_name, ret_damaged);
	closedir(dir);
	if (spool->batches.len)
		qsort(spool->batches.data, spool->batches.len, sizeof(*spool->batches.data), by_number);
	return NULL;
}

struct error *spool_open(const char *folder, struct spool **ret, struct spool_totals *ret_damaged)
{
	struct spool *spool = mem_zalloc(sizeof(*spool));
	*spool = (struct spool){.folder = folder ? mem_strdup(folder) : NULL, .folder_fd = -1, .lock_fd = -1, .notes_fd = -1, .next = 1};
	*ret_damaged = (struct spool_totals){0};
	struct error *error = folder ? open_folder(spool) : NULL;
	error = error || !folder ? error : find_batches(spool, ret_damaged);
	if (error)
		spool_close(spool);
	else
		*ret = spool;
	return error;
}

void spool_close(struct spool *spool)
{
	if (!spool)
		return;
	cleanup_close_fd(&spool->notes_fd);
	cleanup_close_fd(&spool->lock_fd);
	cleanup_close_fd(&spool->folder_fd);
	for (size_t i = 0; i < spool->batches.len; i++)
		free(spool->batches.data[i].memory);
	vec_deinit(&spool->batches);
	free(spool->folder);
	free(spool);
}

/* ---- batches ---- */

struct error *spool_add(struct spool *spool, const uint8_t id[SPOOL_ID], uint64_t samples, const void *data, size_t size)
{
	struct spool_batch batch = {.number = spool->next, .samples = samples, .bytes = sizeof(struct head) + size};
	struct error *error = NULL;
	struct head head;
	char name[NAME_SIZE];
	memcpy(batch.id, id, SPOOL_ID);
	if (batch.bytes > BATCH_MAX)
		return error_new("a batch of %zu MB is more than the spool takes (%d MB)", size >> 20, BATCH_MAX >> 20);
	make_head(id, samples, data, size, &head);
	name_of(batch.number, name);
	if (spool->folder)
		error = write_batch(spool, name, &head, data, size);
	else
		batch.memory = mem_alloc(size + 1);
	if (error)
		return error;
	if (batch.memory)
		memcpy(batch.memory, data, size);
	vec_push(&spool->batches, batch);
	spool->bytes += batch.bytes;
	spool->next++;
	return NULL;
}

static struct error *read_file(const struct spool *spool, const char *name, struct strbuf *ret)
{
	cleanup_close int fd = openat(spool->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return error_new_kind(ERROR_FORMAT, "%s/%s was removed by somebody else", spool->folder, name);
	int failed = fd < 0 ? -errno : strbuf_read(ret, fd, BATCH_MAX);
	return failed ? error_system(-failed, "%s/%s", spool->folder, name) : NULL;
}

struct error *spool_read_first(const struct spool *spool, struct strbuf *ret)
{
	const struct spool_batch *batch = &spool->batches.data[0];
	struct spool_batch found = {0};
	const void *data;
	char name[NAME_SIZE];
	size_t size;
	strbuf_clear(ret);
	if (batch->memory) {
		strbuf_add(ret, batch->memory, batch->bytes - sizeof(struct head));
		return NULL;
	}
	name_of(batch->number, name);
	struct error *error = read_file(spool, name, ret);
	if (error)
		return error;
	if (!spool_decode(strbuf_str(ret), ret->len, &found, &data, &size) || memcmp(found.id, batch->id, SPOOL_ID) != 0)
		return error_new_kind(ERROR_FORMAT, "%s/%s is damaged", spool->folder, name);
	memmove(ret->data, data, size);
	ret->data[ret->len = size] = '\0';
	return NULL;
}

static void take_out(struct spool *spool, size_t place)
{
	struct spool_batch *batch = &spool->batches.data[place];
	char name[NAME_SIZE];
	if (spool->folder) {
		name_of(batch->number, name);
		unlinkat(spool->folder_fd, name, 0);
	}
	free(batch->memory);
	spool->bytes -= batch->bytes;
	memmove(batch, batch + 1, (--spool->batches.len - place) * sizeof(*batch));
}

void spool_remove_first(struct spool *spool)
{
	take_out(spool, 0);
}

void spool_drop(struct spool *spool, size_t place)
{
	count_dropped(spool, &spool->batches.data[place]);
	take_out(spool, place);
}
