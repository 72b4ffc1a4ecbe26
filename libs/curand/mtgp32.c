/* MTGP32 (Saito and Matsumoto 2009): 64 Mersenne twisters with parameters of their own, which take turns of 256 numbers, as
 * cuRAND documents the order.  The parameters are those that the inventors publish, exponent 11213, numbers 0 to 63; cuRAND's
 * own are not published by others: the numbers are as good, but not the same. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "engine.h"

enum { TWISTERS = 64, TURN = 256, WORDS = 351, ROOM = 512 };
static const uint32_t MASK = 0xfff80000u; /* of 11213 bits */

/* A table of 16 is linear: it has the images of four bits. */
struct parameters {
    uint8_t pos, shift_left, shift_right;
    uint32_t twist[4], temper[4];
};

/* clang-format off */
static const struct parameters parameters[TWISTERS] = {
    { 19, 13, 4, { 0x4f909277, 0xd506358c, 0xecc00000, 0x00009fd9 }, { 0x007c4132, 0x2b4020ed, 0x000240a5, 0x00414015 } },
    { 36, 13, 4, { 0x04e7bdd9, 0xbd4135d8, 0xf0c00015, 0x0000e79e }, { 0x007802fe, 0x0084013b, 0x00060156, 0x0004001a } },
    { 3, 13, 4, { 0x7f1f322e, 0xd937af30, 0x0940002c, 0x00001134 }, { 0x824a98bb, 0x24000749, 0x49208c71, 0x0cd00f55 } },
    { 26, 13, 4, { 0x62e3424e, 0xefb75beb, 0x40100039, 0x000028cd }, { 0x2047d296, 0x600c0c1f, 0x3022e17a, 0x0003c01d } },
    { 32, 13, 4, { 0x477707e5, 0x4312f2cf, 0x7c10004e, 0x0000fcc0 }, { 0x600c0cde, 0x000c9193, 0x4000d35f, 0x10408219 } },
    { 40, 13, 4, { 0x16f2897a, 0x078f68af, 0xe1100050, 0x00005520 }, { 0x6006f596, 0x00a6008a, 0x2002a409, 0x2001e8ee } },
    { 92, 13, 4, { 0xa236b2f7, 0x673cd97c, 0x0740006f, 0x0000a23f }, { 0x0003441a, 0x1002681f, 0x2000b20d, 0x2000001b } },
    { 47, 13, 4, { 0x13dc0d56, 0xfcc23381, 0x65e00072, 0x00003944 }, { 0x304c1192, 0x0002c01d, 0x60482c07, 0x600001c4 } },
    { 26, 13, 4, { 0x8ffabd15, 0x251190b0, 0x6180008a, 0x00003391 }, { 0x087422da, 0x0002d1fd, 0x9010009e, 0x506880d6 } },
    { 52, 13, 4, { 0x75b471ab, 0xa13c72ac, 0x64d00099, 0x00007a74 }, { 0x0001f4d5, 0x104e140e, 0x20022818, 0x2000278c } },
    { 9, 13, 4, { 0xaff041eb, 0x194d1f47, 0x58a000a5, 0x0000bcbf }, { 0x1082801b, 0x0800e183, 0x009c291f, 0x60002519 } },
    { 15, 13, 4, { 0x98993010, 0xd2526ec9, 0x148000b8, 0x00004381 }, { 0x1f8f2033, 0x2051c174, 0x2121601a, 0x00412412 } },
    { 73, 13, 4, { 0xddfffc66, 0x11479e19, 0x8d1000c6, 0x00004882 }, { 0x000d341f, 0x7001d194, 0x0122201d, 0x040d80b7 } },
    { 73, 13, 4, { 0x9b47b275, 0x3b5e5ca5, 0x72c000d6, 0x000090c6 }, { 0x2068289d, 0x10121266, 0x201641bf, 0x00120017 } },
    { 79, 13, 4, { 0xa4ded64e, 0xeb88426b, 0x56d000e9, 0x0000e140 }, { 0x00031972, 0x20046011, 0x40081018, 0x4140013c } },
    { 44, 13, 4, { 0xd5f40b06, 0x9e909b5e, 0xd5b000f1, 0x00006d10 }, { 0x0035813a, 0x104ac0ec, 0x00024054, 0x100040a4 } },
    { 82, 13, 4, { 0x6a4ed196, 0x75986580, 0xb6f00102, 0x0000ff65 }, { 0x4024d5d3, 0x4060c1ff, 0x003141b5, 0x000241de } },
    { 50, 13, 4, { 0x9b6dd2da, 0x7a47766d, 0x28b00115, 0x0000ac7e }, { 0x0074455a, 0x10038197, 0x00027014, 0x100a0011 } },
    { 32, 13, 4, { 0xb32bc1dd, 0x940d95ad, 0x4bb0012e, 0x0000d383 }, { 0x100c2016, 0x0003a04f, 0x2040861d, 0x0050ea1f } },
    { 71, 13, 4, { 0xbd514c94, 0xd2534abd, 0xbf20013d, 0x00002d73 }, { 0x19a54197, 0x106021ca, 0x101000ff, 0x004800b0 } },
    { 12, 13, 4, { 0xfeb307f4, 0x3c1e7eea, 0x33d00140, 0x00007ab3 }, { 0x0ae69956, 0x54269098, 0x304007d5, 0x0059801d } },
    { 56, 13, 4, { 0x2554da2a, 0xc20d8e4e, 0xd500015a, 0x0000b8c9 }, { 0x000264d6, 0x00010c23, 0x102ca1fb, 0xf01c200a } },
    { 3, 13, 4, { 0x1c0fe41b, 0x17e3e180, 0x3210016f, 0x0000f40c }, { 0x8800a03e, 0x4c6061c3, 0x0e210048, 0x84304150 } },
    { 72, 13, 4, { 0x81f19cc8, 0x40d67766, 0xbbb0017f, 0x00003964 }, { 0x0106027a, 0x0024013f, 0x0070002b, 0x004c00bd } },
    { 71, 13, 4, { 0xa44b9eb8, 0xb66d2770, 0xa7400180, 0x000093e2 }, { 0x206c4d57, 0x40044405, 0x7042401b, 0x70200204 } },
    { 16, 13, 4, { 0xa197c538, 0x2189e50a, 0xbe900193, 0x000019a2 }, { 0x0cb682dc, 0x21840a6e, 0x0050d01d, 0x00201614 } },
    { 25, 13, 4, { 0xd060775e, 0xa2b1b9c5, 0x97f001a8, 0x0000a701 }, { 0x1c6bc8f4, 0x006c38db, 0x00501012, 0x000f2417 } },
    { 21, 13, 4, { 0x7afaa5cb, 0xf61d93c3, 0xca1001bc, 0x0000830c }, { 0x09255812, 0x004cc81c, 0x10a0480d, 0x00209a18 } },
    { 41, 13, 4, { 0x37b07ae5, 0x1e34ad30, 0xa54001cc, 0x00009771 }, { 0x80503416, 0x007c0c1a, 0x0003646b, 0x00002c05 } },
    { 51, 13, 4, { 0x098de739, 0x1e064906, 0x0fb001de, 0x000062cb }, { 0x206d117f, 0x201209fe, 0x000180fc, 0x2010c016 } },
    { 33, 13, 4, { 0xe98943f8, 0x1d8008b8, 0x897001e6, 0x00000d37 }, { 0x60006e16, 0x802610db, 0x00035407, 0x4068e812 } },
    { 5, 13, 4, { 0x9a117ca4, 0x10aad759, 0x344001fe, 0x00005300 }, { 0x13fd6396, 0xc008012f, 0x2c0a0612, 0x0e50429c } },
    { 39, 13, 4, { 0x5c03fe6b, 0xf980c4cd, 0xd1800200, 0x00005e80 }, { 0x440311b6, 0x50014125, 0x30806002, 0x2001518f } },
    { 5, 13, 4, { 0x4799d6f6, 0xa319c120, 0x5ac00217, 0x00004ab0 }, { 0x9080001d, 0xb90703ee, 0x4820e8c7, 0x82f810ab } },
    { 5, 13, 4, { 0x3c08004a, 0x7d62e150, 0xa1c00225, 0x000090a6 }, { 0xa470699a, 0x1202409c, 0xe1d34561, 0x5f304155 } },
    { 21, 13, 4, { 0x3edd78fb, 0x2bc6abe4, 0x3f400231, 0x00002ae9 }, { 0x0824a87e, 0x4048c809, 0x5039801d, 0x000e7145 } },
    { 49, 13, 4, { 0x94ee5ba3, 0x071342e5, 0x7cd00242, 0x0000e533 }, { 0x1001c81e, 0x8005654f, 0x00023019, 0x40008195 } },
    { 7, 13, 4, { 0xcd0f688b, 0xf8f41039, 0x5f400250, 0x0000f07f }, { 0x09832156, 0x0c00c8d3, 0x0e88499a, 0x1680886e } },
    { 5, 13, 4, { 0x42e3bb47, 0x9e764ebc, 0x4de0026f, 0x00006bb7 }, { 0x224f1092, 0xa0508803, 0xa028403a, 0x4220e01e } },
    { 71, 13, 4, { 0x676d51d0, 0xf68c5350, 0x0650027f, 0x000019cd }, { 0x5167c43f, 0x000671a9, 0x004105ed, 0x43820068 } },
    { 56, 13, 4, { 0x6f7fb8fe, 0x4386db54, 0xef600289, 0x0000b944 }, { 0x1000e41e, 0x3021c209, 0x50001606, 0x30000113 } },
    { 29, 13, 4, { 0x9f1bdb6d, 0x8180e703, 0x1ac00292, 0x00007a0d }, { 0x007e003a, 0x00628151, 0x38a801e5, 0x0002a118 } },
    { 8, 13, 4, { 0x610b70db, 0x55576aea, 0xf8a002aa, 0x0000dbb3 }, { 0x2c80f07a, 0x0d71214d, 0x67010013, 0x03c0e921 } },
    { 79, 13, 4, { 0x903af7e2, 0xbc53f76e, 0x47d002b6, 0x00002113 }, { 0x0102809a, 0x000001b3, 0x0000016d, 0x0000801d } },
    { 42, 13, 4, { 0x067fc6ad, 0x97c590e7, 0x9d0002c0, 0x00002c42 }, { 0x1073e352, 0x000301a9, 0x403d181e, 0x01042383 } },
    { 74, 13, 4, { 0x293a9a50, 0x911e56b5, 0xed8002df, 0x0000fe7c }, { 0x2006607a, 0x00001259, 0x10224205, 0x1102f9ab } },
    { 74, 13, 4, { 0xc2bfb3ee, 0x1e17102e, 0x56a002e6, 0x000030c2 }, { 0x10238477, 0x0000c015, 0x026089fd, 0xc044320b } },
    { 33, 13, 4, { 0x103bbf40, 0x47cf4a25, 0xa17002f9, 0x000043a1 }, { 0x400061b6, 0x601e2a1a, 0x40090073, 0x10002118 } },
    { 52, 13, 4, { 0x881827c4, 0xf677e94d, 0x27900300, 0x0000042e }, { 0x2807115b, 0x208271f5, 0x00819c78, 0x0040c0cc } },
    { 15, 13, 4, { 0x97d0a142, 0x5c5a83fc, 0x83f0031d, 0x00005114 }, { 0xc94004fa, 0x202c881d, 0x00712561, 0x109e1016 } },
    { 32, 13, 4, { 0x8a72e209, 0x80064108, 0x2a700329, 0x0000276e }, { 0x60030972, 0x281ea939, 0x5000de16, 0x1000841e } },
    { 9, 13, 4, { 0x7ba353c2, 0x72444e05, 0xe8e0033b, 0x0000fa95 }, { 0x24188114, 0x2314009a, 0x9618202c, 0x0c2438e1 } },
    { 42, 13, 4, { 0x674726ea, 0x27a13070, 0x1bc0034a, 0x00006a2b }, { 0x41028416, 0x4000140f, 0x1000121b, 0x90401c03 } },
    { 73, 13, 4, { 0xd85e8608, 0xa7b19d3c, 0x81a00358, 0x000048bb }, { 0x402c0417, 0x40019731, 0x0068848c, 0x3008e615 } },
    { 46, 13, 4, { 0xf09fc6c7, 0xf0b7937f, 0x29700360, 0x00002334 }, { 0x900c71be, 0x204dbc0a, 0x0020a5f7, 0x2000300f } },
    { 88, 13, 4, { 0x57316eba, 0x26094031, 0xe8700378, 0x000012ad }, { 0x48301d92, 0x2c04420b, 0x0228401d, 0x21510062 } },
    { 40, 13, 4, { 0xd8c9f7ef, 0x678c6234, 0xedc00381, 0x000064df }, { 0x404d099a, 0x10636cac, 0x01078014, 0x000220ad } },
    { 8, 13, 4, { 0x7a54ffc0, 0x46d69d10, 0xae80039c, 0x00006126 }, { 0x648d905b, 0x1720008f, 0x08090109, 0x4884300c } },
    { 34, 13, 4, { 0x39030bf4, 0xdc4c74cc, 0x384003a5, 0x0000d6eb }, { 0x4036ac1a, 0x506559cc, 0x0002501b, 0x30280592 } },
    { 74, 13, 4, { 0xe9579f78, 0xecb6987d, 0xdd5003bf, 0x00008eff }, { 0x8004081d, 0x300b8a16, 0x20025234, 0x3000f0b8 } },
    { 86, 13, 4, { 0x2b4ddbaa, 0x62581d43, 0xb02003cc, 0x0000065e }, { 0x4857d1f3, 0x006c189c, 0x00109016, 0x0042e11e } },
    { 68, 13, 4, { 0x91a3a21f, 0x5fe47590, 0x4ae003d2, 0x0000207b }, { 0x0003183a, 0x685560d6, 0x00080811, 0x10414608 } },
    { 29, 13, 4, { 0x7c95ddbe, 0xbc1eaeaf, 0xc13003e8, 0x00001cd3 }, { 0x20449212, 0x2026c1f4, 0x1008101b, 0x00035008 } },
    { 45, 13, 4, { 0xf4c75a08, 0x33451618, 0x1a2003fc, 0x0000bc07 }, { 0x0154993e, 0x102e04dc, 0x00562016, 0x00028084 } },
};
/* clang-format on */

