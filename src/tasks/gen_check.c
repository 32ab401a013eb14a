/* SPDX-License-Identifier: BSD-3-Clause */
/* What the streams of a gen must obey; told with file and line, before anything runs. Free of
 * DPDK's functions. */
#include "packet/stamp.h"
#include "tasks/gen_impl.h"

#define FCS_LEN 4

/* A stamp stands at the beginning of the UDP payload, so that it is within the IPv4 total length.
 */
static void check_stamp(const struct pkt_template *t, struct loc loc, struct diags *d)
{
    uint32_t least = t->header_len + STAMP_LEN + FCS_LEN;

    if (t->n_layers == 0 || t->layers[t->n_layers - 1].kind != LAYER_UDP) {
        diag_error(d, loc,
                   "key 'stamp': value 'true': the last layer of %s is not udp: a stamp stands in "
                   "the payload of UDP",
                   t->path);
        return;
    }
    if (t->header_len > STAMP_LAST) {
        diag_error(d, loc,
                   "key 'stamp': value 'true': the headers of %s have %u bytes: expected "
                   "at most %u",
                   t->path, t->header_len, STAMP_LAST);
        return;
    }
    for (unsigned i = 0; i < t->n_frames; i++) {
        if (t->frames[i].payload >= STAMP_LEN)
            continue;
        diag_error(d, loc,
                   "key 'stamp': value 'true': a frame of %u bytes has no room for a stamp: "
                   "expected a size of at least %u",
                   t->frames[i].len + FCS_LEN, RTE_MAX(least, t->padding + 1u));
        return;
    }
}

void gen_check(const struct cfg_model *m, const struct cfg_task *t, struct diags *d)
{
    for (const struct cfg_item *item = t->items; item < t->items + t->n_items; item++) {
        const struct param_value *param = item->param, *file = &param[PARAM_TEMPLATE_FILE];

        if (file->set && file->u != CFG_NONE && param[PARAM_STAMP].u != 0)
            check_stamp(m->templates[file->u], param[PARAM_STAMP].loc, d);
        if (param[PARAM_LOAD_RATE].set && param[PARAM_WEIGHT].u > 1)
            diag_error(d, param[PARAM_WEIGHT].loc,
                       "key 'weight': a stream has a share of its task's rate, or a rate of its "
                       "own: expected either of them");
    }
}
