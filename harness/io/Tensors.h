//===- Tensors.h - .npy and .safetensors ------------------------*- C++ -*-===//
//
// npy (NEP 1): "\x93NUMPY", version, a header that is a Python dict with
// descr, fortran_order and shape, then raw elements. NumPy has no bfloat16 and
// no float8: they are stored as raw bytes, `<V2` and `|V1`, which is what
// ml_dtypes writes; the recipe says what they mean.
//
// safetensors: a 64-bit length, a JSON header { NAME: {dtype, shape,
// data_offsets} }, then raw elements.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_IO_TENSORS_H
#define TANDEM_HARNESS_IO_TENSORS_H

#include "harness/run/Execution.h"

#include <map>

namespace tandem::harness {

/// Reads npy bytes. \p wanted decides what raw elements mean. A Fortran-order
/// array gets column-major strides. Fails naming \p file and the member.
Result<HostTensor> readNpy(std::string_view bytes, const std::string &file,
                           std::optional<DType> wanted = std::nullopt);
std::string writeNpy(const HostTensor &tensor);

Result<std::map<std::string, HostTensor>>
readSafetensors(std::string_view bytes, const std::string &file);
std::string writeSafetensors(const std::map<std::string, HostTensor> &tensors);

/// The elements in row-major order, wherever the strides put them.
std::vector<std::byte> rowMajorElements(HostTensor &tensor);

/// Gives \p tensor zeros for its shape; fails, naming \p place, where the shape
/// is none or memory does not hold it.
Result<void> allocateElements(HostTensor &tensor, const std::string &place);

/// Reads one tensor from `F.npy`, `F.safetensors` (the tensor called \p name,
/// or the only one) or `F.safetensors:NAME`.
Result<HostTensor> readTensor(const std::string &source,
                              const std::string &name,
                              std::optional<DType> wanted = std::nullopt);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_IO_TENSORS_H
