/* A recording of what was imported. Functions get addresses that nobody has chosen: each file ("mapping") is mapped where there is room,
 * each function has a piece of it, and each place in a function (its line, and what is inlined there) two bytes of that:
 *
 *	mapping  ├─ function ─┬─ function ─┤
 *	           ·  ▮▮ ▮▮      ·  ▮▮          · nobody's; the second byte of a place is its address, the first
 *	                                          is what is asked for when a call returns there
 *
 * What is where is told by the table that the recording carries. */
#include "analysis/import/imported.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "perfdata/records.h"
#include "perfdata/writer.h"
#include "symbol/carried/carried.h"
#include "symbol/resolve.h"

#include <elf.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_NAME "[kernel.kallsyms]"
#define USER_START UINT64_C(0x100000000)
#define KERNEL_START UINT64_C(0xffffffff81000000)
enum { FIRST_OFFSET = 0x1000, PAGE = 0x1000, ALIGNMENT = 16, NO_PLACE = UINT32_MAX, DEEPEST = 8000, NAME_MAX_SIZE = 4000, SIZE_MAX_GB = 8 };

struct symbol_made {
	const char *name;
	uint32_t mapping;
	uint32_t places;
	uint64_t start; /* in the dso */
};

/* What lies at one address: the frames of the stack from `frame` up to the one that isn't inlined. */
struct place_made {
	uint32_t symbol, number; /* in the symbol */
	uint32_t frame;
	uint32_t around; /* the place without this frame, if it is inlined; else NO_PLACE */
	uint32_t depth;	 /* how many frames are around it */
};

struct mapping_made {
	const char *name;
	bool kernel;
	uint64_t size;
	uint64_t start;		/* in memory, of everybody */
	size_t symbols, places; /* so many are in it */
};

struct writing {
	struct imported *imported;
	VEC(struct mapping_made) mappings;
	VEC(struct symbol_made) symbols;
	VEC(struct place_made) places;
	uint32_t *stack_places; /* by stack */
	struct map64 mapping_index, symbol_index, place_index;
	struct arena arena;
	struct event_list events;
	struct features features;
	struct writer *writer;
	struct strbuf record;
};

/* ---- addresses ---- */

/* A name that no reader takes for something else than a file. */
static const char *file_name(struct imported *imported, const char *name)
{
	if (!name)
		name = "";
	size_t marks = strspn(name, "[/");
	bool special = name[0] == '[' || !strncmp(name, "//", 2) || !strncmp(name, "/SYSV", 5) || !strncmp(name, "/dev/zero", 9) ||
		       !strncmp(name, "/anon_hugepage", 14);
	if (special)
		name += marks;
	size_t length = special ? strcspn(name, "]") : strlen(name);
	if (!length)
		return intern_string(&imported->texts, "imported");
	return intern_bytes(&imported->texts, name, length < NAME_MAX_SIZE ? length : NAME_MAX_SIZE);
}

static uint32_t mapping_of(struct writing *writing, const struct imported_frame *frame)
{
	const char *name =
		frame->kernel ? intern_string(&writing->imported->texts, KERNEL_NAME) : file_name(writing->imported, frame->mapping);
	uint64_t *number = map64_insert(&writing->mapping_index, (uintptr_t)name, NULL);
	if (!*number) {
		vec_push(&writing->mappings, (struct mapping_made){.name = name, .kernel = frame->kernel, .size = FIRST_OFFSET});
		*number = writing->mappings.len;
	}
	return (uint32_t)*number - 1;
}

static uint32_t symbol_of(struct writing *writing, const struct imported_frame *frame)
{
	uint32_t mapping = mapping_of(writing, frame);
	for (uint64_t key = hash_combine(mapping, (uintptr_t)frame->function);; key++) {
		uint64_t *number = map64_insert(&writing->symbol_index, key, NULL);
		if (!*number) {
			vec_push(&writing->symbols, (struct symbol_made){.name = frame->function, .mapping = mapping});
			*number = writing->symbols.len;
		}
		const struct symbol_made *symbol = &writing->symbols.data[*number - 1];
		if (symbol->name == frame->function && symbol->mapping == mapping)
			return (uint32_t)*number - 1;
	}
}

/* `around`: the caller's place, if the frame is inlined into it. */
static uint32_t place_of(struct writing *writing, uint32_t frame, uint32_t around)
{
	uint64_t *number = map64_insert(&writing->place_index, (uint64_t)around << 32 | frame, NULL);
	if (*number)
		return (uint32_t)*number - 1;
	uint32_t symbol =
		around == NO_PLACE ? symbol_of(writing, &writing->imported->frames.data[frame]) : writing->places.data[around].symbol;
	uint32_t depth = around == NO_PLACE ? 0 : writing->places.data[around].depth + 1;
	vec_push(&writing->places, (struct place_made){symbol, writing->symbols.data[symbol].places++, frame, around, depth});
	return (uint32_t)(*number = writing->places.len) - 1;
}

