/* SPDX-License-Identifier: BSD-3-Clause */
/* One writer, one reader, no lock: a ring of records of different lengths. */
#include "engine/tap_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>

#define LEAST_BYTES UINT64_C(65536)

/* Bytes of the mapping. */
static uint64_t mapped(const struct tap_ring *r)
{
    return r->size + sizeof(struct tap_record) + UINT16_MAX + 1;
}

/* The mapping is populated at once: a core must not wait for the kernel at the first write. */
int tap_ring_open(struct tap_ring *r, const struct tap_wants *wants, uint64_t bytes,
                  unsigned points)
{
    *r = (struct tap_ring){.wants = wants, .size = rte_align64pow2(RTE_MAX(bytes, LEAST_BYTES))};
    r->count = rte_zmalloc("tap", points * sizeof(r->count[0]), RTE_CACHE_LINE_SIZE);
    r->bytes = mmap(NULL, mapped(r), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (r->bytes == MAP_FAILED)
        r->bytes = NULL;
    return r->bytes != NULL && r->count != NULL ? 0 : -ENOMEM;
}

void tap_ring_close(struct tap_ring *r)
{
    rte_free(r->count);
    if (r->bytes != NULL)
        munmap(r->bytes, mapped(r));
    *r = (struct tap_ring){0};
}

static inline struct tap_record *record_at(const struct tap_ring *r, uint64_t pos)
{
    return (struct tap_record *)(void *)(r->bytes + (pos & (r->size - 1)));
}

/* The position after a record with that many bytes. A record that begins before the end of the ring
 * goes on beyond it in one piece, and the next begins at the start. */
static inline uint64_t after(const struct tap_ring *r, uint64_t pos, uint32_t kept)
{
    uint64_t need = RTE_ALIGN_CEIL(sizeof(struct tap_record) + kept, sizeof(struct tap_record));

    return (pos & (r->size - 1)) + need < r->size ? pos + need : (pos | (r->size - 1)) + 1;
}

static void begin_write(struct tap_ring *r)
{
    if (r->depth++ > 0)
        return;
    /* the reader must see 1 before the core reads the clock: a reader that still sees 0 has read
     * the clock before, so that its horizon is below all TSCs that are written now */
    __atomic_exchange_n(&r->since, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&r->since, rte_rdtsc_precise(), __ATOMIC_RELEASE);
}

void tap_ring_publish(struct tap_ring *r)
{
    if (--r->depth > 0)
        return;
    __atomic_store_n(&r->published, r->head, __ATOMIC_RELEASE);
    __atomic_store_n(&r->since, 0, __ATOMIC_RELEASE);
}

static inline bool has_room(struct tap_ring *r, uint64_t end)
{
    if (likely(end - r->seen_tail <= r->size))
        return true;
    r->seen_tail = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
    return end - r->seen_tail <= r->size;
}

static inline bool is_wanted(const struct tap_wants *w, const struct tap_at *at,
                             const struct rte_mbuf *m)
{
    if (w->is_family != NULL && !w->is_family(m))
        return false;
    if (w->subscriber == 0)
        return true;
    return at->named ? meta_subscriber(m) == w->subscriber : w->is_match(w->match, m, at->port);
}

static inline void put_one(struct tap_ring *r, const struct tap_at *at, const struct rte_mbuf *m,
                           uint64_t now, uint16_t place, uint64_t reasons)
{
    const struct tap_wants *w = r->wants;
    uint16_t point = (uint16_t)(at->interface * TAP_KINDS + at->kind);
    struct tap_count *count = &r->count[point];
    uint32_t kept = RTE_MIN((uint32_t)m->data_len, w->snaplen);
    uint64_t end = after(r, r->head, kept);
    struct tap_record *to = record_at(r, r->head);

    count->matched++;
    if (++count->skipped < w->every)
        return;
    count->skipped = 0;
    count->taken++;
    if (unlikely(!has_room(r, end))) {
        count->lost++;
        return;
    }
    *to = (struct tap_record){
        .tsc = now,
        .reasons = reasons,
        .length = m->pkt_len,
        .subscriber = at->named ? meta_subscriber(m) : w->subscriber,
        .kept = (uint16_t)kept,
        .point = point,
        .place = (uint8_t)place,
    };
    memcpy(to + 1, rte_pktmbuf_mtod(m, const void *), kept);
    r->head = end;
}

static inline bool is_closed(const struct tap_ring *r)
{
    return __atomic_load_n(&r->closed, __ATOMIC_SEQ_CST);
}

bool tap_ring_put(struct tap_ring *r, const struct tap_at *at, struct rte_mbuf *const *m,
                  uint16_t n, const uint64_t *reasons)
{
    bool look = r->wants->subscriber == 0 || !at->named || r->wants->is_family != NULL;
    bool began = false;
    uint64_t now = 0;

    if (is_closed(r))
        return false;
    /* is_match() and is_family() read the frames, which nobody may have read yet */
    for (uint16_t i = 0; look && i < n; i++)
        rte_prefetch0(rte_pktmbuf_mtod(m[i], const void *));
    for (uint16_t i = 0; i < n; i++) {
        if (!is_wanted(r->wants, at, m[i]))
            continue;
        if (!began) {
            begin_write(r);
            began = true;
            if (is_closed(r)) /* closed before the reader could see this write */
                break;
            now = rte_rdtsc();
        }
        put_one(r, at, m[i], now, i, reasons != NULL ? reasons[i] : 0);
    }
    if (began && !at->unpublished)
        tap_ring_publish(r);
    return began && at->unpublished;
}

void tap_ring_take_back(struct tap_ring *r, uint64_t head, uint16_t first)
{
    for (uint64_t pos = head; pos < r->head;) {
        struct tap_record *record = record_at(r, pos);

        pos = after(r, pos, record->kept);
        if (record->place < first || record->point % TAP_KINDS == TAP_DROP)
            continue;
        r->count[record->point].matched--;
        r->count[record->point].taken--;
        record->point = TAP_VOID;
    }
}

const struct tap_record *tap_ring_peek(const struct tap_ring *r)
{
    return r->tail < __atomic_load_n(&r->published, __ATOMIC_ACQUIRE) ? record_at(r, r->tail)
                                                                      : NULL;
}

void tap_ring_next(struct tap_ring *r)
{
    __atomic_store_n(&r->tail, after(r, r->tail, record_at(r, r->tail)->kept), __ATOMIC_RELEASE);
}

uint64_t tap_ring_horizon(const struct tap_ring *r)
{
    uint64_t now = rte_rdtsc_precise(), since;

    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    since = __atomic_load_n(&r->since, __ATOMIC_ACQUIRE);
    return since != 0 ? since : now;
}

/* The order is that of begin_write() and is_closed(): a core that still saw the ring open has set
 * since before, so that who asks tap_ring_is_done() afterwards sees the write. */
void tap_ring_stop(struct tap_ring *r)
{
    __atomic_store_n(&r->closed, true, __ATOMIC_SEQ_CST);
}

bool tap_ring_is_done(const struct tap_ring *r)
{
    return __atomic_load_n(&r->since, __ATOMIC_SEQ_CST) == 0;
}
