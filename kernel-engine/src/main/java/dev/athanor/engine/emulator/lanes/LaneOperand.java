package dev.athanor.engine.emulator.lanes;

import dev.athanor.engine.emulator.memory.RegisterStorage;
import java.lang.constant.ClassDesc;

/**
 * How a {@link LaneLoop} holds an operand: as the array of a register, or as a scalar, which has
 * the same value in all lanes.
 *
 * @param storage of the register; of a scalar, the storage whose carrier its value has
 */
public record LaneOperand(RegisterStorage storage, boolean scalar) {

  /** Whether the operand is an array with a mask per warp. */
  boolean isMask() {
    return storage == RegisterStorage.MASK && !scalar;
  }

  /** The type of the field that holds the operand. */
  ClassDesc fieldType() {
    var element = isMask() ? int.class : storage.carrier();
    var type = element.describeConstable().orElseThrow();
    return scalar ? type : type.arrayType();
  }
}
