// SPDX-License-Identifier: Apache-2.0
// Preloaded into all PEs of a job: the launcher's server tells them nothing of the nodes, as one
// that has just ended the job. Invariant: all else comes from the real PMIx. Used by test_nodes.py.
#include <dlfcn.h>
#include <pmix.h>
#include <string.h>

typedef pmix_status_t (*get_function)(const pmix_proc_t*, const char[], const pmix_info_t[], size_t,
                                      pmix_value_t**);

pmix_status_t PMIx_Get(const pmix_proc_t* process, const char key[], const pmix_info_t info[],
                       size_t n_info, pmix_value_t** value) {
  if (key != NULL && strcmp(key, "meshmem.node") == 0) return PMIX_ERR_HANDSHAKE_FAILED;
  const get_function get = (get_function)dlsym(RTLD_NEXT, "PMIx_Get");
  return get(process, key, info, n_info, value);
}
