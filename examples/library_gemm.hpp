// SPDX-License-Identifier: Apache-2.0
//
// C = A * B for row-major float matrices, by cuBLASLt or hipBLASLt. CMakeLists.txt defines
// EXAMPLES_CUBLASLT or EXAMPLES_HIPBLASLT if it finds one. Included by 18_overlapped_gemm.
// Invariant: a call that fails ends the program on all PEs, with one line that names it.
#ifndef MESHMEM_EXAMPLES_LIBRARY_GEMM_HPP
#define MESHMEM_EXAMPLES_LIBRARY_GEMM_HPP

#if defined(EXAMPLES_CUBLASLT)
#include <cublasLt.h>
#define EXAMPLES_LT(name) cublasLt##name
#define EXAMPLES_LT_MOST_WORKSPACE CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
#define EXAMPLES_LT_FLOAT CUDA_R_32F
#define EXAMPLES_LT_SUMS CUBLAS_COMPUTE_32F
#else
#include <hipblaslt/hipblaslt.h>
#define EXAMPLES_LT(name) hipblasLt##name
#define EXAMPLES_LT_MOST_WORKSPACE HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
#define EXAMPLES_LT_FLOAT HIP_R_32F
#define EXAMPLES_LT_SUMS HIPBLAS_COMPUTE_32F
#endif

#include "gpu.hpp"

namespace examples {

// The libraries' matrices are column-major. So a row-major matrix is its transpose to them, and the
// product is that of the transposes, the other way round.
class LibraryGemm {
 public:
  LibraryGemm() {
    must(EXAMPLES_LT(Create)(&library_), "Create");
    must(EXAMPLES_LT(MatmulDescCreate)(&product_, EXAMPLES_LT_SUMS, EXAMPLES_LT_FLOAT),
         "MatmulDescCreate");
    must(EXAMPLES_LT(MatmulPreferenceCreate)(&preference_), "MatmulPreferenceCreate");
    must(EXAMPLES_LT(MatmulPreferenceSetAttribute)(preference_, EXAMPLES_LT_MOST_WORKSPACE,
                                                   &kWorkspace, sizeof kWorkspace),
         "MatmulPreferenceSetAttribute");
    workspace_ = allocate_private<char>(kWorkspace);
  }
  ~LibraryGemm() {
    EXAMPLES_LT(MatmulPreferenceDestroy)(preference_);
    EXAMPLES_LT(MatmulDescDestroy)(product_);
    EXAMPLES_LT(Destroy)(library_);
    check(hipFree(workspace_), "free memory of its GPU");
  }
  LibraryGemm(const LibraryGemm&) = delete;
  LibraryGemm& operator=(const LibraryGemm&) = delete;

  // c[rows][columns] = a[rows][inner] * b[inner][columns], on the stream.
  void operator()(const float* a, const float* b, float* c, std::size_t rows, std::size_t inner,
                  std::size_t columns, hipStream_t stream) const {
    if (rows == 0) return;
    const Layout of_a(inner, rows), of_b(columns, inner), of_c(columns, rows);
    EXAMPLES_LT(MatmulHeuristicResult_t) best{};
    int found = 0;
    must(EXAMPLES_LT(MatmulAlgoGetHeuristic)(library_, product_, of_b.layout, of_a.layout,
                                             of_c.layout, of_c.layout, preference_, 1, &best,
                                             &found),
         "MatmulAlgoGetHeuristic");
    const float one = 1, zero = 0;
    must(EXAMPLES_LT(Matmul)(library_, product_, &one, b, of_b.layout, a, of_a.layout, &zero, c,
                             of_c.layout, c, of_c.layout, &best.algo, workspace_, kWorkspace,
                             stream),
         "Matmul");
  }

 private:
  static constexpr std::size_t kWorkspace = std::size_t{4} << 20;

  template <typename Result>
  static void must(Result result, const char* what) {
    if (static_cast<int>(result) == 0) return;
    std::fprintf(stderr, "%s: PE %d: the library's %s fails with status %d\n", program_name.c_str(),
                 shmem_my_pe(), what, static_cast<int>(result));
    shmem_global_exit(1);
  }
  struct Layout {
    EXAMPLES_LT(MatrixLayout_t) layout = nullptr;
    Layout(std::size_t rows, std::size_t columns) {
      must(EXAMPLES_LT(MatrixLayoutCreate)(&layout, EXAMPLES_LT_FLOAT, rows, columns,
                                           static_cast<long>(rows)),
           "MatrixLayoutCreate");
    }
    ~Layout() { EXAMPLES_LT(MatrixLayoutDestroy)(layout); }
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;
  };

  EXAMPLES_LT(Handle_t) library_ = nullptr;
  EXAMPLES_LT(MatmulDesc_t) product_ = nullptr;
  EXAMPLES_LT(MatmulPreference_t) preference_ = nullptr;
  char* workspace_ = nullptr;
};

}  // namespace examples

#endif
