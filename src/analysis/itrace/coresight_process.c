/* The process with libopencsd: forked when the first messages are asked for, it has the tree of decoders as it was made, takes the trace
 * block by block, and ends. Not done here: what elements mean (coresight.c). */
#include "analysis/itrace/coresight_process.h"
#include "analysis/itrace/decoder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* WALK_MAX: bytes of code without a branch. No program has as many, but a trace may say that one ran through a whole library. */
enum { BLOCK_SIZE = 2048, ERRORS_MAX = 1000, WALK_MAX = 256 << 10 };

bool coresight_write(int fd, const void *data, size_t size)
{
	for (ssize_t written; size; size -= (size_t)written, data = (const char *)data + written) {
		written = write(fd, data, size);
		if (written < 0 && errno == EINTR)
			written = 0;
		if (written < 0)
			return false;
	}
	return true;
}

static bool read_all(int fd, void *data, size_t size)
{
	for (ssize_t got; size; size -= (size_t)got, data = (char *)data + got) {
		got = read(fd, data, size);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got <= 0)
			return false;
	}
	return true;
}

/* ── In the process ── */

static void flush(struct coresight_process *process)
{
	if (!coresight_write(process->to, process->messages, process->filled))
		_exit(1);
	process->filled = 0;
}

static void post(struct coresight_process *process, const struct coresight_message *message)
{
	if (process->filled == sizeof(process->messages))
		flush(process);
	memcpy((char *)process->messages + process->filled, message, sizeof(*message));
	process->filled += sizeof(*message);
}

static void post_error(struct coresight_process *process)
{
	process->errors++;
	post(process, &(struct coresight_message){.kind = CORESIGHT_ERROR});
}

static ocsd_datapath_resp_t post_element(const void *data, ocsd_trc_index_t index, uint8_t id, const ocsd_generic_trace_elem *element)
{
	(void)index;
	post((struct coresight_process *)data, &(struct coresight_message){.kind = CORESIGHT_ELEMENT, .id = id, .element = *element});
	return OCSD_RESP_CONT;
}

static uint32_t ask_code(const void *data, ocsd_vaddr_t address, ocsd_mem_space_acc_t space, uint8_t id, uint32_t size, uint8_t *buffer)
{
	struct coresight_process *process = (struct coresight_process *)data;
	struct coresight_code code;
	(void)space;
	process->walked = address - process->read_at <= process->read_size ? process->walked + size : 0;
	process->read_at = address;
	process->read_size = size;
	/* It becomes an element: there is no code. */
	if (process->walked > WALK_MAX) {
		process->errors++;
		return 0;
	}
	post(process, &(struct coresight_message){.kind = CORESIGHT_CODE, .id = id, .address = address, .size = size});
	flush(process);
	if (!read_all(process->from, &code, sizeof(code)))
		_exit(1);
	memcpy(buffer, code.bytes, code.size);
	return code.size;
}

static void reset(const struct coresight_process *process)
{
	uint32_t used;
	csd.dt_process_data(process->tree, OCSD_OP_RESET, 0, 0, NULL, &used);
}

static uint32_t block_size(const struct coresight_process *process)
{
	const uint64_t left = process->pieces[process->place.piece].size - process->place.offset;
	return left < BLOCK_SIZE ? (uint32_t)left : BLOCK_SIZE;
}

static void advance(struct coresight_process *process, uint32_t size)
{
	struct coresight_place *place = &process->place;
	place->offset += size;
	place->index += size;
	if (place->offset < process->pieces[place->piece].size)
		return;
	place->piece++;
	place->offset = 0;
}

static bool is_at_end(const struct coresight_process *process)
{
	return process->place.piece >= process->piece_count || process->errors > ERRORS_MAX;
}

static void decode_block(struct coresight_process *process)
{
	const struct coresight_place *place = &process->place;
	const uint32_t size = block_size(process);
	uint32_t used = 0;
	if (!place->offset)
		reset(process);
	const ocsd_datapath_resp_t response = csd.dt_process_data(process->tree, OCSD_OP_DATA, place->index, size,
								  process->pieces[place->piece].data + place->offset, &used);
	if (OCSD_DATA_RESP_IS_FATAL(response)) {
		post_error(process);
		reset(process);
		used = size;
	} else if (OCSD_DATA_RESP_IS_WAIT(response)) {
		uint32_t flushed;
		csd.dt_process_data(process->tree, OCSD_OP_FLUSH, 0, 0, NULL, &flushed);
	}
	advance(process, used ? used : size);
	post(process, &(struct coresight_message){.kind = CORESIGHT_PLACE, .place = *place});
	flush(process);
}

/* Ends of other processes' pipes, above all: as long as they are open here, those don't see that perf has closed its own. */
static void close_others(int one, int other)
{
	const int last = one > other ? one : other;
	for (int fd = STDERR_FILENO + 1; fd < last; fd++)
		if (fd != one && fd != other)
			close(fd);
	syscall(__NR_close_range, (unsigned int)last + 1, ~0u, 0);
}

