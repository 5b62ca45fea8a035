/* The bytes of what a recording carries: one description for both ways, so that what is written is what is read.
 *
 *	"carried" 1            the format, and its version
 *	count, texts           each with a NUL behind it
 *	files, sources         structures and lists as carry_*() below have them
 *
 * Numbers are LEB128, so that neither byte order nor their size matters; those that grow from one to the next are distances. A text is its
 * number in the list of texts, counted from 1; 0 is none. Hostile bytes: a list can't have more entries than there are bytes left for them,
 * all lists together take little more than MEMORY_FACTOR times their bytes in memory, and what one entry says about others (numbers of
 * texts, answers) is checked where it is read. */
#include "base/cursor.h"
#include "base/formats/leb128.h"
#include "base/formats/protobuf.h"
#include "base/mem.h"
#include "symbol/carried/carried_internal.h"
#include "symbol/resolve.h"

#include <stdlib.h>
#include <string.h>

static const char MAGIC[] = "carried";
enum { VERSION = 1 };
/* Entries without any text or code, which no recorder writes, would be more. */
enum { MEMORY_FACTOR = 8, MEMORY_ALWAYS = 1 << 20 };

/* Reads when `out` is NULL. */
struct codec {
	struct cursor in;
	struct strbuf *out;
	struct arena *arena;
	uint64_t room;	      /* memory that further entries may take */
	uint64_t unwind_room; /* bytes that further sections may have */
	VEC(const char *) texts;
	struct map64 text_index; /* writing: hash → number */
};

/* ---- numbers and texts ---- */

static uint64_t carry(struct codec *codec, uint64_t value)
{
	if (!codec->out)
		return leb128_unsigned(&codec->in);
	protobuf_varint(codec->out, value);
	return value;
}

/* A member of any unsigned type. */
#define CARRY(codec, member) ((member) = (__typeof__(member))carry(codec, member))

/* A number that isn't less than `*last`. */
static uint64_t carry_from(struct codec *codec, uint64_t value, uint64_t *last)
{
	*last = *last + carry(codec, value - *last);
	return *last;
}

/* The text's number. */
static uint64_t number_text(struct codec *codec, const char *text)
{
	for (uint64_t key = hash_bytes(text, strlen(text));; key++) {
		uint64_t *number = map64_insert(&codec->text_index, key, NULL);
		if (!*number) {
			vec_push(&codec->texts, text);
			*number = codec->texts.len;
		}
		if (!strcmp(codec->texts.data[*number - 1], text))
			return *number;
	}
}

static const char *carry_text(struct codec *codec, const char *text)
{
	uint64_t number = carry(codec, codec->out && text ? number_text(codec, text) : 0);
	if (codec->out)
		return text;
	codec->in.failed |= number > codec->texts.len;
	return number && !codec->in.failed ? codec->texts.data[number - 1] : NULL;
}

/* One that there must be. */
static const char *carry_name(struct codec *codec, const char *text)
{
	text = carry_text(codec, text);
	return text ? text : "";
}

static const void *carry_bytes(struct codec *codec, const void *bytes, size_t *size)
{
	CARRY(codec, *size);
	if (codec->out) {
		strbuf_add(codec->out, bytes, *size);
		return bytes;
	}
	const void *from = cursor_bytes(&codec->in, *size);
	*size = from ? *size : 0;
	return from;
}

/* A list of `*count` entries, each of at least `least` bytes: where they are. */
static void *carry_list(struct codec *codec, void *entries, size_t *count, size_t entry_size, size_t least)
{
	CARRY(codec, *count);
	if (codec->out)
		return entries;
	codec->in.failed |= *count > cursor_left(&codec->in) / least || *count * entry_size > codec->room;
	if (codec->in.failed)
		*count = 0;
	codec->room -= *count * entry_size;
	return arena_zalloc(codec->arena, *count * entry_size);
}
#define CARRY_LIST(codec, list, count, least) ((list) = carry_list(codec, list, &(count), sizeof(*(list)), least))

/* ---- structures ---- */

static void carry_build_id(struct codec *codec, struct buildid *id)
{
	size_t size = id->size;
	const void *bytes = carry_bytes(codec, id->data, &size);
	codec->in.failed |= size > sizeof(id->data);
	if (codec->out || codec->in.failed)
		return;
	id->size = (uint8_t)size;
	memcpy(id->data, bytes ? bytes : "", size);
}

enum { FLAG_MANGLED = 1, FLAG_IFUNC = 2 };

