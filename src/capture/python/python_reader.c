/* Reads pages, since what is wanted lies together: frames of Python lie behind each other, and code objects near what was made with them.
 * Pages are kept for one stack only. */
#include "capture/python/python_reader.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "capture/python/python_layout.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum {
	PAGE = 4096,
	PAGES = 32,
	READS = 512,	 /* of pages for a stack: what they hold is the process's to choose */
	PEEKS = 1 << 16, /* into pages for a stack: a frame may be its own caller */
	FRAMES = 4096,	 /* of C and Python in a stack */
	THREADS = 1024,	 /* of an interpreter that are looked at */
	CODES = 1 << 17,
	AGREED = 3,
	SAVED = 64, /* a function saves registers of its caller within so many bytes */
};
/* Numbers of the reader's codes are above those of programs. */
static const uint32_t first_code = 2u * USER_STACKS_OTHERS_CODES;

struct page {
	uint64_t address, stack; /* stack: the number of the one for which it was read */
	int failure;		 /* error number; 0 = it was read */
	uint8_t bytes[PAGE];
};

/* A file: what it is known as. */
struct interpreter {
	bool is_one;
	/* Evaluations in which struct _PyCFrame, or the entry, was where known.python.cframe_below says. */
	unsigned int agreed;
	struct user_stacks_interpreter known;
};

/* A function that evaluates, in a stack. */
struct evaluation {
	struct interpreter *interpreter;
	uint64_t to_file;      /* as in user_walk.bpf.h */
	uint64_t bottom, top;  /* of its frame of C */
	uint64_t vouched_from; /* what it has left on the stack begins here */
	bool innermost;
};

struct python_reader {
	struct python_frames *frames;
	struct resolver *resolver;
	struct map64 dsos;  /* struct interpreter */
	struct map64 codes; /* numbers of codes, by a hash of what tells that a code is still the same one */
	uint32_t numbered;
	uint64_t books; /* python_frames_books() when the first of them was told of */
	struct python_reader_counts counts;
	/* One stack: */
	uint32_t pid;
	uint64_t outer; /* since 3.13: the newest frame of the next function that evaluates, by the one before; 0 = not known */
	uint64_t stack;
	unsigned int reads, peeks;
	const struct unwind_input *input;
	int failure;
	uint64_t sps[FRAMES], chain[FRAMES];
	size_t count;
	struct user_stacks_python_code code;
	struct page pages[PAGES];
};

struct python_reader *python_reader_create(struct python_frames *frames, struct resolver *resolver)
{
	struct python_reader *reader = mem_zalloc(sizeof(*reader));

	reader->frames = frames;
	reader->resolver = resolver;
	return reader;
}

void python_reader_destroy(struct python_reader *reader)
{
	if (!reader)
		return;
	map64_each (slot, &reader->dsos)
		free(map64_pointer(slot));
	map64_deinit(&reader->dsos);
	map64_deinit(&reader->codes);
	free(reader);
}

struct python_reader_counts python_reader_counts(const struct python_reader *reader)
{
	return reader->counts;
}

/* ---- memory ---- */

static const struct page *find_page(struct python_reader *reader, uint64_t address)
{
	struct page *page = &reader->pages[address / PAGE % PAGES];
	struct iovec to = {page->bytes, PAGE}, from = {(void *)(uintptr_t)address, PAGE};

	if (page->address == address && page->stack == reader->stack)
		return page;
	page->address = address;
	page->stack = reader->stack;
	page->failure = EFAULT;
	if (reader->reads++ >= READS)
		return page;
	ssize_t size = process_vm_readv((pid_t)reader->pid, &to, 1, &from, 1, 0);
	page->failure = size == PAGE ? 0 : size < 0 ? errno : EFAULT;
	return page;
}

static bool peek(struct python_reader *reader, uint64_t address, void *to, size_t size)
{
	if (reader->peeks >= PEEKS) {
		reader->failure = EFAULT;
		return false;
	}
	reader->peeks++;
	for (size_t part; size; size -= part, address += part, to = (char *)to + part) {
		size_t offset = address % PAGE;
		const struct page *page = find_page(reader, address - offset);
		part = size < PAGE - offset ? size : PAGE - offset;
		if (page->failure) {
			reader->failure = page->failure;
			return false;
		}
		memcpy(to, page->bytes + offset, part);
	}
	return true;
}

/* 0: it can't be read. */
static uint64_t peek_word(struct python_reader *reader, uint64_t address)
{
	uint64_t word;

	return peek(reader, address, &word, sizeof(word)) ? word : 0;
}

