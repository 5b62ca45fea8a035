/* Loads user_stacks.bpf.c and gives it rows (user_stacks.h). Chunks are mapped and written here; a file is entered into `files` when it has
 * words, which are 0 until their blocks' rows are there. What is in chunks otherwise is never changed or taken back while a program can
 * know of it. */
#include "bpf/user_stacks.h"

#include "base/mem.h"
#include "base/vec.h"
#include "bpf/support.h"
#include "user_stacks.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK = 1 << USER_STACKS_BLOCK_BITS };

/* Row 0 is nobody's, since word 0 is for blocks without rows, and row 1 that of blocks for whose rows there is no room. */
enum { COPIED_ROW = 1, COPIED_WORD = COPIED_ROW << 8 };

/* One of the two arrays of chunks. */
struct chunks {
	int fd;	   /* of the map that has them, */
	int first; /* but for the first one, of which it is this */
	size_t element, per_chunk, most;
	uint64_t used; /* elements */
	VEC(void *) mapped;
};

struct bpf_user_stacks {
	struct user_stacks_bpf *skeleton;
	struct chunks rows, words;
	uint64_t memory; /* bytes of rows and words at most */
	uint64_t *taken; /* by CPU, mapped */
	size_t cpus;
	uint32_t pythons; /* interpreters that were added */
};

static const char *const program = "the BPF program that walks user stacks";

static int map_taken(struct bpf_user_stacks *stacks)
{
	int fd = bpf_map__fd(stacks->skeleton->maps.taken);
	void *mapped = mmap(NULL, stacks->cpus * sizeof(*stacks->taken), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mapped == MAP_FAILED)
		return -errno;
	stacks->taken = mapped;
	return 0;
}

/* What isn't wanted isn't loaded. */
static void choose_programs(struct user_stacks_bpf *skeleton, unsigned int kinds)
{
	bpf_program__set_autoload(skeleton->progs.walk_at_sample, kinds & USER_STACKS_OF_SAMPLES);
	bpf_program__set_autoload(skeleton->progs.walk_at_tracepoint, kinds & USER_STACKS_OF_TRACEPOINTS);
	bpf_program__set_autoload(skeleton->progs.walk_at_probe, kinds & USER_STACKS_OF_PROBES);
}

struct error *bpf_user_stacks_open(const struct user_stacks_options *options, struct bpf_user_stacks **ret)
{
	struct error *error = bpf_support_begin();
	if (error)
		return error;
	struct bpf_user_stacks *stacks = mem_zalloc(sizeof(*stacks));
	stacks->skeleton = user_stacks_bpf__open();
	int failure = stacks->skeleton ? 0 : -errno;
	if (!failure) {
		stacks->skeleton->rodata->depth = options->depth < USER_STACKS_DEPTH ? options->depth : USER_STACKS_DEPTH;
		stacks->skeleton->rodata->of_threads = options->of_threads;
		stacks->skeleton->rodata->page_bits = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
		choose_programs(stacks->skeleton, options->kinds);
		stacks->cpus = (size_t)libbpf_num_possible_cpus();
		bpf_map__set_max_entries(stacks->skeleton->maps.walks, (uint32_t)stacks->cpus);
		bpf_map__set_max_entries(stacks->skeleton->maps.taken, (uint32_t)stacks->cpus);
		failure = user_stacks_bpf__load(stacks->skeleton);
	}
	if (!failure)
		failure = map_taken(stacks);
	if (failure) {
		bpf_user_stacks_close(stacks);
		if (failure == -EPERM) /* EACCES is how the verifier refuses memory */
			return bpf_support_explain(failure, program);
		return error_system(-failure, "the kernel rejected %s (-vv shows why; requires Linux 6.1)", program);
	}
	stacks->memory = options->memory;
	stacks->rows = (struct chunks){.fd = bpf_map__fd(stacks->skeleton->maps.row_chunks),
				       .first = bpf_map__fd(stacks->skeleton->maps.first_rows),
				       .element = sizeof(struct user_stacks_row),
				       .per_chunk = USER_STACKS_ROWS,
				       .most = USER_STACKS_ROW_CHUNKS};
	stacks->words = (struct chunks){.fd = bpf_map__fd(stacks->skeleton->maps.word_chunks),
					.first = bpf_map__fd(stacks->skeleton->maps.first_words),
					.element = sizeof(uint32_t),
					.per_chunk = USER_STACKS_WORDS,
					.most = USER_STACKS_WORD_CHUNKS};
	*ret = stacks;
	return NULL;
}

static size_t chunk_size(const struct chunks *chunks)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = chunks->per_chunk * chunks->element;
	return (size + page - 1) & ~(page - 1);
}

