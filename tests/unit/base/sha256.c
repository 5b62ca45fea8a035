/* Against the examples of FIPS 180-2 (appendix B) and RFC 4231. */
#include "base/formats/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void check(const uint8_t hash[SHA256_SIZE], const char *expected)
{
	char text[2 * SHA256_SIZE + 1];
	for (size_t i = 0; i < SHA256_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	assert_string_equal(text, expected);
}

static void test_hash(void **state)
{
	static const struct {
		const char *text, *hash;
	} known[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	uint8_t hash[SHA256_SIZE];
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		sha256(known[i].text, strlen(known[i].text), hash);
		check(hash, known[i].hash);
	}
}

static void test_hmac(void **state)
{
	uint8_t hash[SHA256_SIZE], key[131];
	static const char large[] = "Test Using Larger Than Block-Size Key - Hash Key First";
	sha256_hmac("Jefe", 4, "what do ya want for nothing?", 28, hash);
	check(hash, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	sha256_hmac(key, sizeof(key), large, strlen(large), hash);
	check(hash, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int base_sha256_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_hmac),
	};
	return cmocka_run_group_tests_name("base/sha256", tests, NULL, NULL);
}
