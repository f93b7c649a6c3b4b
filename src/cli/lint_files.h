/* The files that `lint` reads: files as given, "-" for standard input, and of directories every
 * file in them and below with a name that ends in .yaml, .yml or .json, by name. Names that begin
 * with "." are skipped, and links to directories are not followed. Blocking. */
#ifndef CLI_LINT_FILES_H
#define CLI_LINT_FILES_H

#include "base/arena.h"
#include "cli/flags.h"
#include "codec/objects/lint_document.h"

#define LINT_FILES_MAX 100000
/* The name of standard input in findings. */
#define LINT_STANDARD_INPUT "<stdin>"

/* Adds the findings of each; a file that cannot be read is a finding. */
void lint_files_add(const struct flag_values *paths, const struct lint_context *context,
		    struct lint_report *report);

#endif
