// SPDX-License-Identifier: Apache-2.0
#include "p4/switch/trace_store.h"

namespace orrery::p4 {
namespace {

using nlohmann::json;

constexpr size_t kMostInAnswer = 64;
constexpr size_t kMostBytesInAnswer = size_t{2} << 20;

json values(const NamedValues& all) {
  json out = json::array();
  for (const auto& [name, value] : all) out.push_back({{"name", name}, {"value", value}});
  return out;
}

struct ToJson {
  json operator()(const step::Begin& s) const {
    return {{"step", "begin"}, {"kind", s.kind}, {"port", s.port}, {"rid", s.rid}, {"bytes", s.bytes}};
  }
  json operator()(const step::ParserState& s) const {
    return {{"step", "parser_state"},
            {"parser", s.parser},
            {"state", s.state},
            {"extracted", s.extracted},
            {"next", s.next}};
  }
  json operator()(const step::ParserFailed& s) const {
    return {{"step", "parser_failed"}, {"state", s.state}, {"error", s.error}};
  }
  json operator()(const step::ChecksumVerified& s) const {
    return {{"step", "checksum_verified"}, {"name", s.name}, {"right", s.right}};
  }
  json operator()(const step::ChecksumUpdated& s) const {
    return {{"step", "checksum_updated"}, {"name", s.name}, {"value", s.value}};
  }
  json operator()(const step::Pipeline& s) const { return {{"step", "pipeline"}, {"name", s.name}}; }
  json operator()(const step::TableLookup& s) const {
    return {{"step", "table_lookup"}, {"table", s.table}, {"key", values(s.key)}, {"hit", s.hit}, {"entry", s.entry}};
  }
  json operator()(const step::ActionRun& s) const {
    return {{"step", "action_run"}, {"action", s.action}, {"args", values(s.args)}};
  }
  json operator()(const step::Condition& s) const {
    return {{"step", "condition"}, {"name", s.name}, {"source", s.source}, {"taken", s.taken}};
  }
  json operator()(const step::Counted& s) const {
    return {{"step", "counted"}, {"counter", s.counter}, {"index", s.index}};
  }
  json operator()(const step::Metered& s) const {
    return {{"step", "metered"}, {"meter", s.meter}, {"index", s.index}, {"colour", s.colour}};
  }
  json operator()(const step::Register& s) const {
    return {{"step", "register"}, {"name", s.name}, {"index", s.index}, {"write", s.write}, {"value", s.value}};
  }
  json operator()(const step::Logged& s) const { return {{"step", "logged"}, {"text", s.text}}; }
  json operator()(const step::Copied& s) const {
    return {{"step", "copied"}, {"kind", s.kind}, {"id", s.id}, {"copies", s.copies}};
  }
  json operator()(const step::Dropped& s) const { return {{"step", "dropped"}, {"reason", s.reason}}; }
  json operator()(const step::Deparsed& s) const {
    return {{"step", "deparsed"},
            {"headers", s.headers},
            {"header_bytes", s.header_bytes},
            {"payload_bytes", s.payload_bytes}};
  }
  json operator()(const step::Sent& s) const { return {{"step", "sent"}, {"port", s.port}, {"bytes", s.bytes}}; }
};

}  // namespace

json to_json(const TraceStep& step) {
  return std::visit(ToJson{}, step);
}

void TraceStore::arm(uint32_t count, std::optional<uint32_t> port) {
  const std::lock_guard lock(mutex_);
  armed_ = count;
  port_ = port;
}

bool TraceStore::take(uint32_t port) {
  if (armed_.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard lock(mutex_);
  if (armed_ == 0 || (port_ && *port_ != port)) return false;
  --armed_;
  return true;
}

void TraceStore::add(uint32_t port, size_t bytes, uint64_t now_ns, PacketTrace&& trace) {
  const std::lock_guard lock(mutex_);
  steps_ += trace.steps.size();
  kept_.push_back({++last_, now_ns, port, bytes, std::move(trace)});
  while (kept_.size() > kMostKept || (steps_ > kMostSteps && kept_.size() > 1)) {
    steps_ -= kept_.front().trace.steps.size();
    kept_.pop_front();
    ++lost_;
  }
}

json TraceStore::read(uint64_t after) const {
  const std::lock_guard lock(mutex_);
  json traces = json::array();
  size_t bytes = 0;
  for (const Kept& each : kept_) {
    if (each.sequence <= after) continue;
    json steps = json::array();
    uint64_t left_out = each.trace.left_out;
    // One trace alone may be longer than an answer.
    size_t size = 100;
    for (const TraceStep& step : each.trace.steps) {
      json one = to_json(step);
      const size_t length = one.dump(-1, ' ', false, json::error_handler_t::replace).size();
      if (size + length > kMostBytesInAnswer) {
        ++left_out;
        continue;
      }
      size += length + 1;
      steps.push_back(std::move(one));
    }
    if (traces.size() == kMostInAnswer || (!traces.empty() && bytes + size > kMostBytesInAnswer)) break;
    bytes += size;
    traces.push_back({{"sequence", each.sequence},
                      {"t_ns", each.now_ns},
                      {"port", each.port},
                      {"bytes", each.bytes},
                      {"steps", std::move(steps)},
                      {"left_out", left_out}});
  }
  return {{"traces", std::move(traces)}, {"armed", armed_.load()}, {"lost", lost_}};
}

}  // namespace orrery::p4
