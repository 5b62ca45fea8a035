/* SHA-256 and HMAC-SHA-256 (FIPS 180-4, RFC 2104): for numbers that are to tell things apart and give nothing away. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32 };

void sha256(const void *data, size_t size, uint8_t ret[SHA256_SIZE]);
void sha256_hmac(const void *key, size_t key_size, const void *data, size_t size, uint8_t ret[SHA256_SIZE]);
