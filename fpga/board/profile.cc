// SPDX-License-Identifier: Apache-2.0
#include "board/profile.h"

#include <fstream>
#include <stdexcept>

#include "support/json_fields.h"

namespace orrery::board {
namespace {

using nlohmann::json;

constexpr std::string_view kCode = "profile";
constexpr int64_t kMany = int64_t{1} << 40;

double positive(JsonFields& fields, const std::string& name) {
  fields.required(name);
  const double value = fields.number_or(name, 0, 0);
  if (value <= 0) fields.fail(name, "must be above 0");
  return value;
}

Resources resources(const json& value, const std::string& pointer) {
  JsonFields fields(value, pointer, kCode);
  Resources out;
  out.lut = static_cast<uint64_t>(fields.integer("lut", 0, kMany));
  out.ff = static_cast<uint64_t>(fields.integer("ff", 0, kMany));
  out.bram_kib = static_cast<uint64_t>(fields.integer("bram_kib", 0, kMany));
  fields.done();
  return out;
}

Configuration configuration(const json& value, const std::string& pointer) {
  JsonFields fields(value, pointer, kCode);
  Configuration out;
  out.bytes = static_cast<uint64_t>(fields.integer("bytes", 1, static_cast<int64_t>(kMaxPayloadBytes)));
  out.bytes_per_s = positive(fields, "bytes_per_s");
  fields.required("setup_s");
  out.setup_s = fields.number_or("setup_s", 0, 0);
  fields.done();
  return out;
}

std::vector<Region> regions(const json& slots) {
  std::vector<Region> out;
  for (size_t i = 0; i < slots.size(); ++i) {
    const std::string pointer = "/slots/" + std::to_string(i);
    JsonFields fields(slots[i], pointer, kCode);
    out.push_back({fields.string("region", 31), resources(fields.object("resources"), pointer + "/resources")});
    fields.done();
  }
  return out;
}

}  // namespace

json to_json(const Resources& r) {
  return {{"lut", r.lut}, {"ff", r.ff}, {"bram_kib", r.bram_kib}};
}

Profile parse_profile(const json& document) {
  JsonFields fields(document, "", kCode);
  Profile out;
  out.name = fields.string("name", 31);
  out.title = fields.string("title", 120);
  out.device = fields.string("device", 120);
  out.family = fields.string("family", 60);
  out.clock_mhz = static_cast<uint32_t>(fields.integer("clock_mhz", 1, 1000));
  out.resources = resources(fields.object("resources"), "/resources");
  out.regions = regions(fields.array("slots", 1, kMaxSlots));
  out.full = configuration(fields.object("full"), "/full");
  out.partial = configuration(fields.object("partial"), "/partial");
  out.dma_bytes_per_s = positive(fields, "dma_bytes_per_s");
  fields.required("dma_latency_us");
  out.dma_latency_us = fields.number_or("dma_latency_us", 0, 0);
  out.port_mbps = positive(fields, "port_mbps");
  fields.object("sources");
  fields.done();
  return out;
}

Profile read_profile(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const json document = json::parse(file, nullptr, false);
  if (document.is_discarded()) throw std::runtime_error(path + ": not JSON");
  try {
    return parse_profile(document);
  } catch (const EngineError& error) {
    throw std::runtime_error(path + ": " + error.pointer + " " + error.what());
  }
}

}  // namespace orrery::board
