/* SPDX-License-Identifier: BSD-3-Clause */
/* A wheel as a shard: credit from what is shared, and rounds that go on together with others'. */
#include "sched/shards/shard.h"

#include <errno.h>

#include <rte_malloc.h>

#include "sched/wheel/rings.h"

#define AHEAD_PART   8 /* of a quantum, after which a shard looks again that lets others go first */
#define SWEEPS       2 /* in a quantum: what idle wallets hold is given back so often */
#define MISSED       4 /* turns, after which a subport lets no other shard go first */
#define SHORT_QUANTA 10 /* for which the port counts as short after it was */
#define LINE_PLACES  8  /* binary places of the port's round, where others look at it */

uint64_t shard_bytes(uint32_t n_subports)
{
    return sizeof(struct wheel_shard) +
           n_subports * (sizeof(struct shard_subport) + QOS_CLASSES * sizeof(struct shard_ring));
}

/* TSC cycles in which a rate earns what a shard borrows at once; need: at least so much. */
static uint64_t quantum(const struct wheel *w, const struct pace *pace, uint64_t need)
{
    uint64_t frame = (bucket_cost(pace, (uint32_t)w->frame) >> BUCKET_PLACES) + 1, cycles;

    cycles = RTE_MAX(w->shard->all->quantum, frame);
    cycles = RTE_MAX(cycles, need);
    return RTE_MIN(cycles, pace->depth);
}

int shard_start(struct wheel *w, struct shards *all, unsigned index, int socket)
{
    size_t bytes = shard_bytes(w->n_subports);
    struct wheel_shard *x = rte_zmalloc_socket("shard", bytes, RTE_CACHE_LINE_SIZE, socket);

    if (x == NULL)
        return -ENOMEM;
    x->all = all;
    x->index = index;
    x->line.purse = &all->port;
    x->least = PURSE_LEAST;
    x->seen = x->swept = w->now;
    x->stay = 1;
    x->ring = (struct shard_ring *)&x->subport[w->n_subports];
    for (uint32_t i = 0; i < w->n_subports; i++) {
        if (!shards_across(all, i))
            continue;
        w->subport[i].wallet.purse = shards_purse(all, i, WHEEL_SELF);
        if ((w->gate[i].caps & WHEEL_SELF_BIT) != 0)
            w->gate[i].caps |= WHEEL_SHARED_BIT;
        for (unsigned c = 0; c < QOS_CLASSES; c++)
            x->subport[i].cap[c].purse = shards_purse(all, i, c);
        x->least = w->n_subports > 1 ? 1 : x->least;
    }
    x->turn = WHEEL_SUBPORT_TURN * (uint64_t)w->frame;
    x->room = (int64_t)RTE_MIN((double)bucket_cost(&w->line_pace, (uint32_t)w->frame) * SHARD_BURST,
                               (double)(INT64_MAX / 2)) +
              x->least;
    w->shard = x;
    x->burst = (int32_t)RTE_MIN((quantum(w, &w->line_pace, 0) << BUCKET_PLACES) / w->line_pace.byte,
                                (uint64_t)INT32_MAX);
    return 0;
}

/* --- a dequeue begins --- */

void shard_begin(struct wheel *w)
{
    struct wheel_shard *x = w->shard;

    peers_see(&x->all->peers, x->index, w->now);
    x->stay += w->now - x->seen > x->all->peers.patience;
    x->seen = w->now;
    if (w->now - x->swept >= x->all->quantum / SWEEPS)
        shard_sweep(w);
    if (w->classes == 0)
        wallet_withdraw(&x->line, x->index);
}

/* Note whether the port is short: turns do not go on then. */
static void set_short(struct wheel_shard *x, bool is_short)
{
    if (is_short && !x->port_short)
        shard_open_turns(x);
    x->port_short = is_short;
}

void shard_see_port(struct wheel *w)
{
    struct wheel_shard *x = w->shard;

    set_short(x, purse_is_short(&x->all->port, &x->all->peers) || is_after(x->short_until, w->now));
}

void shard_stop(struct wheel *w)
{
    struct wheel_shard *x = w->shard;

    for (uint32_t i = 0; i < w->n_subports; i++) {
        for (unsigned c = 0; c < QOS_CLASSES; c++)
            shard_give_back(x, &x->subport[i].cap[c]);
        shard_give_back(x, &w->subport[i].wallet);
    }
    shard_give_back(x, &x->line);
    rte_free(x);
    w->shard = NULL;
}

/* Have credit for a class: what the wallet holds for a higher one, or else, of the purse. */
static bool obtain(struct wallet *wallet, bool holds, const struct shards *all,
                   const struct purse_ask *ask, uint64_t *again)
{
    return holds ? wallet_pass(wallet, &all->peers, ask, again)
                 : wallet_borrow(wallet, &all->peers, ask, again);
}

