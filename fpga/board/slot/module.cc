// SPDX-License-Identifier: Apache-2.0
#include "board/slot/module.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "board/slot/registers.h"

namespace orrery::board {
namespace {

constexpr int kSlotResetCycles = 4;

void cycle(Module& module, const nf_slot_in& in, nf_slot_out& out) {
  module.settle(in, out);
  module.edge();
}

uint32_t read_register(Module& module, uint16_t address) {
  nf_slot_in in{};
  nf_slot_out out{};
  in.m_tready = 1;
  in.csr_addr = address;
  in.csr_read = 1;
  for (int i = 0; i < reg::kAckCycles; ++i) {
    cycle(module, in, out);
    if (out.csr_ack == 0) continue;
    const uint32_t value = out.csr_rdata;
    in.csr_read = 0;
    cycle(module, in, out);
    return value;
  }
  throw std::runtime_error("module " + module.name() + " does not answer register reads");
}

ModuleInfo inspect(const std::string& path) {
  Module module(path);
  nf_slot_in in{};
  nf_slot_out out{};
  in.rst = 1;
  for (int i = 0; i < kSlotResetCycles; ++i) cycle(module, in, out);
  return {module.name(), module.uuid(), path, read_register(module, reg::kId), read_register(module, reg::kVersion)};
}

}  // namespace

Module::Module(const std::string& path) {
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw std::runtime_error(dlerror());
  const auto get = reinterpret_cast<decltype(&nf_slot_get)>(dlsym(handle_, "nf_slot_get"));
  table_ = get == nullptr ? nullptr : get();
  if (table_ == nullptr || table_->abi != NF_SLOT_ABI) {
    dlclose(handle_);
    throw std::runtime_error(path + " is not a slot module for this board");
  }
  instance_ = table_->create();
}

Module::~Module() {
  table_->destroy(instance_);
  dlclose(handle_);
}

Uuid Module::uuid() const {
  Uuid out{};
  std::copy_n(table_->uuid, out.size(), out.begin());
  return out;
}

Library::Library(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".so") continue;
    ModuleInfo info = inspect(std::filesystem::absolute(entry.path()));
    if (find(info.uuid) != nullptr) throw std::runtime_error("two modules with the same UUID: " + info.name);
    modules_.push_back(std::move(info));
  }
  std::sort(modules_.begin(), modules_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

const ModuleInfo* Library::find(const Uuid& uuid) const {
  const auto it = std::find_if(modules_.begin(), modules_.end(), [&](const auto& m) { return m.uuid == uuid; });
  return it == modules_.end() ? nullptr : &*it;
}

const ModuleInfo* Library::find(const std::string& name) const {
  const auto it = std::find_if(modules_.begin(), modules_.end(), [&](const auto& m) { return m.name == name; });
  return it == modules_.end() ? nullptr : &*it;
}

}  // namespace orrery::board
