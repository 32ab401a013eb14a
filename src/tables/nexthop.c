/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables/nexthop.h"
