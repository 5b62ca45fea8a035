/* Profiles: storage only. */
#include "result/profile.h"

#include <stdlib.h>

void profile_destroy(struct profile_page *profile)
{
	if (!profile)
		return;
	for (size_t i = 0; i < profile->events.len; i++) {
		struct profile_event *event = &profile->events.data[i];
		vec_deinit(&event->frames);
		vec_deinit(&event->nodes);
		vec_deinit(&event->cells);
		vec_deinit(&event->threads);
		vec_deinit(&event->cpus);
	}
	for (size_t i = 0; i < profile->annotations.len; i++)
		annotation_destroy(profile->annotations.data[i]);
	vec_deinit(&profile->facts);
	vec_deinit(&profile->events);
	vec_deinit(&profile->annotations);
	arena_deinit(&profile->arena);
	free(profile);
}
