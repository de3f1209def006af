package dev.athanor.engine.emulator.lanes;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.meaning.LaneSemantics;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Creates the {@link LaneLoop} of an instruction from a hidden class, which all instructions of the
 * same form, modifiers and operand storage share. Its loops call the lane functions as constants,
 * so that the JIT inlines and vectorizes them. Every lane reads all its sources before it writes a
 * result, hence a register may be both.
 */
public final class LaneLoops {

  private record Key(
      String form, String modifiers, List<LaneOperand> results, List<LaneOperand> sources) {}

  private static final ConcurrentHashMap<Key, MethodHandle> CONSTRUCTORS =
      new ConcurrentHashMap<>();

  private static final Lookup LOOKUP = MethodHandles.lookup();

  private LaneLoops() {}

  /**
   * Returns the loop over the lanes of an instruction.
   *
   * @param results the arrays to write, one for each result register
   * @param sources the arrays to read, or boxed values where the operand is a scalar
   * @throws IllegalArgumentException if a register is too narrow or too wide for its operand
   */
  public static LaneLoop bind(
      InstructionForm form,
      Modifiers modifiers,
      List<LaneOperand> resultOperands,
      Object[] results,
      List<LaneOperand> sourceOperands,
      Object[] sources) {
    var key = new Key(form.syntax(), modifiers.toString(), resultOperands, sourceOperands);
    var constructor =
        CONSTRUCTORS.computeIfAbsent(
            key, k -> define(LaneSemantics.of(form, modifiers), k.results, k.sources));
    try {
      return (LaneLoop) constructor.invokeExact(results, sources);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static MethodHandle define(
      List<MethodHandle> functions, List<LaneOperand> results, List<LaneOperand> sources) {
    var writer = new LaneLoopWriter(functions, results, sources);
    var bytes = writer.write();
    try {
      var loop =
          LOOKUP.defineHiddenClassWithClassData(
              bytes, writer.classData(), true, Lookup.ClassOption.NESTMATE);
      return loop.findConstructor(
              loop.lookupClass(), MethodType.methodType(void.class, Object[].class, Object[].class))
          .asType(MethodType.methodType(LaneLoop.class, Object[].class, Object[].class));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
