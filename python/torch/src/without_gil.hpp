// SPDX-License-Identifier: Apache-2.0
//
// Gives Python's lock away for a time. Used where a thread waits for one that may need it.
#pragma once
#include <Python.h>

namespace meshmem::pytorch {

// Does nothing on a thread that has not got the lock.
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

}  // namespace meshmem::pytorch