/* A word of the copy. */
static bool copied_word(const struct unwind_input *input, uint64_t begin, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - begin;

	if (offset > input->stack_size || input->stack_size - offset < sizeof(*ret))
		return false;
	memcpy(ret, (const char *)input->stack + offset, sizeof(*ret));
	return true;
}

/* A member of what was read, of as many bytes as are left. */
static uint64_t member(const uint8_t *bytes, size_t size, size_t offset)
{
	uint64_t value = 0;

	if (offset < size)
		memcpy(&value, bytes + offset, size - offset < sizeof(value) ? size - offset : sizeof(value));
	return value;
}

/* ---- interpreters ---- */

static struct interpreter *interpreter_of(struct python_reader *reader, struct dso *dso)
{
	bool is_new;
	uint64_t *at = map64_insert(&reader->dsos, (uintptr_t)dso, &is_new);

	if (is_new) {
		struct interpreter *made = mem_zalloc(sizeof(*made));
		made->is_one = python_layout_describe(reader->resolver, dso, &made->known);
		*at = (uintptr_t)made;
	}
	return (struct interpreter *)(uintptr_t)*at;
}

void python_reader_carry(struct python_reader *reader, const struct carrying *carrying)
{
	struct map64 kept = {0};

	map64_each (slot, &reader->dsos) {
		if (machine_keeps_file(carrying, (const struct dso *)(uintptr_t)slot->key))
			*map64_insert(&kept, slot->key, NULL) = slot->value;
		else
			free(map64_pointer(slot));
	}
	map64_deinit(&reader->dsos);
	reader->dsos = kept;
}

/* Whether an interpreter evaluates there. *map is kept from address to address. */
static bool evaluates(struct python_reader *reader, uint64_t address, const struct map **map, struct evaluation *ret)
{
	if (!*map || address - (*map)->start >= (*map)->end - (*map)->start)
		*map = maps_find(reader->input->maps, address, reader->input->time);
	if (!*map)
		return false;
	ret->interpreter = interpreter_of(reader, (*map)->dso);
	ret->to_file = (*map)->pgoff - (*map)->start;
	for (size_t i = 0; i < USER_STACKS_PARTS && ret->interpreter->is_one; i++)
		if (address + ret->to_file - ret->interpreter->known.evaluates[i].begin < ret->interpreter->known.evaluates[i].size)
			return true;
	return false;
}

/* Where in the frame of C struct _PyCFrame may be: some thread's newest one lies there by now. 0: none does. */
static uint32_t find_cframe(struct python_reader *reader, const struct evaluation *at)
{
	const struct user_stacks_python *python = &at->interpreter->known.python;
	uint64_t interpreter = peek_word(reader, python->runtime - at->to_file + python->interpreter);
	uint64_t thread = interpreter ? peek_word(reader, interpreter + python->threads) : 0;

	for (int i = 0; i < THREADS && thread; i++) {
		uint64_t cframe = peek_word(reader, thread + python->thread_cframe);
		if (cframe - at->bottom < at->top - at->bottom)
			return (uint32_t)(at->top - cframe);
		thread = peek_word(reader, thread + python->next_thread);
	}
	return 0;
}

/* ---- codes ---- */

/* Of the members of each object. */
enum { TYPE = 8 };

struct seen_code {
	uint64_t address, name, file, lines, first, end; /* of instructions */
	uint32_t first_line;
};

/* The first of the instructions that a frame runs: the code's own ones, or a thread's copy. 0: they can't be read. */
static uint64_t instructions_of(struct python_reader *reader, const struct user_stacks_python *python, const uint8_t *frame, uint64_t code)
{
	uint32_t copy = (uint32_t)member(frame, USER_STACKS_PYTHON_FRAME, python->frame_copy);

	if (!python->code_copies || !copy)
		return code + python->code_instructions;
	uint64_t copies = peek_word(reader, code + python->code_copies);
	return copies ? peek_word(reader, copies + sizeof(copies) * (1 + (uint64_t)copy)) : 0; /* behind how many there are */
}

