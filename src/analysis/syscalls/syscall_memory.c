/* Memory behind the arguments of system calls: strings, buffers, lists, and arrays of structures. */
#include "analysis/syscalls/syscall_internal.h"

#include "base/text.h"

/* ---- strings ---- */

/* The length of the UTF-8 character that begins here, 0 when there is none. */
static size_t utf8_length(const uint8_t *data, size_t size)
{
	size_t length = *data >= 0xf0 ? 4 : *data >= 0xe0 ? 3 : 2;

	return *data >= 0xc2 && length <= size && text_is_safe((const char *)data, length) ? length : 0;
}

static void print_escape(struct strbuf *out, uint8_t byte, bool digit_follows)
{
	static const char letters[] = "\aa\bb\tt\nn\vv\ff\rr";
	const char *letter = byte >= '\a' && byte <= '\r' ? strchr(letters, byte) : NULL;

	strbuf_add_char(out, '\\');
	if (byte == '"' || byte == '\\')
		strbuf_add_char(out, (char)byte);
	else if (letter && byte != '\a' && byte != '\b')
		strbuf_add_char(out, letter[1]);
	else if (digit_follows || byte >= 0100)
		strbuf_printf(out, "%03o", byte);
	else
		strbuf_printf(out, "%o", byte);
}

/* As C writes it: octal escapes are as short as what follows allows. */
static void print_escaped(struct strbuf *out, const uint8_t *data, size_t size, bool utf8)
{
	for (size_t i = 0; i < size;) {
		size_t begin = i, length = 0;
		while (i < size && data[i] >= ' ' && data[i] < 0x7f && data[i] != '"' && data[i] != '\\')
			i++;
		strbuf_add(out, data + begin, i - begin);
		if (i == size)
			break;
		if (utf8 && data[i] >= 0x80)
			length = utf8_length(data + i, size - i);
		if (length)
			strbuf_add(out, data + i, length);
		else
			print_escape(out, data[i], i + 1 < size && data[i + 1] >= '0' && data[i + 1] <= '7');
		i += length ? length : 1;
	}
}

void syscall_print_string(struct strbuf *out, const uint8_t *data, size_t size, bool more, uint32_t limit)
{
	size_t length = strnlen((const char *)data, size);

	if (length > limit) {
		length = limit;
		more = true;
	}
	strbuf_add_char(out, '"');
	print_escaped(out, data, length, true);
	strbuf_add_char(out, '"');
	if (more)
		strbuf_add(out, "...", 3);
}

void syscall_print_bytes(struct strbuf *out, const uint8_t *data, size_t size, uint64_t wanted, uint32_t limit, bool hex)
{
	if (size > limit)
		size = limit;
	strbuf_add_char(out, '"');
	for (size_t i = 0; hex && i < size; i++)
		strbuf_printf(out, "\\x%02x", data[i]);
	if (!hex)
		print_escaped(out, data, size, false);
	strbuf_add_char(out, '"');
	if (size < wanted)
		strbuf_add(out, "...", 3);
}

/* ---- arrays ---- */

/* Of what the call changes, the state before it. */
static const struct syscall_memory *find_memory(const struct syscall_text *text, unsigned int argument)
{
	const struct syscall_memory *exit = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_EXIT);
	const struct syscall_memory *entry = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_ENTRY);

	bool changed = text->call->description->arguments[argument].direction == SYSCALL_CHANGED;

	return entry && (changed || !exit) ? entry : exit;
}

static void print_one(struct syscall_text *text, const struct syscall_type *type, const uint8_t *data)
{
	const struct syscall_style *style = text->style;

	if (!style->structure || !type->structure ||
	    !style->structure(style->structure_context, type->structure, data, type->size, text->out))
		type->print_element(text, data);
}

static void print_elements(struct syscall_text *text, const struct syscall_memory *memory, const struct syscall_type *type, bool array)
{
	enum { MOST_ELEMENTS = 32 };
	size_t count = memory->size / type->size, wanted = memory->wanted / type->size;

	if (array || type->bracketed)
		strbuf_add_char(text->out, '[');
	for (size_t i = 0; i < count && i < MOST_ELEMENTS; i++) {
		if (i)
			strbuf_add(text->out, ", ", 2);
		print_one(text, type, memory->data + i * type->size);
	}
	if (array && (count > MOST_ELEMENTS || count < wanted))
		strbuf_add_str(text->out, ", ...");
	if (array || type->bracketed)
		strbuf_add_char(text->out, ']');
}

