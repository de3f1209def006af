package dev.athanor.engine.emulator.lanes;

import static java.lang.constant.ConstantDescs.CD_Double;
import static java.lang.constant.ConstantDescs.CD_Float;
import static java.lang.constant.ConstantDescs.CD_double;
import static java.lang.constant.ConstantDescs.CD_float;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;

import dev.athanor.engine.emulator.memory.RegisterStorage;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * Emits the JVM code of one lane: access to the lane's element of register arrays, conversion of
 * bits between carriers, and the computation of lane functions.
 */
public final class LaneCode {

  /** A local variable with the value of one lane. */
  public record Local(Class<?> carrier, int slot) {
    TypeKind kind() {
      return TypeKind.from(carrier).asLoadable();
    }
  }

  /** A source operand in one lane. */
  @FunctionalInterface
  public interface Source {
    /** Emits code that pushes the value in a carrier. */
    void push(Class<?> carrier);
  }

  /** How the code computes a lane function: by a call or by a copy of its body. */
  @FunctionalInterface
  public interface Evaluation {
    /**
     * Emits code that leaves the function's result on the stack.
     *
     * @param push emits code that pushes the argument of an index
     */
    void emit(MethodHandle function, IntConsumer push);
  }

  private final CodeBuilder code;
  private final int index;
  private final int lane;

  /**
   * @param index the local variable with the lane's index in the arrays of registers
   * @param lane the local variable with the lane's number in its warp in its five lowest bits
   */
  public LaneCode(CodeBuilder code, int index, int lane) {
    this.code = code;
    this.index = index;
    this.lane = lane;
  }

  /** Allocates a local variable. */
  public Local allocate(Class<?> carrier) {
    return new Local(carrier, code.allocateLocal(TypeKind.from(carrier).asLoadable()));
  }

  /** Pushes the value of a local variable. */
  public void load(Local local) {
    code.loadLocal(local.kind(), local.slot());
  }

  /** Pushes the value of a local variable in another carrier. */
  public void load(Local local, Class<?> carrier) {
    load(local);
    convert(local.carrier(), carrier);
  }

  /** Pops the value of a local variable. */
  public void store(Local local) {
    code.storeLocal(local.kind(), local.slot());
  }

  /** Sets a local variable to 0. */
  public void clear(Local local) {
    switch (local.kind()) {
      case LONG -> code.lconst_0();
      case FLOAT -> code.fconst_0();
      case DOUBLE -> code.dconst_0();
      default -> code.iconst_0();
    }
    store(local);
  }

  /** Pushes the lane's index in the arrays of registers. */
  public void loadIndex() {
    code.iload(index);
  }

  /** Replaces the array on the stack by the lane's element. */
  public void loadElement(RegisterStorage storage) {
    if (storage == RegisterStorage.MASK) {
      code.iload(index).loadConstant(5).ishr().iaload();
      extractBit();
    } else {
      code.iload(index).arrayLoad(TypeKind.from(storage.carrier()));
    }
  }

  /** Replaces the mask on the stack by the lane's bit. */
  void extractBit() {
    code.iload(lane).iushr().iconst_1().iand();
  }

  /** Pops an array and stores a value as the lane's element. */
  public void storeElement(RegisterStorage storage, Local value) {
    if (storage == RegisterStorage.MASK) {
      code.iload(index).loadConstant(5).ishr();
      code.dup2().iaload();
      code.iconst_1().iload(lane).ishl().iconst_m1().ixor().iand();
      insertBit(value);
      code.iastore();
    } else {
      code.iload(index);
      load(value);
      code.arrayStore(value.kind());
    }
  }

  /** Sets the lane's bit, which is 0, in the mask on the stack to a value. */
  void insertBit(Local value) {
    load(value);
    code.iload(lane).ishl().ior();
  }

  /**
   * Computes an instruction.
   *
   * @param functions the lane function of each result
   * @param results the local variables of the results; with several, none may be a source, as each
   *     is stored before the next function reads the sources
   */
  public void compute(
      List<MethodHandle> functions,
      Evaluation evaluation,
      List<? extends Source> sources,
      List<Local> results) {
    for (int i = 0; i < results.size(); i++) {
      var type = functions.get(i).type();
      evaluation.emit(functions.get(i), j -> sources.get(j).push(type.parameterType(j)));
      convert(type.returnType(), results.get(i).carrier());
      store(results.get(i));
    }
  }

  /** Pushes a boxed value. */
  public void constant(Object value) {
    switch (value) {
      case Boolean b -> code.loadConstant(b ? 1 : 0);
      // a constant of the class file need not keep the bits of a NaN
      case Float f when f.isNaN() -> {
        code.loadConstant(Float.floatToRawIntBits(f));
        convert(int.class, float.class);
      }
      case Double d when d.isNaN() -> {
        code.loadConstant(Double.doubleToRawLongBits(d));
        convert(long.class, double.class);
      }
      case Integer i -> code.loadConstant((int) i);
      case Long l -> code.loadConstant((long) l);
      case Float f -> code.loadConstant((float) f);
      case Double d -> code.loadConstant((double) d);
      default -> throw new IllegalArgumentException("not a value of a lane: " + value);
    }
  }

  /**
   * Converts the value on the stack to a carrier of the same width with the same bits.
   *
   * @throws IllegalArgumentException if the carriers have different widths
   */
  public void convert(Class<?> from, Class<?> to) {
    if (from == to) {
      return;
    }
    if (from == float.class && to == int.class) {
      code.invokestatic(CD_Float, "floatToRawIntBits", MethodTypeDesc.of(CD_int, CD_float));
    } else if (from == int.class && to == float.class) {
      code.invokestatic(CD_Float, "intBitsToFloat", MethodTypeDesc.of(CD_float, CD_int));
    } else if (from == double.class && to == long.class) {
      code.invokestatic(CD_Double, "doubleToRawLongBits", MethodTypeDesc.of(CD_long, CD_double));
    } else if (from == long.class && to == double.class) {
      code.invokestatic(CD_Double, "longBitsToDouble", MethodTypeDesc.of(CD_double, CD_long));
    } else {
      throw new IllegalArgumentException(
          "a register with values of type %s cannot be an operand of type %s".formatted(from, to));
    }
  }
}
