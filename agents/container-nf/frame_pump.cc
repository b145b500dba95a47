// SPDX-License-Identifier: Apache-2.0
#include "container-nf/frame_pump.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "support/clock.h"
#include "support/hop_tag.h"

namespace orrery::container_nf {
namespace {

static_assert(kFrameHeadroom >= kLeastHeadroom);

size_t index_of(Direction direction) {
  return static_cast<size_t>(direction);
}

}  // namespace

FramePump::FramePump(std::unique_ptr<NfCore> nf, const std::string& near, const std::string& far)
    : nf_(std::move(nf)), ports_{PacketPort(near), PacketPort(far)} {}

void FramePump::run() {
  try {
    while (!stopped_) {
      wait();
      pass(Direction::kForward);
      pass(Direction::kReturn);
    }
  } catch (...) {
    calls_.close();
    throw;
  }
  calls_.close();
}

void FramePump::stop() {
  stopped_ = true;
  eventfd_write(calls_.fd(), 1);
}

// Until a frame or something else has come; serves all but frames.
void FramePump::wait() {
  pollfd fds[] = {
      {ports_[0].fd(), POLLIN, 0}, {ports_[1].fd(), POLLIN, 0}, {links_.fd(), POLLIN, 0}, {calls_.fd(), POLLIN, 0}};
  if (poll(fds, std::size(fds), -1) < 0) return;
  for (size_t i = 0; i < ports_.size(); ++i)
    if ((fds[i].revents & POLLERR) != 0) ports_[i].clear_error();
  if (fds[2].revents != 0 && links_.clear())
    for (const PacketPort& port : ports_)
      if (!port.present()) throw std::runtime_error("interface " + port.interface() + " is gone");
  if (fds[3].revents != 0) calls_.serve();
}

void FramePump::pass(Direction in) {
  PacketPort& port = ports_[index_of(in)];
  const size_t n = admit(port.receive(), in);
  if (n > 0) {
    nf_->process({batch_.packets.data(), n}, in, {batch_.verdicts.data(), n}, monotonic_ns());
    send_all(n);
  }
  port.release();
}

// Counts the frames and puts those with a tag into the batch. Returns how many those are.
size_t FramePump::admit(std::span<const Frame> frames, Direction in) {
  DirectionCounters& counters = counters_[index_of(in)];
  const bool parse = !nf_->passes_frames();
  size_t n = 0;
  for (const auto& [data, length, tailroom] : frames) {
    ++counters.packets_in;
    counters.bytes_in += length;
    HopTag tag{};
    if (length < kEthernetHeader) {
      ++runts_;
    } else if (!read_hop_tag(data, tag)) {
      ++untagged_;
    } else {
      std::memcpy(batch_.addresses[n].data(), data, sizeof(Addresses));
      batch_.packets[n++] = {data,         length,         parse ? parse_packet({data, length}) : ParsedPacket{},
                             tag.metadata, kFrameHeadroom, static_cast<uint16_t>(tailroom)};
    }
  }
  return n;
}

// Precondition: the verdicts on the first `n` packets of the batch are there.
void FramePump::send_all(size_t n) {
  std::array<std::array<Frame, kBatch>, 2> leaving;
  std::array<size_t, 2> count{};
  for (size_t i = 0; i < n; ++i) {
    const NfVerdict& verdict = batch_.verdicts[i];
    if (verdict.drop) {
      ++nf_drops_[verdict.drop_reason];
      continue;
    }
    const NfPacket& packet = batch_.packets[i];
    std::memcpy(packet.data, batch_.addresses[i].data(), sizeof(Addresses));
    write_metadata(packet.data, packet.metadata);
    const size_t out = index_of(verdict.out);
    leaving[out][count[out]++] = {packet.data, packet.length};
  }
  for (size_t out : {0, 1}) {
    if (count[out] == 0) continue;
    const Sent sent = ports_[1 - out].send({leaving[out].data(), count[out]});
    counters_[out].packets_out += sent.packets;
    counters_[out].bytes_out += sent.bytes;
  }
}

std::map<std::string, uint64_t> FramePump::drops() {
  std::map<std::string, uint64_t> out{{"runt", runts_}, {"no_tag", untagged_}};
  for (PacketPort& port : ports_) {
    const PortDrops& drops = port.drops();
    out["rx_full"] += drops.rx_full;
    out["oversize"] += drops.oversize;
    out["tx_full"] += drops.tx_full;
    out["link_down"] += drops.link_down;
  }
  const auto reasons = nf_->drop_reasons();
  for (size_t i = 0; i < reasons.size(); ++i) out[std::string(reasons[i])] += nf_drops_[i];
  return out;
}

}  // namespace orrery::container_nf
