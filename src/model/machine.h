/* The machine: who ran where. Processes, threads, their names, what they had mapped, and the kernel's own map.
 *
 * Everything is asked "at time t" and append-only: entries are added in time order, never changed, and neither moved nor freed before the
 * machine (or its epoch, see below). So a finished machine is read by many threads without locks. Time 0 means "since ever".
 *  - A map is found as the newest entry that covers the address and isn't newer than t: the kernel never reports munmap.
 *  - fork copies nothing: the child starts with the very tree of the parent's maps at that time. exec changes no maps: what the old program
 * had mapped stays until something new covers it, as in the kernel's perf (a sample inside execve() still has the old program's return
 * address).
 *  - A reused pid is a new process with a later start. An exit ends nothing: samples of a dying thread come after it.
 * Strings are interned: equal names of threads have equal pointers, as have equal names of files.
 *
 * Guests whose own recordings were put into the host's (perf inject --guest-data) are machines, too: with threads, processes and a kernel
 * of their own, as the same numbers and addresses mean others there. Files of all of them are in one list, the host's, so that whoever has
 * something for each file needs to know nothing of guests.
 *
 *	host ── threads, maps, kernel        dsos: of the host and of guests
 *	 ├─ guest of process 8888 ── threads, maps, kernel
 *	 └─ guest of process 9999 ── …
 *
 * What runs for days has maps of processes wait until somebody asks for them (maps_wait): files are made then, and all answers about
 * addresses are what they would have been. And it forgets: machine_forget() ends an epoch of the model. What can still be asked for goes
 * over into the next one, all else is gone.
 */
#pragma once

#include "base/arena.h"
#include "base/buildid.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/untrusted.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum dso_kind {
	DSO_FILE,	   /* an ELF file (or what was mapped from a path) */
	DSO_KERNEL,	   /* [kernel.kallsyms] or vmlinux */
	DSO_KERNEL_MODULE, /* [name] or a .ko path */
	DSO_VDSO,
	DSO_BPF,     /* bpf_prog_… from KSYMBOL */
	DSO_KSYMBOL, /* other out-of-line kernel code */
	DSO_ANON,    /* //anon, [heap], [stack]: JIT code may live there (perf-PID.map) */
	DSO_JITDUMP, /* generated code, from a jitdump; dso addresses are offsets in it */
	DSO_GUEST_KERNEL,
	DSO_GUEST_MODULE,
	DSO_UNKNOWN,
};

struct symtab;	/* symbol/symtab.h */
struct jitdump; /* model/jitdump.h */
struct jitdump_code;

struct dso_place {
	uint32_t pid;
	uint64_t start, end;
};

/* A file (or what stands for one) that code is mapped from. One for each distinct (name, build-id, device/inode where known, pid for JIT).
 */
struct dso {
	unsigned int index; /* in machine->dsos; others may have had it before, machine->drops_files */
	enum dso_kind kind;
	const char *name;	 /* long name: the path as recorded; what files are looked for by */
	const char *script_name; /* what `perf script` prints in brackets: the name, but for modules without a path in the build-id table
				    "[module]" */
	const char *short_name;	 /* what the sort key "dso" shows: last component, "[module]", "[JIT] tid 17", "anon" for "//anon" */
	struct buildid build_id;
	uint32_t pid;	     /* a process that had it mapped: for /proc/PID/root and perf-PID.map; 0 = none */
	uint32_t guest_pid;  /* a guest's file, kernel or module: its hypervisor's process; 0 = the host's, or of any guest */
	bool kernel;	     /* in kernel space */
	uint64_t text_start; /* kernel, modules, BPF programs: address of the first map */
	uint64_t text_end;
	/* What the dso is known by besides its name; all 0 = unknown. */
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint64_t generation;	       /* the last machine->generation in which something had it mapped */
	bool header_build_id;	       /* build_id comes from the header's table */
	struct dso *next_same_name;    /* model: others of the same name */
	const struct jitdump *jitdump; /* DSO_JITDUMP */
	struct dso_place place;	       /* who had it mapped last, as far as anybody asked; pid 0 = unknown */
	/* Owned by the symbol layer; NULL until loaded, then never changed (published with release order). */
	struct symtab *_Atomic symtab;
	void *_Atomic unwind; /* what the unwinder keeps for the file: resolver_attachment() */
};

struct map {
	uint64_t start, end; /* addresses in the address space, end exclusive */
	uint64_t pgoff;
	uint64_t time; /* when it appeared; 0 = was there before the recording */
	struct dso *dso;
	uint32_t prot, flags; /* MMAP2, else 0 */
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	bool identity; /* kernel, perf-PID.map, BPF: symbols are by absolute address; else dso address = address - start + pgoff */
};

