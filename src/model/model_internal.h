/* What the files of the model share and nobody else sees. */
#pragma once

#include "model/machine.h"

#include <pthread.h>
#include <stdatomic.h>

/* Which has what all share: files, their names, numbers of address spaces. */
static inline struct machine *machine_host(struct machine *machine)
{
	return machine->host ? machine->host : machine;
}

/* ---- maps.c ---- */

struct maps_node;

/* A state of an address space, from `time` to the next version's. */
struct maps_version {
	uint64_t time;
	uint64_t epoch;
	const struct maps_node *root;
};

struct maps {
	struct machine *machine;
	struct maps_version *versions;
	uint32_t count, capacity;
	uint32_t edit;	 /* nodes with this mark belong to the newest version alone and may still be changed; 0 = none may */
	bool waits;	 /* there are notes that versions haven't been made of, of its own or of the parent's: waiting.c */
	bool has_forked; /* among the notes */
	struct maps_note *first_note, *last_note;
	struct maps *parent; /* its first version is in the notes of this one; NULL = it has it */
};

struct maps *maps_create(struct machine *machine);
/* Of the newest state: the map of the lowest piece that begins above `addr`, or NULL. */
const struct map *maps_next(const struct maps *maps, uint64_t addr);
/* Puts `map` over what was there. */
void maps_insert(struct maps *maps, const struct map *map);
/* Takes [start, end) away. */
void maps_remove(struct maps *maps, uint64_t start, uint64_t end, uint64_t time);
/* `child`, which must be new, starts as `parent` is at the time of its newest version. */
void maps_inherit(struct maps *child, struct maps *parent, uint64_t time);
/* The same of a parent that has no notes. */
void maps_inherit_now(struct maps *child, struct maps *parent, uint64_t time);

/* ---- waiting.c ---- */

/* What is to be made of it when somebody asks: in the order of time. */
void maps_note_map(struct maps *maps, const struct map_description *from, uint64_t time);
void maps_note_fork(struct maps *parent, struct maps *child, uint64_t time);
/* Makes versions of all that is noted. */
void maps_settle(struct maps *maps);
/* Whether maps_carry() may take the notes along: they speak of no other address space, and nobody else's does of this one. */
bool maps_notes_move(const struct maps *maps);
void maps_carry_notes(struct maps *maps, const struct maps *from);

/* ---- machine.c ---- */

/* A map of a process, with its file. */
void machine_make_map(struct maps *maps, const struct map_description *description, uint64_t time);

/* Going over into the next epoch (forget.c): everything that is kept is copied once. */
struct carrying {
	struct machine *machine;
	uint64_t since;
	struct map64 moved;  /* address of a process, map or node → its copy's */
	struct map64 epochs; /* of address spaces: number → new number */
};

/* A copy of `from` with its states from the time `since` on. */
struct maps *maps_carry(struct carrying *carrying, const struct maps *from);

/* ---- dso.c ---- */

/* The dso that a map is of, made on first use. */
struct dso *dso_for_map(struct machine *machine, const struct map_description *description);
struct dso *dso_for_module(struct machine *machine, const struct map_description *description);
struct dso *dso_for_kernel(struct machine *machine, const struct map_description *description);
/* A new one in any case. */
struct dso *dso_for_jitdump(struct machine *machine, const struct jitdump *dump, uint32_t pid);
/* A new one in any case, of a guest's kernel. */
struct dso *dso_for_guest(struct machine *machine, const char *name, enum dso_kind kind);
/* The kernel itself of a guest, or, of the host, of any of its guests. */
struct dso *dso_for_guest_kernel(struct machine *machine);
/* A new one in any case, known by its address. */
struct dso *dso_for_ksymbol(struct machine *machine, const char *name, bool bpf);
void dso_destroy(struct dso *dso);
/* Memory that isn't from a file: addresses have no meaning relative to it. */
bool dso_name_is_anonymous(const char *name);

/* ---- forget_files.c ---- */

void machine_forget_files(struct machine *machine);

/* ---- thread.c ---- */

/* The newest thread of that id, made when there is none. */
struct thread *machine_current_thread(struct machine *machine, uint32_t pid, uint32_t tid);
/* Makes `thread`, which is in no table, the newest bearer of its id. */
void thread_enter(struct machine *machine, struct thread *thread);

/* Threads that only samples mention, found by workers at the same time. Readers take no lock: the table is replaced, never changed but from
 * empty to used. */
struct placeholder_table {
	size_t mask;
	struct placeholder_table *older; /* kept until the end: a reader may still be in it */
	struct thread *_Atomic slots[];
};

struct placeholders {
	pthread_mutex_t lock;
	struct placeholder_table *_Atomic table;
	size_t count;
};

struct machine_private {
	bool finished;
	size_t kept;	 /* bytes that were left when the last epoch ended */
	uint64_t time;	 /* of the newest addition */
	uint64_t epochs; /* given out so far */
	uint32_t edits;
	struct map64 dsos_by_name; /* interned name → struct dso *, oldest */
	struct map64 dsos_by_id;   /* hash of name and identity → struct dso * */
	struct map64 modules;	   /* interned "[name]" → struct dso * */
	struct map64 cgroups;	   /* id → interned path */
	struct dso *vdso;
	VEC(unsigned int) free_numbers; /* of dsos that have gone */
	struct placeholders placeholders;
};

/* Forgets all placeholders: nobody has one. */
void placeholders_drop(struct placeholders *placeholders);

/* `time`, or the time of the newest addition when that is later: the model is added to in the order of time. */
uint64_t machine_advance(struct machine *machine, uint64_t time);
