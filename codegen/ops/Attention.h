//===- Attention.h - One query token against a window of the cache -*- C++ -*-//
#ifndef TANDEM_CODEGEN_OPS_ATTENTION_H
#define TANDEM_CODEGEN_OPS_ATTENTION_H

namespace tandem::codegen {

class RowBuilder;

/// Emits attention_tile, or attn_step.
void emitAttention(RowBuilder &k);
/// The same where the schedule uses the tensor core.
void emitAttentionMma(RowBuilder &k);

} // namespace tandem::codegen

#endif // TANDEM_CODEGEN_OPS_ATTENTION_H
