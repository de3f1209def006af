package dev.athanor.engine.lift.intrinsic;

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
 * <p>Arguments and results are numbers: int, long, float, double, and boolean, which is a
 * predicate.
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
   * Whether the instructions depend on their arguments only, so that equal calls may be merged and
   * moved; otherwise each call stays where it is.
   */
  boolean pure() default true;
}
