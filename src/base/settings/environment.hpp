// SPDX-License-Identifier: Apache-2.0
//
// The environment variables of the library: their values, their parser and their documentation, all
// read from environment_table.hpp.
// Invariant: a value that cannot be understood is an error, never silently a default; no locale
// matters. Called once by start-up, and by meshmem-info.
#ifndef MESHMEM_BASE_SETTINGS_ENVIRONMENT_HPP_
#define MESHMEM_BASE_SETTINGS_ENVIRONMENT_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings/foreign_variables.hpp"
#include "device/collectives/algorithms.hpp"

namespace meshmem {

using device::ReduceAlgorithm;

// The value of MESHMEM_REDUCE_ALGORITHM: an algorithm for all sizes, or a rule that chooses one by
// size.
struct ReduceRule {
  enum Kind {
    automatic,  // by the library's tables
    classic,    // recursive doubling, then the ring
    one         // `algorithm`
  };
  Kind kind = automatic;
  ReduceAlgorithm algorithm{};

  constexpr ReduceRule(Kind by = automatic) : kind(by) {}
  constexpr ReduceRule(ReduceAlgorithm forced) : kind(one), algorithm(forced) {}
  bool operator==(const ReduceRule&) const = default;
};

// The largest values of MESHMEM_REDUCE_BLOCKS and MESHMEM_CPU_DEVICES.
constexpr unsigned kMostReduceBlocks = 128;
constexpr unsigned kMostCpuDevices = 64;
// More bytes than a process can map on any machine. 64 bits still count the heaps of thousands of
// PEs.
constexpr std::size_t kMostHeapBytes = std::size_t{256} << 40;

// The mistakes that MESHMEM_CHECK looks for, a bit each. calls: calls that differ, and accesses
// that leave a block. races: accesses that race. polled: these also in programs that poll.
enum class Check : unsigned { off = 0, calls = 1, races = 2, polled = 4 };
constexpr Check operator|(Check one, Check other) {
  return static_cast<Check>(static_cast<unsigned>(one) | static_cast<unsigned>(other));
}
constexpr bool has(Check check, Check wanted) { return (check | wanted) == check; }
enum class AbortBy { exit, core };                     // how the library ends a job on an error
enum class HeapKind { host, device };                  // where shmem_malloc takes memory from
enum class ProxyKind { automatic, off };               // how kernels reach PEs of other machines
enum class NetworkKind { automatic, tcp, ucx, none };  // how PEs of other machines are reached

// The ports that a PE may listen on, from first to last. Zeros allow any port.
struct PortRange {
  std::uint16_t first = 0, last = 0;
  bool operator==(const PortRange&) const = default;
};

std::string name_of(const ReduceRule& rule);  // as MESHMEM_REDUCE_ALGORITHM spells it

// The types of values, by the name of their kind in the table. An optional one tells "unset" from
// every value, and so do an empty text and a range of zeros.
namespace value_of {
using presence = bool;  // "any value": SHMEM_INFO=0 and SHMEM_INFO= are both true
using boolean = bool;
using heap_size = std::size_t;
using optional_heap_size = std::optional<std::size_t>;
using optional_size = std::optional<std::size_t>;
using seconds = double;
using optional_seconds = std::optional<double>;
using optional_count = std::optional<unsigned>;
using block_count = std::optional<unsigned>;
using thread_count = std::optional<unsigned>;
using device_count = std::optional<unsigned>;
using number = std::uint64_t;
using reduce_algorithm = ReduceRule;
using check = Check;
using abort_by = AbortBy;
using heap_kind = HeapKind;
using network_kind = NetworkKind;
using proxy_kind = ProxyKind;
using network_device = std::string;
using port_range = PortRange;
using file = std::string;
}  // namespace value_of

struct Environment {
#define X(name, member, kind, fallback, text) value_of::kind member = fallback;
#include "base/settings/environment_table.hpp"
#undef X
};

// Fills `out`; variables that are not set keep what `out` has. On error returns one line (without
// "meshmem: ") that names the variable, its value and what is accepted. Then `out` is unchanged.
std::optional<std::string> parse_environment(Environment& out, const GetEnv& get_env,
                                             NamesOf names = NamesOf::openshmem);

// "4096", "1.5g", ".5m", "20kk" (= 20k); rounded up to whole bytes. nullopt: not a size, or too
// large.
std::optional<std::size_t> parse_size(std::string_view text);

// A row of the table as text.
struct Variable {
  std::string name;
  std::string alias;  // the old SMA_ name, or empty
  std::string accepted;
  std::string default_value;
  std::string_view text;
  bool is_for_tests;  // of meshmem itself
};
std::vector<Variable> environment_variables();

// The names in `entries` (NAME=VALUE, ended by a null pointer) that begin with MESHMEM_ but mean
// nothing, and those that begin with SHMEM_ where MESHMEM_ is right.
std::vector<std::string> unknown_variables(const char* const* entries);
// Returns the variable that such a name is perhaps meant to be, or an empty text.
std::string variable_meant_by(std::string_view unknown);

std::string environment_help();      // what SHMEM_INFO prints
std::string environment_markdown();  // docs/environment.md

}  // namespace meshmem

#endif  // MESHMEM_BASE_SETTINGS_ENVIRONMENT_HPP_
