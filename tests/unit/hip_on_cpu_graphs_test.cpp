// SPDX-License-Identifier: Apache-2.0
// HIP on CPUs: graphs that are made by hand.
#include <string>

#include "hip_on_cpu.hpp"

namespace {

class HipGraphs : public testing::Test {
 protected:
  void SetUp() override { ASSERT_HIP(hipGraphCreate(&graph_, 0)); }
  void TearDown() override { EXPECT_HIP(hipGraphDestroy(graph_)); }

  struct Step {
    HipGraphs* test;
    char name;
  };
  static void note(void* step) {
    auto* const self = static_cast<Step*>(step);
    self->test->order_ += self->name;
  }
  hipGraphNode_t add_host_node(Step& step, const std::vector<hipGraphNode_t>& after = {}) {
    hipGraphNode_t node = nullptr;
    const hipHostNodeParams parameters{note, &step};
    EXPECT_HIP(hipGraphAddHostNode(&node, graph_, after.data(), after.size(), &parameters));
    return node;
  }
  hipError_t run() {
    hipGraphExec_t executable = nullptr;
    const hipError_t error = hipGraphInstantiateWithFlags(&executable, graph_, 0);
    if (error != hipSuccess) return error;
    EXPECT_HIP(hipGraphLaunch(executable, nullptr));
    EXPECT_HIP(hipStreamSynchronize(nullptr));
    EXPECT_HIP(hipGraphExecDestroy(executable));
    return hipSuccess;
  }

