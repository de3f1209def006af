package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Capability.Features;
import dev.athanor.engine.ptx.Target;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StepTest {

  private static List<? extends Plan> plans(
      String op, Map<String, TensorType> types, int sharedBytes, Features features) {
    var device =
        new Capability(
            "test:0",
            "test device",
            new Target(70, false),
            "0",
            8,
            1024,
            sharedBytes,
            sharedBytes,
            1L << 34,
            features);
    var found = Catalogue.load().find(op).orElseThrow();
    return new Problem(found, types, Attributes.of(found.description(), Map.of())).plans(device);
  }

  private static TensorType type(DType dtype, long... extents) {
    return new TensorType(dtype, Shape.of(extents));
  }

  @ParameterizedTest
  @CsvSource({
    "F64, false, true, 'requires computations in f64, which test device lacks'",
    "F32, false, true,",
    "F64, true, true,"
  })
  void refusesComputationsThatTheDeviceLacks(
      DType dtype, boolean float64, boolean atomics64, String refusal) {
    var types = Map.of("a", type(dtype, 64), "b", type(dtype, 64));
    var features = new Features(float64, atomics64, true, 0, true);
    if (refusal == null) {
      assertThat(plans("add", types, 48 << 10, features)).isNotEmpty();
    } else {
      assertThatThrownBy(() -> plans("add", types, 48 << 10, features))
          .hasMessageContaining(refusal);
    }
  }

  @Test
  void countsTheSharedMemoryThroughWhichLanesExchangeValues() {
    var types = Map.of("a", type(DType.F32, 64, 64), "b", type(DType.F32, 64, 64));
    int all = plans("matmul", types, 48 << 10, new Features(true, true, true, 0, true)).size();
    assertThat(plans("matmul", types, 48 << 10, new Features(true, true, true, 4, true)))
        .hasSize(all);
    assertThat(plans("matmul", types, 48 << 10, new Features(true, true, true, 256, true)))
        .hasSizeLessThan(all);
    assertThat(new Features(true, true, true, 4, true).exchangeBytes(33)).isEqualTo(4 * 65);
    assertThat(Features.ALL.exchangeBytes(1024)).isZero();
  }
}
