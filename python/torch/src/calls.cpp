// SPDX-License-Identifier: Apache-2.0
//
// The collectives of torch.distributed: each checks its arguments, makes a plan and starts it.
#include "backend.hpp"
#include "checks.hpp"
#include "plans.hpp"

namespace meshmem::pytorch {

using c10d::OpType;

namespace {

// The rank copies this block by itself, so no other rank can tell it of a different length.
void require_own_block(const Exchange& plan, int rank, const char* output, const char* input) {
  const std::size_t to = plan.dests[static_cast<std::size_t>(rank)].bytes;
  const std::size_t from = plan.sources[static_cast<std::size_t>(rank)].bytes;
  TORCH_CHECK_VALUE(to == from, output, ": the rank's own block has ", to, " bytes, but that of ",
                    input, " has ", from);
}

}  // namespace

Backend::WorkPtr Backend::start_exchange(Call call, const Tensors& tensors, Exchange plan) {
  return start(std::move(call), tensors,
               [plan = std::move(plan)](Lane& lane) { exchange(lane, plan); });
}

Backend::WorkPtr Backend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  require_one(tensors, "tensor");
  require_root(options.rootRank, size_);
  Exchange plan{.pattern = Pattern::broadcast,
                .root = static_cast<int>(options.rootRank),
                .is_same_for_all = true,
                .dests = std::vector<Span>(group_->pes.size())};
  const Span span = span_of(tensors[0]);
  if (options.rootRank == rank_)
    plan.sources = {span};
  else
    plan.dests[static_cast<std::size_t>(options.rootRank)] = span;
  plan.longest = span.bytes;
  return start_exchange(
      {OpType::BROADCAST, "meshmem:broadcast", options.asyncOp, options.timeout, tensors}, tensors,
      std::move(plan));
}

Backend::WorkPtr Backend::all_reduce_each(Call call, const Tensors& tensors,
                                          const c10d::ReduceOp& op) {
  std::vector<Reduction> reductions;
  for (const at::Tensor& tensor : tensors) {
    require_usable(tensor, "tensor");
    reductions.push_back(find_reduction(op, tensor.scalar_type(), tensor.is_cpu(), "op"));
  }
  return start(std::move(call), tensors, [tensors, reductions](Lane& lane) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      all_reduce_in_place(lane, reductions[i], tensors[i]);
  });
}

Backend::WorkPtr Backend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  require_one(tensors, "tensor");
  return all_reduce_each(
      {OpType::ALLREDUCE, "meshmem:all_reduce", options.asyncOp, options.timeout, tensors}, tensors,
      options.reduceOp);
}

Backend::WorkPtr Backend::allreduce_coalesced(Tensors& tensors,
                                              const c10d::AllreduceCoalescedOptions& options) {
  TORCH_CHECK_VALUE(!tensors.empty(), "tensors: there are none");
  return all_reduce_each({OpType::ALLREDUCE_COALESCED, "meshmem:all_reduce_coalesced",
                          options.asyncOp, options.timeout, tensors},
                         tensors, options.reduceOp);
}

Backend::WorkPtr Backend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  require_one(tensors, "tensor");
  require_root(options.rootRank, size_);
  const at::Tensor from = tensors[0];
  const at::Tensor to = options.rootRank == rank_ ? from : at::Tensor();
  const Reduction found = find_reduction(options.reduceOp, from.scalar_type(), from.is_cpu(), "op");
  return start({OpType::REDUCE, "meshmem:reduce", options.asyncOp, options.timeout, tensors},
               {from}, [=](Lane& lane) { all_reduce(lane, found, from, to); });
}

Backend::WorkPtr Backend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                    const c10d::AllgatherOptions& options) {
  require_one(inputs, "tensor");
  TORCH_CHECK_VALUE(outputs.size() == 1, "tensor_list: ", outputs.size(), " lists");
  require_count(outputs[0], size_, "tensor_list");
  for (const at::Tensor& output : outputs[0])
    require_like(output, "tensor_list", inputs[0], "tensor");
  return start_exchange(
      {OpType::ALLGATHER, "meshmem:all_gather", options.asyncOp, options.timeout, outputs[0]},
      with(outputs[0], inputs[0]), all_gather_plan(rank_, outputs[0], inputs[0]));
}

Backend::WorkPtr Backend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::AllgatherOptions& options) {
  Tensors outputs{output}, inputs{input};
  return allgather_into_tensor_coalesced(outputs, inputs, options);
}

