// SPDX-License-Identifier: Apache-2.0
//
// The work of the doctor in a job, without a job: the table of several nodes, and its messages. The
// library that it tries is two PEs in one process, and can be broken.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "info/doctor/nodes.hpp"
#include "info/doctor/trial.hpp"

namespace meshmem::doctor {
namespace {

NodeChecks node(const std::string& name, Checks checks) { return {name, std::move(checks)}; }

TEST(DoctorNodes, SayOnceWhatAllSayAlike) {
  const Checks checks{ok("cores", "8 (0-7)"), warn("memory", "little", "buy some")};
  const Checks merged = merge({node("left", checks), node("right", checks)});
  EXPECT_EQ(table_of(merged), table_of(checks));
  EXPECT_EQ(json_of(merged), json_of(checks));
}

TEST(DoctorNodes, AreNamedWhereTheyDiffer) {
  const Check same = ok("clock", "tsc");
  const Checks merged = merge({node("a", {ok("cores", "8"), same}), node("b", {same}),
                               node("c", {bad("cores", "none", "buy one"), same}),
                               node("d", {ok("cores", "8"), same, ok("late", "here alone")})});
  EXPECT_EQ(table_of(merged),
            "OK    cores                 a, d: 8\n"
            "BAD   cores                 c: none\n"
            "                            fix: buy one\n"
            "OK    clock                 tsc\n"
            "OK    late                  d: here alone\n"
            "4 checks: 3 OK, 0 WARN, 1 BAD\n");
  EXPECT_TRUE(has_bad(merged));
  EXPECT_NE(json_of(merged).find(R"("says": "8", "fix": "", "nodes": ["a", "d"]})"),
            std::string::npos)
      << json_of(merged);
}

TEST(DoctorNodes, AreCountedWhereTheyAreMany) {
  std::vector<NodeChecks> nodes{node("other", {ok("cores", "1")})};
  for (int i = 0; i < 9; ++i)
    nodes.push_back(node(std::string(1, static_cast<char>('a' + i)), {ok("cores", "2")}));
  EXPECT_NE(table_of(merge(nodes)).find("a, b, c, d and 5 more: 2\n"), std::string::npos);
}

TEST(DoctorNodes, OfOneMachineAreNamedByTheirPe) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of({{"left", 0}, {"right", 4}}), (Names{"left", "right"}));
  EXPECT_EQ(names_of({{"vm", 0}, {"right", 1}, {"vm", 2}}),
            (Names{"vm (PE 0)", "right", "vm (PE 2)"}));
}

NodeChecks after_travel(const Checks& checks) {
  const auto report = std::make_unique<NodeReport>();
  put(*report, node("left", checks));
  return get(*report);
}

TEST(DoctorNodes, ChecksTravel) {
  const Checks checks{ok("cores", "8"), warn("memory", "a\tb \"c\"", "fix it"), bad("x", "", "y")};
  EXPECT_EQ(after_travel(checks).node, "left");
  EXPECT_EQ(json_of(after_travel(checks).checks), json_of(checks));
  EXPECT_TRUE(after_travel({}).checks.empty());
}

TEST(DoctorNodes, ChecksThatAreTooLongAreCutAndKeepTheirVerdicts) {
  const Checks checks(40, bad("cores", std::string(5000, 's'), std::string(5000, 'm')));
  const Checks back = after_travel(checks).checks;
  ASSERT_EQ(back.size(), checks.size());
  EXPECT_TRUE(std::all_of(back.begin(), back.end(),
                          [](const Check& one) { return one.verdict == Verdict::bad; }));
}

// PE 1's memory follows PE 0's. PE 0 makes the calls.
struct TwoPes {
  char memory[2][2][kTrialBytes];  // of a PE: host, device
  bool is_mapped = true;
  const void* corrupted = nullptr;  // data that arrives at PE 1 there is wrong
} pes;

void* at(const void* own, int pe) {
  const auto offset = static_cast<const char*>(own) - pes.memory[0][0];
  return pes.memory[pe][0] + offset;
}

