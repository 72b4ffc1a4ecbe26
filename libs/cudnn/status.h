/* Status codes of cuDNN: from the driver's, and for cudnnGetLastErrorString. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_STATUS_H
#define AW_LIBS_CUDNN_STATUS_H

#include "common/driver.h"
#include "cudnn_types.h"

/* Version 8's code for one of 9. */
cudnnStatus_t aw_dnn_status_8(cudnnStatus_t status);
/* The status for what the driver answered. */
cudnnStatus_t aw_dnn_status(CUresult result);
/* `status`, and `why` for the thread's cudnnGetLastErrorString. */
cudnnStatus_t aw_dnn_fail(cudnnStatus_t status, const char *why);

#endif
