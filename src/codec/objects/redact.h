/* Finds values that may be secret in text for files that are shared, by the names that users give
 * them. A secret under another name is not found; so codec writes no value that decisions do not
 * use. */
#ifndef CODEC_OBJECTS_REDACT_H
#define CODEC_OBJECTS_REDACT_H

#include <stdbool.h>

#include "base/arena.h"

/* True for the name of a flag, variable or parameter that holds a password, token, secret or
 * key. */
bool redact_name(const char *name);

/* A word or line of a command with such values replaced: "--token=x", "--token x", "API_KEY=x". The
 * word after a name without "=" may be in the next text: *next_is_secret (false for the first text
 * of a command) carries this over. */
const char *redact_command(const char *text, bool *next_is_secret, struct arena *arena);

#endif
