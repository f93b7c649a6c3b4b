/* The files that `lint` is told of: files as they are, "-" for standard input, and of directories
 * every file in them and below whose name ends in .yaml, .yml or .json, by name. What begins with "."
 * is left out, and links to directories are not followed. Blocking. */
#ifndef CLI_LINT_FILES_H
#define CLI_LINT_FILES_H

#include "base/arena.h"
#include "cli/flags.h"
#include "codec/objects/lint_document.h"

#define LINT_FILES_MAX 100000
/* How standard input is called in findings. */
#define LINT_STANDARD_INPUT "<stdin>"

/* Adds what is found in each; a file that cannot be read is a finding. */
void lint_files_add(const struct flag_values *paths, const struct lint_context *context,
		    struct lint_report *report);

#endif
