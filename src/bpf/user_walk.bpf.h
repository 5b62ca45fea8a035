/* Walking a user stack by call frame information, for BPF programs (user_stacks.bpf.c, off_cpu.bpf.c).
 *
 * Only the rules that nearly all code has are followed here (unwind/walk_row.h): stack pointer, frame pointer, return address, and on
 * x86-64 rbx. Code without rules, as that of run-time compilers, is passed by the frame pointer. Where more is needed, or no rows have been
 * given for a file yet, registers and stack are copied instead, for the recorder to unwind. So what comes out is the same as what the
 * recorder would find.
 *
 * What is mapped at an address is looked up in the process's own tree of mappings, which is read while others may change it. The nodes
 * stay where they are as long as interrupts are off (RCU), and what is found must cover the address, so the worst that can happen is a
 * copy.
 *
 * Functions that aren't static are verified by themselves, once, and not again for each way that leads to them: a recording begins with
 * that, so it is half as long.
 *
 * Rows are those that user_stacks.c was given; another program uses the same maps (bpf_user_stacks_share()). */
#pragma once

#include "bpf/user_goroutines.bpf.h"
#include "bpf/user_python.bpf.h"
#include "bpf/user_walk_state.bpf.h"

/* ---- what is mapped ---- */

/* 1 when `pivot` is below the address and not 0, which stands behind the last one. As a number: branches would make the verifier look at
 * each way through a node. */
static __always_inline uint64_t is_below(uint64_t pivot, uint64_t address)
{
	uint64_t before = pivot - 1;

	return ((before - (address - 1)) & ~before) >> 63;
}

/* The mapping's structure by the tree of mappings, a maple tree (lib/maple_tree.c): nodes of 256 bytes, of which the last pivot below the
 * address tells the next one; 0 when there is none. */
__noinline uint64_t find_vma(struct walk *walk, uint64_t address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t entry = (uint64_t)BPF_CORE_READ(task, mm, mm_mt.ma_root);

	if (!walk || (entry & 3) != 2) /* no node: a tree with one entry */
		return 0;
	for (int level = 0; level < TREE_DEPTH; level++) {
		uint32_t kind = entry >> 3 & 15, slot = 0;
		uint64_t rest = kind != TREE_ALLOC_RANGE;
		if (kind < TREE_LEAF || kind > TREE_ALLOC_RANGE ||
		    bpf_probe_read_kernel(walk->node, TREE_NODE, (void *)(entry & ~(uint64_t)(TREE_NODE - 1))))
			return 0;
#pragma unroll
		for (int i = 0; i < 9; i++)
			slot += is_below(walk->node[1 + i], address);
#pragma unroll
		for (int i = 9; i < 15; i++)
			slot += is_below(walk->node[1 + i], address) & rest;
		entry = walk->node[((kind == TREE_ALLOC_RANGE ? 10 : 16) + slot) & 31];
		if (kind == TREE_LEAF)
			return entry;
	}
	return 0;
}

static __always_inline bool read_vma(struct walk *walk, uint64_t address, uint64_t *ret_start, struct vm_area_struct **ret)
{
	struct vm_area_struct *vma = (void *)find_vma(walk, address);
	uint64_t start, end;

	if (!vma)
		return false;
	start = BPF_CORE_READ(vma, vm_start);
	end = BPF_CORE_READ(vma, vm_end);
	if (address < start || address >= end)
		return false;
	walk->vma_end = end;
	*ret_start = start;
	*ret = vma;
	return true;
}

static __always_inline void identify_file(struct file *file, struct user_stacks_file *ret)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	ret->inode = BPF_CORE_READ(inode, i_ino);
	ret->size = BPF_CORE_READ(inode, i_size);
	ret->device = BPF_CORE_READ(inode, i_sb, s_dev);
	ret->generation = BPF_CORE_READ(inode, i_generation);
}

