// SPDX-License-Identifier: Apache-2.0
#include "p4/service/packet_header.h"

#include <algorithm>

#include "p4/service/failure.h"
#include "p4/service/values.h"

namespace orrery::p4::service {

std::vector<uint8_t> PacketHeader::frame_of(const pb::PacketOut& packet) const {
  for (const pb::PacketMetadata& each : packet.metadata())
    if (std::ranges::count(spec_.fields, each.metadata_id(), &ParamSpec::id) == 0)
      refuse(Code::INVALID_ARGUMENT,
             "packet.metadata: header \"packet_out\" has no field with id " + std::to_string(each.metadata_id()));
  BitWriter bits;
  for (const ParamSpec& field : spec_.fields) {
    const auto bad = [&](const std::string& text) {
      refuse(Code::INVALID_ARGUMENT, "packet.metadata: field \"" + field.name + "\" " + text);
    };
    const auto found = std::ranges::find(packet.metadata(), field.id, &pb::PacketMetadata::metadata_id);
    if (found == packet.metadata().end()) bad("is missing");
    if (std::ranges::count(packet.metadata(), field.id, &pb::PacketMetadata::metadata_id) > 1) bad("is there twice");
    const std::string fault = fault_of(found->value(), field.width);
    if (!fault.empty()) bad(fault);
    bits.add(found->value(), field.width);
  }
  std::vector<uint8_t> frame;
  frame.reserve(bits.bytes().size() + packet.payload().size());
  frame.assign(bits.bytes().begin(), bits.bytes().end());
  frame.insert(frame.end(), packet.payload().begin(), packet.payload().end());
  return frame;
}

std::optional<pb::PacketIn> PacketHeader::packet_of(std::span<const uint8_t> head,
                                                    std::span<const uint8_t> payload) const {
  std::string bytes(reinterpret_cast<const char*>(head.data()), head.size());
  bytes.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  if (bytes.size() < spec_.bytes) return std::nullopt;
  pb::PacketIn packet;
  BitReader bits(bytes);
  for (const ParamSpec& field : spec_.fields) {
    pb::PacketMetadata* metadata = packet.add_metadata();
    metadata->set_metadata_id(field.id);
    metadata->set_value(bits.take(field.width));
  }
  bytes.erase(0, spec_.bytes);
  packet.set_payload(std::move(bytes));
  return packet;
}

}  // namespace orrery::p4::service
