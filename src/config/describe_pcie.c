/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a card with all of its ports asks of its slot. The busier direction is from the device to
 * the host: it carries what is received, and the requests to read what is to be sent. For a frame
 * of F bytes without FCS in each direction, with a maximum payload of 256 bytes and read requests
 * of 512:
 *
 *   F + 24 * ceil(F / 256)   the frame, written
 *   16 + 24 / 4              its descriptor, written, four to a packet
 *   24 * ceil(F / 512)       request for the frame to be sent
 *   24 / 4                   request for its descriptor, four to a packet
 *
 * 24: what a transaction layer packet adds (header 16, sequence number 2, LCRC 4, framing 2). A
 * tenth of the link is left for acknowledgements and flow control.
 */
#include "config/describe_build.h"

#include <string.h>

#define FCS          4u
#define TLP          24u
#define MAX_PAYLOAD  256u
#define READ_REQUEST 512u
#define DESCRIPTOR   16u
#define PER_LINE     4u /* descriptors in a cache line */
#define MAX_LANES    16u

/* Bit/s of a lane of generation 2 to 5 behind its line code: 8b/10b, then 128b/130b. */
static const uint64_t lane[PCIE_GENS] = {4000000000, 7876923077, 15753846154, 31507692308};

static uint64_t packets(uint64_t bytes, uint64_t each)
{
    return (bytes + each - 1) / each;
}

static uint64_t port_bits(const struct desc_port *port)
{
    uint64_t frame = port->min_frame - FCS;
    uint64_t bytes = frame + TLP * packets(frame, MAX_PAYLOAD) + DESCRIPTOR + TLP / PER_LINE +
                     TLP * packets(frame, READ_REQUEST) + TLP / PER_LINE;

    return port->max_pps * bytes * 8;
}

/* Two functions of one device are two ports of one card. */
static bool same_card(const char *a, const char *b)
{
    size_t len = strcspn(a, ".");

    return len == strcspn(b, ".") && strncmp(a, b, len) == 0;
}

static unsigned find_card(struct description *d, const char *address)
{
    unsigned i = 0;

    while (i < d->n_cards && !same_card(d->card[i].address, address))
        i++;
    if (i == d->n_cards)
        d->card[d->n_cards++].address = address;
    return i;
}

static void count_lanes(struct desc_card *card)
{
    for (unsigned g = 0; g < PCIE_GENS; g++) {
        unsigned lanes = 1;

        while (lanes <= MAX_LANES && lane[g] / 10 * 9 * lanes < card->bits_per_s)
            lanes *= 2;
        card->lanes[g] = lanes <= MAX_LANES ? lanes : 0;
    }
}

/* The paper's Table II: frames are larger on the core side, so a card with one port of each side
 * has less to carry than one with core ports only: 44.02 against 42.80 Mpps. */
static void check_balance(struct description *d)
{
    bool only[CFG_MAX_PORTS][2] = {0}; /* SIDE_ACCESS, SIDE_CORE */
    unsigned access = 0, core = 0;

    for (unsigned i = 0; i < d->p->cfg->n_ports; i++)
        if (d->port[i].kind == KIND_PCI && d->port[i].side != SIDE_OTHER)
            only[d->port[i].card][d->port[i].side - SIDE_ACCESS] = true;
    for (unsigned i = 0; i < d->n_cards; i++) {
        access += d->card[i].n_ports > 1 && only[i][0] && !only[i][1];
        core += d->card[i].n_ports > 1 && only[i][1] && !only[i][0];
    }
    if (access > 0 && core > 0)
        describe_note(d, "a card has only access ports and another only core ports, whose frames "
                         "are larger: put one of each on each card");
}

void describe_cards(struct description *d)
{
    for (unsigned i = 0; i < d->p->cfg->n_ports; i++) {
        struct desc_port *port = &d->port[i];

        if (port->kind != KIND_PCI)
            continue;
        port->card = find_card(d, d->p->cfg->ports[i].device);
        d->card[port->card].n_ports++;
        d->card[port->card].bits_per_s += port_bits(port);
    }
    for (unsigned i = 0; i < d->n_cards; i++)
        count_lanes(&d->card[i]);
    check_balance(d);
}
