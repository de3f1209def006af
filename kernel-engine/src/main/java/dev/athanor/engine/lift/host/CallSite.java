package dev.athanor.engine.lift.host;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A call of a method of {@code Gpu}, with the calls of helpers that led to it: the same for all
 * threads that reach the call, on every iteration of a loop.
 *
 * @param calls the calls from the primitive method of {@code Gpu} up to the kernel
 * @param method the outermost method of {@code Gpu}, such as {@code blockSum}
 * @param place file and line of the call of that method
 */
record CallSite(List<Call> calls, String method, String place) {
  private static final String GPU = "dev.athanor.engine.lift.Gpu";
  private static final String KERNEL_CALLER = GpuThread.class.getName();
  private static final StackWalker STACK = StackWalker.getInstance();

  /** The instruction of a method that calls another. */
  record Call(String type, String method, String descriptor, int bytecodeIndex) {}

  /** Returns the call of a method of {@code Gpu} that is on the stack. */
  static CallSite here() {
    return STACK.walk(CallSite::of);
  }

  private static CallSite of(Stream<StackWalker.StackFrame> frames) {
    var calls = new ArrayList<Call>();
    var method = "";
    var place = "";
    boolean outermost = false;
    for (var frame : (Iterable<StackWalker.StackFrame>) frames::iterator) {
      var type = frame.getClassName();
      if (type.equals(GPU)) {
        method = frame.getMethodName();
        outermost = true;
      } else if (outermost) {
        place = frame.getFileName() + ":" + frame.getLineNumber();
        outermost = false;
      }
      if (!method.isEmpty()) {
        if (type.equals(KERNEL_CALLER)) {
          break;
        }
        calls.add(
            new Call(
                type, frame.getMethodName(), frame.getDescriptor(), frame.getByteCodeIndex()));
      }
    }
    return new CallSite(List.copyOf(calls), method, place);
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
    return "%s (%s)".formatted(method, place);
  }
}
