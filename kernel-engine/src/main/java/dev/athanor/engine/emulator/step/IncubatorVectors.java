package dev.athanor.engine.emulator.step;

import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** The implementation by jdk.incubator.vector, the only class that depends on that module. */
final class IncubatorVectors implements Vectors {

  private static final VectorSpecies<Float> FLOATS =
      FloatVector.SPECIES_PREFERRED.length() <= 32
          ? FloatVector.SPECIES_PREFERRED
          : FloatVector.SPECIES_512;
  private static final int LENGTH = FLOATS.length();
  private static final VectorSpecies<Integer> INTS =
      VectorSpecies.of(int.class, FLOATS.vectorShape());

  @Override
  public int length() {
    return LENGTH;
  }

  @Override
  public void broadcast(int[] words, int first, int[] at, float[][] registers, int lane) {
    for (int i = 0; i < at.length; i++) {
      IntVector.broadcast(INTS, words[first + at[i]])
          .reinterpretAsFloats()
          .intoArray(registers[i], lane);
    }
  }

  @Override
  public void load(int[] words, int first, int[] at, float[][] registers, int lane) {
    for (int i = 0; i < at.length; i++) {
      IntVector.fromArray(INTS, words, first + at[i])
          .reinterpretAsFloats()
          .intoArray(registers[i], lane);
    }
  }

  @Override
  public void repeat(float[][] registers, int lane) {
    for (var register : registers) {
      FloatVector.fromArray(FLOATS, register, lane - LENGTH).intoArray(register, lane);
    }
  }

  @Override
  public boolean isUniform(int[] numbers, int lane) {
    return IntVector.fromArray(INTS, numbers, lane)
        .compare(VectorOperators.EQ, numbers[lane])
        .allTrue();
  }

  @Override
  public boolean isRepeated(int[] numbers, int lane) {
    return Arrays.equals(numbers, lane, lane + LENGTH, numbers, lane - LENGTH, lane);
  }

  @Override
  public void addOuterProducts(float[][] sums, float[][] left, float[][] right, int lane) {
    var sum00 = FloatVector.fromArray(FLOATS, sums[0], lane);
    var sum01 = FloatVector.fromArray(FLOATS, sums[1], lane);
    var sum02 = FloatVector.fromArray(FLOATS, sums[2], lane);
    var sum03 = FloatVector.fromArray(FLOATS, sums[3], lane);
    var sum10 = FloatVector.fromArray(FLOATS, sums[4], lane);
    var sum11 = FloatVector.fromArray(FLOATS, sums[5], lane);
    var sum12 = FloatVector.fromArray(FLOATS, sums[6], lane);
    var sum13 = FloatVector.fromArray(FLOATS, sums[7], lane);
    var sum20 = FloatVector.fromArray(FLOATS, sums[8], lane);
    var sum21 = FloatVector.fromArray(FLOATS, sums[9], lane);
    var sum22 = FloatVector.fromArray(FLOATS, sums[10], lane);
    var sum23 = FloatVector.fromArray(FLOATS, sums[11], lane);
    var sum30 = FloatVector.fromArray(FLOATS, sums[12], lane);
    var sum31 = FloatVector.fromArray(FLOATS, sums[13], lane);
    var sum32 = FloatVector.fromArray(FLOATS, sums[14], lane);
    var sum33 = FloatVector.fromArray(FLOATS, sums[15], lane);
    for (int k = 0; k < left.length; k += 4) {
      var right0 = FloatVector.fromArray(FLOATS, right[k], lane);
      var right1 = FloatVector.fromArray(FLOATS, right[k + 1], lane);
      var right2 = FloatVector.fromArray(FLOATS, right[k + 2], lane);
      var right3 = FloatVector.fromArray(FLOATS, right[k + 3], lane);
      var left0 = FloatVector.fromArray(FLOATS, left[k], lane);
      sum00 = left0.fma(right0, sum00);
      sum01 = left0.fma(right1, sum01);
      sum02 = left0.fma(right2, sum02);
      sum03 = left0.fma(right3, sum03);
      var left1 = FloatVector.fromArray(FLOATS, left[k + 1], lane);
      sum10 = left1.fma(right0, sum10);
      sum11 = left1.fma(right1, sum11);
      sum12 = left1.fma(right2, sum12);
      sum13 = left1.fma(right3, sum13);
      var left2 = FloatVector.fromArray(FLOATS, left[k + 2], lane);
      sum20 = left2.fma(right0, sum20);
      sum21 = left2.fma(right1, sum21);
      sum22 = left2.fma(right2, sum22);
      sum23 = left2.fma(right3, sum23);
      var left3 = FloatVector.fromArray(FLOATS, left[k + 3], lane);
      sum30 = left3.fma(right0, sum30);
      sum31 = left3.fma(right1, sum31);
      sum32 = left3.fma(right2, sum32);
      sum33 = left3.fma(right3, sum33);
    }
    sum00.intoArray(sums[0], lane);
    sum01.intoArray(sums[1], lane);
    sum02.intoArray(sums[2], lane);
    sum03.intoArray(sums[3], lane);
    sum10.intoArray(sums[4], lane);
    sum11.intoArray(sums[5], lane);
    sum12.intoArray(sums[6], lane);
    sum13.intoArray(sums[7], lane);
    sum20.intoArray(sums[8], lane);
    sum21.intoArray(sums[9], lane);
    sum22.intoArray(sums[10], lane);
    sum23.intoArray(sums[11], lane);
    sum30.intoArray(sums[12], lane);
    sum31.intoArray(sums[13], lane);
    sum32.intoArray(sums[14], lane);
    sum33.intoArray(sums[15], lane);
  }

  @Override
  public void addProducts(float[] sum, float[][] left, float[][] right, int lane) {
    var total = FloatVector.fromArray(FLOATS, sum, lane);
    for (int k = 0; k < left.length; k++) {
      total =
          FloatVector.fromArray(FLOATS, left[k], lane)
              .fma(FloatVector.fromArray(FLOATS, right[k], lane), total);
    }
    total.intoArray(sum, lane);
  }
}
