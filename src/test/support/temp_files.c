#include "test/support/temp_files.h"

char *temp_directory(void)
{
	char pattern[] = "/tmp/rayscaler-test-XXXXXX";

	CHECK(mkdtemp(pattern));
	return memory_strdup(pattern);
}

char *temp_path(const char *directory, const char *name)
{
	size_t size = strlen(directory) + strlen(name) + 2;
	char *path = memory_alloc(size);

	(void)snprintf(path, size, "%s/%s", directory, name);
	return path;
}

/* Writes the file under another name first and renames it, as a kubelet does. */
static void temp_write_bytes(const char *directory, const char *name, const void *data, size_t size)
{
	char *path = temp_path(directory, name);
	char *fresh = temp_path(directory, ".fresh");
	FILE *file = fopen(fresh, "w");

	CHECK(file);
	CHECK(fwrite(data, 1, size, file) == size);
	CHECK(fclose(file) == 0);
	CHECK(rename(fresh, path) == 0);
	memory_free(path);
	memory_free(fresh);
}

void temp_write(const char *directory, const char *name, const char *text)
{
	temp_write_bytes(directory, name, text, strlen(text));
}

void temp_write_program(const char *directory, const char *name, const char *text)
{
	char *path = temp_path(directory, name);

	temp_write(directory, name, text);
	CHECK(chmod(path, 0700) == 0);
	memory_free(path);
}

void temp_remove(const char *directory, const char *name)
{
	char *path = temp_path(directory, name);

	CHECK(unlink(path) == 0);
	memory_free(path);
}

void temp_done(char *directory)
{
	DIR *stream = opendir(directory);
	struct dirent *entry;

	CHECK(stream);
	while ((entry = readdir(stream))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			temp_remove(directory, entry->d_name);
	}
	closedir(stream);
	CHECK(rmdir(directory) == 0);
	memory_free(directory);
}
