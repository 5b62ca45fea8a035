/* All ways through the program's main function are followed, with one fact about each instruction: whether register 0, which holds the
 * result at an exit, is a constant other than 0 there. It is not as soon as one way leads there on which it may be something else.
 * Instructions are those of the kernel's instruction set document (Documentation/bpf/standardization/instruction-set.rst). Calls come back
 * with a result that nobody knows. */
#include "kernel/bpf/bpf_returns.h"

#include "base/vec.h"

#include <linux/bpf.h>
#include <stdint.h>

enum fact { NOT_REACHED, NOT_ZERO, MAY_BE_ZERO };

enum { OP_LAST = BPF_JSLE, RESULT = BPF_REG_0 };

struct walk {
	const struct bpf_insn *code;
	size_t count;
	uint8_t *facts;	      /* before each instruction */
	VEC(size_t) to_visit; /* those whose fact has changed */
	bool may;	      /* the answer */
};

static void reach(struct walk *walk, int64_t at, enum fact fact)
{
	if (at < 0 || (uint64_t)at >= walk->count) {
		walk->may = true;
	} else if (walk->facts[at] < fact) {
		walk->facts[at] = (uint8_t)fact;
		vec_push(&walk->to_visit, (size_t)at);
	}
}

static bool sets_constant(const struct bpf_insn *insn)
{
	return BPF_OP(insn->code) == BPF_MOV && BPF_SRC(insn->code) == BPF_K && insn->imm;
}

static void visit_jump(struct walk *walk, int64_t at, enum fact fact)
{
	const struct bpf_insn *insn = &walk->code[at];
	uint8_t op = BPF_OP(insn->code);
	bool is_far = BPF_CLASS(insn->code) == BPF_JMP32 && op == BPF_JA;
	if (op == BPF_EXIT) {
		walk->may |= fact == MAY_BE_ZERO;
	} else if (op == BPF_CALL) {
		reach(walk, at + 1, MAY_BE_ZERO);
	} else if (op > OP_LAST) { /* another program ends it (a tail call), or we don't know it */
		walk->may = true;
	} else {
		reach(walk, at + 1 + (is_far ? insn->imm : insn->off), fact);
		if (op != BPF_JA)
			reach(walk, at + 1, fact);
	}
}

static void visit(struct walk *walk, int64_t at)
{
	const struct bpf_insn *insn = &walk->code[at];
	enum fact fact = walk->facts[at];
	int64_t next = at + 1;
	switch (BPF_CLASS(insn->code)) {
	case BPF_JMP:
	case BPF_JMP32:
		visit_jump(walk, at, fact);
		return;
	case BPF_ALU:
	case BPF_ALU64:
		if (insn->dst_reg == RESULT)
			fact = sets_constant(insn) ? NOT_ZERO : MAY_BE_ZERO;
		break;
	case BPF_LD: /* packets are loaded into the result */
		next += insn->code == (BPF_LD | BPF_IMM | BPF_DW);
		fact = insn->dst_reg == RESULT ? MAY_BE_ZERO : fact;
		break;
	case BPF_LDX:
		fact = insn->dst_reg == RESULT ? MAY_BE_ZERO : fact;
		break;
	case BPF_STX:
		fact = BPF_MODE(insn->code) == BPF_ATOMIC ? MAY_BE_ZERO : fact;
		break;
	}
	reach(walk, next, fact);
}

bool bpf_may_return_zero(const struct bpf_insn *code, size_t count)
{
	struct walk walk = {.code = code, .count = count, .facts = mem_zalloc(count + 1)};
	reach(&walk, 0, MAY_BE_ZERO);
	while (walk.to_visit.len && !walk.may)
		visit(&walk, (int64_t)walk.to_visit.data[--walk.to_visit.len]);
	vec_deinit(&walk.to_visit);
	free(walk.facts);
	return walk.may;
}
