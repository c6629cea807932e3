// SPDX-License-Identifier: Apache-2.0
//
// meshmem-info: says what was built, what this machine offers, and what the environment variables
// are. Invariant: it needs no launcher, and links only base/ and the GPU's runtime, so it works
// where the library itself does not. Only the doctor's job loads the library. Called by people, and
// to make docs/environment.md. Ends with 1 if a variable has a bad value or a check of the doctor
// is bad, with 2 if an argument is wrong.
#include <fmt/format.h>
#include <hip/hip_runtime_api.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/machine/machine.hpp"
#include "base/machine/standard_descriptors.hpp"
#include "base/settings/environment.hpp"
#include "base/settings/foreign_variables.hpp"
#include "info/doctor/checks.hpp"
#include "info/kfd_topology.hpp"
#include "info/networks.hpp"
#if defined(MESHMEM_TARGET_CPU)
#include <hip/on_cpu/for_meshmem.h>
#endif

extern char** environ;

namespace meshmem {
namespace {

constexpr int kUsageError = 2;

// The output is rows under headings: as text, or as one array of JSON.
bool rows_are_json = false;
std::string heading;

void print_heading(std::string_view name, std::string_view remark = "") {
  heading = name;
  if (!rows_are_json) fmt::print("\n{}{}\n", name, remark);
}

void print_row(std::string_view name, std::string_view value) {
  if (!rows_are_json) return fmt::print("  {:<30}  {}\n", name, value);
  static const char* separator = "[";
  fmt::print("{}\n {{\"heading\": {}, \"name\": {}, \"value\": {}}}", std::exchange(separator, ","),
             doctor::json_text(heading), doctor::json_text(name), doctor::json_text(value));
}

void print_build() {
  if (!rows_are_json) fmt::print("meshmem {}, an OpenSHMEM 1.6 runtime\n", MESHMEM_VERSION);
  print_heading("Build");
  print_row("version", MESHMEM_VERSION);
  print_row("target", MESHMEM_TARGET);
  print_row("compiler", MESHMEM_COMPILER);
  print_row("flags", MESHMEM_COMPILER_FLAGS);
}

void print_machine() {
  print_heading("Machine");
  const std::vector<int> cpus = allowed_cpus();
  print_row("cores", fmt::format("{} ({})", cpus.size(), ranges_text(cpus)));
  const double quota = cpu_quota();
  print_row("core time", std::isinf(quota) ? "no limit" : fmt::format("{:.2f} cores", quota));
  const auto bytes = static_cast<double>(machine_memory_bytes());
  print_row("memory", fmt::format("{:.1f} GiB", bytes / (1 << 30)));
}

// ---- Devices as HIP shows them, and which PEs would use them, as start-up chooses: by
// MESHMEM_DEVICE, else PEs in turn. Takes no memory of a device.

bool succeeds(hipError_t error) {
  if (error != hipSuccess) (void)hipGetLastError();
  return error == hipSuccess;
}

std::string describe_device(int device) {
  hipDeviceProp_t properties{};
  char bus_id[32] = "?";
  if (!succeeds(hipGetDeviceProperties(&properties, device))) return "cannot be asked";
  (void)succeeds(hipDeviceGetPCIBusId(bus_id, sizeof bus_id, device));
  return fmt::format("{}, {:.1f} GiB, at {}", properties.name,
                     static_cast<double>(properties.totalGlobalMem) / (1 << 30), bus_id);
}

// Whether the host may store small puts into device heaps. Start-up also tries such stores.
std::string large_bar_of([[maybe_unused]] int device, const Environment& environment) {
  bool has = false;
#if defined(MESHMEM_TARGET_CPU)
  has = hip_on_cpu::has_large_bar();
#elif defined(MESHMEM_TARGET_HIP)
  hipDeviceProp_t properties{};
  has = succeeds(hipGetDeviceProperties(&properties, device)) && properties.isLargeBar;
#endif
  return !has ? "no" : environment.large_bar ? "yes" : "yes, not used: MESHMEM_LARGE_BAR is 0";
}

// "0, 2, 4, ..."
std::string users_of(int device, int count, const Environment& environment) {
  if (environment.device)
    return *environment.device == static_cast<unsigned>(device) ? "all" : "none";
  return fmt::format("{}, {}, ...", device, device + count);
}

std::string link_to(int device, int peer) {
  int can = 0;
  if (!succeeds(hipDeviceCanAccessPeer(&can, device, peer)) || !can)
    return fmt::format("{}: copies only", peer);
  std::uint32_t link = 0, hops = 0;
  if (!succeeds(hipExtGetLinkTypeAndHopCount(device, peer, &link, &hops)))
    return fmt::format("{}: yes", peer);
  return fmt::format("{}: link type {}, {} hop{}", peer, link, hops, hops == 1 ? "" : "s");
}

std::string links_of_device(int device, int count) {
  std::string text;
  for (int peer = 0; peer < count; ++peer) {
    if (peer == device) continue;
    text += (text.empty() ? "" : "; ") + link_to(device, peer);
  }
  return text;
}

void print_devices() {
  Environment environment;
  (void)parse_environment(environment, std::getenv);  // a bad value is reported elsewhere
  int count = 0;
  const hipError_t error = hipGetDeviceCount(&count);
  if (!succeeds(error) || count == 0) {
    print_row("none", error == hipSuccess ? "host memory only" : hipGetErrorString(error));
    return;
  }
  if (environment.device_heap_size == std::size_t{0})
    print_row("not used", "MESHMEM_DEVICE_HEAP_SIZE is 0");
  for (int device = 0; device < count; ++device) {
    print_row(fmt::format("device {}", device), describe_device(device));
    print_row("  large BAR", large_bar_of(device, environment));
    print_row("  used by PEs", users_of(device, count, environment));
    if (count > 1) print_row("  reaches device", links_of_device(device, count));
  }
}

void print_kfd_topology() {
  const std::vector<KfdGpu> gpus = read_kfd_topology(kKfdNodes);
  if (gpus.empty()) return;
  print_heading("AMD GPUs", " (nodes of the kernel driver)");
  for (const KfdGpu& gpu : gpus) {
    print_row(fmt::format("node {}", gpu.node), describe(gpu));
    print_row("  reaches node", links_of(gpu, gpus));
  }
}

void print_environment() {
  print_heading("Environment", " (--environment explains it)");
  for (const Variable& variable : environment_variables()) {
    const char* value = std::getenv(variable.name.c_str());
    const char* old_value = variable.alias.empty() ? nullptr : std::getenv(variable.alias.c_str());
    if (value != nullptr) {
      print_row(variable.name, fmt::format("\"{}\"", value));
    } else if (old_value != nullptr) {
      print_row(variable.name, fmt::format("\"{}\" (from {})", old_value, variable.alias));
    } else {
      print_row(variable.name, fmt::format("{} (default)", variable.default_value));
    }
  }
}

// Returns the exit status: 1 for a bad value. An unknown name is reported, but is not an error.
int report_mistakes() {
  std::fflush(stdout);
  for (const std::string& name : unknown_variables(environ)) {
    fmt::print(stderr, "meshmem-info: {} is set, but meshmem has no such variable\n", name);
  }
  Environment environment;
  const auto error = parse_environment(environment, std::getenv);
  if (error) fmt::print(stderr, "meshmem-info: {}\n", *error);
  return error ? 1 : 0;
}

// Returns the exit status: 1 if a check is bad.
int run_doctor(const std::string& root, bool as_json) {
  const doctor::Machine machine(root, MESHMEM_TARGET);
  if (is_started_by_launcher(environ, std::getenv)) return doctor::run_as_job(machine, as_json);
  const doctor::Checks checks = check_all(machine);
  const std::string text = as_json ? json_of(checks) : table_of(checks);
  std::fputs(text.c_str(), stdout);
  return has_bad(checks) ? 1 : 0;
}

int run(int argc, char** argv) {
  CLI::App app("Shows the build, this machine's devices and networks, and the environment.",
               "meshmem-info");
  bool explain = false, markdown = false;
  bool doctor = false;
  std::string root = "/";
  app.set_version_flag("--version", std::string("meshmem ") + MESHMEM_VERSION);
  auto* explain_flag = app.add_flag("--environment", explain, "Explain the environment variables");
  app.add_flag("--environment-markdown", markdown, "Print docs/environment.md")
      ->excludes(explain_flag);
  auto* doctor_flag =
      app.add_flag("--doctor", doctor, "Check the machine, and say how to fix problems")
          ->excludes("--environment", "--environment-markdown");
  app.add_flag("--json", rows_are_json, "Print JSON")
      ->excludes("--environment", "--environment-markdown");
  app.add_option("--root", root, "With --doctor: a folder that is checked as if it were /")
      ->needs(doctor_flag)
      ->check(CLI::ExistingDirectory)
      ->group("");  // for tests
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_text) {
    return close_standard_output("meshmem-info", app.exit(asked_for_text));
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "meshmem-info: {}; see meshmem-info --help\n", error.what());
    return kUsageError;
  }

  int status = 0;
  if (explain) {
    std::fputs(environment_help().c_str(), stdout);  // fmt::print throws on a full disk
  } else if (markdown) {
    std::fputs(environment_markdown().c_str(), stdout);
  } else if (doctor) {
    status = run_doctor(root, rows_are_json);
  } else {
    const std::vector<NetworkRow> networks = ask_networks();
    print_build();
    print_machine();
    print_heading("Devices", " (of this machine's PEs, without a choice by the program)");
    print_devices();
    if (std::string_view(MESHMEM_TARGET) == "hip") print_kfd_topology();
    print_heading("Networks", " (of jobs over several machines)");
    for (const NetworkRow& row : networks) print_row(row.name, row.about);
    print_row("device memory", "staged: copied through pinned memory of the host");
    print_environment();
    if (rows_are_json) fmt::print("\n]\n");
    status = report_mistakes();
  }
  return close_standard_output("meshmem-info", status);
}

}  // namespace
}  // namespace meshmem

int main(int argc, char** argv) {
  try {
    return meshmem::run(argc, argv);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "meshmem-info: cannot go on: %s\n", exception.what());
    return 1;
  }
}
