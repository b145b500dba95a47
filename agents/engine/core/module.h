// SPDX-License-Identifier: Apache-2.0
// What a module is. A new kind is one folder in modules/ and one line in modules/registry.cc; an NF is one folder in
// nfs/ and one line in nfs/registry.cc.
#pragma once

#include <rte_mempool.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/batch.h"
#include "core/splitter.h"
#include "nfs/bytestream/stream_log.h"
#include "nfs/nf_core.h"
#include "support/errors.h"
#include "support/histogram.h"

namespace orrery {

class Pass;
class Port;
class Waker;

// Drop reasons that every module has; its own follow.
constexpr uint8_t kDropNoGate = 0;
constexpr uint8_t kDropEmitOverflow = 1;
constexpr uint8_t kFirstOwnReason = 2;

struct ModuleCounters {
  uint64_t packets_in = 0;
  uint64_t packets_out = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t cycles = 0;
  std::vector<uint64_t> drops;         // by index of drop_reasons()
  std::unique_ptr<Histogram> latency;  // null for modules that do not measure it

  // Precondition: the same drop reasons.
  void add(const ModuleCounters& other);
};

// One step in the way of packets. Made on the control thread beside the running graph, run by one worker, and read,
// handed over and destroyed on the control thread while no worker runs it.
class Module {
 public:
  explicit Module(std::vector<std::string> own_drop_reasons = {}, bool measures_latency = false);
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Passes on or drops (Pass::dispatch, emit_all, drop) or keeps every packet of the batch, which came in at `input`.
  // May emit packets of its own too (copy_packet). What it keeps it owns: it frees it in its destructor and hands it
  // over in adopt().
  virtual void process(Pass& pass, Batch& batch, uint8_t input) = 0;

  // For kinds with a timer. When the module wants to run next without a packet (CLOCK_MONOTONIC, 0: not at all); asked
  // again after each of its runs and each graph change.
  virtual uint64_t due_ns() const { return 0; }
  // Its time has come: begins a pass, and may emit what it keeps.
  virtual void on_timer(Pass& /*pass*/) {}

  // Hand-over from the module of the same name and kind in the old graph. `map_gates` comes first, for a splitter.
  // `prepare_adopt` builds what takes long while packets still flow through the old one; it may throw EngineError
  // (pointer into the module's config) and changes only this module. `adopt`, with all workers parked, cannot fail.
  // `settle`, with the workers at work again, frees what is not needed any more.
  virtual void map_gates(const GateMap& /*gates*/) {}
  virtual void prepare_adopt(Module& /*old*/) {}
  virtual void adopt(Module& old) noexcept { counters = std::move(old.counters); }
  virtual void settle() noexcept {}

  // Whether batches may come as they entered the engine (Batch::common). Others come with a PacketMeta for each packet.
  virtual bool takes_common_meta() const { return false; }

  virtual std::optional<uint32_t> queue_depth() const { return std::nullopt; }
  virtual NfCore* nf() { return nullptr; }
  // For an NF: another configuration in place of the one that it was made from. `prepare_config` is as `prepare_adopt`,
  // with a pointer into the configuration; `take_config`, with all workers parked, cannot fail; it gives back the
  // configuration before.
  virtual std::unique_ptr<NextConfig> prepare_config(const nlohmann::json& /*config*/) const { return nullptr; }
  virtual void take_config(NextConfig& /*next*/, nlohmann::json& /*config*/) noexcept {}
  virtual Splitter* splitter() { return nullptr; }

  const std::vector<std::string>& drop_reasons() const { return drop_reasons_; }

  ModuleCounters counters;

 private:
  std::vector<std::string> drop_reasons_;
};

// When a task wants to run again after it found nothing to do.
struct Wakeup {
  bool now = false;     // it has work, or can only be polled
  int fd = -1;          // when this becomes readable
  uint64_t due_ns = 0;  // at this time; 0: never by time
};

// A module at which a task starts.
class TaskModule : public Module {
 public:
  using Module::Module;

  // Emits at most one batch; returns how many packets it took from wherever it takes them.
  virtual uint32_t poll(Pass& pass) = 0;

  virtual Wakeup wakeup() const = 0;

  // False only when a poll would find nothing. Asked before each poll, so it must cost less than one.
  virtual bool backlogged(uint64_t /*now_ns*/) const { return true; }

  // Whether packets are a reason to wake its worker: not while a rate limit holds the task back. Set by the worker.
  std::atomic<bool> wakes_worker{true};

  // For a kQueue: a module through which another worker puts packets into it; `consumer` is woken for them. It refers
  // to this module and has counters of its own.
  virtual std::unique_ptr<Module> make_inlet(Waker& /*consumer*/) { return nullptr; }
};

// What a module is made from.
struct ModuleContext {
  const nlohmann::json& config;
  std::string pointer;  // of `config`
  std::vector<MetadataField> metadata;
  rte_mempool* pool;
  StreamLog& stream_log;  // outlives all modules
  Port* port;             // the port that `config.port` names; null when the kind has none
  Module* old;            // the module whose state it will adopt, or null
};

struct ModuleKind {
  std::string_view name;
  uint8_t inputs;
  uint16_t gates;
  enum class Role : uint8_t { kStep, kTask, kQueue } role;  // kQueue: takes packets in and starts a task
  enum class PortUse : uint8_t { kNone, kReceives, kSends } port_use;
  bool timed = false;  // Module::due_ns is asked
  // Throws EngineError `invalid-config`.
  std::function<std::unique_ptr<Module>(const ModuleContext& context)> make;
};

}  // namespace orrery
