/* SPDX-License-Identifier: BSD-3-Clause */
/* Frame sizes in words: "128", "imix" or "64:7,594:4,1518:1"; with shares, the order of the sizes.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "template/template.h"

#define MAX_PARTS 16
#define MAX_SHARE 1000000

/*
 * The simple IMIX, seven packets of 40 bytes, four of 576 and one of 1500 with their IP header, in
 * untagged Ethernet frames (Agilent, The Journal of Internet Test Methodologies, 2007, "Internet
 * Mix"; RFC 6985 is how to write down any other).
 */
static const char simple_imix[] = "64:7,594:4,1518:1";

struct part {
    uint16_t size;
    uint32_t share;
    int64_t owed; /* packets that the part should have got so far and has not, in 1/total */
};

/* The greatest common divisor; of 0 and a number, that number. */
static uint32_t divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Order the sizes. Each packet gets the size that is owed most, so that a size with a small share
 * comes at even distances instead of in one burst. */
static void spread(struct part *part, unsigned n, unsigned total, struct frame_sizes *out)
{
    for (out->n = 0; out->n < total; out->n++) {
        struct part *next = part;

        for (struct part *p = part; p < part + n; p++) {
            p->owed += p->share;
            if (p->owed > next->owed)
                next = p;
        }
        next->owed -= total;
        out->size[out->n] = next->size;
    }
}

/* "SIZE:SHARE" */
static int parse_part(char *text, struct part *part)
{
    char *colon = strchr(text, ':');
    uint64_t size, share;

    if (colon == NULL)
        return -EINVAL;
    *colon = '\0';
    if (parse_size(text, &size) != 0 || parse_count(colon + 1, &share) != 0)
        return -EINVAL;
    if (size < TEMPLATE_MIN_SIZE || size > TEMPLATE_MAX_SIZE || share < 1 || share > MAX_SHARE)
        return -ERANGE;
    *part = (struct part){.size = (uint16_t)size, .share = (uint32_t)share};
    return 0;
}

static int parse_mix(const char *text, struct frame_sizes *out)
{
    char copy[MAX_PARTS * 16], *save = NULL;
    struct part part[MAX_PARTS];
    uint32_t common = 0, total = 0;
    unsigned n = 0;

    if (strlen(text) >= sizeof(copy))
        return -ERANGE;
    strcpy(copy, text);
    for (char *word = strtok_r(copy, ", ", &save); word != NULL;
         word = strtok_r(NULL, ", ", &save)) {
        int rc = n < MAX_PARTS ? parse_part(word, &part[n]) : -ERANGE;

        if (rc != 0)
            return rc;
        common = divisor(part[n].share, common);
        total += part[n++].share;
    }
    if (n == 0)
        return -EINVAL;
    for (unsigned i = 0; i < n; i++)
        part[i].share /= common;
    total /= common;
    if (total > FRAME_SIZES_MAX)
        return -ERANGE;
    spread(part, n, total, out);
    return 0;
}

int frame_sizes_parse(const char *text, struct frame_sizes *out)
{
    uint64_t size;

    if (strcmp(text, "imix") == 0)
        return parse_mix(simple_imix, out);
    if (strchr(text, ':') != NULL)
        return parse_mix(text, out);
    if (parse_size(text, &size) != 0)
        return -EINVAL;
    if (size != 0 && (size < TEMPLATE_MIN_SIZE || size > TEMPLATE_MAX_SIZE))
        return -ERANGE;
    out->n = size != 0;
    out->size[0] = (uint16_t)size;
    return 0;
}
