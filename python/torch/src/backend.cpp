// SPDX-License-Identifier: Apache-2.0
//
// Calls of torch.distributed as plans of exchanges and reductions.
#include "backend.hpp"

#include <Python.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "checks.hpp"

namespace meshmem::pytorch {
namespace {

using c10d::OpType;
using Tensors = Backend::Tensors;

// Others run while this thread waits for one that may need Python's lock.
class WithoutGil {
 public:
  WithoutGil() : state_(Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (state_) PyEval_RestoreThread(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Several operations as one: done when all are.
class WorkOfMany final : public c10d::Work {
 public:
  explicit WorkOfMany(std::vector<Backend::WorkPtr> works)
      : Work(-1, OpType::COALESCED), works_(std::move(works)) {}
  bool isCompleted() override {
    return std::all_of(works_.begin(), works_.end(),
                       [](auto& work) { return work->isCompleted(); });
  }
  bool isSuccess() const override {
    return std::all_of(works_.begin(), works_.end(), [](auto& work) { return work->isSuccess(); });
  }
  bool wait(Milliseconds timeout) override {
    for (auto& work : works_) work->wait(timeout);
    return true;
  }
  void synchronize() override { wait(kNoTimeout); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    TORCH_CHECK(!works_.empty(), "meshmem: nothing was coalesced");
    return works_.back()->getFuture();  // they are done in order
  }

 private:
  std::vector<Backend::WorkPtr> works_;
};

Tensors all_of(const std::vector<Tensors>& lists) {
  Tensors all;
  for (const Tensors& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Tensors with(Tensors tensors, const at::Tensor& another) {
  tensors.push_back(another);
  return tensors;
}

std::vector<Span> spans_of(const Tensors& tensors) {
  std::vector<Span> spans;
  for (const at::Tensor& tensor : tensors) spans.push_back(span_of(tensor));
  return spans;
}

std::size_t longest_of(const std::vector<Span>& spans) {
  std::size_t longest = 0;
  for (const Span& span : spans) longest = std::max(longest, span.bytes);
  return longest;
}

// Consecutive parts of a tensor, whose rows `splits` counts. Without splits `n` equal parts.
std::vector<Span> split_spans(const at::Tensor& tensor, const std::vector<std::int64_t>& splits,
                              int n, const char* argument, const char* splits_argument) {
  const std::int64_t rows = tensor.dim() > 0 ? tensor.size(0) : 1;
  std::vector<std::int64_t> counts = splits;
  if (splits.empty()) {
    TORCH_CHECK_VALUE(rows % n == 0, argument, ": ", rows, " rows are not a multiple of the ", n,
                      " processes");
    counts.assign(static_cast<std::size_t>(n), rows / n);
  }
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) {
    TORCH_CHECK_VALUE(count >= 0, splits_argument, ": ", count, " is negative");
    sum += count;
  }
  TORCH_CHECK_VALUE(static_cast<int>(counts.size()) == n && sum == rows, splits_argument, ": ",
                    counts.size(), " numbers, which add up to ", sum, ", but there are ", n,
                    " processes and ", rows, " rows");
  const std::size_t row = rows > 0 ? tensor.nbytes() / static_cast<std::size_t>(rows) : 0;
  std::vector<Span> spans;
  char* data = static_cast<char*>(tensor.data_ptr());
  for (const std::int64_t count : counts) {
    spans.push_back({data, static_cast<std::size_t>(count) * row});
    data += spans.back().bytes;
  }
  return spans;
}

}  // namespace

Backend::Backend(int rank, std::vector<int> pes, double timeout_seconds, const std::string& name,
                 bool has_gpus)
    : c10d::Backend(rank, static_cast<int>(pes.size())),
      group_(std::make_shared<Group>(rank, std::move(pes), name, has_gpus)),
      streams_(*group_),
      queue_(std::make_shared<Queue>(group_)),
      messages_(std::make_shared<Messages>(group_)),
      options_(c10::make_intrusive<Options>(
          "meshmem", Milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000)))) {
  options_->group_name = name;
  watch(queue_);
}

Backend::~Backend() { stop(); }

void Backend::stop() {
  const WithoutGil others_run;
  queue_->stop();
  messages_->stop();
}

// A member that is inside the library cannot leave it alone.
void Backend::abort() {
  if (queue_->is_idle()) return stop();
  std::fprintf(stderr, "%s: the program aborts the group during an operation; this ends the job\n",
               group_->text().c_str());
  shmem_global_exit(1);
}

Backend::WorkPtr Backend::begun(WorkPtr work) {
  const std::lock_guard lock(begun_);
  ++n_started_;
  if (coalesced_) coalesced_->push_back(work);
  return work;
}

Backend::WorkPtr Backend::start(Call call, const Tensors& tensors, Body body) {
  for (const at::Tensor& tensor : tensors)
    TORCH_CHECK_VALUE(tensor.device() == tensors[0].device(), "tensors: one is on ",
                      tensor.device(), ", and another on ", tensors[0].device());
  if (tensors.empty() || tensors[0].is_cpu())
    return start_on_host(std::move(call),
                         [tensors, body = std::move(body)](Lane& lane) { body(lane); });
  queue_->drain();
  return begun(
      streams_.run({call.type, call.name, call.is_async || coalesced_, tensors, call.outputs}, body,
                   [this](std::size_t value) { return greatest_of_all(value); }));
}

Backend::WorkPtr Backend::start_on_host(Call call, Body body) {
  if (call.timeout == c10d::kUnsetTimeout) call.timeout = options_->timeout;
  auto work = c10::make_intrusive<HostWork>(queue_, call.type, call.name, call.timeout,
                                            std::move(call.outputs), std::move(body));
  queue_->submit(work, !call.is_async && !coalesced_);
  return begun(work);
}

std::size_t Backend::greatest_of_all(std::size_t value) {
  std::size_t greatest = 0;
  auto work = c10::make_intrusive<HostWork>(
      queue_, OpType::UNKNOWN, "meshmem:compare", options_->timeout, Tensors{},
      [&](Lane& lane) { greatest = lane.meet_and_compare(value); });
  queue_->submit(work, true);
  work->wait();
  return greatest;
}

void Backend::startCoalescing() {
  const std::lock_guard lock(begun_);
  coalesced_.emplace();
}

Backend::WorkPtr Backend::endCoalescing() {
  const std::lock_guard lock(begun_);
  TORCH_CHECK(coalesced_, "meshmem: endCoalescing without startCoalescing");
  auto works = std::move(*coalesced_);
  coalesced_.reset();
  return c10::make_intrusive<WorkOfMany>(std::move(works));
}

Backend::WorkPtr Backend::start_exchange(Call call, const Tensors& tensors, Exchange plan) {
  return start(std::move(call), tensors,
               [plan = std::move(plan)](Lane& lane) { exchange(lane, plan); });
}

void Backend::require_root(std::int64_t root) const {
  TORCH_CHECK_VALUE(root >= 0 && root < size_, "root: ", root, " is not in 0..", size_ - 1);
}

void Backend::require_count(const Tensors& tensors, const char* argument) const {
  TORCH_CHECK_VALUE(static_cast<int>(tensors.size()) == size_, argument, ": ", tensors.size(),
                    " tensors, but there are ", size_, " processes");
}

// Equal consecutive parts of a tensor, flat.
Tensors Backend::blocks_of(const at::Tensor& tensor, const char* argument) const {
  TORCH_CHECK_VALUE(tensor.numel() % size_ == 0, argument, ": ", tensor.numel(),
                    " elements are not a multiple of the ", size_, " processes");
  const at::Tensor flat = tensor.detach().view({-1});
  const std::int64_t n = tensor.numel() / size_;
  Tensors blocks;
  for (int i = 0; i < size_; ++i) blocks.push_back(flat.narrow(0, i * n, n));
  return blocks;
}

Backend::WorkPtr Backend::barrier(const c10d::BarrierOptions& options) {
  streams_.synchronize_caller();
  return start({OpType::BARRIER, "meshmem:barrier", options.asyncOp, options.timeout, {}}, {},
               [](Lane& lane) { lane.meet(); });
}

Backend::WorkPtr Backend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  require_one(tensors, "tensor");
  require_root(options.rootRank);
  Exchange plan{.is_same_for_all = true, .dests = std::vector<Span>(group_->pes.size())};
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
  require_root(options.rootRank);
  const at::Tensor from = tensors[0];
  const at::Tensor to = options.rootRank == rank_ ? from : at::Tensor();
  const Reduction found = find_reduction(options.reduceOp, from.scalar_type(), from.is_cpu(), "op");
  return start({OpType::REDUCE, "meshmem:reduce", options.asyncOp, options.timeout, tensors},
               {from}, [=](Lane& lane) { all_reduce(lane, found, from, to); });
}

// Outputs may differ in length: each rank's is as long as its input.
Exchange Backend::all_gather_plan(const Tensors& outputs, const at::Tensor& input) const {
  Exchange plan{.is_same_for_all = true, .sources = {span_of(input)}, .dests = spans_of(outputs)};
  require_elements(input, "tensor", outputs[static_cast<std::size_t>(rank_)].numel());
  plan.longest = longest_of(plan.dests);
  return plan;
}

Backend::WorkPtr Backend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                    const c10d::AllgatherOptions& options) {
  require_one(inputs, "tensor");
  TORCH_CHECK_VALUE(outputs.size() == 1, "tensor_list: ", outputs.size(), " lists");
  require_count(outputs[0], "tensor_list");
  for (const at::Tensor& output : outputs[0])
    require_like(output, "tensor_list", inputs[0], "tensor");
  return start_exchange(
      {OpType::ALLGATHER, "meshmem:all_gather", options.asyncOp, options.timeout, outputs[0]},
      with(outputs[0], inputs[0]), all_gather_plan(outputs[0], inputs[0]));
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
    plans.push_back(all_gather_plan(from_all, inputs[i]));
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
    plans.push_back(all_gather_plan(blocks_of(outputs[i], "output_tensor"), inputs[i]));
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
  require_root(options.rootRank);
  Exchange plan{.is_same_for_all = true,
                .sources = {span_of(inputs[0])},
                .dests = std::vector<Span>(group_->pes.size()),
                .longest = inputs[0].nbytes()};
  const Tensors gathered = outputs.empty() ? Tensors{} : outputs[0];
  if (options.rootRank == rank_) {
    require_count(gathered, "gather_list");
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
  require_root(options.rootRank);
  Exchange plan{.dests = std::vector<Span>(group_->pes.size()), .longest = outputs[0].nbytes()};
  const Tensors scattered = inputs.empty() ? Tensors{} : inputs[0];
  if (options.rootRank == rank_) {
    require_count(scattered, "scatter_list");
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
  require_count(inputs[0], "input_list");
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
    blocks.push_back(blocks_of(inputs[i], "input"));
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
  return start_exchange({OpType::ALLTOALL_BASE,
                         "meshmem:all_to_all_single",
                         options.asyncOp,
                         options.timeout,
                         {output}},
                        {output, input}, std::move(plan));
}

Backend::WorkPtr Backend::alltoall(Tensors& outputs, Tensors& inputs,
                                   const c10d::AllToAllOptions& options) {
  require_count(inputs, "input_tensor_list");
  require_count(outputs, "output_tensor_list");
  for (const at::Tensor& input : inputs)
    require_like(input, "input_tensor_list", inputs[0], "its first tensor");
  for (const at::Tensor& output : outputs)
    require_like(output, "output_tensor_list", inputs[0], "input_tensor_list");
  Exchange plan{.sources = spans_of(inputs), .dests = spans_of(outputs), .is_longest_known = false};
  plan.longest = longest_of(plan.sources);
  Tensors all = outputs;
  all.insert(all.end(), inputs.begin(), inputs.end());
  return start_exchange(
      {OpType::ALLTOALL, "meshmem:all_to_all", options.asyncOp, options.timeout, outputs}, all,
      std::move(plan));
}

void Backend::require_peer(int peer, const char* argument) const {
  TORCH_CHECK_VALUE(peer >= 0 && peer < size_ && peer != rank_, argument, ": rank ", peer, " of ",
                    size_, ", but this process is rank ", rank_);
}

Backend::WorkPtr Backend::send(Tensors& tensors, int peer, int tag) {
  require_one(tensors, "tensor");
  require_peer(peer, "dst");
  if (!tensors[0].is_cpu()) return begun(streams_.send(tensors[0], peer));
  auto work = c10::make_intrusive<MessageWork>(messages_, rank_, OpType::SEND, "meshmem:send", peer,
                                               tag, tensors[0], options_->timeout);
  messages_->send(work);
  return begun(work);
}

Backend::WorkPtr Backend::recv(Tensors& tensors, int peer, int tag) {
  require_one(tensors, "tensor");
  require_peer(peer, "src");
  if (!tensors[0].is_cpu()) return begun(streams_.receive(tensors[0], peer));
  auto work = c10::make_intrusive<MessageWork>(messages_, rank_, OpType::RECV, "meshmem:recv", peer,
                                               tag, tensors[0], options_->timeout);
  messages_->receive(work);
  return begun(work);
}

Backend::WorkPtr Backend::recvAnysource(Tensors& tensors, int tag) {
  require_one(tensors, "tensor");
  TORCH_CHECK_VALUE(tensors[0].is_cpu(), "src: a tensor on ", tensors[0].device(),
                    " needs the rank that it comes from");
  auto work =
      c10::make_intrusive<MessageWork>(messages_, rank_, OpType::RECVANYSOURCE, "meshmem:recv",
                                       kAnyRank, tag, tensors[0], options_->timeout);
  messages_->receive(work);
  return begun(work);
}

}  // namespace meshmem::pytorch
