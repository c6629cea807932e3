// SPDX-License-Identifier: Apache-2.0
//
// Counts the words of text files. Each PE reads a share of the bytes, and all PEs fill one hash
// table that is spread over their symmetric heaps, with remote atomics.
// Run it:
//   oshc++ 05_wordcount.cpp arguments.cpp -o wordcount && oshrun -n 4 ./wordcount [FILE...]
//
// A word is a run of the letters A to Z and a to z, of any length, between other characters. It is
// counted in lower case. Invariant: the counts do not depend on the number of PEs.

#include <shmem.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "arguments.hpp"

namespace {

using std::uint64_t;

constexpr char kDefaultFolder[] = "/usr/share/common-licenses";

// ---------------------------------------------------------------- 1. Reading a share of the bytes

struct Input {
  std::string path;
  uint64_t bytes;
};

bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string cannot_read(const std::string& path, const std::string& why) {
  return "cannot read '" + path + "': " + why;
}

// The regular files of a folder, sorted by name. A link would give another file's text again.
std::vector<std::string> list_files(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error) && !entry.is_symlink(error)) paths.push_back(entry.path());
  }
  examples::agree(paths.empty() ? "no files in '" + folder + "'; name some to count" : "");
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<Input> measure(const std::vector<std::string>& paths) {
  std::vector<Input> inputs;
  std::string problem;
  for (const std::string& path : paths) {
    std::error_code error;
    const uint64_t bytes = std::filesystem::file_size(path, error);
    if (error && problem.empty()) problem = cannot_read(path, error.message());
    inputs.push_back({path, bytes});
  }
  examples::agree(problem);
  return inputs;
}

using Counts = std::unordered_map<std::string, uint64_t>;

// Counts the words of one file that begin at one of the bytes [begin, end). The last of them may go
// on after `end`. A word that begins before `begin` is counted by the PE that has that byte.
void count_words(std::ifstream& file, uint64_t begin, uint64_t end, Counts& counts) {
  bool before = false;  // is the byte before `position` a letter?
  if (begin > 0) {
    file.seekg(static_cast<std::streamoff>(begin - 1));
    before = is_letter(file.get());
  }
  bool mine = false;  // are we in a word that began in our share?
  std::string word;
  for (uint64_t position = begin; position < end || mine; ++position) {
    const int c = file.get();
    const bool letter = is_letter(c);  // false for the end of the file
    if (letter && !before) mine = true;
    if (letter && mine) word += static_cast<char>(std::tolower(c));
    if (!letter && mine) {
      ++counts[word];
      word.clear();
      mine = false;
    }
    if (c == EOF) break;
    before = letter;
  }
}

// Cuts all files, one after the other, into as many equal shares of bytes as there are PEs, and
// counts this PE's.
Counts count_my_share(const std::vector<Input>& inputs) {
  uint64_t total = 0;
  for (const Input& input : inputs) total += input.bytes;
  const uint64_t n = static_cast<uint64_t>(shmem_n_pes());
  const uint64_t me = static_cast<uint64_t>(shmem_my_pe());
  const uint64_t share_begin = total / n * me + std::min(me, total % n);
  const uint64_t share_end = share_begin + total / n + (me < total % n ? 1 : 0);

  Counts counts;
  std::string problem;
  uint64_t file_begin = 0;
  for (const Input& input : inputs) {
    const uint64_t begin = std::max(share_begin, file_begin);
    const uint64_t end = std::min(share_end, file_begin + input.bytes);
    if (begin < end) {
      std::ifstream file(input.path, std::ios::binary);
      if (file) count_words(file, begin - file_begin, end - file_begin, counts);
      if (!file.is_open() || file.bad()) problem = cannot_read(input.path, std::strerror(errno));
    }
    file_begin += input.bytes;
  }
  examples::agree(problem);
  return counts;
}

// ------------------------------------------------------------------------ 2. The distributed table

// An array that is spread over the PEs: each has `part` elements of it. Index i counts through all.
template <typename T>
struct Spread {
  T* mine;  // this PE's part; symmetric, so it also names the other PEs' parts
  uint64_t part;

  int pe(uint64_t i) const { return static_cast<int>(i / part); }
  T* at(uint64_t i) const { return mine + i % part; }
  uint64_t first_of(int pe) const { return static_cast<uint64_t>(pe) * part; }
};

template <typename T>
Spread<T> spread(uint64_t part) {
  return {examples::allocate<T>(part), part};
}

struct Slot {
  uint64_t word;   // 1 + the index of the word's text; 0 while the slot is free
  uint64_t count;  // how often it was seen
};

struct Table {
  Spread<Slot> slots;
  Spread<char> texts;  // each word is 8 bytes of length, then its letters
};

// Combines one value of each PE by a sum or a maximum; all PEs get the result.
uint64_t combine(decltype(shmem_uint64_sum_reduce)* reduce, uint64_t value) {
  static uint64_t mine;
  static uint64_t result;
  shmem_sync_all();  // all have read the result of the call before
  mine = value;
  reduce(SHMEM_TEAM_WORLD, &result, &mine, 1);
  return result;
}

// A table that cannot fill up: at least two slots for each word that any PE found.
Table make_table(const Counts& counts) {
  uint64_t text_bytes = 0;
  for (const auto& [word, count] : counts) text_bytes += sizeof(uint64_t) + word.size();
  const uint64_t words = combine(shmem_uint64_sum_reduce, counts.size());
  const uint64_t most_text = combine(shmem_uint64_max_reduce, text_bytes);
  const uint64_t slots_of_a_pe = 2 * words / static_cast<uint64_t>(shmem_n_pes()) + 1;
  return {spread<Slot>(slots_of_a_pe), spread<char>(std::max<uint64_t>(most_text, 1))};
}

