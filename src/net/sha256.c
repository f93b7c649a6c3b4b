#include "net/sha256.h"

#include <openssl/evp.h>
#include <stddef.h>
#include <string.h>

#include "base/check.h"

void sha256_text(const char *text, char ret_digits[static SHA256_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned size = 0;

	CHECK(EVP_Digest(text, strlen(text), bytes, &size, EVP_sha256(), NULL) == 1);
	CHECK(size * 2 + 1 == SHA256_TEXT_SIZE);
	for (size_t i = 0; i < size; i++) {
		ret_digits[2 * i] = digits[bytes[i] >> 4];
		ret_digits[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_digits[2 * (size_t)size] = '\0';
}
