package dev.athanor.engine.lift.intrinsic;

import dev.athanor.engine.lift.ir.Instructions;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import java.util.List;

/** The instructions of {@code AsyncCopy} (PTX ISA 9.7.9.25). */
public final class AsyncCopyLowerings {
  private static final int BYTES = 16;

  private AsyncCopyLowerings() {}

  /** Emits a copy of 16 bytes to shared memory. */
  public static void copy(Instructions out, Operand result, List<Operand> addresses) {
    requireShared(addresses.get(0));
    if (isShared(addresses.get(1))) {
      throw new IllegalArgumentException("the source is a shared array, not a parameter");
    }
    out.emit(
        "cp.async.cg.shared.global",
        new Address(addresses.get(0), 0),
        new Address(addresses.get(1), 0),
        Immediate.of(BYTES));
  }

  /** Emits the end of a group of copies. */
  public static void commit(Instructions out, Operand result, List<Operand> arguments) {
    out.emit("cp.async.commit_group");
  }

  /** Emits the wait for all groups but the latest ones. */
  public static void await(Instructions out, Operand result, List<Operand> pending) {
    if (!(pending.getFirst() instanceof Immediate count) || count.bits() < 0) {
      throw new IllegalArgumentException("the number of pending groups is no constant from 0 on");
    }
    out.emit("cp.async.wait_group", count);
  }

  static void requireShared(Operand address) {
    if (!isShared(address)) {
      throw new IllegalArgumentException("an array is a parameter of the kernel, not a shared one");
    }
  }

  private static boolean isShared(Operand address) {
    return address instanceof Register register && register.registerClass() == RegisterClass.B32;
  }
}