/* What is mapped there, for find_mapping(); false: neither a file nor the vDSO, so it is code that was made while the program runs. */
static __always_inline bool name_file(struct walk *walk, struct mapping *mapping, struct vm_area_struct *vma)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);
	struct task_struct *task = bpf_get_current_task_btf();

	if (!file) {
		if (mapping->start != (uint64_t)BPF_CORE_READ(task, mm, context.vdso))
			return false;
		walk->file.inode = USER_STACKS_VDSO;
		walk->file.size = walk->file.device = walk->file.generation = 0;
		mapping->to_file = -mapping->start;
		return true;
	}
	identify_file(file, &walk->file);
	mapping->to_file = (BPF_CORE_READ(vma, vm_pgoff) << (page_bits & 31)) - mapping->start;
	return true;
}

/* Fills the next place of walk->mappings. False: nothing is known of the code at the address; walk->file says whether that can change. */
static __always_inline bool find_mapping(struct walk *walk)
{
	struct mapping *mapping = &walk->mappings[walk->found & (MAPPINGS - 1)];
	struct vm_area_struct *vma;
	struct user_stacks_code *code;
	uint64_t start;

	if (!read_vma(walk, walk->address, &start, &vma) || !(BPF_CORE_READ(vma, vm_flags) & MAPPED_EXECUTABLE))
		return false;
	mapping->start = start;
	mapping->size = 0;
	mapping->code.blocks = 0;
	if (name_file(walk, mapping, vma)) {
		struct user_stacks_file key = walk->file; /* Linux 6.1 takes no other memory of a function that is verified by itself */
		code = bpf_map_lookup_elem(&files, &key);
		if (!code)
			return false;
		mapping->file = walk->file;
		walk->file.inode = 0;
		if (code->copied)
			return false;
		mapping->code = *code;
	}
	mapping->size = walk->vma_end - start;
	walk->found++;
	return true;
}

/* ---- rows ---- */

/* `half` rows on, when there is one that begins at or before the offset. */
static __always_inline uint32_t search(const struct row_chunk *rows, uint32_t first, uint32_t at, uint32_t half, uint64_t last,
				       uint64_t offset)
{
	uint64_t next = at + half;
	uint64_t start = rows->rows[(first + next) & (USER_STACKS_ROWS - 1)].start;
	uint64_t take = (next - last - 1) & (start - offset - 1);

	return at + (half & -(uint32_t)(take >> 63));
}

/* The first one is there from the beginning: entering others (bpf_map_update_elem()) waits for all programs that run. */
static __always_inline const void *find_chunk(void *first, void *others, uint32_t number)
{
	uint32_t zero = 0;
	void *map = first;

	if (number) {
		map = bpf_map_lookup_elem(others, &number);
		return map ? bpf_map_lookup_elem(map, &zero) : NULL;
	}
	return bpf_map_lookup_elem(map, &zero);
}

/* *ret_missing: it hasn't been given yet. */
static __always_inline const struct user_stacks_row *find_row(struct walk *walk, const struct mapping *mapping, bool *ret_missing)
{
	uint64_t offset = walk->address + mapping->to_file;
	uint64_t block = (offset >> USER_STACKS_BLOCK_BITS) - mapping->code.first_block;
	uint32_t number, at = 0;

	*ret_missing = false;
	if (block >= mapping->code.blocks)
		return NULL;
	number = mapping->code.first_word + (uint32_t)block;
	const struct word_chunk *words = find_chunk(&first_words, &word_chunks, number / USER_STACKS_WORDS);
	if (!words)
		return NULL;
	uint32_t word = words->words[number & (USER_STACKS_WORDS - 1)];
	*ret_missing = !word;
	if (!word)
		return NULL;
	uint32_t first = word >> 8, last = word & 0xff;
	const struct row_chunk *rows = find_chunk(&first_rows, &row_chunks, first / USER_STACKS_ROWS);
	if (!rows)
		return NULL;
	/* The last one that begins at or before the offset: one way through, for the verifier's sake. */
	if (last >= FEW_ROWS) {
#pragma unroll
		for (uint32_t half = 128; half >= FEW_ROWS; half /= 2)
			at = search(rows, first, at, half, last, offset);
	}
#pragma unroll
	for (uint32_t half = FEW_ROWS / 2; half; half /= 2)
		at = search(rows, first, at, half, last, offset);
	return &rows->rows[(first + at) & (USER_STACKS_ROWS - 1)];
}

