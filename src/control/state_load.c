/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking back what was kept. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/units.h"
#include "control/request.h"
#include "control/state_impl.h"
#include "tasks/arp.h"

struct loading {
    struct control *c;
    struct task *arp;
    uint32_t since; /* seconds since it was saved: to be added to all ages */
    struct state_loaded *out;
};

/* A request, as from the control socket. */
static void load_change(struct loading *l, const char *line, size_t len)
{
    char *answer = request_answer(l->c, line, len);
    json_t *parsed = answer != NULL ? json_loads(answer, 0, NULL) : NULL;
    const char *error = json_string_value(json_object_get(parsed, "error"));

    if (parsed != NULL && error == NULL) {
        l->out->changes++;
    } else if (l->out->refused++ == 0) {
        snprintf(l->out->first, sizeof(l->out->first), "%.100s: %.140s", line,
                 error != NULL ? error : "no memory");
    }
    json_decref(parsed);
    free(answer);
}

static bool find_port(const struct control *c, const char *name, uint8_t *port)
{
    const struct cfg_model *m = control_model(c);

    for (unsigned i = 0; i < m->n_ports; i++)
        if (strcmp(m->ports[i].name, name) == 0) {
            *port = (uint8_t)i;
            return true;
        }
    return false;
}

static int give_cpe(const struct loading *l, const char *port_name, unsigned svlan, unsigned cvlan,
                    const struct arp_learned *learned)
{
    uint32_t id;
    uint8_t port;

    if (!find_port(l->c, port_name, &port))
        return -ENOENT;
    id = idmap_get(l->c->tables->subscribers->by_vlan,
                   subscriber_vlan_key(port, (uint16_t)svlan, (uint16_t)cvlan));
    return id != 0 ? arp_give_subscriber(l->arp, id, learned) : -ENOENT;
}

/* {"cpe": ...} or {"nexthop": ...} */
static void load_mac(struct loading *l, const char *line)
{
    char port_name[64], mac[18], ip[16];
    struct arp_learned learned;
    unsigned svlan, cvlan, age;
    uint8_t port;
    bool cpe = sscanf(line, STATE_CPE_SCAN, port_name, &svlan, &cvlan, mac, ip, &age) == 6;
    int rc = -ENOENT;

    if ((cpe || sscanf(line, STATE_NEXTHOP_SCAN, port_name, mac, ip, &age) == 4) &&
        l->arp != NULL && parse_mac(mac, learned.mac) == 0 &&
        parse_ipv4(ip, &learned.address) == 0) {
        learned.age = age + l->since < age ? UINT32_MAX : age + l->since;
        if (cpe)
            rc = give_cpe(l, port_name, svlan, cvlan, &learned);
        else if (find_port(l->c, port_name, &port))
            rc = arp_give_neighbour(l->arp, port, &learned);
    }
    if (rc == 0)
        l->out->macs++;
    else
        l->out->old++;
}

static int problem(struct state_loaded *out, const char *fmt, const char *what)
{
    snprintf(out->problem, sizeof(out->problem), fmt, what);
    return -EBADMSG;
}

/* {"vbng_state": 1, "name": ..., "saved": ...} */
static int check_head(const struct control *c, const char *line, size_t len,
                      struct state_loaded *out)
{
    json_t *head = json_loadb(line, len, 0, NULL), *format = json_object_get(head, "vbng_state");
    const char *name = json_string_value(json_object_get(head, "name"));
    char number[32];
    int rc = 0;

    out->saved = json_integer_value(json_object_get(head, "saved"));
    if (!json_is_integer(format)) {
        rc = -ENOMSG;
    } else if (json_integer_value(format) != STATE_FORMAT) {
        snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(format));
        rc = problem(out, "it is of format %s, which this vbng does not read", number);
    } else if (name == NULL || strcmp(name, control_model(c)->name) != 0) {
        rc = problem(out, "it is of another configuration, \"%.100s\"", name != NULL ? name : "");
    }
    json_decref(head);
    return rc;
}

/* {"end": lines, "sum": ...}, after which nothing comes. Returns where that line begins, or NULL.
 */
static char *check_end(char *text, size_t len)
{
    unsigned long long sum;
    unsigned lines, n = 0;
    char *end;

    if (len < 2 || text[len - 1] != '\n' || strlen(text) != len)
        return NULL;
    text[len - 1] = '\0';
    end = strrchr(text, '\n');
    text[len - 1] = '\n';
    if (end == NULL)
        return NULL;
    end++;
    for (const char *p = text; p < end; p++)
        n += *p == '\n';
    return sscanf(end, STATE_END_SCAN, &lines, &sum) == 2 && lines == n &&
                   sum == state_sum(text, (size_t)(end - text))
               ? end
               : NULL;
}

int state_load(struct control *c, char *text, size_t len, struct state_loaded *out)
{
    struct loading l = {.c = c, .arp = state_arp(c), .out = out};
    size_t first = strcspn(text, "\n");
    char *end, *line, *next;
    long long now = time(NULL);
    int rc;

    memset(out, 0, sizeof(*out));
    if (text[0] == '\0') /* what a file system may leave when power is lost */
        return problem(out, "it is %s", "empty");
    rc = check_head(c, text, RTE_MIN(first, len), out);
    if (rc != 0)
        return rc;
    end = check_end(text, len);
    if (end == NULL)
        return problem(out, "it is %s", "cut off or damaged: its checksum is wrong");
    /* a clock that went back says nothing */
    l.since = now > out->saved ? (uint32_t)RTE_MIN(now - out->saved, (long long)UINT32_MAX) : 0;
    for (line = text + first + 1; line < end; line = next) {
        next = strchr(line, '\n') + 1;
        next[-1] = '\0';
        if (strncmp(line, "{\"cmd\"", 6) == 0)
            load_change(&l, line, (size_t)(next - line) - 1);
        else
            load_mac(&l, line);
    }
    return 0;
}
