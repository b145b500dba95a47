// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "nfs/load-balancer/balancer_ends.h"

namespace orrery::load_balancer {
namespace {

TEST(LoadBalancer, AnAnsweredConnectionStaysWhateverOthersFail) {
  const auto nf = make_nf("load-balancer", config(2));
  uint64_t now = monotonic_ns();
  const auto send = [&](uint16_t port, uint8_t flags) {
    return run_one(*nf, tcp_frame(request(port), flags), Direction::kForward, now);
  };
  const auto answer = [&](uint16_t port, const Outcome& out, uint8_t flags) {
    const FrameSpec reply = reply_of(with_ends(request(port), ends_of(out.frame)));
    return run_one(*nf, tcp_frame(reply, flags), Direction::kReturn, now);
  };
  std::vector<uint16_t> of_0;
  for (uint16_t port = 1024; of_0.size() < 6; ++port) {
    const Outcome out = send(port, kTcpSyn);
    if (backend_of(out) != 0) continue;
    of_0.push_back(port);
    if (of_0.size() > 1) continue;
    answer(port, out, kTcpSyn | kTcpAck);
    EXPECT_EQ(backend_of(send(port, kTcpAck)), 0u);
  }
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(backend_of(send(of_0[0], kTcpAck)), 0u) << i - 1 << " failures";
    now += kSecond;
    send(of_0[i], kTcpSyn);
  }
  EXPECT_EQ(nf->state(2)["backends"][0]["state"], "failed");
  EXPECT_EQ(backend_of(send(of_0[4], kTcpSyn)), 1u) << "a retransmission goes to one that is well";
  EXPECT_EQ(backend_of(send(of_0[0], kTcpAck)), 0u);
  EXPECT_EQ(nf->state(2)["flows_moved"], 2) << "and so did the SYN that was the last failure";
}

TEST(LoadBalancer, AConnectionThatIsNeverAnsweredIsAFailureOnceItExpires) {
  const auto nf = make_nf("load-balancer", config(1, 4, {{"max_failures", 2}, {"transitory_timeout_s", 5}}));
  const uint64_t now = monotonic_ns();
  for (uint16_t port = 1; port <= 2; ++port) run_one(*nf, tcp_frame(request(port), kTcpSyn), Direction::kForward, now);
  run_one(*nf, arp_frame(), Direction::kForward, now + 4 * kSecond);
  EXPECT_EQ(nf->state(1)["backends"][0]["state"], "up");
  run_one(*nf, arp_frame(), Direction::kForward, now + 6 * kSecond);
  EXPECT_EQ(nf->state(1)["backends"][0]["state"], "failed");
  EXPECT_EQ(nf->state(1)["backends"][0]["failures"], 2);
  EXPECT_EQ(nf->state(1)["backends"][0]["open"], 0);
  EXPECT_EQ(nf->state(1)["flow_count"], 0);
}

// What nobody could answer, such as SYNs with a wrong checksum, tells nothing of a back end that answers others.
TEST(LoadBalancer, SilenceIsNoFailureOfABackEndThatAnswersOthersMeanwhile) {
  for (const bool again : {false, true}) {
    const auto nf = make_nf("load-balancer", config(1, 4, {{"max_failures", 2}, {"transitory_timeout_s", 20}}));
    uint64_t now = monotonic_ns();
    const auto send = [&](uint16_t port) {
      return run_one(*nf, tcp_frame(request(port), kTcpSyn), Direction::kForward, now);
    };
    for (uint16_t port = 1; port <= 5; ++port) send(port);
    now += kSecond;
    const FrameSpec reply = reply_of(with_ends(request(9), ends_of(send(9).frame)));
    EXPECT_EQ(run_one(*nf, tcp_frame(reply, kTcpSyn | kTcpAck), Direction::kReturn, now).reason, "");
    now += again ? kSecond : 30 * kSecond;
    for (uint16_t port = 1; again && port <= 5; ++port) send(port);
    run_one(*nf, arp_frame(), Direction::kForward, now);
    run_one(*nf, arp_frame(), Direction::kForward, now);
    EXPECT_EQ(nf->state(1)["backends"][0]["failures"], 0) << again;
    EXPECT_EQ(nf->state(1)["backends"][0]["state"], "up") << again;
  }
}

// A client tries again several times within the window of failures.
TEST(LoadBalancer, AConnectionIsOneFailureHoweverOftenItsClientTriesAgain) {
  for (const uint8_t proto : {kTcp, kUdp}) {
    const auto nf = make_nf("load-balancer", config(1, 4, {{"max_failures", 2}, {"transitory_timeout_s", 20}}));
    uint64_t now = monotonic_ns();
    FrameSpec spec = request(1);
    spec.proto = proto;
    const Frame frame = proto == kTcp ? tcp_frame(spec, kTcpSyn) : build_frame(spec);
    for (int tries = 0; tries < 4; ++tries, now += (1u << tries) * kSecond) {
      const Outcome sent = run_one(*nf, frame, Direction::kForward, now);
      EXPECT_EQ(sent.reason, "");
      if (proto == kUdp) run_one(*nf, build_icmp_error(0x01010101, 3, sent.frame, 8), Direction::kReturn, now);
    }
    run_one(*nf, arp_frame(), Direction::kForward, now + 60 * kSecond);
    EXPECT_EQ(nf->state(1)["flow_count"], 0);
    EXPECT_EQ(nf->state(1)["backends"][0]["failures"], 1) << int{proto};
    EXPECT_EQ(nf->state(1)["backends"][0]["state"], "up") << int{proto};
  }
}

TEST(LoadBalancer, UnreachableBackEndsFailOnlyByErrorsAboutWhatTheyDidNotAnswer) {
  for (const uint8_t version : {4, 6}) {
    const auto nf = make_nf("load-balancer", config(1, version, {{"max_failures", 1}}));
    FrameSpec spec = request(5, version);
    spec.proto = kUdp;
    const Outcome out = run_one(*nf, build_frame(spec));
    const FrameSpec sent = with_ends(spec, ends_of(out.frame));
    const auto error = [&](uint8_t type) {
      return run_one(*nf, build_icmp_error(9, type, out.frame, 8), Direction::kReturn).reason;
    };
    EXPECT_EQ(error(version == 6 ? 2 : 11), "") << "too big, time exceeded: the back end may well be there";
    EXPECT_EQ(nf->state(1)["backends"][0]["state"], "up");
    run_one(*nf, build_frame(reply_of(sent)), Direction::kReturn);
    EXPECT_EQ(error(version == 6 ? 1 : 3), "");
    EXPECT_EQ(nf->state(1)["backends"][0]["state"], "up") << "it has answered";
    const Outcome next = run_one(*nf, build_frame([&] {
      FrameSpec other = spec;
      other.src_port = 6;
      return other;
    }()));
    EXPECT_EQ(run_one(*nf, build_icmp_error(9, version == 6 ? 1 : 3, next.frame, 8), Direction::kReturn).reason, "");
    EXPECT_EQ(nf->state(1)["backends"][0]["state"], "failed");
  }
}

TEST(LoadBalancer, InDirectModeSilenceIsNoFailure) {
  const auto nf = make_nf("load-balancer", config(2, 4, {{"mode", "direct"}, {"max_failures", 1}}));
  uint64_t now = monotonic_ns();
  for (int i = 0; i < 50; ++i, now += kSecond) run_one(*nf, tcp_frame(request(1), kTcpSyn), Direction::kForward, now);
  run_one(*nf, arp_frame(), Direction::kForward, now + 1000 * kSecond);
  const json state = nf->state(2);
  EXPECT_EQ(state["backends"].size(), 2u);
  for (const json& b : state["backends"]) EXPECT_EQ(b["state"], "up");
}

// Clients of a load balancer, and what its back ends say to them.
class Clients {
 public:
  explicit Clients(const json& config) : nf_(make_nf("load-balancer", config)) {}

