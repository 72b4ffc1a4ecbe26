/* Loops over runs of numbers in the best form the processor has: AW_VECTORISED before a function. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_COMMON_VECTORISED_H
#define AW_LIBS_COMMON_VECTORISED_H

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define AW_VECTORISED __attribute__((target_clones("default", "arch=x86-64-v3"), optimize("tree-vectorize")))
#else
#define AW_VECTORISED
#endif

#endif
