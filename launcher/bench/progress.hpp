// SPDX-License-Identifier: Apache-2.0
//
// A bar on a terminal: how many of the figures there are, and which is being measured.
// Invariant: nothing is drawn unless errors go to a terminal, by way of oshrun or not. Where output
// does so too, the bar is drawn there, so that rows of the table take its place.
#ifndef MESHMEM_BENCH_PROGRESS_HPP_
#define MESHMEM_BENCH_PROGRESS_HPP_

#include <cstdio>
#include <string>

namespace meshmem::bench {

class Progress {
 public:
  // On PE 0 alone, of `figures` figures.
  Progress(bool draws, int figures);
  void begin(const std::string& figure);
  // Before a row is printed; after the last one the bar stays if it has a terminal of its own.
  void end();

 private:
  void draw(const std::string& figure) const;

  std::FILE* terminal_ = nullptr;
  const int figures_;
  int done_ = 0;
};

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_PROGRESS_HPP_
