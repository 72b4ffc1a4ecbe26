/* Loaded before everything: a call that `anywarp doctor --report` makes in one of its tests ends the process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

long lrintf(float x)
{
    (void)x;
    abort();
}