/* Readers show no inlined functions of the kernel, and of others only so many at an address: beyond that each is a function of its own. */
static uint32_t place_around(const struct writing *writing, const struct imported_frame *frame, uint32_t caller)
{
	if (!frame->inlined || frame->kernel || caller == IMPORTED_NO_STACK)
		return NO_PLACE;
	uint32_t place = writing->stack_places[caller];
	return writing->places.data[place].depth + 1 < CARRIED_FUNCTIONS_MAX ? place : NO_PLACE;
}

/* Callers come before what they call. */
static void make_places(struct writing *writing)
{
	const struct imported *imported = writing->imported;
	writing->stack_places = mem_alloc_array(imported->stacks.len + 1, sizeof(*writing->stack_places));
	for (size_t i = 0; i < imported->stacks.len; i++) {
		const struct imported_stack *stack = &imported->stacks.data[i];
		uint32_t around = place_around(writing, &imported->frames.data[stack->frame], stack->parent);
		writing->stack_places[i] = place_of(writing, stack->frame, around);
	}
}

static uint64_t align(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) & ~(alignment - 1);
}

/* A symbol has two bytes for each place, and two before them. */
static uint64_t symbol_size(const struct symbol_made *symbol)
{
	return align(2 * (uint64_t)symbol->places + 2, ALIGNMENT);
}

static void lay_out(struct writing *writing)
{
	uint64_t user = USER_START;
	for (size_t i = 0; i < writing->symbols.len; i++) {
		struct symbol_made *symbol = &writing->symbols.data[i];
		struct mapping_made *mapping = &writing->mappings.data[symbol->mapping];
		symbol->start = mapping->size + (mapping->kernel ? KERNEL_START : 0);
		mapping->size += symbol_size(symbol);
		mapping->symbols++;
		mapping->places += symbol->places;
	}
	for (size_t i = 0; i < writing->mappings.len; i++) {
		struct mapping_made *mapping = &writing->mappings.data[i];
		mapping->size = align(mapping->size, PAGE);
		mapping->start = mapping->kernel ? KERNEL_START : user;
		user += mapping->kernel ? 0 : mapping->size + PAGE;
	}
}

/* In the dso; dso addresses of the kernel are those in memory. */
static uint64_t place_offset(const struct writing *writing, const struct place_made *place)
{
	return writing->symbols.data[place->symbol].start + 2 * (uint64_t)place->number + 3;
}

static uint64_t address_of(const struct writing *writing, uint32_t number)
{
	const struct place_made *place = &writing->places.data[number];
	const struct mapping_made *mapping = &writing->mappings.data[writing->symbols.data[place->symbol].mapping];
	return place_offset(writing, place) + (mapping->kernel ? 0 : mapping->start);
}

/* ---- the table of names ---- */

