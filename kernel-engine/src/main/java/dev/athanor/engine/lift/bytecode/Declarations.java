package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.ir.ElementType;
import dev.athanor.engine.lift.refusal.Declaration;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.ptx.Source;
import java.lang.classfile.Attributes;
import java.lang.classfile.ClassModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.attribute.LineNumberInfo;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The declarations of kernels, as reflection and their class files show them. */
final class Declarations {

  private Declarations() {}

  /** Returns the names of the parameters; p0, p1, … if the class file does not have them. */
  static List<String> names(Method method, MethodModel model) {
    var bySlot = new HashMap<Integer, String>();
    model
        .code()
        .flatMap(code -> code.findAttribute(Attributes.localVariableTable()))
        .ifPresent(table ->
            table.localVariables().stream()
                .filter(variable -> variable.startPc() == 0)
                .forEach(each -> bySlot.put(each.slot(), each.name().stringValue())));
    var names = new ArrayList<String>();
    int slot = Modifier.isStatic(method.getModifiers()) ? 0 : 1;
    for (var type : method.getParameterTypes()) {
      names.add(bySlot.getOrDefault(slot, "p" + names.size()));
      slot += type == long.class || type == double.class ? 2 : 1;
    }
    return names;
  }

  /** Returns the first line of a method that has one; its file if it has no body. */
  static Source place(ClassModel type, MethodModel model) {
    var file =
        type.findAttribute(Attributes.sourceFile())
            .map(attribute -> attribute.sourceFile().stringValue())
            .orElseGet(() -> ClassFiles.simpleName(type.thisClass().asInternalName()));
    int line =
        model
            .code()
            .flatMap(code -> code.findAttribute(Attributes.lineNumberTable()))
            .flatMap(table -> table.lineNumbers().stream().findFirst())
            .map(LineNumberInfo::lineNumber)
            .orElse(0);
    return new Source(file, line, 0);
  }

  /**
   * Checks a declaration.
   *
   * @throws LiftException if it cannot be that of a kernel
   */
  static void check(
      Method method,
      List<Class<?>> types,
      List<String> names,
      List<Integer> blockShape,
      Source place) {
    refuse(
        method,
        place,
        new Declaration(
            method.getName(),
            Set.of(Modifier.toString(method.getModifiers()).split(" ")),
            method.getTypeParameters().length > 0,
            method.isVarArgs(),
            method.getExceptionTypes().length > 0,
            method.getReturnType().getCanonicalName(),
            parameters(types, names),
            blockShape));
  }

  /**
   * Checks the parameters of a method that is not declared as a kernel.
   *
   * @throws LiftException if a kernel has no such parameters
   */
  static void checkParameters(
      Method method, List<Class<?>> types, List<String> names, Source place) {
    var parameters = parameters(types, names);
    refuse(
        method,
        place,
        new Declaration(
            method.getName(),
            Set.of("static"),
            false,
            false,
            false,
            "void",
            parameters,
            List.of()));
  }

  private static List<Declaration.Parameter> parameters(List<Class<?>> types, List<String> names) {
    var parameters = new ArrayList<Declaration.Parameter>();
    for (var type : types) {
      parameters.add(
          new Declaration.Parameter(
              names.get(parameters.size()), type.getCanonicalName(), isPassed(type)));
    }
    return parameters;
  }

  /** Returns whether launches pass values of a type. */
  private static boolean isPassed(Class<?> type) {
    return isPassed(type, Set.of());
  }

  /**
   * Returns whether launches pass values of a type.
   *
   * @param around the records that the value is a component of
   */
  private static boolean isPassed(Class<?> type, Set<Class<?>> around) {
    if (!type.isRecord()) {
      return type == MemorySegment.class
          || type.isEnum()
          || ElementType.of(type.isArray() ? type.getComponentType() : type).isPresent();
    }
    var inner = new HashSet<>(around);
    return inner.add(type)
        && type.getRecordComponents().length > 0
        && Arrays.stream(type.getRecordComponents())
            .allMatch(each -> isPassed(each.getType(), inner));
  }

  private static void refuse(Method method, Source place, Declaration declaration) {
    for (var problem : declaration.problems()) {
      throw new LiftException(
          problem.refusal(), place, method.getName(), problem.names().toArray());
    }
  }
}
