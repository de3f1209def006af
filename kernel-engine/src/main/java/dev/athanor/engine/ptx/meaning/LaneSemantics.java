package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Type;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The computation of a {@link Semantics.Pure} row in one lane, as one method handle per result. A
 * handle takes the values of all source registers in order, with vectors flattened, in the carriers
 * of their types, and returns the carrier of the result's type.
 */
public final class LaneSemantics {

  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
  private static final List<Class<?>> OWNERS =
      List.of(
          LaneFunctions.class,
          IntegerFunctions.class,
          BitFunctions.class,
          FloatFunctions.class,
          ConversionFunctions.class,
          AddressFunctions.class,
          VideoFunctions.class,
          ScalarVideoFunctions.class);
  private static final Map<String, List<Method>> FUNCTIONS =
      OWNERS.stream()
          .flatMap(owner -> Arrays.stream(owner.getDeclaredMethods()))
          .filter(method -> !Modifier.isPrivate(method.getModifiers()))
          .collect(Collectors.groupingBy(Method::getName));
  private static final MethodHandle TRUNCATE =
      of(LaneFunctions.class, "truncate", int.class, Type.class, int.class);
  private static final MethodHandle DECODE =
      of(SmallFloat.class, "decode", float.class, int.class, Type.class);
  private static final MethodHandle ENCODE =
      of(
          SmallFloat.class,
          "encode",
          int.class,
          double.class,
          Type.class,
          Rounding.class,
          boolean.class);
  private static final MethodHandle ENCODE_TO_NEAREST =
      of(SmallFloat.class, "encode", int.class, float.class, Type.class);

  /** Suffix of functions that flush their result before they round it. */
  private static final String FLUSHED = "Flushed";

  private LaneSemantics() {}

  /** Returns the handles of a row with the given modifiers, one per result register. */
  public static List<MethodHandle> of(InstructionForm form, Modifiers modifiers) {
    if (!(form.semantics() instanceof Semantics.Pure pure)) {
      throw new IllegalArgumentException(form + " is not a lane-by-lane computation");
    }
    var results = types(form, modifiers, true);
    var sources = types(form, modifiers, false);
    var handles = new ArrayList<MethodHandle>();
    for (int i = 0; i < results.size(); i++) {
      var row = new Result(pure.functions().get(i), form, modifiers);
      if (pure.functions().get(i).equals("pairOf")) {
        handles.add(row.pair(results.get(i)));
        continue;
      }
      handles.add(
          sources.stream().anyMatch(type -> type.kind() == Type.Kind.PACKED)
              ? row.packed(results.get(i), i, sources)
              : row.bind(results.get(i), sources));
    }
    return handles;
  }

  /** Returns the method of a handle; empty if the handle combines several or binds arguments. */
  public static Optional<Method> method(MethodHandle meaning) {
    try {
      return Optional.of(LOOKUP.revealDirect(meaning).reflectAs(Method.class, LOOKUP));
    } catch (IllegalArgumentException e) {
      return Optional.empty(); // not a direct handle
    }
  }

  /** Returns the types of all source or result registers of a row, with vectors flattened. */
  public static List<Type> types(InstructionForm form, Modifiers modifiers, boolean results) {
    var types = new ArrayList<Type>();
    for (var slot : form.operands()) {
      if (slot.isResult() == results) {
        for (int i = 0; i < slot.length(modifiers); i++) {
          types.add(slot.type(modifiers));
        }
        if (slot.second() != null) {
          types.add(slot.second().type(modifiers));
        }
      }
    }
    form.impliedRegisters(results).forEach(_ -> types.add(Type.PRED));
    return types;
  }

  /** A result of an instruction. */
  private record Result(String functions, InstructionForm form, Modifiers modifiers) {

    /**
     * Returns the function of a packed instruction, which applies to both halves. For two
     * predicates, the first is the low half's.
     */
    MethodHandle packed(Type result, int index, List<Type> sources) {
      var elements = sources.stream().map(Type::element).toList();
      var halves = new ArrayList<MethodHandle>();
      for (var part : List.of("low", "high")) {
        var half = bind(result.element(), elements);
        for (int i = 0; i < sources.size(); i++) {
          if (sources.get(i).kind() == Type.Kind.PACKED) {
            var name = part + (sources.get(i).bits() == 32 ? "Half" : "Byte");
            half = MethodHandles.filterArguments(half, i, filter(name, int.class));
          }
        }
        halves.add(half);
      }
      if (result == Type.PRED) {
        return halves.get(index);
      }
      int count = sources.size();
      var both = MethodHandles.collectArguments(pack(result), 1, halves.get(1));
      both = MethodHandles.collectArguments(both, 0, halves.get(0));
      int[] twice = IntStream.range(0, 2 * count).map(i -> i % count).toArray();
      return MethodHandles.permuteArguments(both, halves.get(0).type(), twice);
    }