/* ---- steps ---- */

#define LINK_BITS (((uint64_t)1 << 48) - 1) /* of an address that is signed */

/* At most what lies below an end. */
static __always_inline uint64_t cap(uint64_t size, uint64_t address, uint64_t end)
{
	uint64_t below = (end - address) & -sizeof(uint64_t);

	return end > address && below && below < size ? below : size;
}

/* What lies from an address on: of long stacks more at a time. A read that fails costs as much as the whole walk, so none goes beyond what
 * ends a stack: strings of the environment, or what the thread's own variables begin with. Where it fails all the same, it is the rest of
 * the page. */
__noinline int fill_window(struct walk *walk, uint64_t address)
{
	if (!walk)
		return false;
	uint64_t size = walk->window_at ? sizeof(walk->window) : FIRST_WINDOW * sizeof(uint64_t);

	walk->window_at = address;
	walk->window_words = 0;
	size = cap(cap(size, address, walk->environment_end), address, walk->variables);
	barrier_var(size); /* so that the verifier sees the bound */
	if (size > sizeof(walk->window))
		return false;
	if (bpf_probe_read_user(walk->window, (uint32_t)size, (void *)address)) {
		size = -address & (USER_STACKS_PAGE - 1);
		barrier_var(size);
		if (size < sizeof(uint64_t) || size > sizeof(walk->window) ||
		    bpf_probe_read_user(walk->window, (uint32_t)size, (void *)address))
			return false;
	}
	walk->window_words = size / sizeof(uint64_t);
	return true;
}

/* A word of the stack, if it has been read already. */
static __always_inline bool see_word(const struct walk *walk, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - walk->window_at;

	if (offset % sizeof(*ret) || offset / sizeof(*ret) >= walk->window_words)
		return false;
	offset /= sizeof(*ret);
	barrier_var(offset); /* the verifier knows only bounds that it sees */
	*ret = walk->window[offset & (WINDOW - 1)];
	return true;
}

/* Reading costs the call: what lies above comes with it, since the next frames do. */
static __always_inline bool read_user(struct walk *walk, uint64_t address, uint64_t *ret)
{
	if (see_word(walk, address, ret))
		return true;
	if (!fill_window(walk, address))
		return !bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
	*ret = walk->window[0];
	return true;
}

static __always_inline uint64_t place(uint64_t cfa, int16_t units)
{
	return cfa + (uint64_t)((int64_t)units * USER_STACKS_UNIT);
}

/* Where the CFA is counted from. */
static __always_inline bool find_base(const struct walk *walk, uint32_t base, uint64_t *ret)
{
	*ret = walk->sp;
	if (base == USER_STACKS_FP || base == USER_STACKS_ALIGNED) {
		*ret = walk->fp;
		return walk->has_fp;
	}
	if (base == USER_STACKS_THIRD) {
		*ret = walk->third;
		return walk->has_third;
	}
	return true;
}

#if HAS_THIRD
/* Before the other registers: it was pushed last. */
static __always_inline void find_third(struct walk *walk, uint8_t more, uint64_t from)
{
	if (more == USER_STACKS_MORE_LOST || !more)
		walk->has_third &= !more;
	else
		walk->has_third = read_user(walk, from - (uint64_t)more * USER_STACKS_UNIT, &walk->third);
}
#endif

