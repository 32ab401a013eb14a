/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/sched.h"
