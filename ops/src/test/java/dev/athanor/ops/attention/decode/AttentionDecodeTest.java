package dev.athanor.ops.attention.decode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.AttentionReference;
import dev.athanor.ops.attention.prefill.Attention;
import dev.athanor.ops.attention.prefill.AttentionTest;
import dev.athanor.testing.TestTier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@Tag(TestTier.THOROUGH_TAG)
class AttentionDecodeTest {

  private static final AttentionDecode DECODE = new AttentionDecode();

  private static Attributes attributes(Map<String, ?> given) {
    return Attributes.of(DECODE.description(), given);
  }

  private static HostTensor integers(TensorType type, int... values) {
    var tensor = HostTensor.zeros(type);
    for (int i = 0; i < values.length; i++) {
      DType.I32.writeLong(tensor.data(), i, values[i]);
    }
    return tensor;
  }

  private static HostTensor lengths(int... lengths) {
    return integers(TensorType.of(DType.I32, lengths.length), lengths);
  }

  /** 32 query heads on 8 key heads: a decoding step matches the last query of attention. */
  @ParameterizedTest
  @CsvSource({"F16, 1", "F16, 31", "F16, 32", "F16, 33", "F16, 2048", "F32, 33", "BF16, 33"})
  void matchesTheLastQueryOfAttention(DType dtype, int length) {
    var draw = new Draw(new Random(7));
    var q = draw.normal(dtype, 1, 32, 1, 16);
    var k = draw.normal(dtype, 1, 8, length, 16);
    var v = draw.normal(dtype, 1, 8, length, 16);
    var inputs = Map.of("q", q, "kCache", k, "vCache", v, "lengths", lengths(length));
    var expected =
        AttentionReference.get(
            new Attention()
                .reference(
                    Map.of("q", q, "k", k, "v", v),
                    Attributes.of(new Attention().description(), Map.of("causal", true))),
            "out");
    var out = Tensors.get(Runner.run(DECODE, inputs, Map.of()), "out");
    var tolerance = AttentionProblem.tolerance(dtype);
    assertThat(tolerance.error(out.toDoubles(), expected)).isLessThanOrEqualTo(tolerance.limit());
  }

  /** Chunks of queries give the results of the whole sequence. */
  @ParameterizedTest
  @CsvSource({"F32, 1, 0", "F32, 3, 0", "F16, 7, 9", "BF16, 20, 0"})
  void chunksMatchCausalAttention(DType dtype, int chunk, int window) {
    var draw = new Draw(new Random(7));
    int length = 40;
    int d = 16;
    var q = draw.normal(dtype, 1, 4, length, d);
    var k = draw.normal(dtype, 1, 2, length, d);
    var v = draw.normal(dtype, 1, 2, length, d);
    var expected =
        AttentionReference.get(
            new Attention()
                .reference(
                    Map.of("q", q, "k", k, "v", v),
                    Attributes.of(
                        new Attention().description(), Map.of("causal", true, "window", window))),
            "out");
    for (int from : new int[] {0, 11, length - chunk}) {
      var queries = HostTensor.zeros(TensorType.of(dtype, 1, 4, chunk, d));
      for (int i = 0; i < 4 * chunk * d; i++) {
        int row = i / d / chunk * length + from + i / d % chunk;
        dtype.write(queries.data(), i, q.get((long) row * d + i % d));
      }
      var inputs = Map.of("q", queries, "kCache", k, "vCache", v, "lengths", lengths(from + chunk));
      Runner.all(DECODE, inputs, Map.of("window", window), "out")
          .forEach((kernel, out) -> {
            for (int i = 0; i < out.length; i++) {
              int row = i / d / chunk * length + from + i / d % chunk;
              assertThat(out[i])
                  .as(kernel)
                  .isCloseTo(expected[row * d + i % d], within(dtype == DType.F32 ? 1e-5 : 2e-2));
            }
          });
    }
  }

  /** A paged cache gives the same bits as a contiguous cache with the same contents. */
  @ParameterizedTest
  @EnumSource(names = {"F32", "F16"})
  void pagedAndContiguousCachesAreBitIdentical(DType dtype) {
    var draw = new Draw(new Random(7));
    int d = 16;
    var q = draw.normal(dtype, 2, 4, 1, d);
    var paged =
        Map.of(
            "q", q,
            "kCache", draw.normal(dtype, 7, 2, 50, d),
            "vCache", draw.normal(dtype, 7, 2, 50, d),
            "lengths", lengths(149, 77),
            "blockTable", integers(TensorType.of(DType.I32, 2, 3), 5, 0, 3, 2, 6, 1));
    var inputs = new HashMap<String, HostTensor>();
    inputs.put("q", q);
    inputs.put("lengths", Tensors.get(paged, "lengths"));
    for (var name : new String[] {"kCache", "vCache"}) {
      var from = Tensors.get(paged, name);
      var to = HostTensor.zeros(TensorType.of(dtype, 2, 2, 150, d));
      for (int sequence = 0; sequence < 2; sequence++) {
        for (int head = 0; head < 2; head++) {
          for (int page = 0; page < 3; page++) {
            long block = (long) Tensors.get(paged, "blockTable").get(sequence * 3L + page);
            long bytes = 50L * d * dtype.bytes();
            to.data()
                .asSlice(((sequence * 2L + head) * 3 + page) * bytes, bytes)
                .copyFrom(from.data().asSlice((block * 2 + head) * bytes, bytes));
          }
        }
      }
      inputs.put(name, to);
    }
    var given = attributes(Map.of("window", 130));
    var contiguous = Runner.plans(DECODE, inputs, given);
    for (var plan : Runner.plans(DECODE, paged, given)) {
      var same =
          contiguous.stream()
              .filter(other -> other.kernel().equals(plan.kernel().replace("paged", "cache")))
              .findFirst()
              .orElseThrow();
      Tensors.equalBits(
          Tensors.get(Runner.run(plan, paged), "out"),
          Tensors.get(Runner.run(same, inputs), "out"));
    }
  }

