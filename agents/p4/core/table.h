// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "p4/core/action_profile.h"
#include "p4/core/control_error.h"
#include "p4/core/entry.h"
#include "p4/core/match_index.h"
#include "p4/core/meter.h"
#include "p4/program/code.h"
#include "p4/program/program.h"

namespace orrery::p4 {

class Table {
 public:
  // The entries of the program are in it. `profile` is null where the table has its own actions.
  Table(const Program& program, uint32_t index, ActionProfile* profile);

  // The control side's calls: under Pipeline::control().

  // `now_ns`: from when its idle time counts.
  EntryHandle insert(const TableEntry& entry, uint64_t now_ns = 0);
  // The entry with the same key and priority gets this action and timeout; its counter and meter stay.
  void modify(const TableEntry& entry, uint64_t now_ns = 0);
  void remove(const std::vector<KeyMatch>& key, int32_t priority);
  void clear();

  std::optional<EntryHandle> find(const std::vector<KeyMatch>& key, int32_t priority) const;
  TableEntry entry(EntryHandle handle) const;
  void each(const std::function<void(EntryHandle)>& visit) const;
  uint32_t size() const { return size_; }

  // Nothing: no action runs on a miss.
  std::optional<EntryAction> default_action() const;
  void set_default_action(const EntryAction& action);
  void reset_default_action();  // to that of the program

  // Refused where the program gives the table no direct counter or meter.
  CounterValue counter(EntryHandle handle) const;
  void set_counter(EntryHandle handle, CounterValue value);
  std::optional<MeterRates> meter(EntryHandle handle) const;
  void set_meter(EntryHandle handle, const std::optional<MeterRates>& rates);

  // Since a packet matched it, or since it was inserted or modified.
  uint64_t idle_ns(EntryHandle handle, uint64_t now_ns) const;
  // Entries whose timeout has passed since a packet matched them, or they were inserted, modified or reported.
  void each_idle(uint64_t now_ns, const std::function<void(EntryHandle)>& report);

  // Of packets, since the table is there.
  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }

  // The packet side.

  struct Choice {
    enum class Kind : uint8_t { kNone, kCall, kMember, kGroup };
    Kind kind = Kind::kNone;
    uint32_t action = 0;   // kCall; otherwise slot in the profile
    int32_t next = kNone;  // kCall
  };
  struct Entry {
    bool used = false;
    int32_t priority = 0;
    Choice choice;
    CounterValue counter;
    uint64_t idle_timeout_ns = 0;
    uint64_t last_hit_ns = 0;
    uint64_t idle_since_ns = 0;  // inserted, modified or reported as idle
  };
  // kNoEntry: none.
  uint32_t lookup(const uint64_t* key, const uint64_t* frame) const { return index_.lookup(key, frame); }
  void count_lookup(bool hit) { hit ? ++hits_ : ++misses_; }
  Entry& at(uint32_t entry) { return entries_[entry]; }
  const uint64_t* args(uint32_t entry) const { return args_.data() + size_t{entry} * args_stride_; }
  Meter& meter_at(uint32_t entry) { return meters_[entry]; }
  const Choice& default_choice() const { return default_; }
  const uint64_t* default_args() const { return default_args_.data(); }
  int32_t next_of(uint32_t action) const;

 private:
  MatchIndex::Item item(const std::vector<KeyMatch>& key, int32_t priority) const;
  void put_field(const KeyMatch& match, size_t field, MatchIndex::Item& item, int64_t& prefix) const;
  [[noreturn]] void refuse_field(size_t field, const std::string& detail) const;
  Choice choose(const EntryAction& action, std::vector<uint64_t>& args) const;
  EntryAction action_of(const Choice& choice, const uint64_t* args) const;
  void release(const Choice& choice) const;
  EntryHandle insert_item(const MatchIndex::Item& item, const TableEntry& entry, uint64_t now_ns);
  void insert_const_entries();
  EntryHandle existing(const std::vector<KeyMatch>& key, int32_t priority) const;
  void check_handle(EntryHandle handle) const;
  void check_changeable() const;

  const Program& program_;
  const TableInfo& info_;
  const TableCode& code_;
  ActionProfile* profile_;
  MatchIndex index_;
  uint32_t args_stride_ = 0;
  uint32_t size_ = 0;
  uint64_t hits_ = 0;
  uint64_t misses_ = 0;
  std::vector<Entry> entries_;
  std::vector<uint64_t> args_;
  std::vector<Meter> meters_;
  std::vector<uint32_t> free_;
  Choice default_;
  std::vector<uint64_t> default_args_;
};

}  // namespace orrery::p4
