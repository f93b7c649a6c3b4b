/* SHA-256 as text, for keys of maps: secrets are found by it, and not kept. */
#ifndef NET_SHA256_H
#define NET_SHA256_H

#define SHA256_TEXT_SIZE 65 /* 64 digits and NUL */

void sha256_text(const char *text, char ret_digits[static SHA256_TEXT_SIZE]);

#endif
