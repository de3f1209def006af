package dev.athanor.engine.emulator.program;

import dev.athanor.engine.emulator.async.AsyncBinder;
import dev.athanor.engine.emulator.async.AsyncCopies;
import dev.athanor.engine.emulator.async.AsyncState;
import dev.athanor.engine.emulator.async.BulkGroups;
import dev.athanor.engine.emulator.async.WgmmaSteps;
import dev.athanor.engine.emulator.lanes.LaneLoops;
import dev.athanor.engine.emulator.lanes.LaneOperand;
import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.step.Atomic;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.BoundInstruction;
import dev.athanor.engine.emulator.step.BoundInstruction.Barrier;
import dev.athanor.engine.emulator.step.BoundInstruction.Kind;
import dev.athanor.engine.emulator.step.ClusterBarrier;
import dev.athanor.engine.emulator.step.LoadStore;
import dev.athanor.engine.emulator.step.MatrixSteps;
import dev.athanor.engine.emulator.step.RuntimeCall;
import dev.athanor.engine.emulator.step.SimpleSteps;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.emulator.step.WarpSteps;
import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.OperandSlot.Name;
import dev.athanor.engine.ptx.RuntimeFunction;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.BarrierKind;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.WarpFunction;
import dev.athanor.engine.ptx.meaning.LaneSemantics;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Binds the instructions of a program to the registers of a block. */
public final class Binder {

  private static final Set<SpecialRegister> CLOCKS =
      EnumSet.of(
          SpecialRegister.CLOCK,
          SpecialRegister.CLOCK_HI,
          SpecialRegister.CLOCK64,
          SpecialRegister.GLOBALTIMER,
          SpecialRegister.GLOBALTIMER_LO,
          SpecialRegister.GLOBALTIMER_HI);

  private final Program program;
  private final Map<String, Integer> labels;
  private final Block block;
  private final AsyncState async;
  private final Registers registers;
  private final Map<String, WarpFunction> functions = new HashMap<>();

  Binder(Program program, Map<String, Integer> labels, Block block, AsyncState async) {
    this.program = program;
    this.labels = labels;
    this.block = block;
    this.async = async;
    this.registers = block.registers;
  }

