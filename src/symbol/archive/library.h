/* libarchive, loaded when an archive is written or read: with what it needs itself it would be a third of the time that any command
 * takes to start. */
#pragma once

#include "base/error.h"

#include <archive.h>
#include <archive_entry.h>

/* clang-format off */
#define LIBARCHIVE_FUNCTIONS(X) \
	X(entry_filetype) X(entry_free) X(entry_hardlink) X(entry_new) X(entry_pathname) X(entry_set_filetype) X(entry_set_mtime) \
	X(entry_set_pathname) X(entry_set_perm) X(entry_set_size) X(entry_set_symlink) X(entry_size) X(entry_symlink) \
	X(error_string) X(read_data) X(read_free) X(read_new) X(read_next_header) X(read_open) X(read_open_filename) \
	X(read_support_filter_bzip2) X(read_support_filter_gzip) X(read_support_filter_xz) X(read_support_filter_zstd) \
	X(read_support_format_tar) X(write_add_filter_bzip2) X(write_add_filter_gzip) X(write_add_filter_none) \
	X(write_add_filter_xz) X(write_add_filter_zstd) X(write_close) X(write_data) X(write_free) X(write_header) X(write_new) \
	X(write_open_FILE) X(write_set_bytes_in_last_block) X(write_set_format_pax_restricted)
/* clang-format on */

/* libarchive()->read_new() is archive_read_new(). */
struct libarchive {
#define LIBARCHIVE_MEMBER(name) __typeof__(archive_##name) *name;
	LIBARCHIVE_FUNCTIONS(LIBARCHIVE_MEMBER)
#undef LIBARCHIVE_MEMBER
};

/* Comes before the first call of libarchive(). Says what is missing where the library can't be loaded. */
struct error *libarchive_load(void);
const struct libarchive *libarchive(void);
