// SPDX-License-Identifier: Apache-2.0
//
// A stream and a graph that end with their scope.
// Invariant: a graph holds the work that its maker put on the stream; the maker's calls must be
// ones that can be captured. Used by the tests of routines on a stream.
#ifndef MESHMEM_TESTS_DEVICE_OWN_STREAM_HPP
#define MESHMEM_TESTS_DEVICE_OWN_STREAM_HPP

#include "device_array.hpp"

namespace meshmem {

class OwnStream {
 public:
  OwnStream() {
    must(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking), "hipStreamCreateWithFlags");
  }
  ~OwnStream() { must(hipStreamDestroy(stream_), "hipStreamDestroy"); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  operator hipStream_t() const { return stream_; }
  void synchronize() const { must(hipStreamSynchronize(stream_), "hipStreamSynchronize"); }

 private:
  hipStream_t stream_ = nullptr;
};

class OwnGraph {
 public:
  // put(stream) puts the work on the stream; it is not run here.
  template <typename Put>
  OwnGraph(const OwnStream& stream, const Put& put) {
    must(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
    put();
    hipGraph_t graph = nullptr;
    must(hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
    must(hipGraphInstantiate(&executable_, graph, nullptr, nullptr, 0), "hipGraphInstantiate");
    must(hipGraphDestroy(graph), "hipGraphDestroy");
  }
  ~OwnGraph() { must(hipGraphExecDestroy(executable_), "hipGraphExecDestroy"); }
  OwnGraph(const OwnGraph&) = delete;
  OwnGraph& operator=(const OwnGraph&) = delete;

  void replay(const OwnStream& stream) const {
    must(hipGraphLaunch(executable_, stream), "hipGraphLaunch");
  }

 private:
  hipGraphExec_t executable_ = nullptr;
};

}  // namespace meshmem

#endif
