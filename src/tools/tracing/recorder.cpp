// SPDX-License-Identifier: Apache-2.0
//
// The part file. Each thread or stream has one mapped chunk, its window, with its latest calls. A
// full window is written to another chunk and used again. So a thread stays in the same few pages,
// and its last calls are in the file however it ends. A thread that ends leaves its window to later
// threads of its name.
// Invariant: room on the disk is taken before it is used: a full disk ends the trace, not the
// program.
#include "tools/tracing/recorder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/interpose/teams.hpp"

namespace meshmem::tracing {
namespace {

// All PEs together may record about as many calls as viewers can show.
constexpr std::size_t kMostCallsOfJob = 4 << 20, kMostCallsOfPe = 1 << 20, kFewestCalls = 16 << 10;

struct Part {
  std::mutex mutex;
  void (*print_line)(std::string_view) = nullptr;
  std::string file;
  std::string path;
  int fd = -1;
  PartHeader* header = nullptr;
  std::size_t chunks = 0, most_chunks = 0;
  std::uint32_t threads = 0;
};
Part& part = *new Part;  // lives for ever: a destructor of the program may finalize

thread_local constinit Track track;
std::vector<Track>& left_tracks = *new std::vector<Track>;  // of threads that have ended
unsigned parts = 0;                                         // opened so far
bool uses_ticks = true;
constinit std::atomic<unsigned> recorded_part{0};  // the newest; 0: no recording now
thread_local Record record_of_nobody;

std::uint64_t ticks() { return uses_ticks ? trace_ticks() : trace_clock_ns(); }
TraceMoment moment(const TraceMoment& both) {
  return uses_ticks ? both : TraceMoment{both.ns, both.ns};
}

// If the system's clock does not use the processors' counters, these may not agree.
bool can_use_ticks() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  file >> source;
  return source != "hpet" && source != "acpi_pm" && source.find("jiffies") == source.npos;
}

void* map_part(std::size_t offset, std::size_t bytes) {
  void* at =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, part.fd, static_cast<off_t>(offset));
  return at == MAP_FAILED ? nullptr : at;
}

// Returns the offset of one more chunk at the end of the file; nullopt if there is no room.
std::optional<std::size_t> next_chunk() {
  if (part.chunks == part.most_chunks) return std::nullopt;
  return kHeaderBytes + part.chunks++ * kChunkBytes;
}

bool take_room(std::size_t begin, std::size_t bytes) {
  errno = posix_fallocate(part.fd, static_cast<off_t>(begin), static_cast<off_t>(bytes));
  return errno == 0;
}

ChunkHeader* add_window() {
  const std::optional<std::size_t> begin = next_chunk();
  if (!begin || !take_room(*begin, kChunkBytes)) return nullptr;
  return static_cast<ChunkHeader*>(map_part(*begin, kChunkBytes));
}

// Writes a full window to a chunk of its own and empties it. False: it stays as it is, full.
bool try_flush_window(ChunkHeader* window) {
  const std::optional<std::size_t> begin = next_chunk();
  if (!begin) return false;
  if (pwrite(part.fd, window, kChunkBytes, static_cast<off_t>(*begin)) != kChunkBytes) {
    part.most_chunks = part.chunks;
    return false;
  }
  part.header->last = moment(TraceMoment::now_exactly());
  std::memset(static_cast<void*>(window + 1), 0, kChunkBytes - sizeof *window);
  return true;
}

template <std::size_t bytes>
void copy_text(char (&to)[bytes], std::string_view from) {
  from.copy(to, bytes - 1);
}

ChunkHeader* window_of(const Track& track) {
  return reinterpret_cast<ChunkHeader*>(track.first) - 1;
}

std::string name_of_thread() {
  if (gettid() == getpid()) return "main";
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

// Called at the end of a thread that has a window.
void leave_track(void*) {
  const std::lock_guard lock(part.mutex);
  if (part.fd >= 0 && track.part == parts) left_tracks.push_back(track);
  track = {};
}

// Not a thread_local's destructor: exit() would run it too, and take a lock in a child of fork().
void leave_track_at_end() {
  static pthread_key_t key;
  static const bool has_key = pthread_key_create(&key, &leave_track) == 0;
  if (has_key) pthread_setspecific(key, &track);
}

bool try_take_left_track(const std::string& name) {
  const auto found = std::find_if(left_tracks.begin(), left_tracks.end(),
                                  [&](const Track& left) { return window_of(left)->name == name; });
  if (found == left_tracks.end()) return false;
  track = *found;
  left_tracks.erase(found);
  return true;
}

bool try_take_window(Track& track) {
  const std::string name = track.name ? track.name : name_of_thread();
  if (!track.name) {
    leave_track_at_end();
    if (try_take_left_track(name)) return true;
  }
  ChunkHeader* const window = add_window();
  if (!window) return false;
  window->thread = part.threads++;
  copy_text(window->name, name);
  track.part = parts;
  track.next = track.first = reinterpret_cast<Record*>(window + 1);
  track.end = track.first + kRecordsOfChunk;
  return true;
}

void describe(const TraceJob& job) {
  PartHeader& header = *part.header;
  copy_text(header.magic, PartHeader::kMagic);
  header.n_routines = kRoutines;
  header.pe = job.pe;
  header.n_pes = job.n_pes;
  header.node = job.node;
  header.clock = job.n_machines == 1 ? 0 : job.node;
  header.first = moment(job.init_begin);
  header.last = moment(TraceMoment::now_exactly());
  header.heap = job.heap;
  header.statics = job.statics;
  header.device_heap = job.device_heap;
  gethostname(header.host, sizeof header.host - 1);
  copy_text(header.program, program_invocation_short_name);
}

// A thread is in one call at a time, so none is under way in its window, which may be emptied. The
// window of an earlier part stays mapped.
Record* take_slowly(Track& track) {
  if (recorded_part == 0) return &record_of_nobody;
  const std::lock_guard lock(part.mutex);
  if (part.fd < 0) return &record_of_nobody;
  const bool has_window = track.part == parts || try_take_window(track);
  if (has_window && track.next == track.end && try_flush_window(window_of(track)))
    track.next = track.first;
  if (has_window && track.next != track.end) return track.next++;
  ++part.header->left_out;
  return &record_of_nobody;
}

Record* next_record(Track& track) {
  const bool has_room =
      track.part == recorded_part.load(std::memory_order_relaxed) && track.next != track.end;
  return has_room ? track.next++ : take_slowly(track);
}

// The part may be read meanwhile. A record counts once it has its begin, so that is stored last.
void fill(Record& to, const Record& from) {
  Record whole = from;
  whole.begin = 0;
  to = whole;
  __atomic_store_n(&to.begin, from.begin, __ATOMIC_RELEASE);
}

}  // namespace

