/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "promise.h"

#include <stdlib.h>

void
check(bool holds)
{
	if (!holds)
		abort();
}

void
out_of_memory(void *context)
{
	(void)context;
	abort();
}
