/* SPDX-License-Identifier: BSD-3-Clause */
#include "absence.h"

#include <stdio.h>
#include <sys/resource.h>

void absence_avoid(void)
{
    if (setpriority(PRIO_PROCESS, 0, -20) != 0)
        printf("    note: cannot raise the priority; more measurements may be disturbed\n");
}
