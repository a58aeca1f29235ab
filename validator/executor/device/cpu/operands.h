#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "validator/executor/device/bf16.h"
#include "validator/executor/device/cpu/kernels/convert.h"
#include "validator/executor/device/cpu/kernels/matrix.h"
#include "validator/executor/device/cpu/pieces.h"
#include "validator/executor/device/fp16.h"
#include "validator/executor/device/view.h"

// Kernels compute in one type; memory may hold a narrower one. Operands stand between: they are the memory
// itself where it holds what is computed in, else a copy that lives as long as the call, widened before and
// rounded to nearest even once, after.

namespace hexaplan::validator {

/// Of memory that kernels see: of a cache line, and of every vector register. Loops over vectors begin where
/// an address is a multiple of a register's size, so that with less the order of sums would be the heap's.
inline constexpr std::align_val_t kAlignment{64};

struct FreeAligned {
  void operator()(void* memory) const noexcept { ::operator delete(memory, kAlignment); }
};

/// Calls `visit` with a null pointer of the C++ type that memory of `element` holds.
template <class Visitor>
void with_type(Element element, const Visitor& visit) {
  switch (element) {
    case Element::F64:
      return visit(static_cast<double*>(nullptr));
    case Element::F32:
      return visit(static_cast<float*>(nullptr));
    case Element::Bf16:
      return visit(static_cast<Bf16*>(nullptr));
    case Element::F16:
      return visit(static_cast<Fp16*>(nullptr));
    case Element::I32:
      return visit(static_cast<std::int32_t*>(nullptr));
    case Element::U8:
      return visit(static_cast<std::uint8_t*>(nullptr));
    case Element::E4m3:
      assert(false && "the CPU device has no 8-bit numbers");
  }
}

template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, Bf16> || std::is_same_v<From, Fp16>) {
    return converted<To>(to_float(x));
  } else if constexpr (std::is_same_v<To, Bf16>) {
    return to_bf16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, Fp16>) {
    return to_fp16(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class To, class From>
void convert_row(const From* from, std::int64_t count, To* to) {
  std::transform(from, from + count, to, [](From x) { return converted<To>(x); });
}

template <class T>
kernels::Matrix<T> matrix(const View& v) {
  return {v.as<T>(), v.rows, v.cols, v.stride};
}

/// What converts whole operands: threads, and kernels of the instruction set for the types of most steps.
struct Conversion {
  ThreadTeam& team;
  decltype(&kernels::widen) widen;
  decltype(&kernels::narrow) narrow;

  template <class To, class From>
  void run(const From* from, std::int64_t count, To* to) const {
    if constexpr (std::is_same_v<To, float> && std::is_same_v<From, Bf16>) {
      widen(from, count, to);
    } else if constexpr (std::is_same_v<To, Bf16> && std::is_same_v<From, float>) {
      narrow(from, count, to);
    } else {
      convert_row(from, count, to);
    }
  }
  template <class To, class From>
  void run(const View& to, const View& from) const {
    by_numbers(
        team,
        [this](const kernels::Matrix<To>& t, const kernels::Matrix<From>& f) {
          for (std::int64_t r = 0; r < t.rows; ++r) run(f.row(r), t.cols, t.row(r));
        },
        matrix<To>(to), matrix<From>(from));
  }
};

/// The C++ type that is computed in, as an element.
template <class T>
inline constexpr Element kElementOf = std::is_same_v<T, double>  ? Element::F64
                                      : std::is_same_v<T, float> ? Element::F32
                                                                 : Element::I32;

/// An operand in T: read, written or both. An empty view gives an empty operand.
template <class T>
class Operand {
 public:
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  operator kernels::Matrix<T>() const { return here_; }        // NOLINT(*-explicit-*): it is one
  operator kernels::Matrix<const T>() const { return here_; }  // NOLINT(*-explicit-*)
  /// The same in T, as long as the operand lives.
  [[nodiscard]] View view() const {
    if (copy_ == nullptr) return view_;
    // NOLINTNEXTLINE(*-reinterpret-cast): views are untyped
    return {reinterpret_cast<std::byte*>(copy_.get()), kElementOf<T>, view_.rows, view_.cols, view_.cols};
  }
  [[nodiscard]] kernels::Matrix<T> matrix() const { return here_; }
  /// To be read alone.
  [[nodiscard]] kernels::Matrix<const T> known() const { return here_; }
  [[nodiscard]] std::int64_t count() const { return here_.rows; }
  [[nodiscard]] kernels::Matrix<T> rows(std::int64_t first, std::int64_t count) const {
    return here_.data == nullptr ? here_ : rows_of(here_, first, count);
  }
  [[nodiscard]] kernels::Matrix<T> columns(std::int64_t first, std::int64_t count) const {
    return here_.data == nullptr ? here_ : columns_of(here_, first, count);
  }
  /// The vector from a number on; nullptr of an empty view.
  [[nodiscard]] T* from(std::int64_t first) const {
    return here_.data == nullptr ? nullptr : vector() + first;
  }
  /// One number per row, or a row of numbers, without gaps; nullptr of an empty view.
  [[nodiscard]] T* vector() const {
    assert(here_.rows <= 1 || here_.stride == here_.cols);
    return here_.data;
  }

 protected:
  Operand(const View& view, bool read, const Conversion& conversion)
      : view_{view}, here_{nullptr, view.rows, view.cols, view.cols}, conversion_{conversion} {
    if (view.data == nullptr) return;
    if (view.element == kElementOf<T>) {
      here_ = validator::matrix<T>(view);
      return;
    }
    copy_.reset(
        static_cast<T*>(::operator new(static_cast<std::size_t>(view.elements()) * sizeof(T), kAlignment)));
    here_.data = copy_.get();
    if (!read) return;
    with_type(view.element,
              [&]<class From>(From* /*type*/) { conversion_.run<T, From>(this->view(), view_); });
  }
  ~Operand() = default;
  void write_back() const {
    if (copy_ == nullptr) return;
    with_type(view_.element, [&]<class To>(To* /*type*/) { conversion_.run<To, T>(view_, view()); });
  }

 private:
  View view_;
  std::unique_ptr<T, FreeAligned> copy_;  // left uninitialised
  kernels::Matrix<T> here_;
  const Conversion& conversion_;
};

template <class T>
class Read : public Operand<T> {
 public:
  Read(const View& view, const Conversion& conversion) : Operand<T>{view, true, conversion} {}
};
/// Every element is written.
template <class T>
class Write : public Operand<T> {
 public:
  Write(const View& view, const Conversion& conversion) : Operand<T>{view, false, conversion} {}
  ~Write() { this->write_back(); }
  Write(const Write&) = delete;
  Write& operator=(const Write&) = delete;
};
template <class T>
class Update : public Operand<T> {
 public:
  Update(const View& view, const Conversion& conversion) : Operand<T>{view, true, conversion} {}
  ~Update() { this->write_back(); }
  Update(const Update&) = delete;
  Update& operator=(const Update&) = delete;
};

}  // namespace hexaplan::validator
