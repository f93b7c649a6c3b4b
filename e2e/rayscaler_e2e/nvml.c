/*
 * The part of NVIDIA's management library that Ray calls to count the GPUs of a container, for a container without one.
 * RAYSCALER_BENCH_GPUS is their number, RAYSCALER_BENCH_GPU_NAME the product name of each.
 */
#include <stdio.h>
#include <stdlib.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, INSUFFICIENT_SIZE = 7 };

static unsigned gpus(void)
{
	const char *text = getenv("RAYSCALER_BENCH_GPUS");

	return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

int nvmlInitWithFlags(unsigned flags)
{
	return flags ? INVALID_ARGUMENT : SUCCESS;
}

int nvmlShutdown(void)
{
	return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = gpus();
	return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	static char handles[64];

	if (index >= gpus() || index >= sizeof(handles))
		return INVALID_ARGUMENT;
	*device = &handles[index];
	return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *name, unsigned length)
{
	const char *product = getenv("RAYSCALER_BENCH_GPU_NAME");

	if (!device)
		return INVALID_ARGUMENT;
	return (unsigned)snprintf(name, length, "%s", product ? product : "") < length ? SUCCESS : INSUFFICIENT_SIZE;
}
