package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;

/** How many elements lie between two rows or matrices, in 64 bits. */
public final class Stride {
  private final KernelBuilder k;
  private final Register register;

  Stride(KernelBuilder k, Register register) {
    this.k = k;
    this.register = register;
  }

  Register times(Int count) {
    var wide = k.pure(Type.S64, "cvt.s64.s32", count.register());
    return k.pure(Type.S64, "mul.lo.s64", wide, register);
  }
}
