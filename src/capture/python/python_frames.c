/* Codes become functions: those of several processes, or of a module that was loaded again, are one when name, file and first line are the
 * same. A function has a stretch of addresses, and a line of it one address there.
 *
 *	[python]              function 0 │ function 1 │ function 2 │ …        one file, made at the end: of lines those that were met
 *	/[python]/1/[python]  function 0 │ function 1                         files with all lines, given away when a chain needs a function
 *	/[python]/2/[python]                            function 2 │ …        that none of the files before has
 *
 * Who is given files may measure for months, while programs with ever new names come and go: when there is no more room names begin anew,
 * in another book, with other addresses. The book before stays, since what is on its way has numbers of it; then it goes. */
#include "capture/python/python_frames.h"

#include "arch/arch.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "symbol/code/names_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Above what processes can have. */
enum { MAP_BITS = 40 };
static const uint64_t map_begin = (uint64_t)0x70 << 56, map_size = (uint64_t)1 << MAP_BITS;

struct function {
	char *name, *file;
	uint32_t first_line;
	VEC(uint32_t) lines; /* as distances from the first one */
};

/* Each function counts among the bytes: those of the one book that there is without a taker fit into the map, those of a book of half the
 * size into a quarter of it, where one begins after the other. So what was mapped four books ago is gone from the maps of processes. */
enum { FUNCTIONS_MOST = ((uint64_t)1 << MAP_BITS) / NAMES_IMAGE_STRIDE, FUNCTIONS_PART = FUNCTIONS_MOST / 4 };
_Static_assert(PYTHON_FRAMES_BYTES / sizeof(struct function) < FUNCTIONS_MOST - 1 &&
		       PYTHON_FRAMES_BYTES / 2 / sizeof(struct function) < FUNCTIONS_PART - 1,
	       "functions have addresses");

struct python_code {
	size_t function;
	uint32_t first_line;
	uint8_t *lines; /* co_linetable */
	size_t size;
};

/* A file of some functions, one after the other. */
struct piece {
	size_t first, count;
	char *name;
	struct buildid id;
};

/* Numbers of functions and files in it are counted from its own first ones on. */
struct book {
	size_t first_function, first_file;
	VEC(struct function) functions;
	VEC(struct python_code) codes;
	VEC(struct piece) pieces;
	struct map64 by_hash;	/* functions */
	struct map64 same;	/* codes: equal ones are kept once */
	struct map64 by_number; /* codes */
	struct map64 lines;	/* function << 16 | distance: those that are noted */
	size_t bytes;		/* of all this, and of the files */
};

struct python_frames {
	const struct python_frames_taker *taker; /* of files, or NULL: there is one book */
	struct book now, before;
	uint64_t books;	   /* that were begun after the first one */
	size_t most;	   /* bytes of both; when one book is full, what comes is left out */
	uint64_t left_out; /* codes */
};

/* ---- life ---- */

struct python_frames *python_frames_create(const struct python_frames_taker *taker)
{
	struct python_frames *frames = mem_zalloc(sizeof(*frames));

	frames->taker = taker;
	frames->most = PYTHON_FRAMES_BYTES;
	return frames;
}

void python_frames_limit(struct python_frames *frames, size_t bytes)
{
	frames->most = bytes < PYTHON_FRAMES_BYTES ? bytes : PYTHON_FRAMES_BYTES;
}

uint64_t python_frames_left_out(const struct python_frames *frames)
{
	return frames ? frames->left_out : 0;
}

void python_frames_warn(const struct python_frames *frames)
{
	uint64_t left_out = python_frames_left_out(frames);

	if (left_out)
		log_warning(
			"Python's functions are missing in some stacks: names and lines of %llu code objects did not fit into %d MB. Measure "
			"fewer processes, or a shorter time.",
			(unsigned long long)left_out, (int)(frames->most >> 20));
}

uint64_t python_frames_books(const struct python_frames *frames)
{
	return frames ? frames->books : 0;
}

bool python_teller_forgets(struct python_teller *teller, const struct python_frames *frames)
{
	uint64_t books = python_frames_books(frames);

	if (teller->codes < USER_STACKS_CODES / 4 * 3 && teller->books == books)
		return false;
	*teller = (struct python_teller){.books = books};
	return true;
}