  /**
   * Binds an instruction.
   *
   * @throws IllegalArgumentException if its operands are invalid, naming the instruction
   */
  public BoundInstruction bind(Instruction instruction) {
    try {
      return bindChecked(instruction);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "%s (\"%s\" at %s)".formatted(e.getMessage(), instruction, instruction.source()), e);
    }
  }

  private BoundInstruction bindChecked(Instruction i) {
    return switch (i.form().semantics()) {
      case Semantics.Pure _ -> op(Kind.STRAIGHT, i, pure(i));
      case Semantics.Load _ -> op(Kind.STRAIGHT, i, access(i, 1, 0, true));
      case Semantics.Store _ -> op(Kind.STRAIGHT, i, access(i, 0, 1, false));
      case Semantics.Warp warp -> op(Kind.COLLECTIVE, i, warp(i, warp.function()));
      case Semantics.Converged converged -> op(Kind.STRAIGHT, i, warp(i, converged.function()));
      case Semantics.WarpBarrier _ -> op(Kind.COLLECTIVE, i, warp(i, (_, _, _) -> {}));
      case Semantics.LoadMatrix matrix ->
          op(Kind.COLLECTIVE, i, matrix(i, 1, matrix.fragment(), true));
      case Semantics.StoreMatrix matrix ->
          op(Kind.COLLECTIVE, i, matrix(i, 0, matrix.fragment(), false));
      case Semantics.LoadTile _ -> op(Kind.COLLECTIVE, i, tile(i, 1, 0, true));
      case Semantics.StoreTile _ -> op(Kind.COLLECTIVE, i, tile(i, 0, 1, false));
      case Semantics.AsyncCopy _ -> op(Kind.STRAIGHT, i, copy(i));
      case Semantics.CommitGroup _ -> op(Kind.STRAIGHT, i, async.copies().new Commit());
      case Semantics.WaitGroup _ ->
          op(
              Kind.STRAIGHT,
              i,
              async.copies()
              .new Wait(i.operands().isEmpty() ? AsyncCopies.Wait.ALL : (int) literal(i, 0)));
      case Semantics.Atomic atomic -> op(Kind.STRAIGHT, i, atomic(i, atomic));
      case Semantics.Fence _ ->
          op(
              Kind.STRAIGHT,
              i,
              i.operands().isEmpty() ? new SimpleSteps.Fence() : async(i).fenceMap());
      // launches run one after the other
      case Semantics.AwaitPreviousGrid _, Semantics.LaunchDependents _, Semantics.NoEffect _ ->
          op(Kind.STRAIGHT, i, new SimpleSteps.NoEffect());
      case Semantics.ClusterRank _ ->
          op(
              Kind.STRAIGHT,
              i,
              new SimpleSteps.ClusterRank(
                  block,
                  registers.of((Operand.Register) i.operands().get(0)),
                  source(i.operands().get(1), i.modifiers().type().orElseThrow())));
      case Semantics.ClusterArrive _ -> op(Kind.STRAIGHT, i, new ClusterBarrier.Arrive(block, i));
      case Semantics.ClusterWait _ -> op(Kind.EVENT, i, new ClusterBarrier.Wait(block, i));
      case Semantics.Trap _ -> op(Kind.STRAIGHT, i, new SimpleSteps.Trap(block, i));
      case Semantics.Barrier barrier ->
          op(Kind.BARRIER, i, new SimpleSteps.Nothing(i), 0, barrier(i, barrier.kind()));
      case Semantics.Mbarrier mbarrier ->
          switch (mbarrier.kind()) {
            case TRY_WAIT -> op(Kind.EVENT, i, async(i).tryWait());
            case TEST_WAIT -> op(Kind.STRAIGHT, i, async(i).testWait());
            case INIT, INVAL, EXPECT, COMPLETE, ARRIVE, DROP ->
                op(Kind.STRAIGHT, i, async(i).operate(mbarrier.kind()));
          };
      case Semantics.CopyArrive _ -> op(Kind.STRAIGHT, i, async(i).copyArrive());
      case Semantics.BulkCopy _ -> op(Kind.STRAIGHT, i, async(i).bulkCopy());
      case Semantics.TensorCopy _ -> op(Kind.STRAIGHT, i, async(i).tensorCopy());
      case Semantics.CommitBulk _ ->
          op(Kind.STRAIGHT, i, new BulkGroups.Commit(async.bulkGroups()));
      case Semantics.WaitBulk _ ->
          op(
              Kind.STRAIGHT,
              i,
              new BulkGroups.Wait(
                  async.bulkGroups(), (int) literal(i, 0), i.modifiers().has("read")));
      case Semantics.StoreAsync _ -> op(Kind.STRAIGHT, i, async(i).storeAsync());
      case Semantics.ReplaceInTensorMap _ -> op(Kind.STRAIGHT, i, async(i).replace());
      case Semantics.CopyTensorMap _ -> op(Kind.COLLECTIVE, i, async(i).copyMap());
      case Semantics.Wgmma _ -> op(Kind.COLLECTIVE, i, async(i).multiply());
      case Semantics.WgmmaCommit _ -> op(Kind.COLLECTIVE, i, new WgmmaSteps.Commit(async, i));
      case Semantics.WgmmaWait _ ->
          op(
              Kind.EVENT,
              i,
              new WgmmaSteps.Wait(
                  async, i, i.operands().isEmpty() ? WgmmaSteps.Wait.ALL : (int) literal(i, 0)));
      case Semantics.TensorMemory use ->
          switch (use.kind()) {
            case MULTIPLY, COMMIT, FENCE -> op(Kind.STRAIGHT, i, async(i).tensorMemory(use.kind()));
            case ALLOCATE, DEALLOCATE, RELINQUISH, LOAD, STORE, WAIT_LOADS, WAIT_STORES ->
                op(Kind.COLLECTIVE, i, async(i).tensorMemory(use.kind()));
          };
      case Semantics.Branch _ ->
          op(Kind.BRANCH, i, new SimpleSteps.Nothing(i), label(i.operands().getFirst()), null);
      case Semantics.Exit _ -> op(Kind.EXIT, i, new SimpleSteps.Nothing(i));
      case Semantics.RuntimeCall call -> op(Kind.STRAIGHT, i, runtimeCall(i, call.function()));
      case Semantics.Call _, Semantics.IndexedBranch _ ->
          throw new IllegalArgumentException("a call must be inlined first");
    };
  }

  private BoundInstruction op(Kind kind, Instruction instruction, Step step) {
    return op(kind, instruction, step, 0, null);
  }

  private BoundInstruction op(
      Kind kind, Instruction instruction, Step step, int target, @Nullable Barrier barrier) {
    var guard = instruction.guard();
    var predicate = guard == null ? null : registers.of(guard.predicate());
    return new BoundInstruction(
        kind, instruction, timed(instruction, step), target, predicate, barrier);
  }

  /** Returns the clocks that an instruction reads. */
  public static List<SpecialRegister> clocks(Instruction instruction) {
    return instruction.operands().stream()
        .filter(SpecialRegister.class::isInstance)
        .map(SpecialRegister.class::cast)
        .filter(CLOCKS::contains)
        .toList();
  }

  /** Wraps a step that reads clocks. */
  private Step timed(Instruction instruction, Step step) {
    var clocks = clocks(instruction).stream().map(registers::of).toList();
    return clocks.isEmpty() ? step : new SimpleSteps.Timed(block, clocks, step);
  }

  private Barrier barrier(Instruction instruction, BarrierKind kind) {
    Lanes number = null;
    Lanes threads = null;
    Lanes predicate = null;
    Lanes result = null;
    for (int i = 0; i < instruction.operands().size(); i++) {
      var slot = instruction.form().operands().get(i);
      var operand = instruction.operands().get(i);
      switch (slot.name()) {
        case A -> number = source(operand, Type.U32);
        case B -> threads = source(operand, Type.U32);
        case C -> predicate = source(operand, Type.PRED);
        default -> result = registers.of((Operand.Register) operand);
      }
    }
    return new Barrier(kind, Objects.requireNonNull(number), threads, predicate, result);
  }

  private Step runtimeCall(Instruction instruction, RuntimeFunction function) {
    var offsets =
        instruction.operands().stream()
            .mapToLong(variable -> program.address(((Operand.Address) variable).base().toString()))
            .toArray();
    return new RuntimeCall(block, instruction, function, offsets);
  }

  private AsyncBinder async(Instruction instruction) {
    return new AsyncBinder(async, instruction, this::source);
  }

  private Step atomic(Instruction instruction, Semantics.Atomic atomic) {
    var type = instruction.modifiers().type().orElseThrow();
    int address = operands(instruction, true).isEmpty() ? 0 : 1;
    var operands = instruction.operands();
    var slots = instruction.form().operands();
    boolean compares = operands.size() > address + 2 && slots.get(address + 2).name() == Name.C;
    return new Atomic(
        block,
        instruction,
        addresses(instruction, address),
        atomic.function(),
        operands(instruction, true).stream().map(o -> registers.of((Operand.Register) o)).toList(),
        spread(operands.get(address + 1)).map(o -> source(o, type)).toList(),
        compares ? source(operands.get(address + 2), type) : null,
        type.bytes());
  }

  private Step pure(Instruction instruction) {
    var form = instruction.form();
    var modifiers = instruction.modifiers();
    var resultPlaces = new ArrayList<LaneOperand>();
    var results = new ArrayList<Object>();
    for (var operand : operands(instruction, true)) {
      var lanes = registers.of((Operand.Register) operand);
      resultPlaces.add(new LaneOperand(lanes.storage(), false));
      results.add(lanes.array());
    }
    var types = LaneSemantics.types(form, modifiers, false);
    var sourcePlaces = new ArrayList<LaneOperand>();
    var sources = new ArrayList<Object>();
    var operands = operands(instruction, false);
    for (int i = 0; i < operands.size(); i++) {
      var scalar = scalar(operands.get(i), types.get(i));
      if (scalar != null) {
        sourcePlaces.add(new LaneOperand(RegisterStorage.of(types.get(i).registerClass()), true));
        sources.add(scalar);
      } else {
        var lanes = source(operands.get(i), types.get(i));
        sourcePlaces.add(new LaneOperand(lanes.storage(), false));
        sources.add(lanes.array());
      }
    }
    return new SimpleSteps.Pure(
        block,
        LaneLoops.bind(
            form, modifiers, resultPlaces, results.toArray(), sourcePlaces, sources.toArray()));
  }

  private Step access(Instruction instruction, int address, int value, boolean load) {
    var type = instruction.modifiers().type().orElseThrow();
    var values =
        spread(instruction.operands().get(value)).map(operand -> source(operand, type)).toList();
    var cells = values.stream().map(lanes -> LaneAccess.of(type, lanes)).toArray(LaneAccess[]::new);
    return new LoadStore(
        block, instruction, addresses(instruction, address), cells, values, type.bytes(), load);
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
        if (slot.name() == Name.MEMBER_MASK) {
          members = given.getFirst().ints();
        }
      }
    }
    var results =
        operands(instruction, true).stream().map(o -> registers.of((Operand.Register) o)).toList();
    var bound =
        functions.computeIfAbsent(
            instruction.form().syntax() + instruction.modifiers(),
            _ -> function.bind(instruction.modifiers(), block.target));
    return new WarpSteps.Call(block, instruction, bound, results, sources, members);
  }

  private Step matrix(Instruction instruction, int address, Fragment fragment, boolean load) {
    var registers =
        spread(instruction.operands().get(1 - address))
            .map(operand -> source(operand, Type.B32).ints())
            .toList();
    return new MatrixSteps.Rows(
        block, instruction, addresses(instruction, address), fragment, registers, load);
  }

  private Step tile(Instruction instruction, int address, int value, boolean load) {
    var slot = instruction.form().operands().get(value);
    var registers =
        spread(instruction.operands().get(value))
            .map(operand -> source(operand, slot.type(instruction.modifiers())))
            .toList();
    var stride =
        instruction.operands().size() > 2
            ? source(instruction.operands().get(2), Type.U32).ints()
            : null;
    return new MatrixSteps.Tile(
        block, instruction, addresses(instruction, address), stride, registers, load);
  }

  private Step copy(Instruction instruction) {
    var valid = operand(instruction, Name.SOURCE_SIZE);
    var ignored = operand(instruction, Name.IGNORE_SOURCE);
    return async.copies()
    .new Copy(
        instruction,
        addresses(instruction, 0),
        addresses(instruction, 1),
        (int) literal(instruction, 2),
        valid == null ? null : source(valid, Type.U32).ints(),
        ignored == null ? null : source(ignored, Type.PRED).ints());
  }

  /** Returns the operand in the slot of a name; null if the row has none. */
  private static @Nullable Operand operand(Instruction instruction, Name name) {
    var slots = instruction.form().operands();
    for (int i = 0; i < slots.size(); i++) {
      if (slots.get(i).name() == name) {
        return instruction.operands().get(i);
      }
    }
    return null;
  }

  private Addresses addresses(Instruction instruction, int operand) {
    var space = instruction.form().operands().get(operand).space(instruction.modifiers());
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
      throw new IllegalArgumentException("no such label: " + operand);
    }
    return target;
  }

  private static long literal(Instruction instruction, int operand) {
    return ((Operand.Immediate) instruction.operands().get(operand)).bits();
  }

  /**
   * Returns the operands that are results, or those that are not, with vectors and pairs flattened.
   */
  public static List<Operand> operands(Instruction instruction, boolean results) {
    var all = new ArrayList<Operand>();
    for (int i = 0; i < instruction.operands().size(); i++) {
      var kind = instruction.form().operands().get(i).kind();
      if ((kind == OperandSlot.Kind.RESULT) == results) {
        all.addAll(spread(instruction.operands().get(i)).toList());
      }
    }
    all.addAll(instruction.form().impliedRegisters(results));
    return all;
  }

  public static Stream<Operand> spread(Operand operand) {
    return switch (operand) {
      case Operand.Vector v -> v.elements().stream();
      case Operand.Pair p -> Stream.of(p.first(), p.second());
      default -> Stream.of(operand);
    };
  }

  /**
   * Returns the value of an operand that is uniform across lanes, in the carrier of the type; null
   * otherwise.
   */
  public @Nullable Object scalar(Operand operand, Type type) {
    return switch (operand) {
      case Operand.Immediate literal -> RegisterStorage.scalar(literal, type);
      case Operand.Symbol symbol -> {
        long address = program.address(symbol.name()) + symbol.offset();
        yield RegisterStorage.scalar(new Operand.Immediate(Type.U64, address), type);
      }
      default -> null;
    };
  }

  /**
   * Returns whether an instruction loads a parameter by name without a guard, which gives all
   * threads the same value.
   */
  public boolean isParameter(Instruction instruction) {
    if (!(instruction.form().semantics() instanceof Semantics.Load)
        || Addresses.space(instruction) != Space.PARAM
        || instruction.guard() != null
        || !(instruction.operands().getFirst() instanceof Operand.Register)) {
      return false;
    }
    var address = (Operand.Address) instruction.operands().get(1);
    if (!(address.base() instanceof Operand.Symbol symbol)) {
      return false;
    }
    int bytes = instruction.modifiers().type().orElseThrow().bytes();
    long at = program.address(symbol.name()) + address.offset();
    return at >= 0 && at + bytes <= block.parameterMemory.segment().byteSize() && at % bytes == 0;
  }

  private Lanes source(Operand operand, Type type) {
    var scalar = scalar(operand, type);
    if (scalar != null) {
      return registers.constant(RegisterStorage.of(type.registerClass()), scalar);
    }
    return switch (operand) {
      case Operand.Register register -> registers.of(register);
      case SpecialRegister register -> registers.of(register);
      default -> throw new IllegalArgumentException(operand + " cannot be read");
    };
  }
}
