package dev.athanor.engine.lift.bytecode;

import static dev.athanor.engine.lift.bytecode.Translation.number;

import dev.athanor.engine.lift.bytecode.JavaValue.ArrayRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Boxed;
import dev.athanor.engine.lift.bytecode.JavaValue.EnumRef;
import dev.athanor.engine.lift.bytecode.JavaValue.EnumValues;
import dev.athanor.engine.lift.bytecode.JavaValue.FunctionRef;
import dev.athanor.engine.lift.bytecode.JavaValue.ObjectArray;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordsRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.bytecode.JavaValue.SegmentRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Text;
import dev.athanor.engine.lift.bytecode.JavaValue.Unconstructed;
import dev.athanor.engine.lift.intrinsic.Atomics;
import dev.athanor.engine.lift.intrinsic.Intrinsics;
import dev.athanor.engine.lift.intrinsic.Meaning;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.ArrayVariable;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import dev.athanor.engine.ptx.SpecialRegister;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Translates calls: to intrinsics, to records, and to static methods, which are inlined. */
final class CallTranslator {
  private static final String SEGMENT = "java/lang/foreign/MemorySegment";
  private static final int DEEPEST = 64;
  private static final int MOST_CALLS = 4096;
  private static final int MAX_SHARED_BYTES = 48 << 10;
  private static final Set<String> ENUM_METHODS = Set.of("values", "valueOf");
  private static final Set<String> OBJECT_METHODS =
      Set.of("equals(Ljava/lang/Object;)Z", "hashCode()I", "toString()Ljava/lang/String;");
  private final Translation to;
  private final MethodCode code;
  private final LoweredCalls lowered;
  private final Functions functions;
  private final Enums enums;

  CallTranslator(Translation to, MethodCode code) {
    this.to = to;
    this.code = code;
    lowered = new LoweredCalls(to);
    functions = new Functions(to, this);
    enums = new Enums(to);
  }

  private LiftException refuse(Refusal refusal, Object... names) {
    return new LiftException(refusal, to.source(), code.name(), names);
  }

  /** A called method. */
  record Callee(String owner, String name, MethodTypeDesc type) {
    String text() {
      return ClassFiles.simpleName(owner) + "." + name;
    }

    ClassDesc result() {
      return type.returnType();
    }
  }

  /**
   * Translates a call; returns false if it never returns.
   *
   * @param narrowed whether the result, a double, is rounded to float right after the call
   */
  boolean invoke(InvokeInstruction call, boolean narrowed, Frame frame) {
    var callee =
        new Callee(call.owner().asInternalName(), call.name().stringValue(), call.typeSymbol());
    var arguments = new ArrayList<JavaValue>();
    for (int i = 0; i < callee.type.parameterCount(); i++) {
      arguments.addFirst(frame.pop());
    }
    if (call.opcode() == Opcode.INVOKESTATIC) {
      return callStatic(callee, arguments, narrowed, frame);
    }
    var receiver = frame.pop();
    return callMethod(callee, receiver, arguments, frame);
  }

  /** Calls a method of an object. */
  boolean callMethod(Callee callee, JavaValue receiver, List<JavaValue> arguments, Frame frame) {
    refuseText(receiver);
    return switch (receiver) {
      case Unconstructed object -> construct(callee, object, arguments, frame);
      case RecordRef object -> {
        if (OBJECT_METHODS.contains(callee.name + callee.type.descriptorString())) {
          throw refuse(Refusal.RECORD_METHOD, callee.text());
        }
        if (to.classes()
            .method(object.type(), callee.name, callee.type.descriptorString())
            .isEmpty()) {
          throw refuse(Refusal.INTERFACE_CALL, callee.text());
        }
        arguments.addFirst(object);
        yield inline(new Callee(object.type(), callee.name, callee.type), arguments, frame);
      }
      case SegmentRef segment when callee.owner.equals(SEGMENT) -> {
        arguments.forEach(this::refuseText);
        new SegmentAccesses(to, code).call(callee, segment, arguments, frame);
        yield true;
      }
      case ArrayRef _, RecordsRef _ -> throw refuse(Refusal.ARRAY_METHOD, callee.name);
      case Boxed boxed when Boxes.isUnboxing(callee.owner, callee.name) -> {
        frame.push(functions.unbox(boxed, callee.result()));
        yield true;
      }
      case EnumRef constant -> callEnum(callee, constant, arguments, frame);
      case FunctionRef function when functions.isBody(function, callee) ->
          functions.call(function, arguments, callee.type, frame);
      case FunctionRef function -> {
        arguments.addFirst(function);
        yield inline(callee, arguments, frame);
      }
      default ->
          throw refuse(
              isInterface(callee.owner) ? Refusal.INTERFACE_CALL : Refusal.OBJECT_METHOD,
              callee.text());
    };
  }

