// SPDX-License-Identifier: Apache-2.0
//
// Sorts the words of a compiler's command line by what they are for, and makes the two commands.
// Invariant: a source is rewritten only if -x c++ is in force for it.
#include "launches/command.hpp"

#include <filesystem>
#include <string_view>
#include <utility>

namespace meshmem::launches {
namespace {

bool is_among(std::string_view words, std::string_view word) {
  std::string between = " ";
  between.append(word).append(" ");
  return words.find(between) != std::string_view::npos;
}

// Options whose value is the next word.
constexpr std::string_view kTakeValue =
    " -o -I -L -D -U -x -l -u -e -z -T -A -B -MF -MT -MQ -include -include-pch -imacros -isystem "
    "-iquote -idirafter -iprefix -iwithprefix -iwithprefixbefore -isysroot --sysroot -Xlinker "
    "-Xclang -Xassembler -Xpreprocessor --param -mllvm -target -dumpbase -dumpbase-ext -dumpdir "
    "-aux-info -wrapper -arch ";
constexpr std::string_view kOfLinking =
    " -c -S -fsyntax-only -shared -static -rdynamic -pie -no-pie -Xlinker -T -u -e -z ";

bool is_of_linking(std::string_view word) {
  return is_among(kOfLinking, word) || word.starts_with("-l") || word.starts_with("-L") ||
         word.starts_with("-Wl,") || word.starts_with("-static-") || word.starts_with("-fuse-ld=");
}

bool is_of_preprocessing(std::string_view word) {
  return (word.starts_with("-i") && word != "-isysroot") || word.starts_with("-I") ||
         word.starts_with("-D") || word.starts_with("-U") || word.starts_with("-Wp,");
}

// Whether a source is in another language than C++, by its name.
bool is_other_source(std::string_view word) {
  const std::size_t dot = word.rfind('.');
  return dot != std::string_view::npos && is_among(" .c .S .sx .m ", word.substr(dot));
}

bool is_of_dependencies(std::string_view word) {
  return word == "-MD" || word == "-MMD" || word == "-MP" || word == "-MG" ||
         word.starts_with("-MF") || word.starts_with("-MT") || word.starts_with("-MQ");
}

}  // namespace

Command::Command(Words words) : words_(std::move(words)), roles_(words_.size(), Role::kOption) {
  std::string language;
  bool has_options = false, is_left_alone = false;  // words before the options are the compiler's
  for (std::size_t at = 0; at < words_.size(); ++at) {
    const std::string& word = words_[at];
    Role& role = roles_[at];
    if (word.starts_with("@")) continue;  // a file of words, which both commands read
    if (!word.starts_with("-") || word == "-") {
      is_left_alone = is_left_alone || word == "-";
      if (has_options) role = Role::kInput;
      if (language == "c++") sources_.push_back(at);
      continue;
    }
    has_options = true;
    is_left_alone =
        is_left_alone || word == "-E" || word == "-M" || word == "-MM" || word == "-###";
    stops_at_object_ = stops_at_object_ || word == "-c";
    wants_dependencies_ = wants_dependencies_ || word == "-MD" || word == "-MMD";
    names_their_file_ = names_their_file_ || word.starts_with("-MF");
    names_their_target_ = names_their_target_ || word.starts_with("-MT") || word.starts_with("-MQ");
    if (word.starts_with("-x")) language = word.substr(2);
    if (is_of_linking(word)) role = Role::kLinking;
    if (is_of_preprocessing(word)) role = Role::kPreprocessing;
    if (is_of_dependencies(word)) role = Role::kDependencies;
    const bool is_output = word.starts_with("-o");
    if (is_output) {
      role = Role::kOutput;
      output_ = word.substr(2);
    }
    if (!is_among(kTakeValue, word) || at + 1 == words_.size()) continue;
    roles_[at + 1] = role == Role::kOption ? Role::kValue : role;
    ++at;
    if (word == "-x") language = words_[at];
    if (is_output) output_ = words_[at];
  }
  if (is_left_alone) sources_.clear();
}

std::string Command::dependencies_of(std::size_t source) const {
  std::filesystem::path file = output_;
  if (!stops_at_object_ || output_.empty()) file = std::filesystem::path(words_[source]).filename();
  return file.replace_extension(".d").string();
}

Words Command::preprocess(std::size_t source) const {
  Words result;
  for (std::size_t at = 0; at < words_.size(); ++at) {
    const Role role = roles_[at];
    const bool is_other = role == Role::kOutput || role == Role::kLinking || role == Role::kInput;
    if (!is_other || at == source) result.push_back(words_[at]);
  }
  result.push_back("-E");
  if (!wants_dependencies_) return result;
  const std::string file = dependencies_of(source);
  if (!names_their_file_) result.insert(result.end(), {"-MF", file});
  const std::string object = stops_at_object_ && !output_.empty()
                                 ? output_
                                 : std::filesystem::path(file).replace_extension(".o").string();
  if (!names_their_target_) result.insert(result.end(), {"-MT", object});
  return result;
}

bool Command::has_input_of_language(std::size_t behind) const {
  for (std::size_t at = behind + 1; at < words_.size(); ++at) {
    if (roles_[at] == Role::kInput) return true;
    if (roles_[at] == Role::kOption && words_[at].starts_with("-x")) return false;
  }
  return false;
}

// Leaves out preprocessing options that are not needed: clang warns of unused options.
Words Command::compile(const std::map<std::size_t, std::string>& preprocessed) const {
  bool has_originals = preprocessed.size() < sources_.size();
  for (std::size_t at = 0; at < words_.size(); ++at)
    has_originals |= roles_[at] == Role::kInput && is_other_source(words_[at]);
  Words result;
  for (std::size_t at = 0; at < words_.size(); ++at) {
    const auto found = preprocessed.find(at);
    if (found != preprocessed.end()) {
      result.insert(result.end(), {"-x", "c++-cpp-output", found->second});
      if (has_input_of_language(at)) result.insert(result.end(), {"-x", "c++"});
    } else if (roles_[at] != Role::kDependencies &&
               (roles_[at] != Role::kPreprocessing || has_originals)) {
      result.push_back(words_[at]);
    }
  }
  return result;
}

}  // namespace meshmem::launches
