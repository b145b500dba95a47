// SPDX-License-Identifier: Apache-2.0
// A P4 program, as it is or changed: what is loaded takes control calls and packets over time.
#include <fstream>

#include "fuzz/json_edits.h"
#include "p4/core/pipeline.h"

namespace {

using namespace orrery::p4;
using nlohmann::json;
using orrery::fuzz::Bytes;
using orrery::fuzz::Input;
using orrery::fuzz::require;

constexpr uint32_t kMaxFrameBytes = 2048;

const std::vector<json>& programs() {
  static const std::vector<json> all = [] {
    std::vector<json> read;
    for (const char* name : {"copies", "l3", "matches", "parsing", "state"})
      read.push_back(json::parse(std::ifstream(std::string(P4_PROGRAMS "/") + name + ".json")));
    return read;
  }();
  return all;
}

std::shared_ptr<const Program> loaded(const json& program) {
  try {
    return load_program(program);
  } catch (const ProgramError& error) {
    require(*error.what() != '\0', "a refusal has a text");
    require(error.pointer.empty() || error.pointer[0] == '/', "and a JSON Pointer");
    return nullptr;
  }
}

// Whether the call was accepted.
template <class Call>
bool accepted(Call&& call) {
  try {
    call();
    return true;
  } catch (const ControlError& error) {
    require(*error.what() != '\0', "a refusal has a text");
    return false;
  }
}

ByteString bytes(Input& in, uint32_t width) {
  ByteString out;
  for (const uint8_t byte : in.bytes((width + 7) / 8)) out.push_back(static_cast<char>(byte));
  if (!out.empty() && width % 8 != 0) out[0] = static_cast<char>(out[0] & ((1 << width % 8) - 1));
  return out;
}

ByteString both(const ByteString& a, const ByteString& b) {
  ByteString out = a;
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(i < b.size() ? a[i] & b[i] : 0);
  return out;
}

KeyMatch key_match(const KeyField& field, Input& in) {
  const uint8_t what = in.u8();
  if (what % 4 == 0 && field.match != MatchKind::kExact && field.match != MatchKind::kValid) return {.any = true};
  KeyMatch match{.value = bytes(in, field.width)};
  if (field.match == MatchKind::kLpm) {
    match.prefix_length = what < 128 ? field.width : what % (field.width + 1);
    if (what >= 128) match.value.clear();
  }
  if (field.match == MatchKind::kTernary) {
    match.mask = bytes(in, field.width);
    match.value = both(match.value, match.mask);
  }
  if (field.match == MatchKind::kRange) match.mask = ByteString((field.width + 7) / 8, '\0') + bytes(in, field.width);
  return match;
}

EntryAction action(const Program& program, const TableInfo& table, Input& in) {
  if (table.action_profile) {
    if (in.u8() % 2 == 0) return MemberRef{in.u8() % 4u};
    return GroupRef{in.u8() % 4u};
  }
  ActionCall call{.action = table.actions.empty() ? 0 : table.actions[in.u8() % table.actions.size()]};
  if (call.action < program.actions.size())
    for (const ActionParam& param : program.actions[call.action].params) call.args.push_back(bytes(in, param.width));
  return call;
}

void change_table(Control& control, const Program& program, Input& in, uint64_t now_ns) {
  if (program.tables.empty()) return;
  const auto index = static_cast<uint32_t>(in.u8() % program.tables.size());
  const TableInfo& info = program.tables[index];
  Table& table = control.table(index);
  TableEntry entry{.priority = info.needs_priority ? 1 + in.u8() % 4 : 0};
  for (const KeyField& field : info.key) entry.key.push_back(key_match(field, in));
  entry.action = action(program, info, in);
  if (info.has_idle_timeout) entry.idle_timeout_ns = in.u8();
  EntryHandle handle = 0;
  if (accepted([&] { handle = table.insert(entry, now_ns); })) {
    const TableEntry back = table.entry(handle);
    require(table.find(back.key, back.priority) == handle, "an entry is found by what is read of it");
    require(!accepted([&] { table.insert(back, now_ns); }), "and is not put in twice");
  } else if (in.u8() % 2 == 0) {
    accepted([&] { table.modify(entry, now_ns); });
  } else {
    accepted([&] { table.remove(entry.key, entry.priority); });
  }
  if (in.u8() % 4 == 0) accepted([&] { table.set_default_action(action(program, info, in)); });
  if (in.u8() % 16 == 0) accepted([&] { table.clear(); });
}

void change_rest(Control& control, const Program& program, Input& in) {
  const uint32_t id = in.u8() % 4;
  std::vector<Replica> replicas;
  for (int n = in.u8() % 4; n > 0; --n) replicas.push_back({in.u8(), in.u8()});
  switch (in.u8() % 8) {
    case 0:
      accepted([&] { control.replication().insert_group(id, replicas); });
      break;
    case 1:
      accepted([&] { control.replication().insert_session(id, {replicas, in.u8()}); });
      break;
    case 2:
      accepted([&] { control.replication().remove_group(id); });
      break;
    case 3:
      if (!program.value_sets.empty())
        accepted([&] { control.value_set(0).set({{bytes(in, control.value_set(0).width_bits()), {}}}); });
      break;
    case 4:
      if (!program.registers.empty())
        accepted([&] { control.registers(0).write(in.u8(), bytes(in, program.registers[0].width)); });
      break;
    case 5:
      if (!program.meters.empty())
        accepted([&] { control.meters(0).write(in.u8(), MeterRates{in.u8(), in.u8(), in.u8(), in.u8()}); });
      break;
    case 6:
      for (uint32_t i = 0; i < program.action_profiles.size(); ++i) {
        ActionCall call{.action = static_cast<uint32_t>(in.u8() % std::max<size_t>(program.actions.size(), 1))};
        if (call.action < program.actions.size())
          for (const ActionParam& param : program.actions[call.action].params)
            call.args.push_back(bytes(in, param.width));
        accepted([&] { control.action_profile(i).insert_member(id, call); });
      }
      break;
    default:
      for (uint32_t i = 0; i < program.action_profiles.size(); ++i) {
        const std::vector<GroupMember> members{{in.u8() % 4u, 1u + in.u8() % 3u, in.u8() % 4 != 0}};
        if (!accepted([&] { control.action_profile(i).insert_group(id, members); }))
          accepted([&] { control.action_profile(i).remove_group(id); });
        accepted([&] { control.action_profile(i).remove_member(id); });
      }
  }
}

struct Check final : Sink {
  bool send(const FrameOut& frame) override {
    require(frame.payload.size() <= kMaxFrameBytes, "the payload is part of the frame");
    for (const uint8_t byte : frame.head) sum += byte;
    for (const uint8_t byte : frame.payload) sum += byte;
    return frame.port % 8 != 7;
  }
  void digest(DigestSample&& sample) override { sum += static_cast<uint32_t>(sample.fields.size()); }

