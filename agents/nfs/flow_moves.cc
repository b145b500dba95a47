// SPDX-License-Identifier: Apache-2.0
#include "nfs/flow_moves.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "nfs/movable_flows.h"
#include "support/clock.h"

namespace orrery {

namespace {

using nlohmann::json;

constexpr std::string_view kBad = "bad-request";
constexpr std::string_view kInvalid = "invalid-config";
constexpr size_t kMaxToken = 100;

struct Token {
  size_t table;  // which of the NF's
  FlowPortion portion;
};

std::string text_of(const Token& token) {
  const FlowPortion& p = token.portion;
  std::array<char, kMaxToken> text;
  const int length = std::snprintf(text.data(), text.size(), "%zx.%llx.%x.%x.%llx", token.table,
                                   static_cast<unsigned long long>(p.table), p.first, p.end,
                                   static_cast<unsigned long long>(p.as_of_ns));
  return {text.data(), static_cast<size_t>(length)};
}

// Nothing: it is none.
std::optional<Token> parse_token(std::string_view text) {
  std::array<uint64_t, 5> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), numbers[i], 16);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const bool is_last = i + 1 == numbers.size();
    if (is_last ? !text.empty() : !text.starts_with('.')) return std::nullopt;
    if (!is_last) text.remove_prefix(1);
  }
  const auto [table, id, first, end, as_of_ns] = numbers;
  if (first > end || end > UINT32_MAX) return std::nullopt;
  return Token{table, {id, static_cast<uint32_t>(first), static_cast<uint32_t>(end), as_of_ns}};
}

std::optional<Token> read_token(JsonFields& params, const std::string& name) {
  if (params.optional(name) == nullptr) return std::nullopt;
  const auto token = parse_token(params.string(name, kMaxToken));
  if (!token) params.fail(name, "is not a portion of an export");
  return token;
}

MovableTables tables_of(NfCore& nf) {
  MovableTables tables = nf.movable_flows();
  if (tables.empty()) throw EngineError(kBad, "", "this NF keeps no state by flow that could move in part");
  return tables;
}

FlowSelector read_selector(JsonFields& params, const MovableTables& tables) {
  static const json kAll = json::object();
  const json* flows = params.optional("flows");
  return parse_flow_selector(flows == nullptr ? kAll : *flows, params.pointer_to("flows"), tables.front()->fields());
}

// When the flows asked for were used at the earliest.
uint64_t used_since(JsonFields& params) {
  const auto within_ms = static_cast<uint64_t>(params.integer_or("used_within_ms", 1, 86'400'000, 0));
  const uint64_t now_ns = monotonic_ns();
  return within_ms == 0 ? 0 : now_ns - std::min(now_ns, within_ms * 1'000'000);
}

// Throws where flows stand elsewhere by now.
MovableFlows& table_of(const MovableTables& tables, const Token& token, JsonFields& params, const std::string& name) {
  if (token.table >= tables.size() || tables[token.table]->table() != token.portion.table)
    params.fail(name, "is of another table than the one that the NF has now: begin anew");
  return *tables[token.table];
}

std::unique_ptr<PortionCopy> copied(const MovableFlows& table, const FlowSelector& selector, uint32_t first,
                                    uint64_t since_ns, const Slices& slices) {
  auto copy = table.copy(selector, first, since_ns);
  slices([&] { return copy->copy(kSliceRows); });
  return copy;
}

}  // namespace

json export_flows(NfCore& nf, JsonFields& params, const Slices& slices) {
  const MovableTables tables = tables_of(nf);
  const FlowSelector selector = read_selector(params, tables);
  const auto after = read_token(params, "after"), since = read_token(params, "since");
  const uint64_t since_ns = std::max(since ? since->portion.as_of_ns : 0, used_since(params));
  params.done();
  if (after) table_of(tables, *after, params, "after");
  size_t at = after ? after->table : 0;
  auto copy = copied(*tables[at], selector, after ? after->portion.end : 0, since_ns, slices);
  if (after && copy->rows() == 0 && copy->is_last() && at + 1 < tables.size())
    copy = copied(*tables[++at], selector, 0, since_ns, slices);
  const size_t rows = copy->rows();
  return {{"state", copy->finish(RowForm::kBinary)},
          {"rows", rows},
          {"portion", text_of({at, copy->portion()})},
          {"last", copy->is_last() && at + 1 == tables.size()}};
}

json release_flows(NfCore& nf, JsonFields& params, const Slices& slices) {
  const MovableTables tables = tables_of(nf);
  const FlowSelector selector = read_selector(params, tables);
  const auto portion = read_token(params, "portion");
  if (!portion) params.fail("portion", "is required");
  const uint64_t since_ns = used_since(params);
  params.done();
  const auto release = table_of(tables, *portion, params, "portion").release(selector, portion->portion, since_ns);
  slices([&] { return release->release(kImportSliceRows); });
  return {{"released", release->released}, {"kept", release->kept}};
}

json import_state(NfCore& nf, JsonFields& params, const Slices& slices) {
  const json& state = params.object("state");
  const bool renew = params.boolean_or("renew", false);
  params.done();
  std::unique_ptr<StateImport> import;
  try {
    import = nf.prepare_import(state, renew ? KnownFlows::kRenew : KnownFlows::kMerge);
  } catch (const ConfigError& error) {
    throw EngineError(kInvalid, params.pointer_to("state") + error.pointer, error.what());
  }
  const MovableTables tables = nf.movable_flows();
  const auto losses = [&] {
    uint64_t sum = 0;
    for (const auto& table : tables) sum += table->import_losses();
    return sum;
  };
  std::optional<uint64_t> before;
  uint64_t after = 0;
  slices([&] {
    if (!before) before = losses();
    const bool more = import->take(kImportSliceRows);
    after = losses();
    return more;
  });
  std::string ids;
  for (const auto& table : tables) ids.append(ids.empty() ? 0 : 1, '.').append(std::to_string(table->table()));
  return {{"tables", ids}, {"left_out", after - before.value_or(0)}};
}

}  // namespace orrery
