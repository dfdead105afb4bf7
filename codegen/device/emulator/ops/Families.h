//===- Families.h - What the instruction families share ---------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_FAMILIES_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_FAMILIES_H

#include "codegen/device/emulator/Table.h"

#include <bit>
#include <type_traits>

namespace tandem::emulator {

/// Calls f.template operator()<T>() with the C++ type of an integer (or bit)
/// type. Bit types are unsigned.
template <typename F>
auto withInteger(Type type, F f) {
  switch (type) {
  case Type::S8:
    return f.template operator()<int8_t>();
  case Type::U8:
  case Type::B8:
    return f.template operator()<uint8_t>();
  case Type::S16:
    return f.template operator()<int16_t>();
  case Type::U16:
  case Type::B16:
    return f.template operator()<uint16_t>();
  case Type::S32:
    return f.template operator()<int32_t>();
  case Type::S64:
    return f.template operator()<int64_t>();
  case Type::U64:
  case Type::B64:
    return f.template operator()<uint64_t>();
  default:
    return f.template operator()<uint32_t>();
  }
}

// One operation on every active lane. `Op::apply` is total: it is also run on
// lanes whose operands mean nothing.

template <typename Op, typename D, typename A>
void unary(Exec &x, const Inst &i) {
  const A *a = x.lanes<A>(i.a);
  setLanes<D>(x, i.d, [=](int l) { return Op::apply(a[l]); });
}
template <typename Op, typename D, typename A, typename B>
void binary(Exec &x, const Inst &i) {
  const A *a = x.lanes<A>(i.a);
  const B *b = x.lanes<B>(i.b);
  setLanes<D>(x, i.d, [=](int l) { return Op::apply(a[l], b[l]); });
}
template <typename Op, typename D, typename A, typename B, typename C>
void ternary(Exec &x, const Inst &i) {
  const A *a = x.lanes<A>(i.a);
  const B *b = x.lanes<B>(i.b);
  const C *c = x.lanes<C>(i.c);
  setLanes<D>(x, i.d, [=](int l) { return Op::apply(a[l], b[l], c[l]); });
}

/// Operands `d, a, b, c` of given types; builders add the handler.
inline bool operandsOf(Builder &b, Type d, std::initializer_list<Type> in) {
  if (!b.expect(1 + in.size()))
    return false;
  Slot *slots[] = {&b.inst->a, &b.inst->b, &b.inst->c, &b.inst->e};
  size_t at = 0;
  for (Type type : in) {
    *slots[at] = b.read(at + 1, type);
    ++at;
  }
  b.inst->d = b.write(0, d);
  return true;
}

/// The type of twice the width: `.s32` to `.s64`.
inline Type doubled(Type type) {
  switch (type) {
  case Type::S16:
    return Type::S32;
  case Type::U16:
    return Type::U32;
  case Type::S32:
    return Type::S64;
  case Type::U32:
    return Type::U64;
  default:
    return Type::None;
  }
}

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_OPS_FAMILIES_H
