/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/model.h"
