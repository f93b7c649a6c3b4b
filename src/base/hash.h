/* A hash of a text; must not be used where an attacker could forge collisions. Pure. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

/* FNV-1a. Texts that differ in their last byte differ in few low bits only: fold or mix before
 * use. */
uint64_t hash_text(const char *text);

#endif
