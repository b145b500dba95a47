// SPDX-License-Identifier: Apache-2.0
#include <linux/if_packet.h>
#include <sys/socket.h>

// DPDK's net_af_packet puts every socket into a fan-out group that has the kernel put IPv4 fragments together first
// (DPDK 22.11, drivers/net/af_packet: PACKET_FANOUT_FLAG_DEFRAG), and no option turns that off. NFs would then never
// see a fragment, and a datagram longer than a frame of the ring would be cut off. A port has one queue, so that there
// is nothing to fan out.
// The linker puts this in front of the C library's own (--wrap in meson.build).
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
extern "C" {
int __real_setsockopt(int fd, int level, int option, const void* value, socklen_t bytes);

int __wrap_setsockopt(int fd, int level, int option, const void* value, socklen_t bytes) {
  if (level == SOL_PACKET && option == PACKET_FANOUT) return 0;
  return __real_setsockopt(fd, level, option, value, bytes);
}
}
// NOLINTEND(bugprone-reserved-identifier)