/* One address space. */
struct maps;

/* The newest entry at `time` that covers `addr`, or NULL. */
const struct map *maps_find(const struct maps *maps, uint64_t addr, uint64_t time);
/* Names a state of an address space: whenever two calls return the same number, maps_find() answers the same for both, even if the `maps`
 * differ (a child that has mapped nothing since its fork has its parent's epoch). 0 = empty. So (epoch, address) is a complete cache key.
 * NULL maps are empty. */
uint64_t maps_epoch(const struct maps *maps, uint64_t time);
/* An address space in one state, valid for the times from..last: for callers that ask for many addresses of it. All zero is the empty
 * one. */
struct maps_state {
	uint64_t epoch;
	uint64_t from, last;
	const struct maps_node *root;
};
struct maps_state maps_state_at(const struct maps *maps, uint64_t time);
/* As maps_find(); also for which addresses around `addr` the answer, NULL as well, is the same: [*ret_start, *ret_end). */
const struct map *maps_state_find(const struct maps_state *state, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end);
/* What is visible at `time`, in the order of the addresses: [start, end) is the part of `map` that nothing newer covers. Until visit
 * returns false. */
typedef bool (*maps_visitor)(const struct map *map, uint64_t start, uint64_t end, void *context);
void maps_visit(const struct maps *maps, uint64_t time, maps_visitor visit, void *context);

struct process;

struct thread_comm {
	uint64_t time;
	const char *name;
	bool exec;
};

struct thread {
	uint32_t pid, tid;
	uint64_t start; /* time of the fork; 0 = was there before */
	uint64_t exit;	/* UINT64_MAX = still there */
	uint32_t ppid;	/* the parent THREAD's id (as the kernel tool's --tasks has it); -1 = unknown */
	bool is_newest; /* of its tid, so far; threads that only samples mention are not */
	struct process *process;
	/* Names in the order of time; may be empty. Grown in the machine's arena. */
	struct thread_comm *comms;
	uint32_t comm_count, comm_capacity;
	const char *nameless; /* ":TID", for times before the first name; NULL when it has a name from its start on */
	struct thread *older; /* earlier thread with the same tid */
	struct thread *jump;  /* model: a shortcut along ->older */
	uint32_t depth;	      /* model: length of ->older */
	unsigned int index;   /* in machine->threads; UINT_MAX for threads that only samples mention */
};

/* What a NAMESPACES record says: device and inode of each namespace, by the kernel's numbering (NET, UTS, IPC, PID, USER, MNT, CGROUP). */
struct process_namespaces {
	struct process_namespaces *older;
	uint64_t time;
	uint64_t device[8], inode[8];
	uint32_t count;
};

struct process {
	uint32_t pid;
	uint64_t start;
	struct maps *maps;
	struct machine *machine;	       /* the host, or a guest */
	struct process_namespaces *namespaces; /* of the whole process, newest first; NULL = none recorded */
	struct thread *leader;		       /* NULL when pid is -1 */
};

struct machine {
	struct arena arena;    /* threads, processes and what they have mapped */
	struct intern strings; /* names of files and cgroups */
	struct intern names;   /* of threads */
	uint64_t generation;   /* how often machine_forget() was called: who keeps pointers into the model looks whether it has changed */
	struct map64 threads_by_tid; /* tid → struct thread *, newest; ->older leads back */
	VEC(struct thread *) threads;
	VEC(struct dso *) dsos;	  /* NULL where one has gone: machine_each_dso() */
	uint64_t drops;		  /* how often some have gone: who knows them by their indexes looks whether it has changed */
	bool drops_files;	  /* set by who keeps no dsos beyond an epoch but as a struct machine_holder: machine_forget() */
	bool maps_wait;		  /* what processes map is looked at when somebody asks, on one thread: most end before. Set at any time */
	struct maps *kernel_maps; /* kernel, modules, BPF, ksymbols */
	struct maps *guest_maps;  /* of guests: kernel and modules, as options say (symbol/kernel/guest_kernel.h), from the beginning on */
	struct map64 guests;	  /* those whose hypervisor's process is known, by its number: struct machine *; others have guest_maps */
	struct machine *host;	  /* of a guest: what it runs on; NULL = this is the host */
	uint32_t guest_pid;	  /* of a guest: its hypervisor's process on the host; else 0 */
	bool guest_code;	  /* what guests run lies in their hypervisor's memory, where it is for them */
	struct dso *kernel;	  /* NULL until seen */
	/* The symbol whose recorded address tells how far the kernel was moved from where vmlinux was linked ("_text", "_stext"); NULL or 0
	 * = unknown (0: kptr_restrict was on while recording). */
	const char *kernel_reloc_symbol;
	uint64_t kernel_reloc_address;
	uint64_t kernel_start;	/* address from which on it's kernel space, for deciding a mode where a record doesn't say */
	const char *os_release; /* of the recording, or NULL */
	const char *arch;	/* "x86_64", "aarch64", … */
	struct machine_private *private;
};

