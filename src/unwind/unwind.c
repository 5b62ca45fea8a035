/* Stepping from frame to frame.
 *
 * Each step: the address says which file, the file's call frame information says where the canonical frame address (CFA) is and where the
 * caller's registers were saved; they are read from the recorded stack bytes. Rules that were used are kept in a small direct-mapped table
 * for each thread, because stacks of one program pass through the same calls over and over.
 *
 * Without rules: procedure linkage stubs have pushed nothing but the return address; else the frame pointer is tried, which must point a
 * little above the last frame.
 */
#include "unwind/unwind.h"

#include "base/hash.h"
#include "base/mem.h"
#include "unwind/expression.h"
#include "unwind/tables.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_ROWS = 4096, FRAME_POINTER_REACH = 0x4000 };

struct cached_row {
	const struct unwind_tables *tables; /* NULL = empty */
	uint64_t vaddr;
	struct cfi_row row;
};

struct unwind_cache {
	struct cached_row rows[CACHE_ROWS];
};

void unwind_cache_destroy(struct unwind_cache *cache)
{
	free(cache);
}

/* DWARF numbers, and how the kernel's numbers map to them. Source: System V psABI x86-64 figure 3.36; DWARF for AArch64. */
struct unwind_arch {
	const char *name;
	uint8_t sp, fp, ip;	       /* DWARF numbers; ip: of the return address where that is no register, else NONE */
	uint8_t ip_kernel;	       /* the kernel's number of the instruction pointer */
	uint8_t link;		       /* DWARF number of the register that calls leave the return address in, else NONE */
	uint8_t kernel[CFI_REGISTERS]; /* kernel number of each DWARF register, 0xff = none */
};

#define NONE 0xff
static const struct unwind_arch archs[] = {
	{"x86_64", 7, 6, 16, 8, NONE, {0,    3,	   2,	 1,    4,    5,	   6,	 7,    16,   17,   18,	 19,   20,   21,   22,	 23,  8,
				       NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE}},
	{"aarch64", 31, 29, NONE, 32, 30, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,  16,
					   17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, NONE}},
};

static const struct unwind_arch *find_arch(const char *name)
{
	if (!name)
#if defined(__aarch64__)
		name = "aarch64";
#else
		name = "x86_64";
#endif
	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		if (!strcmp(archs[i].name, name) || (i == 1 && !strncmp(name, "arm64", 5)))
			return &archs[i];
	return NULL;
}

struct registers {
	uint64_t value[CFI_REGISTERS];
	uint64_t known; /* bit set: has a value */
};

struct walk {
	const struct unwind_input *input;
	const struct unwind_arch *arch;
	struct resolver *resolver;
	struct unwind_cache *cache;
	struct registers regs;
	uint64_t ip;
	uint64_t stack_start; /* address of the first recorded byte */
	bool exact;	      /* ip is where execution was, not a return address */
};

static bool register_get(const struct registers *regs, unsigned int reg, uint64_t *ret)
{
	if (reg >= CFI_REGISTERS || !(regs->known >> reg & 1))
		return false;
	*ret = regs->value[reg];
	return true;
}

static void register_set(struct registers *regs, unsigned int reg, uint64_t value)
{
	regs->value[reg] = value;
	regs->known |= (uint64_t)1 << reg;
}

/* Memory that was not recorded: constant data is in the mapped file; all else that is mapped reads as 0, as the kernel's perf has it. So a
 * stack that was cut off ends with the frame -1: the reader sees that there was more. */
static bool read_unrecorded(const struct walk *walk, uint64_t address, unsigned int size, uint64_t *ret)
{
	const struct map *map = walk->input->maps ? maps_find(walk->input->maps, address, walk->input->time) : NULL;
	*ret = 0;
	if (!map || map->dso->kind != DSO_FILE)
		return map;
	const struct unwind_tables *tables = resolver_attachment(walk->resolver, map->dso, unwind_tables_make, unwind_tables_destroy);
	uint64_t offset = map_to_dso(map, address);
	if (offset < tables->runtime.size && size <= tables->runtime.size - offset)
		memcpy(ret, tables->runtime.data + offset, size);
	return true;
}