/* The code that has an instruction among its own ones, which lie behind it. 0: none that isn't too long. */
static uint64_t find_code(struct python_reader *reader, const struct evaluation *at, uint64_t instruction)
{
	enum { LONGEST = 32 << 10, COUNT_BEHIND_TYPE = 8 };
	const struct user_stacks_python *python = &at->interpreter->known.python;
	uint64_t type = python->code_type - at->to_file, last = (instruction & ~(uint64_t)7) - python->code_instructions;

	for (uint64_t address = last; last - address < LONGEST; address -= sizeof(address)) {
		uint64_t place = address + TYPE + python->head, word;
		if (!peek(reader, place, &word, sizeof(word)))
			return 0;
		if (word == type)
			return instruction - address - python->code_instructions <
					       2 * (uint64_t)(uint32_t)peek_word(reader, place + COUNT_BEHIND_TYPE)
				       ? address
				       : 0;
	}
	return 0;
}

/* The code of a frame. Since CPython 3.14 a function that returns takes it away, and leaves the rest as it is: of the newest frame, which
 * is vouched for, the code is what has the frame's instruction. */
static bool see_code(struct python_reader *reader, const struct evaluation *at, const uint8_t *frame, bool is_newest, struct seen_code *ret)
{
	enum { COUNT = 16 };
	const struct user_stacks_python *python = &at->interpreter->known.python;
	uint64_t address = member(frame, USER_STACKS_PYTHON_FRAME, python->code) & ~(uint64_t)USER_STACKS_PYTHON_TAGS;
	uint8_t bytes[USER_STACKS_PYTHON_CODE];

	if (!address && is_newest)
		address = find_code(reader, at, member(frame, USER_STACKS_PYTHON_FRAME, python->instruction));
	if (!address || !peek(reader, address, bytes, sizeof(bytes)) ||
	    member(bytes, sizeof(bytes), TYPE + python->head) != python->code_type - at->to_file)
		return false;
	*ret = (struct seen_code){.address = address,
				  .name = member(bytes, sizeof(bytes), python->code_name),
				  .file = member(bytes, sizeof(bytes), python->code_file),
				  .lines = member(bytes, sizeof(bytes), python->code_lines),
				  .first = instructions_of(reader, python, frame, address),
				  .first_line = (uint32_t)member(bytes, sizeof(bytes), python->code_line)};
	ret->end = ret->first + 2 * (uint32_t)member(bytes, sizeof(bytes), COUNT + python->head);
	return ret->first != 0;
}

/* At most `most` bytes of a string. */
static bool read_text(struct python_reader *reader, const struct user_stacks_python *python, uint64_t string, struct user_stacks_text *text,
		      uint8_t *to, size_t most)
{
	enum { LENGTH = 2, STATE = 4, ASCII = 1 << 4 };
	uint64_t words[STATE + 1];

	if (!peek(reader, string + python->head, words, sizeof(words)))
		return false;
	uint32_t state = (uint32_t)words[STATE] >> python->kind_shift;
	text->length = (uint32_t)words[LENGTH];
	text->width = state & 7;
	uint64_t size = (uint64_t)text->length * text->width;
	string += state & ASCII ? python->text : python->wide_text;
	return peek(reader, string, to, size < most ? size : most);
}

/* 0: it can't be read any more. */
static uint32_t number_code(struct python_reader *reader, const struct user_stacks_python *python, const struct seen_code *seen)
{
	enum { SIZE = 16, BYTES = 32 };
	const uint64_t key[] = {reader->pid, seen->address, seen->name, seen->lines, seen->first_line};
	struct user_stacks_python_code *code = &reader->code;
	uint64_t hash = hash_bytes(key, sizeof(key)), *known = map64_find(&reader->codes, hash), lines;

	if (known && reader->books == python_frames_books(reader->frames))
		return (uint32_t)*known;
	if (!read_text(reader, python, seen->name, &code->name, code->name_text, sizeof(code->name_text)) ||
	    !read_text(reader, python, seen->file, &code->file, code->file_text, sizeof(code->file_text)) ||
	    !peek(reader, seen->lines + python->head + SIZE, &lines, sizeof(lines)))
		return 0;
	if (lines > sizeof(code->lines))
		lines = sizeof(code->lines);
	if (!peek(reader, seen->lines + python->head + BYTES, code->lines, lines))
		return 0;
	if (reader->codes.count == CODES || reader->books != python_frames_books(reader->frames))
		map64_deinit(&reader->codes);
	reader->books = python_frames_books(reader->frames);
	code->number = first_code | ++reader->numbered;
	code->first_line = seen->first_line;
	python_frames_add(reader->frames, code, lines);
	*map64_insert(&reader->codes, hash, NULL) = code->number;
	return code->number;
}

/* ---- frames ---- */

