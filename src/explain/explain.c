/* SPDX-License-Identifier: BSD-3-Clause */
#include "explain/explain.h"

#include <stdlib.h>

#include "explain/frame.h"
#include "explain/walk_impl.h"

struct explain *explain_open(const struct engine *e, struct tables *tables, explain_depth depth,
                             void *ctx)
{
    struct explain *x = calloc(1, sizeof(*x));

    if (x != NULL)
        *x = (struct explain){.e = e, .tables = tables, .depth = depth, .ctx = ctx};
    return x;
}

void explain_free(struct explain *x)
{
    if (x == NULL)
        return;
    for (unsigned i = 0; i < CFG_MAX_POOLS; i++)
        look_pool_close(&x->pool[i]);
    free(x);
}

const struct look_pool *explain_pool(struct explain *x, uint32_t pool)
{
    char name[32];

    snprintf(name, sizeof(name), "explain_%u", pool);
    if (x->pool[pool].mp == NULL &&
        look_pool_open(&x->pool[pool], name, x->e->plan->cfg->pools[pool].data_room) != 0)
        return NULL;
    return &x->pool[pool];
}

struct walk *explain_text(struct explain *x, const char *text, char *err, size_t err_len)
{
    struct frame_spec *s = malloc(sizeof(*s));
    uint8_t *frame = malloc(SPEC_MAX_FRAME);
    struct walk *w = NULL;
    unsigned port;
    uint32_t len;

    if (s == NULL || frame == NULL)
        snprintf(err, err_len, "no memory");
    else if (spec_parse(text, s, err, err_len) == 0 &&
             frame_build(s, x->e->plan->cfg, x->tables, &port, frame, &len, err, err_len) == 0)
        w = explain_frame(x, port, frame, len, err, err_len);
    free(frame);
    free(s);
    return w;
}
