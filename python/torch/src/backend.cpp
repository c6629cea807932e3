// SPDX-License-Identifier: Apache-2.0
//
// A group's life, how its operations start, and its messages.
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
  if (coalesced_) coalesced_->push_back(work);
  return work;
}

Backend::WorkPtr Backend::start(Call call, const Tensors& tensors, Body body) {
  for (const at::Tensor& tensor : tensors)
    TORCH_CHECK_VALUE(tensor.device() == tensors[0].device(), "tensors: one is on ",
                      tensor.device(), ", and another on ", tensors[0].device());
  ++n_collectives_;
  if (tensors.empty() || tensors[0].is_cpu())
    return start_on_host(std::move(call),
                         [tensors, body = std::move(body)](Lane& lane) { body(lane); });
  run_on_host([](Lane&) {});
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

void Backend::run_on_host(Body body) {
  auto work = c10::make_intrusive<HostWork>(queue_, OpType::UNKNOWN, "meshmem:compare",
                                            options_->timeout, Tensors{}, std::move(body));
  queue_->submit(work, true);
  work->wait();
}

std::size_t Backend::greatest_of_all(std::size_t value) {
  std::size_t greatest = 0;
  run_on_host([&](Lane& lane) { greatest = lane.meet_and_compare(value); });
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

Backend::WorkPtr Backend::barrier(const c10d::BarrierOptions& options) {
  streams_.synchronize_caller();
  return start({OpType::BARRIER, "meshmem:barrier", options.asyncOp, options.timeout, {}}, {},
               [](Lane& lane) { lane.meet(); });
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
