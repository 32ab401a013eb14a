# SPDX-License-Identifier: BSD-3-Clause
"""Some tests have nothing to say of a build with AddressSanitizer."""


def address_sanitizer(binary):
    """Is a program built with it?"""
    with open(binary, "rb") as f:
        return b"__asan_init" in f.read()
