/* Prices of European options by the Black-Scholes formula. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { CALL, PUT, PRICE, STRIKE, YEARS };
static const float rate = 0.02f, vol = 0.3f;
static int n;

static void setup(void)
{
    n = SIZE(1 << 20, 5003);
    buffer(CALL, OUT, n * sizeof(float));
    buffer(PUT, OUT, n * sizeof(float));
    fill_floats(PRICE, IN, n, 5, 30);
    fill_floats(STRIKE, IN, n, 1, 100);
    fill_floats(YEARS, IN, n, 0.25f, 10);
}

static double cumulative_exact(double d)
{
    double k = 1 / (1 + 0.2316419 * fabs(d));
    double c = 0.39894228 * exp(-0.5 * d * d) *
               (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
    return d > 0 ? 1 - c : c;
}

static void check(void)
{
    for (int i = 0; i < n; i += 7) {
        double p = HOST(PRICE, float)[i], x = HOST(STRIKE, float)[i], t = HOST(YEARS, float)[i], root = sqrt(t), v = vol,
               r = rate;
        double d1 = (log(p / x) + (r + 0.5 * v * v) * t) / (v * root), d2 = d1 - v * root, e = exp(-r * t);
        double n1 = cumulative_exact(d1), n2 = cumulative_exact(d2);
        check_near(i, HOST(CALL, float)[i], p * n1 - x * e * n2, 1e-4);
        check_near(i, HOST(PUT, float)[i], x * e * (1 - n2) - p * (1 - n1), 1e-4);
    }
}