static void close_chunks(struct chunks *chunks)
{
	for (size_t i = 0; i < chunks->mapped.len; i++)
		munmap(chunks->mapped.data[i], chunk_size(chunks));
	vec_deinit(&chunks->mapped);
}

void bpf_user_stacks_close(struct bpf_user_stacks *stacks)
{
	if (!stacks)
		return;
	close_chunks(&stacks->rows);
	close_chunks(&stacks->words);
	if (stacks->taken)
		munmap(stacks->taken, stacks->cpus * sizeof(*stacks->taken));
	user_stacks_bpf__destroy(stacks->skeleton);
	free(stacks);
}

struct error *bpf_user_stacks_direct(struct bpf_user_stacks *stacks, enum user_stacks_output output, int cpu, int counter)
{
	struct user_stacks_bpf *skeleton = stacks->skeleton;
	const struct bpf_map *map = output == USER_STACKS_NEWS ? skeleton->maps.news : skeleton->maps.chains;
	if (bpf_map__update_elem(map, &cpu, sizeof(cpu), &counter, sizeof(counter), 0))
		return error_system(errno, "%s cannot write into the buffer of CPU %d", program, cpu);
	return NULL;
}

void bpf_user_stacks_limit(struct bpf_user_stacks *stacks, uint64_t bytes)
{
	__atomic_store_n(&stacks->skeleton->bss->room, bytes, __ATOMIC_RELAXED);
}

void bpf_user_stacks_note_read(struct bpf_user_stacks *stacks, int cpu, uint64_t bytes)
{
	if ((size_t)cpu < stacks->cpus)
		__atomic_store_n(&stacks->taken[cpu], bytes, __ATOMIC_RELAXED);
}

struct error *bpf_user_stacks_attach(struct bpf_user_stacks *stacks, enum user_stacks_kinds kind, int counter)
{
	const struct bpf_program *which = kind == USER_STACKS_OF_SAMPLES       ? stacks->skeleton->progs.walk_at_sample
					  : kind == USER_STACKS_OF_TRACEPOINTS ? stacks->skeleton->progs.walk_at_tracepoint
									       : stacks->skeleton->progs.walk_at_probe;

	if (ioctl(counter, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(which)) < 0)
		return error_system(errno, "%s cannot be attached to this event", program);
	return NULL;
}

int bpf_user_stacks_share(const struct bpf_user_stacks *stacks, const struct user_stacks_maps *maps)
{
	const struct user_stacks_bpf *own = stacks->skeleton;
	struct bpf_map *const pairs[][2] = {{maps->files, own->maps.files},
					    {maps->pythons, own->maps.pythons},
					    {maps->first_rows, own->maps.first_rows},
					    {maps->row_chunks, own->maps.row_chunks},
					    {maps->first_words, own->maps.first_words},
					    {maps->word_chunks, own->maps.word_chunks}};
	int failure = 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && !failure; i++)
		failure = bpf_map__reuse_fd(pairs[i][0], bpf_map__fd(pairs[i][1]));
	return failure;
}

/* ---- rows ---- */

enum { CHUNKS_AT_ONCE = 32 };

/* The kernel waits for all programs that run, once for each call. */
static bool enter_chunks(const struct chunks *chunks, const uint32_t *numbers, const int *fds, uint32_t count)
{
	uint32_t entered = count;

	if (count > 1 && !bpf_map_update_batch(chunks->fd, numbers, fds, &entered, NULL))
		return true;
	for (uint32_t i = 0; i < count; i++)
		if (bpf_map_update_elem(chunks->fd, &numbers[i], &fds[i], BPF_ANY))
			return false;
	return true;
}

/* At most CHUNKS_AT_ONCE, of which the first one of all is there already. */
static bool add_chunks(struct chunks *chunks, uint32_t count)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	uint32_t size = (uint32_t)(chunks->per_chunk * chunks->element), first = (uint32_t)chunks->mapped.len, numbers[CHUNKS_AT_ONCE];
	int fds[CHUNKS_AT_ONCE];
	uint32_t made = 0;
	bool good = true;

	for (; made < count && good; made++) {
		numbers[made] = first + made;
		fds[made] = first + made ? bpf_map_create(BPF_MAP_TYPE_ARRAY, "stack_rows", sizeof(*numbers), size, 1, &options)
					 : chunks->first;
		good = fds[made] >= 0;
	}
	uint32_t begin = first == 0;
	good = good && (made == begin || enter_chunks(chunks, numbers + begin, fds + begin, made - begin));
	for (uint32_t i = 0; i < made; i++) {
		void *mapped = good ? mmap(NULL, chunk_size(chunks), PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0) : MAP_FAILED;
		good = mapped != MAP_FAILED;
		if (good)
			vec_push(&chunks->mapped, mapped);
		if (fds[i] >= 0 && fds[i] != chunks->first)
			close(fds[i]);
	}
	return good;
}

