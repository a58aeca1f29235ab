#include "validator/executor/communicator/device_buffer.h"

#include <cassert>

namespace hexaplan::validator {
namespace {

Element element_of(costmodel::DType type) {
  switch (type) {
    case costmodel::DType::Fp64:
      return Element::F64;
    case costmodel::DType::Bf16:
      return Element::Bf16;
    case costmodel::DType::Fp16:
      return Element::F16;
    case costmodel::DType::Int32:
      return Element::I32;
    case costmodel::DType::Int8:
      return Element::U8;
    default:
      assert(type == costmodel::DType::Fp32);
      return Element::F32;
  }
}

}  // namespace

View view_of(const Buffer& buffer) {
  return {static_cast<std::byte*>(buffer.data), element_of(buffer.type), 1, buffer.elements, buffer.elements};
}

View view_of(const ConstBuffer& buffer) {
  // Views do not tell memory that is read from memory that is written; who is given this one reads.
  return view_of(
      Buffer{const_cast<void*>(buffer.data), buffer.elements, buffer.type});  // NOLINT(*-const-cast)
}

}  // namespace hexaplan::validator
