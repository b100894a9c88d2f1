/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far is a network card from a GPU?
 *
 * Both are leaves of the tree of PCI bridges: host bridge (pciDDDD:BB), root port, the ports of
 * switches, the device. What both paths begin with tells which is the last thing that they share.
 * Two devices below one switch each have its downstream port and themselves left over.
 */
#include <string.h>

#include "model/detect.h"

const char *const pci_distance_names[DISTANCES + 1] = {"PIX", "PXB", "PHB", "NODE", "SYS", NULL};

static int
parts_of(const char *path)
{
	int n = path[0] != '\0';

	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* Leading components that both have. */
static int
common_parts(const char *a, const char *b)
{
	int n = 0;

	while (*a && *b) {
		size_t length = strcspn(a, "/");

		if (length != strcspn(b, "/") || strncmp(a, b, length) != 0)
			break;
		n++;
		a += length + (a[length] == '/');
		b += length + (b[length] == '/');
	}
	return n;
}

enum { HOST_BRIDGE = 1, BELOW_ONE_SWITCH = 2 };

enum pci_distance
pci_distance(const char *a, int64_t a_numa, const char *b, int64_t b_numa)
{
	int common = common_parts(a, b), a_left = parts_of(a) - common,
	    b_left = parts_of(b) - common;

	if (common > HOST_BRIDGE)
		return a_left <= BELOW_ONE_SWITCH && b_left <= BELOW_ONE_SWITCH ? DISTANCE_PIX
										: DISTANCE_PXB;
	if (common == HOST_BRIDGE)
		return DISTANCE_PHB;
	return a_numa >= 0 && a_numa == b_numa ? DISTANCE_NODE : DISTANCE_SYS;
}
