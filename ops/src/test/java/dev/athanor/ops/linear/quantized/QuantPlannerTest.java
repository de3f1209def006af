package dev.athanor.ops.linear.quantized;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpException;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.quant.Dequantize;
import dev.athanor.ops.quant.QuantizeOp;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Choice of kernels for quantized weights, and messages for rejected problems. */
class QuantPlannerTest {

  private static final MatmulInt4 INT4 = new MatmulInt4();
  private static final MatmulGguf GGUF = new MatmulGguf();
  private static final Dequantize DEQUANTIZE = new Dequantize();

  @ParameterizedTest
  @CsvSource({
    "Q4_K, F16, 1, 4096, 4096, gemv_q4_k_f16",
    "Q6_K, F32, 1, 4096, 4096, gemv_q6_k_f32",
    "MXFP4, F16, 1, 4096, 4096, gemv_mxfp4_f16",
    "IQ4_XS, F16, 512, 4096, 4096, mma_iq4_xs_f16",
    "Q4_0, F16, 2, 4096, 4096, gemv_q4_0_f16",
    "Q4_K, F16, 512, 4096, 4096, mma_q4_k_f16",
    "Q8_0, F32, 2048, 4096, 4096, mma_q8_0_f32"
  })
  void choosesGemvForFewRowsAndTensorCoresForMany(
      DType format, DType in, int m, int n, int k, String kernel) {
    var types = Map.of("a", TensorType.of(in, m, k), "w", TensorType.of(format, n, k));
    assertThat(plan(GGUF, types, Map.of())).startsWith(kernel);
  }

  @Test
  void explainsRoundingToF16() {
    var types =
        Map.of("a", TensorType.of(DType.F16, 512, 256), "w", TensorType.of(DType.Q4_K, 64, 256));
    var plan = GGUF.plan(types, Attributes.of(GGUF.description(), Map.of()), TestDevices.H200);
    assertThat(plan.explain())
        .startsWith(plan.kernel())
        .contains("weights are rounded to f16")
        .contains("weights are decoded once per 8 rows");
  }

  @Test
  void choosesGemvIfSharedMemoryIsSmall() {
    var types =
        Map.of("a", TensorType.of(DType.F16, 512, 256), "w", TensorType.of(DType.Q4_K, 64, 256));
    var small = TestDevices.of(Target.SM_80, 108, 40_000);
    var plan = GGUF.plan(types, Attributes.of(GGUF.description(), Map.of()), small);
    assertThat(plan.kernel()).startsWith("gemv");
    assertThat(plan.explain())
        .contains("bytes of shared memory; the limit per block on test device is 40000");
  }

  @Test
  void rejectsInconsistentPackedWeights() {
    assertRejected(
        INT4,
        int4(TensorType.of(DType.U32, 16, 8), TensorType.of(DType.F16, 1, 16)),
        Map.of("groupSize", 32),
        OpException.ShapeMismatch.class,
        "input \"scales\" has shape [1, 16]; it must be [K/groupSize, N] = [2, 16], where K = 64 and groupSize = 32");
    assertRejected(
        INT4,
        int4(TensorType.of(DType.U32, 8, 16), TensorType.of(DType.F16, 1, 24)),
        Map.of("layout", "gptq", "groupSize", 64),
        OpException.ShapeMismatch.class,
        "scales [1, 24] has N = 24 but packed [8, 16] with gptq has N = 16; they must be equal");
    assertRejected(
        INT4,
        int4(TensorType.of(DType.U32, 512), TensorType.of(DType.F16, 1, 16)),
        Map.of(),
        OpException.ShapeMismatch.class,
        "input \"packed\" has shape [512]; it must be [N, K/8] with k-packed");
    assertRejected(
        DEQUANTIZE,
        Map.of("x", TensorType.of(DType.U32, 12, 2), "scale", TensorType.of(DType.F16, 1, 16)),
        Map.of("layout", "awq"),
        OpException.ShapeMismatch.class,
        "input \"x\" has shape [12, 2], so K = 12; for 4-bit weights, K must be a multiple of 8");
  }