/* Of a place: its functions, if there is something to tell beyond the symbol. */
static bool make_answer(struct writing *writing, const struct place_made *place, struct carried_answer *ret)
{
	const struct imported *imported = writing->imported;
	const struct imported_frame *frame = &imported->frames.data[place->frame];
	const size_t count = place->depth + (size_t)1;
	if (count == 1 && !frame->file)
		return false;
	*ret = (struct carried_answer){arena_zalloc(&writing->arena, count * sizeof(*ret->functions)), count};
	for (size_t i = 0; i < count; i++, place = &writing->places.data[place->around]) {
		frame = &imported->frames.data[place->frame];
		ret->functions[i] = (struct carried_function){place->around == NO_PLACE ? NULL : frame->function, frame->file, frame->line};
		if (place->around == NO_PLACE)
			break;
	}
	return true;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct carried_place *x = a, *y = b;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static void add_file(struct writing *writing, const struct mapping_made *mapping, struct carried_file *ret)
{
	*ret = (struct carried_file){
		.name = mapping->name,
		.kind = mapping->kernel ? DSO_KERNEL : DSO_FILE,
		.source = SYMBOLS_FULL,
		.has_functions = true,
		.of_count = mapping->symbols,
		.symbols = arena_alloc(&writing->arena, mapping->symbols * sizeof(*ret->symbols)),
		.answers = arena_alloc(&writing->arena, mapping->places * sizeof(*ret->answers)),
		.places = arena_alloc(&writing->arena, mapping->places * sizeof(*ret->places)),
	};
}

static void add_place(struct writing *writing, const struct place_made *place, struct carried_file *file)
{
	bool known = make_answer(writing, place, &file->answers[file->answer_count]);
	file->answer_count += known;
	file->places[file->place_count++] =
		(struct carried_place){place_offset(writing, place) - 1, known ? (uint32_t)file->answer_count : 0};
}

/* Once through all of them, however many files they are in. */
static void add_files(struct writing *writing, struct carried_file *files)
{
	for (size_t i = 0; i < writing->mappings.len; i++)
		add_file(writing, &writing->mappings.data[i], &files[i]);
	for (size_t i = 0; i < writing->symbols.len; i++) {
		const struct symbol_made *symbol = &writing->symbols.data[i];
		struct carried_file *file = &files[symbol->mapping];
		file->symbols[file->symbol_count++] =
			(struct carried_symbol){symbol->start, symbol_size(symbol), symbol->name, STB_GLOBAL, STT_FUNC, false, false};
	}
	for (size_t i = 0; i < writing->places.len; i++) {
		const struct place_made *place = &writing->places.data[i];
		add_place(writing, place, &files[writing->symbols.data[place->symbol].mapping]);
	}
	for (size_t i = 0; i < writing->mappings.len; i++)
		qsort(files[i].places, files[i].place_count, sizeof(*files[i].places), by_vaddr);
}

static struct error *add_names(struct writing *writing)
{
	struct carried carried = {.file_count = writing->mappings.len};
	struct strbuf table = {0};
	carried.files = arena_zalloc(&writing->arena, carried.file_count * sizeof(*carried.files));
	add_files(writing, carried.files);
	carried_encode(&carried, &table);
	size_t size = table.len;
	writing->features.carried = arena_copy(&writing->features.arena, strbuf_str(&table), size);
	writing->features.carried_size = size;
	features_set(&writing->features, FEATURE_SELF_CONTAINED);
	strbuf_deinit(&table);
	return size <= FEATURE_CARRIED_MAX ? NULL
					   : error_new("the names of this profile take %zu MB, and a recording can have %d MB", size >> 20,
						       FEATURE_CARRIED_MAX >> 20);
}

/* ---- records ---- */

/* Of each record that is no sample; what sample_id_all means. */
static void end_record(struct writing *writing, uint32_t pid, uint32_t tid)
{
	const uint64_t time = 0, id = 1;
	strbuf_add_chars(&writing->record, '\0', -writing->record.len & 7);
	strbuf_add(&writing->record, &pid, sizeof(pid));
	strbuf_add(&writing->record, &tid, sizeof(tid));
	strbuf_add(&writing->record, &time, sizeof(time));
	strbuf_add(&writing->record, &id, sizeof(id));
}

static struct error *put_record(struct writing *writing)
{
	struct record_header *header = (struct record_header *)writing->record.data;
	header->size = (uint16_t)writing->record.len;
	struct iovec piece = {writing->record.data, writing->record.len};
	return writer_append(writing->writer, &piece, 1);
}

static struct error *put_map(struct writing *writing, const struct mapping_made *mapping, uint32_t pid)
{
	const struct record_mmap record = {
		.header = {.type = RECORD_MMAP, .misc = mapping->kernel ? CPUMODE_KERNEL : CPUMODE_USER},
		.pid = mapping->kernel ? UINT32_MAX : pid,
		.tid = mapping->kernel ? 0 : pid,
		.start = mapping->start,
		.length = mapping->size,
		.pgoff = mapping->kernel ? mapping->start : 0,
	};
	strbuf_clear(&writing->record);
	strbuf_add(&writing->record, &record, offsetof(struct record_mmap, name));
	strbuf_add_str(&writing->record, mapping->kernel ? KERNEL_NAME "_text" : mapping->name);
	strbuf_add_char(&writing->record, '\0');
	end_record(writing, record.pid, record.tid);
	return put_record(writing);
}

static struct error *put_comm(struct writing *writing, const struct imported_thread *thread)
{
	enum { COMM_MAX = 64 };
	const struct record_comm record = {.header.type = RECORD_COMM, .pid = thread->pid, .tid = thread->tid};
	strbuf_clear(&writing->record);
	strbuf_add(&writing->record, &record, offsetof(struct record_comm, name));
	strbuf_add(&writing->record, thread->comm, strnlen(thread->comm, COMM_MAX));
	strbuf_add_char(&writing->record, '\0');
	end_record(writing, thread->pid, thread->tid);
	return put_record(writing);
}

static bool is_seen(struct map64 *seen, uint64_t key)
{
	bool fresh;
	map64_insert(seen, key, &fresh);
	return !fresh;
}

/* The maps that a stack goes through, for a process. Callers of a stack that the process has had before were looked at then. */
static struct error *put_stack_maps(struct writing *writing, uint32_t stack, uint32_t pid, struct map64 *stacks, struct map64 *maps)
{
	struct error *error = NULL;
	for (; stack != IMPORTED_NO_STACK && !error && !is_seen(stacks, (uint64_t)pid << 32 | stack);
	     stack = writing->imported->stacks.data[stack].parent) {
		uint32_t number = writing->symbols.data[writing->places.data[writing->stack_places[stack]].symbol].mapping;
		const struct mapping_made *mapping = &writing->mappings.data[number];
		if (!mapping->kernel && !is_seen(maps, (uint64_t)pid << 32 | number))
			error = put_map(writing, mapping, pid);
	}
	return error;
}

static struct error *put_threads(struct writing *writing)
{
	const struct imported *imported = writing->imported;
	struct error *error = NULL;
	struct map64 stacks = {0}, maps = {0};
	for (size_t i = 0; i < writing->mappings.len && !error; i++)
		if (writing->mappings.data[i].kernel)
			error = put_map(writing, &writing->mappings.data[i], 0);
	for (size_t i = 0; i < imported->threads.len && !error; i++)
		error = put_comm(writing, &imported->threads.data[i]);
	for (size_t i = 0; i < imported->samples.len && !error; i++) {
		const struct imported_sample *sample = &imported->samples.data[i];
		error = put_stack_maps(writing, sample->stack, imported->threads.data[sample->thread].pid, &stacks, &maps);
	}
	map64_deinit(&stacks);
	map64_deinit(&maps);
	return error;
}

static void add_word(struct writing *writing, uint64_t word)
{
	strbuf_add(&writing->record, &word, sizeof(word));
}

static bool is_kernel(const struct writing *writing, uint32_t place)
{
	return writing->mappings.data[writing->symbols.data[writing->places.data[place].symbol].mapping].kernel;
}

/* The stack as a chain with its markers; returns how many words. Inlined frames are one address with what is around them. */
static uint64_t add_chain(struct writing *writing, uint32_t stack, uint64_t *ret_cut)
{
	const struct imported *imported = writing->imported;
	uint64_t count = 0;
	int kernel = -1;
	while (stack != IMPORTED_NO_STACK && count < DEEPEST) {
		uint32_t place = writing->stack_places[stack];
		if (kernel != is_kernel(writing, place)) {
			kernel = is_kernel(writing, place);
			add_word(writing, kernel ? CALLCHAIN_KERNEL : CALLCHAIN_USER);
			count++;
		}
		add_word(writing, address_of(writing, place));
		count++;
		for (; writing->places.data[place].around != NO_PLACE; place = writing->places.data[place].around)
			stack = imported->stacks.data[stack].parent;
		stack = imported->stacks.data[stack].parent;
	}
	*ret_cut += stack != IMPORTED_NO_STACK;
	return count;
}

static struct error *put_sample(struct writing *writing, const struct imported_sample *sample, uint64_t time, uint64_t period,
				uint64_t *ret_cut)
{
	const struct imported_thread *thread = &writing->imported->threads.data[sample->thread];
	bool known = sample->stack != IMPORTED_NO_STACK;
	uint32_t place = known ? writing->stack_places[sample->stack] : NO_PLACE;
	const struct record_header header = {.type = RECORD_SAMPLE,
					     .misc = known && is_kernel(writing, place) ? CPUMODE_KERNEL : CPUMODE_USER};
	strbuf_clear(&writing->record);
	strbuf_add(&writing->record, &header, sizeof(header));
	add_word(writing, sample->event + (uint64_t)1);
	add_word(writing, known ? address_of(writing, place) : 0);
	strbuf_add(&writing->record, &thread->pid, sizeof(thread->pid));
	strbuf_add(&writing->record, &thread->tid, sizeof(thread->tid));
	add_word(writing, time);
	add_word(writing, period);
	size_t at = writing->record.len;
	add_word(writing, 0);
	uint64_t count = add_chain(writing, sample->stack, ret_cut);
	memcpy(writing->record.data + at, &count, sizeof(count));
	return put_record(writing);
}

/* Few bytes can say many samples of deep stacks, each of which a recording has in full: how many bytes they take. */
static uint64_t samples_size(const struct imported *imported)
{
	enum { SAMPLE_SIZE = 80 };
	uint32_t *depths = mem_alloc_array(imported->stacks.len + 1, sizeof(*depths));
	uint64_t size = 0;
	for (size_t i = 0; i < imported->stacks.len; i++) {
		uint32_t parent = imported->stacks.data[i].parent;
		uint32_t depth = parent == IMPORTED_NO_STACK ? 1 : depths[parent] + 1;
		depths[i] = depth < DEEPEST ? depth : DEEPEST;
	}
	for (size_t i = 0; i < imported->samples.len; i++) {
		const struct imported_sample *sample = &imported->samples.data[i];
		uint64_t depth = sample->stack == IMPORTED_NO_STACK ? 0 : depths[sample->stack];
		size += sample->count * (SAMPLE_SIZE + depth * sizeof(uint64_t));
	}
	free(depths);
	return size;
}

static struct error *check_size(const struct imported *imported)
{
	const uint64_t size = samples_size(imported), most = (uint64_t)SIZE_MAX_GB << 30;
	return size <= most ? NULL
			    : error_new("the stacks of its samples would take up to %" PRIu64 " GB in a recording, and %d GB is the most: "
					"import fewer profiles, or a shorter time",
					size >> 30, SIZE_MAX_GB);
}

static struct error *put_samples(struct writing *writing, uint64_t *ret_cut)
{
	struct error *error = NULL;
	for (size_t i = 0; i < writing->imported->samples.len && !error; i++) {
		const struct imported_sample *sample = &writing->imported->samples.data[i];
		uint64_t share = sample->period / sample->count, rest = sample->period % sample->count;
		for (uint32_t k = 0; k < sample->count && !error; k++)
			error = put_sample(writing, sample, sample->time, share + (k < rest), ret_cut);
	}
	return error;
}

/* ---- the head ---- */

static void describe_events(struct writing *writing)
{
	for (uint32_t i = 0; i < writing->imported->events.len; i++) {
		const struct imported_event *imported = &writing->imported->events.data[i];
		struct event *event = event_list_add(&writing->events, imported->name);
		event->attr = (struct event_attr){
			.type = imported->nanoseconds ? PERF_TYPE_SOFTWARE : PERF_TYPE_RAW,
			/* The same for the same name in all recordings, so that they can be compared. */
			.config = imported->nanoseconds ? (uint64_t)PERF_COUNT_SW_CPU_CLOCK
							: hash_id(imported->name, strlen(imported->name), 0),
			.sample_period = 1,
			.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
				       PERF_SAMPLE_CALLCHAIN,
			.sample_id_all = true,
			.comm = true,
			.mmap = true,
		};
		vec_push(&event->ids, i + (uint64_t)1);
	}
}

static void describe_machine(struct writing *writing, const char *const *words)
{
	struct features *features = &writing->features;
	for (; words[features->command_line_count]; features->command_line_count++)
		;
	features->command_line = (const char **)words;
	features->arch = "x86_64"; /* where kernel addresses begin */
	features->version = PERF_VERSION;
	features_set(features, FEATURE_ARCH);
	features_set(features, FEATURE_VERSION);
	features_set(features, FEATURE_CMDLINE);
	features_set(features, FEATURE_EVENT_DESC);
}

static struct error *write_recording(struct writing *writing, const char *path, uint64_t *ret_cut)
{
	const struct writer_options options = {.path = path, .keep_old = true};
	struct error *error = writer_open(&options, &writing->events, &writing->features, &writing->writer);
	error = error ? error : put_threads(writing);
	error = error ? error : put_samples(writing, ret_cut);
	error = error ? error : writer_finish_data(writing->writer);
	error = error ? error : writer_finish(writing->writer, &writing->features);
	writer_close(writing->writer);
	return error;
}

struct error *imported_write(struct imported *imported, const char *path, const char *const *words, uint64_t *ret_cut)
{
	struct writing writing = {.imported = imported};
	*ret_cut = 0;
	make_places(&writing);
	lay_out(&writing);
	describe_events(&writing);
	describe_machine(&writing, words);
	struct error *error = check_size(imported);
	error = error ? error : add_names(&writing);
	error = error ? error : write_recording(&writing, path, ret_cut);
	vec_deinit(&writing.mappings);
	vec_deinit(&writing.symbols);
	vec_deinit(&writing.places);
	free(writing.stack_places);
	map64_deinit(&writing.mapping_index);
	map64_deinit(&writing.symbol_index);
	map64_deinit(&writing.place_index);
	arena_deinit(&writing.arena);
	arena_deinit(&writing.features.arena);
	event_list_deinit(&writing.events);
	strbuf_deinit(&writing.record);
	return error;
}
