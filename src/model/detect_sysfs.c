/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does Linux show without a driver's help?
 *
 * /sys/class/infiniband/NIC/ports/N/{rate,state} ("400 Gb/sec (4X NDR)", "4: ACTIVE") for network
 * cards, EFA included; /sys/bus/pci/devices/ID/{vendor,class,numa_node} for GPUs that NVML did
 * not show (PCI vendor 0x10de, class 0x0302 or 0x0300) and for their NUMA nodes.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numeric.h"
#include "model/detect.h"

enum { PATH_MOST = 1024 };

/* First line of a small file, without its end; false when there is none. */
static bool
read_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	bool ok = file && fgets(text, (int)size, file);

	if (file)
		fclose(file);
	if (ok)
		text[strcspn(text, "\n")] = '\0';
	return ok;
}

static int64_t
read_number(const char *path, int64_t missing)
{
	char text[64];

	return read_line(path, text, sizeof(text)) ? strtoll(text, NULL, 0) : missing;
}

static void
look_at_port(const char *folder, struct seen_nic *nic)
{
	char path[PATH_MOST], text[128];
	double rate;

	snprintf(path, sizeof(path), "%.1000s/rate", folder);
	if (read_line(path, text, sizeof(text))) {
		rate = numeric_strtod(text, NULL);
		nic->Gbps = rate > nic->Gbps ? rate : nic->Gbps;
	}
	snprintf(path, sizeof(path), "%.1000s/state", folder);
	if (read_line(path, text, sizeof(text)) && strstr(text, "ACTIVE"))
		nic->active = true;
}

static int
compare_nics(const void *a, const void *b)
{
	return strcmp(((const struct seen_nic *)a)->name, ((const struct seen_nic *)b)->name);
}

static void
look_at_nics(struct seen *seen, const char *root)
{
	char path[PATH_MOST];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%.700s/sys/class/infiniband", root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)) != NULL && seen->n_nics < SEEN_NICS) {
		struct seen_nic *nic = &seen->nics[seen->n_nics];

		if (entry->d_name[0] == '.')
			continue;
		memset(nic, 0, sizeof(*nic));
		snprintf(nic->name, sizeof(nic->name), "%.63s", entry->d_name);
		snprintf(path, sizeof(path), "%.700s/sys/class/infiniband/%.200s/ports/1", root,
		    entry->d_name);
		look_at_port(path, nic);
		snprintf(path, sizeof(path), "%.700s/sys/class/infiniband/%.200s/device/numa_node",
		    root, entry->d_name);
		nic->numa = read_number(path, -1);
		seen->n_nics++;
	}
	if (folder)
		closedir(folder);
	qsort(seen->nics, (size_t)seen->n_nics, sizeof(seen->nics[0]), compare_nics);
}

static bool
is_gpu(const char *folder)
{
	char path[PATH_MOST];
	int64_t class;

	snprintf(path, sizeof(path), "%.900s/vendor", folder);
	if (read_number(path, 0) != 0x10de)
		return false;
	snprintf(path, sizeof(path), "%.900s/class", folder);
	class = read_number(path, 0) >> 8;
	return class == 0x0302 || class == 0x0300;
}

static struct seen_gpu *
find_gpu(struct seen *seen, const char *bus)
{
	size_t length = strlen(bus);
	int i;

	for (i = 0; i < seen->n_gpus;
	     i++) { /* NVML writes the domain with more zeros, in capitals */
		const char *own = seen->gpus[i].bus;
		size_t n = strlen(own);
		size_t j;

		for (j = 0; j < length && j < n; j++)
			if ((own[n - 1 - j] | 0x20) != (bus[length - 1 - j] | 0x20))
				break;
		if (j == (length < n ? length : n) && j > 0)
			return &seen->gpus[i];
	}
	return NULL;
}

static void
look_at_device(struct seen *seen, const char *root, const char *bus)
{
	char folder[PATH_MOST], path[PATH_MOST];
	struct seen_gpu *gpu;

	snprintf(folder, sizeof(folder), "%.500s/sys/bus/pci/devices/%.200s", root, bus);
	if (!is_gpu(folder))
		return;
	gpu = find_gpu(seen, bus);
	if (!gpu && seen->n_gpus < SEEN_GPUS) {
		gpu = &seen->gpus[seen->n_gpus++];
		memset(gpu, 0, sizeof(*gpu));
		snprintf(gpu->bus, sizeof(gpu->bus), "%.31s", bus);
	}
	snprintf(path, sizeof(path), "%.900s/numa_node", folder);
	if (gpu)
		gpu->numa = read_number(path, -1);
}

static int
compare_gpus(const void *a, const void *b)
{
	return strcmp(((const struct seen_gpu *)a)->bus, ((const struct seen_gpu *)b)->bus);
}

void
detect_sysfs(struct seen *seen, const char *root)
{
	char path[PATH_MOST];
	struct dirent *entry;
	DIR *folder;

	look_at_nics(seen, root);
	snprintf(path, sizeof(path), "%.900s/sys/bus/pci/devices", root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)) != NULL)
		if (entry->d_name[0] != '.')
			look_at_device(seen, root, entry->d_name);
	if (folder)
		closedir(folder);
	qsort(seen->gpus, (size_t)seen->n_gpus, sizeof(seen->gpus[0]), compare_gpus);
}
