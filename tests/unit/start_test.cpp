// SPDX-License-Identifier: Apache-2.0
//
// The parts of start-up by themselves: the launchers' variables, static data, the arena. Tests of
// two processes run in children made by fork(), which answer by their exit status. Static data is
// moved in a child too, so that the test program keeps its own.
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>

#include "base/machine/file_handover.hpp"
#include "base/machine/standard_descriptors.hpp"
#include "base/settings/foreign_variables.hpp"
#include "child.hpp"
#include "core/team_area.hpp"
#include "memory/arena.hpp"
#include "memory/static_data.hpp"

namespace meshmem {
namespace {

// ---- launchers

using Variables = std::map<std::string, std::string>;

std::optional<std::string> objection(const Variables& variables) {
  return launcher_without_server([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(LauncherVariables, AProcessByItselfStandsAlone) {
  EXPECT_EQ(objection({}), std::nullopt);
  EXPECT_EQ(objection({{"PATH", "/bin"}, {"HOME", "/"}}), std::nullopt);
}

TEST(LauncherVariables, OneOfSeveralIsToldByWhichVariable) {
  const Variables cases[] = {{{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}},
                             {{"PMI_ID", "3"}, {"PMI_SIZE", "4"}},
                             {{"PMIX_RANK", "1"}, {"PMIX_SIZE", "4"}},
                             {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}},
                             {{"OMPI_COMM_WORLD_SIZE", "4"}},
                             {{"MV2_COMM_WORLD_RANK", "2"}, {"MV2_COMM_WORLD_SIZE", "4"}},
                             {{"PALS_RANKID", "2"}, {"PALS_NRANKS", "4"}},
                             {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}},
                             {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}},
                             {{"MESHMEM_OSHRUN_PES", "4"}}};
  for (const Variables& variables : cases) {
    const auto said = objection(variables);
    ASSERT_TRUE(said) << variables.begin()->first;
    EXPECT_NE(said->find("=4 says that this is one of 4 processes"), std::string::npos) << *said;
  }
}

TEST(LauncherVariables, OshrunsNumberMustBeTheServers) {
  const auto contradiction = [](int n_pes, const char* text) {
    return contradiction_of_oshrun(n_pes, [&](const char*) { return text; });
  };
  EXPECT_EQ(contradiction(4, "4"), std::nullopt);
  EXPECT_EQ(contradiction(4, nullptr), std::nullopt);
  EXPECT_EQ(contradiction(4, "some"), std::nullopt);
  for (const auto& [n_pes, text] : {std::pair(1, "4"), std::pair(4, "1"), std::pair(5, "4")})
    EXPECT_EQ(contradiction(n_pes, text).value_or("").find("MESHMEM_OSHRUN_PES="), 0u) << text;
}

TEST(LauncherVariables, TheNumberOfProcessesIsThatOfTheInnermostLauncherThatCanBeAsked) {
  constexpr const char* kPmix[] = {"PMIX_SERVER_URI2=somewhere", nullptr};
  constexpr const char* kNothing[] = {nullptr};
  const auto processes = [](const char* const* entries, const Variables& variables) {
    return processes_of_launcher(entries, [&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_EQ(processes(kPmix, {{"OMPI_COMM_WORLD_SIZE", "4"}, {"SLURM_STEP_NUM_TASKS", "2"}}), 4);
  EXPECT_EQ(processes(kPmix, {{"MESHMEM_OSHRUN_PES", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), 3);
  EXPECT_EQ(processes(kPmix, {{"SLURM_STEP_NUM_TASKS", "2"}}), 2);
  EXPECT_EQ(processes(kPmix, {}), 0);
  EXPECT_EQ(processes(kNothing, {{"PMI_FD", "5"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "6"}}), 6);
  EXPECT_EQ(processes(kNothing, {{"PMI_RANK", "1"}, {"PMI_SIZE", "6"}}), 0) << "no connection";
  EXPECT_EQ(processes(kNothing, {{"SLURM_STEP_NUM_TASKS", "2"}}), 0) << "it cannot be asked";
}

TEST(LauncherVariables, ALauncherOfOneProcessIsNoObjection) {
  EXPECT_EQ(objection({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), std::nullopt);
  EXPECT_EQ(objection({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}),
            std::nullopt);
  EXPECT_EQ(objection({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}), std::nullopt);
}

TEST(LauncherVariables, AStepOfOneProcessInALargerAllocationStandsAlone) {
  EXPECT_EQ(
      objection({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "16"}}),
      std::nullopt);
  // An allocation's shell has the size, but is no task.
  EXPECT_EQ(objection({{"SLURM_NTASKS", "16"}}), std::nullopt);
}

TEST(LauncherVariables, ARankWithoutASizeCountsIfItCannotBeAlone) {
  EXPECT_EQ(objection({{"PMI_RANK", "0"}}), std::nullopt);
  EXPECT_EQ(objection({{"PMI_RANK", "2"}}), "PMI_RANK=2 says that a launcher started this process");
  EXPECT_EQ(objection({{"PMIX_RANK", "0"}}),
            "PMIX_RANK=0 says that a launcher started this process");
}

TEST(LauncherVariables, APortForPmiIsALauncherThatNobodyAnswers) {
  EXPECT_EQ(objection({{"PMI_PORT", "a:99"}, {"PMI_ID", "0"}}),
            "PMI_PORT=a:99 says that a launcher started this process");
}

TEST(LauncherVariables, AConnectionForPmiNeedsItsNumbers) {
  const auto names = [](const Variables& variables) {
    return names_pmi_connection([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_TRUE(names({{"PMI_FD", "6"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}));
  EXPECT_FALSE(names({{"PMI_FD", "6"}, {"PMI_RANK", "0"}}));
  EXPECT_FALSE(names({{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}));
}

TEST(LauncherVariables, OnlyALauncherNamesThePmixServer) {
  const char* const launched[] = {"PATH=/bin", "PMIX_SERVER_URI41=pmix-server.1;tcp4://127.0.0.1:9",
                                  nullptr};
  const char* const alone[] = {"PATH=/bin", "PMIX_SYSTEM_TMPDIR=/tmp", "XPMIX_SERVER_URI4=x",
                               nullptr};
  EXPECT_TRUE(names_pmix_server(launched));
  EXPECT_FALSE(names_pmix_server(alone));
  EXPECT_FALSE(names_pmix_server(nullptr));
}

// ---- what PMIx prints

std::string of_this_process(const std::string& complaint) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::ostringstream line;
  line << '[' << host << ':' << std::setfill('0') << std::setw(5) << getpid() << "] " << complaint;
  return line.str();
}

TEST(PmixText, IsToldFromThatOfOthers) {
  const std::string rule(74, '-');
  EXPECT_EQ(without_pmix(""), "");
  EXPECT_EQ(without_pmix("a\n\nb"), "a\n\nb");
  EXPECT_EQ(without_pmix("a\n" + of_this_process("PMIX ERROR: ERROR\n    dlopen error\n") + "b\n"),
            "a\nb\n");
  EXPECT_EQ(without_pmix(rule + "\nPMIx could not\n\ndo it\n" + rule + "\n    c\n"), "    c\n");
  EXPECT_EQ(without_pmix("[warn] epoll_create: no\n[other:1] text\n"), "[other:1] text\n");
}

TEST(CapturedOutput, TakesWhatIsWrittenAndGivesTheDescriptorBack) {
  EXPECT_EQ(status_of_child([] {
              int ends[2];
              if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return 1;
              CapturedOutput captured(STDERR_FILENO);
              const std::string flood(1 << 20, 'x');  // nobody reads: it must not block
              if (write(STDERR_FILENO, "inside", 6) != 6) return 2;
              if (write(STDERR_FILENO, flood.data(), flood.size()) < 0) return 3;
              if (captured.end().substr(0, 7) != "insidex" || !captured.end().empty()) return 4;
              char text[16] = "";
              if (write(STDERR_FILENO, "outside", 7) != 7 || read(ends[0], text, 16) != 7) return 5;
              return text == std::string("outside") ? 0 : 6;
            }),
            0);
}

// ---- static data

int global = 41;
int zeros[10'000];
const char* const kRelocated[] = {"one",
                                  "two"};  // in the RELRO part of an executable that can be moved
const int kConstant = 5;
thread_local int of_thread = 6;

template <typename T>
bool contains(const StaticData& data, const T& object) {
  const auto begin = reinterpret_cast<std::uintptr_t>(&object);
  return std::any_of(data.pieces.begin(), data.pieces.end(), [&](const PageRange& piece) {
    return begin >= piece.begin && begin + sizeof object <= piece.end;
  });
}

int& static_local() {
  static int counter = 7;
  return counter;
}

TEST(StaticData, HoldsGlobalsZerosAndStaticLocals) {
  const StaticData data = find_static_data();
  EXPECT_TRUE(contains(data, global));
  EXPECT_TRUE(contains(data, zeros));
  EXPECT_TRUE(contains(data, static_local()));
}

TEST(StaticData, HoldsNothingThatIsConstantOrOfAThread) {
  const StaticData data = find_static_data();
  const int on_stack = 1;
  EXPECT_FALSE(contains(data, kConstant));
  EXPECT_FALSE(contains(data, kRelocated));
  EXPECT_FALSE(contains(data, _DYNAMIC[0]));
  EXPECT_FALSE(contains(data, of_thread));
  EXPECT_FALSE(contains(data, on_stack));
}

TEST(StaticData, IsMadeOfWholePagesInOrder) {
  const StaticData data = find_static_data();
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  ASSERT_FALSE(data.pieces.empty());
  std::uintptr_t end = data.begin;
  for (const PageRange& piece : data.pieces) {
    EXPECT_GE(piece.begin, end);
    EXPECT_GT(piece.end, piece.begin);
    EXPECT_EQ(piece.begin % page, 0u);
    EXPECT_EQ(piece.end % page, 0u);
    end = piece.end;
  }
  EXPECT_EQ(data.begin, data.pieces.front().begin);
  EXPECT_EQ(data.end, end);
}

TEST(StaticData, HasTheSameFingerprintInEveryProcess) {
  const std::uint64_t fingerprint = find_static_data().fingerprint;
  EXPECT_NE(fingerprint, 0u);
  EXPECT_EQ(status_of_child([&] { return find_static_data().fingerprint == fingerprint ? 0 : 1; }),
            0);
}

// In a process of its own: moves everything, then a child of that process stores.
int move_and_share() {
  constexpr std::size_t kOffset = 8192;  // in the file
  const StaticData data = find_static_data();
  const int file = memfd_create("statics", MFD_CLOEXEC);
  if (ftruncate(file, static_cast<off_t>(kOffset + data.bytes())) != 0) return 10;
  void* mapped = mmap(nullptr, data.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, kOffset);
  if (mapped == MAP_FAILED) return 11;
  auto* copy = static_cast<std::byte*>(mapped);
  volatile int* const address = &global;
  *address = 42;
  zeros[9'999] = 43;
  ++static_local();
  move_to_shared_memory(data, file, kOffset, copy);
  if (address != &global || *address != 42) return 12;
  if (zeros[0] != 0 || zeros[9'999] != 43 || static_local() != 8) return 13;
  if (status_of_child([&] {
        *address = 44;
        zeros[5] = 45;
        return 0;
      }) != 0)
    return 14;
  if (*address != 44 || const_cast<volatile int&>(zeros[5]) != 45) return 15;
  // The value that a peer sees that has only the file mapped.
  int elsewhere = 0;
  std::copy_n(copy + (reinterpret_cast<std::uintptr_t>(&global) - data.begin), sizeof elsewhere,
              reinterpret_cast<std::byte*>(&elsewhere));
  return elsewhere == 44 ? 0 : 16;
}

TEST(StaticData, KeepsAddressesAndValuesAndIsSharedOnceMoved) {
  EXPECT_EQ(status_of_child(move_and_share), 0);
  EXPECT_EQ(global, 41);  // the child had its own
}

// ---- the arena

void expect_good_layout(const ArenaLayout& layout) {
  const int n = static_cast<int>(layout.n_pes);
  EXPECT_GE(layout.region(0), sizeof(ArenaHeader) + layout.n_pes * sizeof(DirectoryEntry));
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(layout.region(i) % kRegionAlignment, 0u);
    EXPECT_EQ(layout.heap(i) % kRegionAlignment, 0u);
    EXPECT_EQ(layout.statics(i) % kLargestPage, 0u);  // mmap maps it over the variables
    EXPECT_GE(layout.statics(i), layout.region(i) + layout.control_bytes);
    EXPECT_GE(layout.heap(i), layout.statics(i) + layout.static_bytes);
    const std::size_t next = i + 1 < n ? layout.region(i + 1) : layout.total();
    EXPECT_GE(next, layout.heap(i) + layout.heap_bytes);
  }
}

TEST(ArenaLayout, KeepsRegionsApartAndAligned) {
  EXPECT_EQ(sizeof(TeamArea) % 4096, 0u);
  for (std::size_t n = 1; n <= 64; ++n) {
    for (const std::size_t control :
         {std::size_t{0}, sizeof(TeamArea), kMaxTeams * sizeof(TeamArea)}) {
      for (const std::size_t statics : {0ul, 4096ul, 3 * 4096ul, 1ul << 33}) {
        for (const std::size_t heap : {0ul, 1ul, 12'345ul, (2ul << 20) + 1, 1ul << 38})
          expect_good_layout({n, control, statics, heap});
      }
    }
  }
}

TEST(Arena, IsSharedWithWhoeverHasTheTicket) {
  constexpr std::size_t kHeap = std::size_t{64} << 20;
  const ArenaLayout layout{2, sizeof(TeamArea), 4096, kHeap};
  Arena arena = Arena::create(layout);
  EXPECT_GE(alignment_of(arena.base() + layout.heap(0)), kHeap);
  const std::string ticket = arena.ticket();
  EXPECT_EQ(Arena::layout_of(ticket), layout);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.base()) % kRegionAlignment, 0u);
  EXPECT_EQ(status_of_child([&] {
              const Arena mine = Arena::attach(ticket, 1);
              if (alignment_of(mine.base() + layout.heap(1)) < kHeap) return 1;
              mine.base()[layout.heap(1) + layout.heap_bytes - 1] = std::byte{77};
              mine.directory()[1].pe = 77;
              return 0;
            }),
            0);
  end_offer();
  EXPECT_EQ(arena.base()[layout.heap(1) + layout.heap_bytes - 1], std::byte{77});
  EXPECT_EQ(arena.directory()[1].pe, 77);
  arena.close_file();
  EXPECT_EQ(arena.file(), -1);
  arena.base()[layout.heap(0)] = std::byte{1};  // the mapping outlives the file
}

}  // namespace
}  // namespace meshmem
