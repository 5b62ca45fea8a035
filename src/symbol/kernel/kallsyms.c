/* Lines "ffffffff81000000 T _text", modules' with "\t[name]" behind. The kernel needs longer to write 200,000 of them, which are 8 MB, than
 * we to read: a thread of its own takes them from it, while those that have come are parsed in place.
 *
 *	thread     ├── lines that have come ──┼─ the next one's beginning ─┤ …
 *	caller     ├── parsed ──┤
 *
 * Sizes: none are given, so a symbol goes up to the next one. They are settled over all lines, the other modules' too, before the ones that
 * are wanted are picked: the last symbol of a module must not swallow the gap behind it.
 */
#include "symbol/kernel/kallsyms.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_LIMIT = 1 << 26, STEP = 1 << 18 /* that is worth a hand-over */, BLOCK = 1 << 16 };
enum { LINE_LEAST = 21 /* bytes */, SYMBOLS = 1 << 18 /* kernels have no more for the most part */ };

struct line {
	uint64_t address;
	char type;
	char *name;   /* terminated */
	char *module; /* "name]", or NULL */
};

/* Its value, or 16 and more. */
static inline unsigned int hex_digit(char c)
{
	unsigned int digit = (unsigned int)(unsigned char)c - '0', letter = ((unsigned int)(unsigned char)c | 0x20) - 'a';
	return digit < 10 ? digit : letter < 6 ? letter + 10 : 16;
}

/* The next line, which it terminates; false at the end. Lines that aren't of the form are skipped. */
static bool next_line(char **at, char *end, struct line *ret)
{
	while (*at < end) {
		char *line = *at, *newline = memchr(line, '\n', (size_t)(end - line));
		if (!newline)
			newline = end;
		*at = newline + 1;
		uint64_t address = 0;
		char *p = line;
		for (unsigned int digit; (digit = hex_digit(*p)) < 16; p++)
			address = address << 4 | digit;
		if (p == line || newline - p < 4 || p[0] != ' ' || p[2] != ' ')
			continue;
		*newline = '\0';
		char *tab = memchr(p + 3, '\t', (size_t)(newline - p - 3));
		if (tab)
			*tab = '\0';
		*ret = (struct line){address, p[1], p + 3, tab && tab[1] == '[' ? tab + 2 : NULL};
		return true;
	}
	return false;
}

static bool type_counts(char type)
{
	type &= ~0x20;
	return type == 'T' || type == 'W' || type == 'D' || type == 'B';
}

static uint8_t binding_of(char type)
{
	if (type == 'W')
		return STB_WEAK;
	return isupper((unsigned char)type) ? STB_GLOBAL : STB_LOCAL;
}

static uint8_t type_of(char type)
{
	type |= 0x20;
	return type == 't' || type == 'w' ? STT_FUNC : STT_OBJECT;
}

bool kallsyms_symbol(uint64_t address, char type, const char *name, struct symbol *ret)
{
	if (!type_counts(type) || name[0] == '$')
		return false;
	*ret = (struct symbol){.start = address, .end = address, .name = name, .binding = binding_of(type), .type = type_of(type)};
	return true;
}

/* The number of a module; lines of one module follow each other. */
static uint32_t module_index(struct kallsyms *kallsyms, char *module)
{
	if (!module)
		return 0;
	char *end = strchr(module, ']');
	if (end)
		*end = '\0';
	for (size_t i = kallsyms->modules.len; i-- > 1;)
		if (!strcmp(kallsyms->modules.data[i], module))
			return (uint32_t)i;
	vec_push(&kallsyms->modules, module);
	return (uint32_t)kallsyms->modules.len - 1;
}

/* The landmarks, before aliases of their addresses push them out. */
static void note_landmark(struct kallsyms *kallsyms, const struct line *line)
{
	if (line->name[0] != '_' || line->module)
		return;
	if (!strcmp(line->name, "_text"))
		kallsyms->text_start = line->address;
	else if (!strcmp(line->name, "_stext"))
		kallsyms->stext = line->address;
	else if (!strcmp(line->name, "_etext"))
		kallsyms->etext = line->address;
}

/* Of all lines. */
struct seen {
	size_t lines;
	uint64_t addresses; /* their bits */
};