    /** Returns the function that rounds two floats and packs them, the first into the high half. */
    MethodHandle pair(Type result) {
      var one = new Result("identity", form, modifiers).bind(result.element(), List.of(Type.F32));
      var pack = MethodHandles.filterArguments(pack(result), 0, one, one);
      return MethodHandles.permuteArguments(
          pack, pack.type().changeParameterType(0, float.class), 1, 0);
    }

    private static MethodHandle pack(Type result) {
      return of(
          LaneFunctions.class,
          result.bits() == 32 ? "pack" : "packBytes",
          int.class,
          int.class,
          int.class);
    }

    MethodHandle bind(Type result, List<Type> sources) {
      var names = functions.split(">", -1);
      if (result == Type.F32 && modifiers.has("ftz") && FUNCTIONS.containsKey(names[0] + FLUSHED)) {
        names[0] += FLUSHED;
      }
      var method = find(names[0], sources, names.length > 1);
      int taken = operandCount(method);
      var handle = withModifiers(method, taken);
      for (int i = 0; i < taken; i++) {
        handle = filterArgument(handle, i, sources.get(i));
      }
      for (int i = 1; i < names.length; i++) {
        var rest = new ArrayList<Class<?>>();
        rest.add(handle.type().returnType());
        sources.subList(taken, sources.size()).forEach(type -> rest.add(type.carrier()));
        var next = find(names[i], rest);
        taken += operandCount(next) - 1;
        handle = MethodHandles.collectArguments(withModifiers(next, operandCount(next)), 0, handle);
      }
      return filterResult(handle, result);
    }

    /** Returns the overload for the types, or for their longest prefix if more functions follow. */
    private Method find(String name, List<Type> sources, boolean prefix) {
      for (int count = sources.size(); count >= (prefix ? 1 : sources.size()); count--) {
        var types = sources.subList(0, count);
        // small formats are passed as floats, except to functions of their bits
        var values =
            types.stream()
                .<Class<?>>map(type -> SmallFloat.isSmall(type) ? float.class : type.carrier())
                .toList();
        var bits = types.stream().<Class<?>>map(Type::carrier).toList();
        for (var carriers : List.of(values, bits)) {
          for (var method : FUNCTIONS.getOrDefault(name, List.of())) {
            if (operands(method).equals(carriers)) {
              return method;
            }
          }
        }
      }
      throw new IllegalStateException("no lane function " + name + sources);
    }

    private static Method find(String name, List<Class<?>> carriers) {
      return FUNCTIONS.getOrDefault(name, List.of()).stream()
          .filter(method ->
              operandCount(method) <= carriers.size()
                  && operands(method).equals(carriers.subList(0, operandCount(method))))
          .findFirst()
          .orElseThrow(() -> new IllegalStateException("no lane function " + name + carriers));
    }

    private static List<Class<?>> operands(Method method) {
      return List.of(method.getParameterTypes()).subList(0, operandCount(method));
    }

    private static int operandCount(Method method) {
      return (int)
          Arrays.stream(method.getParameterTypes())
              .filter(type ->
                  type != Modifiers.class
                      && !dev.athanor.engine.ptx.Modifier.class.isAssignableFrom(type))
              .count();
    }

    /**
     * Binds trailing parameters to modifiers of the instruction: each kind in order, or all of
     * them.
     */
    private MethodHandle withModifiers(Method method, int operands) {
      MethodHandle handle;
      try {
        handle = LOOKUP.unreflect(method);
      } catch (IllegalAccessException e) {
        throw new IllegalStateException(e);
      }
      var left = new ArrayList<>(modifiers.list());
      while (handle.type().parameterCount() > operands) {
        var kind = handle.type().parameterType(operands);
        if (kind == Modifiers.class) {
          handle = MethodHandles.insertArguments(handle, operands, modifiers);
          continue;
        }
        var chosen = left.stream().filter(kind::isInstance).findFirst().orElseThrow();
        left.remove(chosen);
        handle = MethodHandles.insertArguments(handle, operands, chosen);
      }
      return handle;
    }

