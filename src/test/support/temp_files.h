/* A directory of small files for one test. */
#ifndef TEST_SUPPORT_TEMP_FILES_H
#define TEST_SUPPORT_TEMP_FILES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/memory.h"

char *temp_directory(void);

/* The path of a file in it; memory_free. */
char *temp_path(const char *directory, const char *name);

void temp_write(const char *directory, const char *name, const char *text);

/* ... that can be run. */
void temp_write_program(const char *directory, const char *name, const char *text);

void temp_remove(const char *directory, const char *name);

/* Removes the directory and its files, and frees the name. */
void temp_done(char *directory);

#endif
