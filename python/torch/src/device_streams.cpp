// SPDX-License-Identifier: Apache-2.0
//
// Calls of the device's own runtime, and the streams that are free.
// Invariant: nothing here ends or forbids a capture that is under way.
#include "device_streams.hpp"

#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <string>

namespace meshmem::pytorch {
namespace {

// A function of the runtime that PyTorch has loaded, by its name without "cuda" or "hip".
template <typename Function>
Function* runtime_function(const std::string& name) {
  void* found = dlsym(RTLD_DEFAULT, ("cuda" + name).c_str());
  if (!found) found = dlsym(RTLD_DEFAULT, ("hip" + name).c_str());
  return reinterpret_cast<Function*>(found);
}

// Another stream of this thread may be captured, in a mode that forbids to make one.
class RelaxedCapture {
 public:
  RelaxedCapture() { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() {
    static const auto call = runtime_function<int(int* mode)>("ThreadExchangeStreamCaptureMode");
    if (call) call(&mode_);
  }
  int mode_ = 2;  // cudaStreamCaptureModeRelaxed
};

c10::Stream make_stream(c10::Device device) {
  constexpr unsigned kNonBlocking = 1;
  static const auto create =
      runtime_function<int(void** stream, unsigned flags)>("StreamCreateWithFlags");
  const c10::DeviceGuard current(device);
  const RelaxedCapture relaxed;
  void* handle = nullptr;
  TORCH_CHECK(create && create(&handle, kNonBlocking) == 0, "meshmem: no new stream on ", device);
  // An external stream of PyTorch has its handle as its number.
  const c10::Stream stream(c10::Stream::UNSAFE, device, reinterpret_cast<c10::StreamId>(handle));
  TORCH_CHECK(stream.native_handle() == handle,
              "meshmem: this PyTorch numbers streams differently");
  return stream;
}

struct FreeStreams {
  std::mutex mutex;
  std::vector<c10::Stream> all;
};
FreeStreams& free_streams() {
  static FreeStreams& instance = *new FreeStreams;
  return instance;
}
}  // namespace

bool is_captured(c10::Stream stream) {
  static const auto query = runtime_function<int(void* stream, int* status)>("StreamIsCapturing");
  int status = 0;
  return query && query(stream.native_handle(), &status) == 0 && status != 0;
}

c10::Stream take_stream(c10::Device device) {
  FreeStreams& free = free_streams();
  const std::lock_guard lock(free.mutex);
  const auto found = std::find_if(free.all.begin(), free.all.end(),
                                  [&](c10::Stream stream) { return stream.device() == device; });
  if (found == free.all.end()) return make_stream(device);
  const c10::Stream stream = *found;
  free.all.erase(found);
  return stream;
}

bool is_done(c10::Stream stream) noexcept try {
  const RelaxedCapture relaxed;
  return !is_captured(stream) && stream.query();
} catch (const c10::Error&) {
  return false;
}

bool is_done(const c10::Event& event) noexcept try {
  const RelaxedCapture relaxed;
  return event.query();
} catch (const c10::Error&) {
  return false;
}

bool give_back_stream(c10::Stream stream) {
  if (!is_done(stream)) return false;
  FreeStreams& free = free_streams();
  const std::lock_guard lock(free.mutex);
  free.all.push_back(stream);
  return true;
}

std::shared_ptr<c10::Event> record(c10::Stream stream) {
  auto event = std::make_shared<c10::Event>(stream.device_type());
  event->record(stream);
  return event;
}

void wait_for(c10::Stream first, c10::Stream then) { record(first)->block(then); }

void keep_until_done(const std::vector<at::Tensor>& tensors, c10::Stream stream) {
  const auto guard = guard_of(stream.device());
  for (const at::Tensor& tensor : tensors)
    guard.recordDataPtrOnStream(tensor.storage().data_ptr(), stream);
}

}  // namespace meshmem::pytorch
