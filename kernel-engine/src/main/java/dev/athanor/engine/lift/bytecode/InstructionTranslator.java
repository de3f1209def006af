package dev.athanor.engine.lift.bytecode;

import static dev.athanor.engine.lift.bytecode.Translation.number;

import dev.athanor.engine.lift.bytecode.JavaValue.ArrayRef;
import dev.athanor.engine.lift.bytecode.JavaValue.EnumValues;
import dev.athanor.engine.lift.bytecode.JavaValue.Mixed;
import dev.athanor.engine.lift.bytecode.JavaValue.ObjectArray;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordsRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RowsRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.bytecode.JavaValue.Text;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import java.lang.classfile.Instruction;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.ArrayLoadInstruction;
import java.lang.classfile.instruction.ArrayStoreInstruction;
import java.lang.classfile.instruction.ConstantInstruction;
import java.lang.classfile.instruction.ConvertInstruction;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.IncrementInstruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LoadInstruction;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.classfile.instruction.NewMultiArrayInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.NewPrimitiveArrayInstruction;
import java.lang.classfile.instruction.NewReferenceArrayInstruction;
import java.lang.classfile.instruction.NopInstruction;
import java.lang.classfile.instruction.OperatorInstruction;
import java.lang.classfile.instruction.StackInstruction;
import java.lang.classfile.instruction.StoreInstruction;
import java.lang.classfile.instruction.ThrowInstruction;
import java.lang.classfile.instruction.TypeCheckInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Translates the instructions that do not end a block. */
final class InstructionTranslator {
  private final Translation to;
  private final MethodCode code;
  private final CallTranslator calls;
  private final FieldTranslator fields;
  private final PrivateArrays arrays;
  private final @Nullable CallSymbols symbols;

  InstructionTranslator(Translation to, MethodCode code, @Nullable CallSymbols symbols) {
    this.to = to;
    this.code = code;
    this.symbols = symbols;
    calls = new CallTranslator(to, code);
    fields = new FieldTranslator(to, code);
    arrays = new PrivateArrays(to, code);
  }

  /** Translates an instruction; returns false if what follows it is never reached. */
  boolean translate(Instruction instruction, int at, Frame frame) {
    switch (instruction) {
      case ConstantInstruction constant -> frame.push(constant(constant));
      case LoadInstruction load -> frame.push(local(load.slot(), at, frame));
      case StoreInstruction store -> store(store.slot(), at, frame);
      case IncrementInstruction add ->
          assign(
              add.slot(),
              new Scalar(
                  to.add(
                      Op.ADD,
                      ValueType.INT,
                      null,
                      number(local(add.slot(), at, frame)),
                      Value.constant(add.constant()))),
              at,
              frame);
      case OperatorInstruction operator -> frame.push(new Scalar(operate(operator, frame)));
      case ConvertInstruction convert -> frame.push(new Scalar(convert(convert, frame)));
      case NewPrimitiveArrayInstruction array ->
          frame.push(arrays.create(array.typeKind(), number(frame.pop())));
      case NewMultiArrayInstruction array -> frame.push(arrays.create(array, frame));
      case NewReferenceArrayInstruction array -> create(array, frame);
      case ArrayLoadInstruction load when load.typeKind() == TypeKind.REFERENCE ->
          loadReference(frame);
      case ArrayLoadInstruction _ -> load(frame);
      case ArrayStoreInstruction store when store.typeKind() == TypeKind.REFERENCE ->
          storeReference(frame);
      case ArrayStoreInstruction _ -> store(frame);
      case StackInstruction stack -> StackTranslator.translate(stack.opcode(), frame);
      case FieldInstruction field -> fields.translate(field, frame);
      case InvokeInstruction call -> {
        return calls.invoke(call, nextIsNarrowing(at), frame);
      }
      case NewObjectInstruction object -> fields.create(object, frame);
      case InvokeDynamicInstruction call when Functions.isLambda(call) ->
          Functions.create(call, frame);
      case TypeCheckInstruction cast when cast.opcode() == Opcode.CHECKCAST ->
          calls.requireInstance(frame, cast.type().asSymbol());
      case NopInstruction _ -> {}
      default -> throw refused(instruction);
    }
    return true;
  }