  private void refuseText(JavaValue value) {
    if (value instanceof Text(var text)) {
      throw refuse(Refusal.STRING, "\"" + text + "\"");
    }
  }

  private boolean callEnum(
      Callee callee, EnumRef constant, List<JavaValue> arguments, Frame frame) {
    var known = enums.call(callee.name, constant, arguments);
    if (known.isPresent()) {
      push(frame, known.get());
      return true;
    }
    if (enums.values(constant.type()).isEmpty()) {
      throw refuse(Refusal.ENUM, callee.text());
    }
    arguments.addFirst(constant);
    return inline(new Callee(constant.type(), callee.name, callee.type), arguments, frame);
  }

  /** Returns the constants of an enum, if a method returns them. */
  private Optional<EnumValues> values(Callee callee) {
    boolean isValues = callee.name.equals("values") && callee.type.parameterCount() == 0;
    return to.classes()
        .find(callee.owner)
        .filter(model -> isValues && Enums.isEnum(model))
        .flatMap(_ -> enums.values(callee.owner));
  }

  boolean callStatic(Callee callee, List<JavaValue> arguments, boolean narrowed, Frame frame) {
    if (isNullCheck(callee.owner, callee.name)) {
      if (!callee.result().equals(ConstantDescs.CD_void)) {
        frame.push(arguments.getFirst());
      }
      return true;
    }
    if (Boxes.isBoxing(callee.owner, callee.name, callee.type)) {
      frame.push(new Boxed(callee.owner, number(arguments.getFirst())));
      return true;
    }
    var constants = values(callee);
    if (constants.isPresent()) {
      frame.push(constants.get());
      return true;
    }
    var meaning = Intrinsics.find(callee.owner, callee.name, callee.type.descriptorString());
    switch (meaning) {
      case null -> {
        var intrinsic = lowered.find(callee.owner, callee.text(), callee.type, code.name());
        if (intrinsic.isPresent()) {
          lowered.call(intrinsic.get(), callee.type, arguments, code.name(), frame);
          return true;
        }
        var owner = to.classes().declaring(callee.owner, callee.name, callee.type);
        return inline(new Callee(owner, callee.name, callee.type), arguments, frame);
      }
      case Meaning.OfOp(var op) ->
          push(frame, to.add(op, Translation.type(callee.result()), null, numbers(arguments)));
      case Meaning.OfRegister(var register) -> push(frame, to.special(register));
      case Meaning.OfShared(var element) -> frame.push(shared(element, constantLength(arguments)));
      case Meaning.OfDynamicShared(var element) -> frame.push(dynamicShared(element));
      case Meaning.OfGridWorkspace(var address) -> frame.push(gridWorkspace(address));
      case Meaning.OfAtomic(var operation) -> atomic(operation, arguments, frame);
      case Meaning.OfBits bits ->
          push(
              frame,
              to.add(Op.BITCAST, Translation.type(callee.result()), null, numbers(arguments)));
      case Meaning.OfPrint() -> new PrintCalls(to, code).call(arguments);
      case Meaning.OfInstructions(var intrinsic) ->
          lowered.call(intrinsic, callee.type, arguments, code.name(), frame);
      case Meaning.OfDivision(var intrinsic) -> {
        to.checkDivisor(number(arguments.get(1)));
        lowered.call(intrinsic, callee.type, arguments, code.name(), frame);
      }
      case Meaning.OfClamp(var library) -> {
        to.checkBounds(number(arguments.get(1)), number(arguments.get(2)));
        return library(callee, library, arguments, narrowed, frame);
      }
      case Meaning.OfLibrary library -> {
        return library(callee, library, arguments, narrowed, frame);
      }
    }
    return true;
  }

