/* A kubeconfig file. Laws: a refusal has a reason and names the file; an accepted context has a
 * server, credentials of one kind, and a plugin that has a command. */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "kube/kubeconfig.h"

static char path[64];
static int file = -1;

/* The reader takes a file; this one is memory. */
static void write_file(const uint8_t *data, size_t size)
{
	if (file < 0) {
		file = memfd_create("kubeconfig", MFD_CLOEXEC);
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	}
	REQUIRE(file >= 0 && ftruncate(file, 0) == 0);
	REQUIRE(pwrite(file, data, size, 0) == (ssize_t)size);
}

static bool given(const struct kubeconfig_pem *pem)
{
	return *pem->text || *pem->file;
}

static void check(const struct kubeconfig *config)
{
	const struct kubeconfig_exec *exec = &config->exec;

	REQUIRE(*config->context && *config->server && config->namespace_);
	REQUIRE(given(&config->certificate) == given(&config->key));
	REQUIRE(!config->insecure || !given(&config->ca));
	if (!exec->api_version)
		return;
	REQUIRE(*exec->command && *exec->interactive_mode);
	REQUIRE(!*config->token && !*config->token_file && !given(&config->certificate));
	for (size_t i = 0; i < exec->environment.count; i++)
		REQUIRE(!strchr(exec->environment.at[i].name, '='));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };
	struct kubeconfig config;

	write_file(data, size);
	if (kubeconfig_read(path, NULL, &arena, &config, &err) == 0)
		check(&config);
	else
		REQUIRE(err.kind != ERR_NONE && strstr(err.text, path));
	return 0;
}
