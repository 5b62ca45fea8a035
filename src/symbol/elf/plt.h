/* Names for the entries of the procedure linkage table: "puts@plt". */
#pragma once

#include "symbol/elf/elf.h"
#include "symbol/symtab.h"

/* Adds them at their file offsets. Their names are owned by the builder. */
void plt_symbols_add(const struct elf_file *elf, struct symbol_builder *builder);

/* Which names the dynamic linker puts the addresses of into which slots (the global offset table). */
struct plt_slots;
/* `elf` must stay open. */
struct plt_slots *plt_slots_create(const struct elf_file *elf);
void plt_slots_destroy(struct plt_slots *slots);
/* The name for the slot at a virtual address, NULL when none goes there. */
const char *plt_slot_name(const struct plt_slots *slots, uint64_t address);
/* The virtual address that a slot has of something in the file itself; false when none is put there. */
bool plt_slot_target(const struct plt_slots *slots, uint64_t address, uint64_t *ret);
