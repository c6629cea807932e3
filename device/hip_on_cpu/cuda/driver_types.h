// SPDX-License-Identifier: Apache-2.0
// <cuda_runtime_api.h> has the names for which programs include <driver_types.h>.
#pragma once

#include "cuda_runtime_api.h"
