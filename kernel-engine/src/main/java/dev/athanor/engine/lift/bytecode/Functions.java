package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.CallTranslator.Callee;
import dev.athanor.engine.lift.bytecode.JavaValue.ArrayRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Boxed;
import dev.athanor.engine.lift.bytecode.JavaValue.EnumRef;
import dev.athanor.engine.lift.bytecode.JavaValue.FunctionRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordsRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.bytecode.JavaValue.Unconstructed;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.lang.classfile.ClassFile;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.MethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

/**
 * Translates lambdas and method references: values whose calls are inlined, since the method that
 * each of them calls is known. Arguments and results are boxed and unboxed as {@link
 * java.lang.invoke.LambdaMetafactory} does it.
 */
final class Functions {
  private final Translation to;
  private final CallTranslator calls;

  Functions(Translation to, CallTranslator calls) {
    this.to = to;
    this.calls = calls;
  }

  static boolean isLambda(InvokeDynamicInstruction instruction) {
    return instruction.bootstrapMethod().owner().displayName().equals("LambdaMetafactory");
  }

  /** Pops what a lambda captures, and pushes the lambda. */
  static void create(InvokeDynamicInstruction instruction, Frame frame) {
    var type = instruction.typeSymbol();
    var captured = new ArrayList<JavaValue>();
    for (int i = 0; i < type.parameterCount(); i++) {
      captured.addFirst(frame.pop());
    }
    frame.push(
        new FunctionRef(
            internalName(type.returnType()),
            instruction.name().stringValue(),
            (DirectMethodHandleDesc) instruction.bootstrapArgs().get(1),
            List.copyOf(captured)));
  }

  /**
   * Returns a lambda.
   *
   * @param type the functional interface
   * @param method its method
   * @param body the static method that it calls
   */
  static FunctionRef of(Class<?> type, Method method, Method body, List<JavaValue> captured) {
    var called =
        MethodHandleDesc.ofMethod(
            DirectMethodHandleDesc.Kind.STATIC,
            ClassDesc.ofDescriptor(body.getDeclaringClass().descriptorString()),
            body.getName(),
            MethodTypeDesc.ofDescriptor(
                MethodType.methodType(body.getReturnType(), body.getParameterTypes())
                    .toMethodDescriptorString()));
    return new FunctionRef(
        type.getName().replace('.', '/'), method.getName(), called, List.copyOf(captured));
  }

  private static String internalName(ClassDesc type) {
    var descriptor = type.descriptorString();
    return descriptor.substring(1, descriptor.length() - 1);
  }

  /** Returns whether a call of a method of the interface calls the body. */
  boolean isBody(FunctionRef function, Callee callee) {
    return callee.name().equals(function.method())
        && to.classes()
            .method(callee.owner(), callee.name(), callee.type().descriptorString())
            .filter(method -> (method.flags().flagsMask() & ClassFile.ACC_ABSTRACT) == 0)
            .isEmpty();
  }

  /**
   * Calls the body; returns false if it never returns.
   *
   * @param type of the interface's method
   */
  boolean call(FunctionRef function, List<JavaValue> arguments, MethodTypeDesc type, Frame frame) {
    var body = function.body();
    var parameters = body.invocationType(); // a receiver is the first
    var all = new ArrayList<>(function.captured());
    for (int i = 0; i < arguments.size(); i++) {
      var wanted = parameters.parameterType(all.size());
      all.add(adapt(arguments.get(i), type.parameterType(i), wanted));
    }
    boolean returns = callBody(body, all, frame);
    if (returns && !parameters.returnType().equals(ConstantDescs.CD_void)) {
      var value = frame.pop();
      if (!type.returnType().equals(ConstantDescs.CD_void)) {
        frame.push(adapt(value, parameters.returnType(), type.returnType()));
      }
    }
    return returns;
  }

  private boolean callBody(DirectMethodHandleDesc body, List<JavaValue> arguments, Frame frame) {
    var owner = internalName(body.owner());
    var type = body.invocationType();
    return switch (body.kind()) {
      case STATIC, INTERFACE_STATIC ->
          calls.callStatic(new Callee(owner, body.methodName(), type), arguments, false, frame);
      case CONSTRUCTOR -> {
        var object = Unconstructed.of(owner);
        frame.push(object);
        var constructor = type.changeReturnType(ConstantDescs.CD_void);
        yield calls.construct(
            new Callee(owner, ConstantDescs.INIT_NAME, constructor), object, arguments, frame);
      }
      default ->
          calls.callMethod(
              new Callee(owner, body.methodName(), type.dropParameterTypes(0, 1)),
              arguments.removeFirst(),
              arguments,
              frame);
    };
  }

  /** Boxes, unboxes or widens a number. */
  private JavaValue adapt(JavaValue value, ClassDesc from, ClassDesc wanted) {
    return switch (value) {
      case Boxed boxed when wanted.isPrimitive() -> unbox(boxed, wanted);
      case Scalar scalar when wanted.isPrimitive() ->
          new Scalar(convert(scalar.value(), Translation.type(wanted)));
      case Scalar scalar -> new Boxed(Boxes.of(from), scalar.value());
      default -> value;
    };
  }

  /** Returns the number in a box as a primitive type. */
  Scalar unbox(Boxed boxed, ClassDesc type) {
    return new Scalar(
        switch (type.descriptorString()) {
          case "B" -> narrow(boxed.value(), Element.BYTE);
          case "S" -> narrow(boxed.value(), Element.SHORT);
          default -> convert(boxed.value(), Translation.type(type));
        });
  }

  private Value narrow(Value value, Element element) {
    return to.add(Op.NARROW, ValueType.INT, element, convert(value, ValueType.INT));
  }

  private Value convert(Value value, ValueType type) {
    return value.type() == type ? value : to.convert(value, type);
  }

  /** Returns whether a cast to a class succeeds. */
  boolean isInstance(JavaValue value, ClassDesc type) {
    if (type.equals(ConstantDescs.CD_Object)) {
      return true;
    }
    return switch (value) {
      case ArrayRef array ->
          type.isArray() && type.componentType().displayName().equals(array.element().word());
      case RecordsRef array ->
          type.equals(array.layout().type().describeConstable().orElseThrow().arrayType());
      case Boxed boxed -> Boxes.isInstance(boxed.type(), internalName(type));
      case EnumRef constant ->
          constant.type().equals(internalName(type)) || internalName(type).equals("java/lang/Enum");
      case FunctionRef function -> function.type().equals(internalName(type));
      case RecordRef object -> type.isClassOrInterface() && isInstance(object, internalName(type));
      default -> false;
    };
  }

  private boolean isInstance(RecordRef object, String type) {
    return object.type().equals(type)
        || type.equals("java/lang/Record")
        || to.classes().find(object.type()).orElseThrow().interfaces().stream()
            .anyMatch(each -> each.asInternalName().equals(type));
  }
}
