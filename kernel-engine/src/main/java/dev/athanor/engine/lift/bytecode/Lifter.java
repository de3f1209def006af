package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.ArrayRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordsRef;
import dev.athanor.engine.lift.bytecode.JavaValue.SegmentRef;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Argument;
import dev.athanor.engine.lift.ir.Argument.Kind;
import dev.athanor.engine.lift.ir.ArgumentValue;
import dev.athanor.engine.lift.ir.ArgumentValue.Part;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.ElementType;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Parameter;
import dev.athanor.engine.lift.ir.RecordLayout;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import java.lang.classfile.ClassModel;
import java.lang.classfile.MethodModel;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Reads a static method into SSA form. */
public final class Lifter {

  private Lifter() {}

  /** A method and its class, as their class file has them. */
  private record Definition(Method method, ClassModel type, MethodModel model) {
    static Definition of(ClassFiles classes, Method method) {
      var owner = internalName(method);
      var type = classes.find(owner);
      if (type.isEmpty()) {
        throw new LiftException(
            Refusal.NO_CLASS_FILE,
            fileOf(method.getDeclaringClass()),
            method.getName(),
            ClassFiles.simpleName(owner));
      }
      var model = classes.method(owner, method.getName(), descriptor(method));
      return new Definition(method, type.get(), model.orElseThrow());
    }

    List<String> names() {
      return Declarations.names(method, model);
    }

    Source place() {
      return Declarations.place(type, model);
    }
  }

  private static String internalName(Method method) {
    return ClassFiles.internalName(method.getDeclaringClass());
  }

  private static String descriptor(Method method) {
    return MethodType.methodType(method.getReturnType(), method.getParameterTypes())
        .toMethodDescriptorString();
  }

  /**
   * Lifts a method.
   *
   * @param body the static method behind the lambda that the last parameter of the method stands
   *     for, if that is a functional interface. What the lambda captures becomes parameters of the
   *     kernel
   * @param name name of the kernel in messages
   * @param blockShape three extents; empty if the launch determines them
   * @param checked whether array indices and divisors are checked
   * @param debugged whether lines and variables are marked for a debugger
   * @throws LiftException if the method cannot be a kernel
   */
  public static Graph lift(
      Method method,
      Optional<Method> body,
      String name,
      List<Integer> blockShape,
      boolean checked,
      boolean debugged) {
    var classes = new ClassFiles(body.orElse(method).getDeclaringClass().getClassLoader());
    var definition = Definition.of(classes, method);
    var names = definition.names();
    var types = List.of(method.getParameterTypes());
    List<Parameter> captured = List.of();
    if (body.isPresent()) {
      captured = captured(Definition.of(classes, body.get()), types.getLast());
      names = distinct(names, captured);
      types = types.subList(0, types.size() - 1);
    } else {
      Declarations.check(method, types, names, blockShape, definition.place());
    }
    var code = new MethodCode(definition.type, definition.model);
    var own = parameters(types, names);
    var graph = new Graph(name, concat(own, captured), blockShape, new Block());
    var to = new Translation(classes, graph, checked, debugged);
    var line = code.lines().getFirst().source();
    to.setSource(line);
    to.callers().add(internalName(method) + "." + method.getName() + descriptor(method));
    if (debugged) {
      var title = ClassFiles.simpleName(internalName(method)) + "." + method.getName();
      to.setPrologue(new SourceFrame(title, 0, line, List.of(), null));
    }
    var values = new ArrayList<JavaValue>();
    own.forEach(parameter -> values.add(value(to, parameter)));
    if (body.isPresent()) {
      var type = method.getParameterTypes()[own.size()];
      var bound = captured.stream().map(parameter -> value(to, parameter)).toList();
      values.add(Functions.of(type, function(type), body.get(), bound));
    }
    var result = new MethodTranslator(to, code).translate(values);
    if (result.block() != null) {
      result.block().setEnd(new Terminator.Return());
    }
    return graph;
  }

