package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.ArrayRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordsRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.ir.Access.Space;
import dev.athanor.engine.lift.ir.ArrayVariable;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.PtxNames;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Site;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.simplify.Simplifier;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import java.lang.constant.ClassDesc;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The kernel being translated: where instructions are appended, and what they append. */
final class Translation {
  private final ClassFiles classes;
  private final Graph graph;

  /** The constant arrays, by the arrays of Java that they are copied from. */
  private final IdentityHashMap<Object, ArrayVariable> tables = new IdentityHashMap<>();

  private final boolean checked;
  private final Set<Value> placed = new HashSet<>();
  private final List<String> callers = new ArrayList<>();
  private final boolean debugged;
  private final Map<String, Optional<Intrinsic>> loweredMethods = new HashMap<>();
  private @Nullable SourceFrame position;
  private boolean isPrologue;
  private int calls;
  private int numberedCalls;
  private int variables;
  private Block block;
  private Source source = Source.UNKNOWN;
  private @Nullable Source libraryCall;

  /**
   * @param debugged whether lines and variables are marked for a debugger
   */
  Translation(ClassFiles classes, Graph graph, boolean checked, boolean debugged) {
    this.classes = classes;
    this.graph = graph;
    this.checked = checked;
    this.debugged = debugged;
    block = graph.entry();
  }

  ClassFiles classes() {
    return classes;
  }

  Graph graph() {
    return graph;
  }

  /** Returns the lowerings of the methods called so far; empty for methods without one. */
  Map<String, Optional<Intrinsic>> loweredMethods() {
    return loweredMethods;
  }

  /** Returns the methods being inlined, outermost first. */
  List<String> callers() {
    return callers;
  }

  /** Counts one more inlined call, and returns the number of them. */
  int countCall() {
    return ++calls;
  }

  Block block() {
    return block;
  }

  void setBlock(Block next) {
    block = next;
    mark();
  }

  boolean isDebugged() {
    return debugged;
  }

  /** Returns the number of a new call of a debugged kernel, from 1. */
  int nextCall() {
    return ++numberedCalls;
  }

  /** Returns the number of a new register of a variable. */
  int nextVariable() {
    return variables++;
  }

  /** Returns the frame of the following instructions; null if the kernel is not debugged. */
  @Nullable SourceFrame position() {
    return position;
  }

  /** Sets the frame of the instructions that load the kernel's arguments, which have no line. */
  void setPrologue(SourceFrame kernel) {
    position = kernel;
    isPrologue = true;
    mark();
  }

  /** Sets the frame of the following instructions. */
  void setPosition(@Nullable SourceFrame next) {
    if (isPrologue || !Objects.equals(position, next)) {
      position = next;
      isPrologue = false;
      mark();
    }
  }

  private void mark() {
    if (position != null) {
      var line = isPrologue ? Source.UNKNOWN : position.source();
      block.add(new Value(Op.POSITION, ValueType.VOID, List.of(), position, line));
    }
  }

  Source source() {
    return source;
  }

  void setSource(Source line) {
    source = line;
  }

  /** Sets the line of the following instructions; in the library, its origin is the call. */
  void setLine(Source line) {
    source = line.withOrigin(libraryCall);
  }

  /** Returns the line that calls the library; null outside of it. */
  @Nullable Source libraryCall() {
    return libraryCall;
  }

  void setLibraryCall(@Nullable Source line) {
    libraryCall = line;
  }

  /** Appends an operation unless a simpler value equals it. */
  Value add(Op op, ValueType type, @Nullable Object attribute, Value... inputs) {
    var value = new Value(op, type, List.of(inputs), attribute, source);
    for (var next = Simplifier.simplify(value); next != null; next = Simplifier.simplify(value)) {
      value = next;
      if (placed.contains(value) || value.is(Op.CONSTANT)) {
        return value;
      }
    }
    placed.add(value);
    return block.add(value);
  }

  Value phi(ValueType type) {
    var value = Value.phi(type);
    placed.add(value);
    return value;
  }

  Value compare(Relation relation, Value a, Value b) {
    return add(Op.COMPARE, ValueType.BOOL, relation, a, b);
  }

  /** Returns a condition as Java's 0 or 1. */
  Value toInt(Value condition) {
    return add(Op.SELECT, ValueType.INT, null, condition, Value.constant(1), Value.constant(0));
  }

  Value toCondition(Value number) {
    return compare(Relation.NE, number, Value.constant(0));
  }

  Value convert(Value value, ValueType to) {
    return add(Op.CONVERT, to, null, value);
  }

  /** Returns a special register; a literal if the kernel declares its value. */
  Value special(SpecialRegister register) {
    var shape = graph.blockShape();
    if (!shape.isEmpty()) {
      int known =
          switch (register) {
            case NTID_X -> shape.get(0);
            case NTID_Y -> shape.get(1);
            case NTID_Z -> shape.get(2);
            default -> 0;
          };
      if (known > 0) {
        return Value.constant(known);
      }
      int extent =
          switch (register) {
            case TID_X -> shape.get(0);
            case TID_Y -> shape.get(1);
            case TID_Z -> shape.get(2);
            default -> 0;
          };
      if (extent == 1) {
        return Value.constant(0);
      }
    }
    return add(Op.SPECIAL, ValueType.INT, register);
  }