struct twister {
    uint32_t x[ROOM];
    uint32_t at;
};

struct mtgp {
    struct twister of[TWISTERS];
    unsigned turn, left; /* whose turn it is, and for how many numbers */
};

static uint32_t image(const uint32_t of[4], uint32_t bits)
{
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum ^= bits >> i & 1 ? of[i] : 0;
    return sum;
}

static void twister_init(struct twister *t, const struct parameters *p, uint32_t seed)
{
    uint32_t hidden = p->twist[2] ^ p->twist[3] << 16, fill = hidden;
    fill += fill >> 16;
    fill += fill >> 8;
    for (unsigned i = 0; i < WORDS; i++)
        t->x[i] = (fill & 0xff) * 0x01010101u;
    t->x[0] = seed;
    t->x[1] = hidden;
    for (uint32_t i = 1; i < WORDS; i++)
        t->x[i] ^= 1812433253u * (t->x[i - 1] ^ t->x[i - 1] >> 30) + i;
    t->at = 0;
}

static uint32_t twister_next(struct twister *t, const struct parameters *p)
{
    uint32_t at = t->at++, x = (t->x[at % ROOM] & MASK) ^ t->x[(at + 1) % ROOM];
    x ^= x << p->shift_left;
    x ^= t->x[(at + p->pos) % ROOM] >> p->shift_right;
    x ^= image(p->twist, x & 15);
    t->x[(at + WORDS) % ROOM] = x;
    uint32_t other = t->x[(at + p->pos - 1) % ROOM];
    other ^= other >> 16;
    other ^= other >> 8;
    return x ^ image(p->temper, other & 15);
}

static bool make(struct aw_rand_state *state)
{
    struct mtgp *m = malloc(sizeof *m);
    state->states = m;
    if (!m)
        return false;
    uint32_t seed = (uint32_t)(state->seed ^ state->seed >> 32);
    for (uint32_t i = 0; i < TWISTERS; i++)
        twister_init(&m->of[i], &parameters[i], seed + i + 1);
    m->turn = 0;
    m->left = TURN;
    return true;
}

static void draw(struct aw_rand_state *state, uint64_t i, unsigned n, uint32_t ret_bits[])
{
    struct mtgp *m = state->states;
    for (unsigned k = 0; k < n; k++) {
        ret_bits[k] = twister_next(&m->of[m->turn], &parameters[m->turn]);
        if (--m->left == 0) {
            m->turn = (m->turn + 1) % TWISTERS;
            m->left = TURN;
        }
    }
}

const struct aw_rand_engine aw_rand_mtgp32 = { make, draw, NULL };
