// SPDX-License-Identifier: Apache-2.0
// <cuda_runtime.h> has the names for which programs include <vector_types.h>.
#pragma once

#include "cuda_runtime.h"
