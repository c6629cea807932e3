// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of a GPU, by PyTorch's interface for all kinds of devices, so nothing here
// needs the headers of CUDA. A few functions are the runtime's own, found by their names.
// Used by stream_lane.cpp and streams.cpp.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <memory>
#include <vector>

namespace meshmem::pytorch {

inline c10::impl::VirtualGuardImpl guard_of(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type());
}
bool is_captured(c10::Stream stream);

// A stream that nobody else uses. PyTorch's own pool gives the same stream to several users, so a
// waiting message would block their work. Streams are never destroyed, since PyTorch may still ask
// them: those that were given back are taken again.
c10::Stream take_stream(c10::Device device);
// False for a stream with unfinished work, such as a message that nobody answers, or one that is
// captured: the caller keeps it.
bool give_back_stream(c10::Stream stream);

// False if the device cannot say, or the stream is captured.
bool is_done(c10::Stream stream) noexcept;
bool is_done(const c10::Event& event) noexcept;

// An event behind what the stream has.
std::shared_ptr<c10::Event> record(c10::Stream stream);
// `then` goes on when what `first` has by now is done.
void wait_for(c10::Stream first, c10::Stream then);
// The allocator does not give the tensors' memory away before the stream has done its work.
void keep_until_done(const std::vector<at::Tensor>& tensors, c10::Stream stream);

}  // namespace meshmem::pytorch
