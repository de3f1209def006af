package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Decoding of hand-written blocks of each format, byte by byte. */
class BlocksTest {

  private static final double D = 0.5;
  private static final double MINIMUM = 0.25;

  private static final int[] IQ4 = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113
  };

  private final byte[] bytes = new byte[210];

  private void writeHalf(int at, double value) {
    DType.F16.write(MemorySegment.ofArray(bytes).asSlice(at), 0, value);
  }

  private double[] decode(DType format) {
    var block = MemorySegment.ofArray(bytes).asSlice(0, format.bytes());
    return new HostTensor(TensorType.of(format, format.blockElements()), block).toDoubles();
  }

  /** Writes quants: byte j holds value j in its low nibble and value j + 16 in its high nibble. */
  private void writeNibbles(int at) {
    for (int j = 0; j < 16; j++) {
      bytes[at + j] = (byte) (j | ((15 - j) << 4));
    }
  }

  @Test
  void q4HasTheSecondHalfInHighNibbles() {
    writeHalf(0, D);
    writeNibbles(2);
    var zero = decode(DType.Q4_0);
    for (int i = 0; i < 32; i++) {
      assertThat(zero[i]).isEqualTo(D * ((i < 16 ? i : 31 - i) - 8));
    }
    writeHalf(2, MINIMUM);
    writeNibbles(4);
    var one = decode(DType.Q4_1);
    for (int i = 0; i < 32; i++) {
      assertThat(one[i]).isEqualTo(D * (i < 16 ? i : 31 - i) + MINIMUM);
    }
  }

  @Test
  void q5HasTheFifthBitOfValueJInBitJ() {
    writeHalf(0, D);
    bytes[2] = 1;
    bytes[4] = 2;
    var values = decode(DType.Q5_0);
    for (int i = 0; i < 32; i++) {
      assertThat(values[i]).isEqualTo(D * (i == 0 || i == 17 ? 0 : -16));
    }
  }

  @Test
  void q8HasSignedBytes() {
    writeHalf(0, D);
    bytes[2] = -128;
    bytes[33] = 127;
    var values = decode(DType.Q8_0);
    assertThat(values[0]).isEqualTo(-64);
    assertThat(values[31]).isEqualTo(63.5);
    assertThat(values[1]).isZero();
  }

  /**
   * Writes scales 8·j + 7 and minima 63 − 8·j, packed as in GGML. Their values use both parts of
   * each 6-bit number.
   */
  private void writeScales() {
    for (int j = 0; j < 4; j++) {
      int scale = scale(j);
      int minimum = minimum(j);
      int laterScale = scale(j + 4);
      int laterMinimum = minimum(j + 4);
      bytes[4 + j] = (byte) (scale | (laterScale >> 4 << 6));
      bytes[8 + j] = (byte) (minimum | (laterMinimum >> 4 << 6));
      bytes[12 + j] = (byte) ((laterScale & 15) | ((laterMinimum & 15) << 4));
    }
  }

  private static int scale(int j) {
    return 8 * j + 7;
  }

  private static int minimum(int j) {
    return 63 - 8 * j;
  }

  @Test
  void q4kHasScalesAndMinimaOfSixBits() {
    writeHalf(0, D);
    writeHalf(2, MINIMUM);
    writeScales();
    for (int i = 0; i < 128; i++) {
      bytes[16 + i] = (byte) (i % 16 | ((i % 13) << 4));
    }
    var values = decode(DType.Q4_K);
    for (int i = 0; i < 256; i++) {
      int sub = i / 32;
      int at = i / 64 * 32 + i % 32;
      int nibble = sub % 2 == 0 ? at % 16 : at % 13;
      assertThat(values[i])
          .as("value %d", i)
          .isEqualTo(D * scale(sub) * nibble - MINIMUM * minimum(sub));
    }
  }

  @Test
  void q5kHasTheFifthBitOfSubBlockSInBitS() {
    writeHalf(0, D);
    writeScales();
    for (int sub = 0; sub < 8; sub++) {
      bytes[16 + 3 * sub] = (byte) (1 << sub);
    }
    bytes[48] = 0x21;
    var values = decode(DType.Q5_K);
    assertThat(values[0]).isEqualTo(D * scale(0) * (1 + 16));
    assertThat(values[32]).isEqualTo(D * scale(1) * 2);
    for (int sub = 1; sub < 8; sub++) {
      assertThat(values[32 * sub + 3 * sub]).isEqualTo(D * scale(sub) * 16);
      assertThat(values[32 * sub + 3 * sub + 1]).isZero();
    }
  }

  @Test
  void q6kHasSignedScalesAndGroupsOfTwoHalves() {
    writeHalf(208, D);
    for (int i = 0; i < 16; i++) {
      bytes[192 + i] = (byte) (i % 2 == 0 ? i + 1 : -i - 1);
    }
    for (int i = 0; i < 128; i++) {
      bytes[i] = (byte) (i * 7);
    }
    for (int i = 0; i < 64; i++) {
      bytes[128 + i] = (byte) (i * 37);
    }
    var values = decode(DType.Q6_K);
    for (int h = 0; h < 2; h++) {
      for (int lane = 0; lane < 32; lane++) {
        int first = bytes[64 * h + lane] & 0xFF;
        int second = bytes[64 * h + 32 + lane] & 0xFF;
        int high = bytes[128 + 32 * h + lane] & 0xFF;
        int[] quants = {
          (first & 15) | ((high & 3) << 4),
          (second & 15) | ((high >> 2 & 3) << 4),
          (first >> 4) | ((high >> 4 & 3) << 4),
          (second >> 4) | ((high >> 6) << 4)
        };
        for (int g = 0; g < 4; g++) {
          assertThat(values[128 * h + 32 * g + lane])
              .isEqualTo(D * bytes[192 + 8 * h + 2 * g + lane / 16] * (quants[g] - 32));
        }
      }
    }
  }

  @Test
  void iq4NibblesSelectEntriesOfATable() {
    writeHalf(0, D);
    writeNibbles(2);
    var values = decode(DType.IQ4_NL);
    for (int i = 0; i < 32; i++) {
      assertThat(values[i]).isEqualTo(D * IQ4[i < 16 ? i : 31 - i]);
    }
  }

  @Test
  void iq4xsHasSignedScalesOfSixBits() {
    writeHalf(0, D);
    int[] scales = {0, 63, 32, 17, 46, 5, 60, 35};
    for (int sub = 0; sub < 8; sub++) {
      bytes[2 + sub / 4] |= (byte) (scales[sub] >> 4 << (2 * (sub % 4)));
      bytes[4 + sub / 2] |= (byte) ((scales[sub] & 15) << (4 * (sub % 2)));
      writeNibbles(8 + 16 * sub);
    }
    var values = decode(DType.IQ4_XS);
    for (int i = 0; i < 256; i++) {
      int entry = IQ4[i % 32 < 16 ? i % 32 : 31 - i % 32];
      assertThat(values[i]).as("value %d", i).isEqualTo(D * (scales[i / 32] - 32) * entry);
    }
  }

  /** As in GGML, the exponent 255 is not NaN. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 127, 254, 255})
  void mxfp4HasAnExponentAndNumbersOfFourBits(int exponent) {
    double[] numbers = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    bytes[0] = (byte) exponent;
    writeNibbles(1);
    var values = decode(DType.MXFP4);
    for (int i = 0; i < 32; i++) {
      int nibble = i < 16 ? i : 31 - i;
      double number = nibble < 8 ? numbers[nibble] : 0 - numbers[nibble - 8];
      assertThat(values[i]).isEqualTo(Math.scalb(number, exponent - 127));
    }
  }

  @Test
  void nf4HasTheHighNibbleFirst() {
    DType.F32.write(MemorySegment.ofArray(bytes), 0, 2);
    bytes[4] = 0x0F;
    bytes[5] = 0x70;
    var values = decode(DType.NF4);
    assertThat(values[0]).isEqualTo(-2);
    assertThat(values[1]).isEqualTo(2);
    assertThat(values[2]).isZero();
    assertThat(values[3]).isEqualTo(-2);
    for (int i = 1; i < 16; i++) {
      assertThat(Blocks.nf4(i)).isGreaterThan(Blocks.nf4(i - 1));
    }
  }

  /** The rounding error is at most half the widest gap, which is 0.152 of the scale. */
  @Test
  void nf4ErrorIsBelow16PercentOfTheScale() {
    double widest = 0;
    for (int i = 1; i < 16; i++) {
      widest = Math.max(widest, (Blocks.nf4(i) - Blocks.nf4(i - 1)) / 2);
    }
    assertThat(widest).isLessThan(0.16).isGreaterThan(0.15);
  }

  @Test
  void rejectsUnknownFormats() {
    assertThatThrownBy(() -> TensorType.parse("q2_k[1,256]"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("\"q2_k[1,256]\" has an unknown dtype; dtypes are " + DType.names());
  }

  @Test
  void otherFormatsHaveNoDtype() {
    for (var unknown : new String[] {"q2_k", "q3_k", "q5_1", "iq3_s", "Q4_K", ""}) {
      assertThat(DType.of(unknown)).isEmpty();
    }
  }
}
