package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.EnumRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordsRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Access.Space;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.RecordLayout;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.ArrayList;
import java.util.Iterator;

/** Translates records in arrays from and to their numbers. */
final class Records {
  private final Translation to;

  Records(Translation to) {
    this.to = to;
  }

  /** Returns a number, or the constant of an enum with that ordinal. */
  static JavaValue scalar(Class<?> type, Value number) {
    return type.isEnum() ? new EnumRef(ClassFiles.internalName(type), number) : new Scalar(number);
  }

  private static RecordRef value(RecordLayout layout, Iterator<Value> numbers) {
    var names = new ArrayList<String>();
    var values = new ArrayList<JavaValue>();
    for (var each : layout.components()) {
      names.add(each.name());
      values.add(
          each.element() instanceof RecordLayout inner
              ? value(inner, numbers)
              : scalar(each.type(), numbers.next()));
    }
    return RecordRef.of(ClassFiles.internalName(layout.type()), names, values);
  }

  /** Loads an element, after the check of its index. Loads of unused components are removed. */
  RecordRef load(RecordsRef array, Value index) {
    var address = to.element(array, index);
    var loads = new ArrayList<Value>();
    for (var leaf : array.layout().leaves()) {
      var access = access(leaf.element(), leaf.offset());
      loads.add(to.add(Op.LOAD, leaf.element().value(), access, address));
    }
    return value(array.layout(), loads.iterator());
  }

  /** Stores an element, a record of the array's type, after the check of its index. */
  void store(RecordsRef array, Value index, RecordRef record) {
    store(array.layout(), to.element(array, index), 0, record);
  }

  private void store(RecordLayout layout, Value address, int offset, RecordRef record) {
    for (var each : layout.components()) {
      int at = offset + each.offset();
      var component = record.component(each.name());
      switch (each.element()) {
        case Element number -> {
          var value = component.parts().findFirst().orElseThrow();
          to.add(Op.STORE, ValueType.VOID, access(number, at), address, value);
        }
        case RecordLayout inner -> store(inner, address, at, (RecordRef) component);
      }
    }
  }

  private static Access access(Element element, int offset) {
    return new Access(Space.GLOBAL, element).plus(offset);
  }
}
