package dev.athanor.engine.emulator.jit;

import dev.athanor.engine.emulator.program.Binder;
import dev.athanor.engine.emulator.program.ProgramFlow;
import dev.athanor.engine.emulator.step.Block;
import java.lang.invoke.MethodHandle;
import java.util.BitSet;
import java.util.List;
import java.util.function.Function;

/** Compiles the segments of a program to JVM code: one hidden class with a method per segment. */
public final class Compiler {

  /**
   * The compiled segments of a program.
   *
   * @param constructor of the class, which takes a block and the values of the fields
   * @param values compute the values of the fields for a block
   * @param starts the instructions at which threads enter segments
   */
  public record Compiled(
      MethodHandle constructor, List<Function<Block, Object>> values, BitSet starts) {

    /** Returns the code for the registers and memory of a block. */
    public CompiledCode bind(Block block) {
      try {
        var fields = new Object[values.size()];
        for (int i = 0; i < fields.length; i++) {
          fields[i] = values.get(i).apply(block);
        }
        return (CompiledCode) constructor.invokeExact(block, fields);
      } catch (RuntimeException | Error e) {
        throw e;
      } catch (Throwable e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private Compiler() {}

  /**
   * Compiles a program.
   *
   * @param everything whether to compile also segments that the interpreter executes faster
   */
  public static Compiled compile(ProgramFlow flow, Binder binder, boolean everything) {
    var writer = new CompiledClassWriter(flow, binder);
    var segments = new SegmentSelector(flow, everything, writer::size).select();
    var starts = new BitSet();
    segments.forEach(segment -> segment.entries(flow).forEach(starts::set));
    return new Compiled(writer.define(segments), writer.fieldValues(), starts);
  }
}
