package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Step.Slot;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Arguments are bound to parameters by name, in any order. */
class ArgumentsTest {

  /** A kernel that copies the first element of x to y. */
  private static Kernel kernel(boolean readOnly) {
    return KernelBuilder.build(
        "copy",
        32,
        k -> {
          var x = readOnly ? k.input("x", Type.F32) : k.pointer("x", Type.F32);
          var y = k.pointer("y", Type.F32);
          y.store(k.integer("at"), x.load(k.integer(0)));
        });
  }

  private static String text(Slot slot) {
    return slot.toString();
  }

  private static List<String> inOrder(Arguments arguments) {
    var found = new java.util.ArrayList<String>();
    arguments.of(
        kernel(true),
        slot -> {
          found.add(text(slot));
          return Argument.of(0);
        });
    return found;
  }

  @Test
  void theKernelDefinesTheOrder() {
    var forth = Arguments.ofInputs("x").outputs("y").with("at", 3);
    var back = Arguments.NONE.with("at", 3).outputs("y").inputs("x");
    assertThat(inOrder(forth))
        .isEqualTo(inOrder(back))
        .containsExactly(text(Slot.input("x")), text(Slot.output("y")), text(Slot.of(3)));
  }

  @Test
  void missingUnknownAndRepeatedArgumentsAreRejected() {
    assertThatThrownBy(() -> inOrder(Arguments.ofInputs("x").outputs("y")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("kernel copy has the parameters [x, y, at]; got arguments for [x, y]");
    var more = Arguments.ofInputs("x", "z").outputs("y").with("at", 3);
    assertThatThrownBy(() -> inOrder(more))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("kernel copy has the parameters [x, y, at]; got arguments for [x, z, y, at]");
    assertThatThrownBy(() -> Arguments.ofInputs("x").with("x", 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("two arguments for parameter x");
  }

  @Test
  void findsTheParametersThatAKernelWritesAndReadsAsReadOnly() {
    assertThat(PointerUse.of(kernel(true)).readOnly()).containsExactly("x");
    assertThat(PointerUse.of(kernel(false)).readOnly()).isEmpty();
    assertThat(PointerUse.of(kernel(true)).written()).containsExactly("y");
  }
}