static void book_deinit(struct book *book)
{
	for (size_t i = 0; i < book->functions.len; i++) {
		free(book->functions.data[i].name);
		free(book->functions.data[i].file);
		vec_deinit(&book->functions.data[i].lines);
	}
	for (size_t i = 0; i < book->codes.len; i++)
		free(book->codes.data[i].lines);
	for (size_t i = 0; i < book->pieces.len; i++)
		free(book->pieces.data[i].name);
	vec_deinit(&book->functions);
	vec_deinit(&book->codes);
	vec_deinit(&book->pieces);
	map64_deinit(&book->by_hash);
	map64_deinit(&book->same);
	map64_deinit(&book->by_number);
	map64_deinit(&book->lines);
}

void python_frames_destroy(struct python_frames *frames)
{
	if (!frames)
		return;
	book_deinit(&frames->now);
	book_deinit(&frames->before);
	free(frames);
}

/* ---- codes ---- */

static void put_character(struct strbuf *out, uint32_t c)
{
	if (c < 0x80) {
		strbuf_add_char(out, (char)c);
	} else if (c < 0x800) {
		strbuf_add_char(out, (char)(0xc0 | c >> 6));
		strbuf_add_char(out, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		strbuf_add_char(out, (char)(0xe0 | c >> 12));
		strbuf_add_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		strbuf_add_char(out, (char)(0x80 | (c & 0x3f)));
	} else {
		strbuf_add_char(out, (char)(0xf0 | (c >> 18 & 7)));
		strbuf_add_char(out, (char)(0x80 | (c >> 12 & 0x3f)));
		strbuf_add_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		strbuf_add_char(out, (char)(0x80 | (c & 0x3f)));
	}
}

/* Characters have 1, 2 or 4 bytes. What was cut ends with "…". */
static void put_text(struct strbuf *out, const struct user_stacks_text *text, const uint8_t *bytes, size_t size)
{
	size_t width = text->width, count = width ? size / width : 0;

	for (size_t i = 0; i < text->length && i < count; i++) {
		uint32_t c = 0;
		memcpy(&c, bytes + i * width, width < sizeof(c) ? width : sizeof(c));
		put_character(out, c ? c : '?');
	}
	if (text->length > count)
		strbuf_add_str(out, "…");
}

static size_t find_function(struct book *book, const struct user_stacks_python_code *code)
{
	struct strbuf text = {0}, file = {0};
	bool is_new;

	strbuf_add_str(&text, "py::");
	put_text(&text, &code->name, code->name_text, sizeof(code->name_text));
	strbuf_add_char(&text, ':');
	put_text(&file, &code->file, code->file_text, sizeof(code->file_text));
	strbuf_add(&text, strbuf_str(&file), file.len);
	uint64_t hash = hash_combine(hash_bytes(strbuf_str(&text), text.len), code->first_line);
	uint64_t *at = map64_insert(&book->by_hash, hash, &is_new);
	if (is_new) {
		*at = book->functions.len;
		book->bytes += sizeof(struct function) + sizeof(struct map64_slot) + text.len + file.len;
		vec_push(&book->functions,
			 ((struct function){.name = strbuf_detach(&text), .file = strbuf_detach(&file), .first_line = code->first_line}));
	}
	size_t found = *at;
	strbuf_deinit(&text);
	strbuf_deinit(&file);
	return found;
}

/* ---- lines ---- */

struct reading {
	const uint8_t *at, *end;
};

static uint32_t next_varint(struct reading *reading)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; reading->at < reading->end && shift < 32; shift += 6) {
		uint8_t byte = *reading->at++;
		value |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return value;
}

/* By an entry's first byte: how its line differs from the one before. Leaves the entry. */
static int32_t next_distance(struct reading *reading, unsigned int kind)
{
	enum { SHORT_LAST = 9, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14 };
	uint32_t value;

	if (kind <= SHORT_LAST) {
		reading->at += 1;
		return 0;
	}
	if (kind <= ONE_LINE_LAST) {
		reading->at += 2;
		return (int32_t)kind - SHORT_LAST - 1;
	}
	if (kind > LONG)
		return 0;
	value = next_varint(reading);
	for (int i = 0; kind == LONG && i < 3; i++)
		next_varint(reading);
	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* Entries of a code's table, one after the other (CPython's Objects/locations.md). */
struct line_entry {
	struct reading reading;
	uint32_t running; /* what the next distance counts from */
	uint32_t line;	  /* the entry's */
	uint32_t passed;  /* instructions up to its end */
};

static struct line_entry first_entry(const struct python_code *code)
{
	return (struct line_entry){{code->lines, code->lines + code->size}, code->first_line, code->first_line, 0};
}

