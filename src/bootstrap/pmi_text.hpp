// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the texts of PMI-1, whose lines are words of NAME=VALUE: answers, values of any
// bytes, and the text that says which PEs share a node.
// Invariant: the functions are pure, and check all that a launcher sends. Called by pmi_client.cpp.
#ifndef MESHMEM_BOOTSTRAP_PMI_TEXT_HPP_
#define MESHMEM_BOOTSTRAP_PMI_TEXT_HPP_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meshmem {

// The value of `name` in "cmd=maxes rc=0 keylen_max=64", or nullopt.
std::optional<std::string_view> pmi_word(std::string_view line, std::string_view name);
std::optional<int> pmi_number(std::string_view line, std::string_view name);
// nullopt if the text is not a number from its beginning to its end.
std::optional<int> as_number(std::string_view text);

// Encodes any bytes as letters, digits, '-' and '_', which no launcher takes for the end of a
// value; and decodes them. nullopt: `letters` is no such encoding.
std::string as_pmi_letters(std::string_view bytes);
std::optional<std::string> from_pmi_letters(std::string_view letters);

// Encodes bytes as one or more values of at most `most` letters each. The first one begins with the
// number of values and a '.'.
std::vector<std::string> as_pmi_values(std::string_view bytes, std::size_t most);

// The node of each PE, from a PMI_process_mapping. "(vector,(0,2,4))" means that two nodes, from
// node 0 on, have four PEs each, and so on from the beginning until all PEs have a node. nullopt:
// the text is something else.
std::optional<std::vector<int>> nodes_of_mapping(std::string_view text, int n_pes);

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_PMI_TEXT_HPP_