  // A SYN of a new client, and where it goes. `answer`: flags of the reply; 0: none.
  uint32_t connect(uint16_t port, uint8_t answer) {
    FrameSpec spec = request(static_cast<uint16_t>(1024 + clients_ % 60000), 4, 0x0a000001 + clients_ / 60000);
    ++clients_;
    spec.dst_port = port;
    return exchange(spec, kTcpSyn, answer);
  }

  uint32_t exchange(const FrameSpec& spec, uint8_t flags, uint8_t answer) {
    const Outcome out = run_one(*nf_, tcp_frame(spec, flags), Direction::kForward, now_ns);
    EXPECT_EQ(out.reason, "");
    if (answer != 0) {
      const Outcome back = run_one(*nf_, tcp_frame(reply_to(spec, out), answer), Direction::kReturn, now_ns);
      EXPECT_EQ(back.reason, "");
    }
    return backend_of(out);
  }

  json state() const { return nf_->state(100); }
  json backends() const { return state()["backends"]; }
  std::set<std::string> states() const {
    std::set<std::string> out;
    for (const json& row : backends()) out.insert(row["state"]);
    return out;
  }

  uint64_t now_ns = monotonic_ns();

 private:
  std::unique_ptr<NfCore> nf_;
  uint32_t clients_ = 0;
};

constexpr uint8_t kAccepts = kTcpSyn | kTcpAck, kRefuses = kTcpRst | kTcpAck;

// Whoever asks for a port at which nobody listens is refused everywhere, and nobody else is.
TEST(LoadBalancer, AClosedPortTakesNoBackEndOut) {
  Clients clients(config(3));
  const FrameSpec open = request(7, 4, 0x0b000001);
  const uint32_t stays_at = clients.exchange(open, kTcpSyn, kAccepts);
  for (int i = 0; i < 30; ++i) clients.connect(80, kAccepts);
  std::set<uint32_t> refused_by, accepted_by;
  for (int i = 0; i < 200; ++i) refused_by.insert(clients.connect(81, kRefuses));
  EXPECT_EQ(refused_by, (std::set<uint32_t>{0, 1, 2})) << "all are asked where all refuse";
  for (int i = 0; i < 200; ++i) accepted_by.insert(clients.connect(80, kAccepts));
  EXPECT_EQ(accepted_by, (std::set<uint32_t>{0, 1, 2}));
  EXPECT_EQ(clients.exchange(open, kTcpAck, kTcpAck), stays_at);
  EXPECT_EQ(clients.states(), std::set<std::string>{"up"});
  for (const json& row : clients.backends()) {
    EXPECT_EQ(row["failed_port_count"], 1);
    EXPECT_EQ(row["failed_ports"], json{"tcp/81"});
  }
  EXPECT_EQ(clients.state()["flows_moved"], 0);
}

TEST(LoadBalancer, WhereAllBackEndsLookFailedAllAreUsed) {
  Clients clients(config(3, 4, {{"min_successes", 2}, {"retry_after_s", 10}}));
  for (int i = 0; i < 100; ++i) clients.connect(80, kRefuses);
  EXPECT_EQ(clients.states(), std::set<std::string>{"failed"});
  std::set<uint32_t> used;
  for (int i = 0; i < 100; ++i) used.insert(clients.connect(80, 0));
  EXPECT_EQ(used, (std::set<uint32_t>{0, 1, 2}));
  for (int i = 0; i < 10; ++i) clients.connect(80, kAccepts);
  EXPECT_EQ(clients.states(), (std::set<std::string>{"up", "failed"})) << "the first that answers is used";
  clients.now_ns += 11 * kSecond;
  for (int i = 0; i < 100; ++i) clients.connect(80, kAccepts);
  EXPECT_EQ(clients.states(), std::set<std::string>{"up"});
}

// A client uses its port again, for which the back end has failed and recovered meanwhile.
TEST(LoadBalancer, AConnectionThatBeginsAnewIsEvidenceOfToday) {
  Clients clients(config(1, 4, {{"max_failures", 1}, {"min_successes", 1}, {"retry_after_s", 1}}));
  const FrameSpec again = request(80, 4, 0x0b000001);
  clients.exchange(again, kTcpSyn, kAccepts);
  clients.exchange(again, kTcpRst, 0);
  clients.connect(80, kRefuses);
  EXPECT_EQ(clients.states(), std::set<std::string>{"failed"});
  clients.now_ns += 2 * kSecond;
  clients.connect(80, kAccepts);
  EXPECT_EQ(clients.states(), std::set<std::string>{"up"});
  clients.exchange(again, kTcpSyn, kRefuses);
  EXPECT_EQ(clients.states(), std::set<std::string>{"failed"});
}

// A SYN that no back end takes, such as one with a wrong checksum, and an acknowledgement behind it.
TEST(LoadBalancer, AResetOfWhatIsNoSynIsNoRefusal) {
  Clients clients(config(1, 4, {{"max_failures", 1}}));
  clients.connect(80, kTcpRst);
  EXPECT_EQ(clients.states(), std::set<std::string>{"up"});
  EXPECT_EQ(clients.backends()[0]["failures"], 0);
  clients.connect(80, kRefuses);
  EXPECT_EQ(clients.states(), std::set<std::string>{"failed"});
}

TEST(LoadBalancer, KnowsTheHealthOfABoundedNumberOfPorts) {
  Clients clients(config(1));
  clients.connect(80, kAccepts);
  for (int i = 0; i < 2; ++i) clients.connect(80, kRefuses);
  for (uint16_t port = 1000; port < 6000; ++port) clients.connect(port, kRefuses);
  EXPECT_EQ(clients.state()["judged_ports_evicted"], 1 + 5000 - 2048);
  EXPECT_EQ(clients.backends()[0]["failed_port_count"], 0);
  clients.connect(80, kRefuses);
  EXPECT_EQ(clients.backends()[0]["failed_ports"], json{"tcp/80"}) << "one that has answered is not displaced";
  for (uint16_t port = 1000; port < 4000; ++port)
    for (int i = 0; i < 3; ++i) clients.connect(port, kRefuses);
  EXPECT_LE(clients.backends()[0]["failed_port_count"], 2048);
  EXPECT_EQ(clients.backends()[0]["failed_ports"].size(), 8u);
}

// A flow of UDP goes on whether it is answered or not.
TEST(LoadBalancer, AFlowThatIsToldThatItsBackEndHasGoneLeavesIt) {
  const auto nf = make_nf("load-balancer", config(2, 4, {{"max_failures", 1}, {"min_successes", 1}}));
  uint64_t now = monotonic_ns();
  FrameSpec spec = request(5);
  spec.proto = kUdp;
  const auto send = [&] { return run_one(*nf, build_frame(spec), Direction::kForward, now); };
  const auto answer = [&](const Outcome& out) {
    EXPECT_EQ(run_one(*nf, build_frame(reply_to(spec, out)), Direction::kReturn, now).reason, "");
  };
  const auto refuse = [&](const Outcome& out) {
    EXPECT_EQ(run_one(*nf, build_icmp_error(9, 3, out.frame, 8), Direction::kReturn, now).reason, "");
  };
  const Outcome first = send();
  answer(first);
  refuse(first);
  EXPECT_EQ(backend_of(send()), backend_of(first)) << "once may be by chance";
  refuse(send());
  const Outcome other = send();
  EXPECT_EQ(backend_of(other), 1 - backend_of(first));
  answer(other);
  EXPECT_EQ(nf->state(2)["backends"][backend_of(first)]["failed_ports"], json{"udp/80"});
  now += 20 * kSecond;
  for (uint16_t port = 100; port < 120; ++port) {
    spec.src_port = port;
    const Outcome trial = send();
    if (backend_of(trial) == backend_of(first)) answer(trial);
  }
  EXPECT_EQ(nf->state(2)["backends"][backend_of(first)]["state"], "up") << "by a flow that it answered";
}

}  // namespace
}  // namespace orrery::load_balancer
