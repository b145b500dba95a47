// SPDX-License-Identifier: Apache-2.0
#include "flows/frame_ring.h"

#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "flows/frame_layout.h"
#include "support/checksum.h"
#include "support/clock.h"

namespace orrery::flows {
namespace {

constexpr unsigned kBlocks = 64, kBlockBytes = 1 << 18, kFrameBytes = 1 << 11;
constexpr unsigned kBlockTimeoutMs = 10;
constexpr uint32_t kKept = 160;

void attach_filter(int fd, uint16_t port) {
  // Jumps are relative: accept and drop are the last two instructions.
  constexpr uint8_t kCount = 20, kAccept = kCount - 2, kDrop = kCount - 1;
  const auto go = [](uint8_t to, uint8_t from) { return static_cast<uint8_t>(to - from - 1); };
  std::array<sock_filter, kCount> code = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE)),  // 0
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HOST, 0, go(kDrop, 1)),                       // 1
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),                                                  // 2
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, go(9, 3)),                            // 3
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),                                                  // 4
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kTcp, 1, 0),                                         // 5
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kUdp, 0, go(kDrop, 6)),                              // 6
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, kEthernetBytes + kIpv6Bytes + 2),                     // 7
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, go(kAccept, 8), go(kDrop, 8)),                 // 8
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, go(kDrop, 9)),                          // 9
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),                                                  // 10
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kTcp, 1, 0),                                         // 11
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kUdp, 0, go(kDrop, 12)),                             // 12
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),                                                  // 13
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x3fff, go(kDrop, 14), 0),                          // 14
      BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, kEthernetBytes),                                     // 15
      BPF_STMT(BPF_LD | BPF_H | BPF_IND, kEthernetBytes + 2),                                  // 16
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, go(kAccept, 17), go(kDrop, 17)),               // 17
      BPF_STMT(BPF_RET | BPF_K, kKept),                                                        // 18
      BPF_STMT(BPF_RET | BPF_K, 0),                                                            // 19
  }};
  const sock_fprog program{kCount, code.data()};
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0)
    throw std::runtime_error(std::string("packet filter: ") + std::strerror(errno));
}

void make_ring(int fd) {
  const int version = TPACKET_V3;
  tpacket_req3 request{};
  request.tp_block_size = kBlockBytes;
  request.tp_block_nr = kBlocks;
  request.tp_frame_size = kFrameBytes;
  request.tp_frame_nr = kBlocks * (kBlockBytes / kFrameBytes);
  request.tp_retire_blk_tov = kBlockTimeoutMs;
  if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 ||
      setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)) != 0)
    throw std::runtime_error(std::string("packet ring: ") + std::strerror(errno));
}

// Precondition: the filter let the frame pass.
std::span<const uint8_t> payload_of(std::span<const uint8_t> frame) {
  const bool is_ipv6 = load_be16(&frame[12]) == ETH_P_IPV6;
  const uint8_t* ip = frame.data() + kEthernetBytes;
  const uint8_t protocol = is_ipv6 ? ip[6] : ip[9];
  const size_t l4_at = kEthernetBytes + (is_ipv6 ? kIpv6Bytes : size_t{4} * (ip[0] & 15));
  if (frame.size() < l4_at + 13) return {};
  const size_t at = l4_at + (protocol == kTcp ? size_t{4} * (frame[l4_at + 12] >> 4) : kUdpBytes);
  return frame.size() < at ? std::span<const uint8_t>{} : frame.subspan(at);
}

uint64_t realtime_ns() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace

FrameRing::FrameRing(std::string interface, uint16_t port)
    : socket_(std::move(interface), [port](int fd) {
        attach_filter(fd, port);
        make_ring(fd);
      }) {
  void* memory = mmap(nullptr, size_t{kBlocks} * kBlockBytes, PROT_READ | PROT_WRITE, MAP_SHARED, socket_.fd(), 0);
  if (memory == MAP_FAILED) throw std::runtime_error(std::string("packet ring: ") + std::strerror(errno));
  ring_ = static_cast<uint8_t*>(memory);
}

FrameRing::~FrameRing() {
  munmap(ring_, size_t{kBlocks} * kBlockBytes);
}

bool FrameRing::receive(int wait_ms, const std::function<void(const ArrivedPacket&)>& take) {
  const auto block_at = [this](unsigned index) {
    return reinterpret_cast<tpacket_block_desc*>(ring_ + size_t{index} * kBlockBytes);
  };
  const auto is_ready = [&](unsigned index) {
    return (__atomic_load_n(&block_at(index)->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) != 0;
  };
  if (!is_ready(block_)) {
    pollfd source{socket_.fd(), POLLIN, 0};
    if (poll(&source, 1, wait_ms) < 0) return errno != EINTR;
    if ((source.revents & POLLERR) != 0) socket_.clear_error();
  }
  const uint64_t realtime_ahead_ns = realtime_ns() - monotonic_ns();
  for (unsigned blocks = 0; blocks < kBlocks && is_ready(block_); ++blocks) {
    tpacket_block_desc* block = block_at(block_);
    uint8_t* at = reinterpret_cast<uint8_t*>(block) + block->hdr.bh1.offset_to_first_pkt;
    for (unsigned i = 0; i < block->hdr.bh1.num_pkts; ++i) {
      const auto* header = reinterpret_cast<const tpacket3_hdr*>(at);
      const uint64_t arrived_ns = uint64_t{header->tp_sec} * 1'000'000'000u + header->tp_nsec - realtime_ahead_ns;
      take({payload_of({at + header->tp_mac, header->tp_snaplen}), arrived_ns, header->tp_len});
      at += header->tp_next_offset;
    }
    __atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    block_ = (block_ + 1) % kBlocks;
  }
  return true;
}

}  // namespace orrery::flows
