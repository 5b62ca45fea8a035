/* Frames without a function's name that a database has, and names for them. A frame has the build-id of its file and the virtual address in
 * it; who finds the file can name it, whenever that is. A row with a name takes the place of those without: its version is higher. */
#pragma once

#include "base/arena.h"
#include "base/buildid.h"
#include "base/error.h"
#include "base/vec.h"
#include "fleet/clickhouse/connection.h"

#include <stddef.h>
#include <stdint.h>

/* Added to the version of frames with a name, which is their day. */
enum { CLICKHOUSE_NAMED = 1 << 20 };

struct unnamed_file {
	char build_id[41]; /* hexadecimal */
	const char *file;  /* its path, on some of the machines */
	uint64_t frames;
};

struct unnamed_frame {
	uint64_t id, address;
	const char *function; /* NULL: to be found out */
	uint16_t day;
	uint8_t kind, inlined;
};

struct unnamed {
	struct arena arena;
	VEC(struct unnamed_file) files; /* most frames first */
	VEC(struct unnamed_frame) frames;
};

/* All zero is empty. */
void unnamed_deinit(struct unnamed *unnamed);
/* Files of programs, not of the kernel, whose addresses only its machine knows. */
struct error *clickhouse_ask_unnamed_files(struct clickhouse *clickhouse, struct unnamed *ret);
/* Of one of the files, in place of those that were there. */
struct error *clickhouse_ask_unnamed_frames(struct clickhouse *clickhouse, const struct unnamed_file *file, struct unnamed *ret);
/* Stores those that have a name by now. */
struct error *clickhouse_name_frames(struct clickhouse *clickhouse, const struct unnamed_file *file, const struct unnamed *unnamed);
