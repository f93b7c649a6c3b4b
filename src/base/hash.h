/* FNV-1a, 64 bits; must not be used where an attacker could forge collisions. Values that differ in
 * their last byte differ in few low bits only: fold or mix before use. Pure. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(14695981039346656037)

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size);
/* Adds the text and its end: "ab", "c" and "a", "bc" differ. */
uint64_t hash_add(uint64_t hash, const char *text);
uint64_t hash_text(const char *text);

#endif
