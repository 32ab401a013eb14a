/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/radius/coa.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cp/radius/message.h"
#include "cp/radius/seal.h"

#define SEEN     16384 /* requests that are remembered: those of twice the window */
#define BUCKETS  4096  /* a power of two */
#define NONE     UINT16_MAX
#define NS_PER_S UINT64_C(1000000000)

/* A request that was taken: its authenticator is a digest over all of it and the secret. */
struct seen {
    uint8_t authenticator[RADIUS_AUTHENTICATOR];
    uint64_t until; /* when it would be too old to be taken again */
    uint16_t error; /* with what it was answered */
    uint16_t next;  /* in its bucket, older ones behind */
    uint8_t client;
    bool answered;
};

/* A request that is being worked on. */
struct radius_coa {
    struct coa_server *server;
    union radius_address from;
    uint16_t seen;
    size_t len;
    uint8_t packet[];
};

struct coa_server {
    const struct radius_config *config;
    radius_changed *changed;
    void *ctx;
    int fd;
    struct radius_coa_counts counts;
    uint16_t bucket[BUCKETS];
    struct seen seen[SEEN]; /* a ring, in the order in which they came */
    unsigned first, n;
};

static socklen_t address_len(const union radius_address *a)
{
    return a->any.sa_family == AF_INET6 ? sizeof(a->ipv6) : sizeof(a->ipv4);
}

/* --- answers --- */

static void copy_proxy_states(struct radius_writer *w, const uint8_t *packet, size_t len)
{
    struct radius_reader r = radius_attributes(packet, len);
    struct radius_attribute a;

    while (radius_next_attribute(&r, &a))
        if (a.type == RADIUS_PROXY_STATE)
            radius_put(w, a.type, a.value);
}

/* Send the answer to a request; ACK and NAK follow its code. */
static void answer(struct coa_server *s, const uint8_t *packet, size_t len,
                   const union radius_address *to, unsigned client, enum radius_error error)
{
    const char *secret = s->config->clients[client].secret;
    uint8_t out[RADIUS_PACKET_MAX];
    struct radius_writer w =
        radius_begin(out, packet[0] + (error == RADIUS_NO_ERROR ? 1u : 2u), packet[1], packet + 4);

    radius_put_message_authenticator(&w);
    if (error != RADIUS_NO_ERROR)
        radius_put_u32(&w, RADIUS_ERROR_CAUSE, error);
    copy_proxy_states(&w, packet, len);
    if (w.overfull)
        return;
    sendto(s->fd, out, radius_sign_answer(&w, packet + 4, radius_octets(secret, strlen(secret))),
           MSG_DONTWAIT | MSG_NOSIGNAL, &to->any, address_len(to));
}

static void count_answer(struct coa_server *s, enum radius_error error)
{
    if (error == RADIUS_NO_ERROR)
        s->counts.acks++;
    else
        s->counts.naks++;
}

void radius_answer_change(struct radius_coa *coa, enum radius_error error)
{
    struct coa_server *s = coa->server;
    struct seen *seen = &s->seen[coa->seen];

    seen->error = (uint16_t)error;
    seen->answered = true;
    count_answer(s, error);
    answer(s, coa->packet, coa->len, &coa->from, seen->client, error);
    free(coa);
}

/* --- memory of requests --- */

static uint16_t *bucket_of(struct coa_server *s, const uint8_t *authenticator)
{
    return &s->bucket[(authenticator[0] | authenticator[1] << 8) % BUCKETS];
}

static struct seen *find_seen(struct coa_server *s, const uint8_t *packet, unsigned client)
{
    for (uint16_t i = *bucket_of(s, packet + 4); i != NONE; i = s->seen[i].next)
        if (s->seen[i].client == client &&
            memcmp(s->seen[i].authenticator, packet + 4, RADIUS_AUTHENTICATOR) == 0)
            return &s->seen[i];
    return NULL;
}

/* The oldest is the last in its bucket. */
static void forget_oldest(struct coa_server *s)
{
    uint16_t *link = bucket_of(s, s->seen[s->first].authenticator);

    while (*link != s->first)
        link = &s->seen[*link].next;
    *link = NONE;
    s->first = (s->first + 1) % SEEN;
    s->n--;
}

/* Returns its place, or NONE: those that may not be forgotten yet fill the memory. */
static uint16_t remember(struct coa_server *s, const uint8_t *packet, unsigned client, uint64_t now)
{
    uint16_t *bucket = bucket_of(s, packet + 4), place;

    while (s->n > 0 && s->seen[s->first].until <= now && s->seen[s->first].answered)
        forget_oldest(s);
    if (s->n == SEEN)
        return NONE;
    place = (uint16_t)((s->first + s->n++) % SEEN);
    s->seen[place] = (struct seen){.client = (uint8_t)client,
                                   .until = now + 2 * s->config->window_s * NS_PER_S,
                                   .next = *bucket};
    memcpy(s->seen[place].authenticator, packet + 4, RADIUS_AUTHENTICATOR);
    *bucket = place;
    return place;
}

/* --- requests --- */

static bool same_host(const union radius_address *a, const union radius_address *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    if (a->any.sa_family == AF_INET)
        return a->ipv4.sin_addr.s_addr == b->ipv4.sin_addr.s_addr;
    return memcmp(&a->ipv6.sin6_addr, &b->ipv6.sin6_addr, sizeof(a->ipv6.sin6_addr)) == 0;
}

