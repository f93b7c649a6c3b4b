/* What may be secret in text that goes into a file for others: told by names, as users write them.
 * A value under an innocent name is not found; so where nothing decides by a value, codec writes none. */
#ifndef CODEC_OBJECTS_REDACT_H
#define CODEC_OBJECTS_REDACT_H

#include <stdbool.h>

#include "base/arena.h"

/* The name of a flag, variable or parameter that holds a password, token, secret or key. */
bool redact_name(const char *name);

/* A word or line of a command with such values replaced: "--token=x", "--token x", "API_KEY=x". The
 * word after a name without "=" may be in the next text: *next_is_secret (false for the first text of
 * a command) carries that over. */
const char *redact_command(const char *text, bool *next_is_secret, struct arena *arena);

#endif
