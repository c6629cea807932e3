// SPDX-License-Identifier: Apache-2.0
// A graph: nodes, each of operations that run after those of the nodes it depends on. A capture
// makes a graph of one node.
// Invariant: a node belongs to one graph, and is known by its handle as long as that lives. Used by
// graphs.cpp (captures, launches) and graph_nodes.cpp (graphs that are made by hand).
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "capture.hpp"

namespace hip_on_cpu {

struct GraphNode {
  Operations operations;
  std::vector<const GraphNode*> after;  // nodes of the same graph
};

class Graph {
 public:
  hipGraphNode_t add(GraphNode node);
  // hipErrorInvalidValue where one is no node of this graph, or twice the same.
  hipError_t find(const hipGraphNode_t* handles, std::size_t count,
                  std::vector<const GraphNode*>* found) const;
  hipError_t add_dependency(hipGraphNode_t from, hipGraphNode_t to);
  std::vector<hipGraphNode_t> nodes() const;
  // All operations in an order that keeps to the dependencies; hipErrorInvalidValue if none does.
  hipError_t in_order(Operations* operations) const;

 private:
  GraphNode* find(hipGraphNode_t handle) const;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<GraphNode>> nodes_;
};

std::shared_ptr<Graph> find_graph(hipGraph_t handle);
hipGraph_t add_graph();

}  // namespace hip_on_cpu
