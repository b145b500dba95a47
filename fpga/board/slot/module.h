// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "board/image/uuid.h"
#include "board/slot/abi.h"

namespace orrery::board {

// The shared object of a slot module, with one instance in power-on state.
class Module {
 public:
  // Throws std::runtime_error if the file is not a slot module of this ABI.
  explicit Module(const std::string& path);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  std::string name() const { return table_->name; }
  Uuid uuid() const;
  bool timed() const { return table_->timed != 0; }

  void settle(const nf_slot_in& in, nf_slot_out& out) { table_->settle(instance_, &in, &out); }
  // For timed modules: the number of ticks that would only count microseconds, and a function to skip that many.
  uint32_t idle_ticks() const { return table_->idle_ticks(instance_); }
  void skip_ticks(uint32_t ticks) { table_->skip_ticks(instance_, ticks); }

  void edge() { table_->edge(instance_); }

 private:
  void* handle_ = nullptr;
  const nf_slot_vt* table_ = nullptr;
  void* instance_ = nullptr;
};

struct ModuleInfo {
  std::string name;
  Uuid uuid{};
  std::string path;
  uint32_t id = 0;       // of its ID register
  uint32_t version = 0;  // of its VERSION register
};

// The modules that a board can run: the shared objects in one directory, built together with the board.
class Library {
 public:
  // Runs every module for some cycles to read its registers. Throws if the directory cannot be read, if a file *.so is
  // not a module, or if two have the same UUID.
  explicit Library(const std::string& directory);

  const std::vector<ModuleInfo>& modules() const { return modules_; }
  const ModuleInfo* find(const Uuid& uuid) const;
  const ModuleInfo* find(const std::string& name) const;

 private:
  std::vector<ModuleInfo> modules_;
};

}  // namespace orrery::board
