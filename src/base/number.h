/* Numbers in text, read strictly: the whole string must be one. All return false and leave the result alone when it is not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal, 0x hexadecimal, 0 octal. */
bool number_parse_u64(const char *text, uint64_t *ret);
bool number_parse_s64(const char *text, int64_t *ret);
bool number_parse_u32(const char *text, uint32_t *ret);
bool number_parse_double(const char *text, double *ret);
/* Hexadecimal digits, with or without 0x. */
bool number_parse_hex(const char *text, uint64_t *ret);
/* Bytes: 512, 16K, 4M, 1G (also B, KB, MB …), powers of 1024. */
bool number_parse_size(const char *text, uint64_t *ret);
/* Nanoseconds: 10ns 5us 3ms 2s 1m 1h; without a unit: milliseconds when `default_unit` is "ms", and so on. */
bool number_parse_duration(const char *text, const char *default_unit, uint64_t *ret_ns);
/* A time stamp "SECONDS[.FRACTION]" in nanoseconds. */
bool number_parse_timestamp(const char *text, uint64_t *ret_ns);

/* A list "0-3,7" as a sorted array without repeats, freed by the caller. */
bool number_parse_list(const char *text, int **ret, size_t *ret_count);

/* "1.2 MB" style, for people: two significant places, powers of 1024. Returns `buffer`. */
const char *number_format_bytes(uint64_t bytes, char buffer[16]);
/* "1,234,567". Returns `buffer`. */
const char *number_format_grouped(uint64_t value, char buffer[32]);
