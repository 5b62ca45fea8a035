/* A type of data, member by member, with how often each of them was accessed. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "result/annotation.h"

struct type_field {
	const char *name, *type; /* name "": the whole type, or a member without one */
	const char *path;	 /* "at.x", "" of the whole type */
	uint64_t offset, size;
	unsigned int depth; /* 0: the whole type, the first of the fields */
	bool opens;	    /* those of larger depth behind it are within it */
};

/* Texts are owned by `arena` or live as long as what it was made from; unsafe bytes are still in them. */
struct type_layout {
	struct arena arena;
	const char *type, *dso;
	VEC(struct type_field) fields;
	struct annotation_event *events; /* `local`: of the type */
	size_t event_count;
	const char *events_name;
	bool says_events;		 /* which events it is about: there are more */
	struct annotation_value *values; /* fields × events; of members of a union each has all */
	enum annotation_show show;
	bool global, hits; /* as in struct annotation_style */
};

struct type_layout *type_layout_create(void);
void type_layout_destroy(struct type_layout *layout);

static inline const struct annotation_value *type_layout_value(const struct type_layout *layout, size_t field, size_t event)
{
	return &layout->values[field * layout->event_count + event];
}

double type_layout_percent(const struct type_layout *layout, const struct annotation_value *value, size_t event);
/* A row for each field, for programs. Destroy it before the layout. */
struct table *type_layout_table(const struct type_layout *layout);
