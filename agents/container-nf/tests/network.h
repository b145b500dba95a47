// SPDX-License-Identifier: Apache-2.0
// The wires of a container NF: two veth pairs in a network namespace of the test's own.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "container-nf/packet_port.h"
#include "nfs/nf_core.h"
#include "support/testing/frames.h"

namespace orrery::container_nf::testing {

using orrery::testing::Frame;

// Runs a shell command and fails the test when the command does.
void shell(const std::string& command);

// Waits until `done` says so and fails the test after ten seconds.
void await(const std::function<bool()>& done, const char* what);

// Waits until the kernel transmits on an interface: for a moment after the peer came up it still drops what it accepts.
void await_link(const char* interface);

// Both pairs, up and empty, from construction to destruction. The program under test has their ends `near` and `far`.
class Network {
 public:
  Network();
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Sends frames, at most as many as the program can hold back, to it in a direction.
  void send(const std::vector<Frame>& frames, Direction in);

  // The next `n` frames that leave the program in a direction.
  std::vector<Frame> receive(size_t n, Direction out);

  // Frames that have left the program and were not received.
  size_t left_over();

 private:
  std::array<std::unique_ptr<PacketPort>, 2> ends_;  // by the direction that begins there
};

}  // namespace orrery::container_nf::testing
