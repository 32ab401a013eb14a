/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames between subscribers' lines and the control plane. What a line sends is copied into a ring
 * for the main thread, which gives it to the control plane; what comes from there gets the tags of
 * its line. The main thread only moves messages: they are made, checked and counted here.
 */
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "packet/line.h"
#include "packet/punt_parse.h"
#include "packet/qinq.h"
#include "packet/frame.h"
#include "tasks/arp/instance.h"
#include "tasks/arp/lines.h"

#define OUT_SLOTS 2048 /* a fifth of a second of the default punt_rate */
#define IN_SLOTS  512
#define AT_ONCE   16 /* frames of the control plane that are sent in a round of the core */

/* A line, with its subscriber's id, or 0. */
struct line {
    uint32_t id;
    uint8_t port;
    uint16_t svlan, cvlan;
    uint16_t session; /* of PPPoE, that the frame was or is in; 0: none */
};

struct source_rate arp_line_rate(const struct task_env *env)
{
    uint64_t per_s = env->cfg->param[ARG_PUNT_LINE_RATE].u;

    return source_rate_of(env->tsc_hz, per_s, 2 * per_s);
}

int arp_control_init(struct arp *a, const struct task_env *env)
{
    if (a->cfg->punt_socket == NULL)
        return 0;
    a->line_ports = env->plan->subscriber_ports;
    a->renewals = arp_line_rate(env);
    for (unsigned i = 0; i < RTE_DIM(a->of_lines); i++)
        arp_bucket_init(&a->of_lines[i], env->cfg->param[ARG_PUNT_RATE].u);
    a->control =
        rte_zmalloc_socket("control", sizeof(*a->control), RTE_CACHE_LINE_SIZE, env->socket);
    if (a->control == NULL)
        return -ENOMEM;
    a->control->out = slots_create(OUT_SLOTS, sizeof(struct arp_message));
    a->control->in = slots_create(IN_SLOTS, sizeof(struct arp_message));
    return a->control->out != NULL && a->control->in != NULL ? 0 : -ENOMEM;
}

void arp_control_free(struct arp *a)
{
    if (a->control == NULL)
        return;
    slots_free(a->control->out);
    slots_free(a->control->in);
    rte_free(a->control);
    a->control = NULL;
}

struct arp_control *arp_control(const struct task *t)
{
    return ((const struct arp *)t->state)->control;
}

/* Write the message of a frame with an Ethernet header and tags of l2_len bytes. */
static void write_message(const struct arp *a, struct arp_message *to, const struct line *line,
                          enum punt_kind kind, const struct rte_mbuf *m, uint32_t l2_len)
{
    const uint8_t *f = frame_bytes(m);
    uint8_t *frame = to->message + sizeof(struct punt_header);
    uint32_t behind = m->data_len - l2_len + 2; /* the EtherType, and what follows */
    struct punt_header h = {.magic = PUNT_MAGIC,
                            .header_bytes = sizeof(h),
                            .frame_bytes = (uint16_t)(ETH_MACS + behind),
                            .subscriber = line->id,
                            .session = line->session,
                            .svlan = line->svlan,
                            .cvlan = line->cvlan,
                            .kind = (uint8_t)kind};

    strncpy(h.port, a->cfg->ports[line->port].name, sizeof(h.port) - 1);
    memcpy(to->message, &h, sizeof(h));
    memcpy(frame, f, ETH_MACS);
    memcpy(frame + ETH_MACS, f + l2_len - 2, behind);
    to->bytes = sizeof(h) + h.frame_bytes;
    to->tsc = rte_rdtsc();
}

/* Give a line's frame to the control plane, or drop it. */
static void give(struct task *t, struct rte_mbuf *m, uint32_t l2_len, enum punt_kind kind,
                 const struct line *line)
{
    struct arp *a = t->state;
    struct arp_control *c = a->control;
    struct arp_message *to;

    if (c == NULL || __atomic_load_n(&c->listens, __ATOMIC_ACQUIRE) == 0) {
        task_drop(t, m, DROP_NO_CONTROL_PLANE);
    } else if (m->data_len - l2_len + ETH_LEN > PUNT_FRAME_MOST) {
        task_drop(t, m, DROP_CONTROL_LONG);
    } else if (!arp_bucket_take(&a->of_lines[line->id != 0])) {
        task_drop(t, m, DROP_CONTROL_RATE);
    } else if ((to = slots_room(c->out, 0)) == NULL) {
        task_drop(t, m, DROP_CONTROL_FULL);
    } else {
        if (a->notes == NULL) {
            write_message(a, to, line, kind, m, l2_len);
            slots_put(c->out, 1);
        }
        a->to_control++;
        task_consume(t, &m, 1);
    }
}

