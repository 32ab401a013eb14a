/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/pppoe/ids.h"

static bool is_used(const struct pppoe_ids *ids, uint16_t id)
{
    return (ids->used[id / 8] >> id % 8 & 1) != 0;
}

uint16_t pppoe_id_take_any(struct pppoe_ids *ids)
{
    if (ids->n == PPPOE_LAST_ID)
        return 0;
    do
        ids->last = ids->last < PPPOE_LAST_ID ? (uint16_t)(ids->last + 1) : 1;
    while (is_used(ids, ids->last));
    pppoe_id_take(ids, ids->last);
    return ids->last;
}

bool pppoe_id_take(struct pppoe_ids *ids, uint16_t id)
{
    if (id == 0 || id > PPPOE_LAST_ID || is_used(ids, id))
        return false;
    ids->used[id / 8] |= (uint8_t)(1 << id % 8);
    ids->n++;
    return true;
}

void pppoe_id_give(struct pppoe_ids *ids, uint16_t id)
{
    ids->used[id / 8] &= (uint8_t) ~(1 << id % 8);
    ids->n--;
}
