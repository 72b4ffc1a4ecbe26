/* A library that a stand-in for one of ours needs, and that lies beside it. */
/* SPDX-License-Identifier: Apache-2.0 */
__attribute__((visibility("default"))) int anywarp_needed(void);

int anywarp_needed(void)
{
    return 1;
}