static void parse(struct kallsyms *kallsyms, char *at, char *end, struct seen *seen)
{
	struct line line;
	while (next_line(&at, end, &line)) {
		seen->lines++;
		seen->addresses |= line.address;
		note_landmark(kallsyms, &line);
		struct symbol symbol;
		if (!kallsyms_symbol(line.address, line.type, line.name, &symbol))
			continue;
		symbol.index = module_index(kallsyms, line.module);
		vec_push(&kallsyms->settled.symbols, symbol);
	}
}

struct reading {
	int fd;
	char *text;  /* room for `room` bytes, and one behind them */
	size_t room; /* more than the file has, as long as it has no more than SIZE_LIMIT */
	size_t size; /* bytes that have come */
	pthread_mutex_t lock;
	pthread_cond_t more;
	size_t whole; /* bytes of whole lines that have come */
	bool ended;
	int failure; /* then; 0 or -errno */
};

static void hand_over(struct reading *reading, size_t whole, bool ended, int failure)
{
	pthread_mutex_lock(&reading->lock);
	reading->whole = whole;
	reading->ended = ended;
	reading->failure = failure;
	pthread_cond_signal(&reading->more);
	pthread_mutex_unlock(&reading->lock);
}

static void *read_text(void *context)
{
	struct reading *reading = context;
	char *newline = NULL;
	size_t size = reading->size, given = 0;
	while (size < reading->room) {
		ssize_t got = read(reading->fd, reading->text + size, reading->room - size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			reading->text[size] = '\0';
			hand_over(reading, size, true, got < 0 ? -errno : 0);
			return NULL;
		}
		newline = memrchr(reading->text + size, '\n', (size_t)got) ?: newline;
		size += (size_t)got;
		if (newline && size - given >= STEP)
			hand_over(reading, given = (size_t)(newline + 1 - reading->text), false, 0);
	}
	hand_over(reading, given, true, -EFBIG);
	return NULL;
}

/* Waits for more than `parsed` bytes of whole lines; returns how many there are. */
static size_t await_lines(struct reading *reading, size_t parsed)
{
	pthread_mutex_lock(&reading->lock);
	while (reading->whole == parsed && !reading->ended)
		pthread_cond_wait(&reading->more, &reading->lock);
	size_t whole = reading->whole;
	pthread_mutex_unlock(&reading->lock);
	return whole;
}

/* How many bytes to make room for. Those of the kernel's own list are only known at its end. */
static size_t room_for(int fd)
{
	struct stat status;
	bool known = !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size < SIZE_LIMIT;
	return known ? (size_t)status.st_size + 1 : SIZE_LIMIT;
}

/* All that the descriptor has, by two threads where that is possible. Returns 0 or -errno. Nothing is allocated for an empty list. */
static int read_lines(struct kallsyms *kallsyms, int fd, struct seen *seen)
{
	struct reading reading = {.fd = fd, .room = room_for(fd), .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};
	pthread_t thread;
	char first;
	ssize_t got = TEMP_FAILURE_RETRY(read(fd, &first, 1));
	if (got <= 0)
		return got < 0 ? -errno : 0;
	kallsyms->text = reading.text = mem_alloc_table(reading.room + 1, 1);
	reading.text[reading.size++] = first;
	size_t symbols = reading.room / LINE_LEAST < SYMBOLS ? reading.room / LINE_LEAST + 1 : SYMBOLS;
	kallsyms->settled.symbols.data = mem_alloc_table(symbols, sizeof(struct symbol));
	kallsyms->settled.symbols.cap = symbols;
	bool started = !pthread_create(&thread, NULL, read_text, &reading);
	if (!started)
		read_text(&reading);
	size_t parsed = 0;
	for (size_t whole; (whole = await_lines(&reading, parsed)) > parsed; parsed = whole)
		parse(kallsyms, kallsyms->text + parsed, kallsyms->text + whole, seen);
	if (started)
		pthread_join(thread, NULL);
	return reading.failure;
}

struct error *kallsyms_open(const char *path, struct kallsyms *ret)
{
	struct kallsyms kallsyms = {0};
	struct seen seen = {0};
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_system(errno, "%s", path);
	vec_push(&kallsyms.modules, NULL);
	int failure = read_lines(&kallsyms, fd, &seen);
	if (failure) {
		kallsyms_close(&kallsyms);
		return failure == -EFBIG ? error_new("%s: too large for a symbol list", path) : error_system(-failure, "%s", path);
	}
	kallsyms.restricted = seen.lines && !seen.addresses;
	symbol_builder_settle(&kallsyms.settled, true);
	*ret = kallsyms;
	return NULL;
}