static bool next_entry(struct line_entry *entry)
{
	enum { NO_LINE = 15 };

	if (entry->reading.at >= entry->reading.end)
		return false;
	uint8_t first = *entry->reading.at++;
	entry->running += (uint32_t)next_distance(&entry->reading, first >> 3 & 15);
	if ((first >> 3 & 15) != NO_LINE)
		entry->line = entry->running;
	entry->passed += (first & 7) + 1u;
	return true;
}

/* The line of the instruction with which `begun` have begun. */
static uint32_t line_of(const struct python_code *code, uint32_t begun)
{
	struct line_entry entry = first_entry(code);

	while (begun && next_entry(&entry))
		if (begun - 1 < entry.passed)
			break;
	return entry.line;
}

static bool is_full(const struct python_frames *frames, const struct book *book)
{
	return book->bytes >= (frames->taker ? frames->most / 2 : frames->most);
}

/* Has a place for a line, and returns its distance from the function's first one, which has a place always. */
static uint32_t note_line(const struct python_frames *frames, struct book *book, const struct python_code *code, uint32_t line)
{
	struct function *function = &book->functions.data[code->function];
	uint32_t distance = line > function->first_line ? line - function->first_line : 0;
	bool is_new;

	if (distance >= NAMES_IMAGE_STRIDE)
		distance = NAMES_IMAGE_STRIDE - 1;
	uint64_t key = (uint64_t)code->function * NAMES_IMAGE_STRIDE + distance;
	if (is_full(frames, book) && !map64_find(&book->lines, key))
		return 0;
	map64_insert(&book->lines, key, &is_new);
	if (is_new)
		book->bytes += sizeof(struct map64_slot) + sizeof(distance);
	if (is_new && distance)
		vec_push(&function->lines, distance);
	return distance;
}

static void note_all_lines(const struct python_frames *frames, struct book *book, const struct python_code *code)
{
	struct line_entry entry = first_entry(code);

	while (next_entry(&entry))
		note_line(frames, book, code, entry.line);
}

static uint64_t hash_code(const struct python_code *code)
{
	return hash_combine(hash_combine(code->function, code->first_line), hash_bytes(code->lines, code->size));
}

static size_t find_code(struct python_frames *frames, const struct user_stacks_python_code *code, size_t lines)
{
	struct book *book = &frames->now;
	struct python_code found = {.function = find_function(book, code), .first_line = code->first_line, .size = lines};
	bool is_new;

	found.lines = mem_alloc(lines + 1);
	memcpy(found.lines, code->lines, lines);
	uint64_t *at = map64_insert(&book->same, hash_code(&found), &is_new);
	if (!is_new) {
		free(found.lines);
		return *at;
	}
	*at = book->codes.len;
	book->bytes += sizeof(found) + sizeof(struct map64_slot) + lines;
	vec_push(&book->codes, found);
	if (frames->taker)
		note_all_lines(frames, book, &found);
	return book->codes.len - 1;
}

/* ---- files ---- */