    private MethodHandle filterArgument(MethodHandle given, int index, Type type) {
      var handle = given;
      if (SmallFloat.isSmall(type) && handle.type().parameterType(index) == float.class) {
        handle =
            MethodHandles.filterArguments(
                handle, index, MethodHandles.insertArguments(DECODE, 1, type));
      }
      if (type == Type.F16 && flushes()) {
        handle = MethodHandles.filterArguments(handle, index, filter("flushHalf", int.class));
      }
      if (type.carrier() == int.class && type.bits() < 32) {
        return MethodHandles.filterArguments(handle, index, TRUNCATE.bindTo(type));
      }
      boolean isCopied = copies() && index < form.operands().size() - 2;
      return type == Type.F32 && modifiers.has("ftz") && !isCopied && !narrowsToHalf()
          ? MethodHandles.filterArguments(handle, index, filter("flush", float.class))
          : handle;
    }

    /** Returns whether the result is a copy of an operand. */
    private boolean copies() {
      return form.semantics() instanceof Semantics.Pure pure
          && pure.operation() == Semantics.LaneOperation.SELECTION;
    }

    /** Returns whether {@code .ftz} applies to f16; in conversions it applies only to f32. */
    private boolean flushes() {
      return modifiers.has("ftz") && !form.isConversion();
    }

    /**
     * Returns whether f32 becomes f16. With {@code .ftz}, directed rounding then still turns
     * subnormal operands into the smallest f16, as measured on an H200.
     */
    private boolean narrowsToHalf() {
      return form.isConversion() && modifiers.types().getFirst() == Type.F16;
    }

    private MethodHandle filterResult(MethodHandle given, Type result) {
      var handle = given;
      if (result.carrier() == float.class && modifiers.has("ftz") && !copies()) {
        handle = MethodHandles.filterReturnValue(handle, filter("flush", float.class));
      }
      var answered = handle.type().returnType();
      if (result == Type.F16 && flushes()) {
        handle = MethodHandles.filterReturnValue(handle, filter("flushHalf", answered));
      } else if (result == Type.BF16 && modifiers.has("ftz")) {
        handle = MethodHandles.filterReturnValue(handle, filter("flush", answered));
      }
      if (answered == float.class || answered == double.class) {
        for (var name : List.of("relu", "sat")) {
          if (modifiers.has(name)) {
            handle =
                MethodHandles.filterReturnValue(
                    handle, filter(name.equals("sat") ? "saturate" : name, answered));
          }
        }
      }
      if (SmallFloat.isSmall(result) && answered != int.class) {
        handle = MethodHandles.filterReturnValue(handle, encoder(result, answered));
      } else if (answered != result.carrier()) {
        if (!isInteger(answered) || !isInteger(result.carrier())) {
          throw new IllegalStateException(functions + " does not return a ." + result.word());
        }
        handle =
            MethodHandles.explicitCastArguments(
                handle, handle.type().changeReturnType(result.carrier()));
      }
      // the destination register of a conversion may be wider, so extend its sign
      var kept = form.isConversion() && result.kind() != Type.Kind.FLOAT ? result : Type.B16;
      return result.carrier() == int.class && result.bits() < 32
          ? MethodHandles.filterReturnValue(handle, TRUNCATE.bindTo(kept))
          : handle;
    }

    private MethodHandle encoder(Type result, Class<?> answered) {
      var rounding =
          modifiers.find(Rounding.class).filter(Rounding::roundsSignificand).orElse(Rounding.RN);
      boolean finite = modifiers.has("satfinite");
      if (answered == float.class && rounding == Rounding.RN && !finite) {
        return MethodHandles.insertArguments(ENCODE_TO_NEAREST, 1, result);
      }
      return MethodHandles.explicitCastArguments(
          MethodHandles.insertArguments(ENCODE, 1, result, rounding, finite),
          MethodType.methodType(int.class, answered));
    }
  }

  private static MethodHandle filter(String name, Class<?> carrier) {
    return of(LaneFunctions.class, name, carrier, carrier);
  }

  private static boolean isInteger(Class<?> carrier) {
    return carrier == int.class || carrier == long.class;
  }

  private static MethodHandle of(
      Class<?> owner, String name, Class<?> result, Class<?>... parameters) {
    try {
      return LOOKUP.findStatic(owner, name, MethodType.methodType(result, parameters));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