/* The one at `index` or the next one behind it, NULL = there is none. */
static inline struct dso *machine_next_dso(const struct machine *machine, size_t index)
{
	while (index < machine->dsos.len && !machine->dsos.data[index])
		index++;
	return index < machine->dsos.len ? machine->dsos.data[index] : NULL;
}
/* Goes through all dsos: machine_each_dso (dso, machine) write(dso->name); */
#define machine_each_dso(dso, machine) \
	for (struct dso *dso = machine_next_dso(machine, 0); dso; dso = machine_next_dso(machine, dso->index + (size_t)1))

/* Whether a file was mapped in this epoch or in the last one. Where maps wait it is only seen when somebody asks, which takes longer. */
static inline bool machine_saw_map_lately(const struct machine *machine, uint64_t generation, const struct dso *dso)
{
	enum { EPOCHS = 1, EPOCHS_WHERE_MAPS_WAIT = 4 };
	return dso->generation + (machine->maps_wait ? EPOCHS_WHERE_MAPS_WAIT : EPOCHS) >= generation;
}

struct machine *machine_create(void);
/* Guests go with their host. */
void machine_destroy(struct machine *machine);
/* The guest whose hypervisor has that process on the host; made when there is none. */
struct machine *machine_add_guest(struct machine *host, uint32_t pid);
/* The same of one that is there already, and for 0, and where there is none, the host itself: never NULL. */
static inline struct machine *machine_of_guest(struct machine *host, uint32_t pid)
{
	const uint64_t *slot = pid ? map64_find(&host->guests, pid) : NULL;
	return slot ? (struct machine *)(uintptr_t)*slot : host;
}

/* The thread `tid` at `time`; NULL when no record ever mentioned it. Safe in parallel on a finished machine. */
struct thread *machine_thread(const struct machine *machine, uint32_t tid, uint64_t time);
/* The same of a process (`pid` may be -1), but makes a nameless one (":TID") when there is none; never NULL. On a finished machine safe in
 * parallel (no lock once the thread is made). */
struct thread *machine_thread_or_new(struct machine *machine, uint32_t pid, uint32_t tid, uint64_t time);
/* The same on a machine that is only resting: safe in parallel. The first record that speaks of the thread takes it into the machine. */
struct thread *machine_thread_or_placeholder(struct machine *machine, uint32_t pid, uint32_t tid, uint64_t time);
/* Its name at `time`: the newest comm not newer; else ":TID". Interned. */
const struct untrusted *thread_comm(const struct thread *thread, uint64_t time);
/* The same, but a thread that got its first name later is called by that one already: how the kernel's report shows it. */
const struct untrusted *thread_comm_settled(const struct thread *thread, uint64_t time);
/* The address space of the thread's process; never NULL. */
static inline const struct maps *thread_maps(const struct thread *thread)
{
	return thread->process->maps;
}
/* By where it is in memory, for addresses that come without a mode: branches, parts of chains. */
static inline bool machine_is_kernel_address(const struct machine *machine, uint64_t address)
{
	return machine->kernel_start && address >= machine->kernel_start;
}
/* By mode: kernel maps for kernel addresses, the thread's for user ones, those of guests for their kernel; NULL where nothing is known.
 * `machine` is the host. A guest's thread, which its recording tells of, has that guest's maps whether the mode says so or not. */
const struct maps *machine_maps(const struct machine *machine, const struct thread *thread, uint8_t cpumode);
/* The path of a cgroup id; NULL when unknown. */
const struct untrusted *machine_cgroup(const struct machine *machine, uint64_t id);

/* Building it, in time order (ties: file order); only while one thread owns the machine. session/apply.c translates records into these
 * calls. pid or tid -1 (records about no process) change nothing. */
