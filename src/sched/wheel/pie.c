/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/wheel/pie.h"

#include "sched/stamp.h"

#define ALPHA      0.125f /* for a second of delay above the target */
#define BETA       1.25f  /* for a second of growth */
#define SLOW_ABOVE 0.1f   /* from this probability on, it grows by at most SLOW_STEP at once */
#define SLOW_STEP  0.02f
#define DECAY      0.98f
#define SURE_BELOW                                                                                 \
    0.2f /* a lower probability drops nothing while the delay is below half the target */
#define LEAST_BETWEEN 0.85f /* between two drops the probabilities add up to at least this, */
#define MOST_BETWEEN  8.5f  /* and at most this */
#define MOST_MISSED   64 /* updates made up for at once: what is left of a probability then is 0 */

static uint32_t units_of(uint64_t hz, uint32_t ms)
{
    return (uint32_t)((double)hz * ms / 1000 / (1 << SCHED_STAMP_SHIFT)) + 1;
}

struct pie_config pie_configure(uint64_t hz, uint32_t target_ms, uint32_t update_ms,
                                uint32_t max_burst_ms, uint32_t tail, uint32_t few)
{
    float second = (float)hz / (1 << SCHED_STAMP_SHIFT);

    return (struct pie_config){.target = units_of(hz, target_ms),
                               .update = units_of(hz, update_ms),
                               .max_burst = units_of(hz, max_burst_ms),
                               .tail = tail,
                               .few = few,
                               .alpha = ALPHA / second,
                               .beta = BETA / second};
}

/* The share of a step that a probability takes: small ones move in small steps (section 4.2). */
static float gain(float drop)
{
    static const struct {
        float below, gain;
    } steps[] = {{1e-6f, 1 / 2048.0f}, {1e-5f, 1 / 512.0f}, {1e-4f, 1 / 128.0f},
                 {1e-3f, 1 / 32.0f},   {1e-2f, 1 / 8.0f},   {1e-1f, 1 / 2.0f}};

    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (drop < steps[i].below)
            return steps[i].gain;
    return 1;
}

/* One update. */
static void step(const struct pie_config *c, struct pie *p, uint32_t delay)
{
    float change = (c->alpha * ((float)delay - (float)c->target) +
                    c->beta * ((float)delay - (float)p->delay)) *
                   gain(p->drop);
    bool calm = delay < c->target / 2 && p->delay < c->target / 2;

    if (p->drop >= SLOW_ABOVE && change > SLOW_STEP)
        change = SLOW_STEP;
    p->drop += change;
    if (delay == 0 && p->delay == 0)
        p->drop *= DECAY;
    if (p->drop < 0)
        p->drop = 0;
    if (p->drop > 1)
        p->drop = 1;
    p->delay = delay;
    p->spent = p->spent + c->update < c->max_burst ? p->spent + c->update : c->max_burst;
    if (calm && p->drop == 0)
        p->spent = 0;
}

/* Updates that nobody came for are made up for: the queue was empty, or stood still. */
void pie_update(const struct pie_config *c, struct pie *p, uint32_t now, uint32_t delay)
{
    for (unsigned n = 0; n < MOST_MISSED && pie_is_due(c, p, now); n++) {
        step(c, p, delay);
        p->updated += c->update;
    }
    if (pie_is_due(c, p, now)) {
        *p = (struct pie){.updated = now};
        p->delay = delay;
    }
}

bool pie_drops(const struct pie_config *c, struct pie *p, uint32_t packets, uint32_t bytes,
               uint32_t random)
{
    if (packets >= c->tail) {
        p->accumulated = 0;
        return true;
    }
    if (p->spent < c->max_burst || bytes <= c->few ||
        (p->delay < c->target / 2 && p->drop < SURE_BELOW))
        return false;
    if (p->drop == 0)
        p->accumulated = 0;
    p->accumulated += p->drop;
    if (p->accumulated < LEAST_BETWEEN)
        return false;
    if (p->accumulated < MOST_BETWEEN && (float)random * 0x1p-32f >= p->drop)
        return false;
    p->accumulated = 0;
    return true;
}
