// SPDX-License-Identifier: Apache-2.0
// How an NF's state is read while packets flow: copied in slices, for each of which the worker is parked, and written
// down as JSON beside it.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "nfs/nf_core.h"

namespace orrery {

// What may be copied while a worker is parked: bytes. JSON, texts and whatever else allocates is not.
template <class T>
concept PlainFigures = std::is_trivially_copyable_v<T>;

// Figures that are read in one slice. See copy_figures().
template <class Read, class Write>
class FiguresCopy final : public StateCopy {
 public:
  FiguresCopy(Read read, Write write) : read_(std::move(read)), write_(std::move(write)) {}

  bool copy(size_t) noexcept override {
    figures_ = read_();
    return false;
  }
  nlohmann::json finish(RowForm form) override { return write_(figures_, form); }

 private:
  Read read_;
  Write write_;
  std::invoke_result_t<Read> figures_{};
};

// `read()`: the figures, while the worker is parked. `write(figures, form)`: as JSON, beside it.
template <class Read, class Write>
requires PlainFigures<std::invoke_result_t<Read>> std::unique_ptr<StateCopy> copy_figures(Read read, Write write) {
  return std::make_unique<FiguresCopy<Read, Write>>(std::move(read), std::move(write));
}

// For an NF without any.
inline std::unique_ptr<StateCopy> copy_no_flows() {
  return copy_figures([] { return 0; }, [](int, RowForm) { return nlohmann::json::object(); });
}

// The flows of a FlowStore, and the figures beside them as they were at the end of the copy. See copy_flow_store().
template <class Store, class Read, class Write>
class FlowStoreCopy final : public StateCopy {
 public:
  using Flow = typename Store::Flow;

  FlowStoreCopy(const Store& store, Read read, Write write)
      : table_(store.table()), read_(std::move(read)), write_(std::move(write)) {
    flows_.reserve(table_.capacity());
  }

  bool copy(size_t rows) noexcept override {
    const auto next = table_.visit_positions(next_, static_cast<uint32_t>(rows), [&](const auto& entry) {
      if (flows_.size() < flows_.capacity()) flows_.push_back({table_.key_of(entry), entry.value, entry.last_seen_ns});
    });
    next_ = next.value_or(next_);
    if (next) return true;
    figures_ = read_();
    return false;
  }

  nlohmann::json finish(RowForm form) override {
    // Of equal age what was inserted later is younger.
    std::ranges::reverse(flows_);
    std::ranges::stable_sort(flows_, std::greater{}, &Flow::last_seen_ns);
    leave_out_twins();
    return write_(flows_, figures_, form);
  }

 private:
  // A flow that ended and began again during the copy may be there twice; the younger stays.
  void leave_out_twins() {
    if (flows_.empty()) return;
    typename Store::Table seen(static_cast<uint32_t>(flows_.size()), 0);
    std::erase_if(flows_, [&](const Flow& flow) {
      const uint32_t hash = seen.hash(flow.key);
      if (seen.find(flow.key, hash) != nullptr) return true;
      seen.insert(flow.key, hash, flow.last_seen_ns);
      return false;
    });
  }

  const typename Store::Table& table_;
  Read read_;
  Write write_;
  std::vector<Flow> flows_;
  std::invoke_result_t<Read> figures_{};
  uint32_t next_ = 0;
};

// `read()`: the figures, while the worker is parked. `write(flows, figures, form)`: as JSON, beside it; flows are a
// vector of Store::Flow, youngest first.
template <class Store, class Read, class Write>
requires PlainFigures<std::invoke_result_t<Read>> && PlainFigures<typename Store::Flow> std::unique_ptr<StateCopy>
copy_flow_store(const Store& store, Read read, Write write) {
  return std::make_unique<FlowStoreCopy<Store, Read, Write>>(store, std::move(read), std::move(write));
}

// Two copies, one after the other, whose objects become one.
class JoinedCopy final : public StateCopy {
 public:
  JoinedCopy(std::unique_ptr<StateCopy> first, std::unique_ptr<StateCopy> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  bool copy(size_t rows) noexcept override {
    if (first_copied_) return second_->copy(rows);
    first_copied_ = !first_->copy(rows);
    return true;
  }
  nlohmann::json finish(RowForm form) override {
    nlohmann::json out = first_->finish(form);
    out.update(second_->finish(form));
    return out;
  }

 private:
  std::unique_ptr<StateCopy> first_;
  std::unique_ptr<StateCopy> second_;
  bool first_copied_ = false;
};

}  // namespace orrery
