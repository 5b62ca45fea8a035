/* Reading and writing of so many bytes, however many calls that takes: for pipes between our own processes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* False: an error, or an end before that; errno is 0 at an end. */
bool whole_read(int fd, void *data, size_t size);
bool whole_write(int fd, const void *data, size_t size);
