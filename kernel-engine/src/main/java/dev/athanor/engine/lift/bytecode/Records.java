package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.EnumRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.ir.RecordLayout;
import dev.athanor.engine.lift.ir.Value;
import java.util.ArrayList;
import java.util.Iterator;

/** Creates values of Java from numbers of a launch or of memory. */
final class Records {
  private Records() {}

  /**
   * Returns a value of a type that has numbers only.
   *
   * @param numbers those of the value come first, in the order of {@link RecordLayout#leaves}
   */
  static JavaValue value(Class<?> type, Iterator<Value> numbers) {
    var layout = RecordLayout.of(type);
    if (layout.isPresent()) {
      return value(layout.get(), numbers);
    }
    var number = numbers.next();
    return type.isEnum() ? new EnumRef(ClassFiles.internalName(type), number) : new Scalar(number);
  }

  private static RecordRef value(RecordLayout layout, Iterator<Value> numbers) {
    var names = new ArrayList<String>();
    var values = new ArrayList<JavaValue>();
    for (var each : layout.components()) {
      names.add(each.name());
      values.add(value(each.type(), numbers));
    }
    return RecordRef.of(ClassFiles.internalName(layout.type()), names, values);
  }
}
