/* SPDX-License-Identifier: BSD-3-Clause */
/* The server of changes: each request once, repeated answers, and what is discarded. */
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bed.h"
#include "common/program.h"
#include "cp/radius/seal.h"

#define WINDOW 300

static struct radius_config config;
static struct radius *radius;
static int client;              /* who asks */
static unsigned n_changes;      /* that the program was asked for */
static bool later;              /* it answers when the test says */
static struct radius_coa *open; /* which it has not answered */
static uint8_t packet[RADIUS_PACKET_MAX];

static void changed(void *ctx, struct radius_coa *coa, const struct radius_change *change)
{
    n_changes++;
    if (later)
        open = coa;
    else
        radius_answer_change(coa, is_text(change->session, "17") ? RADIUS_NO_ERROR
                                                                 : RADIUS_SESSION_NOT_FOUND);
}

static int begin(void)
{
    union radius_address own;
    const char *where;

    memset(&config, 0, sizeof(config));
    strcpy(config.nas_identifier, "bng1");
    config.window_s = WINDOW;
    close(bind_socket(&config.coa));
    client = bind_socket(&own);
    config.n_clients = 1;
    config.clients[0].address = own;
    strcpy(config.clients[0].secret, "secret");
    n_changes = 0;
    later = false;
    radius = radius_open(&config, &where);
    if (radius == NULL)
        return EXIT_FAILURE;
    radius_on_change(radius, changed, NULL);
    return connect(client, &config.coa.any, sizeof(config.coa.ipv4));
}

static void end(void)
{
    radius_close(radius);
    close(client);
}

/* Make a request of a session, which was made so many seconds ago. Returns its length. */
static size_t make(uint8_t id, const char *session, int64_t age)
{
    static const uint8_t none[RADIUS_AUTHENTICATOR];
    struct radius_writer w = radius_begin(packet, RADIUS_COA_REQUEST, id, none);

    radius_put_u32(&w, RADIUS_EVENT_TIMESTAMP, (uint32_t)(time(NULL) - age));
    radius_put(&w, RADIUS_ACCT_SESSION_ID, text(session));
    radius_put(&w, RADIUS_PROXY_STATE, text("one"));
    radius_put(&w, RADIUS_FILTER_ID, text("gold"));
    radius_put(&w, RADIUS_PROXY_STATE, text("two"));
    return radius_sign_request(&w, text("secret"));
}

/* Send it, and let the server run. Returns the code of its genuine answer, 0 for none. */
static uint8_t answered(size_t len, uint8_t answer[RADIUS_PACKET_MAX], size_t *n)
{
    ssize_t got;

    send(client, packet, len, 0);
    radius_run(radius, 1000 * MS);
    got = recv(client, answer, RADIUS_PACKET_MAX, MSG_DONTWAIT);
    if (got <= 0)
        return 0;
    *n = radius_packet_len(answer, (size_t)got);
    CU_ASSERT(*n > 0 && answer[1] == packet[1]);
    CU_ASSERT_EQUAL(radius_check_answer(answer, *n, packet + 4, text("secret")), RADIUS_GENUINE);
    return answer[0];
}

static uint8_t code_of(size_t len)
{
    uint8_t answer[RADIUS_PACKET_MAX];
    size_t n;

    return answered(len, answer, &n);
}

/* --- tests --- */

static void acknowledged(void)
{
    uint8_t answer[RADIUS_PACKET_MAX];
    struct radius_attribute a;
    struct radius_reader r;
    size_t n = 0;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    CU_ASSERT_EQUAL(answered(make(1, "17", 0), answer, &n), RADIUS_COA_ACK);
    r = radius_attributes(answer, n);
    CU_ASSERT(radius_next_attribute(&r, &a) && a.type == RADIUS_MESSAGE_AUTHENTICATOR);
    CU_ASSERT(radius_next_attribute(&r, &a) && is_text(a.value, "one"));
    CU_ASSERT(radius_next_attribute(&r, &a) && is_text(a.value, "two"));
    CU_ASSERT_FALSE(radius_next_attribute(&r, &a));
    CU_ASSERT_EQUAL(answered(make(2, "18", 0), answer, &n), RADIUS_COA_NAK);
    CU_ASSERT_EQUAL(number(answer, n, RADIUS_ERROR_CAUSE), RADIUS_SESSION_NOT_FOUND);
    CU_ASSERT(radius_coa_counts(radius).acks == 1 && radius_coa_counts(radius).naks == 1);
    end();
}

