/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/units.h"
