/* variants: enqueue=-DENQUEUE queued= waited=-DWAITED */
/* Launches of a kernel of one warp, which counts them (OpenMP: parallel regions).  enqueue: what a launch costs its caller;
 * queued: launches until the last one is done; waited: each is waited for.  A unit is a launch. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { COUNTER };
static int launches;

static void setup(void)
{
    launches = SIZE(2000, 20);
    bench.units = launches;
#ifdef ENQUEUE
    bench.unwaited = true;
#endif
    fill_zero(COUNTER, INOUT, sizeof(int));
}

static void check(void)
{
    check_same(0, HOST(COUNTER, int)[0], launches);
}
