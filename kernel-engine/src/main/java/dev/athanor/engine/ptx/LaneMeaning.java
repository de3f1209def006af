package dev.athanor.engine.ptx;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What a {@link Semantics.Pure} row computes in one lane, as one method handle a result. A handle
 * takes the values of all source registers in order, vectors spread out, each in the carrier of its
 * type, and answers in the carrier of the result's type.
 */
public final class LaneMeaning {

  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
  private static final Map<String, List<Method>> FUNCTIONS =
      Arrays.stream(LaneFunctions.class.getDeclaredMethods())
          .collect(Collectors.groupingBy(Method::getName));
  private static final MethodHandle FLUSH = handle("flush", float.class);
  private static final MethodHandle SATURATE = handle("saturate", float.class);
  private static final MethodHandle CUT =
      of(LaneFunctions.class, "cut", int.class, Type.class, int.class);

  private LaneMeaning() {}

  /** The handles of a row under the given modifiers, one for each result register. */
  public static List<MethodHandle> of(Form form, Modifiers modifiers) {
    if (!(form.semantics() instanceof Semantics.Pure pure)) {
      throw new IllegalArgumentException(form + " is not computed lane by lane");
    }
    var results = types(form, modifiers, true);
    var sources = types(form, modifiers, false);
    var handles = new ArrayList<MethodHandle>();
    for (int i = 0; i < results.size(); i++) {
      handles.add(bind(pure.functions().get(i), results.get(i), sources, modifiers));
    }
    return handles;
  }

  /** The types of all source or all result registers of a row, vectors spread out. */
  public static List<Type> types(Form form, Modifiers modifiers, boolean results) {
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
    return types;
  }

  private static MethodHandle bind(
      String function, Type result, List<Type> sources, Modifiers modifiers) {
    var carriers = sources.stream().<Class<?>>map(Type::carrier).toList();
    var method =
        FUNCTIONS.getOrDefault(function, List.of()).stream()
            .filter(m -> takes(m, carriers))
            .findFirst()
            .orElseThrow(
                () -> new IllegalStateException("no lane function " + function + carriers));
    MethodHandle handle;
    try {
      handle = LOOKUP.unreflect(method);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
    // trailing parameters are modifiers of the instruction
    while (handle.type().parameterCount() > sources.size()) {
      int last = handle.type().parameterCount() - 1;
      var kind = handle.type().parameterType(last).asSubclass(Modifier.class);
      handle = MethodHandles.insertArguments(handle, last, modifiers.find(kind).orElseThrow());
    }
    var answered = MethodType.methodType(result.carrier(), carriers);
    if (handle.type().returnType() != result.carrier()) {
      if (!isInteger(handle.type().returnType()) || !isInteger(result.carrier())) {
        throw new IllegalStateException(method + " does not answer a ." + result.word());
      }
      handle = MethodHandles.explicitCastArguments(handle, answered);
    }
    for (int i = 0; i < sources.size(); i++) {
      handle = filterArgument(handle, i, sources.get(i), modifiers);
    }
    if (result.carrier() == float.class && modifiers.has("ftz")) {
      handle = MethodHandles.filterReturnValue(handle, FLUSH);
    }
    if (result.carrier() == float.class && modifiers.has("sat")) {
      handle = MethodHandles.filterReturnValue(handle, SATURATE);
    }
    return result.carrier() == int.class && result.bits() < 32
        ? MethodHandles.filterReturnValue(handle, CUT.bindTo(Type.B16))
        : handle;
  }

  private static MethodHandle filterArgument(
      MethodHandle handle, int index, Type type, Modifiers modifiers) {
    if (type.carrier() == int.class && type.bits() < 32) {
      return MethodHandles.filterArguments(handle, index, CUT.bindTo(type));
    }
    return type.carrier() == float.class && modifiers.has("ftz")
        ? MethodHandles.filterArguments(handle, index, FLUSH)
        : handle;
  }

  private static boolean takes(Method method, List<Class<?>> carriers) {
    var parameters = List.of(method.getParameterTypes());
    return parameters.size() >= carriers.size()
        && parameters.subList(0, carriers.size()).equals(carriers)
        && parameters.subList(carriers.size(), parameters.size()).stream()
            .allMatch(Modifier.class::isAssignableFrom);
  }

  private static boolean isInteger(Class<?> carrier) {
    return carrier == int.class || carrier == long.class;
  }

  private static MethodHandle handle(String name, Class<?> carrier) {
    return of(LaneFunctions.class, name, carrier, carrier);
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
