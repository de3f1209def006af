package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Modifier.Layout;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.meaning.RegisterTile.Role;
import dev.athanor.vulkan.flow.MatrixRegisters;
import dev.athanor.vulkan.flow.MatrixRegisters.Matrix;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import java.util.HashMap;
import java.util.Map;

/**
 * The instructions {@code wmma} of f16, by cooperative matrices. As in PTX, all lanes of a warp
 * execute them together, with the same addresses. A matrix is a variable of the function.
 */
final class Matrices {

  private static final int WORD_BITS = 32;

  private final Frame frame;
  private final Code code;
  private final Memory memory;
  private final MatrixRegisters registers;
  private final Map<Matrix, Integer> variables = new HashMap<>();

  Matrices(Frame frame, Memory memory, MatrixRegisters registers) {
    this.frame = frame;
    this.code = frame.code;
    this.memory = memory;
    this.registers = registers;
  }

  /** Returns whether an instruction loads, stores, multiplies or fills matrices. */
  boolean include(Instruction i) {
    return registers.include(i);
  }

  void write(Instruction i) {
    if (!MatrixRegisters.isForMatrices(i)) {
      registers.filled(i).ifPresent(matrix -> fill(matrix, MatrixRegisters.literal(i)));
      return;
    }
    var matrices = MatrixRegisters.matrices(i);
    switch (i.form().semantics()) {
      case Semantics.LoadTile _ -> load(i, matrices.getFirst());
      case Semantics.StoreTile _ -> store(i, matrices.getFirst());
      default -> multiply(i, matrices.get(0), matrices.get(1), matrices.get(2), matrices.get(3));
    }
  }

  private void load(Instruction i, Matrix matrix) {
    requireSupported(i, matrix);
    int pointer = memory.matrix(i, 1);
    int[] operands = {pointer, layout(i), stride(i, matrix).id()};
    int loaded =
        code.result(
            Spirv.COOPERATIVE_MATRIX_LOAD,
            type(matrix),
            SpirvModule.join(operands, memory.matrixAccess(i, 1)));
    code.effect(Spirv.STORE, variable(matrix), loaded);
  }

  private void store(Instruction i, Matrix matrix) {
    requireSupported(i, matrix);
    int pointer = memory.matrix(i, 0);
    int[] operands = {pointer, value(matrix), layout(i), stride(i, matrix).id()};
    code.effect(
        Spirv.COOPERATIVE_MATRIX_STORE, SpirvModule.join(operands, memory.matrixAccess(i, 0)));
  }

  private void multiply(Instruction i, Matrix sum, Matrix a, Matrix b, Matrix addend) {
    var product = new CooperativeProduct(sum.shape(), addend.type(), sum.type());
    if (a.type() != Type.F16 || b.type() != Type.F16 || !has(product)) {
      throw lacking(i);
    }
    int result =
        code.result(Spirv.COOPERATIVE_MATRIX_MUL_ADD, type(sum), value(a), value(b), value(addend));
    code.effect(Spirv.STORE, variable(sum), result);
  }

  private void fill(Matrix matrix, long bits) {
    boolean half = matrix.type() == Type.F16;
    if (half && (bits & 0xFFFF) != bits >>> 16) {
      throw new UnsupportedKernelException(
          "it sets the halves of a wmma fragment of f16, from %s on, to different literals"
              .formatted(matrix.registers().getFirst()));
    }
    var element = code.constant(component(matrix), half ? bits & 0xFFFF : bits);
    code.effect(
        Spirv.STORE,
        variable(matrix),
        code.module.constant(Spirv.CONSTANT_COMPOSITE, type(matrix), element.id()));
  }

  // features

  private boolean has(CooperativeProduct product) {
    return frame.features.products().contains(product);
  }

  /** Refuses a matrix that is in no product of the device. */
  private void requireSupported(Instruction i, Matrix matrix) {
    boolean supported =
        frame.features.products().stream()
            .filter(product -> product.shape().equals(matrix.shape()))
            .anyMatch(product ->
                matrix.role() == Role.C
                    ? matrix.type() == product.addend() || matrix.type() == product.sum()
                    : matrix.type() == Type.F16);
    if (!supported) {
      throw lacking(i);
    }
  }

  private static UnsupportedKernelException lacking(Instruction i) {
    return new UnsupportedKernelException(
        "it has %s, whose shape and types the device's cooperative matrices lack"
            .formatted(i.opcode()));
  }

  // operands

  private int variable(Matrix matrix) {
    return variables.computeIfAbsent(matrix, m -> code.module.local(type(m)));
  }

  private int value(Matrix matrix) {
    return code.result(Spirv.LOAD, type(matrix), variable(matrix));
  }

  private int type(Matrix matrix) {
    var module = code.module;
    int use =
        switch (matrix.role()) {
          case A -> Spirv.MATRIX_A;
          case B -> Spirv.MATRIX_B;
          case C -> Spirv.MATRIX_ACCUMULATOR;
        };
    return module.type(
        Spirv.TYPE_COOPERATIVE_MATRIX,
        module.scalar(component(matrix)),
        module.word(Spirv.SUBGROUP_SCOPE),
        module.word(matrix.rows()),
        module.word(matrix.columns()),
        module.word(use));
  }

  private static Scalar component(Matrix matrix) {
    return matrix.type() == Type.F16 ? Scalar.F16 : Scalar.F32;
  }

  private static boolean byRows(Instruction i) {
    return i.modifiers().find(Layout.class).orElseThrow() == Layout.ROW;
  }

  private int layout(Instruction i) {
    return code.module.word(byRows(i) ? Spirv.ROW_MAJOR : Spirv.COLUMN_MAJOR);
  }

  /** Returns the distance of rows or columns, in words; PTX states it in elements. */
  private Value stride(Instruction i, Matrix matrix) {
    Operand elements =
        i.operands().size() > 2
            ? i.operands().get(2)
            : Operand.Immediate.of(byRows(i) ? matrix.columns() : matrix.rows());
    return code.shr(
        frame.bits(elements, Type.U32),
        Integer.numberOfTrailingZeros(WORD_BITS / matrix.type().bits()));
  }
}
