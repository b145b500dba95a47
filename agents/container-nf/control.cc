// SPDX-License-Identifier: Apache-2.0
#include "container-nf/control.h"

#include <time.h>
#include <unistd.h>

#include "nfs/flow_moves.h"
#include "nfs/metadata_fields.h"
#include "support/clock.h"
#include "support/json_fields.h"

namespace orrery::container_nf {
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
    return copied(*pump_.nf().copy_state(limit));
  }
  if (method == "export_state") {
    fields.done();
    return copied(*pump_.nf().copy_flows());
  }
  if (method == "import_state") {
    return import_state(pump_.nf(), fields, slices());
  }
  if (method == "export_flows") {
    return export_flows(pump_.nf(), fields, slices());
  }
  if (method == "release_flows") {
    return release_flows(pump_.nf(), fields, slices());
  }
  if (method == "shutdown") {
    fields.done();
    shutdown();
    return result;
  }
  throw EngineError(kBad, "", "there is no method " + method);
}

// Frames are passed on between the slices.
Slices Control::slices() {
  return [this](const std::function<bool()>& slice) {
    for (bool more = true; more;) pump_.between_batches([&] { more = slice(); });
  };
}

// Frames are passed on between the slices and while it is written down.
json Control::copied(StateCopy& copy) {
  for (bool more = true; more;) pump_.between_batches([&] { more = copy.copy(kSliceRows); });
  return copy.finish(RowForm::kBinary);
}

json Control::describe() const {
  return {{"version", kVersion}, {"pid", getpid()}, {"epoch", epoch_}, {"nf", instance_.nf}};
}

json Control::stats() {
  uint64_t t_ns = 0;
  DirectionCounters forward;
  DirectionCounters back;
  std::map<std::string, uint64_t> counts;
  pump_.between_batches([&] {
    t_ns = monotonic_ns();
    forward = pump_.counters(Direction::kForward);
    back = pump_.counters(Direction::kReturn);
    counts = pump_.drops();
  });
  json drops = json::object();
  for (const auto& [reason, count] : counts)
    if (count != 0) drops[reason] = count;
  return {{"epoch", epoch_},         {"t_ns", t_ns},
          {"cpu_ns", cpu_ns()},      {"forward", to_json(forward)},
          {"return", to_json(back)}, {"drops", std::move(drops)}};
}

void Control::configure(const json& params) {
  JsonFields fields(params, "", kBad);
  Instance next{instance_.nf, fields.object("config"), instance_.metadata};
  if (const json* metadata = fields.optional("metadata"); metadata != nullptr)
    next.metadata = parse_metadata(*metadata, fields.pointer_to("metadata"), kBad);
  fields.done();
  // What takes long, such as the patterns of a large rule set, is built while packets still flow.
  std::unique_ptr<NextConfig> prepared;
  pointing_into("/config", [&] { prepared = pump_.nf().prepare(next.config, next.metadata); });
  pump_.between_batches([&] { pump_.nf().take(*prepared); });
  instance_ = std::move(next);
}

}  // namespace orrery::container_nf
