/* Guards that release a local variable when it goes out of scope, and the way to hand it out of the scope. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define cleanup(function) __attribute__((cleanup(function)))
#define cleanup_free cleanup(cleanup_free_pointer)
#define cleanup_close cleanup(cleanup_close_fd)
#define cleanup_fclose cleanup(cleanup_fclose_file)

/* The value of a guarded pointer, which is set to NULL: the guard lets go of it. */
#define take_pointer(pointer)                   \
	({                                      \
		__auto_type taken_ = (pointer); \
		(pointer) = NULL;               \
		taken_;                         \
	})

/* The same for a file descriptor: -1 is left behind. */
#define take_fd(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})