  /** Returns whether a method only checks references, as the calls that compilers insert do. */
  static boolean isNullCheck(String owner, String name) {
    return (owner.equals("java/util/Objects") && name.equals("requireNonNull"))
        || (owner.equals("kotlin/jvm/internal/Intrinsics") && name.startsWith("check"));
  }

  /** Calls a method of the library in place of one of the JDK. */
  private boolean library(
      Callee callee,
      Meaning.OfLibrary library,
      List<JavaValue> arguments,
      boolean narrowed,
      Frame frame) {
    boolean single =
        narrowed && arguments.stream().allMatch(argument -> isWidened(number(argument)));
    if (!single) {
      return inline(new Callee(library.owner(), callee.name, callee.type), arguments, frame);
    }
    var floats = new ArrayList<JavaValue>();
    arguments.forEach(
        argument -> floats.add(new Scalar(to.convert(number(argument), ValueType.FLOAT))));
    var type = MethodTypeDesc.ofDescriptor(callee.type.descriptorString().replace('D', 'F'));
    boolean returns = inline(new Callee(library.owner(), callee.name, type), floats, frame);
    if (returns) {
      push(frame, to.convert(number(frame.pop()), ValueType.DOUBLE));
    }
    return returns;
  }

  private static boolean isWidened(Value value) {
    return (value.is(Op.CONVERT) && value.input(0).type() == ValueType.FLOAT)
        || (value.is(Op.CONSTANT)
            && value.attribute(Double.class)
                == (float) value.attribute(Double.class).doubleValue());
  }

  /** Translates {@code %} of floating-point numbers. */
  Value remainder(Frame frame) {
    var b = frame.pop();
    var a = frame.pop();
    var word = number(a).type() == ValueType.FLOAT ? "F" : "D";
    var type = MethodTypeDesc.ofDescriptor("(" + word + word + ")" + word);
    inline(new Callee(Intrinsics.LIBRARY, "remainder", type), List.of(a, b), frame);
    return number(frame.pop());
  }

  private void atomic(String operation, List<JavaValue> arguments, Frame frame) {
    if (!(arguments.getFirst() instanceof ArrayRef array)) {
      throw refuse(Refusal.NOT_AN_ARRAY, "an array");
    }
    if (array.space() == Access.Space.LOCAL) {
      throw refuse(Refusal.PRIVATE_ACCESS, array.name());
    }
    if (array.space() == Access.Space.CONST) {
      throw refuse(Refusal.TABLE_WRITE, array.name());
    }
    var inputs = new ArrayList<Value>();
    inputs.add(to.element(array, number(arguments.get(1))));
    arguments.subList(2, arguments.size()).forEach(each -> inputs.add(number(each)));
    var intrinsic = Atomics.intrinsic(operation, array.space(), array.element());
    var result = Atomics.isStore(operation) ? ValueType.VOID : array.element().value();
    var call = to.add(Op.CALL, result, intrinsic, inputs.toArray(Value[]::new));
    push(frame, result == ValueType.VOID ? null : call);
  }

  private ArrayRef shared(Element element, int length) {
    var array = to.declare(Access.Space.SHARED, element, length);
    long bytes = to.bytes(Access.Space.SHARED);
    if (bytes > MAX_SHARED_BYTES) {
      throw refuse(Refusal.SHARED_TOTAL, bytes);
    }
    return array;
  }

  private ArrayRef gridWorkspace(Intrinsic address) {
    var high = to.special(SpecialRegister.ENVREG1);
    var low = to.special(SpecialRegister.ENVREG2);
    var pointer = to.add(Op.CALL, ValueType.LONG, address, high, low);
    return new ArrayRef(
        Access.Space.GLOBAL, Element.INT, pointer, Value.constant(2), "the grid's workspace");
  }

  private ArrayRef dynamicShared(Element element) {
    for (var other : to.graph().arrays()) {
      if (other.length() == ArrayVariable.DYNAMIC && other.element() != element) {
        throw refuse(Refusal.DYNAMIC_TYPES, other.element().word(), element.word());
      }
    }
    return to.declare(Access.Space.SHARED, element, ArrayVariable.DYNAMIC);
  }

