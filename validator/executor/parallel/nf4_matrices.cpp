#include "validator/executor/parallel/nf4_matrices.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "costmodel/memory/flat_units.h"
#include "costmodel/units/ceil_div.h"
#include "validator/executor/parallel/data.h"
#include "validator/executor/parameters/initial_values.h"

namespace hexaplan::validator {

using costmodel::DType;
using costmodel::kNf4Block;
using costmodel::kNf4ScaleBlock;
using costmodel::Pass;
using costmodel::TensorKind;

namespace {

constexpr std::int64_t kCodesOfAByte = 2;
constexpr std::int64_t kNumbersOfAScaleOfScales = std::int64_t{kNf4Block} * kNf4ScaleBlock;

template <class Numbers>
void upload_all(Device& device, const View& to, const Numbers& numbers) {
  const std::vector<double> values(numbers.begin(), numbers.end());
  device.upload(to.slice(0, std::ssize(values)), std::span<const double>{values});
}
template <class Number>
std::vector<Number> downloaded(Device& device, const View& from) {
  std::vector<double> values(static_cast<std::size_t>(from.elements()));
  device.download(values, from);
  std::vector<Number> out(values.size());
  std::ranges::transform(values, out.begin(), [](double x) { return static_cast<Number>(x); });
  return out;
}

}  // namespace

Nf4Matrices::Nf4Matrices(const Rank& rank, std::vector<LocalTensor> tensors, int unit, const Ranks& ranks,
                         std::uint64_t seed)
    : tensors_{std::move(tensors)},
      unit_{unit},
      granule_{costmodel::nf4_granule(rank.scenario.recipe)},
      ranks_{ranks},
      means_(tensors_.size(), 0.0F) {
  const std::int64_t elements = tensors_.back().offset + tensors_.back().elements();
  const std::int64_t share = costmodel::ceil_div(elements, static_cast<std::int64_t>(ranks_.shard->size()));
  kept_ = costmodel::ceil_div(share, granule_) * granule_;
  first_ = ranks_.shard->rank() * kept_;
  codes_ = allocate(rank, DType::Int8, kCodesOfAByte);
  scales_ = allocate(rank, quantises_scales() ? DType::Int8 : DType::Fp32, kNf4Block);
  if (quantises_scales()) scales_of_scales_ = allocate(rank, DType::Fp32, kNumbersOfAScaleOfScales);
  if (rank.initial == InitialValues::Noise) {
    fill_with_noise(rank, seed);
  } else {
    upload_initial_values(rank, seed);
  }
}

const LocalTensor* Nf4Matrices::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors_, name, &LocalTensor::name);
  return found == tensors_.end() ? nullptr : &*found;
}

std::vector<Piece> Nf4Matrices::own_pieces() const {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::int64_t begin = std::max(first_, tensors_[i].offset);
    const std::int64_t end = std::min(first_ + kept_, tensors_[i].offset + tensors_[i].elements());
    if (begin < end) pieces.push_back({.tensor = i, .begin = begin, .end = end});
  }
  return pieces;
}

/// A buffer with one number for `numbers_each` elements, accounted under the parameters' names.
Tensor Nf4Matrices::allocate(const Rank& rank, DType dtype, std::int64_t numbers_each) const {
  std::vector<LabelledColumns> parts;
  std::int64_t padding = kept_ / numbers_each;
  for (const Piece& p : own_pieces()) {
    const std::int64_t whole = costmodel::ceil_div(p.end - p.begin, granule_) * granule_ / numbers_each;
    parts.push_back({{tensors_[p.tensor].name, TensorKind::Parameter, dtype}, whole});
    padding -= whole;
  }
  if (padding > 0) parts.push_back({{"shard.padding", TensorKind::Parameter, dtype}, padding});
  Tensor out = rank.device.allocate(parts, 1);
  rank.device.fill(out, 0);
  return out;
}

Nf4Matrix Nf4Matrices::at(const Piece& p, const View& codes, const View& scales, std::int64_t first) const {
  const std::int64_t begin = p.begin - first, numbers = p.end - p.begin;
  Nf4Matrix out{
      .numbers = numbers,
      .codes = codes.slice(begin / kCodesOfAByte, costmodel::ceil_div(numbers, kCodesOfAByte)),
      .scales = scales.slice(begin / kNf4Block, costmodel::ceil_div(numbers, std::int64_t{kNf4Block})),
      .scales_of_scales = {},
      .mean = means_[p.tensor]};
  if (quantises_scales())
    out.scales_of_scales = scales_of_scales_.view().slice(
        begin / kNumbersOfAScaleOfScales, costmodel::ceil_div(numbers, kNumbersOfAScaleOfScales));
  return out;
}

void Nf4Matrices::write(const Rank& rank, const Piece& piece, std::span<const double> values) {
  // The mean is a whole matrix's.
  assert(!quantises_scales() || piece.end - piece.begin == tensors_[piece.tensor].elements());
  Nf4Numbers numbers = nf4_quantised(values);
  if (quantises_scales()) nf4_quantise_scales(nf4_mean(numbers.scales), numbers);
  means_[piece.tensor] = numbers.mean;
  const Nf4Matrix to = at(piece, codes_, scales_, first_);
  upload_all(rank.device, to.codes, numbers.codes);
  if (!quantises_scales()) return upload_all(rank.device, to.scales, numbers.scales);
  upload_all(rank.device, to.scales, numbers.scale_codes);
  upload_all(rank.device, to.scales_of_scales, numbers.scales_of_scales);
}

