// SPDX-License-Identifier: Apache-2.0
// What programs include <driver_types.h> for is in <cuda_runtime_api.h>.
#pragma once

#include "cuda_runtime_api.h"
