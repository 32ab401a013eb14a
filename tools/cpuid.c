/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the CPUID leaves that tell of TLBs, one a line: leaf, subleaf, eax, ebx, ecx, edx in
 * hexadecimal. Read by tools/vbnglab/experiments/tlb.py. */
#include <stdio.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

static void leaf(unsigned number, unsigned sub)
{
    unsigned r[4];

    if (__get_cpuid_count(number, sub, &r[0], &r[1], &r[2], &r[3]))
        printf("%x %x %x %x %x %x\n", number, sub, r[0], r[1], r[2], r[3]);
}

int main(void)
{
    unsigned max_sub = 0, ebx, ecx, edx;

    leaf(0x2, 0);
    if (__get_cpuid_count(0x18, 0, &max_sub, &ebx, &ecx, &edx))
        for (unsigned sub = 0; sub <= max_sub && sub < 32; sub++)
            leaf(0x18, sub);
    leaf(0x80000005, 0);
    leaf(0x80000006, 0);
    leaf(0x80000019, 0);
    return 0;
}
#else
int main(void)
{
    return 0; /* no CPUID: nothing is known */
}
#endif
