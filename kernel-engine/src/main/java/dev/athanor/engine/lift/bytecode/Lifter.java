package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.ArrayRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.bytecode.JavaValue.SegmentRef;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Argument;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import dev.athanor.engine.ptx.Source;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Reads a static method into SSA form. */
public final class Lifter {

  private Lifter() {}

  /**
   * Lifts a method.
   *
   * @param name name of the kernel
   * @param blockShape three extents; empty if the launch determines them
   * @param checked whether array indices and divisors are checked
   * @throws LiftException if the method cannot be a kernel
   */
  public static Graph lift(Method method, String name, List<Integer> blockShape, boolean checked) {
    var classes = new ClassFiles(method.getDeclaringClass().getClassLoader());
    var owner = method.getDeclaringClass().getName().replace('.', '/');
    var type = classes.find(owner);
    var place = new Source(method.getDeclaringClass().getSimpleName() + ".java", 0, 0);
    if (type.isEmpty()) {
      throw new LiftException(Refusal.NO_CLASS_FILE, place, method.getName(), owner);
    }
    var descriptor =
        MethodType.methodType(method.getReturnType(), method.getParameterTypes())
            .descriptorString();
    var model = classes.method(owner, method.getName(), descriptor).orElseThrow();
    if (!Modifier.isStatic(method.getModifiers())) {
      throw new LiftException(Refusal.INSTANCE_METHOD, place, method.getName(), method.getName());
    }
    if (model.code().isEmpty()) {
      throw new LiftException(Refusal.NATIVE_METHOD, place, method.getName(), method.getName());
    }
    var code = new MethodCode(type.get(), model);
    var line = code.lines().getFirst().source();
    if (Modifier.isSynchronized(method.getModifiers())) {
      throw new LiftException(Refusal.SYNCHRONIZED, line, method.getName());
    }
    if (method.getReturnType() != void.class) {
      throw new LiftException(
          Refusal.RETURN_TYPE, line, method.getName(), method.getReturnType().getSimpleName());
    }
    var arguments = arguments(method, code, line);
    var graph = new Graph(name, arguments, blockShape, new Block());
    var translation = new Translation(classes, graph, checked);
    translation.setSource(line);
    translation.callers().add(owner + "." + method.getName() + descriptor);
    var values = arguments.stream().map(argument -> value(translation, argument)).toList();
    var result = new MethodTranslator(translation, code).translate(values);
    if (result.block() != null) {
      result.block().setEnd(new Terminator.Return());
    }
    return graph;
  }

  private static List<Argument> arguments(Method method, MethodCode code, Source line) {
    var found = new ArrayList<Argument>();
    int slot = 0;
    for (var type : method.getParameterTypes()) {
      int number = found.size();
      var name = code.variable(slot, 0).filter(Lifter::isAscii).orElse("p" + number);
      var element = element(type.isArray() ? type.getComponentType() : type);
      if (type == MemorySegment.class) {
        found.add(new Argument(name, Argument.Kind.SEGMENT, Element.BYTE));
      } else if (element == null) {
        throw new LiftException(
            type.isArray() ? Refusal.OBJECT_ARRAY : Refusal.PARAMETER_TYPE,
            line,
            method.getName(),
            name,
            type.getSimpleName());
      } else {
        found.add(
            new Argument(
                name, type.isArray() ? Argument.Kind.ARRAY : Argument.Kind.SCALAR, element));
      }
      slot += type == long.class || type == double.class ? 2 : 1;
    }
    return found;
  }

  private static boolean isAscii(String name) {
    return name.matches("[A-Za-z][A-Za-z0-9_$]*");
  }

  private static @Nullable Element element(Class<?> type) {
    return Arrays.stream(Element.values())
        .filter(each -> each.word().equals(type.getName().toLowerCase(Locale.ROOT)))
        .findFirst()
        .orElse(null);
  }

  private static JavaValue value(Translation to, Argument argument) {
    return switch (argument.kind()) {
      case SCALAR -> new Scalar(to.add(Op.ARGUMENT, argument.element().value(), argument.name()));
      case ARRAY ->
          new ArrayRef(
              Access.Space.GLOBAL,
              argument.element(),
              to.add(Op.ARGUMENT, ValueType.LONG, argument.name()),
              to.add(Op.ARGUMENT, ValueType.INT, argument.lengthName()),
              argument.name());
      case SEGMENT ->
          new SegmentRef(
              to.add(Op.ARGUMENT, ValueType.LONG, argument.name()),
              to.add(Op.ARGUMENT, ValueType.LONG, argument.lengthName()),
              argument.name());
    };
  }
}