  /** Returns whether a double is rounded to float right after an instruction. */
  private boolean nextIsNarrowing(int at) {
    return at + 1 < code.lines().size()
        && code.lines().get(at + 1).instruction() instanceof ConvertInstruction convert
        && convert.fromType() == TypeKind.DOUBLE
        && convert.toType() == TypeKind.FLOAT;
  }

  private LiftException refuse(Refusal refusal, Object... names) {
    return new LiftException(refusal, to.source(), code.name(), names);
  }

  private LiftException refused(Instruction instruction) {
    return switch (instruction) {
      case InvokeDynamicInstruction call ->
          switch (call.bootstrapMethod().owner().displayName()) {
            case "StringConcatFactory" -> refuse(Refusal.STRING_CONCATENATION);
            case "SwitchBootstraps" -> refuse(Refusal.PATTERN);
            default -> refuse(Refusal.UNKNOWN_METHOD, call.bootstrapMethod().methodName());
          };
      case ThrowInstruction _ -> refuse(Refusal.THROW, "Throwable");
      case MonitorInstruction _ -> refuse(Refusal.SYNCHRONIZED);
      case TypeCheckInstruction _ -> refuse(Refusal.INSTANCEOF);
      default -> refuse(Refusal.SUBROUTINE);
    };
  }

  /** Creates an array of objects: the values of a {@code Gpu.print}. */
  private void create(NewReferenceArrayInstruction array, Frame frame) {
    var type = array.componentType().asSymbol();
    var length = number(frame.pop());
    if (!type.equals(ConstantDescs.CD_Object) || !length.is(Op.CONSTANT) || length.integer() < 0) {
      throw refuse(Refusal.NEW_ARRAY, type.displayName().replace('$', '.'));
    }
    frame.push(ObjectArray.of((int) length.integer()));
  }

  private JavaValue constant(ConstantInstruction constant) {
    if (constant.constantValue() instanceof String text) {
      return new Text(text);
    }
    return new Scalar(
        switch (constant.constantValue()) {
          case Integer n -> Value.constant(n.intValue());
          case Long n -> Value.constant(n.longValue());
          case Float n -> Value.constant(ValueType.FLOAT, n);
          case Double n -> Value.constant(ValueType.DOUBLE, n);
          case ClassDesc type -> throw refuse(Refusal.CLASS_LITERAL, type.displayName() + ".class");
          case Object other ->
              throw constant.opcode() == Opcode.ACONST_NULL
                  ? refuse(Refusal.NULL)
                  : refuse(Refusal.CLASS_LITERAL, other);
        });
  }

  private JavaValue local(int slot, int at, Frame frame) {
    var value = frame.local(slot);
    if (value instanceof Mixed(var refusal)) {
      throw refuse(refusal, code.variable(slot, at).orElse("a variable"));
    }
    return Objects.requireNonNull(value, "the class file verifier admits no other read");
  }

  /** Stores to a local variable; an array that the kernel declares takes the variable's name. */
  private void store(int slot, int at, Frame frame) {
    var value = frame.pop();
    var name = code.variable(slot, at);
    if (name.isPresent()) {
      value =
          switch (value) {
            case ArrayRef array when array.space() != Access.Space.GLOBAL ->
                array.named(name.get());
            case RowsRef array -> array.named(name.get());
            default -> value;
          };
    }
    assign(slot, value, at, frame);
  }

  private void assign(int slot, JavaValue value, int at, Frame frame) {
    if (value instanceof ObjectArray) {
      throw refuse(Refusal.NEW_ARRAY, "Object");
    }
    frame.setLocal(slot, value);
    if (symbols != null) {
      symbols.assigned(slot, at, frame);
    }
  }

  private ArrayRef array(JavaValue value) {
    if (value instanceof ArrayRef array) {
      return array;
    }
    throw refuse(Refusal.NOT_AN_ARRAY, "an array");
  }

