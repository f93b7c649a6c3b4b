/* The lines that a statement logs. For one source file of a test program. */
#ifndef TEST_SUPPORT_LOG_CAPTURE_H
#define TEST_SUPPORT_LOG_CAPTURE_H

#include <stdio.h>
#include <unistd.h>

#include "test/support/support.h"

#define OUTPUT_MAX 400000

static char output[OUTPUT_MAX + 1];

/* Runs the statement with standard error redirected to a file, whose content is then in
 * `output`. */
#define CAPTURE_LOG(statement)                                                                     \
	do {                                                                                       \
		FILE *file_ = tmpfile();                                                           \
		int saved_ = dup(STDERR_FILENO);                                                   \
		size_t size_;                                                                      \
                                                                                                   \
		assert_non_null(file_);                                                            \
		assert_true(dup2(fileno(file_), STDERR_FILENO) >= 0);                              \
		statement;                                                                         \
		assert_true(dup2(saved_, STDERR_FILENO) >= 0);                                     \
		close(saved_);                                                                     \
		rewind(file_);                                                                     \
		size_ = fread(output, 1, OUTPUT_MAX, file_);                                       \
		output[size_] = '\0';                                                              \
		fclose(file_);                                                                     \
	} while (0)

#endif
