/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/pppoe/config.h"

#include <string.h>

#include "config/keys.h"

#define S UINT64_C(1000000000)

enum { USER_NAME, USER_PASSWORD, N_USER };

static const struct key user_keys[N_USER] = {
    [USER_NAME] = {"name", KEY_STRING, .required = true},
    [USER_PASSWORD] = {"password", KEY_STRING, .required = true},
};

enum {
    TOP_AC_NAME,
    TOP_SERVICES,
    TOP_AUTHENTICATION,
    TOP_MAX_NEGOTIATING,
    TOP_TIME,
    TOP_USERS,
    N_TOP
};

static const struct key top_keys[N_TOP] = {
    [TOP_AC_NAME] = {"ac_name", KEY_STRING, .def = "vbng"},
    [TOP_SERVICES] = {"service_names", KEY_OTHER},
    [TOP_AUTHENTICATION] = {"authentication", KEY_OTHER},
    [TOP_MAX_NEGOTIATING] = {"max_negotiating", KEY_COUNT, .def = "4K", .min = 1, .max = 1048576},
    [TOP_TIME] = {"negotiation_time", KEY_DURATION, .def = "30s", .min = S, .max = 600 * S},
    [TOP_USERS] = {"users", KEY_LIST},
};

static bool fits(const char *text, size_t most)
{
    return strlen(text) >= 1 && strlen(text) <= most;
}

static void read_services(struct loader *l, const struct value *v, struct pppoe_config *c)
{
    const config_setting_t *texts[PPPOE_MAX_SERVICES];
    unsigned n;

    if (!value_given(v))
        return;
    n = read_strings(l, v->setting, "service_names", texts, PPPOE_MAX_SERVICES);
    for (unsigned i = 0; i < n; i++) {
        static const struct key service = {"service_names", .type = KEY_STRING};
        struct value name = {.setting = texts[i]};

        if (!read_value(l, &service, &name))
            continue;
        if (!fits(name.v.s, PPPOE_MAX_NAME))
            value_error(l, &name, "service_names", "expected 1 to %u characters", PPPOE_MAX_NAME);
        c->services[c->n_services++] = name.v.s;
    }
}

static void read_methods(struct loader *l, const struct value *v, struct ppp_settings *ppp)
{
    static const char *const choices[] = {"chap", "pap", NULL};
    static const enum ppp_number numbers[] = {PPP_CHAP, PPP_PAP};
    static const struct key method = {"authentication", .type = KEY_ENUM, .choices = choices};
    const config_setting_t *texts[2];
    unsigned n;

    if (!value_given(v)) {
        memcpy(ppp->methods, numbers, sizeof(numbers));
        ppp->n_methods = 2;
        return;
    }
    n = read_strings(l, v->setting, "authentication", texts, 2);
    for (unsigned i = 0; i < n; i++) {
        struct value name = {.setting = texts[i]};

        if (!read_value(l, &method, &name))
            continue;
        if (ppp->n_methods == 1 && ppp->methods[0] == numbers[name.v.u])
            value_error(l, &name, "authentication", "it is there twice");
        else
            ppp->methods[ppp->n_methods++] = numbers[name.v.u];
    }
}

static void read_user(struct loader *l, const config_setting_t *group, unsigned i, void *ctx)
{
    struct pppoe_config *c = ctx;
    struct pppoe_user u;
    struct value v[N_USER];
    char place[PLACE_TEXT];

    if (i == PPPOE_MAX_USERS)
        key_error(l, group, "users", "expected at most %u; more are for RADIUS", PPPOE_MAX_USERS);
    if (i >= PPPOE_MAX_USERS || !read_group(l, group, "user", user_keys, N_USER, v))
        return;
    u = (struct pppoe_user){v[USER_NAME].v.s, v[USER_PASSWORD].v.s, setting_loc(l, group)};
    if (!fits(u.name, PPPOE_MAX_NAME))
        value_error(l, &v[USER_NAME], "name", "expected 1 to %u characters", PPPOE_MAX_NAME);
    if (!fits(u.password, PPPOE_MAX_NAME))
        value_error(l, &v[USER_PASSWORD], "password", "expected 1 to %u characters",
                    PPPOE_MAX_NAME);
    for (unsigned k = 0; k < c->n_users; k++)
        if (strcmp(c->users[k].name, u.name) == 0)
            value_error(l, &v[USER_NAME], "name", "is there already, %s",
                        place_text(c->users[k].loc, place));
    c->users[c->n_users++] = u;
}

void pppoe_config_read(struct loader *l, const config_setting_t *group, bool has_radius,
                       struct pppoe_config *c)
{
    struct value v[N_TOP];

    memset(c, 0, sizeof(*c));
    read_group(l, group, "section pppoe", top_keys, N_TOP, v);
    c->ppp = (struct ppp_settings){.name = v[TOP_AC_NAME].v.s,
                                   .restart_ns = 3 * S,
                                   .max_configure = 10,
                                   .max_terminate = 2,
                                   .max_failure = 5};
    if (v[TOP_AC_NAME].set && !fits(c->ppp.name, PPPOE_MAX_NAME))
        value_error(l, &v[TOP_AC_NAME], "ac_name", "expected 1 to %u characters", PPPOE_MAX_NAME);
    read_services(l, &v[TOP_SERVICES], c);
    read_methods(l, &v[TOP_AUTHENTICATION], &c->ppp);
    c->max_negotiating = (uint32_t)v[TOP_MAX_NEGOTIATING].v.u;
    c->negotiation_ns = v[TOP_TIME].v.u;
    if (has_radius && value_given(&v[TOP_USERS]))
        key_error(l, v[TOP_USERS].setting, "users",
                  "RADIUS knows them: expected no section radius");
    else if (!has_radius && !value_given(&v[TOP_USERS]))
        key_error(l, group, "pppoe", "expected 'users' in it, or a section radius");
    else
        each_group(l, v[TOP_USERS].setting, "users", read_user, c);
}
