package dev.athanor.ops.rank;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.map.Elements;
import java.util.ArrayList;
import java.util.List;

/**
 * Entries of a key and an index, of which the first in the order is the least. A key is a signed
 * integer with the order of the elements; -0 equals 0, and NaN is the greatest. Keys of 32 bits are
 * packed with the index into one s64, keys of 64 bits are stored beside it.
 */
final class Entries {

  private final KernelBuilder k;
  private final boolean packed;

  Entries(KernelBuilder k, boolean packed) {
    this.k = k;
    this.packed = packed;
  }

  /** Returns whether the entries of a dtype are packed. */
  static boolean arePacked(DType dtype) {
    return dtype.bytes() <= Integer.BYTES;
  }

  /** Returns the types of an entry's values. */
  static List<Type> types(boolean packed) {
    return packed ? List.of(Type.S64) : List.of(Type.S64, Type.S32);
  }

  /**
   * Returns the entry of an element.
   *
   * @param flip -1 for descending order, otherwise 0
   */
  List<Value> of(DType dtype, Value element, Int index, Int flip) {
    var number = new Elements(k).widen(dtype, element);
    if (!packed) {
      var key = number instanceof Real real ? key64(real) : number.wide();
      return List.of(bits("xor.b64", key, flip.wide().value()).value(), index.value());
    }
    var key = number instanceof Real real ? key32(real) : number.integer();
    return List.of(pack(key.xor(flip), index));
  }

  private Int key32(Real number) {
    var bits = number.constant(0).where(number.eq(0), number).bits();
    var ordered = bits.xor(bits.shrSigned(31).and(Integer.MAX_VALUE));
    // the greatest integer is the key of hidden rows
    return k.integer(Integer.MAX_VALUE - 1).where(number.isNan(), ordered);
  }

  private Wide key64(Real number) {
    var bits = number.constant(0).where(number.eq(0), number).as(Type.S64).wide();
    var sign = bits("shr.s64", bits, k.integer(63).value());
    var magnitude = bits("and.b64", sign, k.wide(Long.MAX_VALUE).value());
    return k.wide(Long.MAX_VALUE).where(number.isNan(), bits("xor.b64", bits, magnitude.value()));
  }

  private Value pack(Int key, Int index) {
    return bits("shl.b64", key.wide(), k.integer(Integer.SIZE).value()).plus(index.wide()).value();
  }

  private Wide bits(String opcode, Wide a, Value b) {
    return k.compute(Type.S64, opcode, a.value(), b).wide();
  }

  /** Returns the entry after all others, with which rows are padded. */
  List<Value> last() {
    var key = k.wide(Long.MAX_VALUE).value();
    return packed ? List.of(key) : List.of(key, k.integer(Integer.MAX_VALUE).value());
  }

  /** Returns the packed entry of a row that is excluded, which comes after all others. */
  List<Value> hidden(Int index) {
    return List.of(pack(k.integer(Integer.MAX_VALUE), index));
  }

  /** Returns whether a packed entry is {@link #hidden}. */
  Predicate isHidden(List<Value> entry) {
    return entry.getFirst().wide().ge(k.wide((long) Integer.MAX_VALUE << Integer.SIZE));
  }

  Int index(List<Value> entry) {
    return packed ? entry.getFirst().wide().narrow() : entry.getLast().integer();
  }

  /** Returns the f32 whose key a packed entry has. */
  Real number(List<Value> entry, Int flip) {
    var high = bits("shr.s64", entry.getFirst().wide(), k.integer(Integer.SIZE).value()).narrow();
    var key = high.xor(flip);
    return (Real) key.xor(key.shrSigned(31).and(Integer.MAX_VALUE)).value().as(Type.F32);
  }

  /** Returns whether {@code a} comes before {@code b}. */
  Predicate isBefore(List<Value> a, List<Value> b) {
    var key = a.getFirst().wide();
    var other = b.getFirst().wide();
    var before = key.lt(other);
    return packed ? before : before.or(key.ne(other).not().and(index(a).lt(index(b))));
  }

  /** Returns {@code a} where the condition holds, else {@code b}. */
  List<Value> where(Predicate condition, List<Value> a, List<Value> b) {
    var key = a.getFirst().wide().where(condition, b.getFirst().wide()).value();
    return packed ? List.of(key) : List.of(key, index(a).where(condition, index(b)).value());
  }

  /** Declares the parameters that point to entries of the previous launch. */
  List<GlobalPointer> inputs(String name) {
    var all = new ArrayList<GlobalPointer>();
    for (var type : types(packed)) {
      all.add(k.input(name + all.size(), type));
    }
    return all;
  }

  /** Declares the parameters that point to entries for the next launch. */
  List<GlobalPointer> outputs(String name) {
    var all = new ArrayList<GlobalPointer>();
    for (var type : types(packed)) {
      all.add(k.pointer(name + all.size(), type));
    }
    return all;
  }

  /** Loads an entry where the condition holds; other threads get zeros. */
  static List<Value> load(List<GlobalPointer> row, Predicate condition, Int at) {
    return row.stream().map(pointer -> pointer.loadWhere(condition, at)).toList();
  }
}
