/* Who has a file mapped, and where: there it can be opened, whatever its name leads to: when it was deleted, replaced by another one, is in
 * another mount namespace, or has no name at all (memfd). */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "model/machine.h"
#include "perfdata/records.h"

struct mapped_file {
	uint32_t pid;
	uint64_t start, end;
};

/* All zero is empty. */
struct mapped_files {
	struct map64 index; /* private: by a hash of device and inode */
	VEC(struct mapped_file) list;
};
void mapped_files_deinit(struct mapped_files *files);

/* A record of side-band; of a file the newest one counts. */
void mapped_files_note(struct mapped_files *files, const struct record_header *header);
/* Part of a struct machine_holder, of the machine that has the same maps: only files that it keeps are known from now on. */
void mapped_files_carry(struct mapped_files *files, const struct machine *machine, const struct carrying *carrying);
/* For symbol_options.mapped_path; the context is a struct mapped_files. */
char *mapped_files_path(void *context, const struct dso *dso);
