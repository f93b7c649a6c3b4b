/* A small file whose content is kept and read again when it changes (tokens, CAs, certificates), or
 * a fixed text instead. The caller owns struct kube_file. Must not be used for anything large: 1
 * MiB at most, and reading blocks. */
#ifndef KUBE_KUBE_FILE_H
#define KUBE_KUBE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define KUBE_FILE_MAX_BYTES ((size_t)1 << 20)

struct kube_file {
	char *path;    /* NULL: the content is fixed */
	char *content; /* NULL: none; else with a NUL at the end */
	int64_t time_ns;
	off_t size;
	ino_t inode;
};

/* The whole file; memory_free. ERR_FATAL names file and reason: not readable, larger than 1 MiB, or
 * with a NUL byte in it. */
int kube_file_read_text(const char *path, char **ret_text, struct err *err);

/* `text` and `path` are copied; with both, or with "" and NULL, path is used. Reads nothing. */
void kube_file_init(struct kube_file *file, const char *path, const char *text);
void kube_file_done(struct kube_file *file);

/* Reads the file when size, time or inode changed since the last time, or always with `force`. On
 * failure the old content is kept. *ret_changed is set to true when the content differs, else
 * unchanged. */
int kube_file_refresh(struct kube_file *file, bool force, bool *ret_changed, struct err *err);

#endif