Backend::WorkPtr Backend::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) {
  TORCH_CHECK_VALUE(static_cast<int>(outputs.size()) == size_,
                    "output_tensor_lists: ", outputs.size(), " lists, but there are ", size_,
                    " processes");
  for (const Tensors& list : outputs)
    TORCH_CHECK_VALUE(list.size() == inputs.size() && !inputs.empty(),
                      "output_tensor_lists: ", list.size(), " tensors, but ", inputs.size(),
                      " inputs");
  // One list for each rank, which has as many tensors as there are inputs.
  std::vector<Exchange> plans;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    require_usable(inputs[i], "input_tensor_list");
    Tensors from_all;
    for (const Tensors& list : outputs) from_all.push_back(list[i]);
    for (const at::Tensor& output : from_all)
      require_like(output, "output_tensor_lists", inputs[i], "input_tensor_list");
    plans.push_back(all_gather_plan(rank_, from_all, inputs[i]));
  }
  Tensors all = all_of(outputs), used = all;
  used.insert(used.end(), inputs.begin(), inputs.end());
  return start({OpType::ALLGATHER_COALESCED, "meshmem:all_gather_coalesced", options.asyncOp,
                options.timeout, all},
               used, [plans = std::move(plans)](Lane& lane) {
                 for (const Exchange& plan : plans) exchange(lane, plan);
               });
}

Backend::WorkPtr Backend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                          const c10d::AllgatherOptions& options) {
  TORCH_CHECK_VALUE(outputs.size() == inputs.size() && !inputs.empty(),
                    "output_tensor: ", outputs.size(), " tensors, but ", inputs.size(), " inputs");
  std::vector<Exchange> plans;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    require_usable(inputs[i], "input_tensor");
    require_like(outputs[i], "output_tensor", inputs[i], "input_tensor");
    require_elements(outputs[i], "output_tensor", inputs[i].numel() * size_);
    plans.push_back(
        all_gather_plan(rank_, blocks_of(outputs[i], size_, "output_tensor"), inputs[i]));
  }
  Tensors used = outputs;
  used.insert(used.end(), inputs.begin(), inputs.end());
  return start({OpType::_ALLGATHER_BASE, "meshmem:all_gather_into_tensor", options.asyncOp,
                options.timeout, outputs},
               used, [plans = std::move(plans)](Lane& lane) {
                 for (const Exchange& plan : plans) exchange(lane, plan);
               });
}

Backend::WorkPtr Backend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                 const c10d::GatherOptions& options) {
  require_one(inputs, "tensor");
  require_root(options.rootRank, size_);
  Exchange plan{.is_same_for_all = true,
                .sources = {span_of(inputs[0])},
                .dests = std::vector<Span>(group_->pes.size()),
                .longest = inputs[0].nbytes()};
  const Tensors gathered = outputs.empty() ? Tensors{} : outputs[0];
  if (options.rootRank == rank_) {
    require_count(gathered, size_, "gather_list");
    for (const at::Tensor& output : gathered) {
      require_like(output, "gather_list", inputs[0], "tensor");
      require_elements(output, "gather_list", inputs[0].numel());
    }
    plan.dests = spans_of(gathered);
  } else {
    TORCH_CHECK_VALUE(gathered.empty(), "gather_list: only the root has one");
  }
  return start_exchange(
      {OpType::GATHER, "meshmem:gather", options.asyncOp, options.timeout, gathered},
      with(gathered, inputs[0]), std::move(plan));
}

Backend::WorkPtr Backend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                  const c10d::ScatterOptions& options) {
  require_one(outputs, "tensor");
  require_root(options.rootRank, size_);
  Exchange plan{.dests = std::vector<Span>(group_->pes.size()), .longest = outputs[0].nbytes()};
  const Tensors scattered = inputs.empty() ? Tensors{} : inputs[0];
  if (options.rootRank == rank_) {
    require_count(scattered, size_, "scatter_list");
    for (const at::Tensor& input : scattered) {
      require_like(input, "scatter_list", outputs[0], "tensor");
      require_elements(input, "scatter_list", outputs[0].numel());
    }
    plan.sources = spans_of(scattered);
  } else {
    TORCH_CHECK_VALUE(scattered.empty(), "scatter_list: only the root has one");
  }
  plan.dests[static_cast<std::size_t>(options.rootRank)] = span_of(outputs[0]);
  return start_exchange(
      {OpType::SCATTER, "meshmem:scatter", options.asyncOp, options.timeout, outputs},
      with(scattered, outputs[0]), std::move(plan));
}