struct map_description {
	uint32_t pid, tid;
	uint64_t start, end, pgoff;
	const char *name;
	struct buildid build_id;
	uint32_t prot, flags, major, minor;
	uint64_t inode, inode_generation;
};
void machine_add_map(struct machine *machine, const struct map_description *description, uint64_t time);
/* The file that such a map would be of, though nobody has mapped it yet. */
struct dso *machine_file(struct machine *machine, const struct map_description *description);
/* The kernel of guests, and a module of it: before any record. `pid`: of the guest's hypervisor; 0 = of all that aren't known by theirs. */
void machine_add_guest_kernel(struct machine *machine, uint32_t pid, uint64_t start, uint64_t end);
void machine_add_guest_module(struct machine *machine, uint32_t pid, const char *name, uint64_t start, uint64_t end);
/* The kernel and its modules: MMAP records of kernel mode; "[kernel.kallsyms]_text", "[module]" and module paths. */
void machine_add_kernel_map(struct machine *machine, const struct map_description *description, uint64_t time);
/* A jitdump, of which `dump` is a part; the machine owns it from now on. */
struct dso *machine_add_jitdump(struct machine *machine, uint32_t pid, const struct jitdump *dump);
/* A piece of its code is at `address` of the process from `time` on. */
void machine_add_jit_code(struct machine *machine, struct process *process, struct dso *dso, uint64_t address,
			  const struct jitdump_code *code, uint64_t time);
/* A map of a process that hides no code of its jitdumps: it goes around it. */
void machine_add_map_around_code(struct machine *machine, const struct map_description *description, uint64_t time);
/* The process that has the id now; made when there is none. */
struct process *machine_process(struct machine *machine, uint32_t pid);
void machine_add_comm(struct machine *machine, uint32_t pid, uint32_t tid, const char *name, bool exec, uint64_t time);
/* `copies_maps` false: a fork that was made up for a process that ran already; its maps are reported one by one. */
void machine_add_fork(struct machine *machine, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid, bool copies_maps, uint64_t time);
void machine_add_exit(struct machine *machine, uint32_t tid, uint64_t time);
void machine_add_ksymbol(struct machine *machine, uint64_t address, uint32_t length, const char *name, bool bpf, bool unregister,
			 uint64_t time);
void machine_add_cgroup(struct machine *machine, uint64_t id, const char *path);
void machine_add_namespaces(struct machine *machine, uint32_t pid, uint32_t tid, const struct process_namespaces *namespaces);
/* An entry of the header's build-id table: makes the dso, and holds for later maps of that name that bring no build-id of their own.
 * `guest`: of a guest's kernel that nothing more is known of; those of a known guest are told to its machine. */
void machine_note_build_id(struct machine *machine, const char *filename, const struct buildid *id, bool kernel, bool guest);
/* Forgets what isn't asked for any more by those who ask with times from `since` on: threads that ended before (a leader stays as long as
 * its process has others), bearers of ids that others have had since, their names and maps, earlier names and maps of all. `gone`, which
 * may be NULL, is asked of each thread that started before and whose end no record told: true when there is no such thread any more.
 *
 * Threads, processes, maps and names of threads move: pointers to them from before are void, and numbers of maps_epoch() aren't used again.
 * Dsos and names of files and cgroups stay where they are; dso->generation tells since when nothing has had a map of one. With
 * machine->drops_files those go, with their names, that nothing has had a map of for a whole epoch (four where maps wait) and that have no
 * symbols (any more), and their indexes are used again. Not after machine_finish(). */
void machine_forget(struct machine *machine, uint64_t since, bool (*gone)(void *context, const struct thread *thread), void *context);
/* Who has pointers into the machine and wants to keep what they point to: is called while an epoch ends, and has each of them renewed. */
struct carrying;
struct machine_holder {
	void (*carry)(void *context, struct carrying *carrying);
	void *context;
};
void machine_forget_but(struct machine *machine, uint64_t since, bool (*gone)(void *context, const struct thread *thread), void *context,
			const struct machine_holder *holder);
/* What takes the place of a thread, a map, a name of a thread. A thread that isn't there any more but for holders is found by nobody else,
 * and has no maps. */
const struct thread *machine_carry_thread(struct carrying *carrying, const struct thread *thread);
const struct map *machine_carry_map(struct carrying *carrying, const struct map *map);
const struct untrusted *machine_carry_name(struct carrying *carrying, const struct untrusted *name);
/* A dso, which stays where it is, is kept; NULL is none. */
void machine_carry_file(struct carrying *carrying, const struct dso *dso);
/* Whether a dso stays though this holder doesn't carry it, which is known when all that he does carry has been. If not, he forgets it: it
 * goes with this epoch, or one of the next ones. */
bool machine_keeps_file(const struct carrying *carrying, const struct dso *dso);
/* Whether that is worth while: threads, maps and names need twice as much as after the last time, and 4 MB more. */
bool machine_has_grown(const struct machine *machine);
/* From now on nothing is added: asking is safe from many threads. */
void machine_finish(struct machine *machine);

/* The address by which a dso's symbols are looked up ("map ip"): file offset based for files, absolute for identity maps. */
static inline uint64_t map_to_dso(const struct map *map, uint64_t addr)
{
	return map->identity ? addr : addr - map->start + map->pgoff;
}