  /** Cache entries beyond the length or before the window may be NaN. */
  @ParameterizedTest
  @CsvSource({"F32, 0", "F16, 0", "BF16, 5", "F32, 5", "F16, 33"})
  void maskedEntriesHaveNoInfluence(DType dtype, int window) {
    var draw = new Draw(new Random(7));
    int length = 45;
    int capacity = 70;
    var inputs =
        new HashMap<>(
            Map.of(
                "q", draw.normal(dtype, 1, 2, 1, 16),
                "kCache", draw.normal(dtype, 1, 1, capacity, 16),
                "vCache", draw.normal(dtype, 1, 1, capacity, 16),
                "lengths", lengths(length)));
    var baseline = Runner.all(DECODE, inputs, Map.of("window", window), "out");
    for (var name : List.of("kCache", "vCache")) {
      var tensor = Tensors.copy(Tensors.get(inputs, name));
      for (int row = 0; row < capacity; row++) {
        boolean seen = row < length && (window == 0 || row >= length - window);
        for (int c = 0; c < 16 && !seen; c++) {
          dtype.write(
              tensor.data(), row * 16L + c, c % 2 == 0 ? Double.NaN : Double.NEGATIVE_INFINITY);
        }
      }
      inputs.put(name, tensor);
    }
    assertThat(baseline).hasSizeGreaterThan(1);
    Runner.all(DECODE, inputs, Map.of("window", window), "out")
        .forEach((kernel, out) -> assertThat(out).as(kernel).isEqualTo(baseline.get(kernel)));
  }

  /** Block numbers out of range cannot lead outside the cache. */
  @Test
  void clampsBlockNumbers() {
    var draw = new Draw(new Random(7));
    var inputs =
        Map.of(
            "q", draw.normal(DType.F32, 1, 1, 1, 8),
            "kCache", draw.normal(DType.F32, 2, 1, 4, 8),
            "vCache", draw.normal(DType.F32, 2, 1, 4, 8),
            "lengths", lengths(8),
            "blockTable", integers(TensorType.of(DType.I32, 1, 2), -7, 99));
    var clamped = new HashMap<>(inputs);
    clamped.put("blockTable", integers(TensorType.of(DType.I32, 1, 2), 0, 1));
    Tensors.equalBits(
        Tensors.get(Runner.run(DECODE, inputs, Map.of()), "out"),
        Tensors.get(Runner.run(DECODE, clamped, Map.of()), "out"));
  }

  @Test
  void splitsLongCachesToFillTheDevice() {
    assertThat(kernel(1, 8192)).isEqualTo("attention_f16_d128_groups_64x64x6_cache_split");
    assertThat(kernel(16, 4096)).isEqualTo("attention_f16_d128_groups_64x64x6_cache");
    assertThat(kernel(256, 512)).isEqualTo("attention_f16_d128_tensor_16x64w16_cache");
  }

  private static String kernel(int batch, int capacity) {
    var inputs =
        Map.of(
            "q", TensorType.of(DType.F16, batch, 32, 1, 128),
            "kCache", TensorType.of(DType.F16, batch, 8, capacity, 128),
            "vCache", TensorType.of(DType.F16, batch, 8, capacity, 128),
            "lengths", TensorType.of(DType.I32, batch));
    return DECODE.plan(inputs, attributes(Map.of()), TestDevices.H200).kernel();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "q | [2, 4, 8] | input \"q\" has shape [2, 4, 8]; it must be [B, Hq, Sq, D]",
        "lengths | [3] | lengths [3] has B = 3 but q [2, 4, 1, 8] has B = 2; they must be equal",
        "kCache | [3, 2, 5, 8] | kCache [3, 2, 5, 8] has B = 3 but q [2, 4, 1, 8] has B = 2; they must be equal",
        "vCache | [2, 2, 6, 8] | vCache [2, 2, 6, 8] has Smax = 6 but kCache [2, 2, 5, 8] has Smax = 5; they must be equal",
        "vCache | [2, 2, 5, 577] | input \"vCache\" has shape [2, 2, 5, 577] with a head"
            + " size of 577; the maximum is 576",
        "blockTable | [3, 2] | blockTable [3, 2] has B = 3 but q [2, 4, 1, 8] has B = 2; they must be equal",
        "blockTable | [2, 1000000000] | with blockTable [2, 1000000000] the product maxBlocks · blockSize is 5000000000; the maximum is 2^31 - 1025"
      })
  void rejectsInconsistentShapes(String name, String shape, String message) {
    var inputs = new HashMap<String, TensorType>();
    inputs.put("q", AttentionTest.type("[2, 4, 1, 8]"));
    inputs.put("kCache", AttentionTest.type("[2, 2, 5, 8]"));
    inputs.put("vCache", AttentionTest.type("[2, 2, 5, 8]"));
    inputs.put("lengths", AttentionTest.type("[2]"));
    inputs.put(name, AttentionTest.type(shape));
    assertThatThrownBy(() -> DECODE.plans(inputs, attributes(Map.of()), TestDevices.H200))
        .isInstanceOf(OpException.class)
        .hasMessage(message);
  }
}