/* Whether a word leads into the code's instructions, behind the first one: that the function keeps, too. */
static bool leads_into(const struct seen_code *code, uint64_t word)
{
	return word - code->first - 1 < code->end - code->first;
}

/* The least one is where the code goes on: there may be another one for what comes behind that. */
static uint64_t find_in_registers(const struct unwind_input *input, const struct seen_code *code)
{
	uint64_t found = 0;

	for (int i = 0; i < __builtin_popcountll(input->mask); i++)
		if (leads_into(code, input->registers[i]) && (!found || input->registers[i] < found))
			found = input->registers[i];
	return found;
}

/* Where a code goes on as the function had it, by what it left in registers and on the stack; 0 = nothing there is of this code. `told`:
 * where the frame says that it goes on by now. Stacks have places from before as well: what was called has saved the function's registers
 * below its own words, so the lowest is the newest. */
static uint64_t find_vouching(const struct python_reader *reader, const struct evaluation *at, const struct seen_code *code, uint64_t told)
{
	enum { NEAR = 20 }; /* caches of an instruction lie behind it */
	const struct unwind_input *input = reader->input;
	uint64_t word, found = at->innermost ? find_in_registers(input, code) : 0;

	for (uint64_t address = at->vouched_from; !at->innermost || !found; address += sizeof(word)) {
		if (address >= at->top || !copied_word(input, reader->sps[0], address, &word))
			break;
		if (!leads_into(code, word))
			continue;
		if (!at->innermost && word + NEAR - told <= 2 * NEAR)
			return told;
		found = found ? found : word;
	}
	return found;
}

static bool put_frame(struct python_reader *reader, const struct user_stacks_python *python, const struct seen_code *code, uint64_t begun,
		      size_t max)
{
	if (code->name == code->file) /* one string: the interpreter's own code */
		return true;
	uint32_t number = number_code(reader, python, code);
	if (number && reader->count < max)
		reader->chain[reader->count++] = USER_STACKS_PYTHON_MARK | (uint64_t)number << 24 | (begun & 0xffffff);
	return number;
}

/* Adds the frames from `frame` on. False: they have changed, or can't be read. *ret_end: the one behind them, only a mark, or 0. */
static bool add_frames(struct python_reader *reader, const struct evaluation *at, uint64_t frame, size_t max, uint64_t *ret_end)
{
	const struct user_stacks_python *python = &at->interpreter->known.python;
	uint8_t bytes[USER_STACKS_PYTHON_FRAME];
	struct seen_code code;

	*ret_end = 0;
	for (bool is_end = false, is_newest = true; frame && !is_end && reader->count < max; is_newest = false) {
		if (!peek(reader, frame, bytes, sizeof(bytes)))
			return false;
		is_end = (bytes[python->end] & python->end_mask) == python->end_value;
		if (is_end && !python->end_counts) {
			*ret_end = frame;
			return !is_newest;
		}
		if (!see_code(reader, at, bytes, is_newest, &code))
			return false;
		uint64_t next = member(bytes, sizeof(bytes), python->instruction) + 2;
		if (is_newest)
			next = find_vouching(reader, at, &code, next);
		if (next - code.first > code.end - code.first || !put_frame(reader, python, &code, (next - code.first) / 2, max))
			return false;
		frame = member(bytes, sizeof(bytes), python->previous);
	}
	return true;
}

/* Whether frames are there if struct _PyCFrame is so far below the top. */
static bool add_frames_at(struct python_reader *reader, const struct evaluation *at, uint32_t below, size_t max)
{
	uint64_t cframe = at->top - below, frame, end;

	return below && copied_word(reader->input, reader->sps[0], cframe + at->interpreter->known.python.cframe_current, &frame) &&
	       add_frames(reader, at, frame, max, &end);
}

static void note_place(struct interpreter *interpreter, uint32_t below)
{
	uint32_t *known = &interpreter->known.python.cframe_below;

	interpreter->agreed = *known == below ? interpreter->agreed + 1 : 1;
	*known = below;
}

/* Whether a frame, which isn't only a mark, lies there. */
static bool is_frame(struct python_reader *reader, const struct evaluation *at, uint64_t address)
{
	const struct user_stacks_python *python = &at->interpreter->known.python;
	uint8_t bytes[USER_STACKS_PYTHON_FRAME];
	struct seen_code code;

	return address && address % sizeof(address) == 0 && peek(reader, address, bytes, sizeof(bytes)) &&
	       (bytes[python->end] & python->end_mask) < python->end_value && see_code(reader, at, bytes, true, &code) &&
	       leads_into(&code, member(bytes, sizeof(bytes), python->instruction) + 2);
}