/* To the caller by a row. False: it doesn't say enough, or memory isn't there. */
static __always_inline bool step_by(struct walk *walk, const struct user_stacks_row *row)
{
	uint32_t base = row->base;
	uint64_t from, cfa, ip, fp = walk->fp;
	bool has_fp = walk->has_fp, in_memory = base == USER_STACKS_ALIGNED || base == USER_STACKS_SIGNAL;
	bool from_sp = base == USER_STACKS_SIGNAL || (!HAS_THIRD && base == USER_STACKS_WIDE);

	if (!find_base(walk, base, &from))
		return false;
	cfa = place(from, row->cfa);
	if (base == USER_STACKS_WIDE)
		cfa = from + ((uint64_t)row->more << 16 | (uint16_t)row->cfa) * USER_STACKS_UNIT;
	if (in_memory) {
		if (!read_user(walk, cfa, &cfa))
			return false;
	} else {
		if (base == USER_STACKS_STUB && (walk->address & 15) >= row->more)
			cfa += sizeof(uint64_t);
		if (!from_sp)
			from = cfa;
	}
	/* In the function's last instructions the frame pointer is the caller's again, which rules don't say. */
	if (base == USER_STACKS_ALIGNED && walk->exact && (place(from, row->fp) < walk->sp || place(from, row->fp) >= cfa))
		return false;
#if HAS_THIRD
	if (base != USER_STACKS_STUB)
		find_third(walk, base == USER_STACKS_WIDE || base == USER_STACKS_SWITCH ? USER_STACKS_MORE_LOST : row->more, from);
#endif
	if (row->fp != USER_STACKS_SAME) /* lies below the return address */
		has_fp = row->fp != USER_STACKS_LOST && read_user(walk, place(from, row->fp), &fp);
	if (row->ip == USER_STACKS_LOST)
		return false;
	if (row->ip == USER_STACKS_SAME) {
		if (!walk->has_link)
			return false;
		ip = walk->link;
	} else if (!read_user(walk, place(from_sp ? from : cfa, row->ip), &ip)) {
		return false;
	}
	if (!HAS_THIRD && base != USER_STACKS_SWITCH && (row->more || base == USER_STACKS_WIDE))
		ip &= LINK_BITS;
	if (ip == walk->ip && cfa == walk->sp)
		return false;
	walk->sp = cfa;
	walk->fp = fp;
	walk->has_fp = has_fp;
	walk->ip = ip;
	walk->exact = base == USER_STACKS_SIGNAL;
	walk->has_link = 0;
	return true;
}

/* Code without rules. The frame pointer must lead a little up the stack; where it leads to is looked at with the next step. */
static __always_inline bool step_by_frame_pointer(struct walk *walk)
{
	uint64_t fp, ip;

	if (!walk->has_fp || !walk->fp || walk->fp - walk->sp > FRAME_POINTER_REACH || !read_user(walk, walk->fp, &fp) ||
	    !read_user(walk, walk->fp + sizeof(fp), &ip) || !ip)
		return false;
	walk->sp = walk->fp + 2 * sizeof(fp);
	walk->fp = fp;
	walk->ip = ip;
	walk->exact = walk->has_link = walk->has_third = 0;
	return true;
}

/* ---- a step ---- */

enum { GOES_ON, STOPS };

/* bpf_loop()'s: one frame of Python. In a loop of its own, since the verifier would look at each way out of it together with each way
 * through a frame of C. */
static long take_python_step(uint32_t index, struct step *step)
{
	struct walk *walk = step->walk;
	const struct mapping *mapping = &walk->mappings[walk->python_known & (MAPPINGS - 1)];

	if (!index) {
		walk->python_frame = 0;
		if (evaluates(mapping, walk->address))
			begin_python(step, mapping, walk->python_bottom);
	}
	return walk->python_frame && walk->count < depth && step_python(walk) ? GOES_ON : STOPS;
}

static __always_inline bool covers(const struct mapping *mapping, uint64_t address)
{
	return address - mapping->start < mapping->size;
}

static __always_inline struct known_row *find_known(struct walk *walk, uint64_t address)
{
	return &walk->known[(address ^ address >> 9) & (KNOWN_ROWS - 1)];
}

