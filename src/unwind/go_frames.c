/* A section as Go's linker makes it: the canonical frame address is counted from the stack pointer, of which the table says how far it has
 * moved. On x86-64 the return address is below that; on arm64 it is in the link register until there is a frame, and then at its lower end.
 *
 * Not there: where the frame pointer was saved. Go's linker doesn't tell of it either. */
#include "unwind/go_frames.h"

#include "base/strbuf.h"
#include "symbol/elf/go_table.h"

#include <elf.h>
#include <string.h>

enum {
	ADVANCE = 0x40,
	ADVANCE_4 = 0x04,
	UNDEFINED = 0x07,
	SAME_VALUE = 0x08,
	DEF_CFA = 0x0c,
	DEF_CFA_OFFSET = 0x0e,
	OFFSET = 0x80,
	NOTHING = 0
};
enum { WORD = 8, VERSION = 3, NO_AUGMENTATION = 0, MINUS_WORD = 0x80 - WORD, SMALL_ADVANCE = 0x3f };

struct go_machine {
	uint16_t number;
	uint8_t sp, link; /* numbers in DWARF: stack pointer, return address */
	uint8_t pushed;	  /* bytes of the return address that a call pushes */
};

static const struct go_machine machines[] = {{EM_X86_64, 7, 16, WORD}, {EM_AARCH64, 31, 30, 0}};

struct making {
	const struct go_machine *machine;
	struct strbuf out;
	uint64_t last;	     /* where the newest row begins */
	uint64_t rows, most; /* so far; a table that means well has no more than bytes */
	bool outermost;
};

static void put(struct strbuf *out, uint64_t value, size_t size)
{
	uint32_t half = (uint32_t)value;

	if (size == sizeof(value))
		strbuf_add(out, (const char *)&value, size);
	else
		strbuf_add(out, (const char *)&half, sizeof(half));
}

static void put_uleb(struct strbuf *out, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		strbuf_add_char(out, (char)(value | 0x80));
	strbuf_add_char(out, (char)value);
}

/* Length and padding of what begins at a place. */
static void end_entry(struct strbuf *out, size_t begin)
{
	strbuf_add_chars(out, NOTHING, (begin - out->len) & (WORD - 1));
	uint32_t length = (uint32_t)(out->len - begin - sizeof(length));
	memcpy(out->data + begin, &length, sizeof(length));
}

static void put_common(struct making *making)
{
	const struct go_machine *machine = making->machine;
	const uint8_t head[] = {VERSION,       NO_AUGMENTATION, 1 /* unit of code */, MINUS_WORD,
				machine->link, DEF_CFA,		machine->sp,	      machine->pushed};
	struct strbuf *out = &making->out;

	put(out, 0, sizeof(uint32_t));
	put(out, UINT32_MAX, sizeof(uint32_t));
	strbuf_add(out, (const char *)head, sizeof(head));
	if (machine->pushed) {
		strbuf_add_char(out, (char)(OFFSET | machine->link));
		put_uleb(out, 1);
	} else {
		strbuf_add_char(out, SAME_VALUE);
		strbuf_add_char(out, (char)machine->link);
	}
	end_entry(out, 0);
}

static bool put_row(void *context, const struct go_stack *stack)
{
	struct making *making = context;
	struct strbuf *out = &making->out;
	uint64_t distance = stack->start - making->last;

	if (stack->moved < 0 || stack->moved % WORD || ++making->rows > making->most)
		return false;
	if (distance > SMALL_ADVANCE) {
		strbuf_add_char(out, ADVANCE_4);
		put(out, distance, sizeof(uint32_t));
	} else if (distance) {
		strbuf_add_char(out, (char)(ADVANCE | distance));
	}
	making->last = stack->start;
	strbuf_add_char(out, DEF_CFA_OFFSET);
	put_uleb(out, (uint64_t)stack->moved + making->machine->pushed);
	if (making->machine->pushed || making->outermost)
		return true;
	strbuf_add_char(out, (char)(stack->moved ? OFFSET | making->machine->link : SAME_VALUE));
	put_uleb(out, stack->moved ? (uint64_t)stack->moved / WORD : making->machine->link);
	return true;
}

static void put_function(struct making *making, const struct go_table *table, const struct go_function *function)
{
	struct strbuf *out = &making->out;
	size_t begin = out->len;

	put(out, 0, sizeof(uint32_t));
	put(out, 0, sizeof(uint32_t)); /* whose beginning is that of the section */
	put(out, function->start, sizeof(uint64_t));
	put(out, function->end - function->start, sizeof(uint64_t));
	making->last = function->start;
	making->outermost = function->outermost;
	if (function->outermost && !making->machine->pushed) { /* where it is pushed, 0 is */
		strbuf_add_char(out, UNDEFINED);
		strbuf_add_char(out, (char)making->machine->link);
	}
	if (go_table_stack(table, function, put_row, making))
		end_entry(out, begin);
	else
		out->len = begin;
}

uint8_t *go_frames_make(const struct elf_file *elf, size_t *ret_size)
{
	struct making making = {0};
	struct go_function function;
	struct go_table table;

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].number == elf->machine)
			making.machine = &machines[i];
	if (!making.machine || !go_table_open(elf, &table))
		return NULL;
	put_common(&making);
	making.most = table.size;
	for (uint64_t i = 0; i < table.count && making.rows <= making.most; i++)
		if (go_table_function(&table, i, &function))
			put_function(&making, &table, &function);
	*ret_size = making.out.len;
	return (uint8_t *)making.out.data;
}
