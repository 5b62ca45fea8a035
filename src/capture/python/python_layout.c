/* Where frames of Python, their codes and names are in an interpreter's memory. Until CPython 3.12 its version says so; since then it tells
 * itself, by struct _Py_DebugOffsets: words, of which each version has more.
 *
 *	_PyRuntime, in the file    "xdebugpy" · version · whether it is free-threaded · words, most of them offsets of members
 *
 * In free-threaded builds (those that share no lock) each object's head is 16 bytes longer, and since 3.14 each thread may run a copy of
 * a code's instructions of its own. What matters and isn't told follows from these. */
#include "capture/python/python_layout.h"

#include "unwind/tables.h"

#include <elf.h>
#include <string.h>

/* The word of the file that is at a virtual address. */
static bool read_word(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret)
{
	const struct elf_segment *segment = elf_segment_of(elf, vaddr);
	uint64_t offset = segment ? vaddr - segment->vaddr + segment->offset : 0;

	if (!segment || elf->swap || offset > elf->size || elf->size - offset < sizeof(*ret))
		return false;
	memcpy(ret, elf->data + offset, sizeof(*ret));
	return true;
}

/* Where members are, by the headers of CPython (Include/internal/pycore_frame.h, pycore_runtime.h, pycore_interp.h, Include/cpython/code.h,
 * pystate.h, unicodeobject.h): 64-bit builds without Py_DEBUG and Py_TRACE_REFS. In 3.11 the last frame of a C function has is_entry, in
 * 3.12 there is one more behind it, which lies in the C function itself: FRAME_OWNED_BY_CSTACK. */
static bool describe_by_version(uint64_t version, struct user_stacks_python *ret)
{
	static const struct user_stacks_python versions[] = {
		{.interpreter = 48,
		 .threads = 16,
		 .next_thread = 8,
		 .thread_cframe = 56,
		 .cframe_current = 8,
		 .code = 32,
		 .previous = 48,
		 .instruction = 56,
		 .end = 68,
		 .end_mask = 0xff,
		 .end_value = 1,
		 .end_counts = 1,
		 .code_instructions = 184,
		 .code_line = 72,
		 .code_file = 112,
		 .code_name = 128,
		 .code_lines = 136,
		 .text = 48,
		 .wide_text = 72,
		 .kind_shift = 2},
		{.interpreter = 48,
		 .threads = 72,
		 .next_thread = 8,
		 .thread_cframe = 56,
		 .cframe_current = 0,
		 .code = 0,
		 .previous = 8,
		 .instruction = 56,
		 .end = 70,
		 .end_mask = 0xff,
		 .end_value = 3,
		 .end_counts = 0,
		 .code_instructions = 192,
		 .code_line = 68,
		 .code_file = 112,
		 .code_name = 128,
		 .code_lines = 136,
		 .text = 40,
		 .wide_text = 56,
		 .kind_shift = 2},
	};
	uint64_t number = (version >> 16) - 0x30b;

	if (number >= sizeof(versions) / sizeof(versions[0]))
		return false;
	*ret = versions[number];
	return true;
}

/* What is wanted of struct _Py_DebugOffsets. */
enum told {
	TOLD_INTERPRETERS_HEAD,
	TOLD_INTERPRETER_NEXT,
	TOLD_THREADS_HEAD,
	TOLD_THREAD_NEXT,
	TOLD_THREAD_FRAME,
	TOLD_THREAD_NUMBER,
	TOLD_FRAME_PREVIOUS,
	TOLD_FRAME_EXECUTABLE,
	TOLD_FRAME_INSTRUCTION,
	TOLD_FRAME_OWNER,
	TOLD_FRAME_COPY,
	TOLD_CODE_FILE,
	TOLD_CODE_NAME, /* the qualified one */
	TOLD_CODE_LINES,
	TOLD_CODE_LINE,
	TOLD_CODE_INSTRUCTIONS,
	TOLD_CODE_COPIES,
	TOLD_OBJECT_TYPE,
	TOLD_BYTES_TEXT,
	TOLD_STRING_STATE,
	TOLD_STRING_LENGTH,
	TOLD_STRING_SIZE,
	TOLD_COUNT
};

