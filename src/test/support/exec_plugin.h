/* Exec plugins that are shell scripts, in the folder of a struct kube_script. Header only. */
#ifndef TEST_SUPPORT_EXEC_PLUGIN_H
#define TEST_SUPPORT_EXEC_PLUGIN_H

#include "kube/kube_file.h"
#include "test/support/kube_script.h"

#define VERSION "client.authentication.k8s.io/v1"
#define USER "exec: {apiVersion: " VERSION ", interactiveMode: Never, command: ./plugin}"

static struct kube_script script;

static int setup(void **state)
{
	script = (struct kube_script){ .directory = temp_directory(), .user = USER };
	*state = script.directory;
	return 0;
}

/* A plugin that notes each run and prints the file answer. */
static void write_plugin(const char *more)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), "#!/bin/sh\ncd %s\necho run >> runs\n%s\ncat answer\n",
		       script.directory, more);
	temp_write_program(script.directory, "plugin", text);
}

static void write_answer(const char *status)
{
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "{\"apiVersion\": \"" VERSION "\", \"kind\": \"ExecCredential\", "
		       "\"status\": {%s}}\n",
		       status);
	temp_write(script.directory, "answer", text);
}

static char *read_text(const char *name)
{
	char *path = temp_path(script.directory, name), *text = NULL;
	struct err err;

	CHECK(kube_file_read_text(path, &text, &err) == 0);
	memory_free(path);
	return text;
}

#endif
