//===- Corpus.h - A folder of cases -----------------------------*- C++ -*-===//
//
// Case files (harness/case/Case.h), each named by its content. Regressions that
// tests replay live in harness/corpus/regressions/.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_CORPUS_CORPUS_H
#define TANDEM_HARNESS_CORPUS_CORPUS_H

#include "harness/case/Case.h"

#include <string>
#include <vector>

namespace tandem::harness {

struct CorpusEntry {
  std::string path;
  CaseFile file;
};

/// Reads all `.json` files of \p folder in order of their names. Fails on the
/// first one that is no case, naming it.
Result<std::vector<CorpusEntry>> readCorpus(const std::string &folder);

/// Writes \p file to \p folder as OPS-HASH.json and returns the path. Writing
/// the same case again changes nothing.
Result<std::string> addToCorpus(const std::string &folder,
                                const CaseFile &file);

} // namespace tandem::harness

#endif // TANDEM_HARNESS_CORPUS_CORPUS_H
