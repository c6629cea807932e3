// SPDX-License-Identifier: Apache-2.0
//
// Plans and tables of plans as text, and which of them a reduction takes.
#include "collectives/policy/plan_text.hpp"

#include <gtest/gtest.h>

#include "collectives/policy/reduce_policy.hpp"
#include "gpu/device_target.hpp"

namespace meshmem {
namespace {

std::string complaint_about(std::string_view text) {
  PlanTable table;
  return parse_plan_table(table, text).value_or("");
}

void expect_plan(const device::Plan& plan, ReduceAlgorithm algorithm, int blocks, int threads) {
  EXPECT_EQ(plan.algorithm, algorithm);
  EXPECT_EQ(plan.blocks, blocks);
  EXPECT_EQ(plan.threads, threads);
}

TEST(PlanText, ReadsAPlanOfEveryAlgorithm) {
  std::size_t n = 0;
  for (; !name_of_algorithm(n).empty(); ++n) {
    const auto plan = parse_plan(std::string(name_of_algorithm(n)) + " 3\t40 ");
    ASSERT_TRUE(plan) << name_of_algorithm(n);
    EXPECT_EQ(plan->blocks, 3);
    EXPECT_EQ(plan->threads, 40);
  }
  EXPECT_GE(n, 4u);
  expect_plan(*parse_plan("two_shot 16 512"), ReduceAlgorithm::two_shot, 16, 512);
  expect_plan(*parse_plan("two_shot_wide 128 576"), ReduceAlgorithm::two_shot_wide, 128, 576);
}

TEST(PlanText, RefusesWhatIsNoPlanAndSaysWhy) {
  std::string why;
  for (const char* text :
       {"", "two_shot", "two_shot 1", "two_shot 0 64", "two_shot 1 513", "two_shot_wide 1 577",
        "two_shot 65536 64", "two_shot 1 64 1", "two_shot -1 64", "two_shot 1 6x", "auto 1 64",
        "two_shot 99999999999 64"}) {
    why.clear();
    EXPECT_FALSE(parse_plan(text, &why)) << text;
    EXPECT_NE(why, "") << text;
  }
}

TEST(PlanText, ReadsTablesWithCommentsSuffixesAndAny) {
  PlanTable table;
  const std::vector<PlanRow>& rows = table.rows;
  ASSERT_EQ(parse_plan_table(table,
                             "# comment\n\nmeshmem-tuning 1 sm_90 # more\r\n"
                             "64K 4 two_shot 16 512\r\n  any any ring 64 256 # large"),
            std::nullopt);
  EXPECT_EQ(table.architecture, "sm_90");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].max_bytes, 65536u);
  EXPECT_EQ(rows[0].max_pes, 4);
  expect_plan(rows[0].plan, ReduceAlgorithm::two_shot, 16, 512);
  EXPECT_EQ(rows[1].max_bytes, kAnySize);
  EXPECT_EQ(rows[1].max_pes, kAnyPes);
  expect_plan(rows[1].plan, ReduceAlgorithm::ring, 64, 256);
}

TEST(PlanText, NamesTheLineAndLeavesTheRowsAsTheyWere) {
  PlanTable table{"sm_90", std::vector<PlanRow>(3)};
  const auto complaint =
      parse_plan_table(table, "meshmem-tuning 1 cpu\n8 1 ring 1 64\n\n8 1 rung 1 64");
  EXPECT_EQ(complaint.value_or("").find("line 4: 'rung' is not an algorithm; there are "), 0u);
  EXPECT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.architecture, "sm_90");
  EXPECT_EQ(complaint_about("meshmem-tuning 1\n8 1 ring 1 64").find("line 1: the first line"), 0u);
  EXPECT_EQ(complaint_about("meshmem-tuning 1 cpu\n").find("line 2: the file ends"), 0u);
}

