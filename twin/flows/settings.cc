// SPDX-License-Identifier: Apache-2.0
#include "flows/settings.h"

#include <string_view>
#include <utility>
#include <vector>

#include "flows/frame_writer.h"

#include "support/json_fields.h"

namespace orrery::flows {
namespace {

constexpr std::string_view kInvalid = "invalid";
constexpr size_t kNameMax = 64;
constexpr size_t kWaveMax = 100;
constexpr double kRateMaxBps = 10e9;

double number(JsonFields& fields, const std::string& name, double lo, double hi) {
  fields.required(name);
  const double value = fields.number_or(name, lo, lo);
  if (value > hi) fields.fail(name, "is too large");
  return value;
}

std::vector<WavePoint> wave_of(JsonFields& fields) {
  std::vector<WavePoint> points;
  for (const nlohmann::json& each : fields.array("wave", 0, kWaveMax)) {
    JsonFields point(each, fields.pointer_to("wave", points.size()), kInvalid);
    const double at_s = number(point, "at_s", 0, 86'400);
    if (!points.empty() && at_s <= points.back().at_s) point.fail("at_s", "must be later than the point before it");
    points.push_back({at_s, number(point, "rate_bps", 0, kRateMaxBps)});
  }
  return points;
}

}  // namespace

GenerateSettings generate_settings(const nlohmann::json& settings) {
  JsonFields fields(settings, "", kInvalid);
  GenerateSettings out;
  out.interface = fields.string("interface", kNameMax);
  out.gateway_mac = fields.string("gateway_mac", kNameMax);
  out.address = fields.string("address", kNameMax);
  out.port = static_cast<uint16_t>(fields.integer("port", 1, 65'535));
  out.duration_s = number(fields, "duration_s", 0, 86'400);
  SourceSettings& source = out.source;
  source.flows_per_s = number(fields, "flows_per_s", 1e-6, 20'000);
  const std::string distribution = fields.string("distribution", kNameMax);
  const auto shape = flow_shape(distribution);
  if (!shape) fields.fail("distribution", "is not known: " + distribution);
  source.shape = *shape;
  source.mean_bytes = number(fields, "mean_bytes", 0, 1e9);
  source.mean_lifetime_s = number(fields, "mean_lifetime_s", 0.01, 3600);
  source.tcp_share = number(fields, "tcp_share", 0, 1);
  source.mix = fields.string("packets", kNameMax) == "imix";
  source.packet_bytes = static_cast<uint16_t>(fields.integer("packet_bytes", 106, FrameWriter::kFrameMax));
  const double rate_bps = number(fields, "rate_bps", 0, kRateMaxBps);
  std::vector<WavePoint> wave = wave_of(fields);
  if (!wave.empty()) {
    source.rate = RateWave(std::move(wave), fields.boolean_or("wave_repeats", false));
  } else if (rate_bps > 0) {
    source.rate = RateWave(rate_bps);
  }
  source.seed = static_cast<uint64_t>(fields.integer("seed", 0, INT32_MAX));
  return out;
}

SinkSettings sink_settings(const nlohmann::json& settings) {
  JsonFields fields(settings, "", kInvalid);
  return {fields.string("interface", kNameMax), static_cast<uint16_t>(fields.integer("port", 1, 65'535))};
}

}  // namespace orrery::flows
