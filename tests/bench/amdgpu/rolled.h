/* Included before kernels.cu by `ratio.py --rolled`: no compiler unrolls a loop, so that what is compared is code for the same
 * loops.  Not for measuring speed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __NVCC__
#include <cuda_runtime.h> /* its own loops stay as they are */
#endif
#define for _Pragma("unroll 1") for
