/* SPDX-License-Identifier: BSD-3-Clause */
/* The client of RADIUS servers by a clock that the test moves: retransmission, failover, dead time,
 * and answers that are not to be believed. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bed.h"
#include "common/program.h"
#include "cp/radius/seal.h"

#define TIMEOUT (100 * MS)
#define DEAD    (10000 * MS)
#define SERVERS 2

/* What a server of the test has got. */
struct arrival {
    uint8_t packet[RADIUS_PACKET_MAX];
    size_t len;
    struct sockaddr_in from;
};

static struct radius_config config;
static struct radius *radius;
static uint64_t now;
static int servers[SERVERS][RADIUS_ROLES]; /* their sockets */
static const char *const secrets[SERVERS] = {"first-secret", "second-secret"};
static unsigned n_done;             /* calls back */
static enum radius_outcome outcome; /* of the last one */

static int begin(void)
{
    const char *where;

    memset(&config, 0, sizeof(config));
    strcpy(config.nas_identifier, "bng1");
    config.timeout_ns = TIMEOUT;
    config.retries = 1;
    config.dead_ns = DEAD;
    config.sockets = 2;
    config.n_servers = SERVERS;
    for (unsigned i = 0; i < SERVERS; i++) {
        servers[i][RADIUS_AUTHENTICATION] = bind_socket(&config.servers[i].authentication);
        servers[i][RADIUS_ACCOUNTING] = bind_socket(&config.servers[i].accounting);
        strcpy(config.servers[i].secret, secrets[i]);
    }
    n_done = 0;
    now = 1000 * MS;
    radius = radius_open(&config, &where);
    return radius != NULL ? 0 : EXIT_FAILURE;
}

static void end(void)
{
    radius_close(radius);
    for (unsigned i = 0; i < SERVERS; i++)
        for (unsigned role = 0; role < RADIUS_ROLES; role++)
            close(servers[i][role]);
}

static void done(void *ctx, const struct radius_answer *answer)
{
    n_done++;
    outcome = answer->outcome;
}

static struct radius_request *ask(void)
{
    const struct radius_user user = {.name = text("user"), .port_type = RADIUS_PORT_ETHERNET};
    const struct radius_credentials c = {.kind = RADIUS_PAP, .password = text("password")};

    return radius_access(radius, &user, &c, done, NULL);
}

static struct radius_request *record(void)
{
    const struct radius_user user = {.name = text("user"), .port_type = RADIUS_PORT_ETHERNET};
    const struct radius_record r = {.status = RADIUS_START, .time_s = 1};

    return radius_account(radius, &user, &r, done, NULL);
}

/* Let time pass, and the client run at each moment that it has asked for. */
static void pass(uint64_t ns)
{
    uint64_t until = now + ns;

    while (radius_next(radius) <= until) {
        now = radius_next(radius) > now ? radius_next(radius) : now;
        radius_run(radius, now);
    }
    now = until;
    radius_run(radius, now);
}

static bool arrives(unsigned server, enum radius_role role, struct arrival *a)
{
    socklen_t len = sizeof(a->from);
    ssize_t n = recvfrom(servers[server][role], a->packet, sizeof(a->packet), MSG_DONTWAIT,
                         (struct sockaddr *)&a->from, &len);

    a->len = n > 0 ? radius_packet_len(a->packet, (size_t)n) : 0;
    return a->len > 0;
}

static unsigned count(unsigned server, enum radius_role role)
{
    struct arrival a;
    unsigned n = 0;

    while (arrives(server, role, &a))
        n++;
    return n;
}

static void send_back(unsigned server, enum radius_role role, const struct arrival *to,
                      const uint8_t *packet, size_t len)
{
    sendto(servers[server][role], packet, len, 0, (const struct sockaddr *)&to->from,
           sizeof(to->from));
}

/* Answer with a Message-Authenticator and no more. */
static void answer(unsigned server, enum radius_role role, const struct arrival *to,
                   enum radius_code code)
{
    uint8_t packet[RADIUS_PACKET_MAX];
    struct radius_writer w = radius_begin(packet, code, to->packet[1], to->packet + 4);

    radius_put_message_authenticator(&w);
    send_back(server, role, to, packet,
              radius_sign_answer(&w, to->packet + 4, text(secrets[server])));
}

static struct radius_peer_counts counts(unsigned server)
{
    return radius_peer_state(radius, server, RADIUS_AUTHENTICATION).counts;
}

/* --- tests --- */

