/* Numbers in CUDA's data types: sizes, single elements, and runs to and from float. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_COMMON_CONVERT_H
#define AW_LIBS_COMMON_CONVERT_H

#include <complex.h>
#include <stdbool.h>

#include "common/types.h"

/* Bytes of an element; 0: a type that nothing here knows. */
size_t aw_type_size(cudaDataType type);
bool aw_type_complex(cudaDataType type);

/* Element `i` of an array, and its writing: rounded to nearest even, integers and eight-bit floats saturated. */
double _Complex aw_type_load(cudaDataType type, const void *from, int64_t i);
void aw_type_store(cudaDataType type, void *to, int64_t i, double _Complex value);

/* Runs of real types of at most 32 bits. */
void aw_type_to_float(cudaDataType type, const void *from, int64_t n, float *to);
void aw_type_from_float(cudaDataType type, const float *from, int64_t n, void *to);

#endif