  private static List<Parameter> concat(List<Parameter> first, List<Parameter> second) {
    return Stream.concat(first.stream(), second.stream()).toList();
  }

  /** Returns the parameters of a lambda's method before those of the interface's method. */
  private static List<Parameter> captured(Definition lambda, Class<?> type) {
    var all = List.of(lambda.method.getParameterTypes());
    var types = all.subList(0, all.size() - function(type).getParameterCount());
    var names = lambda.names();
    Declarations.checkParameters(lambda.method, types, names, lambda.place());
    return parameters(types, names);
  }

  /** Returns the method of a functional interface. */
  private static Method function(Class<?> type) {
    return Arrays.stream(type.getMethods())
        .filter(method -> Modifier.isAbstract(method.getModifiers()))
        .findFirst()
        .orElseThrow();
  }

  /** Returns names that differ from those of other parameters. */
  private static List<String> distinct(List<String> names, List<Parameter> others) {
    return names.stream()
        .map(each -> others.stream().anyMatch(o -> o.name().equals(each)) ? each + "$" : each)
        .toList();
  }

  /** Returns the source file of a class, by its name. */
  public static Source fileOf(Class<?> type) {
    var outermost = type.getName().replaceFirst("\\$.*", "");
    return new Source(outermost.substring(outermost.lastIndexOf('.') + 1) + ".java", 0, 0);
  }

  private static List<Parameter> parameters(List<Class<?>> types, List<String> names) {
    var found = new ArrayList<Parameter>();
    for (var type : types) {
      var name = names.get(found.size());
      found.add(new Parameter(name, type, arguments(type, name)));
    }
    return found;
  }

  private static List<Argument> arguments(Class<?> type, String name) {
    if (type == MemorySegment.class) {
      return List.of(new Argument(name, Kind.SEGMENT, Element.BYTE));
    }
    if (type.isArray()) {
      var element = ElementType.of(type.getComponentType()).orElseThrow();
      return List.of(new Argument(name, Kind.ARRAY, element));
    }
    if (type.isRecord()) {
      return Arrays.stream(type.getRecordComponents())
          .flatMap(each -> arguments(each.getType(), name + "." + each.getName()).stream())
          .toList();
    }
    return List.of(new Argument(name, Kind.SCALAR, RecordLayout.scalar(type).orElseThrow()));
  }

  private static JavaValue value(Translation to, Parameter parameter) {
    return value(to, parameter.type(), parameter.arguments().iterator());
  }

  /**
   * Returns the value of a type.
   *
   * @param arguments those of the value come first
   */
  private static JavaValue value(Translation to, Class<?> type, Iterator<Argument> arguments) {
    if (type.isRecord()) {
      var names = new ArrayList<String>();
      var values = new ArrayList<JavaValue>();
      for (var each : type.getRecordComponents()) {
        names.add(each.getName());
        values.add(value(to, each.getType(), arguments));
      }
      return RecordRef.of(ClassFiles.internalName(type), names, values);
    }
    var argument = arguments.next();
    return switch (argument.kind()) {
      case SCALAR -> Records.scalar(type, number(to, argument));
      case SEGMENT ->
          new SegmentRef(
              part(to, ValueType.LONG, argument, Part.ADDRESS),
              part(to, ValueType.LONG, argument, Part.LENGTH),
              argument.name());
      case ARRAY -> {
        var address = part(to, ValueType.LONG, argument, Part.ADDRESS);
        var length = part(to, ValueType.INT, argument, Part.LENGTH);
        yield switch (argument.element()) {
          case Element number ->
              new ArrayRef(Access.Space.GLOBAL, number, address, length, argument.name());
          case RecordLayout layout -> new RecordsRef(layout, address, length, argument.name());
        };
      }
    };
  }

  private static Value part(Translation to, ValueType type, Argument argument, Part part) {
    return to.add(Op.ARGUMENT, type, new ArgumentValue(argument, part));
  }

  private static Value number(Translation to, Argument argument) {
    return part(to, argument.number().value(), argument, Part.NUMBER);
  }
}
