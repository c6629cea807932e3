// SPDX-License-Identifier: Apache-2.0
// What programs include <vector_types.h> for is in <cuda_runtime.h>.
#pragma once

#include "cuda_runtime.h"