std::string read_text(const Table& table, uint64_t text) {
  uint64_t length = 0;
  shmem_getmem(&length, table.texts.at(text), sizeof length, table.texts.pe(text));
  std::string word(length, ' ');
  shmem_getmem(word.data(), table.texts.at(text) + sizeof length, length, table.texts.pe(text));
  return word;
}

// A word of this PE with its count, and the index of its text.
struct Stored {
  uint64_t text;
  const Counts::value_type* entry;
};

// Writes all words of this PE into its own part of the texts.
std::vector<Stored> store_texts(const Table& table, const Counts& counts) {
  std::vector<Stored> stored;
  uint64_t text = table.texts.first_of(shmem_my_pe());
  for (const auto& entry : counts) {
    const std::string& word = entry.first;
    const uint64_t length = word.size();
    std::memcpy(table.texts.at(text), &length, sizeof length);
    std::memcpy(table.texts.at(text) + sizeof length, word.data(), length);
    stored.push_back({text, &entry});
    text += sizeof length + length;
  }
  return stored;
}

// The same on every PE and in every build, unlike std::hash.
uint64_t hash(const std::string& word) {
  uint64_t value = 14695981039346656037u;
  for (char c : word) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return value ^ (value >> 32);
}

// Adds `count` to the word's slot: the first one from hash(word) on that holds the word or is free.
// A compare-and-swap takes a free slot. If several PEs add the same new word, one of them takes the
// slot, and the others find their word in it.
void add(const Table& table, const std::string& word, uint64_t text, uint64_t count) {
  const uint64_t slots = table.slots.part * static_cast<uint64_t>(shmem_n_pes());
  for (uint64_t i = hash(word) % slots;; i = (i + 1) % slots) {
    Slot* slot = table.slots.at(i);
    const int pe = table.slots.pe(i);
    const uint64_t found = shmem_uint64_atomic_compare_swap(&slot->word, 0, text + 1, pe);
    if (found != 0 && read_text(table, found - 1) != word) continue;
    shmem_uint64_atomic_add(&slot->count, count, pe);
    return;
  }
}

Table fill_table(const Counts& counts) {
  const Table table = make_table(counts);
  const auto stored = store_texts(table, counts);
  shmem_barrier_all();  // all texts can be read before any slot points to one
  for (const auto& [text, entry] : stored) add(table, entry->first, text, entry->second);
  shmem_barrier_all();  // all additions have arrived
  return table;
}

// --------------------------------------------------------------------- 3. The most frequent words

struct Frequent {
  uint64_t count;
  std::string word;
};

void keep_most_frequent(std::vector<Frequent>& words, std::size_t most) {
  std::sort(words.begin(), words.end(), [](const Frequent& a, const Frequent& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  });
  if (words.size() > most) words.resize(most);
}

// The words in the slots of one PE. Gets read its memory, so that PE need not take part.
std::vector<Frequent> words_of_pe(const Table& table, int pe) {
  std::vector<Slot> slots(table.slots.part);
  shmem_getmem(slots.data(), table.slots.mine, slots.size() * sizeof(Slot), pe);
  std::vector<Frequent> words;
  for (const Slot& slot : slots) {
    if (slot.word != 0) words.push_back({slot.count, read_text(table, slot.word - 1)});
  }
  return words;
}

void print_most_frequent(const Table& table, std::size_t most) {
  std::vector<Frequent> words;
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    std::vector<Frequent> more = words_of_pe(table, pe);
    words.insert(words.end(), more.begin(), more.end());
    keep_most_frequent(words, most);
  }
  for (const Frequent& frequent : words) {
    std::printf("%7llu %s\n", static_cast<unsigned long long>(frequent.count),
                frequent.word.c_str());
  }
}

void run(int argc, char** argv) {
  examples::Arguments arguments(
      "Counts the words of files over all PEs and prints the most frequent ones.");
  std::size_t most = 20;
  std::vector<std::string> paths;
  arguments.number("--top", most, 1, 1L << 40, "How many to print");
  arguments.files(paths, std::string("Text files; without any those in ") + kDefaultFolder);
  arguments.parse(argc, argv);
  if (paths.empty()) paths = list_files(kDefaultFolder);

  const auto start = std::chrono::steady_clock::now();
  const std::vector<Input> inputs = measure(paths);
  const Counts counts = count_my_share(inputs);
  const Table table = fill_table(counts);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  uint64_t mine = 0;
  for (const auto& [word, count] : counts) mine += count;
  uint64_t different = 0;
  for (uint64_t i = 0; i < table.slots.part; ++i) different += table.slots.mine[i].word != 0;
  const uint64_t all = combine(shmem_uint64_sum_reduce, mine);
  const uint64_t all_different = combine(shmem_uint64_sum_reduce, different);
  if (shmem_my_pe() == 0) {
    print_most_frequent(table, most);
    std::printf("%llu words, %llu different, in %zu files; counted by %s in %.1f ms\n",
                static_cast<unsigned long long>(all),
                static_cast<unsigned long long>(all_different), inputs.size(),
                examples::number_of_pes().c_str(), seconds.count() * 1e3);
  }
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
