package dev.athanor.cli.argument;

import dev.athanor.cli.argument.KernelArgument.Tensor;
import dev.athanor.ops.DType;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Parses the arguments of a Java kernel by the types of its parameters. */
final class JavaArgument {

  private static final String ARRAYS =
      "in:FILE.npy, inout:FILE.npy, out:FILE.npy:DTYPE:SHAPE or zeros:BYTES";

  /** The dtypes that a file may have for each element type; raw bytes fit every array. */
  private static final Map<String, Set<DType>> DTYPES =
      Map.of(
          "boolean", Set.of(DType.BOOL),
          "byte", Set.of(DType.I8, DType.E4M3, DType.E5M2),
          "short", Set.of(DType.I16, DType.F16, DType.BF16),
          "char", Set.of(DType.I16, DType.F16, DType.BF16),
          "int", Set.of(DType.I32, DType.U32),
          "long", Set.of(DType.I64),
          "float", Set.of(DType.F32),
          "double", Set.of(DType.F64));

  private JavaArgument() {}

  /**
   * Parses an argument.
   *
   * @return a {@link Tensor} for an array or memory segment, else a boxed primitive
   * @throws IllegalArgumentException if it does not match the parameter
   */
  static Object parse(String name, Class<?> type, String text) {
    if (type.isRecord()) {
      throw wrong(name, type, text, "write a kernel that takes the components of the record");
    }
    return type.isArray() || type == MemorySegment.class
        ? memory(name, type, text)
        : type.isEnum() ? constant(name, type, text) : number(name, type, text);
  }

  private static Object constant(String name, Class<?> type, String text) {
    var constants = List.of(type.getEnumConstants());
    return constants.stream()
        .filter(each -> each instanceof Enum<?> constant && constant.name().equals(text))
        .findFirst()
        .orElseThrow(() ->
            wrong(
                name,
                type,
                text,
                "give one of "
                    + constants.stream().map(String::valueOf).collect(Collectors.joining(", "))));
  }

  private static Tensor memory(String name, Class<?> type, String text) {
    if (!text.matches("(in|inout|out|zeros):.*")) {
      throw wrong(name, type, text, "give " + ARRAYS);
    }
    var tensor = (Tensor) KernelArgument.parse(text);
    if (type.isArray()) {
      var dtype = tensor.initial().type().dtype();
      var element = type.getComponentType();
      long bytes = tensor.initial().data().byteSize();
      if (dtype != DType.U8 && !DTYPES.getOrDefault(element.getName(), Set.of()).contains(dtype)) {
        throw wrong(name, type, text, "its elements are " + dtype.name().toLowerCase(Locale.ROOT));
      }
      if (bytes % bytes(element) != 0) {
        throw wrong(
            name, type, text, "%d bytes are not a whole number of elements".formatted(bytes));
      }
    }
    return tensor;
  }

  /** Returns the size of a primitive type in memory. */
  static int bytes(Class<?> element) {
    return switch (element.getName()) {
      case "short", "char" -> 2;
      case "int", "float" -> 4;
      case "long", "double" -> 8;
      default -> 1;
    };
  }

  private static Object number(String name, Class<?> type, String text) {
    try {
      return switch (type.getName()) {
        case "boolean" -> {
          if (!text.matches("true|false")) {
            throw new NumberFormatException(text);
          }
          yield Boolean.valueOf(text);
        }
        case "char" -> {
          if (text.length() != 1) {
            throw new NumberFormatException(text);
          }
          yield text.charAt(0);
        }
        case "byte" -> Byte.decode(text);
        case "short" -> Short.decode(text);
        case "int" -> Integer.decode(text);
        case "long" -> Long.decode(text);
        case "float" -> Float.valueOf(text);
        default -> Double.valueOf(text);
      };
    } catch (NumberFormatException e) {
      throw wrong(name, type, text, "give " + example(type));
    }
  }

  private static String example(Class<?> type) {
    return switch (type.getName()) {
      case "boolean" -> "true or false";
      case "char" -> "one character";
      case "float", "double" -> "a number such as 0.5";
      default -> "a whole number that fits the type";
    };
  }

  private static IllegalArgumentException wrong(
      String name, Class<?> type, String text, String remedy) {
    return new IllegalArgumentException(
        "--arg %s: parameter `%s` is %s; %s".formatted(text, name, type.getSimpleName(), remedy));
  }
}
