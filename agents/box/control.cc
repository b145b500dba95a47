// SPDX-License-Identifier: Apache-2.0
#include "box/control.h"

#include <time.h>
#include <unistd.h>

#include "nfs/metadata_fields.h"
#include "support/clock.h"
#include "support/json_fields.h"

namespace orrery::box {
namespace {

using nlohmann::json;

constexpr std::string_view kBad = "bad-request";
constexpr std::string_view kInvalid = "invalid-config";

// CPU time of this process.
uint64_t cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

json to_json(const DirectionCounters& counters) {
  return {{"packets_in", counters.packets_in},
          {"packets_out", counters.packets_out},
          {"bytes_in", counters.bytes_in},
          {"bytes_out", counters.bytes_out}};
}

// Runs `work`; a fault of an NF's configuration or state points into `member` of the params.
template <typename Work>
void pointing_into(const char* member, Work&& work) {
  try {
    work();
  } catch (const ConfigError& error) {
    throw EngineError(kInvalid, member + error.pointer, error.what());
  }
}

}  // namespace

Control::Control(FramePump& pump, Instance instance, std::string epoch)
    : pump_(pump), instance_(std::move(instance)), epoch_(std::move(epoch)) {}

json Control::call(const std::string& method, const json& params, const std::function<void()>& shutdown) {
  if (method == "configure") {
    configure(params);
    return json::object();
  }
  JsonFields fields(params, "", kBad);
  json result = json::object();
  if (method == "describe") {
    fields.done();
    return describe();
  }
  if (method == "stats") {
    fields.done();
    return stats();
  }
  if (method == "get_state") {
    const auto limit = static_cast<size_t>(fields.integer_or("limit", 1, 100'000, 1000));
    fields.done();
    pump_.between_batches([&] { result = pump_.nf().state(limit); });
    return result;
  }
  if (method == "export_state") {
    fields.done();
    pump_.between_batches([&] { result = pump_.nf().export_state(); });
    return result;
  }
  if (method == "import_state") {
    const json& state = fields.object("state");
    fields.done();
    pointing_into("/state", [&] { pump_.between_batches([&] { pump_.nf().import_state(state); }); });
    return result;
  }
  if (method == "shutdown") {
    fields.done();
    shutdown();
    return result;
  }
  throw EngineError(kBad, "", "there is no method " + method);
}

json Control::describe() const {
  return {{"version", kBoxVersion}, {"pid", getpid()}, {"epoch", epoch_}, {"nf", instance_.nf}};
}

json Control::stats() {
  json result;
  pump_.between_batches([&] {
    json drops = json::object();
    for (const auto& [reason, count] : pump_.drops())
      if (count != 0) drops[reason] = count;
    result = {{"t_ns", monotonic_ns()},
              {"forward", to_json(pump_.counters(Direction::kForward))},
              {"return", to_json(pump_.counters(Direction::kReturn))},
              {"drops", std::move(drops)}};
  });
  result["epoch"] = epoch_;
  result["cpu_ns"] = cpu_ns();
  return result;
}

void Control::configure(const json& params) {
  JsonFields fields(params, "", kBad);
  Instance next{instance_.nf, fields.object("config"), instance_.metadata};
  if (const json* metadata = fields.optional("metadata"); metadata != nullptr)
    next.metadata = parse_metadata(*metadata, fields.pointer_to("metadata"), kBad);
  fields.done();
  if (next.metadata == instance_.metadata) {
    // What takes long, such as the patterns of a large rule set, is built while packets still flow.
    std::unique_ptr<NextConfig> prepared;
    pointing_into("/config", [&] { prepared = pump_.nf().prepare(next.config); });
    pump_.between_batches([&] { pump_.nf().take(*prepared); });
  } else {
    replace(next);
  }
  instance_ = std::move(next);
}

// Metadata is fixed for an NF's life, so another one takes over the flow state.
void Control::replace(const Instance& next) {
  std::unique_ptr<NfCore> nf = make_nf(next);
  pointing_into("/config", [&] {
    pump_.between_batches([&] {
      nf->import_state(pump_.nf().export_state());
      pump_.set_nf(std::move(nf));
    });
  });
}

}  // namespace orrery::box
