package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.ArrayRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.bytecode.JavaValue.SegmentRef;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Argument;
import dev.athanor.engine.lift.ir.ArgumentValue;
import dev.athanor.engine.lift.ir.ArgumentValue.Part;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Reads a static method into SSA form. */
public final class Lifter {

  private Lifter() {}

  /**
   * Lifts a method.
   *
   * @param name name of the kernel in messages
   * @param blockShape three extents; empty if the launch determines them
   * @param checked whether array indices and divisors are checked
   * @param debugged whether lines and variables are marked for a debugger
   * @throws LiftException if the method cannot be a kernel
   */
  public static Graph lift(
      Method method, String name, List<Integer> blockShape, boolean checked, boolean debugged) {
    var classes = new ClassFiles(method.getDeclaringClass().getClassLoader());
    var owner = method.getDeclaringClass().getName().replace('.', '/');
    var type = classes.find(owner);
    if (type.isEmpty()) {
      throw new LiftException(
          Refusal.NO_CLASS_FILE,
          fileOf(method.getDeclaringClass()),
          method.getName(),
          ClassFiles.simpleName(owner));
    }
    var descriptor =
        MethodType.methodType(method.getReturnType(), method.getParameterTypes())
            .descriptorString();
    var model = classes.method(owner, method.getName(), descriptor).orElseThrow();
    var names = Declarations.names(method, model);
    Declarations.check(method, names, blockShape, Declarations.place(type.get(), model));
    var code = new MethodCode(type.get(), model);
    var line = code.lines().getFirst().source();
    var arguments = arguments(method, names);
    var graph = new Graph(name, arguments, blockShape, new Block());
    var translation = new Translation(classes, graph, checked, debugged);
    translation.setSource(line);
    translation.callers().add(owner + "." + method.getName() + descriptor);
    if (debugged) {
      var title = ClassFiles.simpleName(owner) + "." + method.getName();
      translation.setPrologue(new SourceFrame(title, 0, line, List.of(), null));
    }
    var values = arguments.stream().map(argument -> value(translation, argument)).toList();
    var result = new MethodTranslator(translation, code).translate(values);
    if (result.block() != null) {
      result.block().setEnd(new Terminator.Return());
    }
    return graph;
  }

  /** Returns the source file of a class, by its name. */
  public static Source fileOf(Class<?> type) {
    var outermost = type.getName().replaceFirst("\\$.*", "");
    return new Source(outermost.substring(outermost.lastIndexOf('.') + 1) + ".java", 0, 0);
  }

  private static List<Argument> arguments(Method method, List<String> names) {
    var found = new ArrayList<Argument>();
    for (var type : method.getParameterTypes()) {
      int number = found.size();
      var name = names.get(number);
      if (type == MemorySegment.class) {
        found.add(new Argument(name, Argument.Kind.SEGMENT, Element.BYTE));
      } else {
        var element = element(type.isArray() ? type.getComponentType() : type);
        found.add(
            new Argument(
                name, type.isArray() ? Argument.Kind.ARRAY : Argument.Kind.SCALAR, element));
      }
    }
    return found;
  }

  private static Element element(Class<?> type) {
    return Arrays.stream(Element.values())
        .filter(each -> each.word().equals(type.getName()))
        .findFirst()
        .orElseThrow();
  }

  private static JavaValue value(Translation to, Argument argument) {
    var address = new ArgumentValue(argument, Part.ADDRESS);
    var length = new ArgumentValue(argument, Part.LENGTH);
    return switch (argument.kind()) {
      case SCALAR ->
          new Scalar(
              to.add(
                  Op.ARGUMENT,
                  argument.element().value(),
                  new ArgumentValue(argument, Part.NUMBER)));
      case ARRAY ->
          new ArrayRef(
              Access.Space.GLOBAL,
              argument.element(),
              to.add(Op.ARGUMENT, ValueType.LONG, address),
              to.add(Op.ARGUMENT, ValueType.INT, length),
              argument.name());
      case SEGMENT ->
          new SegmentRef(
              to.add(Op.ARGUMENT, ValueType.LONG, address),
              to.add(Op.ARGUMENT, ValueType.LONG, length),
              argument.name());
    };
  }
}
