// SPDX-License-Identifier: Apache-2.0
// State that comes to an NF from another instance, or from who says to be one: JSON, and binary rows.
#include "fuzz/json_edits.h"
#include "fuzz/nf_harness.h"
#include "support/base64.h"

namespace {

using namespace orrery;
using fuzz::Bytes;
using fuzz::Input;
using nlohmann::json;

// The state of an instance that has seen some flows.
const json& typical_state(size_t index) {
  static std::map<size_t, json> made;
  if (const auto found = made.find(index); found != made.end()) return found->second;
  const fuzz::Kind& kind = fuzz::kinds()[index];
  const auto nf = find_nf(kind.name)(kind.config, kind.metadata);
  testing::Rng rng(3);
  for (int n = 0; n < 20; ++n) {
    testing::FrameSpec spec = testing::random_spec(rng);
    if (n % 2 == 0) spec.dst = 0xcb007101;
    if (n % 3 == 0) spec = testing::over_ipv6(spec);
    fuzz::process(*nf, {{testing::build_frame(spec), true}}, Direction::kForward, monotonic_ns());
  }
  return made[index] = nf->export_state(RowForm::kBinary);
}

// With the header that it has or a changed one, and rows of the fuzzer's bytes.
std::string with_other_rows(const std::string& text, Input& in) {
  const auto decoded = base64_decode(text);
  if (!decoded || decoded->size() < 9) return text;
  Bytes rows(decoded->begin(), decoded->end());
  const size_t header = 5u + rows[4] + 4u;
  const uint8_t what = in.u8();
  if (what % 4 == 0) {
    for (int n = what / 32; n > 0; --n) rows[in.u16() % rows.size()] = in.u8();
  } else {
    size_t width = 0;
    for (size_t i = 0; i < rows[4]; ++i) width += rows[5 + i];
    const size_t count = what / 4 % 8u;
    rows.resize(header);
    rows[header - 4] = static_cast<uint8_t>(count);
    for (size_t i = header - 3; i < header; ++i) rows[i] = 0;
    Bytes more = in.bytes(count * width);
    more.resize(count * width);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return base64_encode({reinterpret_cast<const char*>(rows.data()), rows.size()});
}

void run(size_t index, Input& in) {
  const fuzz::Kind& kind = fuzz::kinds()[index];
  json state = typical_state(index);
  if (in.u8() % 8 == 0) {
    const Bytes text = in.rest();
    state = json::parse(text.begin(), text.end(), nullptr, false);
    if (state.is_discarded()) return;
  } else {
    for (auto& [key, value] : state.items())
      if (value.is_string()) value = with_other_rows(value.get<std::string>(), in);
    state = fuzz::edited(std::move(state), in);
  }
  const auto nf = find_nf(kind.name)(kind.config, kind.metadata);
  if (!fuzz::accepted([&] { nf->import_state(state); })) return;
  for (const RowForm form : {RowForm::kBinary, RowForm::kArrays}) {
    const auto other = find_nf(kind.name)(kind.config, kind.metadata);
    fuzz::require(fuzz::accepted([&] { other->import_state(nf->export_state(form)); }), "what is taken in goes on");
  }
  nf->state(100);
  for (int n = 0; !in.empty() && n < 16; ++n)
    fuzz::process(*nf, {fuzz::frame(in)}, Direction(n % 2), monotonic_ns() + uint64_t{in.u16()} * 1'000'000'000u);
}

}  // namespace

std::vector<orrery::fuzz::Bytes> seeds() {
  std::vector<orrery::fuzz::Bytes> out;
  orrery::testing::Rng rng(4);
  for (const uint8_t kind : orrery::fuzz::kind_bytes()) {
    for (int n = 0; n < (kind < 252 ? 4 : 1); ++n) {
      orrery::fuzz::Bytes seed{kind, 1};
      for (int i = 0; i < 160; ++i) seed.push_back(static_cast<uint8_t>(rng()));
      out.push_back(std::move(seed));
    }
    orrery::fuzz::Bytes text{kind, 0};
    for (const char c : typical_state(fuzz::kind_index(kind)).dump()) text.push_back(static_cast<uint8_t>(c));
    out.push_back(std::move(text));
  }
  return out;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in({data, size});
  run(fuzz::kind_index(in.u8()), in);
  return 0;
}
