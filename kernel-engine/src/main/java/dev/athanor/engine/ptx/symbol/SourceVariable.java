package dev.athanor.engine.ptx.symbol;

import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;
import java.util.List;
import java.util.Optional;

/**
 * A variable of the source language, or a component of one.
 *
 * @param type as the source names it, such as {@code float[]}
 */
public record SourceVariable(String name, String type, Location location) {

  /** Where the value of a variable is. */
  public sealed interface Location {}

  /** A number in a register. */
  public record InRegister(Register register) implements Location {}

  /**
   * An array.
   *
   * @param element type of the elements in memory
   * @param pointer address of element 0
   * @param length number of elements
   */
  public record InMemory(Space space, Type element, Register pointer, Register length)
      implements Location {}

  /** A record: its components. */
  public record Components(List<SourceVariable> variables) implements Location {
    public Components {
      variables = List.copyOf(variables);
    }
  }

  /** Returns the type of an array's elements, as the source names it. */
  public String elementType() {
    return type.replaceFirst("\\[]$", "");
  }

  /** Returns a component of a record, or the length of an array. */
  Optional<SourceVariable> component(String wanted) {
    return switch (location) {
      case InRegister _ -> Optional.empty();
      case InMemory array ->
          wanted.equals("length") && type.endsWith("[]")
              ? Optional.of(new SourceVariable(wanted, "int", new InRegister(array.length)))
              : Optional.empty();
      case Components components ->
          components.variables.stream().filter(each -> each.name.equals(wanted)).findFirst();
    };
  }
}