static int compare_lines(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void make_image(const struct book *book, size_t first, size_t count, struct strbuf *out, struct buildid *ret_id)
{
	struct names_image_function *list = mem_alloc_array(count, sizeof(*list));

	for (size_t i = 0; i < count; i++) {
		const struct function *function = &book->functions.data[first + i];
		if (function->lines.len)
			qsort(function->lines.data, function->lines.len, sizeof(*function->lines.data), compare_lines);
		list[i] = (struct names_image_function){.name = function->name,
							.file = function->file,
							.first_line = function->first_line,
							.lines = function->lines.data,
							.line_count = function->lines.len};
	}
	names_image_make(list, count, arch_own()->elf_machine, out, ret_id);
	free(list);
}

bool python_frames_make_file(const struct python_frames *frames, struct strbuf *out, struct buildid *ret_id)
{
	const struct book *book = &frames->now;

	if (!book->functions.len)
		return false;
	make_image(book, 0, book->functions.len, out, ret_id);
	return true;
}

/* All functions that there are have a file from now on. */
static void give_names(struct python_frames *frames)
{
	struct book *book = &frames->now;
	size_t first = book->pieces.len ? vec_last(&book->pieces)->first + vec_last(&book->pieces)->count : 0;
	struct piece piece = {.first = first, .count = book->functions.len - first};
	struct strbuf image = {0};

	if (!frames->taker || !piece.count)
		return;
	piece.name = frames->taker->one_name
			     ? mem_strdup(PYTHON_FRAMES_FILE)
			     : mem_printf("/" PYTHON_FRAMES_FILE "/%zu/" PYTHON_FRAMES_FILE, book->first_file + book->pieces.len + 1);
	make_image(book, first, piece.count, &image, &piece.id);
	frames->taker->take(frames->taker->context, piece.name, &piece.id, &image);
	vec_push(&book->pieces, piece);
	book->bytes += sizeof(piece) + image.len;
	strbuf_deinit(&image);
}

/* ---- adding ---- */

/* What is full is the book before from now on. */
static void begin_book(struct python_frames *frames)
{
	struct book *now = &frames->now, *before = &frames->before;

	give_names(frames);
	for (size_t i = 0; i < before->pieces.len && frames->taker->drop; i++)
		frames->taker->drop(frames->taker->context, &before->pieces.data[i].id);
	book_deinit(before);
	*before = *now;
	*now = (struct book){.first_function = (before->first_function + FUNCTIONS_PART) % FUNCTIONS_MOST,
			     .first_file = before->first_file + before->pieces.len};
	frames->books++;
	log_debug("names of Python begin anew: %zu functions took %zu KB", before->functions.len, before->bytes >> 10);
}

void python_frames_add(struct python_frames *frames, const struct user_stacks_python_code *code, size_t lines)
{
	struct book *book = &frames->now;
	bool is_new;

	if (is_full(frames, book) && !frames->taker) {
		map64_remove(&book->by_number, code->number); /* it was another code's */
		frames->left_out++;
		return;
	}
	if (is_full(frames, book))
		begin_book(frames);
	size_t found = find_code(frames, code, lines);
	*map64_insert(&book->by_number, code->number, &is_new) = found;
	if (is_new)
		book->bytes += sizeof(struct map64_slot);
}

/* ---- places ---- */

static uint64_t place_of(const struct book *book, size_t function, uint32_t distance)
{
	return map_begin + NAMES_IMAGE_BEGIN + (book->first_function + function) * NAMES_IMAGE_STRIDE + distance;
}

/* False: nobody has told of the code, or too long ago. */
static bool find_place(struct python_frames *frames, uint32_t number, uint32_t begun, uint64_t *ret)
{
	struct book *book = &frames->now;
	const uint64_t *at = map64_find(&book->by_number, number);

	if (!at) {
		book = &frames->before;
		at = map64_find(&book->by_number, number);
	}
	if (!at)
		return false;
	const struct python_code *code = &book->codes.data[*at];
	*ret = place_of(book, code->function, note_line(frames, book, code, line_of(code, begun)));
	return true;
}

size_t python_frames_place(struct python_frames *frames, const uint64_t *chain, size_t count, uint64_t *out)
{
	size_t placed = 0;

	for (size_t i = 0; i < count; i++)
		if (!user_stacks_is_python(chain[i]))
			out[placed++] = chain[i];
		else if (frames && find_place(frames, (uint32_t)(chain[i] >> 24), chain[i] & 0xffffff, &out[placed]))
			placed++;
	if (frames)
		give_names(frames);
	return placed;
}

bool python_frames_is_place(uint64_t address)
{
	return address - map_begin < map_size;
}

size_t python_frames_file_of(const struct python_frames *frames, uint64_t address)
{
	size_t function = (size_t)((address - map_begin - NAMES_IMAGE_BEGIN) / NAMES_IMAGE_STRIDE);
	const struct book *book = function - frames->now.first_function < frames->now.functions.len ? &frames->now : &frames->before;
	size_t low = 0, high = book->pieces.len;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (book->pieces.data[middle].first <= function - book->first_function)
			low = middle;
		else
			high = middle;
	}
	return book->first_file + low;
}

struct map_description python_frames_map(const struct python_frames *frames, size_t file, uint32_t pid)
{
	const struct book *book = file >= frames->now.first_file ? &frames->now : &frames->before;
	struct map_description map = {.pid = pid,
				      .tid = pid,
				      .start = map_begin,
				      .end = map_begin + map_size,
				      .prot = PROT_READ | PROT_EXEC,
				      .flags = MAP_PRIVATE};

	map.name = PYTHON_FRAMES_FILE;
	if (book->pieces.len) {
		const struct piece *piece = &book->pieces.data[file - book->first_file];
		map.start = place_of(book, piece->first, 0);
		map.end = map.start + piece->count * NAMES_IMAGE_STRIDE;
		map.pgoff = NAMES_IMAGE_BEGIN;
		map.name = piece->name;
		map.build_id = piece->id;
	}
	return map;
}