/* Fills the place of walk->address. False: nothing is known of the code there, or not yet. */
__noinline int learn_row(struct walk *walk)
{
	const struct user_stacks_row *row;
	uint32_t number = MAPPINGS;
	bool missing;

	if (!walk)
		return false;
	uint64_t address = walk->address;
	struct known_row *known = find_known(walk, address);
#pragma unroll
	for (uint32_t i = 0; i < MAPPINGS; i++)
		if (covers(&walk->mappings[i], address))
			number = i;
	if (number == MAPPINGS) {
		number = walk->found & (MAPPINGS - 1);
		if (!find_mapping(walk))
			return false;
	}
	row = find_row(walk, &walk->mappings[number & (MAPPINGS - 1)], &missing);
	if (missing) {
		walk->file = walk->mappings[number & (MAPPINGS - 1)].file;
		return false;
	}
	known->row = row ? *row : (struct user_stacks_row){.base = USER_STACKS_NONE};
	known->address = address;
	known->period = walk->period;
	known->mapping = (uint16_t)number;
	known->evaluates = evaluates(&walk->mappings[number & (MAPPINGS - 1)], address);
	known->plain = !known->evaluates && (known->row.base == USER_STACKS_SP || known->row.base == USER_STACKS_FP) &&
		       known->row.ip != USER_STACKS_SAME && known->row.ip != USER_STACKS_LOST && known->row.fp != USER_STACKS_LOST;
	return true;
}

/* As many frames as step_by() would pass by what is known and has been read already: nearly all there are. A call of a function for each
 * of them would cost more than what it does. */
static __always_inline void take_plain_steps(struct walk *walk)
{
	uint64_t ip = walk->ip, sp = walk->sp, fp = walk->fp;
	uint64_t next_ip, next_fp, third;
	uint32_t count = walk->count;

#pragma clang loop unroll(disable)
	for (uint32_t i = 0; i < PLAIN_STEPS; i++) {
		uint64_t address = ip - 1, cfa = sp;
		const struct known_row *known = find_known(walk, address);
		const struct user_stacks_row *row = &known->row;
		if (known->address != address || known->period != walk->period || !known->plain || count >= depth)
			break;
		if (row->base == USER_STACKS_FP) {
			if (!walk->has_fp)
				break;
			cfa = fp;
		}
		cfa = place(cfa, row->cfa);
		next_fp = fp;
		if (!see_word(walk, place(cfa, row->ip), &next_ip) ||
		    (row->fp != USER_STACKS_SAME && !see_word(walk, place(cfa, row->fp), &next_fp)) || (next_ip == ip && cfa == sp))
			break;
		if (!HAS_THIRD && row->more)
			next_ip &= LINK_BITS;
		if (HAS_THIRD && row->more == USER_STACKS_MORE_LOST) {
			walk->has_third = 0;
		} else if (HAS_THIRD && row->more) {
			if (!see_word(walk, cfa - (uint64_t)row->more * USER_STACKS_UNIT, &third))
				break;
			walk->third = third;
			walk->has_third = 1;
		}
		if (row->fp != USER_STACKS_SAME)
			walk->has_fp = 1;
		walk->chain[count & (USER_STACKS_DEPTH - 1)] = address;
		count++;
		ip = next_ip;
		sp = cfa;
		fp = next_fp;
	}
	if (HAS_LINK && count != walk->count)
		walk->has_link = 0; /* as after step_by(): it was that of the first frame */
	walk->ip = ip;
	walk->sp = sp;
	walk->fp = fp;
	walk->count = count;
}