static void carry_symbols(struct codec *codec, struct carried_file *file)
{
	uint64_t last = 0;
	CARRY_LIST(codec, file->symbols, file->symbol_count, 6);
	for (size_t i = 0; i < file->symbol_count; i++) {
		struct carried_symbol *symbol = &file->symbols[i];
		unsigned int flags = (symbol->mangled ? FLAG_MANGLED : 0u) | (symbol->ifunc_alias ? FLAG_IFUNC : 0u);
		symbol->start = carry_from(codec, symbol->start, &last);
		CARRY(codec, symbol->size);
		symbol->name = carry_name(codec, symbol->name);
		CARRY(codec, symbol->binding);
		CARRY(codec, symbol->type);
		CARRY(codec, flags);
		symbol->mangled = flags & FLAG_MANGLED;
		symbol->ifunc_alias = flags & FLAG_IFUNC;
	}
}

static void carry_segments(struct codec *codec, struct carried_file *file)
{
	CARRY_LIST(codec, file->segments, file->segment_count, 3);
	codec->in.failed |= file->segment_count > CARRIED_PARTS_MAX;
	for (size_t i = 0; i < file->segment_count; i++) {
		CARRY(codec, file->segments[i].dso_addr);
		CARRY(codec, file->segments[i].size);
		CARRY(codec, file->segments[i].vaddr);
	}
}

static void carry_section(struct codec *codec, struct carried_section *section, uint64_t *room)
{
	uint64_t last = 0;
	section->name = carry_name(codec, section->name);
	CARRY(codec, section->vaddr);
	CARRY(codec, section->size);
	codec->in.failed |= section->size > *room;
	*room -= codec->in.failed ? 0 : section->size;
	CARRY_LIST(codec, section->pieces, section->piece_count, 2);
	for (size_t i = 0; i < section->piece_count; i++) {
		struct carried_piece *piece = &section->pieces[i];
		piece->offset = carry_from(codec, piece->offset, &last);
		piece->bytes = carry_bytes(codec, piece->bytes, &piece->size);
		codec->in.failed |= piece->offset > section->size || piece->size > section->size - piece->offset;
	}
}

static void carry_unwind(struct codec *codec, struct carried_unwind *unwind)
{
	uint64_t most = codec->unwind_room < CARRIED_UNWIND_MAX ? codec->unwind_room : CARRIED_UNWIND_MAX, room = most;
	CARRY(codec, unwind->is_64bit);
	CARRY(codec, unwind->big_endian);
	CARRY(codec, unwind->machine);
	CARRY(codec, unwind->entry);
	CARRY_LIST(codec, unwind->loads, unwind->load_count, 4);
	codec->in.failed |= unwind->load_count > CARRIED_PARTS_MAX;
	for (size_t i = 0; i < unwind->load_count; i++) {
		CARRY(codec, unwind->loads[i].offset);
		CARRY(codec, unwind->loads[i].vaddr);
		CARRY(codec, unwind->loads[i].size);
		CARRY(codec, unwind->loads[i].flags);
	}
	CARRY_LIST(codec, unwind->sections, unwind->section_count, 4);
	codec->in.failed |= unwind->section_count > CARRIED_PARTS_MAX;
	for (size_t i = 0; i < unwind->section_count; i++)
		carry_section(codec, &unwind->sections[i], &room);
	codec->unwind_room -= most - room;
}

static void carry_answers(struct codec *codec, struct carried_file *file)
{
	CARRY_LIST(codec, file->answers, file->answer_count, 4);
	for (size_t i = 0; i < file->answer_count; i++) {
		struct carried_answer *answer = &file->answers[i];
		CARRY_LIST(codec, answer->functions, answer->count, 3);
		codec->in.failed |= !answer->count || answer->count > CARRIED_FUNCTIONS_MAX;
		for (size_t k = 0; k < answer->count; k++) {
			answer->functions[k].name = carry_text(codec, answer->functions[k].name);
			answer->functions[k].file = carry_text(codec, answer->functions[k].file);
			CARRY(codec, answer->functions[k].line);
		}
	}
}

static void carry_places(struct codec *codec, struct carried_file *file)
{
	uint64_t last = 0;
	CARRY_LIST(codec, file->places, file->place_count, 2);
	for (size_t i = 0; i < file->place_count; i++) {
		file->places[i].vaddr = carry_from(codec, file->places[i].vaddr, &last);
		CARRY(codec, file->places[i].answer);
		codec->in.failed |= file->places[i].answer > file->answer_count;
	}
}

enum { FLAG_RELOCATION = 1, FLAG_SLOT = 2 };

static void carry_names(struct codec *codec, struct carried_code *code)
{
	CARRY_LIST(codec, code->names, code->name_count, 4);
	for (size_t i = 0; i < code->name_count; i++) {
		struct carried_name *name = &code->names[i];
		unsigned int flags = (name->relocation ? FLAG_RELOCATION : 0u) | (name->slot ? FLAG_SLOT : 0u);
		CARRY(codec, name->address);
		CARRY(codec, flags);
		CARRY(codec, name->offset);
		name->name = carry_name(codec, name->name);
		name->relocation = flags & FLAG_RELOCATION;
		name->slot = flags & FLAG_SLOT;
	}
}

