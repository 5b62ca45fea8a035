/* Maps that nobody has looked at yet.
 *
 * Problem: on a machine that is watched for days most processes end without a sample of theirs. What each of them maps makes files, names
 * and trees nevertheless, which is most of what the model costs where processes come and go.
 *
 * Idea: what is told of an address space is noted, in its order, and made into versions of it (maps.c) when somebody asks. So is a fork, in
 * the parent's notes: the child gets its first version when the parent's notes have come to that place. Whoever asks for the child has its
 * ancestors' notes made first:
 *
 *	parent's notes   map ── map ── fork ── map            child's notes   map ── map
 *	                                │                                      ▲
 *	                                └── what the child begins with ────────┘
 *
 * So the answers are those of a model that is told at once. Notes lie in the machine's arena and go with their epoch: a process that lives
 * on then has them made; those of one that ended just now go over. */
#include "base/mem.h"
#include "model/model_internal.h"

#include <string.h>

struct maps_note {
	struct maps_note *next;
	uint64_t time;
	struct maps *child; /* the one that was forked then; NULL: a map, of which there is more */
};

/* There are some for each process: no larger than it must be. */
struct noted_map {
	struct maps_note note;
	uint64_t start, end, pgoff;
	uint64_t inode, inode_generation;
	uint32_t pid, prot, flags, major, minor;
	struct buildid build_id;
	char name[];
};

static struct map_description describe(const struct maps_note *note)
{
	const struct noted_map *map = (const void *)note;
	return (struct map_description){
		.pid = map->pid,
		.tid = map->pid,
		.start = map->start,
		.end = map->end,
		.pgoff = map->pgoff,
		.name = map->name,
		.build_id = map->build_id,
		.prot = map->prot,
		.flags = map->flags,
		.major = map->major,
		.minor = map->minor,
		.inode = map->inode,
		.inode_generation = map->inode_generation,
	};
}

static void add_note(struct maps *maps, struct maps_note *note)
{
	maps->has_forked |= note->child != NULL;
	note->next = NULL;
	if (maps->first_note)
		maps->last_note->next = note;
	else
		maps->first_note = note;
	maps->last_note = note;
	maps->waits = true;
}

void maps_note_map(struct maps *maps, const struct map_description *from, uint64_t time)
{
	if (from->start >= from->end)
		return;
	size_t size = strlen(from->name) + 1;
	struct noted_map *map = arena_alloc(&maps->machine->arena, offsetof(struct noted_map, name) + size);
	*map = (struct noted_map){
		.note.time = time,
		.start = from->start,
		.end = from->end,
		.pgoff = from->pgoff,
		.inode = from->inode,
		.inode_generation = from->inode_generation,
		.pid = from->pid,
		.prot = from->prot,
		.flags = from->flags,
		.major = from->major,
		.minor = from->minor,
		.build_id = from->build_id,
	};
	memcpy(map->name, from->name, size);
	add_note(maps, &map->note);
}

void maps_note_fork(struct maps *parent, struct maps *child, uint64_t time)
{
	struct maps_note *note = arena_alloc(&parent->machine->arena, sizeof(*note));
	note->time = time;
	note->child = child;
	add_note(parent, note);
	child->parent = parent;
	child->waits = true;
}

/* Its parent's have been made. */
static void make_versions(struct maps *maps)
{
	const struct maps_note *note = maps->first_note;
	maps->first_note = maps->last_note = NULL;
	maps->waits = maps->has_forked = false;
	for (; note; note = note->next) {
		if (!note->child) {
			const struct map_description map = describe(note);
			machine_make_map(maps, &map, note->time);
			continue;
		}
		note->child->parent = NULL;
		note->child->waits = note->child->first_note != NULL;
		maps_inherit_now(note->child, maps, note->time);
	}
}

void maps_settle(struct maps *maps)
{
	VEC(struct maps *) line = {0};
	for (struct maps *each = maps; each && each->waits; each = each->parent)
		vec_push(&line, each);
	while (line.len)
		make_versions(line.data[--line.len]);
	vec_deinit(&line);
}

bool maps_notes_move(const struct maps *maps)
{
	return !maps->parent && !maps->has_forked;
}

void maps_carry_notes(struct maps *maps, const struct maps *from)
{
	for (const struct maps_note *note = from->first_note; note; note = note->next) {
		const struct map_description map = describe(note);
		maps_note_map(maps, &map, note->time);
	}
}
