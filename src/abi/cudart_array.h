/* Channel formats between the runtime API's description and the core's: for arrays and textures. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ABI_CUDART_ARRAY_H
#define AW_ABI_CUDART_ARRAY_H

#include "abi/cuda_proto.h"
#include "abi/cudart.h"

/* enum aw_array_format and the number of channels; false: a description of no format of ours. */
bool aw_rt_format(const cudaChannelFormatDesc *desc, unsigned *ret_format, unsigned *ret_channels);
cudaChannelFormatDesc aw_rt_channel_desc(unsigned format, unsigned channels);

#endif