static void accepted(void)
{
    struct radius_octets signature;
    struct arrival a;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    ask();
    CU_ASSERT_EQUAL(radius_next(radius), 0);
    pass(0);
    CU_ASSERT_TRUE(arrives(0, RADIUS_AUTHENTICATION, &a));
    signature = attribute(a.packet, a.len, RADIUS_MESSAGE_AUTHENTICATOR);
    CU_ASSERT(signature.n == 16 && signature.p == a.packet + RADIUS_HEADER + 2);
    CU_ASSERT_EQUAL(radius_next(radius), now + TIMEOUT);
    now += 5 * MS;
    answer(0, RADIUS_AUTHENTICATION, &a, RADIUS_ACCESS_ACCEPT);
    pass(0);
    CU_ASSERT(n_done == 1 && outcome == RADIUS_ACCEPTED);
    CU_ASSERT_EQUAL(radius_next(radius), UINT64_MAX);
    CU_ASSERT_EQUAL(counts(0).accepts, 1);
    CU_ASSERT_EQUAL(radius_peer_state(radius, 0, RADIUS_AUTHENTICATION).rtt_us->max, 5000);
    answer(0, RADIUS_AUTHENTICATION, &a, RADIUS_ACCESS_REJECT);
    pass(0);
    CU_ASSERT(n_done == 1 && counts(0).late == 1);
    end();
}

static void retransmitted(void)
{
    struct arrival first, second;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    ask();
    pass(TIMEOUT - 1);
    CU_ASSERT_TRUE(arrives(0, RADIUS_AUTHENTICATION, &first));
    CU_ASSERT_EQUAL(count(0, RADIUS_AUTHENTICATION), 0);
    pass(1);
    CU_ASSERT_TRUE(arrives(0, RADIUS_AUTHENTICATION, &second));
    CU_ASSERT(first.len == second.len && memcmp(first.packet, second.packet, first.len) == 0);
    CU_ASSERT_EQUAL(counts(0).retransmissions, 1);
    answer(0, RADIUS_AUTHENTICATION, &second, RADIUS_ACCESS_REJECT);
    pass(0);
    CU_ASSERT(n_done == 1 && outcome == RADIUS_REJECTED);
    end();
}

/* The second server gets it with a password that its own secret hides. */
static void failed_over(void)
{
    struct arrival a;
    uint8_t expected[RADIUS_PACKET_MAX];
    struct radius_writer w;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    ask();
    pass(3 * TIMEOUT - 1);
    CU_ASSERT_EQUAL(count(0, RADIUS_AUTHENTICATION), 2);
    CU_ASSERT_EQUAL(count(1, RADIUS_AUTHENTICATION), 0);
    pass(1);
    CU_ASSERT_EQUAL(count(0, RADIUS_AUTHENTICATION), 0);
    CU_ASSERT_TRUE(radius_peer_state(radius, 0, RADIUS_AUTHENTICATION).dead);
    CU_ASSERT_TRUE(arrives(1, RADIUS_AUTHENTICATION, &a));
    w = radius_begin(expected, RADIUS_ACCESS_REQUEST, 0, a.packet + 4);
    radius_put_password(&w, text("password"), text(secrets[1]), a.packet + 4);
    CU_ASSERT_EQUAL(memcmp(attribute(a.packet, a.len, RADIUS_USER_PASSWORD).p,
                           expected + RADIUS_HEADER + 2, 16),
                    0);
    answer(1, RADIUS_AUTHENTICATION, &a, RADIUS_ACCESS_ACCEPT);
    pass(0);
    CU_ASSERT(n_done == 1 && outcome == RADIUS_ACCEPTED);
    end();
}

/* All that a dead server has goes elsewhere at once; after the dead time one request tries it. */
static void dead_time(void)
{
    struct arrival a;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    ask();
    pass(TIMEOUT);
    for (unsigned i = 0; i < 9; i++)
        ask();
    pass(2 * TIMEOUT);
    CU_ASSERT_EQUAL(counts(0).deaths, 1);
    CU_ASSERT_EQUAL(count(1, RADIUS_AUTHENTICATION), 10);
    count(0, RADIUS_AUTHENTICATION);
    ask();
    pass(0);
    CU_ASSERT_EQUAL(count(0, RADIUS_AUTHENTICATION), 0);
    CU_ASSERT_EQUAL(count(1, RADIUS_AUTHENTICATION), 1);
    pass(DEAD);
    n_done = 0;
    ask();
    ask();
    pass(0);
    CU_ASSERT_TRUE(arrives(0, RADIUS_AUTHENTICATION, &a));
    CU_ASSERT_EQUAL(count(0, RADIUS_AUTHENTICATION), 0);
    answer(0, RADIUS_AUTHENTICATION, &a, RADIUS_ACCESS_ACCEPT);
    pass(0);
    CU_ASSERT_FALSE(radius_peer_state(radius, 0, RADIUS_AUTHENTICATION).dead);
    ask();
    pass(0);
    CU_ASSERT_EQUAL(count(0, RADIUS_AUTHENTICATION), 1);
    end();
}

