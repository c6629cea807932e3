// SPDX-License-Identifier: Apache-2.0
// A module is the fat binary that a program or library registers when it is loaded, with its
// kernels and variables.
// Invariant: a code object is loaded for a device at the first use of one of its kernels or
// variables there. Filled by registration.cpp, read by launches.
#pragma once

#include <cstddef>

#include "code_object.hpp"

namespace amd_gpu {

class Module {
 public:
  explicit Module(const void* bundle) : bundle_(bundle) {}
  // Null where the fat binary has nothing for this GPU, after a line that says so.
  const CodeObject* on_device(int device);

 private:
  const void* bundle_;
  std::map<int, std::unique_ptr<CodeObject>> loaded_;
};

// The GPU that all devices are: MESHMEM_AMD_GPU, or else one that the first fat binary has code
// for, or else gfx90a.
const Architecture& architecture();

Module* add_module(const void* bundle);
void remove_module(Module* module);
void add_kernel(Module* module, const void* handle, const char* name);
void add_variable(Module* module, const void* handle, const char* name);

// By the handle that the host has: the address of a stub, or of a shadow variable. Null for others.
const Kernel* find_kernel(const void* handle, int device);
void* find_variable(const void* handle, int device, std::size_t* size);

}  // namespace amd_gpu
