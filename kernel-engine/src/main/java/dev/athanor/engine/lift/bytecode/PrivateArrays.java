package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.ArrayRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RowsRef;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Access.Space;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Site;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.NewMultiArrayInstruction;
import java.util.Arrays;

/**
 * Arrays that a thread creates. Each is a variable in local memory with a constant length, which
 * later passes keep in registers if they can.
 */
final class PrivateArrays {

  /** Maximum size of all arrays of a thread. Devices have less than a megabyte. */
  private static final int MAX_BYTES = 64 << 10;

  /** Longer arrays are cleared by a loop. */
  private static final int MOST_STORES = 32;

  private final Translation to;
  private final MethodCode code;

  PrivateArrays(Translation to, MethodCode code) {
    this.to = to;
    this.code = code;
  }

  /** Creates an array whose elements are zero. */
  ArrayRef create(TypeKind kind, Value length) {
    var element = Element.valueOf(kind.name());
    return create(element, constant(element.word(), length));
  }

  /** Creates an array of arrays. */
  RowsRef create(NewMultiArrayInstruction array, Frame frame) {
    var type = array.arrayType().asSymbol();
    var component = type.componentType().componentType();
    if (array.dimensions() != 2 || !component.isPrimitive()) {
      var dimensions = type.displayName().replaceFirst("\\[]", "").replace("[]", "[…]");
      throw refuse(Refusal.NEW_ARRAY, dimensions);
    }
    var element = Element.valueOf(TypeKind.from(component).name());
    int columns = constant(element.word(), Translation.number(frame.pop()));
    int rows = constant(element.word(), Translation.number(frame.pop()));
    return new RowsRef(create(element, (long) rows * columns), rows, columns);
  }

  private int constant(String type, Value length) {
    if (!length.is(Op.CONSTANT)) {
      throw refuse(Refusal.PRIVATE_LENGTH, type);
    }
    if (length.integer() < 0) {
      throw refuse(Refusal.PRIVATE_SIZE, type, length.integer());
    }
    return (int) length.integer();
  }

  private ArrayRef create(Element element, long length) {
    long bytes = to.bytes(Space.LOCAL) + length * element.bytes();
    if (bytes > MAX_BYTES) {
      throw refuse(Refusal.PRIVATE_TOTAL, bytes);
    }
    var array = to.declare(Space.LOCAL, element, (int) length);
    if (length <= MOST_STORES) {
      for (int i = 0; i < length; i++) {
        clear(array, Value.constant(i));
      }
    } else {
      clearInLoop(array);
    }
    return array;
  }

  private void clearInLoop(ArrayRef array) {
    var loop = new Block();
    var after = new Block();
    var index = to.phi(ValueType.INT);
    loop.parameters().add(index);
    jump(new Edge(loop, Arrays.asList(Value.constant(0))));
    to.setBlock(loop);
    clear(array, index);
    var next = to.add(Op.ADD, ValueType.INT, null, index, Value.constant(1));
    var again = to.compare(Relation.LT, next, array.length());
    loop.setEnd(new Terminator.Branch(again, new Edge(loop, Arrays.asList(next)), new Edge(after)));
    to.setBlock(after);
  }

  private void jump(Edge edge) {
    to.block().setEnd(new Terminator.Jump(edge));
  }

  private void clear(ArrayRef array, Value index) {
    var element = array.element();
    var type = element.value();
    var zero = to.convert(Value.constant(0), type);
    var address =
        to.add(Op.ADDRESS, array.pointer().type(), element.bytes(), array.pointer(), index);
    to.add(Op.STORE, ValueType.VOID, new Access(array.space(), element), address, zero);
  }

  /** Returns a row, after the check of its index. */
  ArrayRef row(RowsRef array, Value index) {
    var all = array.elements();
    var site = new Site(Site.Kind.ELEMENTS, all.name(), 1, to.source());
    to.checkRange(site, index, Value.constant(array.rows()));
    var first = to.add(Op.MUL, ValueType.INT, null, index, Value.constant(array.columns()));
    var pointer =
        to.add(Op.ADDRESS, all.pointer().type(), all.element().bytes(), all.pointer(), first);
    return new ArrayRef(
        all.space(), all.element(), pointer, Value.constant(array.columns()), all.name() + "[…]");
  }

  private LiftException refuse(Refusal refusal, Object... names) {
    return new LiftException(refusal, to.source(), code.name(), names);
  }
}