/* Takes `count` elements of one chunk; NULL = there is no room left. */
static void *take_together(struct chunks *chunks, size_t count, uint64_t *ret_first)
{
	size_t left = chunks->per_chunk - chunks->used % chunks->per_chunk;

	if (left < count)
		chunks->used += left;
	if (chunks->used == chunks->mapped.len * chunks->per_chunk && (chunks->mapped.len >= chunks->most || !add_chunks(chunks, 1)))
		return NULL;
	*ret_first = chunks->used;
	chunks->used += count;
	return (char *)chunks->mapped.data[*ret_first / chunks->per_chunk] + *ret_first % chunks->per_chunk * chunks->element;
}

static bool begin_rows(struct bpf_user_stacks *stacks)
{
	uint64_t first;
	struct user_stacks_row *rows = take_together(&stacks->rows, COPIED_ROW + 1, &first);

	if (rows)
		rows[COPIED_ROW].base = USER_STACKS_OTHER;
	return rows;
}

/* The rows that hold in [begin, begin + BLOCK), of which the first is the last one at or before `begin`. Returns the block's word, or
 * UINT32_MAX. */
static uint32_t add_block(struct bpf_user_stacks *stacks, const struct user_stacks_row *rows, size_t count, uint64_t begin)
{
	size_t in_block = 1;
	uint64_t first;

	while (in_block < count && in_block < BLOCK && rows[in_block].start < begin + BLOCK)
		in_block++;
	void *place = take_together(&stacks->rows, in_block, &first);
	if (!place)
		return UINT32_MAX;
	memcpy(place, rows, in_block * sizeof(*rows));
	return (uint32_t)first << 8 | (uint32_t)(in_block - 1);
}

/* So many bytes more, of rows and words. */
static bool have_room(const struct bpf_user_stacks *stacks, uint64_t bytes)
{
	return stacks->rows.used * stacks->rows.element + stacks->words.used * stacks->words.element + bytes <= stacks->memory;
}

void bpf_user_stacks_reserve(struct bpf_user_stacks *stacks, uint64_t rows)
{
	struct chunks *chunks = &stacks->rows;
	uint64_t most = stacks->memory / chunk_size(chunks), wanted = (chunks->used + rows) / chunks->per_chunk + 1;

	if (wanted > most)
		wanted = most;
	if (wanted > chunks->mapped.len + CHUNKS_AT_ONCE)
		wanted = chunks->mapped.len + CHUNKS_AT_ONCE;
	if (wanted > chunks->mapped.len)
		add_chunks(chunks, (uint32_t)(wanted - chunks->mapped.len));
}

static bool add_words(struct bpf_user_stacks *stacks, uint64_t begin, uint64_t end, struct user_stacks_code *code)
{
	uint64_t blocks = (end - begin + BLOCK - 1) / BLOCK, number;

	if (!have_room(stacks, blocks * stacks->words.element))
		return false;
	code->first_block = (uint32_t)(begin / BLOCK);
	code->first_word = (uint32_t)stacks->words.used;
	for (; code->blocks < blocks; code->blocks++)
		if (!take_together(&stacks->words, 1, &number))
			return false;
	return true;
}

enum user_stacks_added bpf_user_stacks_fill(struct bpf_user_stacks *stacks, const struct user_stacks_code *code,
					    const struct user_stacks_row *rows, size_t count, uint64_t begin, uint64_t end)
{
	/* Each block begins with a row. */
	bool good =
		(stacks->rows.used || begin_rows(stacks)) && have_room(stacks, (count + (end - begin) / BLOCK + 1) * stacks->rows.element);
	size_t row = 0;

	for (; begin < end; begin += BLOCK) {
		uint64_t number = code->first_word + begin / BLOCK - code->first_block;
		uint32_t *words = stacks->words.mapped.data[number / USER_STACKS_WORDS], word = UINT32_MAX;
		while (row + 1 < count && rows[row + 1].start <= begin)
			row++;
		if (good)
			word = add_block(stacks, rows + row, count - row, begin);
		good = word != UINT32_MAX;
		__atomic_store_n(&words[number % USER_STACKS_WORDS], good ? word : COPIED_WORD, __ATOMIC_RELEASE);
	}
	return good ? USER_STACKS_ADDED : USER_STACKS_NO_ROOM;
}

