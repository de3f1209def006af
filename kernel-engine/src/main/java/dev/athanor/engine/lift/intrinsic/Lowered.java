package dev.athanor.engine.lift.intrinsic;

import dev.athanor.engine.lift.ir.Effect;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Gives a static method its own instructions on the device. The Java body of the method says what
 * it means and runs in plain Java; on the device, the lowering emits instructions in its place. The
 * lowering is a public static method of a public class:
 *
 * {@snippet :
 * public static void dp4a(Instructions out, Operand result, List<Operand> arguments) {
 *   out.emit("dp4a.s32.s32", result, arguments.get(0), arguments.get(1), arguments.get(2));
 * }
 * }
 *
 * <table>
 * <caption>Operands of arguments and results</caption>
 * <tr><th>type in Java</th><th>operand</th></tr>
 * <tr><td>int, long, float, double</td><td>a register, or a literal int</td></tr>
 * <tr><td>boolean</td><td>a predicate</td></tr>
 * <tr><td>a record of int, long, float and double</td><td>a vector of registers, one for each
 *     component</td></tr>
 * <tr><td>an array and the int after it, which has {@link Index @Index}</td><td>a register with the
 *     address of the element: 64 bits for a parameter of the kernel, 32 bits for a shared
 *     array</td></tr>
 * </table>
 *
 * <p>A lowering that cannot use its arguments throws an {@link IllegalArgumentException}; its
 * message and the line of the call become a {@code LiftException}.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Lowered {

  /** Class of the lowering. */
  Class<?> by();

  /** Name of the lowering. */
  String method();

  /**
   * What the instructions do beyond computing their result: {@link Effect#NONE} if they depend on
   * their arguments only, so that equal calls may be merged and moved; {@link Effect#READ} if they
   * read memory; {@link Effect#CONVERGENT} if the lanes of a warp execute them together; and {@link
   * Effect#WRITE} if they write memory or synchronize.
   */
  Effect effect() default Effect.NONE;

  /**
   * Marks the index of an element of the array that precedes it. In launches with checks, the index
   * is checked as that of an access to this element and those that follow it.
   */
  @Documented
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.PARAMETER)
  @interface Index {
    /** Number of elements that the instructions access, from this one on. */
    int elements() default 1;
  }

  /** Marks an array that the instructions do not write, although their effect is to write. */
  @Documented
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.PARAMETER)
  @interface ReadOnly {}
}