static bool read_stack(void *context, uint64_t address, unsigned int size, uint64_t *ret)
{
	const struct walk *walk = context;
	uint64_t offset = address - walk->stack_start, value = 0;
	if (size > sizeof(value))
		return false;
	if (offset >= walk->input->stack_size || size >= walk->input->stack_size - offset)
		return read_unrecorded(walk, address, size, ret);
	memcpy(&value, (const uint8_t *)walk->input->stack + offset, size);
	*ret = value;
	return true;
}

static bool read_word(const struct walk *walk, uint64_t address, uint64_t *ret)
{
	return read_stack((void *)walk, address, 8, ret);
}

/* ---- rules ---- */

/* The rules at an address of the process; NULL when there are none. */
static const struct cfi_row *find_row(struct walk *walk, uint64_t address)
{
	const struct map *map = walk->input->maps ? maps_find(walk->input->maps, address, walk->input->time) : NULL;
	uint64_t vaddr;
	if (!map)
		return NULL;
	const struct unwind_tables *tables = resolver_attachment(walk->resolver, map->dso, unwind_tables_make, unwind_tables_destroy);
	if (!tables || !unwind_tables_vaddr(tables, map_to_dso(map, address), &vaddr))
		return NULL;
	struct cached_row *cached = &walk->cache->rows[hash_combine(vaddr, (uintptr_t)tables) % CACHE_ROWS];
	if (cached->tables == tables && cached->vaddr == vaddr)
		return &cached->row;
	cached->tables = NULL;
	if (!unwind_tables_row(tables, vaddr, &cached->row))
		return NULL;
	cached->tables = tables;
	cached->vaddr = vaddr;
	return &cached->row;
}

static bool evaluate(const struct walk *walk, const struct cfi_row *row, int32_t place, uint16_t length, const uint64_t *first,
		     uint64_t *ret)
{
	struct expression_context context = {
		.registers = walk->regs.value,
		.known = walk->regs.known,
		.register_count = CFI_REGISTERS,
		.read = read_stack,
		.context = (void *)walk,
	};
	return expression_evaluate(&context, row->section + place, length, first != NULL, first ? *first : 0, ret);
}

static bool find_cfa(const struct walk *walk, const struct cfi_row *row, uint64_t *ret)
{
	if (row->cfa_kind == CFI_IS_EXPRESSION)
		return evaluate(walk, row, row->cfa_value, row->cfa_length, NULL, ret);
	if (!register_get(&walk->regs, row->cfa_register, ret))
		return false;
	*ret += (uint64_t)(int64_t)row->cfa_value;
	return true;
}

/* One register of the caller. */
static void apply_rule(const struct walk *walk, const struct cfi_row *row, const struct cfi_rule *rule, uint64_t cfa,
		       struct registers *caller)
{
	uint64_t value = 0, place = cfa + (uint64_t)(int64_t)rule->value;
	bool good = false;
	switch (rule->kind) {
	case CFI_AT_OFFSET:
		good = read_word(walk, place, &value);
		break;
	case CFI_IS_OFFSET:
		value = place;
		good = true;
		break;
	case CFI_IN_REGISTER:
		good = register_get(&walk->regs, (unsigned int)rule->value, &value);
		break;
	case CFI_AT_EXPRESSION:
		good = evaluate(walk, row, rule->value, rule->length, &cfa, &place) && read_word(walk, place, &value);
		break;
	case CFI_IS_EXPRESSION:
		good = evaluate(walk, row, rule->value, rule->length, &cfa, &value);
		break;
	default:
		break;
	}
	if (good)
		register_set(caller, rule->reg, value);
	else
		caller->known &= ~((uint64_t)1 << rule->reg);
}

/* Takes the authentication code out of a return address: user addresses have at most 52 bits, and those above 48 only where asked for. */
static uint64_t without_signature(uint64_t address)
{
	return address & (((uint64_t)1 << 48) - 1);
}

/* To the caller by rules. False: this was the outermost frame, or its caller can't be found. */
static bool step_by_row(struct walk *walk, const struct cfi_row *row)
{
	uint64_t cfa, ip;
	if (!find_cfa(walk, row, &cfa))
		return false;
	struct registers caller = walk->regs;
	if (walk->arch->ip != NONE)
		caller.known &= ~((uint64_t)1 << walk->arch->ip);
	register_set(&caller, walk->arch->sp, cfa);
	for (unsigned int i = 0; i < row->count; i++)
		apply_rule(walk, row, &row->rules[i], cfa, &caller);
	if (!register_get(&caller, row->return_register, &ip))
		return false;
	if (row->return_signed)
		ip = without_signature(ip);
	uint64_t sp = walk->regs.value[walk->arch->sp];
	if (ip == walk->ip && cfa == sp)
		return false;
	walk->regs = caller;
	walk->ip = ip;
	walk->exact = row->signal_frame;
	return true;
}

