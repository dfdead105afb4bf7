//===- BuildIdentity.cpp - Which build of the compiler this is ------------===//
#include "codegen/cache/BuildIdentity.h"

#include "codegen/CacheControl.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

#include <cstring>
#include <elf.h>
#include <link.h>

using namespace tandem;

namespace {
/// The loaded file that holds `inside`.
struct Search {
  uintptr_t inside = 0;
  std::string buildId;
  std::string path;
};
} // namespace

/// The build id among the notes of [\p begin, \p end); empty if there is none.
static std::string buildIdIn(const char *begin, const char *end) {
  const auto padded = [](size_t size) { return (size + 3) & ~size_t(3); };
  while (static_cast<size_t>(end - begin) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, begin, sizeof note);
    begin += sizeof note;
    const size_t size = padded(note.n_namesz) + padded(note.n_descsz);
    if (static_cast<size_t>(end - begin) < size)
      break;
    const char *name = begin, *content = begin + padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(name, "GNU", 4) == 0)
      return llvm::toHex(llvm::StringRef(content, note.n_descsz),
                         /*LowerCase=*/true);
    begin += size;
  }
  return {};
}

static int visit(dl_phdr_info *info, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  bool holds = false;
  std::string buildId;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD)
      holds |= search.inside >= begin && search.inside - begin < header.p_memsz;
    else if (header.p_type == PT_NOTE && buildId.empty())
      buildId =
          buildIdIn(reinterpret_cast<const char *>(begin),
                    reinterpret_cast<const char *>(begin) + header.p_memsz);
  }
  if (!holds)
    return 0;
  search.buildId = std::move(buildId);
  search.path =
      info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
  return 1;
}

static std::string findIdentity() {
  Search search;
  search.inside = reinterpret_cast<uintptr_t>(&findIdentity);
  dl_iterate_phdr(visit, &search);
  if (!search.buildId.empty())
    return search.buildId;
  auto file = llvm::MemoryBuffer::getFile(search.path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return "unknown";
  llvm::SHA256 hash;
  hash.update((*file)->getBuffer());
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

const std::string &tandem::buildId() { return codegen::buildIdentity(); }

const std::string &codegen::buildIdentity() {
  static const std::string identity = findIdentity();
  return identity;
}