static void carry_codes(struct codec *codec, struct carried_file *file)
{
	uint64_t last = 0;
	CARRY_LIST(codec, file->codes, file->code_count, 6);
	for (size_t i = 0; i < file->code_count; i++) {
		struct carried_code *code = &file->codes[i];
		code->dso_addr = carry_from(codec, code->dso_addr, &last);
		CARRY(codec, code->address);
		code->section = carry_text(codec, code->section);
		CARRY(codec, code->section_index);
		code->bytes = carry_bytes(codec, code->bytes, &code->size);
		carry_names(codec, code);
	}
}

static void carry_file(struct codec *codec, struct carried_file *file)
{
	file->name = carry_name(codec, file->name);
	CARRY(codec, file->kind);
	CARRY(codec, file->major);
	CARRY(codec, file->minor);
	CARRY(codec, file->inode);
	CARRY(codec, file->inode_generation);
	carry_build_id(codec, &file->build_id);
	CARRY(codec, file->source);
	codec->in.failed |= file->source > SYMBOLS_NO_JIT_MAP;
	file->path = carry_text(codec, file->path);
	CARRY(codec, file->of_count);
	CARRY(codec, file->has_functions);
	file->code_path = carry_text(codec, file->code_path);
	file->code_arch = carry_text(codec, file->code_arch);
	carry_symbols(codec, file);
	carry_segments(codec, file);
	carry_unwind(codec, &file->unwind);
	carry_answers(codec, file);
	carry_places(codec, file);
	carry_codes(codec, file);
}

static void carry_source(struct codec *codec, struct carried_source *source)
{
	uint64_t last = 0;
	source->path = carry_name(codec, source->path);
	CARRY_LIST(codec, source->lines, source->line_count, 2);
	for (size_t i = 0; i < source->line_count; i++) {
		source->lines[i].number = (uint32_t)carry_from(codec, source->lines[i].number, &last);
		source->lines[i].text = carry_name(codec, source->lines[i].text);
	}
}

static void carry_all(struct codec *codec, struct carried *carried)
{
	enum { LEAST_FILE = 24, LEAST_SOURCE = 2 };
	codec->unwind_room = CARRIED_UNWIND_ALL;
	CARRY_LIST(codec, carried->files, carried->file_count, LEAST_FILE);
	for (size_t i = 0; i < carried->file_count && !codec->in.failed; i++)
		carry_file(codec, &carried->files[i]);
	CARRY_LIST(codec, carried->sources, carried->source_count, LEAST_SOURCE);
	for (size_t i = 0; i < carried->source_count && !codec->in.failed; i++)
		carry_source(codec, &carried->sources[i]);
}

/* ---- both ways ---- */

static void codec_deinit(struct codec *codec)
{
	vec_deinit(&codec->texts);
	map64_deinit(&codec->text_index);
}

void carried_encode(struct carried *carried, struct strbuf *out)
{
	struct strbuf body = {0};
	struct codec codec = {.out = &body};
	carry_all(&codec, carried);
	strbuf_add(out, MAGIC, sizeof(MAGIC));
	protobuf_varint(out, VERSION);
	protobuf_varint(out, codec.texts.len);
	for (size_t i = 0; i < codec.texts.len; i++)
		strbuf_add(out, codec.texts.data[i], strlen(codec.texts.data[i]) + 1);
	strbuf_add(out, strbuf_str(&body), body.len);
	strbuf_deinit(&body);
	codec_deinit(&codec);
}

static void read_texts(struct codec *codec)
{
	uint64_t count = leb128_unsigned(&codec->in);
	/* All differ, so that no other than the empty one has less than two bytes. */
	codec->in.failed |= count > cursor_left(&codec->in) / 2 + 1;
	if (!codec->in.failed)
		vec_reserve(&codec->texts, count);
	for (uint64_t i = 0; i < count && !codec->in.failed; i++) {
		const char *text = cursor_string(&codec->in);
		if (text)
			vec_push(&codec->texts, text);
	}
}

struct carried *carried_decode(const void *data, size_t size)
{
	struct carried *carried = mem_zalloc(sizeof(*carried));
	struct codec codec = {
		.in = cursor_init(data, size, false), .arena = &carried->arena, .room = MEMORY_ALWAYS + MEMORY_FACTOR * (uint64_t)size};
	const void *magic = cursor_bytes(&codec.in, sizeof(MAGIC));
	bool known = magic && !memcmp(magic, MAGIC, sizeof(MAGIC)) && leb128_unsigned(&codec.in) == VERSION;
	if (known) {
		read_texts(&codec);
		carry_all(&codec, carried);
	}
	bool good = known && !codec.in.failed && !cursor_left(&codec.in);
	codec_deinit(&codec);
	if (!good) {
		carried_destroy(carried);
		return NULL;
	}
	carried_index(carried);
	return carried;
}
