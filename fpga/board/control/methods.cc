// SPDX-License-Identifier: Apache-2.0
#include "board/control/methods.h"

#include <algorithm>
#include <map>
#include <span>

#include "board/control/hex.h"
#include "board/device/table.h"
#include "board/sim/shell_registers.h"
#include "board/slot/registers.h"
#include "support/json_fields.h"

namespace orrery::board {
namespace {

using nlohmann::json;

constexpr std::string_view kBad = "bad-request";
constexpr std::string_view kConflict = "conflict";
constexpr std::string_view kFaulty = "faulty";

constexpr size_t kMaxAccesses = 4096;
constexpr size_t kMaxStreamFrames = 1024;
// No other request is served in the meantime.
constexpr int64_t kMaxStreamMs = 5000;
// Table entries moved before frames get a turn.
constexpr size_t kTablePart = 64;

JsonFields fields_of(const json& params) {
  return {params, "", kBad};
}

size_t slot_of(Board& board, JsonFields& fields) {
  return static_cast<size_t>(fields.integer("slot", 0, static_cast<int64_t>(board.device().slots()) - 1));
}

// null stands for the shell or the whole device.
std::optional<size_t> slot_or_null(Board& board, JsonFields& fields) {
  if (fields.required("slot").is_null()) return {};
  return slot_of(board, fields);
}

Policy policy_of(JsonFields& fields, Policy absent) {
  if (fields.optional("policy") == nullptr) return absent;
  const std::string name = fields.string("policy", 16);
  for (const Policy policy : {Policy::kHold, Policy::kDrop, Policy::kBypass})
    if (name == to_string(policy)) return policy;
  fields.fail("policy", "must be hold, drop or bypass");
}

void require(bool holds, const std::string& detail) {
  if (!holds) throw EngineError(kConflict, "", detail);
}

std::string name_of(size_t slot) {
  return "slot " + std::to_string(slot);
}

void require_registers(Board& board, std::optional<size_t> slot) {
  require(board.device().powered(), "the device is being configured");
  if (slot)
    require(board.device().has_registers(*slot),
            name_of(*slot) + " is " + to_string(board.device().slot(*slot).state) + ": it has no registers");
}

template <typename T>
T answered(std::optional<T> value, size_t slot) {
  if (!value) throw EngineError(kFaulty, "", name_of(slot) + " did not answer a register access");
  return std::move(*value);
}

uint32_t word_at(const json& value, const std::string& pointer) {
  if (value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() > UINT32_MAX) &&
      value.get<int64_t>() >= 0 && value.get<int64_t>() <= UINT32_MAX)
    return value.get<uint32_t>();
  throw EngineError(kBad, pointer, "must be an integer from 0 to 4294967295");
}

uint16_t address_at(const json& value, const std::string& pointer) {
  const uint32_t address = word_at(value, pointer);
  if (address > 0xfffc || address % 4 != 0) throw EngineError(kBad, pointer, "must be a multiple of 4 up to 65532");
  return static_cast<uint16_t>(address);
}

std::string at(const std::string& array, size_t i) {
  return "/" + array + "/" + std::to_string(i);
}

json describe(Board& board, const json& params) {
  fields_of(params).done();
  return board.describe();
}

json status(Board& board, const json& params) {
  fields_of(params).done();
  return board.status();
}

json load(Board& board, const json& params) {
  JsonFields fields = fields_of(params);
  LoadRequest request;
  request.slot = slot_or_null(board, fields);
  const std::string kind = fields.string("kind", 16);
  if (kind != "full" && kind != "partial") fields.fail("kind", "must be full or partial");
  request.kind = kind == "full" ? ImageKind::kFull : ImageKind::kPartial;
  if (request.slot.has_value() == (request.kind == ImageKind::kFull))
    fields.fail("slot", "must be null for a full image and a number for a partial one");
  request.path = fields.string("image", 4096);
  request.policy = policy_of(fields, request.slot ? Policy::kHold : Policy::kDrop);
  if (!request.slot && request.policy != Policy::kDrop)
    fields.fail("policy", "must be drop: a full load takes the links down");
  fields.done();
  require(!board.loading(), "another load is in progress");
  return {{"id", board.load(std::move(request))}};
}

json quiesce(Board& board, const json& params) {
  JsonFields fields = fields_of(params);
  const size_t slot = slot_of(board, fields);
  const Policy policy = policy_of(fields, Policy::kHold);
  fields.done();
  require(board.device().powered() && board.device().slot(slot).state == SlotState::kActive,
          name_of(slot) + " is " + to_string(board.device().slot(slot).state) + ", not active");
  board.quiesce(slot, policy);
  return json::object();
}

json resume(Board& board, const json& params) {
  JsonFields fields = fields_of(params);
  const size_t slot = slot_of(board, fields);
  fields.done();
  const SlotState state = board.device().slot(slot).state;
  require(board.device().powered() && (state == SlotState::kConfiguring || state == SlotState::kQuiescing),
          name_of(slot) + " is " + to_string(state) + ": only a configuring or quiescing slot resumes");
  board.resume(slot);
  return json::object();
}

json unload(Board& board, const json& params) {
  JsonFields fields = fields_of(params);
  const size_t slot = slot_of(board, fields);
  fields.done();
  require(board.device().powered() && board.device().slot(slot).state != SlotState::kLoading,
          name_of(slot) + " is loading");
  board.unload(slot);
  return json::object();
}

json csr_read(Board& board, const json& params) {
  JsonFields fields = fields_of(params);
  const auto slot = slot_or_null(board, fields);
  const json& addresses = fields.array("addresses", 1, kMaxAccesses);
  fields.done();
  std::vector<uint16_t> checked;
  for (size_t i = 0; i < addresses.size(); ++i) {
    checked.push_back(address_at(addresses[i], at("addresses", i)));
    if (slot && checked.back() == reg::kEventData)
      throw EngineError(kBad, at("addresses", i), "the board itself consumes events: use the events socket");
  }
  require_registers(board, slot);
  json values = json::array();
  for (const uint16_t address : checked)
    values.push_back(slot ? answered(board.device().read(*slot, address), *slot)
                          : board.device().simulation().read({}, address));
  return {{"values", std::move(values)}};
}

// The registers by which the board itself controls slots and links; all others of the shell are writable.
bool boards_own(uint16_t address) {
  return address == shell::kLink || (address >= shell::kSlotControl && address % shell::kSlotStride == 0);
}

json csr_write(Board& board, const json& params) {
  JsonFields fields = fields_of(params);
  const auto slot = slot_or_null(board, fields);
  const json& writes = fields.array("writes", 1, kMaxAccesses);
  fields.done();
  std::vector<std::pair<uint16_t, uint32_t>> checked;
  for (size_t i = 0; i < writes.size(); ++i) {
    const std::string pointer = at("writes", i);
    if (!writes[i].is_array() || writes[i].size() != 2) throw EngineError(kBad, pointer, "must be [address, value]");
    checked.push_back({address_at(writes[i][0], pointer + "/0"), word_at(writes[i][1], pointer + "/1")});
    if (!slot && boards_own(checked.back().first))
      throw EngineError(kBad, pointer + "/0", "is written by load, quiesce, resume and unload only");
  }
  require_registers(board, slot);
  for (const auto& [address, value] : checked) {
    if (slot) {
      answered(board.device().write(*slot, address, value) ? std::optional(true) : std::nullopt, *slot);
    } else {
      board.device().simulation().write({}, address, value);
    }
  }
  return json::object();
}

void table_export(Board& board, const json& params, Reply& reply) {
  JsonFields fields = fields_of(params);
  const size_t slot = slot_of(board, fields);
  const auto max = static_cast<size_t>(fields.integer_or("max", 1, kTableEntries, kTableEntries));
  fields.done();
  require_registers(board, slot);
  const size_t places = table_places(*board.device().slot(slot).module);
  board.work(
      [&board, slot, walk = TableExport(slot, places, max)]() mutable -> std::optional<json> {
        require_registers(board, slot);
        if (answered(walk.step(board.device(), kTablePart), slot)) return {};
        return json{{"entries", walk.entries()}};
      },
      reply);
}

void table_import(Board& board, const json& params, Reply& reply) {
  JsonFields fields = fields_of(params);
  const size_t slot = slot_of(board, fields);
  const json& given = fields.array("entries", 0, kTableEntries);
  fields.done();
  std::vector<TableEntry> entries(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string pointer = at("entries", i);
    if (!given[i].is_array() || given[i].size() != entries[i].size())
      throw EngineError(kBad, pointer, "must be an array of 8 words");
    for (size_t word = 0; word < entries[i].size(); ++word)
      entries[i][word] = word_at(given[i][word], pointer + "/" + std::to_string(word));
  }
  require_registers(board, slot);
  board.work(
      [&board, slot, entries = std::move(entries), next = size_t{0},
       sum = TableImport{}]() mutable -> std::optional<json> {
        require_registers(board, slot);
        const auto part = std::span(entries).subspan(next, std::min(kTablePart, entries.size() - next));
        const TableImport done = answered(import_table(board.device(), slot, part), slot);
        if (done.imported + done.refused < part.size())
          throw EngineError(kConflict, "/entries",
                            name_of(slot) + ": " + board.device().slot(slot).module->name + " has no table");
        next += part.size();
        sum.imported += done.imported;
        sum.refused += done.refused;
        if (next < entries.size()) return {};
        return json{{"imported", sum.imported}, {"refused", sum.refused}};
      },
      reply);
}

json inject(Board& board, const json& params) {
  JsonFields fields = fields_of(params);
  const std::string fault = fields.string("fault", 32);
  if (fault != "slot-stuck" && fault != "slot-clear") fields.fail("fault", "must be slot-stuck or slot-clear");
  const size_t slot = slot_of(board, fields);
  fields.done();
  require(board.device().slot(slot).module.has_value(), name_of(slot) + " holds no module");
  board.device().simulation().place(slot).set_stuck(fault == "slot-stuck");
  return json::object();
}

void stream(Board& board, const json& params, Reply& reply) {
  JsonFields fields = fields_of(params);
  const size_t slot = slot_of(board, fields);
  const json& given = fields.array("frames", 1, kMaxStreamFrames);
  const int64_t timeout_ms = fields.integer_or("timeout_ms", 1, kMaxStreamMs, 1000);
  fields.done();
  std::vector<Stream::Bytes> frames;
  for (size_t i = 0; i < given.size(); ++i) {
    auto bytes = given[i].is_string() ? from_hex(given[i].get_ref<const std::string&>()) : std::nullopt;
    if (!bytes || bytes->empty() || bytes->size() > kMaxFrameBytes)
      throw EngineError(kBad, at("frames", i), "must be 1 to 2048 bytes in hexadecimal digits");
    frames.push_back(std::move(*bytes));
  }
  require(board.device().powered() && board.device().slot(slot).state == SlotState::kActive,
          name_of(slot) + " is not active");
  require(board.free_of_streams(slot), name_of(slot) + " still holds frames of a stream that did not finish in time");
  board.stream(slot, std::move(frames), static_cast<uint64_t>(timeout_ms) * 1'000'000, reply);
}

}  // namespace

Mailbox::Task find_method(Board& board, const std::string& method, const json& params) {
  using Method = json (*)(Board&, const json&);
  static const std::map<std::string, Method> kMethods = {
      {"describe", describe}, {"status", status},       {"load", load},
      {"quiesce", quiesce},   {"resume", resume},       {"unload", unload},
      {"csr_read", csr_read}, {"csr_write", csr_write}, {"inject", inject}};
  using LongMethod = void (*)(Board&, const json&, Reply&);
  static const std::map<std::string, LongMethod> kLongMethods = {
      {"stream", stream}, {"table_export", table_export}, {"table_import", table_import}};
  if (const auto it = kLongMethods.find(method); it != kLongMethods.end())
    return [&board, &params, call = it->second](Reply& reply) { call(board, params, reply); };
  const auto it = kMethods.find(method);
  if (it == kMethods.end()) throw EngineError(kBad, "", "unknown method " + method);
  return [&board, &params, call = it->second](Reply& reply) { reply.give(call(board, params)); };
}

}  // namespace orrery::board
