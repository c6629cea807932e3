// SPDX-License-Identifier: Apache-2.0
//
// A group's life, how its operations start, and its messages.
#include "backend.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "checks.hpp"
#include "without_gil.hpp"

namespace meshmem::pytorch {
namespace {

using c10d::OpType;
using Tensors = Backend::Tensors;

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
    const auto end = Clock::now() + std::min(timeout, kLongestTimeout);
    for (auto& work : works_) {
      const auto left = std::chrono::ceil<Milliseconds>(end - Clock::now());
      work->wait(timeout == kNoTimeout ? kNoTimeout : std::max(left, Milliseconds{1}));
    }
    return true;
  }
  void synchronize() override { wait(kNoTimeout); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    TORCH_CHECK(!works_.empty(), "meshmem: nothing was coalesced");
    const c10::TypePtr tensors = c10::ListType::create(c10::TensorType::get());
    c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(c10::FutureType::create(tensors));
    std::vector<c10::Device> devices;
    for (auto& work : works_) {
      futures.push_back(work->getFuture());
      const auto& used = futures.get(futures.size() - 1)->devices();
      devices.insert(devices.end(), used.begin(), used.end());
    }
    auto all = c10::make_intrusive<c10::ivalue::Future>(tensors, std::move(devices));
    c10::collectAll(futures)->addCallback([all, works = works_](c10::ivalue::Future& done) {
      if (done.hasError()) return all->setError(done.exception_ptr());
      for (auto& work : works) work->wait();  // the caller's stream waits for those on streams
      all->markCompleted(works.back()->result());
    });
    return all;
  }

 private:
  std::vector<Backend::WorkPtr> works_;
};

Milliseconds usable_timeout(Milliseconds timeout) {
  TORCH_CHECK_VALUE(timeout > Milliseconds{0}, "timeout: ", timeout.count(), " ms is not positive");
  return std::min(timeout, kLongestTimeout);
}

}  // namespace

Backend::Backend(int rank, std::vector<int> pes, double timeout_seconds, const std::string& name,
                 bool has_gpus)
    : c10d::Backend(rank, static_cast<int>(pes.size())),
      timeout_(usable_timeout(Milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000)))),
      group_(std::make_shared<Group>(rank, std::move(pes), name, has_gpus)),
      streams_(*group_),
      queue_(std::make_shared<Queue>(group_)),
      messages_(std::make_shared<Messages>(group_)),
      options_(c10::make_intrusive<Options>("meshmem", timeout_)) {
  options_->group_name = name;
  watch(queue_);
}

Backend::~Backend() { stop(); }

void Backend::stop() {
  const WithoutGil others_run;
  queue_->stop();
  messages_->stop();
}

void Backend::setTimeout(Milliseconds timeout) {
  timeout_ = options_->timeout = usable_timeout(timeout);
}

// A member that is inside the library cannot leave it alone.
void Backend::abort() {
  if (queue_->is_idle()) {
    messages_->stop();  // a callback may wait for a message
    return stop();
  }
  std::fprintf(stderr, "%s: the program aborts the group during an operation; this ends the job\n",
               group_->text().c_str());
  shmem_global_exit(1);
}

Backend::WorkPtr Backend::begun(WorkPtr work) {
  const std::lock_guard lock(begun_);
  const auto batch = coalesced_.find(std::this_thread::get_id());
  if (batch != coalesced_.end()) batch->second.push_back(work);
  return work;
}

bool Backend::is_coalescing() {
  const std::lock_guard lock(begun_);
  return coalesced_.contains(std::this_thread::get_id());
}

Backend::WorkPtr Backend::start(Call call, const Tensors& tensors, Body body) {
  for (const at::Tensor& tensor : tensors)
    TORCH_CHECK_VALUE(tensor.device() == tensors[0].device(), "tensors: one is on ",
                      tensor.device(), ", and another on ", tensors[0].device());
  ++n_collectives_;
  call.is_async |= is_coalescing();
  if (tensors.empty() || tensors[0].is_cpu())
    return start_on_host(std::move(call),
                         [tensors, body = std::move(body)](Lane& lane) { body(lane); });
  if (!queue_->is_idle()) run_on_host([](Lane&) {}, false);
  return begun(streams_.run({call.type, call.name, call.is_async, tensors, call.outputs}, body,
                            [this](std::size_t value) { return greatest_of_all(value); }));
}

Backend::WorkPtr Backend::start_on_host(Call call, Body body) {
  if (call.timeout == c10d::kUnsetTimeout) call.timeout = timeout_;
  auto work = c10::make_intrusive<HostWork>(queue_, call.type, call.name, call.timeout,
                                            std::move(call.outputs), std::move(body));
  queue_->submit(work, !call.is_async);
  return begun(work);
}

void Backend::run_on_host(Body body, bool is_of_all) {
  auto work = c10::make_intrusive<HostWork>(queue_, OpType::UNKNOWN, "meshmem:compare",
                                            timeout_.load(), Tensors{}, std::move(body));
  work->is_of_all = is_of_all;
  queue_->submit(work, true);
  work->wait();
}

std::size_t Backend::greatest_of_all(std::size_t value) {
  std::size_t greatest = 0;
  run_on_host([&](Lane& lane) { greatest = lane.meet_and_compare(value); }, true);
  return greatest;
}

void Backend::startCoalescing() {
  std::vector<WorkPtr> old;  // of a batch that an exception has ended
  const std::lock_guard lock(begun_);
  old.swap(coalesced_[std::this_thread::get_id()]);
}

Backend::WorkPtr Backend::endCoalescing() {
  const std::lock_guard lock(begun_);
  const auto batch = coalesced_.extract(std::this_thread::get_id());
  TORCH_CHECK(batch, "meshmem: endCoalescing without startCoalescing");
  return c10::make_intrusive<WorkOfMany>(std::move(batch.mapped()));
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
                                               tag, tensors[0], timeout_.load());
  messages_->send(work);
  return begun(work);
}

Backend::WorkPtr Backend::recv(Tensors& tensors, int peer, int tag) {
  require_one(tensors, "tensor");
  require_peer(peer, "src");
  if (!tensors[0].is_cpu()) return begun(streams_.receive(tensors[0], peer));
  auto work = c10::make_intrusive<MessageWork>(messages_, rank_, OpType::RECV, "meshmem:recv", peer,
                                               tag, tensors[0], timeout_.load());
  messages_->receive(work);
  return begun(work);
}

Backend::WorkPtr Backend::recvAnysource(Tensors& tensors, int tag) {
  require_one(tensors, "tensor");
  TORCH_CHECK_VALUE(tensors[0].is_cpu(), "src: a tensor on ", tensors[0].device(),
                    " needs the rank that it comes from");
  auto work =
      c10::make_intrusive<MessageWork>(messages_, rank_, OpType::RECVANYSOURCE, "meshmem:recv",
                                       kAnyRank, tag, tensors[0], timeout_.load());
  messages_->receive(work);
  return begun(work);
}

}  // namespace meshmem::pytorch
