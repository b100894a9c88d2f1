/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does Linux show without a driver's help?
 *
 * /sys/class/infiniband/NIC/ports/N/{rate,state} ("400 Gb/sec (4X NDR)", "4: ACTIVE") for network
 * cards, EFA included; /sys/class/net/NIC/{speed,operstate} for Ethernet with a device behind it;
 * /sys/bus/pci/devices/ID/{vendor,class,numa_node} for GPUs that NVML did
 * not show (PCI vendor 0x10de, class 0x0302 or 0x0300) and for their NUMA nodes.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The device that an entry of sysfs points at, below /sys/devices and up to `end`; "" elsewhere. */
static void
read_path(const char *entry, const char *end, char path[SEEN_PATH])
{
	char target[PATH_MOST], *at, *stop;
	ssize_t n = readlink(entry, target, sizeof(target) - 1);

	if (n <= 0)
		return;
	target[n] = '\0';
	at = strstr(target, "/devices/pci");
	stop = at ? strstr(at, end) : NULL;
	if (!at || (!stop && end[0]))
		return;
	if (end[0])
		*stop = '\0';
	snprintf(path, SEEN_PATH, "%.255s", at + strlen("/devices/"));
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

enum { SLOWEST_ETHERNET_GBPS = 10 };

/* Ports that lead somewhere and are fast enough for training; RDMA cards are seen as such. */
static void
look_at_ethernet(struct seen *seen, const char *root, const char *name)
{
	struct seen_nic *nic = &seen->nics[seen->n_nics];
	char path[PATH_MOST], text[64];
	int64_t Mbps;

	snprintf(path, sizeof(path), "%.600s/sys/class/net/%.200s/speed", root, name);
	Mbps = read_number(path, 0);
	snprintf(path, sizeof(path), "%.600s/sys/class/net/%.200s/device/numa_node", root, name);
	if (Mbps < 1000 * SLOWEST_ETHERNET_GBPS || access(path, R_OK) != 0)
		return;
	memset(nic, 0, sizeof(*nic));
	nic->numa = read_number(path, -1);
	snprintf(path, sizeof(path), "%.600s/sys/class/net/%.200s", root, name);
	read_path(path, "/net/", nic->path);
	snprintf(path, sizeof(path), "%.600s/sys/class/net/%.200s/device/infiniband", root, name);
	if (access(path, R_OK) == 0)
		return;
	nic->ethernet = true;
	nic->Gbps = (double)Mbps / 1e3;
	snprintf(nic->name, sizeof(nic->name), "%.63s", name);
	snprintf(path, sizeof(path), "%.600s/sys/class/net/%.200s/operstate", root, name);
	nic->active = read_line(path, text, sizeof(text)) && strcmp(text, "up") == 0;
	seen->n_nics++;
}

static void
look_at_net(struct seen *seen, const char *root)
{
	char path[PATH_MOST];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%.700s/sys/class/net", root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)) != NULL && seen->n_nics < SEEN_NICS)
		if (entry->d_name[0] != '.')
			look_at_ethernet(seen, root, entry->d_name);
	if (folder)
		closedir(folder);
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
		snprintf(
		    path, sizeof(path), "%.700s/sys/class/infiniband/%.200s", root, entry->d_name);
		read_path(path, "/infiniband/", nic->path);
		seen->n_nics++;
	}
	if (folder)
		closedir(folder);
}

enum { NVIDIA = 0x10de, AMD = 0x1002 };

/* The maker of a GPU; 0: something else. */
static int64_t
gpu_maker(const char *folder)
{
	char path[PATH_MOST];
	int64_t maker, class;

	snprintf(path, sizeof(path), "%.900s/vendor", folder);
	maker = read_number(path, 0);
	snprintf(path, sizeof(path), "%.900s/class", folder);
	class = read_number(path, 0) >> 8;
	if (maker == AMD) /* display, or processing accelerator */
		return class == 0x0302 || class == 0x0300 || class == 0x0380 || class == 0x1200
			   ? AMD
			   : 0;
	return maker == NVIDIA && (class == 0x0302 || class == 0x0300) ? NVIDIA : 0;
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
	seen->amd_gpus += gpu_maker(folder) == AMD;
	if (gpu_maker(folder) != NVIDIA)
		return;
	gpu = find_gpu(seen, bus);
	if (!gpu && seen->n_gpus < SEEN_GPUS) {
		gpu = &seen->gpus[seen->n_gpus++];
		memset(gpu, 0, sizeof(*gpu));
		snprintf(gpu->bus, sizeof(gpu->bus), "%.31s", bus);
	}
	snprintf(path, sizeof(path), "%.900s/numa_node", folder);
	if (!gpu)
		return;
	gpu->numa = read_number(path, -1);
	read_path(folder, "", gpu->path);
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
	look_at_net(seen, root);
	qsort(seen->nics, (size_t)seen->n_nics, sizeof(seen->nics[0]), compare_nics);
	snprintf(path, sizeof(path), "%.900s/sys/bus/pci/devices", root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)) != NULL)
		if (entry->d_name[0] != '.')
			look_at_device(seen, root, entry->d_name);
	if (folder)
		closedir(folder);
	qsort(seen->gpus, (size_t)seen->n_gpus, sizeof(seen->gpus[0]), compare_gpus);
}