static unsigned find_client(const struct radius_config *config, const union radius_address *from)
{
    unsigned i = 0;

    while (i < config->n_clients && !same_host(&config->clients[i].address, from))
        i++;
    return i;
}

/* Is a request's Event-Timestamp in the window? Without a current time the request may be a replay
 * (RFC 5176 section 6.3). */
static bool is_current(const struct coa_server *s, const uint8_t *packet, size_t len)
{
    struct radius_reader r = radius_attributes(packet, len);
    uint64_t now = (uint64_t)time(NULL);
    struct radius_attribute a;
    uint32_t at;

    while (radius_next_attribute(&r, &a))
        if (a.type == RADIUS_EVENT_TIMESTAMP)
            return radius_take_u32(a.value, &at) && at + s->config->window_s >= now &&
                   at <= now + s->config->window_s;
    return false;
}

/* Hand a change to whom it concerns. */
static void take(struct coa_server *s, const uint8_t *packet, size_t len,
                 const union radius_address *from, uint16_t place)
{
    struct radius_coa *coa = malloc(sizeof(*coa) + len);
    struct radius_change change;
    enum radius_error error;

    if (coa == NULL)
        abort();
    *coa = (struct radius_coa){.server = s, .from = *from, .seen = place, .len = len};
    memcpy(coa->packet, packet, len);
    error = radius_read_change(coa->packet, len, s->config, &change);
    if (error != RADIUS_NO_ERROR || s->changed == NULL)
        radius_answer_change(coa, error != RADIUS_NO_ERROR ? error : RADIUS_SESSION_NOT_FOUND);
    else
        s->changed(s->ctx, coa, &change);
}

/* Returns whether it is to be discarded, which is counted. */
static bool is_forged(struct coa_server *s, const uint8_t *packet, size_t len, unsigned client)
{
    const char *secret = s->config->clients[client].secret;

    switch (radius_check_request(packet, len, radius_octets(secret, strlen(secret)))) {
    case RADIUS_BAD_AUTHENTICATOR:
        s->counts.bad_authenticators++;
        return true;
    case RADIUS_BAD_MESSAGE_AUTHENTICATOR:
        s->counts.bad_message_authenticators++;
        return true;
    default: /* the authenticator signs all of a request, so that it need not bear another */
        return false;
    }
}

static void handle(struct coa_server *s, const uint8_t *packet, size_t n,
                   const union radius_address *from, uint64_t now)
{
    unsigned client = find_client(s->config, from);
    size_t len = radius_packet_len(packet, n);
    const struct seen *seen;
    uint16_t place;

    if (client == s->config->n_clients) {
        s->counts.unknown_clients++;
        return;
    }
    if (len == 0 || (packet[0] != RADIUS_COA_REQUEST && packet[0] != RADIUS_DISCONNECT_REQUEST)) {
        s->counts.malformed++;
        return;
    }
    if (is_forged(s, packet, len, client))
        return;
    if (!is_current(s, packet, len)) {
        s->counts.old++;
        return;
    }
    seen = find_seen(s, packet, client);
    if (seen != NULL) {
        s->counts.repeated++;
        if (seen->answered)
            answer(s, packet, len, from, client, seen->error);
        return;
    }
    s->counts.requests++;
    place = remember(s, packet, client, now);
    if (place != NONE) {
        take(s, packet, len, from, place);
    } else {
        count_answer(s, RADIUS_NO_RESOURCES);
        answer(s, packet, len, from, client, RADIUS_NO_RESOURCES);
    }
}

void coa_receive(struct coa_server *s, uint64_t now)
{
    uint8_t packet[RADIUS_PACKET_MAX];
    union radius_address from;
    socklen_t from_len = sizeof(from);
    ssize_t n;

    for (unsigned i = 0; i < 256; i++, from_len = sizeof(from)) {
        n = recvfrom(s->fd, packet, sizeof(packet), MSG_DONTWAIT, &from.any, &from_len);
        if (n < 0)
            return;
        handle(s, packet, (size_t)n, &from, now);
    }
}

/* --- opening --- */

static int open_socket(const union radius_address *at, int epoll)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fd = socket(at->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), why;

    if (fd < 0)
        return -1;
    if (bind(fd, &at->any, address_len(at)) == 0 &&
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0)
        return fd;
    why = errno;
    close(fd);
    errno = why;
    return -1;
}

struct coa_server *coa_open(const struct radius_config *config, int epoll)
{
    int fd = open_socket(&config->coa, epoll);
    struct coa_server *s;

    if (fd < 0)
        return NULL;
    s = calloc(1, sizeof(*s));
    if (s == NULL)
        abort();
    s->config = config;
    s->fd = fd;
    memset(s->bucket, 0xff, sizeof(s->bucket));
    return s;
}

void coa_close(struct coa_server *s)
{
    close(s->fd);
    free(s);
}

void coa_on_change(struct coa_server *s, radius_changed *changed, void *ctx)
{
    s->changed = changed;
    s->ctx = ctx;
}

struct radius_coa_counts coa_counts(const struct coa_server *s)
{
    return s->counts;
}
