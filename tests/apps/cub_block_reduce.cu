// CUB within a block and a warp: reduce, scan, radix sort, striped loads, and one device-wide reduction.
// variants: shared static rdc
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <algorithm>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <vector>

enum { BLOCK = 128, ITEMS = 4 };

__global__ void block_reduce(const int *in, int *sums, int *maxima)
{
    typedef cub::BlockLoad<int, BLOCK, ITEMS, cub::BLOCK_LOAD_TRANSPOSE> Load;
    typedef cub::BlockReduce<int, BLOCK> Reduce;
    __shared__ union {
        typename Load::TempStorage load;
        typename Reduce::TempStorage reduce;
    } temp;
    int items[ITEMS];
    Load(temp.load).Load(in + blockIdx.x * BLOCK * ITEMS, items);
    __syncthreads();
    int sum = Reduce(temp.reduce).Sum(items);
    __syncthreads();
    int most = items[0];
    for (int i = 1; i < ITEMS; i++)
        most = max(most, items[i]);
    most = Reduce(temp.reduce).Reduce(most, [](int a, int b) { return a > b ? a : b; });
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        maxima[blockIdx.x] = most;
    }
}

__global__ void block_scan_sort(int *data, int *scanned)
{
    typedef cub::BlockScan<int, BLOCK> Scan;
    typedef cub::BlockRadixSort<int, BLOCK, ITEMS> Sort;
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Sort::TempStorage sort;
    } temp;
    int items[ITEMS], sums[ITEMS], total;
    int base = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
    for (int i = 0; i < ITEMS; i++)
        items[i] = data[base + i];
    Scan(temp.scan).ExclusiveSum(items, sums, total);
    for (int i = 0; i < ITEMS; i++)
        scanned[base + i] = sums[i];
    __syncthreads();
    Sort(temp.sort).Sort(items);
    for (int i = 0; i < ITEMS; i++)
        data[base + i] = items[i];
}

__global__ void warp_reduce(const int *in, int *out, int valid)
{
    typedef cub::WarpReduce<int> Reduce;
    __shared__ typename Reduce::TempStorage temp[4];
    int warp = threadIdx.x / 32;
    int sum = Reduce(temp[warp]).Sum(in[threadIdx.x], valid);
    if (threadIdx.x % 32 == 0)
        out[warp] = sum;
}

int main()
{
    const int blocks = 6, per = BLOCK * ITEMS, n = blocks * per;
    Rng rng(29);
    std::vector<int> in(n), sorted(n), scanned(n);
    for (int &v : in)
        v = (int)rng.below(20000) - 10000;
    int sums[blocks], maxima[blocks], warps[4];
    Dev<int> d(in.data(), n), ds(blocks), dm(blocks), dscan(n), dw(4);
    block_reduce<<<blocks, BLOCK>>>(d, ds, dm);
    warp_reduce<<<1, 128>>>(d, dw, 20);
    CHECK_LAUNCH();
    ds.get(sums);
    dm.get(maxima);
    dw.get(warps);

    int total = 0;
    size_t bytes = 0;
    Dev<int> dtotal(1);
    CHECK(cub::DeviceReduce::Sum(nullptr, bytes, d.ptr, dtotal.ptr, n));
    Dev<char> work(bytes + 1);
    CHECK(cub::DeviceReduce::Sum(work.ptr, bytes, d.ptr, dtotal.ptr, n));
    dtotal.get(&total);

    block_scan_sort<<<blocks, BLOCK>>>(d, dscan);
    CHECK_LAUNCH();
    d.get(sorted.data());
    dscan.get(scanned.data());

    int all = 0;
    for (int b = 0; b < blocks; b++) {
        int sum = 0, most = INT32_MIN;
        for (int i = b * per; i < (b + 1) * per; i++) {
            EXPECT(scanned[i] == sum, "scan %d: %d, expected %d", i, scanned[i], sum);
            sum += in[i];
            most = std::max(most, in[i]);
        }
        EXPECT(sums[b] == sum && maxima[b] == most, "block %d: %d %d, expected %d %d", b, sums[b], maxima[b], sum, most);
        all += sum;
    }
    EXPECT(total == all, "device sum %d, expected %d", total, all);
    for (int w = 0; w < 4; w++) {
        int sum = 0;
        for (int i = 0; i < 20; i++)
            sum += in[w * 32 + i];
        EXPECT(warps[w] == sum, "warp %d: %d, expected %d", w, warps[w], sum);
    }
    for (int b = 0; b < blocks; b++)
        std::sort(in.begin() + b * per, in.begin() + (b + 1) * per);
    EXPECT(sorted == in, "block radix sort");
    return check_done();
}
