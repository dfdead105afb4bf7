//===- Words.cpp - Elements of memory in 32-bit words ---------------------===//
//
// Elements that are narrower than a word travel in words. What bf16 numbers and
// small integers are pieces of is kept: conversions to f32 start from the word.
//
//===----------------------------------------------------------------------===//
#include "codegen/lower/Emitter.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;

Emitter::Words Emitter::wordsOf(Type element, int elements) {
  Words words;
  words.elements = elements;
  const int64_t elementBytes = element.getIntOrFloatBitWidth() / 8;
  words.bytes = elementBytes * elements;
  words.word = element;
  if (elementBytes < 4 && elements > 1) {
    const int64_t wordBytes = std::min<int64_t>(words.bytes, 4);
    words.word = b.getIntegerType(unsigned(wordBytes * 8));
    words.perWord = int(wordBytes / elementBytes);
  }
  words.count = elements / words.perWord;
  words.type = words.count == 1
                   ? words.word
                   : VectorType::get({int64_t(words.count)}, words.word);
  return words;
}

void Emitter::unpack(Value access, const Words &words, Type element,
                     Registers &out) {
  for (int w = 0; w < words.count; ++w) {
    Value word = access;
    if (words.count > 1)
      word = LLVM::ExtractElementOp::create(b, loc, access, constant(32, w));
    if (words.perWord == 1) {
      out.push_back(word);
      continue;
    }
    Value parts = LLVM::BitcastOp::create(
        b, loc, VectorType::get({int64_t(words.perWord)}, element), word);
    for (int i = 0; i < words.perWord; ++i) {
      out.push_back(
          LLVM::ExtractElementOp::create(b, loc, parts, constant(32, i)));
      if (words.bytes < 4)
        continue;
      if (element.isInteger(8))
        pieces[out.back()] = {word, 8 * i, 8};
      else if (element.isBF16())
        pieces[out.back()] = {word, 16 * i, 16};
    }
  }
}

Value Emitter::pack(ArrayRef<Value> elements, const Words &words) {
  auto build = [&](ArrayRef<Value> parts) {
    auto type =
        VectorType::get({int64_t(parts.size())}, parts.front().getType());
    Value vector = LLVM::PoisonOp::create(b, loc, type);
    for (auto [i, part] : llvm::enumerate(parts))
      vector = LLVM::InsertElementOp::create(b, loc, vector, part,
                                             constant(32, int64_t(i)));
    return vector;
  };
  SmallVector<Value> packed;
  for (int w = 0; w < words.count; ++w) {
    if (words.perWord == 1) {
      packed.push_back(elements[w]);
      continue;
    }
    Value parts = build(elements.slice(w * words.perWord, words.perWord));
    packed.push_back(LLVM::BitcastOp::create(b, loc, words.word, parts));
  }
  return words.count == 1 ? packed.front() : build(packed);
}