void arp_line_receive(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    const struct arp *a = t->state;
    const struct subscriber_table *s = a->tables->subscribers;
    struct line line = {.port = (uint8_t)meta_in_port(m),
                        .svlan = f->svlan,
                        .cvlan = f->cvlan,
                        .session = meta_session(m)};
    enum punt_kind kind;
    struct pppoe ppp;

    if (meta_in_port(m) >= a->cfg->n_ports) {
        task_drop(t, m, DROP_BAD_PORT);
        return;
    }
    kind = f->l2_len == QINQ_LEN ? line_kind(f->bytes, QINQ_LEN, m->data_len) : PUNT_HELLO;
    if (kind == PUNT_HELLO) {
        task_drop(t, m, DROP_NOT_PUNTED);
        return;
    }
    if (kind == PUNT_PPP && pppoe_read(f->bytes + QINQ_LEN, f->avail, &ppp))
        line.session = ppp.session;
    line.id = idmap_get(s->by_vlan, subscriber_vlan_key(line.port, line.svlan, line.cvlan));
    if (kind != PUNT_PPP || line.id == 0 || !arp_echo_receive(t, m, f, line.id))
        give(t, m, QINQ_LEN, kind, &line);
}

/* The line of a subscriber who is there. */
static struct line line_of(const struct subscriber_table *s, uint32_t id)
{
    uint64_t tags = qinq_tags(s->record[id].l2);

    return (struct line){.id = id,
                         .port = s->record[id].port,
                         .svlan = qinq_svlan(tags),
                         .cvlan = qinq_cvlan(tags),
                         .session = net16(s->record[id].session)};
}

void arp_give_ppp(struct task *t, struct rte_mbuf *m, uint32_t id)
{
    struct line line = line_of(((const struct arp *)t->state)->tables->subscribers, id);

    give(t, m, QINQ_LEN, PUNT_PPP, &line);
}

bool arp_is_renewal(const struct arp *a, const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip)
{
    const struct subscriber_table *s = a->tables->subscribers;
    uint32_t id;

    if (a->control == NULL || !line_is_dhcp(ip))
        return false;
    id = idmap_get(s->by_ipv4, rte_be_to_cpu_32(ip->src_addr));
    return id != 0 && s->record[id].port == meta_in_port(m);
}

void arp_renew(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    struct arp *a = t->state;
    const struct subscriber_table *s = a->tables->subscribers;
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f->bytes + f->l2_len);
    uint32_t id = idmap_get(s->by_ipv4, rte_be_to_cpu_32(ip->src_addr));
    struct line line = line_of(s, id);

    if (a->notes == NULL &&
        !source_limit_take(&a->control->renewals, id, rte_rdtsc(), &a->renewals))
        task_drop(t, m, DROP_PUNT_LIMITED);
    else
        give(t, m, f->l2_len, PUNT_DHCP4, &line);
}

/* A message that becomes no frame counts as made and dropped. */
static void refuse(struct task *t, unsigned reason)
{
    t->created++;
    t->drops[reason]++;
}

/* The access port of a name, or CFG_NONE. */
static uint32_t port_of(const struct arp *a, const char *name)
{
    for (uint32_t i = 0; i < a->cfg->n_ports; i++)
        if ((a->line_ports >> i & 1) != 0 && strcmp(a->cfg->ports[i].name, name) == 0)
            return i;
    return CFG_NONE;
}

/* Send a frame with the tags of its line. */
static void send_line(struct task *t, const struct punt_header *h, const uint8_t *frame,
                      uint8_t port)
{
    struct arp *a = t->state;
    struct rte_mbuf *m = rte_pktmbuf_alloc(a->pool);
    uint8_t *f;

    if (m == NULL) {
        refuse(t, DROP_CONTROL_NO_MBUF);
        return;
    }
    t->created++;
    f = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(QINQ_TAGS_LEN + h->frame_bytes));
    if (f == NULL) {
        task_drop(t, m, DROP_CONTROL_NO_MBUF);
        return;
    }
    memcpy(f, frame, ETH_MACS);
    store16(f + 12, rte_cpu_to_be_16(a->cfg->ports[port].tpid));
    store16(f + 14, rte_cpu_to_be_16(h->svlan));
    store16(f + 16, RTE_BE16(TPID_C));
    store16(f + 18, rte_cpu_to_be_16(h->cvlan));
    memcpy(f + 20, frame + ETH_MACS, h->frame_bytes - (uint32_t)ETH_MACS);
    a->from_control++;
    arp_send_question(t, m, port);
}

static void take(struct task *t, const struct arp_message *in)
{
    const struct arp *a = t->state;
    const uint8_t *frame;
    struct punt_header h;
    uint32_t port;

    switch (in->bytes <= PUNT_MESSAGE_MOST ? punt_parse(in->message, in->bytes, &h, &frame)
                                           : PUNT_MALFORMED) {
    case PUNT_MALFORMED:
        refuse(t, DROP_CONTROL_MALFORMED);
        return;
    case PUNT_BAD_VLAN:
        refuse(t, DROP_CONTROL_VLAN);
        return;
    case PUNT_OK:
        break;
    }
    port = port_of(a, h.port);
    if (port == CFG_NONE)
        refuse(t, DROP_CONTROL_PORT);
    else if (h.frame_bytes > a->cfg->ports[port].mtu + (uint32_t)ETH_LEN)
        refuse(t, DROP_CONTROL_MTU);
    else
        send_line(t, &h, frame, (uint8_t)port);
}

uint16_t arp_control_poll(struct task *t)
{
    const struct arp *a = t->state;
    const struct arp_message *in;
    uint16_t n = 0;

    if (a->control == NULL)
        return 0;
    for (; n < AT_ONCE && (in = slots_full(a->control->in, 0)) != NULL; n++) {
        take(t, in);
        slots_take(a->control->in, 1);
    }
    return n;
}
