/* From the location of a variable, a small stack program (DWARF 5, section 2.5), to what a probe of the kernel can fetch: a register or a
 * constant, and a number of memory reads at offsets.
 *
 *	DW_OP_fbreg -24, frame base = CFA = %bp + 16     →  -8(%bp)
 *	DW_OP_breg5 8; DW_OP_deref                       →  +0(+8(%di))
 *
 * Programs are run with one symbolic value: what no chain of reads can say is refused with the reason. */
#include "symbol/dwarf/debug_program_internal.h"

#include <stdlib.h>

enum { NESTING_MAX = 8, LOCATIONS_MAX = 4 };

struct run {
	struct debug_program *program;
	Dwarf_Die *function; /* whose frame base counts; NULL = none */
	uint64_t address;
	const char *name; /* of the variable */
	struct fetch fetch;
	int64_t pending; /* added to what the reads gave */
	bool is_value;	 /* the result is the value itself, not the address of it */
	bool started;
};

static struct error *refuse(const struct run *run, const char *why)
{
	return error_new_kind(ERROR_UNSUPPORTED, "'%s' is not available there: %s", run->name, why);
}

static void start(struct run *run, enum fetch_base base, uint64_t number, int64_t offset)
{
	run->fetch = (struct fetch){.base = base, .number = number};
	run->pending = offset;
	run->started = true;
}

static struct error *run_operations(struct run *run, const Dwarf_Op *operations, size_t count, unsigned int depth);

static struct error *frame_address(struct run *run, unsigned int depth)
{
	Dwarf_CFI *sources[] = {run->program->frames, run->program->debug_frames};

	for (size_t i = 0; i < 2; i++) {
		Dwarf_Frame *frame;
		Dwarf_Op *operations;
		size_t count;
		if (!sources[i] || dwarf_cfi_addrframe(sources[i], run->address, &frame) != 0)
			continue;
		struct error *error = NULL;
		bool ok = dwarf_frame_cfa(frame, &operations, &count) == 0 && count;
		if (ok)
			error = run_operations(run, operations, count, depth + 1);
		free(frame);
		if (ok)
			return error;
	}
	return refuse(run, "the file has no unwind table for this address, which is needed to find the stack frame");
}

static struct error *frame_base(struct run *run, unsigned int depth)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	size_t count;

	if (!run->function || !dwarf_attr_integrate(run->function, DW_AT_frame_base, &attribute) ||
	    dwarf_getlocation_addr(&attribute, run->address, &operations, &count, 1) != 1 || !count)
		return refuse(run, "the debug information does not describe where the stack frame is");
	struct error *error = run_operations(run, operations, count, depth + 1);
	/* A register alone means what is in it. */
	run->is_value = false;
	return error;
}

/* Operations that put something on the stack which doesn't depend on what was there. */
static bool begin(struct run *run, const Dwarf_Op *operation, unsigned int depth, struct error **ret_error)
{
	uint8_t atom = operation->atom;

	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
		start(run, FETCH_REGISTER, atom - DW_OP_breg0, (int64_t)operation->number);
	} else if (atom == DW_OP_bregx) {
		start(run, FETCH_REGISTER, operation->number, (int64_t)operation->number2);
	} else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
		start(run, FETCH_REGISTER, atom - DW_OP_reg0, 0);
		run->is_value = true;
	} else if (atom == DW_OP_regx) {
		start(run, FETCH_REGISTER, operation->number, 0);
		run->is_value = true;
	} else if (atom == DW_OP_addr) {
		start(run, FETCH_STATIC, operation->number, 0);
	} else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
		start(run, FETCH_CONSTANT, atom - DW_OP_lit0, 0);
	} else if (atom >= DW_OP_const1u && atom <= DW_OP_consts) {
		start(run, FETCH_CONSTANT, operation->number, 0);
	} else if (atom == DW_OP_fbreg) {
		*ret_error = frame_base(run, depth);
		run->pending += (int64_t)operation->number;
	} else if (atom == DW_OP_call_frame_cfa) {
		*ret_error = frame_address(run, depth);
	} else {
		return false;
	}
	return true;
}

