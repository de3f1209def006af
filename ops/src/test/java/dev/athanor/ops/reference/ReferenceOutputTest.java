package dev.athanor.ops.reference;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ReferenceOutputTest {

  private static final int SAMPLED = 20;

  static List<String> ops() {
    return Catalogue.load().all().stream().map(op -> op.description().name()).toList();
  }

  /** Samples in any order equal the elements of the whole reference, bit for bit. */
  @ParameterizedTest
  @MethodSource("ops")
  void samplesEqualTheReference(String name) {
    var op = Catalogue.load().find(name).orElseThrow();
    var random = new SplittableRandom(TestTier.seed());
    for (var test : op.cases(random, true)) {
      var full = op.reference(test.inputs(), test.attributes());
      full.forEach((output, all) -> {
        var indices = random.longs(SAMPLED, 0, all.length).toArray();
        assertThat(op.reference(test.inputs(), test.attributes(), output, indices))
            .as("%s of %s, seed %d", output, HostTensor.types(test.inputs()), TestTier.seed())
            .isEqualTo(LongStream.of(indices).mapToDouble(i -> all[(int) i]).toArray());
      });
    }
  }

  /** Ascending and random indices, few reads and many give the same numbers. */
  @Test
  void readersReturnTheElements() {
    for (var dtype : List.of(DType.F32, DType.F16, DType.BF16, DType.I8, DType.E4M3)) {
      var random = new SplittableRandom(TestTier.seed());
      var tensor = new Draw(random).usual(TensorType.of(dtype, 3, 1000));
      var reader = new TensorReader(tensor);
      var orders =
          List.of(
              LongStream.range(0, 3000).toArray(),
              LongStream.range(0, 3000).map(i -> 2999 - i).toArray(),
              random.longs(10_000, 0, 3000).toArray());
      for (int round = 0; round < 3; round++) {
        for (var order : orders) {
          for (long i : order) {
            assertThat(reader.get(i)).isEqualTo(tensor.get(i));
          }
        }
      }
      assertThat(reader.get(1000, 7)).isEqualTo(tensor.toDoubles(1000, 7));
    }
  }

  @Test
  void rowsAreComputedOnceForAscendingIndices() {
    var rows = new ArrayList<Long>();
    var output =
        ReferenceOutput.ofRows(
            4,
            3,
            row -> {
              rows.add(row);
              return new double[] {10.0 * row, 10.0 * row + 1, 10.0 * row + 2};
            });
    assertThat(output.elements()).isEqualTo(12);
    assertThat(output.at(1, 2, 6, 8, 9)).containsExactly(1, 2, 20, 22, 30);
    assertThat(rows).containsExactly(0L, 2L, 3L);
    assertThat(output.at(11, 0)).containsExactly(32, 0);
  }
}
