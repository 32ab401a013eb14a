/* SPDX-License-Identifier: BSD-3-Clause */
/* Choices without a branch: what follows from the packets is often foretold wrongly. For x86-64 by
 * the two instructions that do it, as gcc makes a branch of a ternary, and takes twice as many
 * instructions for masks. Free of DPDK. */
#ifndef BASE_CPU_EITHER_H
#define BASE_CPU_EITHER_H

#include <stdint.h>

/** x != 0 ? then : otherwise */
static inline uint64_t either_unless_zero(uint64_t x, uint64_t then, uint64_t otherwise)
{
#ifdef __x86_64__
    __asm__("test %[x], %[x]\n\t"
            "cmovne %[then], %[otherwise]"
            : [otherwise] "+r"(otherwise)
            : [then] "r"(then), [x] "r"(x)
            : "cc");
    return otherwise;
#else
    return otherwise ^ ((then ^ otherwise) & -(uint64_t)(x != 0));
#endif
}

/** x < below ? then : otherwise */
static inline uint64_t either_if_below(uint64_t x, uint64_t below, uint64_t then,
                                       uint64_t otherwise)
{
#ifdef __x86_64__
    __asm__("cmp %[below], %[x]\n\t"
            "cmovb %[then], %[otherwise]"
            : [otherwise] "+r"(otherwise)
            : [then] "r"(then), [x] "r"(x), [below] "rm"(below)
            : "cc");
    return otherwise;
#else
    return otherwise ^ ((then ^ otherwise) & -(uint64_t)(x < below));
#endif
}

#endif
