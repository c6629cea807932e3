// SPDX-License-Identifier: Apache-2.0
// What programs include <device_launch_parameters.h> for is in <cuda_runtime.h>.
#pragma once

#include "cuda_runtime.h"
