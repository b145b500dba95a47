// SPDX-License-Identifier: Apache-2.0
// A P4 program with its state: the v1model packet path as simple_switch runs it. No I/O, clock or chance of its own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "p4/core/action_profile.h"
#include "p4/core/arrays.h"
#include "p4/core/hash.h"
#include "p4/core/replication.h"
#include "p4/core/table.h"
#include "p4/core/trace.h"
#include "p4/core/value_set.h"
#include "p4/program/program.h"

namespace orrery::p4 {

enum class DropReason : uint8_t {
  kMarkedInIngress,  // mark_to_drop, or egress_spec is the drop port
  kMarkedInEgress,
  kNoReplicas,     // multicast to a group that is not there or is empty
  kNoSession,      // clone to a session that is not there or is empty
  kTooManyPasses,  // resubmitted, recirculated and cloned too often
  kTooManyCopies,  // of one packet that came in
  kRunt,           // an empty frame
  kTooLong,        // a frame, or one that is recirculated, beyond the bound
  kAssertion,      // assert or assume did not hold
  kNoSuchPort,     // Sink::send said so
  kCount,
};
// As in traces and for figures: "marked_in_ingress".
std::string_view name_of(DropReason reason);

struct FrameIn {
  uint32_t port;
  std::span<const uint8_t> bytes;
  uint64_t now_ns;  // never less than that of the packet before, nor than PipelineOptions::start_ns
};

// What comes out: the deparsed headers and the rest of the frame that came in. Both are gone after the call.
struct FrameOut {
  uint32_t port;
  std::span<const uint8_t> head;
  std::span<const uint8_t> payload;

  size_t size() const { return head.size() + payload.size(); }
};

struct DigestSample {
  uint32_t list;  // index in Program::learn_lists
  uint32_t ingress_port;
  std::vector<ByteString> fields;
};

// Called within Batch::run, by its thread; must not call the pipeline.
class Sink {
 public:
  virtual ~Sink() = default;
  // Whether there is such a port. What happens behind it is the port's to count.
  virtual bool send(const FrameOut& frame) = 0;
  virtual void digest(DigestSample&& sample) = 0;
};

struct PipelineOptions {
  uint32_t drop_port = 511;
  uint32_t max_passes = 16;    // resubmit, recirculate and clone of one packet, one behind the other
  uint32_t max_copies = 1024;  // made of one packet that came in
  uint32_t max_frame_bytes = 16384;
  uint64_t start_ns = 0;  // where the time stamps of the program begin
  uint64_t seed = 1;      // of random()
};

class Machine;

// Packets and control calls exclude each other; who waits comes next, so that neither can starve the other.
class PipelineLock {
 public:
  std::unique_lock<std::mutex> take() {
    const std::lock_guard<std::mutex> turn(turn_);
    return std::unique_lock<std::mutex>(held_);
  }

 private:
  std::mutex turn_;
  std::mutex held_;
};

// The packet thread holds one around each batch of some tens of packets.
class Batch {
 public:
  // The trace is only made when there is one.
  void run(const FrameIn& frame, Sink& sink, PacketTrace* trace = nullptr);

 private:
  friend class Pipeline;
  Batch(Machine& machine, std::unique_lock<std::mutex> held) : machine_(machine), held_(std::move(held)) {}

  Machine& machine_;
  std::unique_lock<std::mutex> held_;
};

struct IdleEntry {
  uint32_t table;
  EntryHandle entry;
};

// From any thread. Packets wait as long as it lives: one for each Write of some thousand updates, not one for each.
// Parts are named by their index in the program's lists (Program::tables and so on); one that is not there is
// kNotFound.
class Control {
 public:
  Table& table(uint32_t index);
  ActionProfile& action_profile(uint32_t index);
  CounterArray& counters(uint32_t index);  // indirect ones
  MeterArray& meters(uint32_t index);      // indirect ones
  RegisterArray& registers(uint32_t index);
  ValueSet& value_set(uint32_t index);
  Replication& replication();
  // Of a custom CRC, by the calculation's name in the JSON.
  void set_crc(std::string_view calculation, const CrcParameters& parameters);

  // Entries whose idle timeout has passed at `now_ns`, again after each further one without a packet.
  void each_idle(uint64_t now_ns, const std::function<void(const IdleEntry&)>& report);

  const std::array<uint64_t, static_cast<size_t>(DropReason::kCount)>& drops() const;
  uint64_t packets_in() const;
  uint64_t packets_out() const;

 private:
  friend class Pipeline;
  Control(Machine& machine, std::unique_lock<std::mutex> held) : machine_(machine), held_(std::move(held)) {}

  Machine& machine_;
  std::unique_lock<std::mutex> held_;
};

class Pipeline {
 public:
  explicit Pipeline(std::shared_ptr<const Program> program, const PipelineOptions& options = {});
  ~Pipeline();

  const Program& program() const;
  Batch batch();
  Control control();

 private:
  std::unique_ptr<Machine> machine_;
  PipelineLock lock_;
};

}  // namespace orrery::p4
