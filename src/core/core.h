/* The core in one include, for the entry bodies: devices, contexts, streams, memory, modules, launch, registry.
 *
 * An entry body's shape:  struct aw_ctx *ctx;  status = aw_ctx_current(&ctx);  find the handles;  call the core;  map the status
 * with aw_status_to_cu or aw_status_to_cudart.  Handles cross the ABI as the addresses of core objects. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_CORE_H
#define AW_CORE_CORE_H

#include "core/array.h"
#include "core/context.h"
#include "core/device.h"
#include "core/jit_link.h"
#include "core/launch.h"
#include "core/memory.h"
#include "core/module.h"
#include "core/registry.h"
#include "core/stream.h"
#include "core/texref.h"
#include "core/texture.h"

#endif