static struct error *go_on(struct run *run, const Dwarf_Op *operation, bool last)
{
	switch (operation->atom) {
	case DW_OP_plus_uconst:
		run->pending += (int64_t)operation->number;
		return run->started ? NULL : refuse(run, "its location is damaged");
	case DW_OP_deref:
		if (!run->started || run->is_value || !fetch_dereference(&run->fetch, run->pending))
			return refuse(run, "its location is damaged");
		run->pending = 0;
		return NULL;
	case DW_OP_stack_value:
		run->is_value = true;
		return NULL;
	case DW_OP_nop:
		return NULL;
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return refuse(run, "it was optimised out; its value is known only at function entry, so probe there");
	case DW_OP_GNU_push_tls_address:
	case DW_OP_form_tls_address:
		return refuse(run, "it is thread-local, and probes cannot read thread-local variables");
	case DW_OP_piece:
	case DW_OP_bit_piece:
		return last && run->started ? NULL : refuse(run, "it is kept in several pieces");
	case DW_OP_implicit_value:
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		return refuse(run, "it was optimised out: there is no copy of it in memory");
	default:
		return refuse(run, "it was optimised out and must be computed from other values, which probes cannot do");
	}
}

static struct error *run_operations(struct run *run, const Dwarf_Op *operations, size_t count, unsigned int depth)
{
	struct error *error = NULL;

	if (depth > NESTING_MAX)
		return refuse(run, "its location is damaged");
	for (size_t i = 0; !error && i < count; i++) {
		bool fresh = !run->started || operations[i].atom == DW_OP_fbreg;
		if (fresh && begin(run, &operations[i], depth, &error))
			continue;
		error = go_on(run, &operations[i], i + 1 == count);
	}
	return error;
}

/* What the program left: a value, or the address of one. */
static struct error *finish(struct run *run)
{
	if (!run->started)
		return refuse(run, "it was optimised out");
	if (!run->is_value)
		return fetch_dereference(&run->fetch, run->pending) ? NULL : refuse(run, "its location is too long");
	if (run->fetch.base == FETCH_CONSTANT && !run->fetch.count) {
		run->fetch.number += (uint64_t)run->pending;
		return NULL;
	}
	if (run->pending || (run->fetch.base == FETCH_STATIC && !run->fetch.count))
		return refuse(run, "it was optimised out and must be computed from other values, which probes cannot do");
	return NULL;
}

static struct error *constant(Dwarf_Attribute *attribute, struct run *run)
{
	Dwarf_Sword value;

	if (dwarf_formsdata(attribute, &value) != 0)
		return refuse(run, "it was optimised out: there is no copy of it in memory");
	start(run, FETCH_CONSTANT, (uint64_t)value, 0);
	run->is_value = true;
	return finish(run);
}

struct error *debug_locate(struct debug_program *program, Dwarf_Die *variable, Dwarf_Die *function, uint64_t address, struct fetch *ret)
{
	const char *name = dwarf_diename(variable);
	struct run run = {.program = program, .function = function, .address = address, .name = name ? name : "a variable without a name"};
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	size_t count = 0;
	struct error *error;

	if (dwarf_attr_integrate(variable, DW_AT_const_value, &attribute)) {
		error = constant(&attribute, &run);
	} else if (!dwarf_attr_integrate(variable, DW_AT_location, &attribute)) {
		return refuse(&run, "it was optimised out");
	} else if (dwarf_getlocation_addr(&attribute, address, &operations, &count, 1) != 1 || !count) {
		return refuse(&run, "it is optimised out at this address. -V --range shows where it has a value");
	} else {
		error = run_operations(&run, operations, count, 0);
		if (!error)
			error = finish(&run);
	}
	*ret = run.fetch;
	return error;
}