void syscall_print_pointed(struct syscall_text *text, unsigned int argument, const struct syscall_type *type)
{
	const struct syscall *call = text->call;
	const struct syscall_argument_description *description = &call->description->arguments[argument];
	const struct syscall_memory *memory = find_memory(text, argument);
	bool array = description->length_kind != SYSCALL_LENGTH_ONE;

	if (!memory || !call->arguments[argument] || (call->compat && !type->same_in_compat) || (!array && memory->size < type->size))
		syscall_print_address(text, call->arguments[argument]);
	else if (type->print_memory)
		type->print_memory(text, memory);
	else
		print_elements(text, memory, type, array);
}

/* ---- the types ---- */

static bool print_string_value(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct syscall_memory *memory = find_memory(text, argument);
	bool whole = text->call->description->arguments[argument].type->form == SYSCALL_FORM_PATH;

	if (!memory || !memory->size) {
		syscall_print_address(text, value);
		return true;
	}
	if (whole)
		syscall_begin_color(text, SYSCALL_COLOR_PATH);
	syscall_print_string(text->out, memory->data, memory->size, memory->wanted, whole ? UINT32_MAX : text->style->string_limit);
	if (whole)
		syscall_end_color(text);
	return true;
}

const struct syscall_type syscall_type_path = {.print_value = print_string_value, .form = SYSCALL_FORM_PATH, .same_in_compat = true};
const struct syscall_type syscall_type_string = {.print_value = print_string_value, .form = SYSCALL_FORM_STRING, .same_in_compat = true};

static void print_buffer(struct syscall_text *text, const struct syscall_memory *memory)
{
	syscall_print_bytes(text->out, memory->data, memory->size, memory->wanted, text->style->string_limit, false);
}

static void print_random(struct syscall_text *text, const struct syscall_memory *memory)
{
	syscall_print_bytes(text->out, memory->data, memory->size, memory->wanted, text->style->string_limit, true);
}

const struct syscall_type syscall_type_bytes = {
	.print_memory = print_buffer, .form = SYSCALL_FORM_BYTES, .size = 1, .same_in_compat = true};
const struct syscall_type syscall_type_random = {
	.print_memory = print_random, .form = SYSCALL_FORM_BYTES, .size = 1, .same_in_compat = true};

/* argv: one piece for each string, of which one that could not be read brings its address; and one that says how it ended. */
static bool print_strings(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct syscall *call = text->call;
	size_t found = 0;
	bool ended = false;

	for (size_t i = 0; i < call->memory_count; i++) {
		const struct syscall_memory *memory = &call->memory[i];
		if (memory->argument != argument)
			continue;
		if (memory->kind == SYSCALL_MEMORY_STRING) {
			strbuf_add_str(text->out, found++ ? ", " : "[");
			syscall_print_string(text->out, memory->data, memory->size, memory->wanted, text->style->string_limit);
		} else if (memory->kind == SYSCALL_MEMORY_FAULT && memory->size >= sizeof(uint64_t)) {
			strbuf_add_str(text->out, found++ ? ", " : "[");
			syscall_print_address(text, get_u64(memory->data));
		} else if (memory->kind == SYSCALL_MEMORY_COUNT) {
			ended = true;
		}
	}
	if (found || ended)
		strbuf_add_str(text->out, !found ? "[]" : ended ? "]" : ", ...]");
	else
		syscall_print_address(text, value);
	return true;
}

static bool print_pointers(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct syscall_memory *count = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_COUNT);

	syscall_print_address(text, value);
	if (count)
		strbuf_printf(text->out, " /* %u var%s */", count->wanted, count->wanted == 1 ? "" : "s");
	return true;
}

const struct syscall_type syscall_type_strings = {.print_value = print_strings, .form = SYSCALL_FORM_STRINGS, .same_in_compat = true};
const struct syscall_type syscall_type_pointers = {.print_value = print_pointers, .form = SYSCALL_FORM_POINTERS, .same_in_compat = true};

/* Numbers of the bits that are set: [0 3 5]. */
static void print_bits(struct syscall_text *text, const struct syscall_memory *memory)
{
	bool first = true;

	strbuf_add_char(text->out, '[');
	for (size_t i = 0; i < (size_t)memory->size * 8; i++)
		if (memory->data[i / 8] >> i % 8 & 1) {
			if (!first)
				strbuf_add_char(text->out, ' ');
			strbuf_add_u64(text->out, i, 0);
			first = false;
		}
	strbuf_add_char(text->out, ']');
}

