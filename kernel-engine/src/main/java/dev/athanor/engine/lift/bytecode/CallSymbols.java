package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.ArrayRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Boxed;
import dev.athanor.engine.lift.bytecode.JavaValue.EnumRef;
import dev.athanor.engine.lift.bytecode.JavaValue.EnumValues;
import dev.athanor.engine.lift.bytecode.JavaValue.FunctionRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Layout;
import dev.athanor.engine.lift.bytecode.JavaValue.Mixed;
import dev.athanor.engine.lift.bytecode.JavaValue.ObjectArray;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordsRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RowsRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.bytecode.JavaValue.SegmentRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Text;
import dev.athanor.engine.lift.bytecode.JavaValue.Unconstructed;
import dev.athanor.engine.lift.bytecode.MethodCode.Local;
import dev.athanor.engine.lift.intrinsic.Intrinsics;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import dev.athanor.engine.ptx.symbol.SourceVariable;
import dev.athanor.engine.ptx.symbol.SourceVariable.Components;
import dev.athanor.engine.ptx.symbol.SourceVariable.InMemory;
import dev.athanor.engine.ptx.symbol.SourceVariable.InRegister;
import dev.athanor.engine.ptx.symbol.SourceVariable.Location;
import java.lang.constant.ClassDesc;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The lines and variables of one call, for a debugger. Each variable has registers of its own, one
 * for each number that it consists of, and each assignment is copied there. So the registers hold
 * the variable's value wherever it has one, whatever happens to the SSA values.
 */
final class CallSymbols {

  /** A number of a variable. Variables that share a name, type and slot never live together. */
  private record VariablePart(int slot, String name, ClassDesc type, int part, ValueType number) {}

  /** Names of variables that are names of registers too. */
  private static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9_$]*");

  private final Translation to;
  private final MethodCode code;
  private final @Nullable SourceFrame caller;
  private final int call;
  private final Map<VariablePart, Register> registers = new HashMap<>();

  /** Returns null if the kernel is not debugged, or for a method that a user need not see. */
  static @Nullable CallSymbols of(Translation to, MethodCode code) {
    return !to.isDebugged()
            || Intrinsics.isImplementation(code.owner())
            || code.isImplicitInRecord()
        ? null
        : new CallSymbols(to, code);
  }

  private CallSymbols(Translation to, MethodCode code) {
    this.to = to;
    this.code = code;
    call = to.callers().size() == 1 ? 0 : to.nextCall();
    caller = call == 0 ? null : to.position();
    if (!code.namesVariables()) {
      to.graph().methodsWithoutVariables().add(method());
    }
  }

  private String method() {
    return ClassFiles.simpleName(code.owner()) + "." + code.name();
  }

  /** Marks the instructions that follow as those of a line. */
  void at(int position, Frame frame) {
    var visible = new ArrayList<SourceVariable>();
    for (var local : code.visible(position)) {
      var value = frame.local(local.slot());
      if (value != null) {
        variable(local, value).ifPresent(visible::add);
      }
    }
    var source = code.lines().get(position).source();
    to.setPosition(new SourceFrame(method(), call, source, visible, caller));
  }

  /** Copies the arguments to the registers of the parameters, at the line of the call. */
  void enter(Frame frame) {
    for (int slot = 0; slot < frame.locals(); slot++) {
      assigned(slot, -1, frame);
    }
  }

  /** Copies a local variable to its registers, after an instruction that assigns it. */
  void assigned(int slot, int position, Frame frame) {
    var value = frame.local(slot);
    var local = code.assigned(slot, position);
    if (value != null && local.isPresent()) {
      var parts = value.parts().toList();
      for (int part = 0; part < parts.size(); part++) {
        var number = parts.get(part);
        to.add(Op.ASSIGN, ValueType.VOID, register(local.get(), part, number), number);
      }
    }
  }

  private Register register(Local local, int part, Value number) {
    return registers.computeIfAbsent(
        new VariablePart(local.slot(), local.name(), local.type(), part, number.type()),
        variable -> {
          var word = NAME.matcher(variable.name).matches() ? variable.name : "v";
          return new Register(
              variable.number.ptx().registerClass(), "%" + word + "$" + to.nextVariable());
        });
  }

  private Optional<SourceVariable> variable(Local local, JavaValue value) {
    var numbers = value.parts().toList();
    var found = new ArrayList<Register>();
    for (int part = 0; part < numbers.size(); part++) {
      found.add(register(local, part, numbers.get(part)));
    }
    return location(value, found)
        .map(place -> new SourceVariable(local.name(), display(local.type()), place));
  }

  /** Returns the location of a value, and removes its registers from the list. */
  private Optional<Location> location(JavaValue value, List<Register> from) {
    return switch (value) {
      case Scalar _, Boxed _, EnumRef _ -> Optional.of(new InRegister(from.removeFirst()));
      case FunctionRef function -> {
        function.captured().forEach(each -> location(each, from));
        yield Optional.empty();
      }
      case RecordsRef _ -> { // debuggers know arrays of numbers only
        from.removeFirst();
        from.removeFirst();
        yield Optional.empty();
      }
      case RowsRef array -> location(array.elements(), from);
      case ArrayRef array ->
          Optional.of(
              new InMemory(
                  Space.valueOf(array.space().name()),
                  array.element().memory(),
                  from.removeFirst(),
                  from.removeFirst()));
      case SegmentRef _ ->
          Optional.of(new InMemory(Space.GLOBAL, Type.S8, from.removeFirst(), from.removeFirst()));
      case RecordRef object -> Optional.of(components(object, from));
      case EnumValues _, Layout _, Text _, ObjectArray _, Unconstructed _, Mixed _ ->
          Optional.empty();
    };
  }

  private Components components(RecordRef object, List<Register> from) {
    var found = new ArrayList<SourceVariable>();
    for (int i = 0; i < object.names().size(); i++) {
      var name = object.names().get(i);
      var type = fieldType(object.type(), name);
      location(object.components().get(i), from)
          .ifPresent(place -> found.add(new SourceVariable(name, display(type), place)));
    }
    return new Components(found);
  }

  private ClassDesc fieldType(String owner, String name) {
    return to.classes().find(owner).orElseThrow().fields().stream()
        .filter(field -> field.fieldName().equalsString(name))
        .findFirst()
        .orElseThrow()
        .fieldTypeSymbol();
  }

  private static String display(ClassDesc type) {
    var name = type.displayName();
    return name.substring(name.lastIndexOf('$') + 1);
  }
}
