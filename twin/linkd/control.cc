// SPDX-License-Identifier: Apache-2.0
#include "linkd/control.h"

#include <cmath>
#include <set>

#include "support/json_fields.h"

namespace orrery::linkd {
namespace {

using nlohmann::json;

constexpr std::string_view kBad = "bad-request";
constexpr size_t kLinksMax = 256;
constexpr size_t kInterfaceNameMax = 15;
constexpr double kDelayMaxUs = 10e6;
constexpr int64_t kQueueMax = 1'000'000'000;

double number(JsonFields& fields, const std::string& name, double lo, double hi) {
  fields.required(name);
  const double value = fields.number_or(name, lo, lo);
  if (!(value <= hi)) fields.fail(name, "must be at most " + json(hi).dump());
  return value;
}

uint64_t nanoseconds(double us) {
  return static_cast<uint64_t>(std::llround(us * 1e3));
}

LinkConfig read_link(const json& value, const std::string& pointer) {
  JsonFields fields(value, pointer, kBad);
  LinkConfig config;
  config.id = fields.id("id");
  config.a = fields.string("a", kInterfaceNameMax);
  config.b = fields.string("b", kInterfaceNameMax);
  config.settings.rate_bps = number(fields, "rate_bps", 1000, 1e13);
  config.settings.delay_ns = nanoseconds(number(fields, "delay_us", 0, kDelayMaxUs));
  config.settings.jitter_ns = nanoseconds(number(fields, "jitter_us", 0, kDelayMaxUs));
  config.settings.loss = number(fields, "loss", 0, 1);
  config.settings.queue_bytes = static_cast<uint64_t>(fields.integer("queue_bytes", 1, kQueueMax));
  fields.done();
  if (config.settings.jitter_ns > config.settings.delay_ns) fields.fail("jitter_us", "is more than the delay");
  return config;
}

std::vector<LinkConfig> read_links(const json& params) {
  JsonFields fields(params, "", kBad);
  const json& list = fields.array("links", 0, kLinksMax);
  fields.done();
  std::vector<LinkConfig> configs;
  std::set<std::string> ids, interfaces;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = "/links/" + std::to_string(i);
    configs.push_back(read_link(list[i], pointer));
    const LinkConfig& config = configs.back();
    if (!ids.insert(config.id).second) throw EngineError(kBad, pointer + "/id", config.id + " is used twice");
    if (!interfaces.insert(config.a).second) throw EngineError(kBad, pointer + "/a", config.a + " is used twice");
    if (!interfaces.insert(config.b).second) throw EngineError(kBad, pointer + "/b", config.b + " is used twice");
  }
  return configs;
}

json told(const Counters& counters) {
  return {{"frames", counters.frames},
          {"bytes", counters.bytes},
          {"lost", counters.lost},
          {"queue_drops", counters.queue_drops},
          {"memory_drops", counters.memory_drops},
          {"refused", counters.refused}};
}

json told(const std::vector<LinkReport>& reports) {
  json links = json::array();
  for (const LinkReport& report : reports)
    links.push_back({{"id", report.id},
                     {"failure", report.failure.empty() ? json(nullptr) : json(report.failure)},
                     {"a_to_b", told(report.a_to_b)},
                     {"b_to_a", told(report.b_to_a)}});
  return {{"links", std::move(links)}};
}

}  // namespace

json handle(Pump& pump, const std::string& method, const json& params) {
  std::vector<LinkReport> reports;
  if (method == "set-links") {
    const std::vector<LinkConfig> configs = read_links(params);
    pump.between_batches([&](LinkTable& links) {
      links.set(configs);
      reports = links.report();
    });
  } else if (method == "get-links") {
    JsonFields(params, "", kBad).done();
    pump.between_batches([&](LinkTable& links) { reports = links.report(); });
  } else {
    throw EngineError("unknown-method", "", "unknown method " + method.substr(0, 40));
  }
  return told(reports);
}

}  // namespace orrery::linkd