static void add_interpreter(struct bpf_user_stacks *stacks, const struct user_stacks_interpreter *interpreter,
			    struct user_stacks_code *code)
{
	const struct bpf_map *map = stacks->skeleton->maps.pythons;
	uint32_t number = stacks->pythons;

	if (number >= USER_STACKS_PYTHONS ||
	    bpf_map__update_elem(map, &number, sizeof(number), &interpreter->python, sizeof(interpreter->python), BPF_ANY))
		return;
	code->python = ++stacks->pythons;
	memcpy(code->evaluates, interpreter->evaluates, sizeof(code->evaluates));
}

enum user_stacks_added bpf_user_stacks_add(struct bpf_user_stacks *stacks, const struct user_stacks_file *file, uint64_t begin,
					   uint64_t end, const struct user_stacks_interpreter *interpreter, struct user_stacks_code *ret)
{
	struct user_stacks_code code = {0};
	bool good = begin == end || add_words(stacks, begin, end, &code);

	if (!good)
		code = (struct user_stacks_code){.copied = 1};
	else if (interpreter)
		add_interpreter(stacks, interpreter, &code);
	*ret = code;
	if (bpf_map__update_elem(stacks->skeleton->maps.files, file, sizeof(*file), &code, sizeof(code), BPF_ANY)) {
		__atomic_store_n(&stacks->skeleton->bss->files_end, 1, __ATOMIC_RELAXED);
		return USER_STACKS_TOO_MANY;
	}
	return good ? USER_STACKS_ADDED : USER_STACKS_NO_ROOM;
}

bool bpf_user_stacks_add_name(struct bpf_user_stacks *stacks, const struct user_stacks_file *file, const struct user_stacks_file *known)
{
	struct bpf_map *files = stacks->skeleton->maps.files;
	struct user_stacks_code code;

	return !bpf_map__lookup_elem(files, known, sizeof(*known), &code, sizeof(code), 0) &&
	       !bpf_map__update_elem(files, file, sizeof(*file), &code, sizeof(code), BPF_ANY);
}

bool bpf_user_stacks_identify(const struct bpf_user_stacks *stacks, const void *mapped, struct user_stacks_file *ret)
{
	struct user_stacks_place place = {.address = (uintptr_t)mapped};
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &place, .ctx_size_in = sizeof(place));

	enum { TRIES = 1000 };

	for (int i = 0; i < TRIES && !place.file.inode; i++) {
		if (bpf_prog_test_run_opts(bpf_program__fd(stacks->skeleton->progs.identify_mapped), &options))
			return false;
		if (options.retval != EBUSY)
			break;
		sched_yield();
	}
	if (!place.file.inode)
		return false;
	*ret = place.file;
	return true;
}

/* Who knows of no file finds no row, and who sees another generation forgets what he has found; to enter a chunk, even one that is there,
 * waits for those who run. */
void bpf_user_stacks_clear(struct bpf_user_stacks *stacks)
{
	const struct bpf_map *files = stacks->skeleton->maps.files;
	struct user_stacks_file file;

	while (!bpf_map__get_next_key(files, NULL, &file, sizeof(file)) && !bpf_map__delete_elem(files, &file, sizeof(file), 0))
		;
	if (stacks->rows.used || begin_rows(stacks)) {
		struct user_stacks_row *row = (struct user_stacks_row *)stacks->rows.mapped.data[0] + USER_STACKS_GENERATION;
		__atomic_store_n(&row->start, row->start + 1, __ATOMIC_RELEASE);
	}
	enter_chunks(&stacks->rows, &(uint32_t){0}, &stacks->rows.first, 1);
	for (size_t i = 0; i < stacks->words.mapped.len; i++)
		memset(stacks->words.mapped.data[i], 0, chunk_size(&stacks->words));
	stacks->rows.used = stacks->words.used = 0;
	stacks->pythons = 0;
	__atomic_store_n(&stacks->skeleton->bss->files_end, 0, __ATOMIC_RELAXED);
}

void bpf_user_stacks_forget_codes(struct bpf_user_stacks *stacks)
{
	bpf_support_empty(stacks->skeleton->maps.python_codes);
	bpf_support_empty(stacks->skeleton->maps.python_threads);
}

uint64_t bpf_user_stacks_memory(const struct bpf_user_stacks *stacks)
{
	return stacks->rows.mapped.len * chunk_size(&stacks->rows) + stacks->words.mapped.len * chunk_size(&stacks->words);
}

uint64_t bpf_user_stacks_unsent(const struct bpf_user_stacks *stacks)
{
	return __atomic_load_n(&stacks->skeleton->bss->unsent, __ATOMIC_RELAXED);
}