  /** Returns the address of an array element, after the check of its index. */
  Value element(ArrayRef array, Value index) {
    return element(array, index, 1);
  }

  /**
   * Returns the address of the first of several elements, after the check that the array has all.
   */
  Value element(ArrayRef array, Value index, int count) {
    checkRange(new Site(Site.Kind.ELEMENTS, array.name(), count, source), index, array.length());
    return add(Op.ADDRESS, array.pointer().type(), array.element().bytes(), array.pointer(), index);
  }

  /** Returns the address of a record in an array, after the check of its index. */
  Value element(RecordsRef array, Value index) {
    checkRange(new Site(Site.Kind.ELEMENTS, array.name(), 1, source), index, array.length());
    return add(Op.ADDRESS, ValueType.LONG, array.layout().bytes(), array.pointer(), index);
  }

  /** Checks that the elements or bytes from an index on exist, if the kernel is checked. */
  void checkRange(Site site, Value index, Value length) {
    if (!checked) {
      return;
    }
    if (site.count() == 1) {
      add(Op.CHECK, ValueType.VOID, site, index, length);
      return;
    }
    var type = length.type();
    var starts = add(Op.SUB, type, null, length, literal(type, site.count() - 1));
    var limit = add(Op.MAX, type, null, starts, literal(type, 0));
    add(Op.CHECK, ValueType.VOID, site, index, limit, length);
  }

  private static Value literal(ValueType type, int number) {
    return type == ValueType.LONG ? Value.constant((long) number) : Value.constant(number);
  }

  /** Checks the divisor of an integer division, if the kernel is checked. */
  void checkDivisor(Value divisor) {
    if (checked && !(divisor.isIntegerConstant() && divisor.integer() != 0)) {
      refuse(Site.Kind.DIVISION, compare(Relation.EQ, divisor, literal(divisor.type(), 0)));
    }
  }

  /** Checks that the bounds of a clamp are in order, if the kernel is checked. */
  void checkBounds(Value least, Value most) {
    if (checked) {
      var reversed = compare(Relation.LE.negated(least.type()), least, most);
      refuse(
          Site.Kind.CLAMP,
          least.type().isFloating()
              ? add(Op.OR, ValueType.BOOL, null, reversed, areReversedZeros(least, most))
              : reversed);
    }
  }

  /** Returns whether numbers are 0.0 and -0.0. */
  private Value areReversedZeros(Value least, Value most) {
    var type = least.type() == ValueType.DOUBLE ? ValueType.LONG : ValueType.INT;
    var bits =
        compare(Relation.GT, add(Op.BITCAST, type, null, least), add(Op.BITCAST, type, null, most));
    return add(Op.AND, ValueType.BOOL, null, bits, compare(Relation.EQ, least, most));
  }

  /** Reports a fault if a condition holds. */
  private void refuse(Site.Kind kind, Value condition) {
    add(Op.CHECK, ValueType.VOID, Site.of(kind, source), toInt(condition), Value.constant(1));
  }

  /** Declares an array. */
  ArrayRef declare(Space space, Element element, int length) {
    var prefix = space == Space.SHARED ? PtxNames.SHARED : PtxNames.LOCAL;
    var name = length == ArrayVariable.DYNAMIC ? PtxNames.DYNAMIC : prefix + graph.arrays().size();
    var variable = new ArrayVariable(space, name, element, length, null);
    if (!graph.arrays().contains(variable)) {
      graph.arrays().add(variable);
    }
    var pointer = add(Op.ARRAY, space.address(), variable);
    Value size;
    if (length == ArrayVariable.DYNAMIC) {
      var bytes = special(SpecialRegister.DYNAMIC_SMEM_SIZE);
      size =
          add(
              Op.USHR,
              ValueType.INT,
              null,
              bytes,
              Value.constant(Integer.numberOfTrailingZeros(element.bytes())));
    } else {
      size = Value.constant(length);
    }
    return new ArrayRef(space, element, pointer, size, name);
  }

  /**
   * Declares an array of constants.
   *
   * @param array the array of Java, by which it is found again
   * @param contents returns a copy, of one dimension
   */
  ArrayRef table(Element element, Object array, Supplier<Object> contents, String name) {
    var variable =
        tables.computeIfAbsent(
            array,
            _ -> {
              var numbers = contents.get();
              int length = Array.getLength(numbers);
              var label = PtxNames.CONST + graph.arrays().size();
              var declared = new ArrayVariable(Space.CONST, label, element, length, numbers);
              graph.arrays().add(declared);
              return declared;
            });
    var pointer = add(Op.ARRAY, Space.CONST.address(), variable);
    return new ArrayRef(Space.CONST, element, pointer, Value.constant(variable.length()), name);
  }

  /** Returns the size of all arrays declared in a space, but for the dynamic one. */
  long bytes(Space space) {
    return graph.arrays().stream()
        .filter(array -> array.space() == space)
        .mapToLong(ArrayVariable::bytes)
        .sum();
  }

  static Value number(JavaValue value) {
    return ((Scalar) value).value();
  }

  /** Returns the type of a number of a Java type. */
  static ValueType type(ClassDesc type) {
    return switch (type.descriptorString()) {
      case "J" -> ValueType.LONG;
      case "F" -> ValueType.FLOAT;
      case "D" -> ValueType.DOUBLE;
      case "V" -> ValueType.VOID;
      default -> ValueType.INT;
    };
  }
}
