// SPDX-License-Identifier: Apache-2.0
//
// The words of PMI-1, in which a PE and its launcher speak by lines of NAME=VALUE. These are
// answers, values that are any bytes, and the text that says which PEs share a node.
// Invariant: pure; what a launcher says is checked, whatever it is. Called by pmi_client.cpp.
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

// Any bytes as letters, digits, '-' and '_', which no launcher takes for the end of a value.
// from_pmi_letters: nullopt if that is not what they are.
std::string as_pmi_letters(std::string_view bytes);
std::optional<std::string> from_pmi_letters(std::string_view letters);

// The values, of at most `most` letters each, that carry the bytes: the first one begins with their
// number and a '.'.
std::vector<std::string> as_pmi_values(std::string_view bytes, std::size_t most);

// The node of each PE by PMI_process_mapping: "(vector,(0,2,4))" says that two nodes, from node 0
// on, have four PEs each, over and over until all PEs have a node. nullopt: it says something else.
std::optional<std::vector<int>> nodes_of_mapping(std::string_view text, int n_pes);

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_PMI_TEXT_HPP_