  private int constantLength(List<JavaValue> arguments) {
    var length = number(arguments.getFirst());
    if (!length.is(Op.CONSTANT)) {
      throw refuse(Refusal.SHARED_LENGTH);
    }
    if (length.integer() < 1) {
      throw refuse(Refusal.SHARED_SIZE, length.integer());
    }
    return (int) length.integer();
  }

  /** Runs a constructor of a record. */
  boolean construct(Callee callee, Unconstructed object, List<JavaValue> arguments, Frame frame) {
    if (callee.owner.equals("java/lang/Record")) {
      return true;
    }
    arguments.addFirst(object);
    boolean returns = inline(callee, arguments, frame);
    if (returns) {
      frame.replace(object, frame.pop());
    }
    return returns;
  }

  /** Translates the body of a method in place of its call. */
  private boolean inline(Callee callee, List<JavaValue> arguments, Frame frame) {
    if (arguments.stream().anyMatch(ObjectArray.class::isInstance)) {
      throw refuse(Refusal.NEW_ARRAY, "Object");
    }
    var key =
        callee.owner + "." + callee.name + callee.type.descriptorString() + functions(arguments);
    if (to.callers().contains(key)) {
      throw refuse(Refusal.RECURSION, callee.text());
    }
    if (to.callers().size() > DEEPEST) {
      throw refuse(Refusal.CALL_DEPTH, callee.text(), DEEPEST);
    }
    if (to.countCall() > MOST_CALLS) {
      throw refuse(Refusal.CALL_COUNT, MOST_CALLS);
    }
    var model = to.classes().find(callee.owner);
    if (model.isEmpty()) {
      throw refuse(Refusal.NO_CLASS_FILE, ClassFiles.simpleName(callee.owner));
    }
    var method = to.classes().method(callee.owner, callee.name, callee.type.descriptorString());
    if (method.isEmpty()
        || (callee.owner.startsWith("java/") && !callee.owner.startsWith("java/util/function/"))) {
      throw unknown(callee);
    }
    if (Enums.isEnum(model.get()) && ENUM_METHODS.contains(callee.name)) {
      throw refuse(Refusal.ENUM, callee.text());
    }
    if (method.get().code().isEmpty()) {
      throw refuse(Refusal.NATIVE_METHOD, callee.text());
    }
    to.callers().add(key);
    var source = to.source();
    var position = to.position();
    var libraryCall = to.libraryCall();
    boolean inLibrary = Intrinsics.isImplementation(callee.owner);
    to.setLibraryCall(!inLibrary ? null : libraryCall == null ? source : libraryCall);
    var result =
        new MethodTranslator(to, new MethodCode(model.get(), method.get())).translate(arguments);
    to.setSource(source);
    to.setPosition(position);
    to.setLibraryCall(libraryCall);
    to.callers().removeLast();
    if (result.value() != null) {
      frame.push(result.value());
    }
    return result.block() != null;
  }

  /** Checks that the value on top of the stack can be cast to a class. */
  void requireInstance(Frame frame, ClassDesc type) {
    var value = frame.pop();
    if (!functions.isInstance(value, type)) {
      throw refuse(Refusal.INSTANCEOF);
    }
    frame.push(value);
  }

  /** A method that passes other functions to itself does not recurse without end. */
  private static String functions(List<JavaValue> arguments) {
    return arguments.stream()
        .<String>mapMulti((argument, names) -> {
          if (argument instanceof FunctionRef function) {
            names.accept(function.body() + functions(function.captured()));
          }
        })
        .collect(Collectors.joining());
  }

  private LiftException unknown(Callee callee) {
    var known = Intrinsics.names(callee.owner);
    return known.isEmpty()
        ? refuse(Refusal.UNKNOWN_METHOD, callee.text())
        : refuse(
            Refusal.UNKNOWN_FUNCTION,
            callee.text(),
            ClassFiles.simpleName(callee.owner) + "." + String.join(", ", known));
  }

  private boolean isInterface(String type) {
    return to.classes()
        .find(type)
        .filter(model -> model.flags().has(AccessFlag.INTERFACE))
        .isPresent();
  }

  private static void push(Frame frame, @Nullable Value value) {
    if (value != null) {
      frame.push(new Scalar(value));
    }
  }

  private static Value[] numbers(List<JavaValue> values) {
    return values.stream().map(Translation::number).toArray(Value[]::new);
  }
}
