package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class DTypeTest {

  @ParameterizedTest
  @CsvSource({
    "F16, 1, 1",
    "F16, 65504, 65504",
    "F16, 65519.99, 65504",
    "F16, 1.00048828125, 1",
    "F16, 1.00048828126, 1.0009765625",
    "F16, 2.98e-8, 0",
    "F16, 3e-8, 5.9604644775390625E-8",
    "F16, -Infinity, -Infinity",
    "BF16, 1.00390625, 1",
    "BF16, 1.00390626, 1.0078125",
    "BF16, 3.3895313892515355e38, 3.3895313892515355e38",
    "F32, 0.1, 0.10000000149011612",
    "F64, 0.1, 0.1",
    "I8, -128, -128",
    "U8, 255, 255",
    "U32, 4294967295, 4294967295",
    "BOOL, 1, 1",
    "I64, -9007199254740992, -9007199254740992"
  })
  void writesTheNearestNumber(DType dtype, double given, double stored) {
    var data = MemorySegment.ofArray(new byte[16]);
    dtype.write(data, 1, given);
    assertThat(dtype.read(data, 1)).isEqualTo(stored);
    assertThat(dtype.read(data, 0)).as("the element before").isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "F16, 65520, 65520.0 does not fit f16",
    "F32, 1e39, 1.0E39 does not fit f32",
    "BF16, 3.4e38, 3.4E38 does not fit bf16",
    "I8, 128, 128 does not fit i8",
    "I8, 0.5, 0.5 does not fit i8",
    "U8, -1, -1 does not fit u8",
    "U32, 4294967296, 4294967296 does not fit u32",
    "BOOL, 2, 2 does not fit bool",
    "I64, 9.3e18, 9.3E18 does not fit i64",
    "I32, NaN, NaN does not fit i32"
  })
  void rejectsNumbersThatDoNotFit(DType dtype, double given, String message) {
    var data = MemorySegment.ofArray(new byte[8]);
    assertThatThrownBy(() -> dtype.write(data, 0, given)).hasMessage(message);
    assertThat(data.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE)).containsOnly(0);
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void isFoundByItsName(DType dtype) {
    assertThat(DType.of(dtype.text())).contains(dtype);
    assertThat(DType.names()).contains(dtype.text());
  }

  @Test
  void halvesRoundTrip() {
    for (var dtype : new DType[] {DType.F16, DType.BF16}) {
      for (int bits = 0; bits < 1 << 16; bits++) {
        var data = MemorySegment.ofArray(new short[] {(short) bits});
        double value = dtype.read(data, 0);
        if (!Double.isNaN(value)) {
          var again = MemorySegment.ofArray(new short[1]);
          dtype.write(again, 0, value);
          assertThat(again.get(java.lang.foreign.ValueLayout.JAVA_SHORT, 0))
              .isEqualTo((short) bits);
        }
      }
    }
  }

  @Test
  void i64IsExact() {
    var data = MemorySegment.ofArray(new long[1]);
    DType.I64.writeLong(data, 0, Long.MAX_VALUE - 1);
    assertThat(DType.I64.readLong(data, 0)).isEqualTo(Long.MAX_VALUE - 1);
  }
}
