package dev.athanor.engine.lift.host;

import java.lang.StackWalker.Option;
import java.lang.StackWalker.StackFrame;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A call of a method of {@code Gpu}, with the calls of helpers that led to it: the same for all
 * threads that reach the call, on every iteration of a loop. Two sites are equal if their calls are.
 *
 * @param calls the calls from the primitive method of {@code Gpu} up to the kernel
 * @param method the outermost method of {@code Gpu}, such as {@code blockSum}
 * @param caller the method that calls it
 */
record CallSite(List<Call> calls, StackFrame method, StackFrame caller) {
  private static final String GPU = "dev.athanor.engine.lift.Gpu";
  private static final StackWalker STACK = StackWalker.getInstance(Option.RETAIN_CLASS_REFERENCE);

  /** The instruction of a method that calls another; which method it calls follows from it. */
  record Call(Class<?> type, int bytecodeIndex) {}

  /**
   * Returns the call of a method of {@code Gpu} that is on the stack.
   *
   * @param runner the class that calls the kernel
   */
  static CallSite below(Class<?> runner) {
    return STACK.walk(frames -> of(runner, frames));
  }

  private static CallSite of(Class<?> runner, Stream<StackFrame> frames) {
    var stack =
        frames
            .dropWhile(frame -> !isGpu(frame))
            .takeWhile(frame -> frame.getDeclaringClass() != runner)
            .toList();
    var calls = new ArrayList<Call>(stack.size());
    int outermost = 0;
    for (int i = 0; i < stack.size(); i++) {
      var frame = stack.get(i);
      calls.add(new Call(frame.getDeclaringClass(), frame.getByteCodeIndex()));
      if (isGpu(frame)) {
        outermost = i;
      }
    }
    return new CallSite(calls, stack.get(outermost), stack.get(outermost + 1));
  }

  private static boolean isGpu(StackFrame frame) {
    return frame.getDeclaringClass().getName().equals(GPU);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CallSite site && calls.equals(site.calls);
  }

  @Override
  public int hashCode() {
    return calls.hashCode();
  }

  @Override
  public String toString() {
    return "%s (%s:%d)"
        .formatted(method.getMethodName(), caller.getFileName(), caller.getLineNumber());
  }
}
