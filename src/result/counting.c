/* Making and releasing counting results. */
#include "result/counting.h"

struct counting *counting_create(void)
{
	struct counting *counting = mem_zalloc(sizeof(*counting));
	counting->subject_id = "event";
	return counting;
}

void counting_destroy(struct counting *counting)
{
	if (!counting)
		return;
	vec_deinit(&counting->rows);
	vec_deinit(&counting->remarks);
	arena_deinit(&counting->arena);
	free(counting);
}