  @ParameterizedTest
  @CsvSource({"0", "48", "24", "8"})
  void rejectsInvalidGroupSizes(int group) {
    assertRejected(
        INT4,
        int4(TensorType.of(DType.U32, 16, 8), TensorType.of(DType.F16, 1, 16)),
        Map.of("groupSize", group),
        OpException.InvalidAttribute.class,
        "attribute \"groupSize\" must be a power of two of at least 16, or -1 for a single group along K, got "
            + group);
  }

  @Test
  void rejectsInconsistentZeros() {
    var packed = int4(TensorType.of(DType.U32, 16, 8), TensorType.of(DType.F16, 1, 16));
    packed.put("zeros", TensorType.of(DType.U32, 1, 2));
    assertRejected(
        INT4,
        packed,
        Map.of(),
        OpException.UnknownField.class,
        "layout k-packed has signed weights without zero points; omit \"zeros\", or use"
            + " layout gptq or awq");
    var gptq = int4(TensorType.of(DType.U32, 8, 12), TensorType.of(DType.F16, 1, 12));
    gptq.put("zeros", TensorType.of(DType.U32, 1, 2));
    assertRejected(
        INT4,
        gptq,
        Map.of("layout", "gptq"),
        OpException.ShapeMismatch.class,
        "packed [8, 12] with gptq has N = 12, but zeros is [K/groupSize, N/8], so N must be a multiple of 8");
    var awq = int4(TensorType.of(DType.U32, 64, 2), TensorType.of(DType.F16, 1, 16));
    awq.put("zeros", TensorType.of(DType.U32, 2, 2));
    assertRejected(
        INT4,
        awq,
        Map.of("layout", "awq"),
        OpException.ShapeMismatch.class,
        "input \"zeros\" has shape [2, 2]; it must be [K/groupSize, N/8] = [1, 2], where K = 64 and groupSize = 128");
  }

  @Test
  void rejectsInconsistentLeftMatrices() {
    var types = int4(TensorType.of(DType.U32, 16, 8), TensorType.of(DType.F16, 1, 16));
    types.put("a", TensorType.of(DType.F16, 3, 65));
    assertRejected(
        INT4,
        types,
        Map.of(),
        OpException.ShapeMismatch.class,
        "a [3, 65] has K = 65, but packed is [N, K/8] with k-packed, so K must be a multiple of 8");
    types.put("a", TensorType.of(DType.F16, 64));
    assertRejected(
        INT4,
        types,
        Map.of(),
        OpException.ShapeMismatch.class,
        "input \"a\" has shape [64]; it must be […, M, K]");
    types.put("a", TensorType.of(DType.BF16, 3, 64));
    assertRejected(
        INT4,
        types,
        Map.of("outDtype", "f16"),
        OpException.UnsupportedDType.class,
        "outDtype of a product of bf16 must be f32 or bf16, got f16");
  }

  @Test
  void rejectsPartialBlocks() {
    assertThatThrownBy(() -> TensorType.of(DType.Q4_K, 4, 128))
        .hasMessage(
            "q4_k is stored in blocks of 256 elements, and the last dimension must be a"
                + " multiple of the block size, got shape [4, 128]");
    assertRejected(
        GGUF,
        Map.of("a", TensorType.of(DType.F16, 3, 64), "w", TensorType.of(DType.Q4_0, 64)),
        Map.of(),
        OpException.ShapeMismatch.class,
        "input \"w\" has shape [64]; it must be [N, K]");
  }