  private void storeReference(Frame frame) {
    var value = frame.pop();
    var index = number(frame.pop());
    var target = frame.pop();
    if (target instanceof ObjectArray objects) {
      if (!index.is(Op.CONSTANT)) {
        throw refuse(Refusal.NEW_ARRAY, "Object");
      }
      frame.replace(objects, objects.with((int) index.integer(), value));
      return;
    }
    if (!(target instanceof RecordsRef array)) {
      throw refuse(Refusal.ROW_STORE);
    }
    if (!(value instanceof RecordRef record)
        || !record.type().equals(ClassFiles.internalName(array.layout().type()))) {
      throw refuse(Refusal.INSTANCEOF); // Java would compare the classes
    }
    new Records(to).store(array, index, record);
  }

  private void loadReference(Frame frame) {
    var index = number(frame.pop());
    frame.push(
        switch (frame.pop()) {
          case RowsRef array -> arrays.row(array, index);
          case RecordsRef array -> new Records(to).load(array, index);
          case EnumValues constants -> new Enums(to).element(constants, index);
          default -> throw refuse(Refusal.NOT_AN_ARRAY, "an array of arrays");
        });
  }

  private void load(Frame frame) {
    var index = number(frame.pop());
    var array = array(frame.pop());
    var access = new Access(array.space(), array.element());
    var address = to.element(array, index);
    frame.push(new Scalar(to.add(Op.LOAD, array.element().value(), access, address)));
  }

  private void store(Frame frame) {
    var value = number(frame.pop());
    var index = number(frame.pop());
    var array = array(frame.pop());
    if (array.space() == Access.Space.CONST) {
      throw refuse(Refusal.TABLE_WRITE, array.name());
    }
    var access = new Access(array.space(), array.element());
    var address = to.element(array, index);
    var stored =
        array.element() == Element.BOOLEAN
            ? to.add(Op.AND, ValueType.INT, null, value, Value.constant(1))
            : value;
    to.add(Op.STORE, ValueType.VOID, access, address, stored);
  }

  private Value operate(OperatorInstruction instruction, Frame frame) {
    var opcode = instruction.opcode();
    var word = opcode.name();
    switch (opcode) {
      case ARRAYLENGTH -> {
        var array = frame.pop();
        return switch (array) {
          case RowsRef rows -> Value.constant(rows.rows());
          case RecordsRef records -> records.length();
          case EnumValues constants -> Value.constant(constants.length());
          default -> array(array).length();
        };
      }
      case FREM, DREM -> {
        return calls.remainder(frame);
      }
      default -> {}
    }
    if (word.contains("CMP")) {
      var b = number(frame.pop());
      var a = number(frame.pop());
      return to.add(Op.THREE_WAY, ValueType.INT, word.endsWith("G") ? 1 : -1, a, b);
    }
    var op = Op.valueOf(word.substring(1));
    var b = op == Op.NEG ? null : number(frame.pop());
    var a = number(frame.pop());
    if (b == null) {
      return to.add(op, a.type(), null, a);
    }
    if ((op == Op.DIV || op == Op.REM) && a.type().isInteger()) {
      to.checkDivisor(b);
    }
    return to.add(op, a.type(), null, a, b);
  }

  private Value convert(ConvertInstruction instruction, Frame frame) {
    var value = number(frame.pop());
    return switch (instruction.toType()) {
      case BYTE -> to.add(Op.NARROW, ValueType.INT, Element.BYTE, value);
      case SHORT -> to.add(Op.NARROW, ValueType.INT, Element.SHORT, value);
      case CHAR -> to.add(Op.NARROW, ValueType.INT, Element.CHAR, value);
      case INT -> to.convert(value, ValueType.INT);
      case LONG -> to.convert(value, ValueType.LONG);
      case FLOAT -> to.convert(value, ValueType.FLOAT);
      case DOUBLE -> to.convert(value, ValueType.DOUBLE);
      case BOOLEAN, REFERENCE, VOID ->
          throw new IllegalStateException("no conversion to " + instruction.toType());
    };
  }
}
