package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.ObjectArray;
import dev.athanor.engine.lift.bytecode.JavaValue.Unconstructed;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Local variables and operand stack at an instruction. Long and double take one stack slot here.
 */
final class Frame {
  private final @Nullable JavaValue[] locals;
  private final List<JavaValue> stack;

  Frame(int locals) {
    this(new JavaValue[locals], new ArrayList<>());
  }

  private Frame(@Nullable JavaValue[] locals, List<JavaValue> stack) {
    this.locals = locals;
    this.stack = stack;
  }

  Frame copy() {
    return new Frame(Arrays.copyOf(locals, locals.length), new ArrayList<>(stack));
  }

  void push(JavaValue value) {
    stack.add(value);
  }

  JavaValue pop() {
    return stack.removeLast();
  }

  List<JavaValue> stack() {
    return stack;
  }

  /** Returns the number of local variables. */
  int locals() {
    return locals.length;
  }

  @Nullable JavaValue local(int slot) {
    return locals[slot];
  }

  void setLocal(int slot, @Nullable JavaValue value) {
    locals[slot] = value;
  }

  /** Returns local variables and stack, in one list. */
  List<@Nullable JavaValue> slots() {
    var all = new ArrayList<@Nullable JavaValue>(Arrays.asList(locals));
    all.addAll(stack);
    return all;
  }

  /** Returns a frame of the same shape with other values. */
  Frame with(List<@Nullable JavaValue> slots) {
    var result = new Frame(locals.length);
    for (int i = 0; i < locals.length; i++) {
      result.locals[i] = slots.get(i);
    }
    for (var each : slots.subList(locals.length, slots.size())) {
      if (each != null) {
        result.stack.add(each);
      }
    }
    return result;
  }

  /** Replaces an object that is changed everywhere. */
  void replace(JavaValue old, JavaValue by) {
    for (int i = 0; i < locals.length; i++) {
      locals[i] = isSame(locals[i], old) ? by : locals[i];
    }
    stack.replaceAll(each -> isSame(each, old) ? by : each);
  }

  private static boolean isSame(@Nullable JavaValue value, JavaValue object) {
    var identity = identity(object);
    return identity != null && identity.equals(identity(value));
  }

  private static @Nullable Object identity(@Nullable JavaValue value) {
    return switch (value) {
      case Unconstructed object -> object.identity();
      case ObjectArray array -> array.identity();
      case null, default -> null;
    };
  }
}