Library library() {
  Library made{};
  made.ptr = [](const void* own, int pe) { return pes.is_mapped ? at(own, pe) : nullptr; };
  made.putmem = [](void* dest, const void* source, std::size_t bytes, int pe) {
    std::memcpy(at(dest, pe), source, bytes);
    if (pes.corrupted == dest) *static_cast<char*>(at(dest, pe)) ^= 1;
  };
  made.getmem = [](void* dest, const void* source, std::size_t bytes, int pe) {
    std::memcpy(dest, at(source, pe), bytes);
  };
  made.quiet = [] {};
  made.barrier_all = [] {};
  return made;
}

class DoctorTrial : public testing::Test {
 protected:
  DoctorTrial() { pes = {}; }

  void expect(const std::string& name, Verdict verdict, const std::string& says,
              const std::string& target = "cpu") const {
    for (const Check& one :
         try_job(library(), places_, memory_, {target, "UCX 9: tcp over eth0"})) {
      if (one.name != name) continue;
      EXPECT_EQ(word_of(one.verdict), word_of(verdict)) << one.says;
      EXPECT_NE(one.says.find(says), std::string::npos) << one.says;
      EXPECT_EQ(one.fix.empty(), verdict == Verdict::ok);
      return;
    }
    ADD_FAILURE() << "nothing is said of " << name;
  }

  const Places one_node_{0, 2, 0, 1, {0}}, two_nodes_{0, 2, 0, 0, {0, 1}};
  Places places_ = one_node_;
  TrialMemory memory_{pes.memory[0][0], pes.memory[0][1]};
};

TEST_F(DoctorTrial, FindsNothingWrongWithAWellJob) {
  expect("start", Verdict::ok, "2 PEs on 1 node");
  expect("heap", Verdict::ok, "another PE of the node arrives by shared memory");
  expect("device memory", Verdict::ok, "kernels run on processors");
  places_ = two_nodes_;
  expect("start", Verdict::ok, "2 PEs on 2 nodes");
  expect("heap", Verdict::ok, "a put to itself arrives");
  expect("to other nodes", Verdict::ok, "puts to 1 node arrive");
  expect("to other nodes", Verdict::ok, "(from PE 1), by UCX 9: tcp over eth0");
}

TEST_F(DoctorTrial, SaysNothingOfOtherNodesWhereThereIsOne) {
  for (const Check& one : try_job(library(), places_, memory_, {"cpu", ""}))
    EXPECT_NE(one.name, "to other nodes");
}

TEST_F(DoctorTrial, TellsOfANeighbourWhoseMemoryIsNotMapped) {
  pes.is_mapped = false;
  expect("heap", Verdict::bad, "PE 0 does not reach the memory of PE 1 of its node");
}

TEST_F(DoctorTrial, TellsOfPutsThatArriveWrong) {
  pes.corrupted = memory_.host;
  expect("heap", Verdict::bad, "a put from PE 0 to PE 1 of its node arrives with wrong data");
  places_ = two_nodes_;
  expect("to other nodes", Verdict::bad, "a put to memory of PE 1 arrives with wrong data");
  pes.corrupted = memory_.device;
  expect("to other nodes", Verdict::bad, "a put to device memory of PE 1 arrives with wrong data");
  places_ = one_node_;
  expect("device memory", Verdict::bad, "a put from PE 0 to PE 1 arrives with wrong data");
}

TEST_F(DoctorTrial, WarnsOfAJobWithoutADeviceHeap) {
  memory_.device = nullptr;
  expect("device memory", Verdict::warn, "no device heap", "cuda");
}

TEST_F(DoctorTrial, IsForTheFirstPeOfANode) {
  places_ = {1, 2, 0, 0, {0}};
  EXPECT_TRUE(try_job(library(), places_, memory_, {"cpu", ""}).empty());
}

}  // namespace
}  // namespace meshmem::doctor
