#include "kube/kube_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/memory.h"
#include "net/read_file.h"

int kube_file_read_text(const char *path, char **ret_text, struct err *err)
{
	AUTO(buf_done) struct buf buf;

	buf_init(&buf, KUBE_FILE_MAX_BYTES);
	if (read_file(path, &buf, err) < 0)
		return -1;
	if (strlen(buf_string(&buf)) != buf.size)
		return err_set(err, ERR_FATAL, "%s: has a NUL byte, so it is not text", path);
	*ret_text = buf_steal(&buf);
	return 0;
}

void kube_file_init(struct kube_file *file, const char *path, const char *text)
{
	*file = (struct kube_file){ .path = NULL };
	if (path && *path)
		file->path = memory_strdup(path);
	else if (text && *text)
		file->content = memory_strdup(text);
}

void kube_file_done(struct kube_file *file)
{
	memory_free(file->path);
	memory_free(file->content);
	*file = (struct kube_file){ .path = NULL };
}

int kube_file_refresh(struct kube_file *file, bool force, bool *ret_changed, struct err *err)
{
	struct stat status;
	char *text;

	if (!file->path)
		return 0;
	if (stat(file->path, &status) < 0)
		return err_set(err, ERR_FATAL, "cannot read %s: %s", file->path, strerror(errno));
	int64_t time_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
	if (!force && file->content && time_ns == file->time_ns && status.st_size == file->size &&
	    status.st_ino == file->inode)
		return 0;
	if (kube_file_read_text(file->path, &text, err) < 0)
		return -1;
	/* Read before the content: a change in between is seen in the next check. */
	file->time_ns = time_ns;
	file->size = status.st_size;
	file->inode = status.st_ino;
	if (file->content && strcmp(file->content, text) == 0) {
		memory_free(text);
		return 0;
	}
	memory_free(file->content);
	file->content = text;
	*ret_changed = true;
	return 0;
}
