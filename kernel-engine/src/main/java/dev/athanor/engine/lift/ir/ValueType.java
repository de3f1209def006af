package dev.athanor.engine.lift.ir;

import dev.athanor.engine.ptx.Type;

/**
 * The type of a value. Addresses are integers: of global memory {@link #LONG}, of shared memory
 * {@link #INT}.
 */
public enum ValueType {
  INT(Type.S32),
  LONG(Type.S64),
  FLOAT(Type.F32),
  DOUBLE(Type.F64),
  BOOL(Type.PRED),
  VOID(Type.B32);

  private final Type ptx;

  ValueType(Type ptx) {
    this.ptx = ptx;
  }

  /** Returns the PTX type of a register that holds the value. */
  public Type ptx() {
    return ptx;
  }

  public boolean isFloating() {
    return this == FLOAT || this == DOUBLE;
  }

  public boolean isInteger() {
    return this == INT || this == LONG;
  }

  /** Returns the width in bits; 1 for a condition. */
  public int bits() {
    return ptx.bits();
  }
}