/* --- rounds --- */

/* Go to a round of the port in a class: turns of another one do not go on. */
static void go_to_round(struct wheel_shard *x, unsigned class, uint64_t round)
{
    x->open[class] += x->turns[class].round != round;
    x->turns[class].round = round;
}

/* The round of the port in a class: of its subports, or of the pipes of the only one. */
static uint32_t line_round(struct wheel *w, unsigned class)
{
    struct wheel_shard *x = w->shard;
    struct shard_line *l = &x->turns[class];
    bool was_idle = w->now - l->asked > x->all->peers.patience && !wallet_waits_in(&x->line, class);

    l->asked = w->now;
    if (w->n_subports == 1)
        return shard_round(w, 0, class);
    if (was_idle) {
        uint64_t round = __atomic_load_n(&x->all->round[class], __ATOMIC_RELAXED);

        go_to_round(x, class, l->round - round <= PURSE_KEEP ? l->round : round);
    }
    return (uint32_t)l->round << LINE_PLACES;
}

/* Note the round of the port for which credit was borrowed. */
static void note_line_round(struct wheel *w, unsigned class, uint32_t round)
{
    struct wheel_shard *x = w->shard;

    if (w->n_subports == 1)
        shard_note_round(w, 0, class, round);
    else
        __atomic_store_n(&x->all->round[class], x->turns[class].round, __ATOMIC_RELAXED);
}

/* Tell others in which round the pipes of a subport are in a class; 0: they send nothing now. */
static void say_round(struct wheel *w, uint32_t subport, unsigned class, uint32_t round)
{
    struct wheel_shard *x = w->shard;
    struct shard_ring *s = shard_ring_of(w, subport, class);

    if (s->said != round)
        __atomic_store_n(&shards_turns(x->all, subport, class)->round[x->index], round,
                         __ATOMIC_RELAXED);
    s->said = round;
}

/* Tell others of the subports across shards that are ready in a class. The only one does not lend
 * its rate to lower classes meanwhile. */
static void say_class(struct wheel *w, unsigned class)
{
    const struct wheel_ready *r = &w->ready[class];
    struct wheel_shard *x = w->shard;

    for (uint32_t at = r->head; at != r->tail; at++) {
        uint32_t i = r->subport[at & w->ready_mask], round;

        if (!shards_across(x->all, i))
            continue;
        round = shard_round(w, i, class);
        say_round(w, i, class, purse_waiting(class, round));
        w->subport[i].waits |= (uint16_t)(1u << class);
        if (w->n_subports == 1)
            wallet_wait(&w->subport[i].wallet, x->index, class, round);
    }
}

/* Tell others of all that is ready and may not leave, because the port lacks credit. */
static void say_rounds(struct wheel *w)
{
    for (uint32_t left = w->classes; left != 0; left &= left - 1)
        say_class(w, (unsigned)__builtin_ctz(left));
}

/* Have a subport, or a class of it (or WHEEL_SELF), wait until ready (TSC). */
static void have_wait(struct wheel *w, uint32_t subport, unsigned which, uint64_t ready)
{
    uint32_t classes = which == WHEEL_SELF ? w->gate[subport].backlog : 1u << which;

    for (; classes != 0; classes &= classes - 1)
        say_round(w, subport, (unsigned)__builtin_ctz(classes), 0);
    wheel_subport_waits(w, subport, which, ready);
}

/* --- the port --- */

bool shard_line_asks(struct wheel *w)
{
    struct wheel_shard *x = w->shard;
    unsigned class = (unsigned)__builtin_ctz(w->classes);
    bool holds = x->line.credit >= x->least;
    uint64_t owed;
    struct purse_ask ask;

    if (x->line.waits != 0 && class == x->line_class && !is_after(w->now, x->line_again))
        return false;
    owed = x->line.credit < 0 ? (uint64_t)-x->line.credit >> BUCKET_PLACES : 0;
    ask = (struct purse_ask){.shard = x->index,
                             .class = class,
                             .round = line_round(w, class),
                             .cycles = quantum(w, &w->line_pace, 0) + owed,
                             .now = w->now};
    ask.depth = RTE_MAX(w->line_pace.depth, ask.cycles);
    x->line_class = class;
    if (!obtain(&x->line, holds, x->all, &ask, &x->line_again)) {
        x->short_until = w->now + SHORT_QUANTA * x->all->quantum;
        set_short(x, true);
        say_rounds(w);
        return false;
    }
    note_line_round(w, class, ask.round);
    return true;
}

