// SPDX-License-Identifier: Apache-2.0
#include "p4/core/table.h"

#include <algorithm>

#include "p4/core/action_data.h"
#include "p4/core/in_quotes.h"

namespace orrery::p4 {

namespace {

std::vector<MatchIndex::RangeField> range_fields(const TableInfo& info, const TableCode& code) {
  std::vector<MatchIndex::RangeField> fields;
  for (size_t i = 0; i < info.key.size(); ++i)
    if (info.key[i].match == MatchKind::kRange) fields.push_back({code.key[i].from, words_of(info.key[i].width)});
  return fields;
}

}  // namespace

Table::Table(const Program& program, uint32_t index, ActionProfile* profile)
    : program_(program),
      info_(program.tables[index]),
      code_(program.code->tables[index]),
      profile_(profile),
      index_(code_.key_words, range_fields(info_, code_)) {
  for (const uint32_t action : info_.actions)
    args_stride_ = std::max(args_stride_, program.code->actions[action].args_size);
  insert_const_entries();
  reset_default_action();
}

int32_t Table::next_of(uint32_t action) const {
  for (size_t i = 0; i < info_.actions.size(); ++i)
    if (info_.actions[i] == action) return code_.next[i];
  return code_.next_none;
}

Table::Choice Table::choose(const EntryAction& action, std::vector<uint64_t>& args) const {
  if (const auto* call = std::get_if<ActionCall>(&action)) {
    if (profile_ != nullptr)
      throw ControlError(Refusal::kInvalid, info_.name + " has an action profile: its entries name members or groups");
    args = action_words(program_, *call);
    if (std::ranges::find(info_.actions, call->action) == info_.actions.end())
      throw ControlError(Refusal::kInvalid, in_quotes(program_.actions[call->action].name) + " is not an action of " +
                                                in_quotes(info_.name));
    return {Choice::Kind::kCall, call->action, next_of(call->action)};
  }
  if (profile_ == nullptr) throw ControlError(Refusal::kInvalid, info_.name + " has no action profile");
  if (const auto* member = std::get_if<MemberRef>(&action))
    return {Choice::Kind::kMember, profile_->take_member(member->id), kNone};
  return {Choice::Kind::kGroup, profile_->take_group(std::get<GroupRef>(action).id), kNone};
}

void Table::release(const Choice& choice) const {
  if (choice.kind == Choice::Kind::kMember) profile_->release_member(choice.action);
  if (choice.kind == Choice::Kind::kGroup) profile_->release_group(choice.action);
}

EntryAction Table::action_of(const Choice& choice, const uint64_t* args) const {
  if (choice.kind == Choice::Kind::kMember) return MemberRef{profile_->member_at(choice.action).id};
  if (choice.kind == Choice::Kind::kGroup) return GroupRef{profile_->group_at(choice.action).id};
  ActionCall call{.action = choice.action, .args = {}};
  const ActionInfo& info = program_.actions[choice.action];
  const ActionCode& code = program_.code->actions[choice.action];
  for (size_t i = 0; i < info.params.size(); ++i)
    call.args.push_back(to_bytes(args + code.arg_words[i], info.params[i].width));
  return call;
}

void Table::check_changeable() const {
  if (info_.constant) throw ControlError(Refusal::kConstant, "the entries of " + info_.name + " are constant");
}

EntryHandle Table::insert(const TableEntry& entry, uint64_t now_ns) {
  check_changeable();
  if (info_.key.empty()) throw ControlError(Refusal::kInvalid, info_.name + " has no key, hence no entries");
  return insert_item(item(entry.key, entry.priority), entry, now_ns);
}

EntryHandle Table::insert_item(const MatchIndex::Item& item, const TableEntry& entry, uint64_t now_ns) {
  if (index_.find_same(item) != kNoEntry)
    throw ControlError(Refusal::kAlreadyExists, info_.name + " has an entry with this key and priority");
  if (size_ >= info_.max_size && !info_.constant)
    throw ControlError(Refusal::kFull, info_.name + " has its " + std::to_string(info_.max_size) + " entries");
  if (entry.idle_timeout_ns != 0 && !info_.has_idle_timeout)
    throw ControlError(Refusal::kInvalid, info_.name + " has no idle timeouts");
  std::vector<uint64_t> args;
  const Choice choice = choose(entry.action, args);
  uint32_t handle = static_cast<uint32_t>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
    args_.resize(entries_.size() * args_stride_);
    if (info_.direct_meter) meters_.emplace_back();
  } else {
    handle = free_.back();
    free_.pop_back();
  }
  entries_[handle] = {.used = true,
                      .priority = entry.priority,
                      .choice = choice,
                      .counter = {},
                      .idle_timeout_ns = entry.idle_timeout_ns,
                      .last_hit_ns = now_ns,
                      .idle_since_ns = now_ns};
  std::ranges::copy(args, args_.begin() + std::ptrdiff_t{handle} * args_stride_);
  if (info_.direct_meter) meters_[handle] = {};
  index_.insert(handle, item);
  ++size_;
  return handle;
}