/* Which words these are: 3.13's Include/internal/pycore_runtime.h, and pycore_debug_offsets.h of later ones. 0: it has none. */
struct told_words {
	uint16_t version; /* its first two bytes */
	uint8_t words[TOLD_COUNT];
};
static const struct told_words told_words[] = {
	{0x30d, {5, 8, 9, 21, 23, 25, 29, 30, 31, 33, 0, 35, 37, 38, 39, 43, 0, 45, 66, 68, 69, 70}},
	{0x30e, {5, 8, 9, 24, 26, 28, 32, 33, 34, 36, 38, 40, 42, 43, 44, 48, 49, 51, 76, 78, 79, 80}},
	{0x30f, {5, 8, 9, 24, 26, 31, 40, 41, 42, 44, 46, 48, 50, 51, 52, 56, 57, 59, 88, 90, 91, 92}},
};

/* Which of them lead to a member of what has so many bytes. */
struct described_offset {
	enum told number;
	uint16_t most; /* bytes that are read there, or what a member's type can say */
	size_t member; /* of struct user_stacks_python, an uint16_t */
};

#define DESCRIBED(NUMBER, MOST, MEMBER)                                          \
	{                                                                        \
		TOLD_##NUMBER, MOST, offsetof(struct user_stacks_python, MEMBER) \
	}
static const struct described_offset described[] = {
	DESCRIBED(INTERPRETERS_HEAD, UINT16_MAX, interpreter),
	DESCRIBED(INTERPRETER_NEXT, UINT16_MAX, next_interpreter),
	DESCRIBED(THREADS_HEAD, UINT16_MAX, threads),
	DESCRIBED(THREAD_NEXT, UINT16_MAX, next_thread),
	DESCRIBED(THREAD_FRAME, UINT16_MAX, thread_frame),
	DESCRIBED(THREAD_NUMBER, UINT16_MAX, thread_number),
	DESCRIBED(FRAME_PREVIOUS, USER_STACKS_PYTHON_FRAME - sizeof(uint64_t), previous),
	DESCRIBED(FRAME_EXECUTABLE, USER_STACKS_PYTHON_FRAME - sizeof(uint64_t), code),
	DESCRIBED(FRAME_INSTRUCTION, USER_STACKS_PYTHON_FRAME - sizeof(uint64_t), instruction),
	DESCRIBED(FRAME_OWNER, USER_STACKS_PYTHON_FRAME - 1, end),
	DESCRIBED(FRAME_COPY, USER_STACKS_PYTHON_FRAME - sizeof(uint64_t), frame_copy),
	DESCRIBED(CODE_FILE, USER_STACKS_PYTHON_CODE - sizeof(uint64_t), code_file),
	DESCRIBED(CODE_NAME, USER_STACKS_PYTHON_CODE - sizeof(uint64_t), code_name),
	DESCRIBED(CODE_LINES, USER_STACKS_PYTHON_CODE - sizeof(uint64_t), code_lines),
	DESCRIBED(CODE_LINE, USER_STACKS_PYTHON_CODE - sizeof(uint64_t), code_line),
	DESCRIBED(CODE_INSTRUCTIONS, UINT16_MAX, code_instructions),
	DESCRIBED(CODE_COPIES, UINT16_MAX, code_copies),
	DESCRIBED(STRING_SIZE, UINT16_MAX, text),
};

/* Where the words of that version are; NULL: it isn't known. */
static const struct told_words *find_words(uint64_t version)
{
	for (size_t i = 0; i < sizeof(told_words) / sizeof(told_words[0]); i++)
		if (told_words[i].version == version >> 16)
			return &told_words[i];
	return NULL;
}

/* The head of each kind of object is as long as its type's place says, and what follows is where it always is. */
static bool has_known_objects(const uint64_t *told, uint64_t head)
{
	enum { TYPE = 8, BYTES = 32, STATE = 32, LENGTH = 16, LONGER_HEAD = 16 };

	return (head == 0 || head == LONGER_HEAD) && told[TOLD_OBJECT_TYPE] == TYPE + head && told[TOLD_BYTES_TEXT] == BYTES + head &&
	       told[TOLD_STRING_STATE] == STATE + head && told[TOLD_STRING_LENGTH] == LENGTH + head;
}