  hipGraph_t graph_ = nullptr;
  std::string order_;
};

TEST_F(HipGraphs, RunNodesAfterThoseTheyDependOn) {
  Step a{this, 'a'}, b{this, 'b'}, c{this, 'c'}, d{this, 'd'};
  const hipGraphNode_t first = add_host_node(a);
  const hipGraphNode_t third = add_host_node(c, {first});
  const hipGraphNode_t second = add_host_node(b, {first});
  hipGraphNode_t join = nullptr;
  const hipGraphNode_t both[] = {second, third};
  EXPECT_HIP(hipGraphAddEmptyNode(&join, graph_, both, 2));
  add_host_node(d, {join});
  EXPECT_HIP(hipGraphAddDependencies(graph_, &second, &third, 1));
  EXPECT_HIP(run());
  EXPECT_EQ(order_, "abcd");

  std::size_t count = 0;
  EXPECT_HIP(hipGraphGetNodes(graph_, nullptr, &count));
  EXPECT_EQ(count, 5u);
  hipGraphNode_t nodes[6];
  count = 6;
  EXPECT_HIP(hipGraphGetNodes(graph_, nodes, &count));
  EXPECT_EQ(count, 5u);
  EXPECT_EQ(nodes[0], first);
  EXPECT_EQ(nodes[5], nullptr);
}

TEST_F(HipGraphs, CopyAndFill) {
  const OnDevice<std::uint16_t> memory(12);
  std::uint16_t back[12] = {};
  hipGraphNode_t fill = nullptr, copy = nullptr;
  hipMemsetParams parameters{memory.get(), 2, 2, 8, 0x51234, 3};  // 2 rows of 3 in 4
  ASSERT_HIP(hipGraphAddMemsetNode(&fill, graph_, nullptr, 0, &parameters));
  ASSERT_HIP(hipGraphAddMemcpyNode1D(&copy, graph_, &fill, 1, back, memory.get(), sizeof back,
                                     hipMemcpyDeviceToHost));
  EXPECT_HIP(run());
  const std::vector<std::uint16_t> expected = {0x1234, 0x1234, 0x1234, 0, 0x1234, 0x1234,
                                               0x1234, 0,      0,      0, 0,      0};
  EXPECT_EQ(std::vector<std::uint16_t>(back, back + 12), expected);

  parameters.elementSize = 3;
  EXPECT_EQ(hipGraphAddMemsetNode(&fill, graph_, nullptr, 0, &parameters), hipErrorInvalidValue);
  parameters = {memory.get(), 4, 2, 8, 0, 3};  // rows longer than their pitch
  EXPECT_EQ(hipGraphAddMemsetNode(&fill, graph_, nullptr, 0, &parameters), hipErrorInvalidValue);
  parameters = {memory.get(), 1, 1, 0, 0, 25};  // a byte too long
  EXPECT_EQ(hipGraphAddMemsetNode(&fill, graph_, nullptr, 0, &parameters), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphAddMemcpyNode1D(&copy, graph_, nullptr, 0, back, memory.get(), 25,
                                    hipMemcpyDeviceToHost),
            hipErrorInvalidValue);
}

__global__ void add(int* to, int value) { *to += value; }

TEST_F(HipGraphs, ContainOthersAsTheyWere) {
  const OnDevice<int> sum(1);
  const OwnStream stream;
  hipGraph_t captured = nullptr;
  ASSERT_HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  hipLaunchKernelGGL(add, 1, 1, 0, stream, sum.get(), 5);
  ASSERT_HIP(hipStreamEndCapture(stream, &captured));
  hipGraphNode_t once = nullptr, twice = nullptr;
  ASSERT_HIP(hipGraphAddChildGraphNode(&once, graph_, nullptr, 0, captured));
  ASSERT_HIP(hipGraphAddChildGraphNode(&twice, graph_, &once, 1, captured));
  EXPECT_HIP(hipGraphDestroy(captured));
  EXPECT_HIP(run());
  EXPECT_EQ(sum.values()[0], 10);
  EXPECT_EQ(hipGraphAddChildGraphNode(&once, graph_, nullptr, 0, graph_), hipErrorInvalidValue);
}

TEST_F(HipGraphs, RefuseCyclesAndNodesOfOthers) {
  Step a{this, 'a'}, b{this, 'b'};
  const hipGraphNode_t first = add_host_node(a), second = add_host_node(b, {first});
  EXPECT_EQ(hipGraphAddDependencies(graph_, &first, &first, 1), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphAddDependencies(graph_, &first, &second, 1), hipErrorInvalidValue);  // again
  hipGraph_t other = nullptr;
  ASSERT_HIP(hipGraphCreate(&other, 0));
  hipGraphNode_t node = nullptr;
  EXPECT_EQ(hipGraphAddEmptyNode(&node, other, &first, 1), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphAddEmptyNode(&node, graph_, nullptr, 1), hipErrorInvalidValue);
  const hipGraphNode_t same[] = {first, first};
  EXPECT_EQ(hipGraphAddEmptyNode(&node, graph_, same, 2), hipErrorInvalidValue);
  EXPECT_HIP(hipGraphDestroy(other));
  EXPECT_HIP(hipGraphAddDependencies(graph_, &second, &first, 1));
  EXPECT_EQ(run(), hipErrorInvalidValue);
  EXPECT_EQ(order_, "");
}

TEST_F(HipGraphs, RefuseFlags) {
  hipGraph_t other = nullptr;
  EXPECT_EQ(hipGraphCreate(&other, 1), hipErrorInvalidValue);
  hipGraphExec_t executable = nullptr;
  EXPECT_EQ(hipGraphInstantiateWithFlags(&executable, graph_, 1), hipErrorNotSupported);
  EXPECT_EQ(hipGraphInstantiateWithFlags(&executable, graph_, 16), hipErrorInvalidValue);
  const hipHostNodeParams none{nullptr, nullptr};
  hipGraphNode_t node = nullptr;
  EXPECT_EQ(hipGraphAddHostNode(&node, graph_, nullptr, 0, &none), hipErrorInvalidValue);
  std::size_t count = 1;
  EXPECT_HIP(hipGraphGetNodes(graph_, nullptr, &count));
  EXPECT_EQ(count, 0u);
}

}  // namespace