EntryHandle Table::existing(const std::vector<KeyMatch>& key, int32_t priority) const {
  const auto handle = find(key, priority);
  if (!handle) throw ControlError(Refusal::kNotFound, info_.name + " has no entry with this key and priority");
  return *handle;
}

void Table::modify(const TableEntry& entry, uint64_t now_ns) {
  check_changeable();
  const EntryHandle handle = existing(entry.key, entry.priority);
  if (entry.idle_timeout_ns != 0 && !info_.has_idle_timeout)
    throw ControlError(Refusal::kInvalid, info_.name + " has no idle timeouts");
  std::vector<uint64_t> args;
  const Choice choice = choose(entry.action, args);
  Entry& changed = entries_[handle];
  release(changed.choice);
  changed.choice = choice;
  changed.idle_timeout_ns = entry.idle_timeout_ns;
  changed.last_hit_ns = now_ns;
  changed.idle_since_ns = now_ns;
  std::ranges::copy(args, args_.begin() + std::ptrdiff_t{handle} * args_stride_);
}

void Table::remove(const std::vector<KeyMatch>& key, int32_t priority) {
  check_changeable();
  const EntryHandle handle = existing(key, priority);
  index_.remove(handle);
  release(entries_[handle].choice);
  entries_[handle] = {};
  free_.push_back(handle);
  --size_;
}

void Table::clear() {
  check_changeable();
  for (const Entry& each : entries_)
    if (each.used) release(each.choice);
  index_.clear();
  entries_.clear();
  args_.clear();
  meters_.clear();
  free_.clear();
  size_ = 0;
}

std::optional<EntryHandle> Table::find(const std::vector<KeyMatch>& key, int32_t priority) const {
  if (info_.key.empty()) return std::nullopt;
  const uint32_t entry = index_.find_same(item(key, priority));
  if (entry == kNoEntry) return std::nullopt;
  return entry;
}

void Table::each(const std::function<void(EntryHandle)>& visit) const {
  for (uint32_t handle = 0; handle < entries_.size(); ++handle)
    if (entries_[handle].used) visit(handle);
}

void Table::check_handle(EntryHandle handle) const {
  if (handle >= entries_.size() || !entries_[handle].used)
    throw ControlError(Refusal::kNotFound, info_.name + " has no entry " + std::to_string(handle));
}

std::optional<EntryAction> Table::default_action() const {
  if (default_.kind == Choice::Kind::kNone) return std::nullopt;
  return action_of(default_, default_args_.data());
}

void Table::set_default_action(const EntryAction& action) {
  if (info_.constant_default)
    throw ControlError(Refusal::kConstant, "the default action of " + info_.name + " is constant");
  std::vector<uint64_t> args;
  const Choice choice = choose(action, args);
  release(default_);
  default_ = choice;
  default_args_ = std::move(args);
}

void Table::reset_default_action() {
  release(default_);
  default_ = {};
  default_args_.clear();
  if (!code_.default_entry) return;
  const DefaultEntry& entry = *code_.default_entry;
  default_ = {Choice::Kind::kCall, entry.action, next_of(entry.action)};
  for (const std::vector<uint64_t>& arg : entry.args) default_args_.insert(default_args_.end(), arg.begin(), arg.end());
}

CounterValue Table::counter(EntryHandle handle) const {
  check_handle(handle);
  if (!info_.direct_counter) throw ControlError(Refusal::kInvalid, info_.name + " has no direct counter");
  return entries_[handle].counter;
}

void Table::set_counter(EntryHandle handle, CounterValue value) {
  counter(handle);
  entries_[handle].counter = value;
}

std::optional<MeterRates> Table::meter(EntryHandle handle) const {
  check_handle(handle);
  if (!info_.direct_meter) throw ControlError(Refusal::kInvalid, info_.name + " has no direct meter");
  return meters_[handle].rates();
}

void Table::set_meter(EntryHandle handle, const std::optional<MeterRates>& rates) {
  meter(handle);
  meters_[handle].set(rates);
}

uint64_t Table::idle_ns(EntryHandle handle, uint64_t now_ns) const {
  check_handle(handle);
  const uint64_t last = entries_[handle].last_hit_ns;
  return now_ns > last ? now_ns - last : 0;
}

void Table::each_idle(uint64_t now_ns, const std::function<void(EntryHandle)>& report) {
  if (!info_.has_idle_timeout) return;
  for (uint32_t handle = 0; handle < entries_.size(); ++handle) {
    Entry& each = entries_[handle];
    if (!each.used || each.idle_timeout_ns == 0) continue;
    const uint64_t since_ns = std::max(each.last_hit_ns, each.idle_since_ns);
    if (now_ns < since_ns || now_ns - since_ns < each.idle_timeout_ns) continue;
    each.idle_since_ns = now_ns;
    report(handle);
  }
}

}  // namespace orrery::p4
