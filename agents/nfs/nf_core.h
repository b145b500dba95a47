// SPDX-License-Identifier: Apache-2.0
// The boundary between an NF and the engine. No DPDK header is reachable from here, so that an NF is tested without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/packet.h"  // ParsedPacket: header offsets and 5-tuple, filled by parse_packet()

namespace orrery {

struct StreamView;  // nfs/bytestream/stream_view.h

// Direction of a packet through an NF; also the index of its input and output gate.
enum class Direction : uint8_t { kForward = 0, kReturn = 1 };

// One packet as an NF sees it. `data` is contiguous and writable; `length` bytes of it are valid. An NF that resizes
// packets moves `data` and `length` within the room around them, and keeps account of the room.
struct NfPacket {
  uint8_t* data;
  uint32_t length;
  ParsedPacket parsed;
  uint16_t metadata;      // derived attributes; an NF that writes one changes only its own bits
  uint16_t headroom = 0;  // writable bytes in front of `data`, and behind the packet; for NfCore::resizes() only
  uint16_t tailroom = 0;
  StreamView* stream = nullptr;  // what it made contiguous of its TCP stream; null: nobody has reassembled it
};

// One packet of which only the bytes matter.
struct NfFrame {
  uint8_t* data;  // `length` bytes, contiguous and writable
  uint32_t length;
};

// Room that a packet has at least, if the NF resizes packets.
inline constexpr uint16_t kLeastHeadroom = 64;
inline constexpr uint16_t kLeastTailroom = 64;

// What became of a packet. `drop_reason` indexes NfCore::drop_reasons() and is meaningful only when dropped.
struct NfVerdict {
  bool drop = false;
  uint8_t drop_reason = 0;
  Direction out = Direction::kForward;
};

// Bits of the metadata word that hold one derived attribute (contract: MetadataField). Value 0 means "not set".
struct MetadataField {
  std::string attribute;
  uint8_t offset;
  uint8_t width;
  std::vector<std::pair<std::string, uint16_t>> values;

  bool operator==(const MetadataField&) const = default;
};

// A configuration that cannot be used; `pointer` is a JSON Pointer into it.
class ConfigError : public std::runtime_error {
 public:
  ConfigError(std::string pointer, const std::string& detail)
      : std::runtime_error(detail), pointer(std::move(pointer)) {}
  std::string pointer;
};

// A configuration that was checked and built beside the one in force.
class NextConfig {
 public:
  virtual ~NextConfig() = default;
};

// How flow state is written: rows as arrays of numbers, or as one string of packed binary rows (nfs/flow_rows.h).
enum class RowForm : uint8_t { kArrays, kBinary };

// A copy of what an NF knows, taken while packets flow. It refers to the NF, whose configuration must stay.
// nfs/state_copy.h makes one.
class StateCopy {
 public:
  virtual ~StateCopy() = default;

  // Copies at most `rows` more rows of a table. False: the copy is complete. For the worker's pauses: allocates
  // nothing.
  virtual bool copy(size_t rows) noexcept = 0;

  // Writes down what was copied, beside the worker. Once.
  virtual nlohmann::json finish(RowForm form) = 0;
};

// What becomes of a flow that is known where it comes in.
enum class KnownFlows : uint8_t {
  kMerge,  // both count: they are of different packets; what cannot be added up stays
  kRenew,  // the one used last stays: it is the same flow, copied before
};

// Flow state of another instance, checked and put in order beside the worker. It refers to the NF, whose configuration
// must stay. nfs/state_import.h makes one.
class StateImport {
 public:
  virtual ~StateImport() = default;

  // Takes in at most `rows` more rows. False: all are in. For the worker's pauses: allocates nothing.
  virtual bool take(size_t rows) noexcept = 0;
};

// Rows that are copied, or taken in, in one pause of a worker, which lasts for tens of microseconds with them.
inline constexpr size_t kSliceRows = 2048;
inline constexpr size_t kImportSliceRows = 512;

class MovableFlows;

// A network function. All calls come from one thread at a time: `process` from the worker, `take` while it is parked,
// the rest beside it.
class NfCore {
 public:
  virtual ~NfCore() = default;

  // Decides on each packet of a batch and may rewrite it in place. verdicts.size() == packets.size(). Never throws.
  // `now_ns` is CLOCK_MONOTONIC.
  virtual void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) = 0;

  // Whether the NF looks at nothing but the bytes of packets, and passes all of them on. Fixed for the NF's life. Then
  // `pass_frames` does what `process` does, without the cost of parsing and verdicts.
  virtual bool passes_frames() const { return false; }
  virtual void pass_frames(std::span<const NfFrame>) {}

  // Whether `process` looks at NfPacket::stream. May change with the configuration.
  virtual bool reads_streams() const { return false; }

  // Whether `process` may change where packets begin and end. Fixed for the NF's life.
  virtual bool resizes() const { return false; }

  // Names of the reasons for which the NF drops, e.g. "denied", "malformed". Fixed for the NF's life; at most 8.
  virtual std::span<const std::string_view> drop_reasons() const = 0;

  // Checks a configuration and builds what it needs. Reads nothing that `process` writes. Throws ConfigError.
  virtual std::unique_ptr<NextConfig> prepare(const nlohmann::json& config,
                                              std::span<const MetadataField> metadata) const = 0;

  // Puts in force what `prepare` of this NF built, and keeps flow state. What was in force is left in `next`.
  virtual void take(NextConfig& next) noexcept = 0;

  // Both at once. Throws ConfigError and changes nothing when it is invalid.
  void configure(const nlohmann::json& config, std::span<const MetadataField> metadata = {}) {
    take(*prepare(config, metadata));
  }

  // What an operator wants to see, at most `limit` entries of each table.
  virtual std::unique_ptr<StateCopy> copy_state(size_t limit) const = 0;
  nlohmann::json state(size_t limit) const;  // at once

  // Flow state to move to another instance.
  virtual std::unique_ptr<StateCopy> copy_flows() const = 0;
  nlohmann::json export_state(RowForm form = RowForm::kArrays) const;  // at once

  // Its counterpart, which takes rows of either form. Reads nothing that `process` writes. Throws ConfigError.
  virtual std::unique_ptr<StateImport> prepare_import(const nlohmann::json& state,
                                                      KnownFlows known = KnownFlows::kMerge) = 0;
  void import_state(const nlohmann::json& state);  // at once

  // Tables of which flows can be moved by themselves, in the order in which they are to move. Empty: it keeps none by
  // flow. They refer to the NF, whose configuration must stay. nfs/movable_flows.h makes one.
  virtual std::vector<std::unique_ptr<MovableFlows>> movable_flows();
};

// Makes an NF of a kind. Throws ConfigError.
using NfFactory = std::unique_ptr<NfCore> (*)(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery
