/* variants: in_4K=-DBYTES=4096 in_64M=-DBYTES=67108864 out_64M=-DBYTES=67108864,-DOUTWARD between_64M=-DBYTES=67108864,-DBETWEEN */
/* Copies to the device, from it, or between two of its buffers (OpenMP: one memcpy, by one thread).  A unit is a byte: bytes per
 * ns are GB/s. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { A, B };
static long copies, bytes;
static unsigned char *host;

static void setup(void)
{
    bytes = SIZE(BYTES, 4096);
    copies = SIZE((1 << 26) / BYTES, 2);
    bench.units = copies * bytes;
    fill_ints(A, IN, bytes / 4, 0);
    buffer(B, OUT, bytes);
    host = (unsigned char *)bench_memory(bytes);
    memset(host, 0, bytes);
}

static void check(void)
{
#ifdef OUTWARD
    check_same(0, memcmp(host, HOST(A, char), bytes), 0);
#else
    check_same(0, memcmp(HOST(B, char), HOST(A, char), bytes), 0);
#endif
}
