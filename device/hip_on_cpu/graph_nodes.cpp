// SPDX-License-Identifier: Apache-2.0
// Graphs that are made by hand, and the order in which nodes run.
// Invariant: a call that fails adds nothing.
#include <algorithm>
#include <optional>
#include <utility>

#include "copies.hpp"
#include "errors.hpp"
#include "graph.hpp"

namespace hip_on_cpu {

GraphNode* Graph::find(hipGraphNode_t handle) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return reinterpret_cast<hipGraphNode_t>(node.get()) == handle;
  });
  return found == nodes_.end() ? nullptr : found->get();
}

hipGraphNode_t Graph::add(GraphNode node) {
  const std::lock_guard lock(mutex_);
  nodes_.push_back(std::make_unique<GraphNode>(std::move(node)));
  return reinterpret_cast<hipGraphNode_t>(nodes_.back().get());
}

hipError_t Graph::find(const hipGraphNode_t* handles, std::size_t count,
                       std::vector<const GraphNode*>* found) const {
  if (handles == nullptr && count > 0) return hipErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) {
    const GraphNode* const node = find(handles[i]);
    if (node == nullptr || std::find(found->begin(), found->end(), node) != found->end())
      return hipErrorInvalidValue;
    found->push_back(node);
  }
  return hipSuccess;
}

hipError_t Graph::add_dependency(hipGraphNode_t from, hipGraphNode_t to) {
  const std::lock_guard lock(mutex_);
  const GraphNode* const first = find(from);
  GraphNode* const second = find(to);
  if (first == nullptr || second == nullptr || first == second) return hipErrorInvalidValue;
  auto& after = second->after;
  if (std::find(after.begin(), after.end(), first) != after.end()) return hipErrorInvalidValue;
  after.push_back(first);
  return hipSuccess;
}

std::vector<hipGraphNode_t> Graph::nodes() const {
  const std::lock_guard lock(mutex_);
  std::vector<hipGraphNode_t> handles;
  for (const auto& node : nodes_) handles.push_back(reinterpret_cast<hipGraphNode_t>(node.get()));
  return handles;
}

// Again and again the first node whose dependencies are all done.
hipError_t Graph::in_order(Operations* operations) const {
  const std::lock_guard lock(mutex_);
  std::vector<const GraphNode*> done, left;
  for (const auto& node : nodes_) left.push_back(node.get());
  while (!left.empty()) {
    const auto is_done = [&](const GraphNode* node) {
      return std::find(done.begin(), done.end(), node) != done.end();
    };
    const auto next = std::find_if(left.begin(), left.end(), [&](const GraphNode* node) {
      return std::all_of(node->after.begin(), node->after.end(), is_done);
    });
    if (next == left.end()) return hipErrorInvalidValue;
    operations->insert(operations->end(), (*next)->operations.begin(), (*next)->operations.end());
    done.push_back(*next);
    left.erase(next);
  }
  return hipSuccess;
}

namespace {

// The graph and the nodes that a new one comes after.
struct Place {
  std::shared_ptr<Graph> graph;
  std::vector<const GraphNode*> after;
};
hipError_t find_place(Place* place, const hipGraphNode_t* node, hipGraph_t graph,
                      const hipGraphNode_t* dependencies, std::size_t count) {
  place->graph = find_graph(graph);
  if (node == nullptr || place->graph == nullptr) return hipErrorInvalidValue;
  return place->graph->find(dependencies, count, &place->after);
}

// `make` puts the node's operations into what it gets, or says why there are none.
template <typename Make>
hipError_t add_node(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                    std::size_t count, Make make) {
  Place place;
  hipError_t error = find_place(&place, node, graph, dependencies, count);
  Operations operations;
  if (error == hipSuccess) error = make(&operations);
  if (error == hipSuccess)
    *node = place.graph->add({std::move(operations), std::move(place.after)});
  return remember(error);
}

}  // namespace
}  // namespace hip_on_cpu

using namespace hip_on_cpu;

extern "C" {

hipError_t hipGraphCreate(hipGraph_t* graph, unsigned flags) {
  host_only();
  if (graph == nullptr || flags != 0) return remember(hipErrorInvalidValue);
  *graph = add_graph();
  return hipSuccess;
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph,
                                const hipGraphNode_t* dependencies, std::size_t count) {
  host_only();
  return add_node(node, graph, dependencies, count, [](Operations*) { return hipSuccess; });
}

hipError_t hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph,
                               const hipGraphNode_t* dependencies, std::size_t count,
                               const hipHostNodeParams* parameters) {
  host_only();
  return add_node(node, graph, dependencies, count, [&](Operations* operations) {
    if (parameters == nullptr || parameters->fn == nullptr) return hipErrorInvalidValue;
    operations->push_back([host = *parameters] {
      host.fn(host.userData);
      return hipSuccess;
    });
    return hipSuccess;
  });
}

hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph,
                                   const hipGraphNode_t* dependencies, std::size_t count,
                                   void* dest, const void* source, std::size_t size,
                                   hipMemcpyKind kind) {
  host_only();
  return add_node(node, graph, dependencies, count, [&](Operations* operations) {
    return make_copy(&operations->emplace_back(), dest, source, size, kind);
  });
}

hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* dependencies, std::size_t count,
                                 const hipMemsetParams* parameters) {
  host_only();
  return add_node(node, graph, dependencies, count, [&](Operations* operations) {
    if (parameters == nullptr) return hipErrorInvalidValue;
    return make_fill(&operations->emplace_back(), *parameters);
  });
}

hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph,
                                     const hipGraphNode_t* dependencies, std::size_t count,
                                     hipGraph_t child) {
  host_only();
  return add_node(node, graph, dependencies, count, [&](Operations* operations) {
    const auto found = find_graph(child);
    if (found == nullptr || child == graph) return hipErrorInvalidValue;
    return found->in_order(operations);
  });
}

hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                   const hipGraphNode_t* to, std::size_t count) {
  host_only();
  const auto found = find_graph(graph);
  if (found == nullptr || (count > 0 && (from == nullptr || to == nullptr)))
    return remember(hipErrorInvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    const hipError_t error = found->add_dependency(from[i], to[i]);
    if (error != hipSuccess) return remember(error);
  }
  return hipSuccess;
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, std::size_t* count) {
  host_only();
  const auto found = find_graph(graph);
  if (found == nullptr || count == nullptr) return remember(hipErrorInvalidValue);
  const auto all = found->nodes();
  if (nodes == nullptr) {
    *count = all.size();
    return hipSuccess;
  }
  // What is asked for beyond the last is null, as in HIP.
  for (std::size_t i = 0; i < *count; ++i) nodes[i] = i < all.size() ? all[i] : nullptr;
  *count = std::min(*count, all.size());
  return hipSuccess;
}

}  // extern "C"