TEST(PlanText, RefusesNumbersThatAreNone) {
  for (const char* row :
       {"-8 any ring 1 64", "99999999999999999999 any ring 1 64", "9999999999999G any ring 1 64",
        "8 -2 ring 1 64", "8 99999999999 ring 1 64", "8 any ring -1 64", "8 any ring 1 -64",
        "8 any ring 1 99999999999999999999", "8 any ring 1.5 64", "8 any ring 0x1 64",
        "+8 any ring 1 64", "8 any ring 1 64 ring", "8", "8 any", "8 any ring", "any", "any any",
        "\x01 any ring 1 64"}) {
    const std::string complaint = complaint_about("meshmem-tuning 1 cpu\n" + std::string(row));
    EXPECT_EQ(complaint.find("line 2: "), 0u) << row << ": " << complaint;
    EXPECT_NE(complaint.find("; "), std::string::npos) << row;  // then says what is valid
    EXPECT_EQ(complaint.find_first_of("\n\x01"), std::string::npos) << row;
  }
}

TEST(PlanText, SaysForWhomATableIsAndForWhomItWouldHaveToBe) {
  PlanTable table;
  ASSERT_EQ(parse_plan_table(table, "meshmem-tuning 1 sm_80\n8 4 ring 1 64\nany 2 ring 1 64"),
            std::nullopt);
  EXPECT_EQ(reason_against(table, "sm_80", 4), std::nullopt);
  EXPECT_EQ(reason_against(table, "", 1), std::nullopt);  // no device: nobody asks the table
  EXPECT_EQ(reason_against(table, "sm_90", 4)
                .value_or("")
                .find("the file is for 'sm_80', and the device here is 'sm_90'; make one"),
            0u);
  EXPECT_EQ(reason_against(table, "sm_80", 5)
                .value_or("")
                .find("the file has rows for up to 4 PEs, but this job has 5; make one"),
            0u);
  table.rows.back().max_pes = kAnyPes;
  EXPECT_EQ(reason_against(table, "sm_80", 5000), std::nullopt);
}

TEST(PlanChoice, TakesTheProgramsPlanBeforeAllElse) {
  ReducePolicy policy;
  policy.settings.rule = ReduceAlgorithm::one_shot;
  policy.settings.blocks = 2;
  policy.use_plan(parse_plan("ring 8 128"));
  expect_plan(policy.kernel_plan(8, 4, 64), ReduceAlgorithm::ring, 8, 128);
  EXPECT_EQ(policy.kernel_plan(8, 4, 1).blocks, 1);
  expect_plan(policy.kernel_plan(8, 4, 64, true),
              kDevicesAreProcessors ? ReduceAlgorithm::pull : ReduceAlgorithm::direct, 8, 128);
  policy.use_plan(std::nullopt);
  EXPECT_EQ(policy.kernel_plan(8, 4, 64).algorithm, ReduceAlgorithm::one_shot);
  EXPECT_EQ(policy.kernel_plan(8, 4, 64).blocks, 2);
}

TEST(PlanChoice, TakesRowsOfTheFileBeforeThoseOfTheLibrary) {
  ReducePolicy policy;
  const device::Plan built_in = policy.kernel_plan(1 << 20, 4, 64);
  const device::Plan built_in_for_512 = policy.kernel_plan(512, 4, 64);
  ASSERT_EQ(policy.use_tuning(
                "meshmem-tuning 1 cpu\n512 4 auto\n1K 2 ring 5 96\n1K 8 two_shot 7 32\n", "cpu", 8),
            std::nullopt);
  expect_plan(policy.kernel_plan(512, 4, 64), built_in_for_512.algorithm, built_in_for_512.blocks,
              built_in_for_512.threads);
  expect_plan(policy.kernel_plan(512, 5, 64), ReduceAlgorithm::two_shot, 7, 32);
  EXPECT_NE(policy.use_tuning("meshmem-tuning 1 gfx90a\n1K 8 one_shot 1 32\n", "cpu", 8),
            std::nullopt);
  expect_plan(policy.kernel_plan(1024, 2, 64), ReduceAlgorithm::ring, 5, 96);
  expect_plan(policy.kernel_plan(1024, 3, 64), ReduceAlgorithm::two_shot, 7, 32);
  expect_plan(policy.kernel_plan(1 << 20, 4, 64), built_in.algorithm, built_in.blocks,
              built_in.threads);  // as without a table
}

}  // namespace
}  // namespace meshmem
