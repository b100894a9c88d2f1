/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_DETECT_H
#define MOEPLAN_DETECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/str.h"

struct doc;

/* What can be seen of this machine. Zero and "" mean: not seen. */
enum { SEEN_GPUS = 64, SEEN_NICS = 128, SEEN_PATH = 256, SEEN_PEERS = 384 };
struct seen_gpu {
	char name[96]; /* as the driver says it */
	char bus[32];
	uint64_t memory_bytes;
	int nvlinks;		/* links that are up */
	int switch_links;	/* of them to an NVSwitch */
	char peers[SEEN_PEERS]; /* buses of GPUs at other ends of links */
	int64_t compute;	/* capability: 90 for 9.0 */
	bool mig;
	int64_t numa;	      /* -1: not said */
	char path[SEEN_PATH]; /* in the tree of PCI devices: "pci0000:15/0000:15:01.0/…" */
};
struct seen_nic {
	char name[64];
	double Gbps;
	bool active, ethernet; /* ethernet: no RDMA */
	int64_t numa;
	char path[SEEN_PATH];
};
struct seen {
	char host[64];
	char driver[64]; /* version; "" when NVML was not there */
	int n_gpus;
	struct seen_gpu gpus[SEEN_GPUS];
	int amd_gpus;
	int n_nics;
	struct seen_nic nics[SEEN_NICS];
	int64_t nodes; /* of the Slurm job */
};

typedef const char *detect_lookup_fn(void *context, const char *name);

/* Each adds what it finds. `root` is "" or a folder that stands in for /. */
void detect_nvml(struct seen *seen);
void detect_sysfs(struct seen *seen, const char *root);
void detect_slurm(struct seen *seen, detect_lookup_fn *lookup, void *context);

/* The facts as a document (schema moeplan/seen/v1), and back; -1 after errors. */
void seen_write(const struct seen *seen, struct str *out);
int seen_read(struct arena *arena, struct diags *diags, const struct doc *doc, struct seen *seen);

/*
 * How far apart two devices are, in the words of nvidia-smi topo: one PCIe switch, several, one
 * host bridge, one NUMA node, more. From their paths and, beyond a host bridge, their nodes.
 */
enum pci_distance {
	DISTANCE_PIX,
	DISTANCE_PXB,
	DISTANCE_PHB,
	DISTANCE_NODE,
	DISTANCE_SYS,
	DISTANCES
};
extern const char *const pci_distance_names[DISTANCES + 1];
enum pci_distance pci_distance(const char *a, int64_t a_numa, const char *b, int64_t b_numa);

/*
 * A cluster file of them, every number marked "seen" or "assumed". -1 after an error: no GPU, GPUs
 * of several kinds, MIG, a GPU that the catalogue does not know.
 */
int detect_cluster(
    struct arena *arena, struct diags *diags, const struct seen *seen, struct str *out);

#endif
