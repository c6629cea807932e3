// SPDX-License-Identifier: Apache-2.0
// See module.hpp.
#include "module.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "devices.hpp"
#include "fat_binary.hpp"

namespace amd_gpu {
namespace {

struct Named {
  Module* module;
  std::string name;
};
struct Registry {
  std::recursive_mutex mutex;
  std::map<Module*, std::unique_ptr<Module>> modules;
  std::unordered_map<const void*, Named> kernels, variables;
  const Architecture* architecture = nullptr;
};
Registry& registry() {
  static auto* const all = new Registry;  // modules are still there when the process ends
  return *all;
}

void remove_all_of(Module* module, std::unordered_map<const void*, Named>& named) {
  std::erase_if(named, [&](const auto& entry) { return entry.second.module == module; });
}

}  // namespace

const CodeObject* Module::on_device(int device) {
  const auto found = loaded_.find(device);
  if (found != loaded_.end()) return found->second.get();
  std::string why = "it has no code for " + std::string(architecture().name);
  const auto file = find_code(static_cast<const std::uint8_t*>(bundle_), architecture());
  auto code = file.empty() ? nullptr : CodeObject::load(file, why);
  if (code == nullptr)
    std::fprintf(stderr, "meshmem: a fat binary cannot be loaded: %s\n", why.c_str());
  else
    hip_on_cpu::adopt_device_memory(code->memory(), code->size(), device);
  return (loaded_[device] = std::move(code)).get();
}

const Architecture& architecture() {
  const std::lock_guard lock(registry().mutex);
  const Architecture*& known = registry().architecture;
  if (known != nullptr) return *known;
  const char* const asked = std::getenv("MESHMEM_AMD_GPU");
  known = asked == nullptr ? &kArchitectures[0] : find_architecture(asked);
  if (known != nullptr) return *known;
  std::fprintf(stderr, "meshmem: MESHMEM_AMD_GPU=%s is no GPU that is emulated\n", asked);
  std::exit(1);
}

Module* add_module(const void* bundle) {
  const std::lock_guard lock(registry().mutex);
  if (registry().architecture == nullptr && std::getenv("MESHMEM_AMD_GPU") == nullptr)
    registry().architecture = first_architecture(static_cast<const std::uint8_t*>(bundle));
  auto module = std::make_unique<Module>(bundle);
  Module* const key = module.get();
  registry().modules[key] = std::move(module);
  return key;
}

// Its code objects stay: kernels may still run, and instructions are cached in them.
void remove_module(Module* module) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  remove_all_of(module, all.kernels);
  remove_all_of(module, all.variables);
}

void add_kernel(Module* module, const void* handle, const char* name) {
  const std::lock_guard lock(registry().mutex);
  registry().kernels[handle] = {module, name};
}
void add_variable(Module* module, const void* handle, const char* name) {
  const std::lock_guard lock(registry().mutex);
  registry().variables[handle] = {module, name};
}

const Kernel* find_kernel(const void* handle, int device) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().kernels.find(handle);
  if (found == registry().kernels.end()) return nullptr;
  const CodeObject* const code = found->second.module->on_device(device);
  return code == nullptr ? nullptr : code->kernel(found->second.name);
}

void* find_variable(const void* handle, int device, std::size_t* size) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().variables.find(handle);
  if (found == registry().variables.end()) return nullptr;
  const CodeObject* const code = found->second.module->on_device(device);
  return code == nullptr ? nullptr : code->variable(found->second.name, size);
}

}  // namespace amd_gpu
