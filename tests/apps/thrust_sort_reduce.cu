// Thrust: sort (radix), reduce, scan, transform, unique, sort by key, count.
// variants: shared static
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

#include <algorithm>
#include <numeric>
#include <vector>

struct Square {
    __host__ __device__ long long operator()(int x) const { return (long long)x * x; }
};

int main()
{
    const int n = 20000;
    Rng rng(28);
    std::vector<int> in(n);
    for (int &v : in)
        v = (int)rng.below(5000);
    thrust::device_vector<int> d(in.begin(), in.end());
    std::vector<int> out(n), want;

    thrust::sort(d.begin(), d.end());
    thrust::copy(d.begin(), d.end(), out.begin());
    want = in;
    std::sort(want.begin(), want.end());
    EXPECT(out == want, "sort");

    int sum = thrust::reduce(d.begin(), d.end(), 0, thrust::plus<int>());
    EXPECT(sum == std::accumulate(in.begin(), in.end(), 0), "reduce gave %d", sum);
    int most = thrust::reduce(d.begin(), d.end(), -1, thrust::maximum<int>());
    EXPECT(most == want.back(), "maximum %d", most);
    int sevens = (int)thrust::count(d.begin(), d.end(), 7);
    EXPECT(sevens == std::count(in.begin(), in.end(), 7), "count %d", sevens);

    thrust::device_vector<long long> squares(n);
    thrust::transform(d.begin(), d.end(), squares.begin(), Square());
    thrust::inclusive_scan(squares.begin(), squares.end(), squares.begin());
    std::vector<long long> scanned(n);
    thrust::copy(squares.begin(), squares.end(), scanned.begin());
    long long running = 0;
    for (int i = 0; i < n; i++) {
        running += (long long)want[i] * want[i];
        EXPECT(scanned[i] == running, "scan %d: %lld, expected %lld", i, scanned[i], running);
    }

    thrust::device_vector<int> keys(in.begin(), in.end()), values(n);
    thrust::transform(keys.begin(), keys.end(), values.begin(), thrust::negate<int>());
    thrust::sort_by_key(keys.begin(), keys.end(), values.begin(), thrust::greater<int>());
    thrust::host_vector<int> hk = keys, hv = values;
    for (int i = 0; i < n; i++)
        EXPECT(hk[i] == want[n - 1 - i] && hv[i] == -hk[i], "by key %d: %d %d", i, hk[i], hv[i]);

    int distinct = (int)(thrust::unique(d.begin(), d.end()) - d.begin());
    EXPECT(distinct == std::unique(want.begin(), want.end()) - want.begin(), "unique left %d", distinct);
    return check_done();
}
