// SPDX-License-Identifier: Apache-2.0
// meshmem-launches COMPILER ARGUMENTS...: runs the C++ compiler. First preprocesses and rewrites
// the sources (after -x c++) that launch kernels by <<<...>>> or have other CUDA syntax.
// Invariant: the compiler reads the original of a source that needs no rewriting; no file is left
// behind. Run by oshhip, and by CMake as compiler launcher.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "launches/command.hpp"
#include "launches/edits.hpp"

namespace meshmem::launches {
namespace {

namespace fs = std::filesystem;

volatile sig_atomic_t running_child = 0, received_signal = 0;

// The child may also have got the signal from the terminal. This process goes on and waits for the
// child, so that no file is left behind.
void pass_on(int signal) {
  received_signal = signal;
  if (running_child > 0) kill(static_cast<pid_t>(running_child), signal);
}

// Signals that the caller ignores, as under nohup, stay ignored in the compiler too.
void set_handler(void (*handler)(int)) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      ::signal(signal, handler);
  }
}

[[noreturn]] void execute(const Words& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "meshmem-launches: cannot run '%s': %s\n", arguments[0],
               std::strerror(errno));
  _exit(127);
}

void redirect(int descriptor, const fs::path& file) {
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (opened < 0 || dup2(opened, descriptor) < 0) _exit(127);
  close(opened);
}

// Returns the status that a shell would report. Redirects the command's output and errors to the
// files that are named. Signals wait while pass_on() does not know the child, and in the child
// until they end it.
int run(const Words& words, const fs::path& output = {}, const fs::path& errors = {}) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    set_handler(SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (!output.empty()) redirect(STDOUT_FILENO, output);
    if (!errors.empty()) redirect(STDERR_FILENO, errors);
    execute(words);
  }
  running_child = child;
  if (child > 0 && received_signal != 0) kill(child, received_signal);  // it came before
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running_child = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(fs::file_size(path), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code failed;
    fs::path place = fs::temp_directory_path(failed);
    if (failed) place = "/tmp";  // as compilers do if TMPDIR is not a folder
    std::string name = place / "meshmem-launches.XXXXXX";
    if (mkdtemp(name.data()) == nullptr)
      throw std::runtime_error(name + ": " + std::strerror(errno));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The rewritten file of each source that needs one, by the source's position; and the status of the
// preprocessor if it refuses a source.
struct Rewritten {
  std::map<std::size_t, std::string> files;
  int status = 0;
};

// Each file has the name of its source, because compilers name objects after it. Prints the
// preprocessor's messages unless the compiler will read the source itself and repeat them.
Rewritten rewrite_sources(const Command& command, const fs::path& folder) {
  Rewritten result;
  std::string messages;
  for (const std::size_t source : command.sources()) {
    const fs::path own = folder / std::to_string(source);
    fs::create_directory(own);
    const fs::path file = own / fs::path(command.words()[source]).stem().concat(".ii");
    const fs::path errors = own / "errors";
    result.status = run(command.preprocess(source), file, errors);
    std::optional<std::string> text;
    if (result.status == 0) text = rewrite(read_file(file));
    if (text || result.status != 0) messages += read_file(errors);
    if (result.status != 0) break;
    if (!text) continue;
    std::ofstream written(file, std::ios::binary);
    written << *text;
    if (!written.flush()) throw std::runtime_error("cannot write " + file.string());
    result.files[source] = file;
  }
  std::fputs(messages.c_str(), stderr);
  return result;
}

// Returns the status of the preprocessor or of the compiler, or -1 if no source needs rewriting and
// the compiler has yet to run.
int compile_rewritten(const Command& command) {
  const ScratchFolder scratch;
  set_handler(&pass_on);
  const Rewritten rewritten = rewrite_sources(command, scratch.path());
  if (received_signal != 0) return 128 + received_signal;
  if (rewritten.status != 0) return rewritten.status;
  return rewritten.files.empty() ? -1 : run(command.compile(rewritten.files));
}

int run_compiler(const Command& command) {
  if (!command.sources().empty()) {
    const int status = compile_rewritten(command);
    set_handler(SIG_DFL);
    if (received_signal != 0) raise(received_signal);
    if (status >= 0) return status;
  }
  execute(command.words());
}

}  // namespace
}  // namespace meshmem::launches

int main(int count, char** arguments) {
  using namespace meshmem::launches;
  const bool asks_for_help = count > 1 && std::strcmp(arguments[1], "--help") == 0;
  if (count < 2 || asks_for_help) {
    std::fputs(
        "usage: meshmem-launches COMPILER ARGUMENTS...\n"
        "Runs a C++ compiler on sources, behind -x c++, that launch kernels. oshhip does so too.\n",
        asks_for_help ? stdout : stderr);
    return asks_for_help ? 0 : 2;
  }
  try {
    return run_compiler(Command(Words(arguments + 1, arguments + count)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "meshmem-launches: %s\n", error.what());
    return 1;
  }
}