bool shard_makes_room(struct wheel *w, uint32_t n)
{
    struct wheel_shard *x = w->shard;
    struct purse_ask ask = {.class = QOS_BE,
                            .cycles = quantum(w, &w->line_pace, 0),
                            .depth = w->line_pace.depth,
                            .now = w->now};
    int64_t full = (int64_t)(ask.cycles << BUCKET_PLACES);

    if (x->port_short || x->line.credit < 0 || x->line.credit >= full || full < x->room)
        return false;
    ask.cycles = (uint64_t)(full - x->line.credit) >> BUCKET_PLACES;
    if (!wallet_stock(&x->line, &ask))
        return false;
    for (uint32_t left = w->classes; left != 0; left &= left - 1) {
        unsigned class = (unsigned)__builtin_ctz(left);

        note_line_round(w, class, line_round(w, class));
    }
    return shard_has_room(w, n);
}

/* --- turns of subports --- */

/* The bytes that a subport has sent in a class on all shards, now that this one has told its own;
 * but at least so many. */
static uint64_t sent_by_all(struct wheel *w, uint32_t subport, unsigned class, uint64_t least)
{
    struct shard_ring *s = shard_ring_of(w, subport, class);
    uint64_t *all = &shards_turns(w->shard->all, subport, class)->sent,
             own = sched_class_of(&w->base, subport, class)->bytes,
             sent = __atomic_add_fetch(all, own - s->told, __ATOMIC_RELAXED);

    s->told = own;
    while (sent < least && !__atomic_compare_exchange_n(all, &sent, least, true, __ATOMIC_RELAXED,
                                                        __ATOMIC_RELAXED))
        ;
    return RTE_MAX(sent, least);
}

/* Does another shard wait for the port with packets of the same subport and class whose pipes are
 * in an earlier round? While none waits there is nothing to look at, and the own round is noted
 * once in a quantum: lines that others write cost more than the rest of a turn. */
static bool is_ahead(struct wheel *w, uint32_t subport, unsigned class)
{
    const struct shards *all = w->shard->all;
    const struct shards_turns *t = shards_turns(all, subport, class);
    struct shard_ring *s = shard_ring_of(w, subport, class);
    uint32_t round;

    if (!w->shard->port_short && w->now - s->noted < all->quantum)
        return false;
    round = shard_round(w, subport, class);
    s->noted = w->now;
    for (unsigned i = 0; i < all->peers.n; i++) {
        uint32_t other = __atomic_load_n(&t->round[i], __ATOMIC_RELAXED),
                 waits = __atomic_load_n(&all->port.waits[i], __ATOMIC_RELAXED);

        if (other != 0 && waits != 0 && waits >> PURSE_ROUND_BITS <= class + 1 &&
            purse_is_before(other, round) && peers_live(&all->peers, i, w->now))
            return true;
    }
    purse_note_round(shards_purse(all, subport, WHEEL_SELF), class, round);
    return false;
}

/* Has a shared rate, if there is one, earned more than it could spend: at least half its depth? */
static bool is_saved(const struct wheel *w, const struct purse *p, const struct pace *pace,
                     bool any)
{
    return !any ||
           is_after(w->now + pace->depth / 2, __atomic_load_n(&p->full_at, __ATOMIC_RELAXED));
}

/* Has a subport missed turns in the shard's round of a class, and not for lack of its own rates?
 * Its pipes do not let those on other shards go first then: other subports would take the port
 * meanwhile, and a fast pipe that yields to slow ones again and again would lose its subport's
 * share to them. */
static bool is_behind(const struct wheel *w, uint32_t subport, unsigned class)
{
    const struct shards *all = w->shard->all;
    const struct wheel_subport *s = &w->subport[subport];
    uint64_t sent = __atomic_load_n(&shards_turns(all, subport, class)->sent, __ATOMIC_RELAXED),
             turn = w->shard->turn;

    return sent + turn * MISSED < turn * w->shard->turns[class].round &&
           is_saved(w, shards_purse(all, subport, WHEEL_SELF), &s->pace,
                    (w->gate[subport].caps & WHEEL_SELF_BIT) != 0) &&
           is_saved(w, shards_purse(all, subport, class), &s->cap_pace[class],
                    (w->gate[subport].caps & 1u << class) != 0);
}

/* Let a subport have its turn in the shard's round of a class. Returns the round in which it has a
 * turn. A ring that ran empty within its turn goes on with what is left of that, and others are
 * told when it is used up: of what a shard has sent they do not know yet a turn at most. */
