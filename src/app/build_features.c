/* The table of what this build contains (build_features.h). A row tells whether the thing can be done, by the library of that name or by
 * code of our own: tracepoints are read and stacks are unwound without libtraceevent and libunwind. A library that gets optional becomes a
 * row that follows its meson option. */
#include "app/build_features.h"

#include <stddef.h>

#ifdef HAVE_BPF
#define BPF true
#else
#define BPF false
#endif
#ifdef HAVE_LIBPERL
#define LIBPERL true
#else
#define LIBPERL false
#endif
#ifdef HAVE_NCURSES
#define NCURSES true
#else
#define NCURSES false
#endif
#ifdef HAVE_LIBPFM
#define LIBPFM true
#else
#define LIBPFM false
#endif

#ifdef LIBOPENCSD
#define OPENCSD true
#else
#define OPENCSD false
#endif

const struct build_feature build_features[] = {
	{"aio", "HAVE_AIO_SUPPORT", true},
	{"auxtrace", "HAVE_AUXTRACE_SUPPORT", true},
	{"bpf", "HAVE_LIBBPF_SUPPORT", BPF},
	{"bpf_skeletons", "HAVE_BPF_SKEL", BPF},
	{"debuginfod", "HAVE_DEBUGINFOD_SUPPORT", true},
	{"dwarf", "HAVE_DWARF_SUPPORT", true},
	{"dwarf_getlocations", "HAVE_DWARF_GETLOCATIONS_SUPPORT", true},
	{"dwarf-unwind", "HAVE_DWARF_UNWIND_SUPPORT", true},
	{"libbfd", "HAVE_LIBBFD_SUPPORT", false},
	{"libcapstone", "HAVE_LIBCAPSTONE_SUPPORT", true},
	{"libcrypto", "HAVE_LIBCRYPTO_SUPPORT", false},
	{"libdw-dwarf-unwind", "HAVE_DWARF_SUPPORT", false},
	{"libelf", "HAVE_LIBELF_SUPPORT", true},
	{"libncurses", "HAVE_NCURSES_SUPPORT", NCURSES},
	{"libnuma", "HAVE_LIBNUMA_SUPPORT", false},
	{"libopencsd", "HAVE_CSTRACE_SUPPORT", OPENCSD},
	{"libperl", "HAVE_LIBPERL_SUPPORT", LIBPERL},
	{"libpfm4", "HAVE_LIBPFM", LIBPFM},
	{"libpython", "HAVE_LIBPYTHON_SUPPORT", true},
	{"libslang", "HAVE_SLANG_SUPPORT", false},
	{"libtraceevent", "HAVE_LIBTRACEEVENT", true},
	{"libunwind", "HAVE_LIBUNWIND_SUPPORT", false},
	{"lzma", "HAVE_LZMA_SUPPORT", true},
	{"zlib", "HAVE_ZLIB_SUPPORT", true},
	{"zstd", "HAVE_ZSTD_SUPPORT", true},
	{NULL, NULL, false},
};