/* A server that answers others is not dead because it does not answer one. */
static void one_unanswered(void)
{
    struct arrival a, b;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    ask();
    pass(0);
    CU_ASSERT_TRUE(arrives(0, RADIUS_AUTHENTICATION, &a));
    ask();
    pass(TIMEOUT / 2);
    CU_ASSERT_TRUE(arrives(0, RADIUS_AUTHENTICATION, &b));
    answer(0, RADIUS_AUTHENTICATION, &b, RADIUS_ACCESS_ACCEPT);
    pass(3 * TIMEOUT);
    CU_ASSERT_EQUAL(n_done, 1);
    CU_ASSERT(counts(0).timeouts == 1 && counts(0).deaths == 0);
    CU_ASSERT_EQUAL(count(1, RADIUS_AUTHENTICATION), 1);
    end();
}

/* Requests fail when no server answers, and at once while all are dead. */
static void nobody_answers(void)
{
    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    ask();
    pass(6 * TIMEOUT - 1);
    CU_ASSERT_EQUAL(n_done, 0);
    pass(1);
    CU_ASSERT(n_done == 1 && outcome == RADIUS_NO_ANSWER);
    ask();
    pass(0);
    CU_ASSERT_EQUAL(n_done, 2);
    CU_ASSERT_EQUAL(radius_next(radius), UINT64_MAX);
    end();
}

/* A record outlasts the death of all servers. */
static void records_are_kept(void)
{
    struct arrival a;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    for (unsigned i = 0; i < 3; i++)
        record();
    pass(6 * TIMEOUT + DEAD - 1);
    CU_ASSERT_EQUAL(n_done, 0);
    CU_ASSERT(count(0, RADIUS_ACCOUNTING) > 0 && count(1, RADIUS_ACCOUNTING) == 6);
    pass(3600 * 1000 * MS);
    while (arrives(0, RADIUS_ACCOUNTING, &a))
        continue;
    pass(DEAD);
    CU_ASSERT_TRUE(arrives(0, RADIUS_ACCOUNTING, &a));
    while (arrives(0, RADIUS_ACCOUNTING, &a))
        continue;
    CU_ASSERT_EQUAL(n_done, 0);
    for (unsigned i = 0; i < 100 && n_done < 3; i++) {
        while (arrives(0, RADIUS_ACCOUNTING, &a))
            answer(0, RADIUS_ACCOUNTING, &a, RADIUS_ACCOUNTING_RESPONSE);
        pass(DEAD / 10);
    }
    CU_ASSERT_EQUAL(n_done, 3);
    CU_ASSERT_EQUAL(radius_next(radius), UINT64_MAX);
    end();
}

/* Records are signed by their authenticator, and bear none of the attributes of Access-Requests. */
static void records_are_signed(void)
{
    struct arrival a;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    record();
    pass(0);
    CU_ASSERT_TRUE(arrives(0, RADIUS_ACCOUNTING, &a));
    CU_ASSERT_EQUAL(radius_check_request(a.packet, a.len, text(secrets[0])),
                    RADIUS_NO_MESSAGE_AUTHENTICATOR);
    answer(0, RADIUS_ACCOUNTING, &a, RADIUS_ACCOUNTING_RESPONSE);
    pass(0);
    CU_ASSERT_EQUAL(n_done, 1);
    end();
}

