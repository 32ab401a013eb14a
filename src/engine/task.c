/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/task.h"
