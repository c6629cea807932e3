// SPDX-License-Identifier: Apache-2.0
// Cooperative groups are the same in CUDA and in HIP.
#pragma once

#include <hip/hip_cooperative_groups.h>