/* Above the standard ones: where these were closed, a pipe may have got their numbers. */
static int move_up(int fd)
{
	const int moved = fd > STDERR_FILENO ? fd : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (moved < 0)
		_exit(1);
	return moved;
}

/* What the library and C++ say when they give up is nobody's business, nor is an image of their memory. C++ also writes what stdout has
 * buffered, which is perf's. */
static void be_alone(int *one, int *other)
{
	*one = move_up(*one);
	*other = move_up(*other);
	const int nowhere = open("/dev/null", O_WRONLY);
	if (nowhere >= 0) {
		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
	}
	close_others(*one, *other);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0});
}

static _Noreturn void decode(struct coresight_process *process)
{
	be_alone(&process->from, &process->to);
	while (!is_at_end(process))
		decode_block(process);
	_exit(0);
}

/* ── In perf ── */

static bool start(struct coresight_process *process)
{
	int messages[2], code[2];
	if (pipe2(messages, O_CLOEXEC) < 0)
		return false;
	const bool both = pipe2(code, O_CLOEXEC) == 0;
	process->filled = 0;
	process->pid = both ? fork() : -1;
	const bool inside = process->pid == 0, failed = process->pid < 0;
	process->from = inside ? code[0] : messages[0];
	process->to = inside ? messages[1] : code[1];
	close(messages[inside ? 0 : 1]);
	if (both)
		close(code[inside ? 1 : 0]);
	if (inside)
		decode(process);
	if (!failed)
		return true;
	process->pid = 0;
	close(messages[0]);
	if (both)
		close(code[1]);
	return false;
}

/* Whether it came to its end. */
static bool stop(struct coresight_process *process)
{
	int status;
	close(process->from);
	close(process->to);
	while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	process->pid = 0;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

void coresight_process_init(struct coresight_process *process, const struct trace_piece *pieces, size_t piece_count)
{
	process->pieces = pieces;
	process->piece_count = piece_count;
	csd.dt_set_gen_elem_outfn(process->tree, post_element, process);
	csd.dt_add_callback_trcid_mem_acc(process->tree, 0, UINT64_MAX, OCSD_MEM_SPACE_ANY, ask_code, process);
}

void coresight_process_deinit(struct coresight_process *process)
{
	if (process->pid)
		stop(process);
	if (process->tree != C_API_INVALID_TREE_HANDLE)
		csd.destroy_dcd_tree(process->tree);
}

/* What perf has to know by itself. */
static void look_at(struct coresight_process *process, const struct coresight_message *message)
{
	if (message->kind == CORESIGHT_PLACE)
		process->place = message->place;
	else if (message->kind == CORESIGHT_ERROR)
		process->errors++;
}

/* The process has ended: was that all? */
static size_t take_end(struct coresight_process *process)
{
	if (stop(process))
		return 0;
	process->errors++;
	if (!is_at_end(process))
		advance(process, block_size(process));
	process->messages[0].kind = CORESIGHT_LOSS;
	return 1;
}

size_t coresight_process_next(struct coresight_process *process, const struct coresight_message **ret)
{
	*ret = process->messages;
	if (!process->pid && (is_at_end(process) || !start(process)))
		return 0;
	process->filled = 0;
	do {
		const ssize_t got =
			read(process->from, (char *)process->messages + process->filled, sizeof(process->messages) - process->filled);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return take_end(process);
		process->filled += (size_t)got;
	} while (!process->filled || process->filled % sizeof(process->messages[0]));
	const size_t count = process->filled / sizeof(process->messages[0]);
	for (size_t i = 0; i < count; i++)
		look_at(process, &process->messages[i]);
	return count;
}

void coresight_process_answer(struct coresight_process *process, const struct coresight_code *code)
{
	coresight_write(process->to, code, sizeof(*code));
}

/* What doesn't fit is read, too, so that whoever writes comes to its end. */
static size_t count_the_rest(int fd)
{
	char bytes[4096];
	size_t count = 0;
	for (;;) {
		const ssize_t got = read(fd, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return count;
		count += (size_t)got;
	}
}

bool coresight_process_collect(bool (*work)(void *context, int to), void *context, size_t most, struct strbuf *out, size_t *ret_left_out)
{
	const size_t begun = out->len;
	int text[2], status;
	*ret_left_out = 0;
	if (pipe2(text, O_CLOEXEC) < 0)
		return false;
	const pid_t pid = fork();
	if (!pid) {
		close(text[0]);
		int other = text[1];
		be_alone(&text[1], &other);
		_exit(work(context, text[1]) ? 0 : 1);
	}
	close(text[1]);
	const int failed = pid > 0 ? strbuf_read(out, text[0], most) : -ECHILD;
	if (failed == -EFBIG) {
		size_t whole = begun + most;
		while (whole > begun && out->data[whole - 1] != '\n')
			whole--;
		*ret_left_out = out->len - whole + count_the_rest(text[0]);
		out->len = whole;
		out->data[whole] = 0;
	}
	close(text[0]);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return (!failed || failed == -EFBIG) && WIFEXITED(status) && !WEXITSTATUS(status);
}
