/* What perf does by instructions of the processor it is built for. An architecture without its block takes the last one, which does
 * without. */
#pragma once

#include "arch/arch.h"

#if defined(__x86_64__) || defined(__i386__)

#ifdef __x86_64__
#define ARCH_OWN (&arch_x86_64)
#else
#define ARCH_OWN (&arch_i386)
#endif

/* Tells the processor that a loop waits for another thread. */
static inline void own_relax(void)
{
	__builtin_ia32_pause();
}

/* The CPU's own counter of time, that of the kernel's clock (perf_event_mmap_page: time_mult, time_shift). False where there is none that
 * may be read. */
static inline bool own_counter(uint64_t *ret)
{
	*ret = __builtin_ia32_rdtsc();
	return true;
}

#elif defined(__aarch64__)

#define ARCH_OWN (&arch_aarch64)

static inline void own_relax(void)
{
	__asm__ volatile("yield");
}

static inline bool own_counter(uint64_t *ret)
{
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(*ret));
	return true;
}

#else

static inline void own_relax(void)
{
}

static inline bool own_counter(uint64_t *ret)
{
	return false;
}

#endif