// Puts the name into the part's header.
void keep_team_name(std::uint64_t key, const std::string& members) {
  if (part.fd < 0 || part.header->n_teams == PartHeader::kTeams) return;
  TeamName& name = part.header->teams[part.header->n_teams++];
  name.key = key;
  copy_text(name.members, members);
}

std::string open_part(const TraceJob& job, const std::string& path) {
  const std::lock_guard lock(part.mutex);
  part.path = path;
  part.file = job.file;
  part.print_line = job.print_line;
  unlink(path.c_str());
  part.fd = open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  if (part.fd < 0) return std::strerror(errno);
  part.chunks = part.threads = 0;
  left_tracks.clear();
  const std::size_t calls = std::clamp(kMostCallsOfJob / static_cast<std::size_t>(job.n_pes),
                                       kFewestCalls, kMostCallsOfPe);
  part.most_chunks = calls / kRecordsOfChunk;
  if (!take_room(0, kHeaderBytes)) return std::strerror(errno);
  part.header = static_cast<PartHeader*>(map_part(0, kHeaderBytes));
  if (!part.header) return std::strerror(errno);
  uses_ticks = can_use_ticks();
  describe(job);
  recorded_part = ++parts;
  return {};
}

int part_fd() { return part.fd; }
PartHeader& part_header() { return *part.header; }
void note_moment() { part.header->last = moment(TraceMoment::now_exactly()); }
void record_calls(bool enabled) { recorded_part = enabled && part.fd >= 0 ? parts : 0; }

void stop_recording() {
  recorded_part = 0;
  Record* last = track.part == parts && track.next != track.first ? track.next - 1 : nullptr;
  if (last && last->end == 0) last->end = ticks();
}

void close_part(bool remove) {
  const std::lock_guard lock(part.mutex);
  recorded_part = 0;
  if (part.fd < 0) return;
  close(std::exchange(part.fd, -1));  // first: a signal handler looks at it
  munmap(part.header, kHeaderBytes);
  if (remove) unlink(part.path.c_str());
}

void say_what_is_left() {
  if (part.fd < 0) return;
  part.print_line(
      fmt::format("the job ends without its trace; the part of this PE is {}, and `meshmem-trace "
                  "join {}` makes the trace of all such parts",
                  part.path, part.file));
}

Record* begin_call(Number routine) {
  Record* record = next_record(track);
  record->routine = routine;
  record->begin = ticks();
  return record;
}

void end_call(Record* record) { record->end = ticks(); }

void record_on(Track& of, const Record& record) { fill(*next_record(of), record); }
bool is_recording() { return recorded_part.load(std::memory_order_relaxed) != 0; }
std::uint64_t now_in_ticks() { return ticks(); }

void record_since(const TraceMoment& begin, Record record) {
  record.begin = moment(begin).ticks;
  record.end = ticks();
  record_on(track, record);
}

void record_own_work(OwnWork what, const TraceMoment& begin, std::uint64_t commands) {
  Record record{};
  record.routine = static_cast<Number>(k_take_in_messages + static_cast<unsigned>(what));
  record.count = commands;
  record.pe = -1;
  record_since(begin, record);
}

void end_polling_call(Record* record) {
  end_call(record);
  if (record <= track.first || record + 1 != track.next) return;
  Record& before = record[-1];
  const auto same = [&](auto Record::*field) { return before.*field == record->*field; };
  if (!same(&Record::routine) || !same(&Record::dest) || !same(&Record::source) ||
      !same(&Record::value) || !same(&Record::comparison) || !same(&Record::pe) ||
      !same(&Record::count))
    return;
  ++before.other;  // calls after the first; these routines have no other use of it
  before.end = record->end;
  *record = {};
  track.next = record;
}

}  // namespace meshmem::tracing