/* bpf_loop()'s: one frame, and before it those that are passed easily. */
static long take_step(uint32_t index, struct step *step)
{
	struct walk *walk = step->walk;
	const struct user_stacks_row *row;
	struct known_row *known;
	uint64_t address;

	if (walk->python_passed)
		bpf_loop(depth, take_python_step, step, 0);
	else if (!walk->exact)
		take_plain_steps(walk);
	walk->python_passed = 0;
	if (walk->count >= depth)
		return STOPS;
	walk->address = address = walk->ip - !walk->exact;
	walk->chain[walk->count & (USER_STACKS_DEPTH - 1)] = walk->address;
	walk->count++;
	if (!walk->ip) {
		walk->done = 1;
		return STOPS;
	}
	known = find_known(walk, address);
	if ((known->address != address || known->period != walk->period ||
	     (known->evaluates && !covers(&walk->mappings[known->mapping & (MAPPINGS - 1)], address))) &&
	    !learn_row(walk))
		return STOPS;
	row = &known->row;
	walk->python_known = known->mapping; /* from here on no number that the verifier knows: it would look at each way for each */
	walk->python_bottom = walk->sp;
	if (row->base == USER_STACKS_NONE) {
		if (step_by_frame_pointer(walk))
			return GOES_ON;
		walk->done = !walk->exact && walk->has_fp && !walk->fp; /* psABI: that of a thread's first function is 0 */
		walk->bare = 1;
		return STOPS;
	}
	if (row->base == USER_STACKS_SWITCH) {
		enum crossing crossing = cross_to_goroutine(walk, row->more);
		if (crossing == CROSSES)
			return GOES_ON;
		walk->done = crossing == CROSSES_NOTHING;
		if (walk->done)
			return STOPS;
	}
	walk->done = row->base == USER_STACKS_END;
	if (walk->done || row->base == USER_STACKS_OTHER || !step_by(walk, row))
		return STOPS;
	walk->python_passed = known->evaluates;
	return GOES_ON;
}

/* ---- copies ---- */

static __always_inline void put_registers(struct walk *walk)
{
	const struct seen_registers *from = &walk->registers;
	uint64_t *to = walk->copy.registers;

#if defined(__TARGET_ARCH_x86)
	to[0] = from->ax, to[1] = from->bx, to[2] = from->cx, to[3] = from->dx, to[4] = from->si, to[5] = from->di, to[6] = from->bp;
	to[7] = from->sp, to[8] = from->ip, to[9] = from->r8, to[10] = from->r9, to[11] = from->r10, to[12] = from->r11;
	to[13] = from->r12, to[14] = from->r13, to[15] = from->r14, to[16] = from->r15;
#else
	for (int i = 0; i < 31; i++)
		to[i] = from->x[i];
	to[31] = from->sp;
	to[32] = from->pc;
#endif
}

/* As much of the stack as is mapped and there. Returns how many bytes. */
static __always_inline uint32_t copy_stack(struct walk *walk)
{
	struct vm_area_struct *vma;
	uint64_t start, at = walk->registers.sp, left = USER_STACKS_COPY;
	uint32_t size = 0;

	if (read_vma(walk, at, &start, &vma) && walk->vma_end - at < left)
		left = walk->vma_end - at;
	for (int i = 0; i <= USER_STACKS_COPY / USER_STACKS_PAGE; i++) {
		uint64_t piece = USER_STACKS_PAGE - (at & (USER_STACKS_PAGE - 1));
		if (piece > left)
			piece = left;
		barrier_var(piece); /* so that the verifier of Linux 6.1 sees the bound below */
		if (!piece || piece > USER_STACKS_PAGE || size > USER_STACKS_COPY - USER_STACKS_PAGE)
			break;
		if (bpf_probe_read_user(&walk->stack[size], (uint32_t)piece, (void *)at))
			break;
		size += piece;
		at += piece;
		left -= piece;
	}
	return size;
}

/* Those that the process was interrupted with (`context`, or NULL), or has entered the kernel with. */
static __always_inline bool take_registers(struct walk *walk, const struct seen_registers *context, struct task_struct *task)
{
	struct seen_registers *to = &walk->registers;

	if (!context || !IS_USER(context)) {
		void *entered = (void *)bpf_task_pt_regs(task);
		return entered && !bpf_probe_read_kernel(to, sizeof(*to), entered);
	}
#if defined(__TARGET_ARCH_x86)
	to->r15 = context->r15, to->r14 = context->r14, to->r13 = context->r13, to->r12 = context->r12, to->bp = context->bp;
	to->bx = context->bx, to->r11 = context->r11, to->r10 = context->r10, to->r9 = context->r9, to->r8 = context->r8;
	to->ax = context->ax, to->cx = context->cx, to->dx = context->dx, to->si = context->si, to->di = context->di;
	to->ip = context->ip, to->cs = context->cs, to->sp = context->sp;
#else
#pragma unroll
	for (int i = 0; i < 31; i++)
		to->x[i] = context->x[i];
	to->sp = context->sp, to->pc = context->pc, to->pstate = context->pstate;
#endif
	return true;
}

