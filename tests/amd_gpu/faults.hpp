// SPDX-License-Identifier: Apache-2.0
// How a kernel ends that cannot go on: one line that says where, then the end of the process.
// Invariant: a signal that the program handles is left to it. Used by block_runner.cpp.
#pragma once

#include "wave.hpp"

namespace amd_gpu {

// Says that this thread runs instructions of a wave, so that a bad address is known to be its.
class RunningWave {
 public:
  explicit RunningWave(const Wave& wave);
  ~RunningWave();
  RunningWave(const RunningWave&) = delete;
  RunningWave& operator=(const RunningWave&) = delete;
};

void catch_faults();  // once

}  // namespace amd_gpu
