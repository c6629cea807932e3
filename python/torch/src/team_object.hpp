// SPDX-License-Identifier: Apache-2.0
//
// The base of Experts, AllReduceNorm and Quantized: all PEs of the job make and close them
// together, and the PEs of a team call them with tensors.
// Invariant: a call takes its place on the caller's stream. With CPU tensors it has ended when it
// returns. A wrong tensor raises an exception that names the argument, before anything is sent.
#pragma once
#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <shmemx.h>

#include <functional>
#include <vector>

#include "device_streams.hpp"

namespace meshmem::pytorch {

class TeamObject {
 public:
  // Returns the device that has an address.
  using DeviceOf = std::function<c10::Device(const void*)>;

  virtual ~TeamObject() = default;
  TeamObject(const TeamObject&) = delete;
  TeamObject& operator=(const TeamObject&) = delete;

  // A collective of all PEs. is_of_this_job: false if the job in which it was made has ended.
  void close(bool is_of_this_job = true);
  bool is_open() const { return is_open_; }

 protected:
  // `pes`: of the team; none if this PE is in no team. `name`: of the class in Python.
  TeamObject(const char* name, const std::vector<int>& pes);
  // Frees what all PEs have made, for close().
  virtual void destroy() = 0;

  bool has_team() const { return has_team_; }  // false if the library has no more teams
  shmem_team_t team() const { return team_; }
  c10::Device device() const { return device_; }
  void set_device(c10::Device device) { device_ = device; }

  void require_member() const;
  void require(const at::Tensor& tensor, const char* argument, c10::ScalarType dtype,
               at::IntArrayRef sizes) const;
  at::Tensor empty(at::IntArrayRef sizes, c10::ScalarType dtype) const {
    return at::empty(sizes, at::TensorOptions().dtype(dtype).device(device_));
  }
  bool is_capturing() const;

  // Calls call(stream), and waits for it if the device is a CPU.
  template <typename Call>
  void put_on_stream(const Call& call) const {
    if (device_.is_cpu()) {
      call(nullptr);
      shmemx_mark_t done = nullptr;
      shmemx_stream_mark(&done, nullptr);
      shmemx_stream_mark_wait(&done);
    } else {
      const c10::DeviceGuard current(device_);
      call(guard_of(device_).getStream(device_).native_handle());
    }
  }

 private:
  const char* name_;
  shmem_team_t team_ = SHMEM_TEAM_INVALID;
  bool has_team_, is_open_ = true;
  c10::Device device_ = c10::kCPU;
};

}  // namespace meshmem::pytorch
