/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "promise.h"

#include <stdlib.h>

void
out_of_memory(void *context)
{
	(void)context;
	abort();
}
