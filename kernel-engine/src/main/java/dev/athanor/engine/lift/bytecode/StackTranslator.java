package dev.athanor.engine.lift.bytecode;

import java.lang.classfile.Opcode;
import java.util.ArrayList;
import java.util.List;

/** Translates the instructions that copy and discard stack slots (JVMS 6.5). */
final class StackTranslator {

  private StackTranslator() {}

  static void translate(Opcode opcode, Frame frame) {
    switch (opcode) {
      case POP -> frame.pop();
      case POP2 -> take(frame, 2);
      case DUP -> duplicate(frame, 1, 0);
      case DUP_X1 -> duplicate(frame, 1, 1);
      case DUP_X2 -> duplicate(frame, 1, 2);
      case DUP2 -> duplicate(frame, 2, 0);
      case DUP2_X1 -> duplicate(frame, 2, 1);
      case DUP2_X2 -> duplicate(frame, 2, 2);
      case SWAP -> {
        var top = frame.pop();
        var below = frame.pop();
        frame.push(top);
        frame.push(below);
      }
      default -> throw new IllegalArgumentException(opcode + " is not a stack instruction");
    }
  }

  /** Copies the top words of the stack below the words under them. */
  private static void duplicate(Frame frame, int words, int under) {
    var top = take(frame, words);
    var below = take(frame, under);
    top.forEach(frame::push);
    below.forEach(frame::push);
    top.forEach(frame::push);
  }

  /** Pops a number of words, where long and double count two; returns them in stack order. */
  private static List<JavaValue> take(Frame frame, int words) {
    var taken = new ArrayList<JavaValue>();
    for (int left = words; left > 0; ) {
      var value = frame.pop();
      taken.addFirst(value);
      left -= value.isWide() ? 2 : 1;
    }
    return taken;
  }
}