/* Answers that are not genuine are counted, and the request goes on waiting. */
static void answers_not_to_be_believed(void)
{
    uint8_t packet[RADIUS_PACKET_MAX];
    struct radius_writer w;
    struct arrival a;
    size_t len;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    ask();
    pass(0);
    CU_ASSERT_TRUE(arrives(0, RADIUS_AUTHENTICATION, &a));
    w = radius_begin(packet, RADIUS_ACCESS_ACCEPT, a.packet[1], a.packet + 4);
    radius_put_message_authenticator(&w);
    len = radius_sign_answer(&w, a.packet + 4, text("wrong"));
    send_back(0, RADIUS_AUTHENTICATION, &a, packet, len);
    send_back(0, RADIUS_AUTHENTICATION, &a, packet, len - 1); /* cut */
    send_back(0, RADIUS_AUTHENTICATION, &a, packet, 0);
    w = radius_begin(packet, RADIUS_ACCESS_ACCEPT, a.packet[1], a.packet + 4);
    radius_put(&w, RADIUS_CLASS, text("0123456789abcdef")); /* which signing fills in instead */
    len = radius_sign_answer(&w, a.packet + 4, text(secrets[0]));
    send_back(0, RADIUS_AUTHENTICATION, &a, packet, len);
    radius_put_message_authenticator(&w);
    len = radius_sign_answer(&w, a.packet + 4, text(secrets[0]));
    send_back(0, RADIUS_AUTHENTICATION, &a, packet, len);
    answer(0, RADIUS_AUTHENTICATION, &a, RADIUS_ACCOUNTING_RESPONSE);
    a.packet[1] ^= 0x80;
    answer(0, RADIUS_AUTHENTICATION, &a, RADIUS_ACCESS_ACCEPT); /* another id */
    pass(0);
    CU_ASSERT_EQUAL(n_done, 0);
    CU_ASSERT_EQUAL(counts(0).bad_authenticators, 1);
    CU_ASSERT_EQUAL(counts(0).malformed, 2);
    CU_ASSERT_EQUAL(counts(0).no_message_authenticators, 1);
    CU_ASSERT_EQUAL(counts(0).bad_message_authenticators, 1);
    CU_ASSERT_EQUAL(counts(0).unknown_types, 1);
    CU_ASSERT_EQUAL(counts(0).late, 1);
    a.packet[1] ^= 0x80;
    answer(1, RADIUS_AUTHENTICATION, &a, RADIUS_ACCESS_ACCEPT); /* from another's address */
    pass(0);
    CU_ASSERT_EQUAL(n_done, 0);
    answer(0, RADIUS_AUTHENTICATION, &a, RADIUS_ACCESS_ACCEPT);
    pass(0);
    CU_ASSERT_EQUAL(n_done, 1);
    end();
}

/* 256 requests on each of two sockets, each with an id of its own there; the others wait. They come
 * and go in portions that a socket's buffer holds. */
static void more_than_ids(void)
{
    static struct arrival a[600];
    unsigned n = 0;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    for (unsigned i = 0; i < 600; i++) {
        ask();
        pass(0);
        while (n < 600 && arrives(0, RADIUS_AUTHENTICATION, &a[n]))
            n++;
    }
    CU_ASSERT_EQUAL(n, 512);
    CU_ASSERT_EQUAL(radius_peer_state(radius, 0, RADIUS_AUTHENTICATION).pending, 512);
    CU_ASSERT_EQUAL(radius_waiting(radius, RADIUS_AUTHENTICATION), 88);
    for (unsigned i = 0; i < n; i++) {
        answer(0, RADIUS_AUTHENTICATION, &a[i], RADIUS_ACCESS_ACCEPT);
        pass(0);
        while (n < 600 && arrives(0, RADIUS_AUTHENTICATION, &a[n]))
            n++;
    }
    CU_ASSERT(n_done == 600 && n == 600 && counts(0).retransmissions == 0);
    end();
}

static void cancelled(void)
{
    struct radius_request *sent, *waiting;
    struct arrival a;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    sent = ask();
    pass(0);
    waiting = ask();
    radius_cancel(waiting);
    radius_cancel(sent);
    CU_ASSERT_TRUE(arrives(0, RADIUS_AUTHENTICATION, &a));
    answer(0, RADIUS_AUTHENTICATION, &a, RADIUS_ACCESS_ACCEPT);
    pass(10 * TIMEOUT);
    CU_ASSERT(n_done == 0 && counts(0).late == 1 && counts(0).deaths == 0);
    CU_ASSERT_EQUAL(radius_next(radius), UINT64_MAX);
    end();
}

static void closed_with_requests(void)
{
    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    ask();
    record();
    pass(0);
    ask();
    record();
    end();
    CU_ASSERT_EQUAL(n_done, 0);
}

static const struct test tests[] = {
    {"accepted", accepted},
    {"retransmitted", retransmitted},
    {"failed over", failed_over},
    {"dead time", dead_time},
    {"one request unanswered", one_unanswered},
    {"nobody answers", nobody_answers},
    {"records are kept", records_are_kept},
    {"records are signed", records_are_signed},
    {"answers not to be believed", answers_not_to_be_believed},
    {"more requests than ids", more_than_ids},
    {"cancelled", cancelled},
    {"closed with requests", closed_with_requests},
    {NULL, NULL},
};

const struct test_program test_program = {"radius client", tests, NULL, NULL};
