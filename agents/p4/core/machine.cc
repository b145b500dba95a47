// SPDX-License-Identifier: Apache-2.0
// What becomes of a packet at the end of ingress and egress: docs/simple_switch.md of p4lang/behavioral-model,
// "Pseudocode for what happens at the end of ingress and egress processing".
#include "p4/core/machine.h"

#include <algorithm>
#include <cstring>

#include "p4/core/headers.h"

namespace orrery::p4 {

namespace {

// What is written behind the last byte of a header or of a hash's input.
constexpr uint32_t kSlack = 16;

uint32_t header_bytes(const Code& code, uint32_t header) {
  const HeaderType& type = code.header_types[code.headers[header].type];
  uint32_t bits = type.fixed_bits;
  if (type.varbit != kNone) bits += type.fields[static_cast<size_t>(type.varbit)].width;
  return (bits + 7) / 8;
}

}  // namespace

Machine::Machine(std::shared_ptr<const Program> of, const PipelineOptions& with)
    : program(std::move(of)),
      options(with),
      code_(*program->code),
      trace_(*program),
      reader_{code_, registers},
      random_state_(with.seed) {
  for (uint32_t i = 0; i < program->action_profiles.size(); ++i)
    profiles.push_back(std::make_unique<ActionProfile>(*program, i));
  for (uint32_t i = 0; i < program->tables.size(); ++i) {
    const auto profile = program->tables[i].action_profile;
    tables.push_back(std::make_unique<Table>(*program, i, profile ? profiles[*profile].get() : nullptr));
  }
  for (const CounterInfo& each : program->counters) counters.emplace_back(each.size);
  for (const MeterInfo& each : program->meters) meters.emplace_back(each.size, each.bytes);
  for (const RegisterInfo& each : program->registers) registers.emplace_back(each.size, each.width);
  for (const ValueSetInfo& each : program->value_sets) value_sets.emplace_back(each.width);
  uint32_t gathered = 0;
  for (const Calculation& each : code_.calculations) {
    hashes.emplace_back(each.hash);
    gathered = std::max(gathered, each.max_bytes);
  }
  for (const std::optional<SelectorCode>& each : code_.selectors) {
    selector_hashes.emplace_back(each ? each->hash : HashKind::kCrc16);
    if (each) gathered = std::max(gathered, each->max_bytes);
  }
  gathered_.resize(size_t{gathered} + options.max_frame_bytes + kSlack);
  uint32_t deparsed = 0;
  for (const uint32_t header : code_.deparse) deparsed += header_bytes(code_, header);
  uint32_t largest = 0;
  for (uint32_t i = 0; i < code_.headers.size(); ++i) largest = std::max(largest, header_bytes(code_, i));
  head_.resize(size_t{std::max(deparsed, largest)} + kSlack);
  uint32_t key_words = 1;
  for (const TableCode& each : code_.tables) key_words = std::max(key_words, each.key_words);
  for (const ParserStateCode& each : code_.states) key_words = std::max(key_words, each.key_words);
  key_.resize(key_words);
  first_words_.resize(code_.frame_words);
  for (const FieldCopy& metadata : code_.metadata) first_words_[metadata.word] = 1;
}

void Machine::set(Frame& frame, const StandardFields::Field& field, uint64_t value) {
  if (field.word != kNone) frame.words[static_cast<size_t>(field.word)] = value & low_mask(field.width);
}

uint64_t Machine::get(const Frame& frame, const StandardFields::Field& field) const {
  return field.word == kNone ? 0 : frame.words[static_cast<size_t>(field.word)];
}

std::unique_ptr<Frame> Machine::new_frame() {
  std::unique_ptr<Frame> frame;
  if (unused_.empty()) {
    frame = std::make_unique<Frame>();
    frame->varbits.resize(code_.varbit_bytes);
  } else {
    frame = std::move(unused_.back());
    unused_.pop_back();
  }
  frame->words = first_words_;
  return frame;
}

std::unique_ptr<Frame> Machine::copy_of(const Frame& frame) {
  std::unique_ptr<Frame> copy = new_frame();
  *copy = frame;
  copy->forget_requests();
  return copy;
}

void Machine::release(std::unique_ptr<Frame> frame) {
  unused_.push_back(std::move(frame));
}

void Machine::drop(DropReason reason) {
  drops[static_cast<size_t>(reason)] += 1;
  if (trace_) trace_.dropped(name_of(reason));
}

// splitmix64 (Steele, Lea, Flood 2014).
uint64_t Machine::random() {
  uint64_t z = random_state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

void Machine::run(const FrameIn& in, Sink& sink, PacketTrace* trace) {
  sink_ = &sink;
  trace_.write_to(trace);
  packets_in += 1;
  if (in.bytes.empty()) return drop(DropReason::kRunt);
  if (in.bytes.size() > options.max_frame_bytes) return drop(DropReason::kTooLong);
  now_ns_ = in.now_ns;
  copies_ = 0;
  buffers_used_ = 0;
  std::unique_ptr<Frame> frame = new_frame();
  frame->bytes = in.bytes.data();
  frame->size = frame->length = frame->ingress_length = static_cast<uint32_t>(in.bytes.size());
  frame->ingress_port = in.port;
  frame->truncate = UINT32_MAX;
  frame->passes = 0;
  frame->type = InstanceType::kNormal;
  frame->rid = 0;
  set(*frame, code_.standard.ingress_port, in.port);
  set(*frame, code_.standard.ingress_timestamp, (now_ns_ - options.start_ns) / 1000);
  ingress(std::move(frame));
  while (next_pending_ < pending_.size()) {
    Pending next = std::move(pending_[next_pending_++]);
    if (next.egress) {
      egress(std::move(next.frame));
    } else {
      ingress(std::move(next.frame));
    }
  }
  pending_.clear();
  next_pending_ = 0;
}

// Metadata of a packet that begins anew are zero, but for a list of those of the packet that it comes from.
void Machine::begin_metadata(Frame& frame, const Frame* from, uint32_t list) {
  for (const FieldCopy& metadata : code_.metadata)
    std::copy_n(first_words_.begin() + metadata.word, metadata.words, frame.words.begin() + metadata.word);
  if (list == kNoList) return;
  for (const FieldCopy& field : code_.field_lists[list])
    std::copy_n(from->words.begin() + field.word, field.words, frame.words.begin() + field.word);
}

bool Machine::may_copy() {
  if (copies_ >= options.max_copies) {
    drop(DropReason::kTooManyCopies);
    return false;
  }
  copies_ += 1;
  return true;
}

void Machine::ingress(std::unique_ptr<Frame> frame) {
  if (trace_) trace_.begin(*frame, frame->ingress_port);
  frame->cursor = 0;
  frame->forget_requests();
  set(*frame, code_.standard.instance_type, static_cast<uint64_t>(frame->type));
  set(*frame, code_.standard.packet_length, frame->size);
  parse(*frame);
  run_pipeline(*frame, code_.ingress);
  frame->exit = false;
  if (frame->failed) {
    drop(DropReason::kAssertion);
    return release(std::move(frame));
  }
  if (frame->clone) clone_from_ingress(*frame);
  if (frame->digest != kNoList) send_digest(*frame);
  if (frame->resubmit) {
    const uint8_t* bytes = frame->bytes;
    const uint32_t size = frame->size;
    return send_again(std::move(frame), InstanceType::kResubmit, bytes, size);
  }
  frame->rid = 0;
  if (const uint64_t group = get(*frame, code_.standard.mcast_grp); group != 0) {
    frame->type = InstanceType::kReplication;
    return replicate(std::move(frame), static_cast<uint32_t>(group));
  }
  const uint64_t port = get(*frame, code_.standard.egress_spec);
  if (port == options.drop_port) {
    drop(DropReason::kMarkedInIngress);
    return release(std::move(frame));
  }
  frame->type = InstanceType::kNormal;
  frame->egress_port = static_cast<uint32_t>(port);
  frame->forget_requests();
  // Copies that were made before it go first.
  if (next_pending_ == pending_.size()) return egress(std::move(frame));
  pending_.push_back({std::move(frame), true});
}

void Machine::replicate(std::unique_ptr<Frame> frame, uint32_t group) {
  const std::vector<Replica>* replicas = replication.group(group);
  const size_t count = replicas == nullptr ? 0 : replicas->size();
  if (trace_) trace_.copied("multicast", group, static_cast<uint32_t>(count));
  if (count == 0) drop(DropReason::kNoReplicas);
  for (size_t i = 0; i < count; ++i) {
    if (!may_copy()) break;
    std::unique_ptr<Frame> copy = copy_of(*frame);
    copy->egress_port = (*replicas)[i].egress_port;
    copy->rid = (*replicas)[i].egress_rid;
    pending_.push_back({std::move(copy), true});
  }
  release(std::move(frame));
}

void Machine::copy_to_session(const Frame& copy, const CloneSession& session) {
  for (const Replica& replica : session.replicas) {
    if (!may_copy()) return;
    std::unique_ptr<Frame> each = copy_of(copy);
    each->egress_port = replica.egress_port;
    each->rid = replica.egress_rid;
    if (session.truncate_bytes != 0) each->truncate = std::min(each->truncate, session.truncate_bytes);
    pending_.push_back({std::move(each), true});
  }
}

// The packet as it came to this ingress, parsed again.
void Machine::clone_from_ingress(const Frame& frame) {
  const CloneSession* session = replication.session(frame.clone_session);
  const size_t count = session == nullptr ? 0 : session->replicas.size();
  if (trace_) trace_.copied("clone", frame.clone_session, static_cast<uint32_t>(count));
  if (count == 0) return drop(DropReason::kNoSession);
  if (frame.passes >= options.max_passes) return drop(DropReason::kTooManyPasses);
  std::unique_ptr<Frame> copy = new_frame();
  copy->bytes = frame.bytes;
  copy->size = copy->length = frame.size;
  copy->cursor = 0;
  copy->ingress_length = frame.ingress_length;
  copy->ingress_port = frame.ingress_port;
  copy->truncate = UINT32_MAX;
  copy->passes = frame.passes + 1;
  copy->type = InstanceType::kIngressClone;
  copy->forget_requests();
  set(*copy, code_.standard.ingress_port, frame.ingress_port);
  parse(*copy);
  begin_metadata(*copy, &frame, frame.clone_list);
  copy_to_session(*copy, *session);
  release(std::move(copy));
}

// The packet as it leaves egress.
void Machine::clone_from_egress(const Frame& frame) {
  const CloneSession* session = replication.session(frame.clone_session);
  const size_t count = session == nullptr ? 0 : session->replicas.size();
  if (trace_) trace_.copied("clone", frame.clone_session, static_cast<uint32_t>(count));
  if (count == 0) return drop(DropReason::kNoSession);
  if (frame.passes >= options.max_passes) return drop(DropReason::kTooManyPasses);
  std::unique_ptr<Frame> copy = copy_of(frame);
  copy->passes += 1;
  copy->type = InstanceType::kEgressClone;
  begin_metadata(*copy, &frame, frame.clone_list);
  copy_to_session(*copy, *session);
  release(std::move(copy));
}

void Machine::send_again(std::unique_ptr<Frame> frame, InstanceType type, const uint8_t* bytes, uint32_t size) {
  const bool resubmit = type == InstanceType::kResubmit;
  if (trace_)
    trace_.copied(resubmit ? "resubmit" : "recirculate", frame->again_list == kNoList ? 0 : frame->again_list, 1);
  if (frame->passes >= options.max_passes) {
    drop(DropReason::kTooManyPasses);
    return release(std::move(frame));
  }
  if (!may_copy()) return release(std::move(frame));
  std::unique_ptr<Frame> again = new_frame();
  again->bytes = bytes;
  again->size = again->length = size;
  again->ingress_length = resubmit ? frame->ingress_length : size;
  again->ingress_port = frame->ingress_port;
  again->truncate = resubmit ? frame->truncate : UINT32_MAX;
  again->passes = frame->passes + 1;
  again->type = type;
  again->rid = 0;
  begin_metadata(*again, frame.get(), frame->again_list);
  release(std::move(frame));
  pending_.push_back({std::move(again), false});
}

void Machine::send_digest(const Frame& frame) {
  const LearnListInfo& info = program->learn_lists[frame.digest];
  DigestSample sample{.list = frame.digest, .ingress_port = frame.ingress_port, .fields = {}};
  const std::vector<Operand>& values = code_.learn_lists[frame.digest];
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_field = values[i].kind == Operand::Kind::kField;
    const uint64_t* words = is_field ? &frame.words[values[i].index] : &code_.constants[values[i].index];
    sample.fields.push_back(to_bytes(words, info.widths[i]));
  }
  if (trace_) trace_.copied("digest", frame.digest, 1);
  sink_->digest(std::move(sample));
}

void Machine::egress(std::unique_ptr<Frame> frame) {
  if (trace_ && (frame->type != InstanceType::kNormal || copies_ != 0)) trace_.begin(*frame, frame->egress_port);
  const StandardFields& fields = code_.standard;
  const uint64_t now_us = (now_ns_ - options.start_ns) / 1000;
  set(*frame, fields.egress_timestamp, now_us);
  set(*frame, fields.enq_timestamp, now_us);
  set(*frame, fields.enq_qdepth, 0);
  set(*frame, fields.deq_timedelta, 0);
  set(*frame, fields.deq_qdepth, 0);
  set(*frame, fields.qid, 0);
  set(*frame, fields.instance_type, static_cast<uint64_t>(frame->type));
  set(*frame, fields.egress_rid, frame->rid);
  set(*frame, fields.egress_port, frame->egress_port);
  // Other than the drop port.
  set(*frame, fields.egress_spec, uint64_t{options.drop_port} + 1);
  set(*frame, fields.packet_length, frame->length);
  run_pipeline(*frame, code_.egress);
  frame->exit = false;
  if (frame->failed) {
    drop(DropReason::kAssertion);
    return release(std::move(frame));
  }
  if (frame->clone) clone_from_egress(*frame);
  if (get(*frame, fields.egress_spec) == options.drop_port) {
    drop(DropReason::kMarkedInEgress);
    return release(std::move(frame));
  }
  finish(std::move(frame));
}

void Machine::finish(std::unique_ptr<Frame> frame) {
  update_checksums(*frame);
  const uint32_t head = std::min(deparse(*frame), frame->truncate);
  const uint32_t payload = std::min(frame->size - frame->cursor, frame->truncate - head);
  const uint32_t size = head + payload;
  if (frame->recirculate) {
    if (size == 0 || size > options.max_frame_bytes) {
      drop(size == 0 ? DropReason::kRunt : DropReason::kTooLong);
      return release(std::move(frame));
    }
    if (buffers_used_ == buffers_.size()) buffers_.emplace_back(options.max_frame_bytes);
    uint8_t* bytes = buffers_[buffers_used_++].data();
    std::memcpy(bytes, head_.data(), head);
    std::memcpy(bytes + head, frame->bytes + frame->cursor, payload);
    return send_again(std::move(frame), InstanceType::kRecirculate, bytes, size);
  }
  const uint32_t port = frame->egress_port;
  if (sink_->send({port, {head_.data(), head}, {frame->bytes + frame->cursor, payload}})) {
    packets_out += 1;
    if (trace_) trace_.sent(port, size);
  } else {
    drop(DropReason::kNoSuchPort);
  }
  release(std::move(frame));
}

}  // namespace orrery::p4
