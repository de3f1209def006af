package dev.athanor.ops.lift;

import dev.athanor.engine.device.Argument;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.AttributeType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.problem.ShapePattern;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The argument that the description passes to a parameter of a kernel's method. */
sealed interface KernelArgument {

  /** Returns a text for messages: {@code input "x"}. */
  String text();

  /**
   * Returns the Java types of parameters that accept the argument; may be empty.
   *
   * @param kernel the dtype of tensors without a dtype of their own
   */
  List<Class<?>> types(DType kernel);

  /**
   * A tensor.
   *
   * @param own its dtype; empty for that of the kernel
   */
  record Tensor(String name, Use use, ShapePattern shape, Optional<DType> own, String meaning)
      implements KernelArgument {

    boolean isInput() {
      return use instanceof Use.Input;
    }

    boolean isOutput() {
      return use instanceof Use.Output || use instanceof Use.Update;
    }

    boolean isTemporary() {
      return use.equals(Use.TEMPORARY);
    }

    boolean isOptional() {
      return use.equals(Use.OPTIONAL);
    }

    /** Returns the inputs that the parameter stands for: itself, or the one that it updates. */
    Stream<Tensor> inputs() {
      return switch (use) {
        case Use.Input _ -> Stream.of(this);
        case Use.Output _, Use.Temporary _ -> Stream.of();
        case Use.Update(var input) ->
            Stream.of(new Tensor(input, Use.INPUT, shape, own, "the old contents of " + name));
      };
    }

    @Override
    public String text() {
      return "%s \"%s\"".formatted(Use.kind(use), name);
    }

    DType dtype(DType kernel) {
      return own.orElse(kernel);
    }

    @Override
    public List<Class<?>> types(DType kernel) {
      return switch (dtype(kernel)) {
        case F64 -> List.of(double[].class, MemorySegment.class);
        case F32 -> List.of(float[].class, MemorySegment.class);
        case F16, BF16, I16 -> List.of(short[].class, MemorySegment.class);
        case I64 -> List.of(long[].class, MemorySegment.class);
        case I32, U32 -> List.of(int[].class, MemorySegment.class);
        case I8, U8, E4M3, E5M2 -> List.of(byte[].class, MemorySegment.class);
        case BOOL -> List.of(boolean[].class, byte[].class, MemorySegment.class);
        case Q4_0, Q4_1, Q5_0, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4, NF4 -> List.of();
      };
    }
  }

  /** What the kernels do with a tensor. */
  sealed interface Use {
    Use INPUT = new Input(false);
    Use OPTIONAL = new Input(true);
    Use OUTPUT = new Output();
    Use TEMPORARY = new Temporary();

    /** Returns the word for such a tensor in messages. */
    static String kind(Use use) {
      return switch (use) {
        case Input _ -> "input";
        case Output _, Update _ -> "output";
        case Temporary _ -> "temporary";
      };
    }

    /** They read the tensor; without an optional one, they get an array of length 0. */
    record Input(boolean isOptional) implements Use {}

    /** They write each element. */
    record Output() implements Use {}

    /** They write elements before they read them; the call frees the tensor. */
    record Temporary() implements Use {}

    /**
     * They read and write elements.
     *
     * @param input the input with the old contents
     */
    record Update(String input) implements Use {}
  }

  /** A number determined by the call. */
  sealed interface Scalar extends KernelArgument {
    /**
     * Returns the argument.
     *
     * @param type of the parameter, one of {@link #types}
     */
    Slot slot(Class<?> type, Sizes sizes);
  }

  /** A size. */
  record Size(String name) implements Scalar {
    @Override
    public String text() {
      return "size \"%s\"".formatted(name);
    }

    @Override
    public List<Class<?>> types(DType kernel) {
      return List.of(int.class, long.class);
    }

    @Override
    public Slot slot(Class<?> type, Sizes sizes) {
      long value = sizes.size(name);
      if (type == long.class) {
        return Slot.of(value);
      }
      if (value != (int) value) {
        throw new OpException.TooLarge(
            name, "the size %s is %d; the kernel takes at most 2^31 - 1".formatted(name, value));
      }
      return Slot.of((int) value);
    }
  }

  /** The value of an attribute; of a choice, its index. */
  record AttributeValue(Attribute attribute) implements Scalar {
    @Override
    public String text() {
      return "attribute \"%s\"".formatted(attribute.name());
    }

    @Override
    public List<Class<?>> types(DType kernel) {
      return switch (attribute.type()) {
        case BOOLEAN -> List.of(boolean.class);
        case INTEGER -> List.of(int.class, long.class);
        case NUMBER -> List.of(float.class, double.class);
        case CHOICE -> List.of(int.class);
        case INTEGERS, NUMBERS, TEXT -> List.of();
      };
    }

    @Override
    public Slot slot(Class<?> type, Sizes sizes) {
      var name = attribute.name();
      var values = sizes.attributes();
      if (attribute.type() == AttributeType.BOOLEAN) {
        return Slot.of(values.flag(name) ? 1 : 0);
      }
      if (attribute.type() == AttributeType.CHOICE) {
        return Slot.of(attribute.choices().indexOf(values.choice(name)));
      }
      double value = values.number(name);
      if (type == int.class && value != (int) value) {
        throw new OpException.InvalidAttribute(
            name,
            "attribute \"%s\" must be from -2^31 to 2^31 - 1, got %s"
                .formatted(name, (long) value));
      }
      if (type == float.class) {
        return Slot.of(Checks.single(values, name));
      }
      return new Slot.Scalar(argument(type, value));
    }

    private static Argument argument(Class<?> type, double value) {
      return switch (type.getName()) {
        case "int" -> Argument.of((int) value);
        case "long" -> Argument.of((long) value);
        default -> Argument.of(value);
      };
    }
  }
}
