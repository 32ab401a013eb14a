/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/request.h"
#include "control/view.h"
#include "explain/explain.h"
#include "explain/headers.h"

/* The request to explain what would become of a frame. */

/* The depth of the queue of a path, read on the core of its scheduler; -1: it cannot be read. */
static int queue_depth(void *ctx, unsigned instance, uint32_t path)
{
    struct control *c = ctx;

    for (unsigned i = 0; i < c->n_shapers; i++) {
        const struct shaper *s = &c->shaper[i];
        uint32_t pipe = qos_place(s->q, path / QOS_QUEUES), id;

        if (s->instance != instance || pipe == CFG_NONE || (id = s->subscriber[pipe]) == 0 ||
            subscribers_read(c, id, 1) != 0)
            continue;
        for (unsigned k = 0; k < s->n_queues; k++)
            if (s->queue[k] == path % QOS_QUEUES)
                return s->counters[(size_t)pipe * s->n_queues + k].depth;
    }
    return -1;
}

static json_t *frame_json(const struct walk_frame *f)
{
    static const char digits[] = "0123456789abcdef";
    char *hex = malloc(2 * (size_t)f->len + 1), *headers = NULL;
    size_t len;
    FILE *text = open_memstream(&headers, &len);
    json_t *json = NULL;

    if (text != NULL) {
        headers_print(text, f->bytes, f->len);
        fclose(text);
    }
    if (hex != NULL && text != NULL) {
        for (uint32_t i = 0; i < f->len; i++) {
            hex[2 * i] = digits[f->bytes[i] >> 4];
            hex[2 * i + 1] = digits[f->bytes[i] & 15];
        }
        json = json_pack("{s:s, s:s#}", "headers", headers, "hex", hex, (int)(2 * f->len));
    }
    free(headers);
    free(hex);
    return json;
}

static json_t *end_json(const struct walk *w, const struct walk_end *end)
{
    json_t *j;

    switch (end->kind) {
    case END_DROP:
        return json_pack("{s:s, s:I}", "dropped", end->reason, "packets", (json_int_t)end->n);
    case END_CONSUMED:
        return json_pack("{s:I}", "consumed", (json_int_t)end->n);
    case END_OUTPUT:
        break;
    }
    j = json_pack("{s:s, s:i, s:o}", "output", end->output, "packet", (int)end->packet, "frame",
                  frame_json(&end->frame));
    if (end->to.kind == DEST_PORT)
        json_object_set_new(j, "port", json_pack("s", w->plan->cfg->ports[end->to.index].name));
    else
        json_object_set_new(j, "task", json_pack("s", walk_task(w, walk_next(w, end))->name));
    if (end->to.kind == DEST_PORT && end->peer_gone)
        json_object_set_new(j, "away", json_true());
    return j;
}

static json_t *notes_json(const char *notes)
{
    json_t *list = json_array();

    while (notes != NULL && *notes != '\0') {
        size_t len = strcspn(notes, "\n");

        json_array_append_new(list, json_stringn(notes, len));
        notes += len + (notes[len] == '\n');
    }
    return list;
}

static json_t *steps_json(const struct walk *w)
{
    json_t *steps = json_array();

    for (unsigned i = 0; i < w->n_steps; i++) {
        const struct walk_step *s = &w->step[i];
        const struct plan_instance *inst = &w->plan->instances[s->instance];
        json_t *ends = json_array();

        for (unsigned k = 0; k < s->n_ends; k++)
            json_array_append_new(ends, end_json(w, &s->end[k]));
        json_array_append_new(steps, json_pack("{s:s, s:s, s:i, s:i, s:i, s:o, s:o}", "task",
                                               walk_task(w, s->instance)->name, "type",
                                               walk_task(w, s->instance)->schema->type, "worker",
                                               inst->worker, "core", (int)inst->core, "packet",
                                               (int)s->packet, "notes", notes_json(s->notes),
                                               "ends", ends));
    }
    return steps;
}

static json_t *text_json(const struct walk *w)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    json_t *json = NULL;

    if (f != NULL) {
        walk_print(w, f);
        fclose(f);
        json = json_stringn(text, len);
    }
    free(text);
    return json;
}

static const struct key explain_keys[] = {
    {"frame", KEY_STRING, .required = true, .help = "a frame, in words"}};

static json_t *explain(struct control *c, struct request *r, struct refusal *why)
{
    struct walk *w;
    json_t *answer;

    if (c->explain == NULL)
        c->explain = explain_open(c->e, c->tables, queue_depth, c);
    arp_settled(c); /* of its state a copy is made */
    shapers_settled(c);
    w = c->explain != NULL ? explain_text(c->explain, r->v[0].v.s, why->text, sizeof(why->text))
                           : NULL;
    if (w == NULL)
        return NULL;
    answer =
        json_pack("{s:b, s:s, s:s, s:o, s:o, s:o}", "ok", 1, "result",
                  walk_verdict_name(w->verdict), "port", w->plan->cfg->ports[w->port].name, "frame",
                  frame_json(&w->frame), "steps", steps_json(w), "text", text_json(w));
    if (answer != NULL && w->verdict == WALK_DROPPED)
        json_object_set_new(answer, "dropped",
                            json_pack("{s:s, s:s}", "task", w->task, "reason", w->reason));
    walk_free(w);
    return answer;
}

const struct command explain_commands[] = {
    {"explain", KEYS(explain_keys), explain, "says what would become of a frame, and why", false},
    {NULL},
};
