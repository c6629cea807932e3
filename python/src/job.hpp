// SPDX-License-Identifier: Apache-2.0
//
// The state of the job, errors, and the release of Python's lock (the GIL).
// Invariant: bad input raises an exception that names the argument before anything is sent.
// Included by all files here.
#pragma once
#include <nanobind/nanobind.h>
#include <shmemx.h>

#include <atomic>
#include <string>
#include <vector>

namespace meshmem::python {

namespace nb = nanobind;

[[noreturn]] inline void fail(PyObject* exception, const std::string& text) {
  PyErr_SetString(exception, text.c_str());
  throw nb::python_error();
}

struct Job {
  bool is_active = false;
  bool is_child = false;  // made by fork, so it is no PE
  int my_pe = 0;
  int n_pes = 1;
  int n_inits = 0;  // calls of init(); objects made before the latest one are not valid
  std::atomic<long> n_exports = 0;  // NumPy arrays and memoryviews of symmetric memory
  std::vector<char> is_near;  // by PE: whether its memory is mapped here; filled at the first array
};
inline Job job;

inline void require_active() {
  if (job.is_active && !job.is_child) return;
  fail(PyExc_RuntimeError, job.is_child ? "meshmem: a child of fork is no PE and may not call"
                                        : "meshmem: call meshmem.init() first");
}

inline void require_pe(int pe, int n_pes, const char* name = "pe") {
  if (pe >= 0 && pe < n_pes) return;
  fail(PyExc_ValueError, std::string(name) + ": " + std::to_string(pe) + " is not in 0.." +
                             std::to_string(n_pes - 1));
}

// The number of the library call that the main thread is in, or 0. The thread that watches for
// Ctrl-C asks for it.
inline std::atomic<long> call_of_main_thread{0};
inline thread_local bool is_main_thread = false;

// Releases Python's lock while a call may wait, so that other threads run.
class Unlocked {
 public:
  explicit Unlocked(bool may_wait = true) {
    if (!may_wait) return;
    state_ = PyEval_SaveThread();
    if (is_main_thread) call_of_main_thread = ++last_call_;
  }
  ~Unlocked() {
    if (!state_) return;
    if (is_main_thread) call_of_main_thread = 0;
    PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  inline static long last_call_ = 0;
  PyThreadState* state_ = nullptr;
};

// Makes a class usable by `with`, which calls end(self, is_error) at the end of its block. After an
// error, other PEs may not reach this end, so a collective would hang there.
template <class T, class End>
void bind_with(nb::class_<T>& type, End end) {
  type.def(
      "__enter__", [](nb::handle self) { return nb::borrow(self); },
      nb::sig("def __enter__(self) -> typing_extensions.Self"));
  type.def(
      "__exit__",
      [end](T& self, nb::handle error, nb::handle, nb::handle) { end(self, !error.is_none()); },
      nb::arg("error").none(), nb::arg("value").none(), nb::arg("traceback").none(),
      nb::sig("def __exit__(self, error: typing.Any, value: typing.Any, traceback: "
              "typing.Any) -> None"));
}

void bind_job(nb::module_& module);
void bind_arrays(nb::module_& module);
void bind_one_sided(nb::class_<struct Array>& array);
void bind_atomics(nb::class_<struct Array>& array);
void bind_waits(nb::class_<struct Array>& array);
void bind_contexts(nb::module_& module);
void bind_teams(nb::module_& module);
void bind_locks(nb::module_& module);

}  // namespace meshmem::python
