package dev.athanor.engine.lift.ir;

import dev.athanor.engine.ptx.Source;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An SSA value: an operation with inputs and, for some operations, an attribute that {@link Op}
 * documents. Stores and checks are values of type {@link ValueType#VOID}. Identity is object
 * identity; passes replace the inputs of values in place.
 */
public final class Value {
  private final Op op;
  private final ValueType type;
  private List<Value> inputs;
  private final @Nullable Object attribute;
  private final Source source;

  public Value(
      Op op, ValueType type, List<Value> inputs, @Nullable Object attribute, Source source) {
    this.op = op;
    this.type = type;
    this.inputs = List.copyOf(inputs);
    this.attribute = attribute;
    this.source = source;
  }

  public static Value constant(int value) {
    return constant(ValueType.INT, value);
  }

  public static Value constant(long value) {
    return constant(ValueType.LONG, value);
  }

  public static Value constant(boolean value) {
    return constant(ValueType.BOOL, value);
  }

  /** Creates a literal of a type; the object is its Java box. */
  public static Value constant(ValueType type, Object value) {
    return new Value(Op.CONSTANT, type, List.of(), value, Source.UNKNOWN);
  }

  /** Creates the parameter of a block. */
  public static Value phi(ValueType type) {
    return new Value(Op.PHI, type, List.of(), null, Source.UNKNOWN);
  }

  public Op op() {
    return op;
  }

  public ValueType type() {
    return type;
  }

  public List<Value> inputs() {
    return inputs;
  }

  public Value input(int index) {
    return inputs.get(index);
  }

  /** Returns the line of Java that the value was computed in. */
  public Source source() {
    return source;
  }

  /** Returns the attribute, of the type that the operation documents. */
  public <T> T attribute(Class<T> of) {
    return Objects.requireNonNull(of.cast(attribute));
  }

  public @Nullable Object rawAttribute() {
    return attribute;
  }

  public boolean is(Op wanted) {
    return op == wanted;
  }

  /** Returns whether the value is a literal equal to {@code box}. */
  public boolean isConstant(Object box) {
    return op == Op.CONSTANT && box.equals(attribute);
  }

  /** Returns whether the value is an integer literal. */
  public boolean isIntegerConstant() {
    return op == Op.CONSTANT && type.isInteger();
  }

  /** Returns the number of an integer literal. */
  public long integer() {
    return attribute(Number.class).longValue();
  }

  /** Replaces each input. */
  public void mapInputs(UnaryOperator<Value> by) {
    if (!inputs.isEmpty()) {
      inputs = inputs.stream().map(by).toList();
    }
  }

  /** Returns the same operation on other inputs. */
  public Value with(List<Value> newInputs) {
    return new Value(op, type, newInputs, attribute, source);
  }

  /** Returns what the operation does beyond computing its result. */
  public Effect effect() {
    return switch (op) {
      case STORE -> Effect.WRITE;
      case POSITION, ASSIGN -> Effect.DEBUG;
      case CHECK -> Effect.CHECK;
      case LOAD -> attribute(Access.class).readOnly() ? Effect.READ_ONLY : Effect.READ;
      case CALL -> attribute(Intrinsic.class).effect();
      default -> Effect.NONE;
    };
  }

  @Override
  public String toString() {
    return op
        + (attribute == null ? "" : "[" + attribute + "]")
        + inputs.stream()
            .map(v -> v.op == Op.CONSTANT ? String.valueOf(v.attribute) : v.op.toString())
            .collect(Collectors.joining(", ", "(", ")"));
  }
}
