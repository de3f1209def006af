package dev.athanor.engine.emulator;

import dev.athanor.engine.emulator.LaneLoops.Place;
import dev.athanor.engine.emulator.Op.Barrier;
import dev.athanor.engine.emulator.Op.Kind;
import dev.athanor.engine.emulator.Registers.Lanes;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.LaneMeaning;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.WarpFunction;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Ties the instructions of a kernel to the registers of a block. */
final class Binder {

  private final Kernel kernel;
  private final Map<String, Integer> labels;
  private final Block block;
  private final Registers registers;

  Binder(Kernel kernel, Map<String, Integer> labels, Block block) {
    this.kernel = kernel;
    this.labels = labels;
    this.block = block;
    this.registers = block.registers;
  }

  /**
   * What executes an instruction.
   *
   * @throws IllegalArgumentException when its operands make no sense, naming it
   */
  Op bind(Instruction instruction) {
    try {
      return bindChecked(instruction);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "%s (\"%s\" at %s)".formatted(e.getMessage(), instruction, instruction.source()), e);
    }
  }

  private Op bindChecked(Instruction i) {
    return switch (i.form().semantics()) {
      case Semantics.Pure _ -> op(Kind.STRAIGHT, i, pure(i));
      case Semantics.Load _ when i.modifiers().space() == Space.PARAM ->
          op(Kind.STRAIGHT, i, parameter(i));
      case Semantics.Load _ -> op(Kind.STRAIGHT, i, access(i, 1, 0, true));
      case Semantics.Store _ -> op(Kind.STRAIGHT, i, access(i, 0, 1, false));
      case Semantics.Warp warp -> op(Kind.COLLECTIVE, i, warp(i, warp.function()));
      case Semantics.Converged converged -> op(Kind.STRAIGHT, i, warp(i, converged.function()));
      case Semantics.WarpBarrier _ -> op(Kind.COLLECTIVE, i, warp(i, (_, _, _) -> {}));
      case Semantics.LoadMatrix matrix -> op(Kind.COLLECTIVE, i, matrix(i, matrix));
      case Semantics.AsyncCopy _ -> op(Kind.STRAIGHT, i, copy(i));
      case Semantics.CommitGroup _ -> op(Kind.STRAIGHT, i, block.copies.new Commit());
      case Semantics.WaitGroup _ ->
          op(
              Kind.STRAIGHT,
              i,
              block.copies
              .new Wait(i.operands().isEmpty() ? AsyncCopies.Wait.ALL : (int) literal(i, 0)));
      case Semantics.Barrier _ ->
          op(
              Kind.BARRIER,
              i,
              new Step.Nothing(i),
              0,
              new Barrier(
                  source(i.operands().get(0), Type.U32),
                  i.operands().size() > 1 ? source(i.operands().get(1), Type.U32) : null));
      case Semantics.Branch _ ->
          op(Kind.BRANCH, i, new Step.Nothing(i), label(i.operands().getFirst()), null);
      case Semantics.Exit _ -> op(Kind.EXIT, i, new Step.Nothing(i));
    };
  }

  private Op op(Kind kind, Instruction instruction, Step step) {
    return op(kind, instruction, step, 0, null);
  }

  private Op op(
      Kind kind, Instruction instruction, Step step, int target, @Nullable Barrier barrier) {
    var guard = instruction.guard();
    var predicate = guard == null ? null : registers.of(guard.predicate());
    return new Op(kind, instruction, step, target, predicate, barrier);
  }

  private Step pure(Instruction instruction) {
    var form = instruction.form();
    var modifiers = instruction.modifiers();
    var resultPlaces = new ArrayList<Place>();
    var results = new ArrayList<Object>();
    for (var operand : operands(instruction, true)) {
      var lanes = registers.of((Operand.Register) operand);
      resultPlaces.add(new Place(lanes.storage(), false));
      results.add(lanes.array());
    }
    var types = LaneMeaning.types(form, modifiers, false);
    var sourcePlaces = new ArrayList<Place>();
    var sources = new ArrayList<Object>();
    var operands = operands(instruction, false);
    for (int i = 0; i < operands.size(); i++) {
      var scalar = scalar(operands.get(i), types.get(i));
      if (scalar != null) {
        sourcePlaces.add(new Place(Storage.of(types.get(i).registerClass()), true));
        sources.add(scalar);
      } else {
        var lanes = source(operands.get(i), types.get(i));
        sourcePlaces.add(new Place(lanes.storage(), false));
        sources.add(lanes.array());
      }
    }
    return new Step.Pure(
        block,
        LaneLoops.bind(
            form, modifiers, resultPlaces, results.toArray(), sourcePlaces, sources.toArray()));
  }

  private Step parameter(Instruction instruction) {
    var type = instruction.modifiers().type().orElseThrow();
    return new Step.LoadParameter(
        block,
        parameterOffset(instruction),
        Cells.of(type, source(instruction.operands().get(0), type)));
  }

  /** Where in the memory of parameters the one lies that an instruction reads. */
  long parameterOffset(Instruction instruction) {
    var address = (Operand.Address) instruction.operands().get(1);
    var names = kernel.parameters().stream().map(Kernel.Parameter::name).toList();
    int index = names.indexOf(address.base().toString());
    if (index < 0) {
      throw new IllegalArgumentException(
          "%s is no parameter; the kernel has %s".formatted(address.base(), names));
    }
    var type = instruction.modifiers().type().orElseThrow();
    if (address.offset() < 0
        || address.offset() + type.bytes() > kernel.parameters().get(index).type().bytes()) {
      throw new IllegalArgumentException(
          "%s lies outside parameter %s".formatted(address, names.get(index)));
    }
    return (long) LaunchedKernel.PARAMETER_BYTES * index + address.offset();
  }

  private Step access(Instruction instruction, int address, int value, boolean load) {
    var type = instruction.modifiers().type().orElseThrow();
    var cells =
        spread(instruction.operands().get(value))
            .map(operand -> Cells.of(type, source(operand, type)))
            .toArray(Cells[]::new);
    return new Access(
        block,
        addresses(instruction, address, instruction.modifiers().space()),
        cells,
        type.bytes(),
        load);
  }

  private Step warp(Instruction instruction, WarpFunction function) {
    int[] members = null;
    var sources = new ArrayList<Lanes>();
    for (int i = 0; i < instruction.operands().size(); i++) {
      var slot = instruction.form().operands().get(i);
      if (slot.kind() != OperandSlot.Kind.RESULT) {
        var type = slot.type(instruction.modifiers());
        var given = spread(instruction.operands().get(i)).map(o -> source(o, type)).toList();
        sources.addAll(given);
        if (slot.name().equals("m")) {
          members = given.getFirst().ints();
        }
      }
    }
    var results =
        operands(instruction, true).stream().map(o -> registers.of((Operand.Register) o)).toList();
    return new WarpSteps.Call(block, instruction, function, results, sources, members);
  }

  private Step matrix(Instruction instruction, Semantics.LoadMatrix matrix) {
    var results =
        operands(instruction, true).stream()
            .map(o -> registers.of((Operand.Register) o).ints())
            .toList();
    return new WarpSteps.LoadMatrix(
        block, instruction, addresses(instruction, 1, Space.SHARED), matrix.fragment(), results);
  }

  private Step copy(Instruction instruction) {
    return block.copies
    .new Copy(
        instruction,
        addresses(instruction, 0, Space.SHARED),
        addresses(instruction, 1, Space.GLOBAL),
        (int) literal(instruction, 2),
        instruction.operands().size() > 3
            ? source(instruction.operands().get(3), Type.U32).ints()
            : null);
  }

  private Addresses addresses(Instruction instruction, int operand, Space space) {
    var address = (Operand.Address) instruction.operands().get(operand);
    var type =
        address.base() instanceof Operand.Register r && r.registerClass().bits() == 32
            ? Type.U32
            : Type.U64;
    return new Addresses(block, instruction, space, source(address.base(), type), address.offset());
  }

  private int label(Operand operand) {
    var target = labels.get(operand.toString());
    if (target == null) {
      throw new IllegalArgumentException("there is no label " + operand);
    }
    return target;
  }

  private static long literal(Instruction instruction, int operand) {
    return ((Operand.Immediate) instruction.operands().get(operand)).bits();
  }

  /** The operands that are results or those that are not, vectors and pairs spread out. */
  static List<Operand> operands(Instruction instruction, boolean results) {
    var all = new ArrayList<Operand>();
    for (int i = 0; i < instruction.operands().size(); i++) {
      var kind = instruction.form().operands().get(i).kind();
      if ((kind == OperandSlot.Kind.RESULT) == results) {
        all.addAll(spread(instruction.operands().get(i)).toList());
      }
    }
    all.addAll(instruction.form().implied(results));
    return all;
  }

  static Stream<Operand> spread(Operand operand) {
    return switch (operand) {
      case Operand.Vector v -> v.elements().stream();
      case Operand.Pair p -> Stream.of(p.first(), p.second());
      default -> Stream.of(operand);
    };
  }

  /** The value of an operand that is the same in all lanes, in the carrier of the type. */
  @Nullable Object scalar(Operand operand, Type type) {
    return switch (operand) {
      case Operand.Immediate literal -> Storage.scalar(literal, type);
      case Operand.Symbol symbol -> {
        int offset =
            kernel
                .sharedOffset(symbol.name())
                .orElseThrow(() ->
                    new IllegalArgumentException(
                        "the kernel has no shared array " + symbol.name()));
        yield Storage.scalar(Operand.Immediate.of(offset), type);
      }
      default -> null;
    };
  }

  private Lanes source(Operand operand, Type type) {
    var scalar = scalar(operand, type);
    if (scalar != null) {
      return registers.constant(Storage.of(type.registerClass()), scalar);
    }
    return switch (operand) {
      case Operand.Register register -> registers.of(register);
      case SpecialRegister register -> registers.of(register);
      default -> throw new IllegalArgumentException(operand + " cannot be read");
    };
  }
}
