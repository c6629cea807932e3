// SPDX-License-Identifier: Apache-2.0
// Which instructions are found where no lane is active. The loops here end with no lane active, and
// fetch a register before the lanes come back, as clang 19 does it, or after.
#include "idle_lanes.hpp"

#include <gtest/gtest.h>

#include "assembled.hpp"

namespace amd_gpu {
namespace {

struct Row {
  const char* about;
  std::string program;
  std::vector<std::string> found;  // the mnemonics
};

// A loop that its lanes leave one by one, and where it ends; s[4:5] are the lanes before it.
std::string after_a_loop(const std::string& end) {
  return "s_mov_b64 s[4:5], exec\n"
         "again%=: v_cmp_eq_u32 vcc, v0, v2\n"
         "s_or_b64 s[6:7], vcc, s[6:7]\n"
         "s_andn2_b64 exec, exec, s[6:7]\n"
         "s_cbranch_execnz again%=\n" +
         end;
}
// The same where the end is behind other code.
std::string apart_from_a_loop(const std::string& end) {
  return "s_mov_b64 s[4:5], exec\n"
         "again%=: v_cmp_eq_u32 vcc, v0, v2\n"
         "s_andn2_b64 exec, exec, vcc\n"
         "s_cbranch_execz end%=\n"
         "v_add_u32 v0, v0, v2\n"
         "s_branch again%=\n"
         "end%=: " +
         end;
}
constexpr const char* kBack = "s_or_b64 exec, exec, s[4:5]\n";
constexpr const char* kFetch = "v_accvgpr_read_b32 v6, a1\n";
// Scalars that were spilt into a vector register, which is itself elsewhere.
constexpr const char* kAllLanes =
    "s_or_saveexec_b64 s[8:9], -1\nv_accvgpr_read_b32 v7, a2\ns_mov_b64 exec, s[8:9]\n"
    "v_readlane_b32 s4, v7, 2\nv_readlane_b32 s5, v7, 3\n";

std::vector<Row> rows() {
  const std::string back = kBack, fetch = kFetch, all_lanes = kAllLanes;
  return {
      {"fetched before the lanes are back", after_a_loop(fetch + back), {"v_accvgpr_read_b32"}},
      {"fetched after", after_a_loop(back + fetch), {}},
      {"apart, before", apart_from_a_loop(fetch + back), {"v_accvgpr_read_b32"}},
      {"apart, after", apart_from_a_loop(back + fetch), {}},
      {"behind scalars that are fetched, before",
       apart_from_a_loop(all_lanes + fetch + back),
       {"v_accvgpr_read_b32"}},
      {"behind scalars that are fetched, after", apart_from_a_loop(all_lanes + back + fetch), {}},
      {"from scratch memory",
       after_a_loop("buffer_load_dword v6, off, s[12:15], 0 offset:4\n" + back),
       {"buffer_load_dword"}},
      {"two of them",
       after_a_loop(fetch + "v_mov_b32 v7, v8\n" + back),
       {"v_accvgpr_read_b32", "v_mov_b32_e32"}},
      {"what is for no lane",
       after_a_loop("v_readfirstlane_b32 s8, v6\nv_writelane_b32 v7, s8, 1\n" + back),
       {}},
      {"where another path comes with lanes",
       "s_cbranch_scc1 join%=\n" + after_a_loop("join%=: " + fetch + back),
       {}},
      {"behind a branch that none takes with lanes",
       after_a_loop("s_branch on%=\non%=: " + fetch + back),
       {"v_accvgpr_read_b32"}},
      {"of lanes that may be there", "s_and_saveexec_b64 s[4:5], vcc\n" + fetch + back, {}},
  };
}

// Gives each program labels of its own.
std::string with_labels(std::string text, std::size_t number) {
  for (std::size_t at; (at = text.find("%=")) != text.npos;)
    text.replace(at, 2, "_" + std::to_string(number));
  return text;
}

class IdleLanes : public testing::TestWithParam<Architecture> {};

TEST_P(IdleLanes, AreFoundBeforeTheLanesAreBackAndNotAfter) {
  if (!Assembled::is_possible_for(GetParam()))
    GTEST_SKIP() << "no assembler for " << GetParam().name;
  std::size_t number = 0;
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.about);
    const Assembled made({with_labels(row.program, number++)}, GetParam());
    const Listing listing = list_of(made.code());
    std::vector<std::string> found;
    for (const std::size_t n : executed_by_no_lane(listing)) {
      const std::string& text = listing.instructions[n]->text;
      found.push_back(text.substr(0, text.find(' ')));
    }
    EXPECT_EQ(found, row.found);
  }
}

INSTANTIATE_TEST_SUITE_P(OfEachGpu, IdleLanes, testing::ValuesIn(kArchitectures),
                         [](const auto& about) { return std::string(about.param.name); });

}  // namespace
}  // namespace amd_gpu