  uint32_t sum = 0;
};

void run(const json& source, Input& in) {
  std::shared_ptr<const Program> program = loaded(in.u8() % 4 == 0 ? source : orrery::fuzz::edited(source, in));
  if (program == nullptr) program = loaded(source);
  require(program != nullptr, "the program of the tests is loaded");
  Pipeline pipeline(program, {.max_passes = 4, .max_copies = 16, .max_frame_bytes = kMaxFrameBytes});
  Check sink;
  uint64_t now_ns = 0;
  for (int steps = 0; !in.empty() && steps < 64; ++steps) {
    const uint8_t what = in.u8();
    if (what % 4 == 0) {
      auto control = pipeline.control();
      change_table(control, *program, in, now_ns);
    } else if (what % 4 == 1) {
      auto control = pipeline.control();
      change_rest(control, *program, in);
      control.each_idle(now_ns, [](const IdleEntry& /*entry*/) {});
    } else {
      now_ns += in.u16();
      const Bytes frame = in.bytes(what % 8 < 6 ? 48 : 255);
      PacketTrace trace;
      pipeline.batch().run({in.u8(), frame, now_ns}, sink, what % 16 == 2 ? &trace : nullptr);
    }
  }
}

}  // namespace

std::vector<orrery::fuzz::Bytes> seeds() {
  std::vector<Bytes> out;
  uint64_t state = 3;
  for (size_t program = 0; program < programs().size(); ++program) {
    for (uint8_t n = 0; n < 6; ++n) {
      Bytes seed{static_cast<uint8_t>(program), n};
      for (int i = 0; i < 300; ++i) {
        state = state * 6364136223846793005 + 1442695040888963407;
        seed.push_back(static_cast<uint8_t>(state >> 56) % (n % 2 == 0 ? 255 : 20));
      }
      out.push_back(std::move(seed));
    }
  }
  return out;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in({data, size});
  run(programs()[in.u8() % programs().size()], in);
  return 0;
}