Backend::WorkPtr Backend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                         const c10d::ReduceScatterOptions& options) {
  require_one(outputs, "output");
  TORCH_CHECK_VALUE(inputs.size() == 1, "input_list: ", inputs.size(), " lists");
  require_count(inputs[0], size_, "input_list");
  const at::Tensor output = outputs[0];
  for (const at::Tensor& input : inputs[0]) {
    require_like(input, "input_list", output, "output");
    require_elements(input, "input_list", output.numel());
  }
  const Reduction found =
      find_reduction(options.reduceOp, output.scalar_type(), output.is_cpu(), "op");
  return start(
      {OpType::REDUCE_SCATTER, "meshmem:reduce_scatter", options.asyncOp, options.timeout, outputs},
      with(inputs[0], output), [output, found, blocks = inputs[0]](Lane& lane) {
        pytorch::reduce_scatter(lane, found, blocks, output);
      });
}

Backend::WorkPtr Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                               const c10d::ReduceScatterOptions& options) {
  Tensors outputs{output}, inputs{input};
  return reduce_scatter_tensor_coalesced(outputs, inputs, options);
}

Backend::WorkPtr Backend::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
  TORCH_CHECK_VALUE(outputs.size() == inputs.size() && !inputs.empty(), "output: ", outputs.size(),
                    " tensors, but ", inputs.size(), " inputs");
  std::vector<Tensors> blocks;
  std::vector<Reduction> found;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    require_usable(inputs[i], "input");
    require_like(outputs[i], "output", inputs[i], "input");
    require_elements(inputs[i], "input", outputs[i].numel() * size_);
    blocks.push_back(blocks_of(inputs[i], size_, "input"));
    found.push_back(
        find_reduction(options.reduceOp, inputs[i].scalar_type(), inputs[i].is_cpu(), "op"));
  }
  Tensors used = outputs;
  used.insert(used.end(), inputs.begin(), inputs.end());
  return start({OpType::_REDUCE_SCATTER_BASE, "meshmem:reduce_scatter_tensor", options.asyncOp,
                options.timeout, outputs},
               used, [outputs, blocks, found](Lane& lane) {
                 for (std::size_t i = 0; i < outputs.size(); ++i)
                   pytorch::reduce_scatter(lane, found[i], blocks[i], outputs[i]);
               });
}

Backend::WorkPtr Backend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                        std::vector<std::int64_t>& output_splits,
                                        std::vector<std::int64_t>& input_splits,
                                        const c10d::AllToAllOptions& options) {
  require_usable(input, "input");
  require_like(output, "output", input, "input");
  Exchange plan{.sources = split_spans(input, input_splits, size_, "input", "input_split_sizes"),
                .dests = split_spans(output, output_splits, size_, "output", "output_split_sizes"),
                .is_longest_known = false};
  plan.longest = longest_of(plan.sources);
  if (input_splits.empty() && output_splits.empty()) {
    require_elements(output, "output", input.numel());
    plan.pattern = Pattern::all_to_all;  // then on all ranks, if they are on GPUs
  }
  require_own_block(plan, rank_, "output_split_sizes", "input_split_sizes");
  return start_exchange({OpType::ALLTOALL_BASE,
                         "meshmem:all_to_all_single",
                         options.asyncOp,
                         options.timeout,
                         {output}},
                        {output, input}, std::move(plan));
}

Backend::WorkPtr Backend::alltoall(Tensors& outputs, Tensors& inputs,
                                   const c10d::AllToAllOptions& options) {
  require_count(inputs, size_, "input_tensor_list");
  require_count(outputs, size_, "output_tensor_list");
  for (const at::Tensor& input : inputs)
    require_like(input, "input_tensor_list", inputs[0], "its first tensor");
  for (const at::Tensor& output : outputs)
    require_like(output, "output_tensor_list", inputs[0], "input_tensor_list");
  Exchange plan{.sources = spans_of(inputs), .dests = spans_of(outputs), .is_longest_known = false};
  require_own_block(plan, rank_, "output_tensor_list", "input_tensor_list");
  plan.longest = longest_of(plan.sources);
  Tensors all = outputs;
  all.insert(all.end(), inputs.begin(), inputs.end());
  return start_exchange(
      {OpType::ALLTOALL, "meshmem:all_to_all", options.asyncOp, options.timeout, outputs}, all,
      std::move(plan));
}

}  // namespace meshmem::pytorch
