package dev.athanor.vulkan.flow;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Literals;
import dev.athanor.engine.ptx.MatrixShape;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.meaning.RegisterTile.Role;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The registers that hold matrices of {@code wmma} instructions. PTX does not say which lane holds
 * which element; Vulkan hides it. So only {@code wmma} instructions can use these registers, and
 * {@code mov} of the same literal to all registers of a matrix, which fills it.
 */
public final class MatrixRegisters {

  /**
   * A matrix.
   *
   * @param registers the same in all instructions
   * @param shape of the product
   */
  public record Matrix(List<Operand> registers, Role role, MatrixShape shape, Type type) {

    public int rows() {
      return role == Role.B ? shape.k() : shape.m();
    }

    public int columns() {
      return role == Role.A ? shape.k() : shape.n();
    }
  }

  private final Map<Register, Matrix> matrices = new HashMap<>();

  /**
   * Finds the matrices of a kernel.
   *
   * @throws UnsupportedKernelException if other instructions use the registers of a matrix
   */
  public MatrixRegisters(Kernel kernel, ControlGraph graph) {
    kernel
        .instructions()
        .filter(MatrixRegisters::isForMatrices)
        .flatMap(i -> matrices(i).stream())
        .forEach(this::add);
    if (!matrices.isEmpty()) {
      graph.reachable().forEach(block -> check(graph.block(block).code()));
    }
  }

  /** Returns whether an instruction is one of {@code wmma}. */
  public static boolean isForMatrices(Instruction instruction) {
    return instruction.form().mnemonic().equals("wmma");
  }

  /** Returns the matrices of a {@code wmma} instruction in the order of its operands. */
  public static List<Matrix> matrices(Instruction i) {
    var modifiers = i.modifiers();
    var shape = MatrixShape.of(modifiers);
    return switch (i.form().semantics()) {
      case Semantics.LoadTile _ -> {
        var role = modifiers.has("a") ? Role.A : modifiers.has("b") ? Role.B : Role.C;
        yield List.of(matrix(i, 0, role, shape, modifiers.type().orElseThrow()));
      }
      case Semantics.StoreTile _ ->
          List.of(matrix(i, 1, Role.C, shape, modifiers.type().orElseThrow()));
      default -> {
        var types = modifiers.types();
        boolean named = types.size() > 2; // else the factors are f16
        yield List.of(
            matrix(i, 0, Role.C, shape, types.getFirst()),
            matrix(i, 1, Role.A, shape, named ? types.get(1) : Type.F16),
            matrix(i, 2, Role.B, shape, named ? types.get(2) : Type.F16),
            matrix(i, 3, Role.C, shape, types.getLast()));
      }
    };
  }

  private static Matrix matrix(
      Instruction i, int operand, Role role, MatrixShape shape, Type type) {
    var registers =
        i.operands().get(operand) instanceof Operand.Vector(var elements)
            ? elements
            : List.of(i.operands().get(operand));
    if (!registers.stream().allMatch(Register.class::isInstance)) {
      throw new UnsupportedKernelException(
          "it has %s with a fragment that is not of registers".formatted(i.opcode()));
    }
    return new Matrix(registers, role, shape, type);
  }

  private void add(Matrix matrix) {
    matrix.registers().stream()
        .map(Register.class::cast)
        .forEach(register -> {
          var other = matrices.putIfAbsent(register, matrix);
          if (other != null && !other.equals(matrix)) {
            throw new UnsupportedKernelException(
                "it uses %s in two different fragments of wmma".formatted(register));
          }
        });
    if (new HashSet<>(matrix.registers()).size() < matrix.registers().size()) {
      throw new UnsupportedKernelException("it repeats a register in a fragment of wmma");
    }
  }

  /** Refuses blocks in which other instructions use registers of matrices, unless to fill them. */
  private void check(List<Instruction> block) {
    var filled = new HashMap<Matrix, Map<Register, Long>>();
    for (var instruction : block) {
      if (isForMatrices(instruction)) {
        requireWhole(filled, matrices(instruction));
        filled.keySet().removeAll(matrices(instruction));
      } else if (isFill(instruction)) {
        var register = (Register) instruction.operands().getFirst();
        filled
            .computeIfAbsent(matrix(register), _ -> new HashMap<>())
            .put(register, literal(instruction));
      } else {
        Stream.concat(instruction.writes().stream(), instruction.reads().stream())
            .filter(matrices::containsKey)
            .findFirst()
            .ifPresent(register -> {
              throw new UnsupportedKernelException(
                  "it uses %s, a register of a wmma fragment, in %s; the layout of fragments is"
                          .formatted(register, instruction.opcode())
                      + " unknown");
            });
      }
    }
    requireWhole(filled, filled.keySet());
  }

  private static void requireWhole(
      Map<Matrix, Map<Register, Long>> filled, Iterable<Matrix> matrices) {
    for (var matrix : matrices) {
      var values = filled.getOrDefault(matrix, Map.of());
      boolean whole = values.isEmpty() || values.size() == matrix.registers().size();
      if (!whole || Set.copyOf(values.values()).size() > 1) {
        throw new UnsupportedKernelException(
            "it does not set all registers of a wmma fragment to the same literal, from %s on"
                .formatted(matrix.registers().getFirst()));
      }
    }
  }

  /** Returns whether an instruction is of {@code wmma}, or fills a matrix. */
  public boolean include(Instruction instruction) {
    return isForMatrices(instruction) || isFill(instruction);
  }

  /** Returns the matrix that an instruction fills, if the instruction is for its first register. */
  public Optional<Matrix> filled(Instruction move) {
    var register = (Register) move.operands().getFirst();
    return Optional.of(matrix(register)).filter(m -> m.registers().getFirst().equals(register));
  }

  private Matrix matrix(Register register) {
    return Objects.requireNonNull(matrices.get(register));
  }

  private boolean isFill(Instruction instruction) {
    return instruction.form().mnemonic().equals("mov")
        && instruction.guard() == null
        && instruction.operands().getFirst() instanceof Register register
        && matrices.containsKey(register)
        && instruction.operands().getLast() instanceof Operand.Immediate;
  }

  /** Returns the 32 bits that a {@code mov} of a literal writes. */
  public static long literal(Instruction move) {
    var literal = (Operand.Immediate) move.operands().getLast();
    return Literals.convert(move.modifiers().type().orElseThrow(), literal).bits() & 0xFFFF_FFFFL;
  }
}
