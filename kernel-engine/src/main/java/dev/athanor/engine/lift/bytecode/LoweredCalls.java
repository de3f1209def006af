package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.ArrayRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.intrinsic.Lowered;
import dev.athanor.engine.lift.intrinsic.LoweredMethods;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import java.lang.classfile.Attributes;
import java.lang.classfile.MethodModel;
import java.lang.classfile.attribute.RecordComponentInfo;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Translates calls of methods with a {@link Lowered lowering}. */
final class LoweredCalls {
  private static final Set<String> COMPONENTS = Set.of("I", "J", "F", "D");

  private final Translation to;

  LoweredCalls(Translation to) {
    this.to = to;
  }

  /**
   * Returns the lowering of a method; empty if it has none.
   *
   * @param name the method in messages, {@code Type.method}
   * @param caller name of the method that calls it
   */
  Optional<Intrinsic> find(String owner, String name, MethodTypeDesc type, String caller) {
    var method = name.substring(name.lastIndexOf('.') + 1);
    return to.loweredMethods()
        .computeIfAbsent(
            owner + "." + method + type.descriptorString(),
            _ ->
                to.classes()
                    .method(owner, method, type.descriptorString())
                    .flatMap(model ->
                        LoweredMethods.find(
                                model,
                                internalName -> load(internalName, caller),
                                reason ->
                                    new LiftException(
                                        Refusal.BAD_LOWERING, to.source(), caller, name, reason))
                            .map(intrinsic ->
                                intrinsic.with(signature(model, intrinsic, name, type, caller)))));
  }

  private Class<?> load(String internalName, String caller) {
    try {
      return to.classes().load(internalName);
    } catch (ClassNotFoundException e) {
      throw new LiftException(
          Refusal.NO_CLASS_FILE, to.source(), caller, ClassFiles.simpleName(internalName));
    }
  }

  private Intrinsic.Signature signature(
      MethodModel model, Intrinsic intrinsic, String name, MethodTypeDesc type, String caller) {
    var vectors = new ArrayList<Integer>();
    var elements = new ArrayList<Integer>();
    var written = new HashSet<Integer>();
    int inputs = 0;
    for (int i = 0; i < type.parameterCount(); i++) {
      var parameter = type.parameterType(i);
      int length = 0;
      int accessed = 0;
      if (parameter.isArray()) {
        if (!isIndex(model, i + 1, type) || !parameter.componentType().isPrimitive()) {
          throw refuse(name, "parameter " + (i + 1), parameter, caller);
        }
        if (intrinsic.effect() == Effect.WRITE
            && !LoweredMethods.hasAnnotation(model, i, Lowered.ReadOnly.class)) {
          written.add(inputs);
        }
        i++;
        accessed = LoweredMethods.elements(model, i);
      } else if (!parameter.isPrimitive()) {
        length = components(parameter).size();
        if (length == 0) {
          throw refuse(name, "parameter " + (i + 1), parameter, caller);
        }
      }
      vectors.add(length);
      elements.add(accessed);
      inputs += Math.max(1, length);
    }
    var result = type.returnType();
    if (!result.isPrimitive() && components(result).isEmpty()) {
      throw refuse(name, "result", result, caller);
    }
    return new Intrinsic.Signature(
        vectors,
        elements,
        components(result).stream().map(each -> Translation.type(each.descriptorSymbol())).toList(),
        written);
  }

  private static boolean isIndex(MethodModel model, int parameter, MethodTypeDesc type) {
    return parameter < type.parameterCount()
        && type.parameterType(parameter).descriptorString().equals("I")
        && LoweredMethods.hasAnnotation(model, parameter, Lowered.Index.class);
  }

  private LiftException refuse(String name, String place, ClassDesc type, String caller) {
    return new LiftException(
        Refusal.LOWERED_TYPE, to.source(), caller, name, place, type.displayName());
  }

  /** Returns the components of a record of numbers, in order; none for other types. */
  private List<RecordComponentInfo> components(ClassDesc type) {
    if (!type.isClassOrInterface()) {
      return List.of();
    }
    return to.classes()
        .find(internalName(type))
        .flatMap(model -> model.findAttribute(Attributes.record()))
        .map(attribute -> attribute.components())
        .filter(all ->
            all.stream().allMatch(each -> COMPONENTS.contains(each.descriptor().stringValue())))
        .orElse(List.of());
  }

  private static String internalName(ClassDesc type) {
    var descriptor = type.descriptorString();
    return descriptor.substring(1, descriptor.length() - 1);
  }

  /**
   * Appends a call, and pushes its result.
   *
   * @param caller the calling method, for messages
   */
  void call(
      Intrinsic intrinsic,
      MethodTypeDesc type,
      List<JavaValue> arguments,
      String caller,
      Frame frame) {
    var inputs = new ArrayList<Value>();
    int operand = 0;
    for (int i = 0; i < arguments.size(); i++, operand++) {
      switch (arguments.get(i)) {
        case ArrayRef array -> {
          if (array.space() == Access.Space.LOCAL) {
            throw new LiftException(Refusal.PRIVATE_ACCESS, to.source(), caller, array.name());
          }
          if (array.space() == Access.Space.CONST) {
            throw new LiftException(Refusal.TABLE_WRITE, to.source(), caller, array.name());
          }
          i++;
          int elements = intrinsic.signature().elements().get(operand);
          inputs.add(to.element(array, Translation.number(arguments.get(i)), elements));
        }
        case RecordRef object ->
            components(type.parameterType(i))
                .forEach(each ->
                    inputs.add(Translation.number(object.component(each.name().stringValue()))));
        case JavaValue value -> {
          var number = Translation.number(value);
          boolean isCondition = type.parameterType(i).descriptorString().equals("Z");
          inputs.add(isCondition ? to.toCondition(number) : number);
        }
      }
    }
    push(intrinsic, type.returnType(), inputs.toArray(Value[]::new), frame);
  }

  private void push(Intrinsic intrinsic, ClassDesc result, Value[] inputs, Frame frame) {
    boolean isCondition = result.descriptorString().equals("Z");
    var valueType =
        isCondition
            ? ValueType.BOOL
            : result.isPrimitive() ? Translation.type(result) : ValueType.VOID;
    var call = to.add(Op.CALL, valueType, intrinsic, inputs);
    if (!result.isPrimitive()) {
      frame.push(parts(call, result));
    } else if (valueType != ValueType.VOID) {
      frame.push(new Scalar(isCondition ? to.toInt(call) : call));
    }
  }

  private RecordRef parts(Value call, ClassDesc type) {
    var names = new ArrayList<String>();
    var values = new ArrayList<JavaValue>();
    for (var each : components(type)) {
      var part = to.add(Op.PART, Translation.type(each.descriptorSymbol()), names.size(), call);
      names.add(each.name().stringValue());
      values.add(new Scalar(part));
    }
    return RecordRef.of(internalName(type), names, values);
  }
}
