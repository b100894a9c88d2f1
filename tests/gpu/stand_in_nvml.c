/* SPDX-License-Identifier: GPL-3.0-or-later */
/* As much of NVIDIA's management library as moeplan asks for, of one GPU that is not there. */
#include <stdio.h>
#include <string.h>

struct nvml_memory {
	unsigned long long total, free, used;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *text, unsigned length);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetName(void *device, char *text, unsigned length);
int nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *memory);
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor);

int
nvmlInit_v2(void)
{
	return 0;
}

int
nvmlShutdown(void)
{
	return 0;
}

int
nvmlSystemGetDriverVersion(char *text, unsigned length)
{
	snprintf(text, length, "580.95.05");
	return 0;
}

int
nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 1;
	return 0;
}

int
nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	static int only;

	*device = &only;
	return index != 0;
}

int
nvmlDeviceGetName(void *device, char *text, unsigned length)
{
	(void)device;
	snprintf(text, length, "NVIDIA H200");
	return 0;
}

int
nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *memory)
{
	(void)device;
	*memory = (struct nvml_memory){150754820096ULL, 150000000000ULL, 754820096ULL};
	return 0;
}

int
nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
	(void)device;
	*major = 9;
	*minor = 0;
	return 0;
}
