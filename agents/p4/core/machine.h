// SPDX-License-Identifier: Apache-2.0
// The packet path: parser, ingress, what follows from it, egress, deparser. Run by one thread; changed by control calls
// while no packet runs.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "p4/core/action_profile.h"
#include "p4/core/arrays.h"
#include "p4/core/evaluate.h"
#include "p4/core/frame.h"
#include "p4/core/hash.h"
#include "p4/core/pipeline.h"
#include "p4/core/replication.h"
#include "p4/core/table.h"
#include "p4/core/trace_writer.h"
#include "p4/core/value_set.h"

namespace orrery::p4 {

class Machine {
 public:
  Machine(std::shared_ptr<const Program> program, const PipelineOptions& options);

  void run(const FrameIn& in, Sink& sink, PacketTrace* trace);

  std::shared_ptr<const Program> program;
  PipelineOptions options;
  std::vector<std::unique_ptr<ActionProfile>> profiles;
  std::vector<std::unique_ptr<Table>> tables;
  std::vector<CounterArray> counters;  // by Program::counters, direct ones empty
  std::vector<MeterArray> meters;      // by Program::meters
  std::vector<RegisterArray> registers;
  std::vector<ValueSet> value_sets;
  std::vector<Hash> hashes;           // by calculation
  std::vector<Hash> selector_hashes;  // by action profile
  Replication replication;
  std::array<uint64_t, static_cast<size_t>(DropReason::kCount)> drops{};
  uint64_t packets_in = 0;
  uint64_t packets_out = 0;

 private:
  struct Pending {
    std::unique_ptr<Frame> frame;
    bool egress;
  };

  // parse.cc
  void parse(Frame& frame);
  // Error, or the one for none.
  uint32_t run_state(Frame& frame, const ParserStateCode& state);
  uint32_t run_parser_op(Frame& frame, const ParserOp& op);
  uint32_t extract(Frame& frame, uint32_t header, const ParserOp& op);
  int32_t next_state(Frame& frame, const ParserStateCode& state);
  bool in_value_set(const ParserStateCode& state, const Transition& transition) const;
  bool verify_checksums(Frame& frame);

  // actions.cc
  void run_action(Frame& frame, uint32_t action, const uint64_t* args);
  // Where the action goes on.
  uint32_t run_instruction(Frame& frame, const Instruction& instruction, uint32_t place);
  void run_header_instruction(Frame& frame, const Instruction& instruction);
  void run_state_instruction(Frame& frame, const Instruction& instruction);
  uint64_t* target_words(const Target& target);
  void set_target(const Target& target, uint64_t value);

  // pipelines.cc
  void run_pipeline(Frame& frame, const PipelineCode& pipeline);
  int32_t apply_table(Frame& frame, uint32_t table);
  int32_t run_choice(Frame& frame, uint32_t table, const Table::Choice& choice, const uint64_t* args, bool hit);
  int32_t next_after(uint32_t table, bool hit, int32_t of_action) const;

  // checksums.cc
  std::span<const uint8_t> gather(Frame& frame, const std::vector<CalculationInput>& inputs, bool with_payload);
  uint64_t calculate(Frame& frame, uint32_t calculation);
  uint64_t select(Frame& frame, uint32_t profile);
  void update_checksums(Frame& frame);
  uint32_t deparse(Frame& frame);

  // machine.cc
  void ingress(std::unique_ptr<Frame> frame);
  void egress(std::unique_ptr<Frame> frame);
  void clone_from_ingress(const Frame& frame);
  void clone_from_egress(const Frame& frame);
  void copy_to_session(const Frame& copy, const CloneSession& session);
  void replicate(std::unique_ptr<Frame> frame, uint32_t group);
  void send_again(std::unique_ptr<Frame> frame, InstanceType type, const uint8_t* bytes, uint32_t size);
  void send_digest(const Frame& frame);
  void finish(std::unique_ptr<Frame> frame);
  void begin_metadata(Frame& frame, const Frame* from, uint32_t list);
  void set(Frame& frame, const StandardFields::Field& field, uint64_t value);
  uint64_t get(const Frame& frame, const StandardFields::Field& field) const;
  std::unique_ptr<Frame> new_frame();
  std::unique_ptr<Frame> copy_of(const Frame& frame);
  bool may_copy();
  void release(std::unique_ptr<Frame> frame);
  void drop(DropReason reason);
  uint64_t random();

  const Code& code_;
  Sink* sink_ = nullptr;
  TraceWriter trace_;
  Reader reader_;
  std::vector<uint64_t> first_words_;  // of a frame
  std::vector<std::unique_ptr<Frame>> unused_;
  std::vector<Pending> pending_;
  size_t next_pending_ = 0;
  std::vector<std::vector<uint8_t>> buffers_;  // of recirculated packets
  size_t buffers_used_ = 0;
  uint32_t copies_ = 0;
  uint64_t now_ns_ = 0;
  uint64_t random_state_;
  std::vector<uint8_t> head_;
  std::vector<uint8_t> gathered_;
  std::vector<uint64_t> key_;
};

}  // namespace orrery::p4