static uint64_t take_turn(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_shard *x = w->shard;
    struct shard_ring *s = shard_ring_of(w, subport, class);
    struct wheel_ring *r = wheel_ring_of(w, subport, class);
    uint64_t round = x->turns[class].round, bytes = x->turn, least = 0, sent;
    int32_t left = s->turn == round ? r->saved : 0;

    if (r->saved != WHEEL_TURN_TAKEN)
        least = __atomic_load_n(&x->all->round[class], __ATOMIC_RELAXED);
    r->saved = WHEEL_TURN_TAKEN;
    r->open = x->open[class] - x->port_short;
    if (left > 0 && least <= round + SHARD_SAVED &&
        (!shards_across(x->all, subport) || !x->port_short)) {
        r->left = left;
        return round;
    }
    sent = sent_by_all(w, subport, class, least > SHARD_SAVED ? bytes * (least - SHARD_SAVED) : 0);
    if (sent >= bytes * (round + 1))
        return sent / bytes;
    sent = bytes * (round + 1) - sent;
    r->left = (int32_t)RTE_MIN(sent, bytes);
    s->turn = round;
    return round;
}

/* Have a class of a subport wait until again (TSC), and all lower ones that have something to send.
 */
static void let_go_first(struct wheel *w, uint32_t subport, unsigned class, uint64_t again)
{
    for (uint32_t left = w->gate[subport].backlog >> class << class; left != 0; left &= left - 1)
        have_wait(w, subport, (unsigned)__builtin_ctz(left), again);
}

uint32_t shard_choose(struct wheel *w, unsigned class)
{
    struct shard_line *l = &w->shard->turns[class];
    const struct wheel_ready *r = &w->ready[class];
    uint64_t again = w->now + w->shard->all->quantum / AHEAD_PART, next;

    do {
        next = UINT64_MAX;
        for (uint32_t n = r->tail - r->head; n > 0; n--) {
            uint32_t i = wheel_ready_first(w, class);
            uint64_t round;

            if (shards_across(w->shard->all, i) && is_ahead(w, i, class) &&
                !is_behind(w, i, class)) {
                let_go_first(w, i, class, again);
                continue;
            }
            round = take_turn(w, i, class);
            if (round == l->round)
                return i;
            next = RTE_MIN(next, round);
            wheel_ready_next(w, class);
        }
        go_to_round(w->shard, class, next != UINT64_MAX ? next : l->round);
    } while (next != UINT64_MAX);
    w->shard->roomy = false; /* what is left of this dequeue asks again */
    shard_give_back(w->shard, &w->shard->line);
    return SHARD_NOBODY;
}

/* --- subports --- */

bool shard_asks(struct wheel *w, uint32_t subport, unsigned which, unsigned class, uint32_t bytes)
{
    struct wheel_shard *x = w->shard;
    struct wheel_subport *s = &w->subport[subport];
    bool own = which == WHEEL_SELF;
    struct wallet *wallet = own ? &s->wallet : &x->subport[subport].cap[which];
    const struct pace *pace = own ? &s->pace : &s->cap_pace[which];
    uint64_t cost = bucket_cost(pace, bytes), ready = w->now;

    if (wallet->purse == NULL) {
        ready = bucket_ready(own ? &s->bucket : &s->cap[which], pace, cost);
        if (is_after(w->now, ready))
            return true;
    } else {
        if (wallet_holds(wallet, class, (int64_t)cost)) {
            wallet_withdraw(wallet, x->index);
            return true;
        }
        bool holds = wallet->credit >= (int64_t)cost;
        uint64_t need = holds ? 0 : (uint64_t)((int64_t)cost - wallet->credit) >> BUCKET_PLACES;
        struct purse_ask ask = {.shard = x->index,
                                .class = class,
                                .round = shard_round(w, subport, class),
                                .cycles = quantum(w, pace, need + 1),
                                .depth = pace->depth,
                                .now = w->now};

        if (obtain(wallet, holds, x->all, &ask, &ready)) {
            shard_note_round(w, subport, class, ask.round);
            x->holds[subport / 64] |= UINT64_C(1) << subport % 64;
            return true;
        }
        s->waits |= (uint16_t)(1u << class);
        if (own) /* of its class, others may have credit meanwhile that this shard cannot use */
            wallet_return(&x->subport[subport].cap[class]);
    }
    have_wait(w, subport, which, ready);
    return false;
}

void shard_wait_no_more(struct wheel *w, uint32_t subport, unsigned class)
{
    struct wheel_shard *x = w->shard;
    struct wheel_subport *s = &w->subport[subport];

    if (wallet_waits_in(&s->wallet, class))
        wallet_withdraw(&s->wallet, x->index);
    wallet_withdraw(&x->subport[subport].cap[class], x->index);
    say_round(w, subport, class, 0);
    s->waits &= (uint16_t) ~(1u << class);
}

void shard_limit(struct wheel *w, uint32_t subport)
{
    const struct wheel_subport *s = &w->subport[subport];

    if (s->wallet.purse != NULL)
        purse_limit(s->wallet.purse, s->pace.depth, w->now);
}
