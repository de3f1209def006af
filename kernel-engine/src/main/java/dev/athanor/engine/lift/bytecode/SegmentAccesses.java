package dev.athanor.engine.lift.bytecode;

import static dev.athanor.engine.lift.bytecode.Translation.number;

import dev.athanor.engine.lift.bytecode.CallTranslator.Callee;
import dev.athanor.engine.lift.bytecode.JavaValue.Layout;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.bytecode.JavaValue.SegmentRef;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Site;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import java.util.List;

/** Translates reads and writes of memory segments. */
final class SegmentAccesses {
  private final Translation to;
  private final MethodCode code;

  SegmentAccesses(Translation to, MethodCode code) {
    this.to = to;
    this.code = code;
  }

  private LiftException refuse(Refusal refusal, Object... names) {
    return new LiftException(refusal, to.source(), code.name(), names);
  }

  /** Translates a call of a method of a segment. */
  void call(Callee callee, SegmentRef segment, List<JavaValue> arguments, Frame frame) {
    if (callee.name().equals("byteSize")) {
      frame.push(new Scalar(segment.bytes()));
      return;
    }
    boolean byElement = callee.name().endsWith("AtIndex");
    if (!callee.name().startsWith("get") && !callee.name().startsWith("set")) {
      throw refuse(Refusal.SEGMENT_METHOD, callee.text());
    }
    if (!(arguments.getFirst() instanceof Layout(var element))) {
      throw refuse(Refusal.LAYOUT);
    }
    var index = number(arguments.get(1));
    int size = byElement ? element.bytes() : 1;
    var length = to.add(Op.DIV, ValueType.LONG, null, segment.bytes(), Value.constant((long) size));
    var site =
        byElement
            ? new Site(Site.Kind.ELEMENTS, segment.name(), 1, to.source())
            : new Site(Site.Kind.BYTES, segment.name(), element.bytes(), to.source());
    to.checkRange(site, index, length);
    var address = to.add(Op.ADDRESS, ValueType.LONG, size, segment.pointer(), index);
    var access = new Access(Access.Space.GLOBAL, element);
    if (callee.name().startsWith("get")) {
      frame.push(new Scalar(to.add(Op.LOAD, element.value(), access, address)));
    } else {
      var value = number(arguments.get(2));
      to.add(
          Op.STORE,
          ValueType.VOID,
          access,
          address,
          element == Element.BOOLEAN
              ? to.toInt(to.compare(Relation.NE, value, Value.constant(0)))
              : value);
    }
  }
}
