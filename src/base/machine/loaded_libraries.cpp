// SPDX-License-Identifier: Apache-2.0
//
// Sets UCX's variables before it is loaded, and says what to do when the library is not there. UCX
// reads these variables while it is loaded, so no later call could set them.
// Invariant: the environment is afterwards as it was before.
#include "base/machine/loaded_libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace meshmem {
namespace {

// Sets environment variables that the user has not set, while the object lives.
class Defaults {
 public:
  Defaults() = default;
  Defaults(const Defaults&) = delete;
  Defaults& operator=(const Defaults&) = delete;
  ~Defaults() {
    for (const char* name : set_) unsetenv(name);
  }
  void add(const char* name, const char* value) {
    if (std::getenv(name) != nullptr) return;
    setenv(name, value, 0);
    set_.push_back(name);
  }

 private:
  std::vector<const char*> set_;
};

// UCX's plugins that this machine or meshmem cannot use. Each slows start-up as much as all needed
// plugins together, and the drivers of InfiniBand slow it most.
const char* needless_plugins() {
  return has_rdma() ? "^cma,knem,xpmem" : "^cma,knem,xpmem,ib*,rdmacm";
}

void add_defaults_of_ucx(Defaults& defaults, bool debug) {
  defaults.add("UCX_HANDLE_ERRORS", "none");  // no handlers of SIGSEGV and other faults
  defaults.add("UCX_DEBUG_SIGNO", "0");       // nor of SIGHUP
  defaults.add("UCX_MEM_EVENTS", "n");        // mmap and free stay the C library's
  defaults.add("UCX_VFS_ENABLE", "n");        // no thread that shows UCX's objects as files
  defaults.add("UCX_MODULES", needless_plugins());
  defaults.add("UCX_LOG_FILE", "stderr");
  if (!debug) defaults.add("UCX_LOG_LEVEL", "fatal");
}

std::string folder_of_this_code() {
  Dl_info about{};
  if (dladdr(reinterpret_cast<void*>(&place_of_library), &about) == 0) return {};
  const std::string path = about.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string last_loader_error() {
  const char* text = dlerror();
  return text != nullptr ? text : "no reason given";
}

std::string why_missing(const std::string& network, const std::string& name,
                        const std::string& reason) {
  // The loader names the file that it did not find: the library itself or one that it needs.
  if (reason.rfind(name + ":", 0) == 0) {
    return fmt::format(
        "there is no {} in the folder of loaded libraries: meshmem was built without {} (configure "
        "it with "
        "-DMESHMEM_UCX=ON; Debian has what that needs in libucx-dev)",
        name, network);
  }
  return fmt::format(
      "cannot load {}: {}; this machine needs the libraries of {} (in Debian: apt-get install "
      "libucx0)",
      name, reason, network);
}

}  // namespace

std::string place_of_library(const std::string& name) {
  // This code is in a library, in a program of the build, or in an installed program.
  for (const char* libraries : {".", "../lib", MESHMEM_LIBDIR_FROM_BINDIR}) {
    std::string path =
        fmt::format("{}/{}/" MESHMEM_LOADED_DIR "/{}", folder_of_this_code(), libraries, name);
    if (access(path.c_str(), F_OK) == 0) return path;
  }
  return name;
}

bool has_rdma() {
  std::error_code ignored;
  return !std::filesystem::is_empty("/sys/class/infiniband", ignored) && !ignored;
}

void* open_network_library(const std::string& network, bool debug, std::string* error) {
  Defaults defaults;
  add_defaults_of_ucx(defaults, debug);
  const std::string name = fmt::format("libmeshmem_{}.so", network);
  // Lazily: UCX has thousands of calls that no job makes. The loader still looks up the library's
  // own calls at once, as it was linked with -z now.
  void* library = dlopen(place_of_library(name).c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) *error = why_missing(network, name, last_loader_error());
  return library;
}

void* network_symbol(void* library, const char* name, std::string* error) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) *error = fmt::format("not of this meshmem: {}", last_loader_error());
  return symbol;
}

}  // namespace meshmem