const struct syscall_type syscall_type_cpu_set = {
	.print_memory = print_bits, .form = SYSCALL_FORM_SOCKET, .size = 1, .same_in_compat = true};
const struct syscall_type syscall_type_fdset = {.print_memory = print_bits, .form = SYSCALL_FORM_BITS, .size = 1, .same_in_compat = true};

/* Directory entries are only counted. */
static bool print_dirents(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	const struct syscall_memory *count = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_COUNT);

	syscall_print_address(text, value);
	if (count)
		strbuf_printf(text->out, " /* %u entr%s */", count->wanted, count->wanted == 1 ? "y" : "ies");
	return true;
}

const struct syscall_type syscall_type_dirents = {.print_value = print_dirents, .form = SYSCALL_FORM_DIRENTS};
const struct syscall_type syscall_type_dirents64 = {.print_value = print_dirents, .form = SYSCALL_FORM_DIRENTS};

static void print_u32(struct syscall_text *text, const uint8_t *data)
{
	strbuf_add_u64(text->out, get_u32(data), 0);
}

static void print_s32(struct syscall_text *text, const uint8_t *data)
{
	put_decimal(text->out, (int32_t)get_u32(data));
}

static void print_s64(struct syscall_text *text, const uint8_t *data)
{
	put_decimal(text->out, (int64_t)get_u64(data));
}

static void print_hex64(struct syscall_text *text, const uint8_t *data)
{
	syscall_print_address(text, get_u64(data));
}

static void print_pair(struct syscall_text *text, const uint8_t *data)
{
	print_s32(text, data);
	strbuf_add(text->out, ", ", 2);
	print_s32(text, data + 4);
}

#define FIXED .form = SYSCALL_FORM_FIXED
const struct syscall_type syscall_type_uids = {.print_element = print_u32, FIXED, .size = 4, .same_in_compat = true};
const struct syscall_type syscall_type_uid_pointer = {
	.print_element = print_u32, FIXED, .size = 4, .same_in_compat = true, .bracketed = true};
const struct syscall_type syscall_type_int_pointer = {
	.print_element = print_s32, FIXED, .size = 4, .same_in_compat = true, .bracketed = true};
const struct syscall_type syscall_type_fdpair = {.print_element = print_pair, FIXED, .size = 8, .same_in_compat = true, .bracketed = true};
const struct syscall_type syscall_type_time_pointer = {.print_element = print_s64, FIXED, .size = 8, .bracketed = true};
const struct syscall_type syscall_type_pointer = {.print_element = print_hex64, FIXED, .size = 8, .bracketed = true};

/* A number that the call reads and changes: [128 => 16] of lengths, [0] => [100] of offsets, as strace has it. */
static bool print_changed(struct syscall_text *text, unsigned int argument, uint64_t value, size_t size, const char *arrow)
{
	const struct syscall_memory *entry = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_ENTRY);
	const struct syscall_memory *exit = syscall_memory_of(text->call, argument, SYSCALL_MEMORY_EXIT);
	int64_t before = 0, after = 0;

	if (entry && entry->size >= size)
		memcpy(&before, entry->data, size);
	if (exit && exit->size >= size)
		memcpy(&after, exit->data, size);
	if ((!entry || entry->size < size) && (!exit || exit->size < size)) {
		syscall_print_address(text, value);
		return true;
	}
	strbuf_add_char(text->out, '[');
	put_decimal(text->out, entry && entry->size >= size ? before : after);
	if (entry && exit && exit->size >= size && before != after && !syscall_failed(text->call->result)) {
		strbuf_add_str(text->out, arrow);
		put_decimal(text->out, after);
	}
	strbuf_add_char(text->out, ']');
	return true;
}

static bool print_length(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	return print_changed(text, argument, value, 4, " => ");
}

static bool print_offset(struct syscall_text *text, unsigned int argument, uint64_t value)
{
	return print_changed(text, argument, value, 8, "] => [");
}

const struct syscall_type syscall_type_length = {.print_value = print_length, FIXED, .size = 4, .same_in_compat = true};
const struct syscall_type syscall_type_off_pointer = {.print_value = print_offset, FIXED, .size = 8, .same_in_compat = true};