/* Visits the whole lines of a block, and moves what is behind them to its beginning. At the end of the file the rest is a line, too. False
 * when the visitor has had enough. */
static bool visit_block(char *block, size_t *size, bool last, kallsyms_visitor visit, void *context)
{
	char *newline = memrchr(block, '\n', *size), *end = last ? block + *size : newline ? newline + 1 : block;
	char *at = block;
	struct line line;

	if (last)
		*end = '\0';
	while (next_line(&at, end, &line)) {
		if (line.module)
			line.module[strcspn(line.module, "]")] = '\0';
		if (!visit(context, line.address, line.type, line.name, line.module))
			return false;
	}
	*size -= (size_t)(end - block);
	memmove(block, end, *size);
	return true;
}

struct error *kallsyms_visit(const char *path, kallsyms_visitor visit, void *context)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_free char *block = mem_alloc(BLOCK + 1);
	size_t size = 0;

	if (fd < 0)
		return error_system(errno, "%s", path);
	for (bool more = true; more;) {
		ssize_t got = read(fd, block + size, BLOCK - size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_system(errno, "%s", path);
		size += (size_t)got;
		more = visit_block(block, &size, !got, visit, context) && got;
		if (size == BLOCK) /* no symbol has such a name */
			size = 0;
	}
	return NULL;
}

void kallsyms_close(struct kallsyms *kallsyms)
{
	free(kallsyms->text);
	symbol_builder_deinit(&kallsyms->settled);
	vec_deinit(&kallsyms->modules);
	*kallsyms = (struct kallsyms){0};
}

bool kallsyms_address(const struct kallsyms *kallsyms, const char *name, uint64_t *ret)
{
	*ret = 0;
	if (!strcmp(name, "_text"))
		*ret = kallsyms->text_start;
	else if (!strcmp(name, "_stext"))
		*ret = kallsyms->stext;
	else if (!strcmp(name, "_etext"))
		*ret = kallsyms->etext;
	for (size_t i = 0; !*ret && i < kallsyms->settled.symbols.len; i++) {
		const struct symbol *symbol = &kallsyms->settled.symbols.data[i];
		if (symbol->index || strcmp(symbol->name, name) != 0)
			continue;
		*ret = symbol->start;
	}
	return *ret;
}

void kallsyms_pick(const struct kallsyms *kallsyms, const char *module, uint64_t delta, struct symbol_builder *builder)
{
	uint32_t index = 1;
	while (index < kallsyms->modules.len && strcmp(kallsyms->modules.data[index], module) != 0)
		index++;
	for (size_t i = 0; i < kallsyms->settled.symbols.len; i++) {
		struct symbol symbol = kallsyms->settled.symbols.data[i];
		if (symbol.index != index)
			continue;
		symbol.start += delta;
		symbol.end += delta;
		vec_push(&builder->symbols, symbol);
	}
}

void kallsyms_give(struct kallsyms *kallsyms, uint64_t delta, struct symbol_builder *builder)
{
	struct symbol *symbols = kallsyms->settled.symbols.data;
	size_t kept = 0;
	for (size_t i = 0; i < kallsyms->settled.symbols.len; i++) {
		if (symbols[i].index)
			continue;
		symbols[kept] = symbols[i];
		symbols[kept].start += delta;
		symbols[kept++].end += delta;
	}
	*builder = kallsyms->settled;
	builder->symbols.len = kept;
	builder->text = take_pointer(kallsyms->text);
	kallsyms->settled = (struct symbol_builder){0};
	kallsyms_close(kallsyms);
}

struct wanted {
	const char *name;
	uint64_t address;
};

static bool look_for(void *context, uint64_t address, char type, const char *name, const char *module)
{
	struct wanted *wanted = context;

	if (module || strcmp(name, wanted->name) != 0)
		return true;
	wanted->address = address;
	return false;
}

bool kallsyms_read_address(const char *path, const char *name, uint64_t *ret)
{
	struct wanted wanted = {.name = name};

	error_free(kallsyms_visit(path, look_for, &wanted));
	if (wanted.address)
		*ret = wanted.address;
	return wanted.address != 0;
}
