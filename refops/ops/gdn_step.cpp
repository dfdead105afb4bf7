//===- gdn_step.cpp - Reference for insn.gdn_step -------------------------===//
#include "refops/Registry.h"
#include "refops/core/HostNumbers.h"

using namespace tandem;
using namespace tandem::refops;

namespace {

template <typename T>
struct Delta {
  int64_t keyHeads, valueHeads;
  size_t dk, dv;
  float scale;
  bool normalises;

  explicit Delta(const OpCall<T> &call) {
    const Dims &k = call.in[1].shape(), &v = call.in[2].shape();
    keyHeads = k[k.size() - 2];
    dk = static_cast<size_t>(k.back());
    valueHeads = v[v.size() - 2];
    dv = static_cast<size_t>(v.back());
    scale = call.params->getFloat("scale", dk ? inverseRoot(k.back()) : 1);
    normalises = call.params->getBool("qk_l2norm", false);
  }
};

} // namespace

/// x / sqrt(sum x^2 + 1e-6).
template <typename T>
static void normalise(std::vector<T> &x, const StepNumerics &n) {
  const T squares = dot(std::span<const T>(x), std::span<const T>(x),
                        DType::F32, n.dotDepth(int64_t(x.size())), n);
  const T r = rsqrt(add(squares, constant<T>(1e-6, n), n), n);
  for (T &v : x)
    v = mul(v, r, n);
}

/// One value head of one sequence. Columns of the state are independent of each
/// other: column e is S[:, e].
template <typename T>
static void stepHead(OpCall<T> &call, const Delta<T> &delta, int64_t head) {
  const StepNumerics &n = *call.numerics;
  const size_t dk = delta.dk, dv = delta.dv;
  const int64_t sequence = head / delta.valueHeads;
  const int64_t keyHead =
      sequence * delta.keyHeads +
      head % delta.valueHeads / (delta.valueHeads / delta.keyHeads);
  std::vector<T> q(dk), k(dk), v(dv), o(dv), column(dk), state(dk * dv);
  const int64_t width = static_cast<int64_t>(dk);
  call.in[0].read(keyHead * width, width, q.data());
  call.in[1].read(keyHead * width, width, k.data());
  call.in[2].read(head * int64_t(dv), int64_t(dv), v.data());
  const int64_t elements = static_cast<int64_t>(state.size());
  call.in[5].read(head * elements, elements, state.data());
  T g = 0, beta = 0;
  call.in[3].read(head, 1, &g);
  call.in[4].read(head, 1, &beta);
  if (delta.normalises) {
    normalise(q, n);
    normalise(k, n);
  }
  for (T &x : q)
    x = mul(x, T(delta.scale), n);

  const T decay = exp(g, n);
  const double depth = n.dotDepth(width);
  for (size_t e = 0; e < dv; ++e) {
    for (size_t d = 0; d < dk; ++d)
      column[d] = mul(state[d * dv + e], decay, n);
    const T predicted = dot(std::span<const T>(column), std::span<const T>(k),
                            DType::F32, depth, n);
    const T u = mul(beta, sub(v[e], predicted, n), n);
    for (size_t d = 0; d < dk; ++d) {
      column[d] = mulAdd(k[d], u, column[d], n);
      state[d * dv + e] = column[d];
    }
    o[e] = dot(std::span<const T>(column), std::span<const T>(q), DType::F32,
               depth, n);
  }
  call.state[0].write(head * elements, elements, state.data());
  call.out[0].write(head * int64_t(dv), int64_t(dv), o.data());
}

template <typename T>
static Result<void> eval(OpCall<T> &call) {
  const Delta<T> delta(call);
  const int64_t heads = call.in[3].desc().numElements();
  parallelFor(heads, static_cast<int64_t>(delta.dk * delta.dv) * 8, call.jobs,
              [&](int64_t begin, int64_t end) {
                for (int64_t head = begin; head < end; ++head)
                  stepHead(call, delta, head);
              });
  return {};
}