static void repeated(void)
{
    size_t len;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    len = make(1, "18", 0);
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(code_of(len), RADIUS_COA_NAK);
    CU_ASSERT_EQUAL(n_changes, 1);
    len = make(2, "18", 0); /* another id: another request */
    CU_ASSERT_EQUAL(code_of(len), RADIUS_COA_NAK);
    CU_ASSERT(n_changes == 2 && radius_coa_counts(radius).repeated == 2);
    end();
}

/* While a change is being made, the same request again has no answer, and begins nothing. */
static void answered_later(void)
{
    uint8_t answer[RADIUS_PACKET_MAX];
    size_t len;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    later = true;
    len = make(1, "17", 0);
    CU_ASSERT_EQUAL(code_of(len), 0);
    CU_ASSERT_EQUAL(code_of(len), 0);
    radius_answer_change(open, RADIUS_NO_ERROR);
    CU_ASSERT(recv(client, answer, sizeof(answer), MSG_DONTWAIT) > 0 &&
              answer[0] == RADIUS_COA_ACK);
    CU_ASSERT_EQUAL(code_of(len), RADIUS_COA_ACK);
    CU_ASSERT_EQUAL(n_changes, 1);
    end();
}

/* Only requests of the window, which takes a second of the test's own time either way. */
static void old_requests(void)
{
    static const struct {
        int64_t age;
        bool taken;
    } at[] = {{WINDOW + 2, false}, {WINDOW - 2, true}, {2 - WINDOW, true}, {-WINDOW - 2, false}};

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    for (unsigned i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(code_of(make((uint8_t)i, "17", at[i].age)),
                        at[i].taken ? RADIUS_COA_ACK : 0);
    CU_ASSERT_EQUAL(radius_coa_counts(radius).old, 2);
    end();
}

static void without_a_time(void)
{
    static const uint8_t none[RADIUS_AUTHENTICATOR];
    struct radius_writer w;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    w = radius_begin(packet, RADIUS_DISCONNECT_REQUEST, 1, none);
    radius_put(&w, RADIUS_ACCT_SESSION_ID, text("17"));
    CU_ASSERT_EQUAL(code_of(radius_sign_request(&w, text("secret"))), 0);
    CU_ASSERT_EQUAL(radius_coa_counts(radius).old, 1);
    end();
}

/* Each octet changed, each length: nothing is done. */
static void forged(void)
{
    uint8_t genuine[RADIUS_PACKET_MAX];
    size_t len;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    len = make(1, "17", 0);
    memcpy(genuine, packet, len);
    for (size_t i = 0; i < len; i++) {
        packet[i] ^= 0x20;
        CU_ASSERT_EQUAL(code_of(len), 0);
        packet[i] ^= 0x20;
        CU_ASSERT_EQUAL(code_of(i), 0);
    }
    CU_ASSERT_EQUAL(n_changes, 0);
    CU_ASSERT_EQUAL(code_of(len), RADIUS_COA_ACK);
    end();
}

static void strangers(void)
{
    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    config.clients[0].address.ipv4.sin_addr.s_addr = htonl(0x7f000002);
    CU_ASSERT_EQUAL(code_of(make(1, "17", 0)), 0);
    CU_ASSERT(radius_coa_counts(radius).unknown_clients == 1 && n_changes == 0);
    end();
}

/* Beyond the memory of what was taken, requests are refused: to forget one would be to take it
 * again. */
static void more_than_memory(void)
{
    unsigned taken = 0;
    char session[16];

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    for (unsigned i = 0; i < 17000; i++) {
        snprintf(session, sizeof(session), "%u", i);
        if (code_of(make((uint8_t)i, session, 0)) == 0)
            break;
        taken++;
    }
    CU_ASSERT(taken == 17000 && n_changes == 16384);
    radius_run(radius, 1000 * MS);
    end();
}

static const struct test tests[] = {
    {"acknowledged and refused", acknowledged},
    {"repeated", repeated},
    {"answered later", answered_later},
    {"old requests", old_requests},
    {"without a time", without_a_time},
    {"forged", forged},
    {"strangers", strangers},
    {"more than the memory holds", more_than_memory},
    {NULL, NULL},
};

const struct test_program test_program = {"changes by RADIUS", tests, NULL, NULL};
