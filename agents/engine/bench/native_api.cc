// SPDX-License-Identifier: Apache-2.0
#include "native_api.h"

#include <map>
#include <string>
#include <vector>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "cycles.h"
#include "graphs.h"
#include "loads.h"
#include "segment_source.h"
#include "support/json_fields.h"

namespace orrery::bench {
namespace {

using nlohmann::json;

constexpr int kNativeRounds = 9;

// `tagger`, {"tags": bool}: reads a bit of each payload, and writes it into the metadata if it tags.
class Tagger final : public Module {
 public:
  explicit Tagger(const ModuleContext& context) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    tags_ = fields.boolean_or("tags", false);
    fields.done();
  }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    for (uint32_t i = 0; i < batch.count; ++i) {
      const uint16_t bit = bytes_of(batch.packets[i])[batch.packets[i]->data_len - 1u] & 1u;
      seen_ += bit;
      if (tags_) meta_of(batch.packets[i]).metadata = static_cast<uint16_t>(1u + bit);
    }
    pass.emit_all(0, batch);
  }

 private:
  bool tags_;
  uint64_t seen_ = 0;
};

// `forget_streams`: the next bytestream reassembles anew, as an NF does that gets packets alone.
class ForgetStreams final : public Module {
 public:
  void process(Pass& pass, Batch& batch, uint8_t) override {
    for (uint32_t i = 0; i < batch.count; ++i) meta_of(batch.packets[i]).has_stream = false;
    pass.emit_all(0, batch);
  }
};

template <class Make>
ModuleKind step_kind(std::string_view name, Make make) {
  return {.name = name,
          .inputs = 1,
          .gates = 1,
          .role = ModuleKind::Role::kStep,
          .port_use = ModuleKind::PortUse::kNone,
          .make = std::move(make)};
}

json chain_of(uint16_t bytes, const char* payload, const json& parts) {
  json modules = json::array({module("source", "segment_source", {{"bytes", bytes}, {"payload", payload}})});
  json links = json::array();
  std::string last = "source";
  for (const json& part : parts) {
    const std::string name = std::to_string(modules.size()) + "-" + part["kind"].get<std::string>();
    modules.push_back(part);
    modules.back()["name"] = name;
    links.push_back(link(last, name));
    last = name;
  }
  modules.push_back(module("sink", "sink"));
  links.push_back(link(last, "sink"));
  return graph(json::array(), std::move(modules), std::move(links), json::array({task("source")}));
}

// Packets that match leave by gate 0, as the others do.
json matching(json term) {
  const json rule{{"gate", 0}, {"match", json::array({std::move(term)})}};
  return module("", "classify", {{"rules", json::array({rule})}, {"default_gate", 0}});
}

json by_metadata() {
  return matching({{"field", "metadata"}, {"offset", 0}, {"width", 2}, {"value", 1}});
}

json by_header() {
  return matching({{"field", "port.dst"}, {"lo", 80}, {"hi", 80}});
}

json forwarder() {
  return module("", "l2-forwarder");
}

json detector(const char* nf) {
  json config = load_of(nf);
  config["inspect"] = "streams";
  return module("", nf, config);
}

// A URL filter that tells its verdict.
json url_nf(bool tells) {
  json nf = module("", "url-filter", load_of("url-filter"));
  if (tells)
    nf["metadata"] = {{"verdict", {{"offset", 0}, {"width", 2}, {"values", {{"allowed", 1}, {"blocked", 2}}}}}};
  return nf;
}

struct Way {
  const char* comparison;
  const char* form;
  uint16_t bytes;
  const char* payload;
  json parts;
};

std::vector<Way> ways() {
  const auto tagger = [](bool tags) { return module("", "tagger", {{"tags", tags}}); };
  std::vector<Way> all{
      {"match", "header", 64, "text", {tagger(false), by_header(), forwarder()}},
      {"match", "metadata", 64, "text", {tagger(true), by_metadata(), forwarder()}},
      {"match", "header", 1500, "text", {tagger(false), by_header(), forwarder()}},
      {"match", "metadata", 1500, "text", {tagger(true), by_metadata(), forwarder()}},
      {"path", "native", 64, "text", {forwarder(), forwarder()}},
      {"path", "native", 1500, "text", {forwarder(), forwarder()}},
      {"url", "metadata", 512, "request", {url_nf(true), by_metadata(), forwarder()}},
      {"url", "second parser", 512, "request", {url_nf(false), url_nf(true), by_metadata(), forwarder()}},
  };
  for (const uint16_t bytes : {uint16_t{128}, uint16_t{512}, uint16_t{1500}}) {
    const json bytestream = module("", "bytestream"), forget = module("", "forget_streams");
    const json ids = detector("ids"), sqli = detector("sqli-detector");
    all.push_back({"streams", "each", bytes, "text", {bytestream, ids, forget, bytestream, sqli}});
    all.push_back({"streams", "once", bytes, "text", {bytestream, ids, sqli}});
  }
  return all;
}

}  // namespace

void native_api(const Eal& eal, const std::function<void(const json& result)>& show) {
  BatchTimes times;
  const ModuleKind source = segment_source(times);
  const ModuleKind tagger = step_kind("tagger", [](const ModuleContext& context) -> std::unique_ptr<Module> {
    return std::make_unique<Tagger>(context);
  });
  const ModuleKind forget = step_kind("forget_streams", [](const ModuleContext&) -> std::unique_ptr<Module> {
    return std::make_unique<ForgetStreams>();
  });
  Engine engine({.workers = 1, .cpus = {}, .more_kinds = {&source, &tagger, &forget}}, eal);
  const std::vector<Way> all = ways();
  std::vector<std::vector<double>> cycles(all.size());
  // Each round measures all of them, so that what changes on the machine changes all.
  for (int round = 0; round < kNativeRounds; ++round)
    for (size_t i = 0; i < all.size(); ++i) {
      const double bare = cycles_of(engine, times, chain_of(all[i].bytes, all[i].payload, json::array()));
      cycles[i].push_back(cycles_of(engine, times, chain_of(all[i].bytes, all[i].payload, all[i].parts)) - bare);
    }
  for (size_t i = 0; i < all.size(); ++i)
    show({{"comparison", all[i].comparison},
          {"form", all[i].form},
          {"bytes", all[i].bytes},
          {"cycles", median(cycles[i])}});
}

}  // namespace orrery::bench
