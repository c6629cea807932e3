// SPDX-License-Identifier: Apache-2.0
// Graphs: the operations of a capture, run as one operation of a stream, as often as wanted.
// Invariant: an executable keeps its graph as it was when the executable was made; launches under
// way share its operations.
#include <optional>

#include "capture.hpp"
#include "errors.hpp"
#include "process_state.hpp"
#include "streams.hpp"

namespace hip_on_cpu {
namespace {

// A launch comes after the one before it, on whatever streams they are, unless it is captured
// itself.
struct Executable {
  std::shared_ptr<const Operations> operations;
  std::optional<Ticket> last_launch;
};

struct Graphs {
  Handles<hipGraph_t, Operations> graphs;
  Handles<hipGraphExec_t, Executable> executables;
};

Graphs& graphs() { return ProcessState<Graphs>::get(); }

hipError_t run_all(const Operations& operations) {
  for (const Operation& operation : operations) {
    if (const hipError_t error = operation(); error != hipSuccess) return error;
  }
  return hipSuccess;
}

hipError_t instantiate(hipGraphExec_t* executable, hipGraph_t graph) {
  if (executable == nullptr) return hipErrorInvalidValue;
  const auto found = graphs().graphs.find(graph);
  if (found == nullptr) return hipErrorInvalidValue;
  *executable = graphs().executables.add(std::make_shared<Executable>(Executable{found, {}}));
  return hipSuccess;
}

}  // namespace

}  // namespace hip_on_cpu

using namespace hip_on_cpu;

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t handle, hipStreamCaptureMode mode) {
  host_only();
  if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed)
    return remember(hipErrorInvalidValue);
  return remember(with_stream(handle, [&](Streams& streams, const auto& stream) {
    return streams.is_default(stream) ? hipErrorStreamCaptureUnsupported
                                      : streams.captures.begin(stream, mode);
  }));
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  host_only();
  if (mode == nullptr || *mode < hipStreamCaptureModeGlobal || *mode > hipStreamCaptureModeRelaxed)
    return remember(hipErrorInvalidValue);
  *mode = Streams::get().captures.exchange_mode_of_thread(*mode);
  return hipSuccess;
}

hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t* graph) {
  host_only();
  if (graph == nullptr) return remember(hipErrorInvalidValue);
  Operations operations;
  const hipError_t error = with_stream(handle, [&](Streams& streams, const auto& stream) {
    *graph = nullptr;
    return streams.captures.end(stream, &operations);
  });
  if (error != hipSuccess) return remember(error);
  *graph = graphs().graphs.add(std::make_shared<Operations>(std::move(operations)));
  return hipSuccess;
}

hipError_t hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus* status) {
  host_only();
  if (status == nullptr) return remember(hipErrorInvalidValue);
  return remember(with_stream(handle, [&](const Streams&, const auto& stream) {
    *status = stream->capture == nullptr ? hipStreamCaptureStatusNone
              : stream->capture->invalid ? hipStreamCaptureStatusInvalidated
                                         : hipStreamCaptureStatusActive;
    return hipSuccess;
  }));
}

hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph,
                               hipGraphNode_t* error_node, char* log, std::size_t log_size) {
  host_only();
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_size > 0) *log = '\0';
  return remember(instantiate(executable, graph));
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph,
                                        unsigned long long flags) {
  host_only();
  constexpr unsigned long long kHips = 0xf;  // memory, uploads, launches by devices, priorities
  if (flags != 0) return remember(flags <= kHips ? hipErrorNotSupported : hipErrorInvalidValue);
  return remember(instantiate(executable, graph));
}

hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  host_only();
  const auto found = graphs().executables.find(executable);
  if (found == nullptr) return remember(hipErrorInvalidValue);
  return remember(submit_after(found->last_launch, stream,
                               [operations = found->operations] { return run_all(*operations); }));
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  host_only();
  return remember(graphs().graphs.remove(graph) == nullptr ? hipErrorInvalidValue : hipSuccess);
}

hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  host_only();
  return remember(graphs().executables.remove(executable) == nullptr ? hipErrorInvalidValue
                                                                     : hipSuccess);
}

}  // extern "C"
