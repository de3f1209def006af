package dev.athanor.ops.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SearchTest {

  private static final double INFINITY = Double.POSITIVE_INFINITY;
  private static final double NAN = Double.NaN;

  private static HostTensor matrix(int rows, double... values) {
    return HostTensor.of(TensorType.of(DType.F32, rows, values.length / rows), values);
  }

  private static void finds(
      Map<String, HostTensor> inputs,
      Map<String, Object> attributes,
      double[] scores,
      double... indices) {
    var outputs = Runner.run(Runner.op("search"), inputs, attributes);
    assertThat(Tensors.get(outputs, "scores").toDoubles()).containsExactly(scores);
    assertThat(Tensors.get(outputs, "indices").toDoubles()).containsExactly(indices);
  }

  private static double[] scores(double... scores) {
    return scores;
  }

  @Test
  void ranksByEachMetric() {
    var given = Map.of("queries", matrix(1, 3, 4), "rows", matrix(4, 0, 0, 30, 40, 3, 3, 3, 4));
    finds(given, Map.of("k", 2), scores(250, 25), 1, 3);
    finds(given, Map.of("k", 3, "metric", "l2"), scores(0, 1, 25), 3, 2, 0);
    var cosines = scores(1, 1, 21 / (5 * (float) Math.sqrt(18)), 0);
    finds(given, Map.of("k", 4, "metric", "cosine"), cosines, 1, 3, 2, 0);
  }

  @Test
  void missingRowsHaveNoIndexAndTheWorstScore() {
    var given = new HashMap<String, HostTensor>();
    given.put("queries", matrix(1, 1));
    given.put("rows", matrix(4, 5, NAN, -INFINITY, 7));
    given.put("mask", HostTensor.of(TensorType.of(DType.BOOL, 4), 0, 1, 1, 0));
    finds(given, Map.of("k", 4), scores(NAN, -INFINITY, -INFINITY, -INFINITY), 1, 2, -1, -1);
    finds(
        given,
        Map.of("k", 4, "metric", "l2"),
        scores(INFINITY, NAN, INFINITY, INFINITY),
        2,
        1,
        -1,
        -1);
  }

  /** Two chunks that leave more entries than a block sorts are merged. */
  @Test
  void mergesRunsOfHiddenRows() {
    int n = 6000;
    var mask = HostTensor.zeros(TensorType.of(DType.U8, n));
    DType.U8.writeLong(mask.data(), n - 1, 1);
    var rows = HostTensor.zeros(TensorType.of(DType.F32, n, 1));
    var given = Map.of("queries", matrix(1, 1), "rows", rows, "mask", mask);
    var indices = Runner.run(Runner.op("search"), given, Map.of("k", 1024), "indices").toDoubles();
    assertThat(indices[0]).isEqualTo(n - 1);
    assertThat(indices).hasSize(1024).containsOnlyOnce(n - 1);
    assertThat(indices[1]).isEqualTo(-1);
    assertThat(indices[1023]).isEqualTo(-1);
  }

  @Test
  void rejectsMoreResultsThanRows() {
    var given = Map.of("queries", matrix(1, 1, 2), "rows", matrix(2, 1, 2, 3, 4));
    assertThatThrownBy(() -> finds(given, Map.of("k", 3), scores()))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage("attribute \"k\" is 3 but rows has shape [2, 2]; k must be from 1 to 2");
  }
}