static bool read_told(const struct elf_file *elf, uint64_t runtime, uint64_t version, uint64_t *told, bool *free_threaded)
{
	enum { COOKIE, VERSION, FREE_THREADED, HEAD };
	const struct told_words *words = find_words(version);
	uint64_t head[HEAD];

	for (size_t i = 0; i < HEAD; i++)
		if (!read_word(elf, runtime + i * sizeof(head[0]), &head[i]))
			return false;
	if (!words || memcmp(&head[COOKIE], "xdebugpy", sizeof(head[0])) != 0 || head[VERSION] != version)
		return false;
	*free_threaded = head[FREE_THREADED];
	for (size_t i = 0; i < TOLD_COUNT; i++) {
		told[i] = 0;
		if (words->words[i] && !read_word(elf, runtime + words->words[i] * sizeof(told[0]), &told[i]))
			return false;
	}
	return true;
}

/* By the offsets that the file itself tells. */
static bool describe_by_offsets(const struct elf_file *elf, uint64_t runtime, uint64_t version, struct user_stacks_python *ret)
{
	enum { OWNED_BY_C = 3, COMPACT = 16, BITS_OF_INTERNED = 2, BYTE_OF_INTERNED = 8, WITH_A_BYTE_SINCE = 0x30e };
	uint64_t told[TOLD_COUNT];
	bool free_threaded;

	if (!read_told(elf, runtime, version, told, &free_threaded))
		return false;
	*ret = (struct user_stacks_python){.end_mask = 0xff, .end_value = OWNED_BY_C, .head = free_threaded ? 16 : 0};
	if (!has_known_objects(told, ret->head))
		return false;
	for (size_t i = 0; i < sizeof(described) / sizeof(described[0]); i++) {
		uint64_t offset = told[described[i].number];
		uint16_t member = (uint16_t)offset;
		if (offset > described[i].most)
			return false;
		memcpy((char *)ret + described[i].member, &member, sizeof(member));
	}
	ret->wide_text = (uint16_t)(ret->text + COMPACT);
	ret->kind_shift = free_threaded && version >> 16 >= WITH_A_BYTE_SINCE ? BYTE_OF_INTERNED : BITS_OF_INTERNED;
	return ret->thread_number != 0;
}

static bool describe_version(const struct elf_file *elf, uint64_t runtime, uint64_t version, struct user_stacks_python *ret)
{
	enum { TOLD_SINCE = 0x30d };

	return version >> 16 >= TOLD_SINCE ? describe_by_offsets(elf, runtime, version, ret) : describe_by_version(version, ret);
}

/* ---- the function that evaluates ---- */

static int64_t sign_extended(uint32_t value, int bits)
{
	uint32_t sign = 1u << (bits - 1);

	return (int32_t)((value ^ sign) - sign);
}

/* How far a jump at `code`, of which there are `size` bytes, leads from there; 0: there is none. */
static int64_t jump_of_x86(const uint8_t *code, size_t size)
{
	enum { TWO_BYTES = 0x0f, CONDITIONAL = 0x80, KIND = 0xf0, ALWAYS = 0xe9, SHORT = 5, LONG = 6 };
	size_t length = size >= SHORT && code[0] == ALWAYS					  ? SHORT
			: size >= LONG && code[0] == TWO_BYTES && (code[1] & KIND) == CONDITIONAL ? LONG
												  : 0;
	int32_t distance = 0;

	if (length)
		memcpy(&distance, code + length - sizeof(distance), sizeof(distance));
	return length ? distance + (int64_t)length : 0;
}

/* B, B.cond, CBZ and CBNZ, TBZ and TBNZ. */
static int64_t jump_of_arm64(const uint8_t *code, size_t size)
{
	static const struct {
		uint32_t mask, value;
		int shift, bits;
	} kinds[] = {{0xfc000000, 0x14000000, 0, 26},
		     {0xff000010, 0x54000000, 5, 19},
		     {0x7e000000, 0x34000000, 5, 19},
		     {0x7e000000, 0x36000000, 5, 14}};
	uint32_t word;

	if (size < sizeof(word))
		return 0;
	memcpy(&word, code, sizeof(word));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((word & kinds[i].mask) == kinds[i].value)
			return 4 * sign_extended(word >> kinds[i].shift & ((1u << kinds[i].bits) - 1), kinds[i].bits);
	return 0;
}

