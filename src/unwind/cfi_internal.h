/* What entries of call frame information say. Private to this folder. */
#pragma once

#include "base/cursor.h"
#include "unwind/cfi.h"

/* What functions share. */
struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint8_t pointer_encoding; /* DW_EH_PE_* of the FDEs' addresses */
	uint8_t address_size;
	bool augmented; /* FDEs have augmentation data */
	bool signal_frame;
	struct cursor program;
};

/* A function. */
struct cfi_fde {
	struct cfi_cie cie;
	uint64_t start, end;
	struct cursor program;
};

/* A pointer by its DW_EH_PE_ encoding. Indirect ones would need the running process's memory: the address of the pointer is not useful. */
uint64_t cfi_read_pointer(const struct cfi_section *section, struct cursor *at, uint8_t encoding, unsigned int address_size);
/* False: the entry is broken. */
bool cfi_read_fde(const struct cfi_section *section, uint64_t offset, struct cfi_fde *ret);