/* The newest one of the innermost function: what is lowest on the stack was saved last. 0: there is none. */
static uint64_t find_frame(struct python_reader *reader, const struct evaluation *at)
{
	const struct unwind_input *input = reader->input;
	uint64_t word;

	for (int i = 0; i < __builtin_popcountll(input->mask); i++)
		if (is_frame(reader, at, input->registers[i]))
			return input->registers[i];
	for (uint64_t address = at->vouched_from; address < at->top && copied_word(input, reader->sps[0], address, &word);
	     address += sizeof(word))
		if (is_frame(reader, at, word))
			return word;
	return 0;
}

/* Since 3.13. The frames end with an entry in the function's own frame, which leads to the next function even if they are others by now. */
static bool add_frames_to_entry(struct python_reader *reader, const struct evaluation *at, size_t max)
{
	struct interpreter *interpreter = at->interpreter;
	const struct user_stacks_python *python = &interpreter->known.python;
	uint64_t frame = at->innermost ? find_frame(reader, at) : reader->outer, entry;
	bool added = frame && add_frames(reader, at, frame, max, &entry) && entry - at->bottom < at->top - at->bottom;

	if (added && interpreter->agreed < AGREED)
		note_place(interpreter, (uint32_t)(at->top - entry));
	if (!python->cframe_below ||
	    !copied_word(reader->input, reader->sps[0], at->top - python->cframe_below + python->previous, &reader->outer))
		reader->outer = 0;
	return added;
}

/* What lies there by now may be another function's: the place is known when it was the same one several times. */
static bool add_frames_somewhere(struct python_reader *reader, const struct evaluation *at, size_t max)
{
	struct interpreter *interpreter = at->interpreter;
	uint32_t known = interpreter->known.python.cframe_below, below;

	if (interpreter->known.python.thread_number)
		return add_frames_to_entry(reader, at, max);
	if (interpreter->agreed == AGREED)
		return add_frames_at(reader, at, known, max);
	below = find_cframe(reader, at);
	if (!below) /* no newest one: as an inner function has shown */
		below = known;
	if (!add_frames_at(reader, at, below, max))
		return false;
	note_place(interpreter, below);
	return true;
}

static void add_evaluation(struct python_reader *reader, const struct evaluation *at, size_t max)
{
	const struct interpreter *interpreter = at->interpreter;
	size_t before = reader->count;

	if (interpreter->agreed == AGREED && at->top - interpreter->known.python.cframe_below < at->bottom) /* it has just begun */
		return;
	reader->failure = 0;
	if (add_frames_somewhere(reader, at, max)) {
		reader->counts.added++;
		return;
	}
	reader->count = before;
	if (!reader->failure || reader->failure == EFAULT || reader->failure == ESRCH) {
		reader->counts.changed++;
	} else {
		reader->counts.unreadable++;
		reader->counts.failure = reader->failure;
	}
}

size_t python_reader_add(struct python_reader *reader, uint32_t pid, const struct unwind_input *input, struct unwind_cache **cache,
			 uint64_t *ips, size_t count, size_t max)
{
	const struct map *map = NULL;
	struct evaluation at = {0};
	struct unwind_input again = *input;
	struct unwind_end end;
	bool any = false;

	reader->input = input;
	for (size_t i = 0; i < count && !any; i++)
		any = evaluates(reader, ips[i], &map, &at);
	if (!any || count > FRAMES)
		return count;
	reader->pid = pid;
	reader->stack++;
	reader->reads = reader->peeks = 0;
	uint64_t unreadable = reader->counts.unreadable;
	again.sps = reader->sps;
	count = unwind_user(reader->resolver, cache, &again, ips, count, &end);
	at.innermost = true;
	at.vouched_from = count ? reader->sps[0] : 0;
	reader->count = 0;
	if (max > FRAMES)
		max = FRAMES;
	for (size_t i = 0; i < count && reader->count < max; i++) {
		reader->chain[reader->count++] = ips[i];
		if (i + 1 == count || !evaluates(reader, ips[i], &map, &at))
			continue;
		at.bottom = reader->sps[i];
		at.top = reader->sps[i + 1];
		add_evaluation(reader, &at, max);
		at.innermost = false;
		at.vouched_from = at.top - SAVED;
	}
	reader->counts.stacks += reader->counts.unreadable > unreadable;
	memcpy(ips, reader->chain, reader->count * sizeof(*ips));
	return reader->count;
}
