// SPDX-License-Identifier: Apache-2.0
#include "nfs/bytestream/with_bytestream.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nfs/bytestream/bytestream_core.h"
#include "nfs/bytestream/stream_view.h"
#include "nfs/movable_flows.h"
#include "nfs/state_copy.h"

namespace orrery {
namespace {

using nlohmann::json;

// A copy whose object becomes a member of another.
class MemberCopy final : public StateCopy {
 public:
  MemberCopy(const char* name, std::unique_ptr<StateCopy> copy) : name_(name), copy_(std::move(copy)) {}

  bool copy(size_t rows) noexcept override { return copy_->copy(rows); }
  json finish(RowForm form) override { return {{name_, copy_->finish(form)}}; }

 private:
  const char* name_;
  std::unique_ptr<StateCopy> copy_;
};

class WithBytestream final : public NfCore {
 public:
  explicit WithBytestream(std::unique_ptr<NfCore> nf) : nf_(std::move(nf)) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    if (nf_->reads_streams()) {
      views_.resize(std::max(views_.size(), packets.size()));
      for (size_t i = 0; i < packets.size(); ++i) packets[i].stream = &views_[i];
      bytestream_->process(packets, in, verdicts, now_ns);
    }
    nf_->process(packets, in, verdicts, now_ns);
  }

  bool resizes() const override { return nf_->resizes(); }
  std::span<const std::string_view> drop_reasons() const override { return nf_->drop_reasons(); }
  std::unique_ptr<NextConfig> prepare(const json& config, std::span<const MetadataField> metadata) const override {
    return nf_->prepare(config, metadata);
  }
  void take(NextConfig& next) noexcept override { nf_->take(next); }

  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    if (!nf_->reads_streams()) return nf_->copy_state(limit);
    return std::make_unique<JoinedCopy>(nf_->copy_state(limit),
                                        std::make_unique<MemberCopy>("bytestream", bytestream_->copy_state(limit)));
  }
  std::unique_ptr<StateCopy> copy_flows() const override { return nf_->copy_flows(); }
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows known) override {
    return nf_->prepare_import(state, known);
  }
  std::vector<std::unique_ptr<MovableFlows>> movable_flows() override { return nf_->movable_flows(); }

 private:
  std::unique_ptr<NfCore> nf_;
  StreamLog log_{bytestream::kLeastLogBytes};
  std::unique_ptr<NfCore> bytestream_ = bytestream::make(json::object(), log_);
  std::vector<StreamView> views_;
};

}  // namespace

std::unique_ptr<NfCore> with_bytestream(std::unique_ptr<NfCore> nf) {
  return std::make_unique<WithBytestream>(std::move(nf));
}

}  // namespace orrery