static bool step_by_frame_pointer(struct walk *walk)
{
	uint64_t fp, sp, caller_fp, ip;
	if (!register_get(&walk->regs, walk->arch->fp, &fp) || !fp || !register_get(&walk->regs, walk->arch->sp, &sp))
		return false;
	if (fp < sp || fp - sp > FRAME_POINTER_REACH || !read_word(walk, fp, &caller_fp) || !read_word(walk, fp + 8, &ip) || !ip)
		return false;
	walk->regs.known = 0;
	register_set(&walk->regs, walk->arch->fp, caller_fp);
	register_set(&walk->regs, walk->arch->sp, fp + 16);
	walk->ip = ip;
	walk->exact = false;
	return true;
}

static bool step(struct walk *walk)
{
	const struct cfi_row *row = find_row(walk, walk->exact ? walk->ip : walk->ip - 1);
	return row ? step_by_row(walk, row) : step_by_frame_pointer(walk);
}

/* ---- start ---- */

static bool start(struct walk *walk)
{
	const struct unwind_input *input = walk->input;
	uint64_t by_kernel[64], index = 0;
	for (unsigned int i = 0; i < 64; i++)
		if (input->mask >> i & 1)
			by_kernel[i] = input->registers[index++];
	for (unsigned int i = 0; i < CFI_REGISTERS; i++) {
		uint8_t number = walk->arch->kernel[i];
		if (number != NONE && (input->mask >> number & 1))
			register_set(&walk->regs, i, by_kernel[number]);
	}
	if (!(input->mask >> walk->arch->ip_kernel & 1))
		return false;
	walk->ip = by_kernel[walk->arch->ip_kernel];
	walk->exact = true;
	return register_get(&walk->regs, walk->arch->sp, &walk->stack_start);
}

size_t unwind_user(struct resolver *resolver, struct unwind_cache **cache, const struct unwind_input *input, uint64_t *ips, size_t max)
{
	struct walk walk = {.input = input, .arch = find_arch(input->arch), .resolver = resolver};
	size_t count = 0;
	if (!*cache)
		*cache = mem_zalloc(sizeof(**cache));
	walk.cache = *cache;
	if (!walk.arch || input->abi != 2 || !input->registers || !start(&walk))
		return 0;
	while (count < max) {
		ips[count++] = walk.exact ? walk.ip : walk.ip - 1;
		if (!step(&walk))
			break;
	}
	return count;
}

static uint64_t link_bit(const struct unwind_arch *arch)
{
	return arch && arch->link != NONE ? (uint64_t)1 << arch->kernel[arch->link] : 0;
}

bool unwind_has_leaf_callers(const char *arch, uint64_t mask)
{
	return mask & link_bit(find_arch(arch));
}

uint64_t unwind_leaf_caller(struct resolver *resolver, struct unwind_cache **cache, const struct unwind_input *input, uint64_t ip)
{
	/* Rules for what was saved count from the stack pointer: with none at 0, what they ask for isn't there. */
	struct unwind_input without_stack = *input;
	without_stack.stack = NULL;
	without_stack.stack_size = 0;
	struct walk walk = {.input = &without_stack, .arch = find_arch(input->arch), .resolver = resolver, .ip = ip, .exact = true};
	uint64_t bit = link_bit(walk.arch);
	if (!(input->mask & bit) || input->abi != 2 || !input->registers)
		return 0;
	if (!*cache)
		*cache = mem_zalloc(sizeof(**cache));
	walk.cache = *cache;
	register_set(&walk.regs, walk.arch->link, input->registers[__builtin_popcountll(input->mask & (bit - 1))]);
	register_set(&walk.regs, walk.arch->sp, 0);
	const struct cfi_row *row = find_row(&walk, ip);
	return row && step_by_row(&walk, row) && walk.ip ? walk.ip - 1 : 0;
}