/* ---- a walk ---- */

/* How often what is mapped there has changed, nearly: each write lock counts; false: the kernel doesn't say. */
static __always_inline bool count_changes(struct mm_struct *mm, uint64_t *ret)
{
	struct mm_struct___counted *counted = (void *)mm;
	struct mm_struct___sequenced *sequenced = (void *)mm;

	if (bpf_core_field_exists(sequenced->mm_lock_seq.sequence))
		*ret = sequenced->mm_lock_seq.sequence;
	else if (bpf_core_field_exists(counted->mm_lock_seq))
		*ret = (uint32_t)counted->mm_lock_seq;
	else
		return false;
	return true;
}

static __always_inline uint32_t read_generation(void)
{
	const struct row_chunk *rows = find_chunk(&first_rows, &row_chunks, 0);

	return rows ? rows->rows[USER_STACKS_GENERATION].start : 0;
}

/* What the last walk on this CPU has found mapped holds if it was the same address space, which hasn't changed, and no rows were forgotten.
 * Another one may have got its memory since; each program that is executed has its arguments somewhere else. */
static __always_inline void keep_mappings(struct walk *walk, struct mm_struct *mm)
{
	uint64_t arguments = mm->arg_start, changes = 0, generation = read_generation();

	if (count_changes(mm, &changes) && walk->space == (uint64_t)mm && walk->space_changes == changes &&
	    walk->space_arguments == arguments && walk->generation == generation)
		return;
	walk->period++;
	walk->space = (uint64_t)mm;
	walk->space_changes = changes;
	walk->space_arguments = arguments;
	walk->generation = generation;
	walk->found = 0;
	for (int i = 0; i < MAPPINGS; i++)
		walk->mappings[i].size = 0;
}

/* Gets ready to walk the stack of the thread that runs. False: it has none. A thread of the kernel has no user stack, and one that ends may
 * have lost it. */
static __always_inline bool walk_begin(struct walk *walk, const struct seen_registers *interrupted)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!task->mm || task->flags & TASK_IS_KERNEL || !take_registers(walk, interrupted, task))
		return false;
	walk->ip = walk->address = IP(&walk->registers);
	walk->sp = walk->registers.sp;
	walk->fp = FP(&walk->registers);
	walk->link = LINK(&walk->registers);
	walk->third = THIRD(&walk->registers);
	walk->exact = walk->has_fp = walk->has_third = 1;
	walk->has_link = HAS_LINK;
	walk->count = walk->done = walk->bare = walk->window_words = 0;
	walk->window_at = 0;
	walk->environment_end = task->mm->env_end;
	walk->variables = VARIABLES(task);
	walk->python_passed = walk->python_begun = walk->codes = 0;
	walk->file.inode = 0;
	keep_mappings(walk, task->mm);
	return true;
}

/* USER_STACKS_STACK: somebody else must walk it, by a copy (make_copy()). Else the chain is there. */
static __always_inline enum user_stacks_kind walk_go(struct walk *walk)
{
	struct step step = {.walk = walk};

	if (ABI(&walk->registers) == PERF_SAMPLE_REGS_ABI_64)
		bpf_loop(depth, take_step, &step, 0);
	if (walk->done)
		return USER_STACKS_CHAIN;
	if (walk->count == depth)
		return USER_STACKS_CUT;
	return walk->bare ? USER_STACKS_BARE : USER_STACKS_STACK;
}

/* In place of the chain. Returns how many bytes of the stack it has. */
static __always_inline uint32_t make_copy(struct walk *walk)
{
	walk->copy.file = walk->file;
	walk->copy.address = walk->address;
	walk->copy.abi = ABI(&walk->registers);
	put_registers(walk);
	return copy_stack(walk);
}
