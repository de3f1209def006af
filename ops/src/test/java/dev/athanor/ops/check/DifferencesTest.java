package dev.athanor.ops.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class DifferencesTest {

  /** Blocks share scales, so a block is unwritten as a whole. */
  @Test
  void unwrittenBlocksCountWithAllTheirElements() {
    var result = HostTensor.zeros(TensorType.of(DType.Q8_0, 2, 64));
    var second = result.data().asSlice(2L * DType.Q8_0.bytes(), DType.Q8_0.bytes());
    second.fill(Guarded.POISON);
    var expected = new double[128];
    assertThat(Differences.unwritten(result, expected)).isEqualTo(new Differences(64, 32));
    second.set(ValueLayout.JAVA_BYTE, 5, (byte) 1);
    assertThat(Differences.unwritten(result, expected)).isEqualTo(new Differences(-1, 0));
  }
}