std::vector<double> Nf4Matrices::read(const Rank& rank, const Piece& piece) const {
  const Nf4Matrix from = at(piece, codes_, scales_, first_);
  Nf4Numbers numbers;
  numbers.codes = downloaded<std::uint8_t>(rank.device, from.codes);
  numbers.mean = from.mean;
  if (quantises_scales()) {
    numbers.scale_codes = downloaded<std::uint8_t>(rank.device, from.scales);
    numbers.scales_of_scales = downloaded<float>(rank.device, from.scales_of_scales);
  } else {
    numbers.scales = downloaded<float>(rank.device, from.scales);
  }
  return nf4_dequantised(numbers, from.numbers);
}

void Nf4Matrices::upload_initial_values(const Rank& rank, std::uint64_t seed) {
  for (const Piece& piece : own_pieces()) {
    const LocalTensor& t = tensors_[piece.tensor];
    std::vector<double> values(static_cast<std::size_t>(piece.end - piece.begin));
    initial_values(t, unit_, rank.scenario.model, seed, piece.begin - t.offset, values,
                   rank.initial == InitialValues::Begun);
    write(rank, piece, std::span<const double>{values});
  }
}

/// Random codes, repeated; the scales of normal numbers, whose largest of 64 is about 2.4 deviations.
void Nf4Matrices::fill_with_noise(const Rank& rank, std::uint64_t seed) {
  constexpr std::int64_t kDrawn = std::int64_t{1} << 16;
  constexpr double kLargestOf64 = 2.4;
  std::vector<std::int32_t> drawn(static_cast<std::size_t>(std::min(kDrawn, codes_.view().elements())));
  const auto counter = static_cast<std::uint64_t>(unit_) + 8;
  for (std::size_t i = 0; i < drawn.size(); ++i)
    drawn[i] = static_cast<std::int32_t>(counter_random(seed, counter, i) % 256);
  const auto count = std::ssize(drawn);
  rank.device.upload(codes_.view().slice(0, count), std::span<const std::int32_t>{drawn});
  for (std::int64_t done = count; done < codes_.view().elements();) {
    const std::int64_t next = std::min(done, codes_.view().elements() - done);
    rank.device.copy(codes_.view().slice(done, next), codes_.view().slice(0, next));
    done += next;
  }
  const double scale = kLargestOf64 * initial_distribution(tensors_.front(), rank.scenario.model).deviation;
  rank.device.fill(scales_, quantises_scales() ? 127 : scale);  // code 127 stands for zero: the mean
  std::ranges::fill(means_, static_cast<float>(scale));
}

void Nf4Matrices::gather(const Rank& rank, Pass pass) {
  if (!is_cut()) return;
  const std::int64_t all = kept_ * ranks_.shard->size();
  const auto whole = [&](DType dtype, std::int64_t count) {
    return rank.device.allocate({"parameter.gathered", TensorKind::Transient, dtype}, 1, count);
  };
  gathered_codes_ = whole(DType::Int8, all / kCodesOfAByte);
  gathered_scales_ = whole(DType::Fp32, all / kNf4Block);
  Work codes = ranks_.shard->all_gather(wire(codes_), wire(gathered_codes_),
                                        rank.call("parameter.gather", pass, DType::Int8));
  ranks_.shard
      ->all_gather(wire(scales_), wire(gathered_scales_),
                   rank.call("parameter.gather_scales", pass, DType::Fp32))
      .wait();
  codes.wait();
}

void Nf4Matrices::release() {
  gathered_codes_.free();
  gathered_scales_.free();
}

void Nf4Matrices::dequantise(const Rank& rank, std::string_view first, std::string_view last,
                             const View& out) const {
  const View &codes = is_cut() ? gathered_codes_ : codes_, &scales = is_cut() ? gathered_scales_ : scales_;
  const auto place = [&](std::string_view name) {
    assert(find(name) != nullptr);
    return static_cast<std::size_t>(find(name) - tensors_.data());
  };
  std::int64_t done = 0;
  for (std::size_t i = place(first); i <= place(last); ++i) {
    const LocalTensor& t = tensors_[i];
    const Piece all{.tensor = i, .begin = t.offset, .end = t.offset + t.elements()};
    rank.device.dequantise_nf4(at(all, codes, scales, 0), out.slice(done, t.elements()));
    done += t.elements();
  }
  assert(done == out.elements());
}

void Nf4Matrices::visit(const Rank& rank, State state, const std::function<void(const OwnedPart&)>& visitor) {
  if (state != State::Parameter && state != State::Master) return;
  for (const Piece& piece : own_pieces()) {
    const LocalTensor& t = tensors_[piece.tensor];
    const std::vector<double> before = read(rank, piece);
    const Tensor wide = rank.device.allocate_message(rank.device.element_of(DType::Fp32), std::ssize(before));
    rank.device.upload(wide, std::span<const double>{before});
    visitor({.unit = unit_,
             .tensor = &t,
             .state = state,
             .first = piece.begin - t.offset,
             .view = wide,
             .device = &rank.device,
             .duplicate = ranks_.mirrored || ranks_.replica->rank() != 0 || !t.counted});
    std::vector<double> after(before.size());
    rank.device.download(after, wide);
    if (after != before) write(rank, piece, after);
  }
}

}  // namespace hexaplan::validator