  @Test
  void rejectsInconsistentProjections() {
    var types = new HashMap<String, TensorType>();
    types.put("x", TensorType.of(DType.F16, 3, 16));
    types.put("wq", TensorType.of(DType.I8, 16, 8));
    types.put("wk", TensorType.of(DType.I8, 17, 4));
    types.put("wv", TensorType.of(DType.I8, 16, 4));
    for (var scale : new String[] {"scaleQ", "scaleK", "scaleV"}) {
      types.put(scale, TensorType.of(DType.F32));
    }
    var op = new QkvProject(false);
    assertRejected(
        op,
        types,
        Map.of(),
        OpException.ShapeMismatch.class,
        "wk [17, 4] has K = 17 but x [3, 16] has K = 16; they must be equal");
    types.put("wk", TensorType.of(DType.I8, 16, 5));
    assertRejected(
        op,
        types,
        Map.of(),
        OpException.ShapeMismatch.class,
        "wv has shape [16, 4] but wk has [16, 5]; they must be the same");
    types.put("wk", TensorType.of(DType.I8, 16, 4));
    types.put("scaleV", TensorType.of(DType.F32, 1));
    assertRejected(
        op,
        types,
        Map.of(),
        OpException.ShapeMismatch.class,
        "input \"scaleV\" has shape [1]; it must be []");
  }

  @Test
  void rejectsMissingAndSuperfluousScales() {
    assertRejected(
        DEQUANTIZE,
        Map.of("x", TensorType.of(DType.Q4_0, 64), "scale", TensorType.of(DType.F32)),
        Map.of(),
        OpException.UnknownField.class,
        "q4_0 blocks contain their scales; omit \"scale\"");
    assertRejected(
        DEQUANTIZE,
        Map.of("x", TensorType.of(DType.I8, 3, 64)),
        Map.of(),
        OpException.MissingInput.class,
        "input \"scale\" is missing; it is required for i8 x");
    assertRejected(
        DEQUANTIZE,
        Map.of("x", TensorType.of(DType.I8, 3, 64), "scale", TensorType.of(DType.F32, 64)),
        Map.of(),
        OpException.ShapeMismatch.class,
        "input \"scale\" has shape [64]; for x of shape [3, 64] it must be [] or, with"
            + " one scale per row, [3]");
    assertRejected(
        DEQUANTIZE,
        Map.of("x", TensorType.of(DType.U32, 3, 64)),
        Map.of(),
        OpException.MissingInput.class,
        "input \"scale\" is missing; it is required for u32 x");
    assertRejected(
        DEQUANTIZE,
        Map.of("x", TensorType.of(DType.I8, 4), "zeros", TensorType.of(DType.U32, 1, 1)),
        Map.of(),
        OpException.UnknownField.class,
        "zeros require u32 x, got i8");
    assertRejected(
        QuantizeOp.int8(),
        Map.of("x", TensorType.of(DType.F32)),
        Map.of("per", "row"),
        OpException.ShapeMismatch.class,
        "input \"x\" has shape []; one scale per row requires at least one dimension");
  }

  @Test
  void rejectsTensorsThatAreTooLarge() {
    assertRejected(
        DEQUANTIZE,
        Map.of("x", TensorType.of(DType.NF4, 1L << 20, 1L << 15)),
        Map.of(),
        OpException.TooLarge.class,
        "input \"x\" has shape [1048576, 32768], which requires 8589934592 threads; the"
            + " maximum is 2^31 - 1025");
  }

  private static Map<String, TensorType> int4(TensorType packed, TensorType scales) {
    return new HashMap<>(
        Map.of("a", TensorType.of(DType.F16, 3, 64), "packed", packed, "scales", scales));
  }

  private static String plan(Op op, Map<String, TensorType> types, Map<String, ?> attributes) {
    var given = Attributes.of(op.description(), attributes);
    return op.plan(types, given, TestDevices.H200).kernel();
  }

  private static void assertRejected(
      Op op,
      Map<String, TensorType> types,
      Map<String, ?> attributes,
      Class<? extends OpException> kind,
      String message) {
    assertThatThrownBy(() -> plan(op, types, attributes)).isInstanceOf(kind).hasMessage(message);
  }
}
