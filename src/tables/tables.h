/* SPDX-License-Identifier: BSD-3-Clause */
/* All that the data path looks things up in. Made by provision(), handed to every task. */
#ifndef TABLES_TABLES_H
#define TABLES_TABLES_H

#include "tables/route.h"
#include "tables/subscriber.h"

struct tables {
    struct subscriber_table *subscribers;
    struct route_table *routes;
};

#endif
