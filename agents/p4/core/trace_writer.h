// SPDX-License-Identifier: Apache-2.0
// Writes the steps of a packet, where somebody wants them.
#pragma once

#include <string>
#include <vector>

#include "p4/core/evaluate.h"
#include "p4/core/frame.h"
#include "p4/core/table.h"
#include "p4/core/trace.h"
#include "p4/program/program.h"

namespace orrery::p4 {

class TraceWriter {
 public:
  explicit TraceWriter(const Program& program) : program_(program), code_(*program.code) {}

  explicit operator bool() const { return trace_ != nullptr; }
  void write_to(PacketTrace* trace) { trace_ = trace; }

  void begin(const Frame& frame, uint32_t port);
  void extracted(uint32_t header);
  void state(const ParserStateCode& state, int32_t next);
  void parser_failed(const ParserStateCode& state, uint32_t error);
  void checksum_verified(const std::string& name, bool right);
  void checksum_updated(const std::string& name, uint64_t value);
  void pipeline(const std::string& name);
  void lookup(const Frame& frame, uint32_t table, uint32_t entry);
  void action(uint32_t action, const uint64_t* args);
  void condition(const ConditionCode& condition, bool taken);
  void counted(uint32_t counter, uint64_t index);
  void metered(uint32_t meter, uint64_t index, Colour colour);
  void touched_register(uint32_t array, uint64_t index, bool write, const uint64_t* words);
  void logged(const LogMessage& message, Reader& reader);
  void copied(const char* kind, uint64_t id, uint32_t copies);
  void dropped(std::string_view reason);
  void deparsed(const Frame& frame, uint32_t header_bytes);
  void sent(uint32_t port, uint32_t bytes);

 private:
  void add(TraceStep step);

  const Program& program_;
  const Code& code_;
  PacketTrace* trace_ = nullptr;
  std::vector<std::string> extracted_;
};

}  // namespace orrery::p4
