/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which GPUs does the driver show?
 *
 * NVML is loaded at run time, so that the program starts where there is no driver. Each function
 * may be missing in some release; what it would have told then stays unseen. Prototypes and
 * constants are those of NVIDIA's public NVML reference; the number of links to try by compute
 * capability is NCCL's (src/graph/xml.cc).
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "model/detect.h"

typedef void *device;
struct nvml_memory {
	unsigned long long total, available, used;
};
struct nvml_pci {
	char legacy[16];
	unsigned domain, bus, device, pci_device, pci_subsystem;
	char id[32];
};

struct nvml {
	int (*init)(void);
	int (*shutdown)(void);
	int (*driver)(char *text, unsigned size);
	int (*count)(unsigned *n);
	int (*handle)(unsigned index, device *device);
	int (*name)(device, char *text, unsigned size);
	int (*pci)(device, struct nvml_pci *pci);
	int (*memory)(device, struct nvml_memory *memory);
	int (*compute)(device, int *major, int *minor);
	int (*mig)(device, unsigned *now, unsigned *later);
	int (*link)(device, unsigned link, unsigned *up);
	int (*remote)(device, unsigned link, struct nvml_pci *pci);
	int (*remote_type)(device, unsigned link, unsigned *type);
};

#define SYMBOL(member, text)                                                                       \
	{                                                                                          \
		offsetof(struct nvml, member), text                                                \
	}
static const struct {
	size_t offset;
	const char *name;
} symbols[] = {
    SYMBOL(init, "nvmlInit_v2"),
    SYMBOL(shutdown, "nvmlShutdown"),
    SYMBOL(driver, "nvmlSystemGetDriverVersion"),
    SYMBOL(count, "nvmlDeviceGetCount_v2"),
    SYMBOL(handle, "nvmlDeviceGetHandleByIndex_v2"),
    SYMBOL(name, "nvmlDeviceGetName"),
    SYMBOL(pci, "nvmlDeviceGetPciInfo_v3"),
    SYMBOL(memory, "nvmlDeviceGetMemoryInfo"),
    SYMBOL(compute, "nvmlDeviceGetCudaComputeCapability"),
    SYMBOL(mig, "nvmlDeviceGetMigMode"),
    SYMBOL(link, "nvmlDeviceGetNvLinkState"),
    SYMBOL(remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2"),
    SYMBOL(remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType"),
};

static void
load(void *library, struct nvml *nvml)
{
	size_t i;

	memset(nvml, 0, sizeof(*nvml));
	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		memcpy((char *)nvml + symbols[i].offset, &symbol, sizeof(symbol));
	}
}

enum { MOST_LINKS = 18, REMOTE_GPU = 0, REMOTE_SWITCH = 2 };

static void
add_peer(struct seen_gpu *gpu, const char *bus)
{
	size_t used = strlen(gpu->peers);

	if (!strstr(gpu->peers, bus))
		snprintf(
		    gpu->peers + used, sizeof(gpu->peers) - used, "%s%.20s", used ? " " : "", bus);
}

static void
look_at_link(const struct nvml *nvml, device d, unsigned link, struct seen_gpu *gpu)
{
	struct nvml_pci pci;
	unsigned up, type;

	if (nvml->link(d, link, &up) != 0 || !up)
		return;
	gpu->nvlinks++;
	if (!nvml->remote_type || nvml->remote_type(d, link, &type) != 0)
		return;
	gpu->switch_links += type == REMOTE_SWITCH;
	if (type == REMOTE_GPU && nvml->remote && nvml->remote(d, link, &pci) == 0)
		add_peer(gpu, pci.id);
}

static void
look_at(const struct nvml *nvml, device d, struct seen_gpu *gpu)
{
	struct nvml_memory memory;
	struct nvml_pci pci;
	unsigned up, later, link;
	int major, minor;

	gpu->numa = -1;
	if (nvml->name)
		nvml->name(d, gpu->name, (unsigned)sizeof(gpu->name));
	if (nvml->pci && nvml->pci(d, &pci) == 0)
		snprintf(gpu->bus, sizeof(gpu->bus), "%.31s", pci.id);
	if (nvml->memory && nvml->memory(d, &memory) == 0)
		gpu->memory_bytes = memory.total;
	if (nvml->compute && nvml->compute(d, &major, &minor) == 0)
		gpu->compute = 10 * major + minor;
	if (nvml->mig && nvml->mig(d, &up, &later) == 0)
		gpu->mig = up != 0;
	for (link = 0; nvml->link && link < MOST_LINKS; link++)
		look_at_link(nvml, d, link, gpu);
}

static void
look(const struct nvml *nvml, struct seen *seen)
{
	unsigned n = 0, i;
	device d;

	if (!nvml->count || !nvml->handle || nvml->count(&n) != 0)
		return;
	if (nvml->driver)
		nvml->driver(seen->driver, (unsigned)sizeof(seen->driver));
	for (i = 0; i < n && seen->n_gpus < SEEN_GPUS; i++)
		if (nvml->handle(i, &d) == 0)
			look_at(nvml, d, &seen->gpus[seen->n_gpus++]);
}

void
detect_nvml(struct seen *seen)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	struct nvml nvml;

	if (!library)
		return;
	load(library, &nvml);
	if (nvml.init && nvml.init() == 0) {
		look(&nvml, seen);
		if (nvml.shutdown)
			nvml.shutdown();
	}
	dlclose(library);
}
