/* SPDX-License-Identifier: BSD-3-Clause */
/* vbng-cp: options, check, start, run, stop; vbng-cp(8) describes it. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/notify.h"
#include "cp/aaa/aaa.h"
#include "cp/acct/acct.h"
#include "cp/control.h"
#include "cp/lease.h"
#include "cp/pppoe/pppoe.h"
#include "cp/punt.h"
#include "cp/relay/servers.h"
#include "cp/store.h"
#include "cp/userplane/userplane.h"

enum exit_status {
    EXIT_DONE = 0,
    EXIT_CONFIG = 1, /* the configuration has errors */
    EXIT_USAGE = 2,  /* the command line has errors */
    EXIT_START = 3,  /* something did not start */
};

static volatile sig_atomic_t stop_signal;

static void on_signal(int sig)
{
    stop_signal = sig;
}

static void usage(FILE *to)
{
    fprintf(to,
            "usage: vbng-cp [options] FILE\n"
            "Give subscribers of a running vbng their addresses, by DHCP and PPPoE: the control "
            "plane of a BNG.\n"
            "\n"
            "      --check         only check the configuration\n"
            "      --control PATH  answer requests on a Unix socket: see doc/sessions.md, "
            "vbngctl sessions\n"
            "  -V, --version       print the version\n"
            "  -h, --help          print this\n"
            "\n"
            "exit status: 0 done, 1 configuration, 2 usage, 3 start\n"
            "see vbng-cp(8), vbng-cp.cfg(5)\n");
}

struct options {
    const char *path, *control; /* control: a path, or NULL */
    bool check;
};

/* Read the command line. Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {{"check", no_argument, NULL, 'c'},
                                          {"control", required_argument, NULL, 's'},
                                          {"version", no_argument, NULL, 'V'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "Vh", longs, NULL)) >= 0) {
        switch (c) {
        case 'c':
            o->check = true;
            break;
        case 's':
            o->control = optarg;
            break;
        case 'V':
            puts("vbng-cp " VBNG_VERSION);
            return EXIT_DONE;
        case 'h':
            usage(stdout);
            return EXIT_DONE;
        default:
            usage(stderr);
            return EXIT_USAGE;
        }
    }
    if (optind + 1 != argc) {
        usage(stderr);
        return EXIT_USAGE;
    }
    o->path = argv[optind];
    return -1;
}

/* A signal interrupts the wait of the loop and no other call. */
static void catch_signals(sigset_t *during_wait)
{
    struct sigaction a = {.sa_handler = on_signal};
    sigset_t stop;

    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    sigprocmask(SIG_BLOCK, &stop, during_wait);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGINT, &a, NULL);
}

static int run(struct cp *cp)
{
    int rc = 0;

    catch_signals(&cp->loop.during_wait);
    notify_open();
    notify_ready("%u sessions", cp->sessions.in_state[SESSION_UP]);
    while (stop_signal == 0 && (rc == 0 || rc == -EINTR))
        rc = loop_turn(&cp->loop);
    notify_stopping(0);
    notify_close();
    return stop_signal != 0 ? EXIT_DONE : EXIT_START;
}

static void end_turn(void *ctx)
{
    struct cp *cp = ctx;

    if (cp->aaa != NULL)
        aaa_end_turn(cp->aaa);
    if (leases_end_turn(cp)) { /* RADIUS is told of what the store has taken, and is heard again */
        aaa_end_turn(cp->aaa);
        leases_end_turn(cp);
    }
}

static void close_all(struct cp *cp)
{
    if (cp->control != NULL)
        cp_control_close(cp->control);
    if (cp->punt != NULL)
        punt_close(cp->punt);
    if (cp->userplane != NULL)
        userplane_close(cp->userplane);
    if (cp->relays != NULL)
        relays_close(cp, cp->relays);
    if (cp->acct != NULL)
        acct_close(cp->acct);
    if (cp->aaa != NULL)
        aaa_close(cp->aaa);
    leases_close(cp);
    if (cp->pppoe != NULL)
        pppoe_close(cp->pppoe);
    if (cp->store != NULL)
        store_close(cp->store);
    timers_free(&cp->loop.timers);
}

static int start(const struct cp_config *config, const char *control)
{
    struct cp cp = {.config = config, .loop.end_turn = end_turn};
    int status = EXIT_START;

    cp.loop.ctx = &cp;
    cp.loop.timers.ctx = &cp;
    cp.store = store_open(config->store);
    if (config->pppoe != NULL)
        cp.pppoe = pppoe_open(&cp);
    if (cp.store != NULL && (cp.pppoe != NULL || config->pppoe == NULL) && leases_open(&cp) == 0) {
        cp.userplane = userplane_open(&cp);
        cp.punt = punt_open(&cp);
        if (config->relays.n > 0)
            cp.relays = relays_open(&cp);
        if (config->radius != NULL)
            cp.aaa = aaa_open(&cp);
        if (cp.aaa != NULL && config->radius->accounting)
            cp.acct = acct_open(&cp, aaa_radius(cp.aaa));
        cp.control = control != NULL ? cp_control_open(&cp, control) : NULL;
        if (cp.userplane != NULL && cp.punt != NULL &&
            (cp.relays != NULL || config->relays.n == 0) &&
            (cp.aaa != NULL || config->radius == NULL) &&
            (cp.acct != NULL || config->radius == NULL || !config->radius->accounting) &&
            (cp.control != NULL || control == NULL))
            status = run(&cp);
    }
    close_all(&cp);
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {.check = false};
    struct diags d = {0};
    struct cp_config *config;
    int status = parse_options(argc, argv, &o);

    if (status >= 0)
        return status;
    log_as("vbng-cp");
    config = cp_config_load(o.path, &d);
    diag_print(&d, stderr);
    diag_free(&d);
    if (config == NULL)
        return EXIT_CONFIG;
    if (o.check)
        printf("%s: is right\n", o.path);
    else
        status = start(config, o.control);
    cp_config_free(config);
    return o.check ? EXIT_DONE : status;
}