RefOp tandem::refops::ref_gdn_step() {
  using enum Provenance::Kind;
  const DType f32 = DType::F32, bf16 = DType::BF16;
  const std::string command = "python3 refops/evidence/gdn_step.py";
  const Params unscaled = {{{"scale", 1.0}}};
  return {
      .code = Opcode::GDN_STEP,
      .name = "gdn_step",
      .evaluate = eval<double>,
      .evaluateBounded = eval<Bounded>,
      .multiplies = true,
      .knownAnswers = {
          // Tells the scale of q from one of k or of the state, and o of the
          // new state from o of the old one.
          {.name = "one_number",
           .inputs = {{f32, {1, 1}, {3}},
                      {f32, {1, 1}, {1}},
                      {f32, {1, 1}, {5}},
                      {f32, {1}, {0}},
                      {f32, {1}, {0.5}},
                      {f32, {1, 1, 1}, {2}}},
           .params = {{{"scale", 2.0}}},
           .expected = {{f32, {1, 1}, {21}}, {f32, {1, 1, 1}, {3.5}}},
           .from = {ByHand, "u = (5 - 2) / 2; S = 2 + 1.5; o = 3.5 * 3 * 2"}},
          // Tells i / (Hv / Hk) from i % Hk.
          {.name = "neighbouring_value_heads_share_keys",
           .inputs = {{bf16, {2, 1}, {1, 10}},
                      {bf16, {2, 1}, {1, 2}},
                      {bf16, {4, 1}, {1, 2, 3, 4}},
                      {bf16, {4}, {0, 0, 0, 0}},
                      {bf16, {4}, {1, 1, 1, 1}},
                      {f32, {4, 1, 1}, {0, 0, 0, 0}}},
           .params = unscaled,
           .expected = {{bf16, {4, 1}, {1, 2, 60, 80}},
                        {f32, {4, 1, 1}, {1, 2, 6, 8}}},
           .from = {ByHand,
                    "S = k v and o = q k v with q, k = 1, 1 for heads 0 "
                    "and 1, and 10, 2 for heads 2 and 3"}},
          // Tells k (x) u from u (x) k: the state is not square. The default
          // scale is 1 / sqrt(4).
          {.name = "state_rows_belong_to_keys",
           .inputs = {{f32, {1, 4}, {2, 4, 0, 0}},
                      {f32, {1, 4}, {1, 2, 0, -1}},
                      {f32, {1, 2}, {3, 5}},
                      {f32, {1}, {0}},
                      {f32, {1}, {1}},
                      {f32, {1, 4, 2}, {1, 0, 0, 1, 7, 7, 0, 0}}},
           .expected = {{f32, {1, 2}, {11, 17}},
                        {f32, {1, 4, 2}, {3, 3, 4, 7, 7, 7, -2, -3}}},
           .from = {ByHand, "S^T k = (1, 2), u = (2, 3); rows of S grow by 1, "
                            "2, 0, -1 times u; o = (3, 3) * 1 + (4, 7) * 2"}},
          // Tells a decay before the prediction from one after it.
          {.name = "the_state_decays_first",
           .inputs = {{f32, {1, 2}, {1, -1}},
                      {f32, {1, 2}, {0.5, 2}},
                      {f32, {1, 1}, {3}},
                      {f32, {1}, {-0.75}},
                      {f32, {1}, {0.25}},
                      {f32, {1, 2, 1}, {4, -2}}},
           .params = unscaled,
           .expected =
               {{f32, {1, 1}, {1.3549244018903273}},
                {f32, {1, 2, 1}, {2.3825578491493125, 1.0276334472589852}}},
           .from = {HighPrecision, "the recurrence in 50 digits", command}},
          {.name = "normalised_queries_and_keys",
           .inputs = {{f32, {2, 1, 2}, {3, 4, 0, 0}},
                      {f32, {2, 1, 2}, {0x1p-10, 0, 1, 1}},
                      {f32, {2, 1, 1}, {2, 3}},
                      {f32, {2, 1}, {-0.5, 0.25}},
                      {f32, {2, 1}, {0.5, 1}},
                      {f32, {2, 1, 2, 1}, {1, 2, 3, 4}}},
           .params = {{{"qk_l2norm", true}}},
           .expected = {{f32, {2, 1, 1}, {1.1771552401466816, 0.0}},
                        {f32,
                         {2, 1, 2, 1},
                         {1.1571665197995404, 1.2130613194252668,
                          1.4793093519292404, 2.763334768616982}}},
           .from = {HighPrecision,
                    "x / sqrt(sum x^2 + 1e-6), then the "
                    "recurrence, in 50 digits",
                    command}},
      }};
}
