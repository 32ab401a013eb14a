/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/utf8.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* The bytes of the character at text and its code point; 0 where there is none of RFC 3629: too
 * long a form, half of a pair of UTF-16, beyond U+10FFFF, or the end. */
static unsigned decode(const char *text, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)text;
    unsigned n = p[0] == 0           ? 0
                 : p[0] < 0x80       ? 1
                 : p[0] >> 5 == 0x06 ? 2
                 : p[0] >> 4 == 0x0e ? 3
                 : p[0] >> 3 == 0x1e ? 4
                                     : 0;

    if (n < 2) {
        *code = p[0];
        return n;
    }
    *code = p[0] & (0x7fu >> n);
    for (unsigned i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3fu);
    }
    return *code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : n;
}

/* Characters that are not seen themselves, or change how others are. */
static bool is_hidden(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        {0, 0x1f},         /* C0 */
        {0x7f, 0x9f},      /* DEL and C1 */
        {0xad, 0xad},      /* soft hyphen */
        {0x61c, 0x61c},    /* Arabic letter mark */
        {0x180e, 0x180e},  /* Mongolian vowel separator */
        {0x200b, 0x200b},  /* zero width space */
        {0x200e, 0x200f},  /* marks of direction */
        {0x2028, 0x202e},  /* separators of lines, embeddings and overrides */
        {0x2060, 0x206f},  /* invisible operators, isolates */
        {0xfdd0, 0xfdef},  /* no characters */
        {0xfeff, 0xfeff},  /* byte order mark */
        {0xfff9, 0xfffb},  /* annotations */
        {0xe0000, 0xe0fff} /* tags */
    };

    for (unsigned i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return (code & 0xfffe) == 0xfffe;
}

bool utf8_is_label(const char *text, size_t max)
{
    size_t characters = 0;
    const char *p = text;
    uint32_t code;

    while (*p != '\0') {
        unsigned n = decode(p, &code);

        if (n == 0 || is_hidden(code) || ++characters > max)
            return false;
        p += n;
    }
    return characters > 0 && text[0] != ' ' && p[-1] != ' ';
}

void utf8_make_safe(char *text)
{
    uint32_t code;

    while (*text != '\0') {
        unsigned n = decode(text, &code);

        if (n > 0 && !is_hidden(code))
            text += n;
        else
            for (n = n > 0 ? n : 1; n > 0; n--)
                *text++ = '?';
    }
}

bool utf8_contains(const char *text, const char *word)
{
    size_t len = strlen(word);
    int first = tolower((unsigned char)word[0]);

    if (len == 0)
        return true;
    for (; *text != '\0'; text++)
        if (tolower((unsigned char)*text) == first && strncasecmp(text, word, len) == 0)
            return true;
    return false;
}