/* The function in the middle of which an address is: nobody jumps there but the function itself. */
static bool find_middle(const struct unwind_tables *tables, uint64_t address, struct cfi_entry *ret, uint64_t *ret_end)
{
	const struct cfi_section *section = &tables->sections[UNWIND_EH_FRAME];

	if (!cfi_section_entry(section, address, ret) || ret->start == address)
		return false;
	*ret_end = cfi_entry_end(section, ret);
	return true;
}

/* The other part of a function, by its jumps: the one that most of them lead into. Size 0: there is none. */
static struct elf_symbol find_other_part(const struct unwind_tables *tables, const struct elf_symbol *part)
{
	enum { PARTS = 8, SURE = 2, LARGEST = 1 << 20 }; /* several times what any version has: a file may say what it likes */
	const struct elf_file *elf = &tables->runtime;
	const struct elf_segment *segment = elf_segment_of(elf, part->value);
	uint64_t offset = segment ? part->value - segment->vaddr + segment->offset : elf->size;
	size_t votes[PARTS] = {0}, count = 0, most = 0, step = elf->machine == EM_X86_64 ? 1 : 4;
	struct elf_symbol found[PARTS], none = {0};

	if (part->size > LARGEST)
		return none;
	for (size_t i = 0; i < part->size && offset < elf->size && part->size <= elf->size - offset; i += step) {
		const uint8_t *code = elf->data + offset + i;
		int64_t jump = elf->machine == EM_X86_64 ? jump_of_x86(code, part->size - i) : jump_of_arm64(code, part->size - i);
		uint64_t target = part->value + i + (uint64_t)jump, end;
		struct cfi_entry entry;
		size_t number = 0;
		if (!jump || target - part->value < part->size || !find_middle(tables, target, &entry, &end))
			continue;
		while (number < count && found[number].value != entry.start)
			number++;
		if (number == PARTS)
			continue;
		if (number == count)
			found[count++] = (struct elf_symbol){.value = entry.start, .size = end - entry.start};
		if (++votes[number] > votes[most])
			most = number;
	}
	return count && votes[most] >= SURE ? found[most] : none;
}

/* False: no segment has it. */
static bool place_of(const struct elf_file *elf, const struct elf_symbol *part, struct user_stacks_span *ret)
{
	const struct elf_segment *text = elf_segment_of(elf, part->value);

	if (text)
		*ret = (struct user_stacks_span){(uint32_t)(part->value + text->offset - text->vaddr), (uint32_t)part->size};
	return text;
}

bool python_layout_describe(struct resolver *resolver, struct dso *dso, struct user_stacks_interpreter *ret)
{
	const struct unwind_tables *tables = resolver_attachment(resolver, dso, unwind_tables_make, unwind_tables_destroy);
	const struct elf_file *elf = &tables->runtime;
	struct elf_symbol runtime, evaluates, type, version;
	uint64_t number;

	if (!elf->is_64bit || !elf_symbol_find(elf, "_PyRuntime", &runtime) ||
	    !elf_symbol_find(elf, "_PyEval_EvalFrameDefault", &evaluates) || !elf_symbol_find(elf, "PyCode_Type", &type) ||
	    !elf_symbol_find(elf, "Py_Version", &version) || !read_word(elf, version.value, &number) ||
	    !describe_version(elf, runtime.value, number, &ret->python))
		return false;
	const struct elf_segment *text = elf_segment_of(elf, evaluates.value);
	if (!text)
		return false;
	uint64_t to_place = text->offset - text->vaddr;
	ret->python.runtime = runtime.value + to_place;
	ret->python.code_type = type.value + to_place;
	struct elf_symbol other = find_other_part(tables, &evaluates);
	memset(ret->evaluates, 0, sizeof(ret->evaluates));
	if (other.size)
		place_of(elf, &other, &ret->evaluates[1]);
	return place_of(elf, &evaluates, &ret->evaluates[0]);
}
