package dev.athanor.engine.emulator.jit;

import static java.lang.constant.ConstantDescs.CD_boolean;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.athanor.engine.emulator.lanes.LaneCode;
import dev.athanor.engine.emulator.lanes.LaneCode.Local;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.program.Binder;
import dev.athanor.engine.emulator.program.ProgramFlow;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.LoadStore;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.meaning.LaneSemantics;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Writes the method of one segment: a loop over the active lanes, which executes the segment for
 * one thread after another. The method's parameters are the instruction at which the threads enter,
 * the first warp, and the end of the warps; its result is that of {@link CompiledCode#run}.
 */
final class SegmentWriter {

  private static final ClassDesc BAILOUT = Bailout.class.describeConstable().orElseThrow();
  private static final ClassDesc OUT_OF_BOUNDS =
      ArrayIndexOutOfBoundsException.class.describeConstable().orElseThrow();
  private static final ClassDesc INTS = CD_int.arrayType();
  private static final ClassDesc BLOCK = Block.class.describeConstable().orElseThrow();

  /** The parameters of the method. */
  private static final int ENTRY = 1;

  private static final int FIRST = 2;
  private static final int END = 3;

  /**
   * Local variables that record where threads leave.
   *
   * @param pc where the current thread leaves
   * @param common where the first thread left
   * @param different not 0 if threads have left at different instructions
   */
  private record ExitLocals(int pc, int common, int different) {}

  private final CompiledMembers members;
  private final ProgramFlow flow;
  private final Binder binder;
  private final CodeBuilder code;
  private final Segment segment;

  /** The loads and stores, except those of parameters. */
  private final List<Integer> accesses;

  /** The targets of branches within the segment, and of entries. */
  private final Map<Integer, Label> targets = new HashMap<>();

  private final Map<Integer, Label> exits = new LinkedHashMap<>();
  private final Map<Integer, Local> parameters = new HashMap<>();
  private boolean jumpsBackward;

  // local variables of the method
  private final int lane;
  private final int remainingJumps;
  private final int jumpCost;
  private final int words;

  /** Whether a thread has executed a store. */
  private final int stored;

  /** The load or store that the current thread executes. */
  private final int access;

  private final LaneCode laneCode;
  private final SegmentRegisters registers;
  private final MemoryCode memory;

  SegmentWriter(
      CompiledMembers members, ProgramFlow flow, Binder binder, CodeBuilder code, Segment segment) {
    this.members = members;
    this.flow = flow;
    this.binder = binder;
    this.code = code;
    this.segment = segment;
    this.accesses = accesses();
    this.lane = code.allocateLocal(TypeKind.INT);
    this.remainingJumps = code.allocateLocal(TypeKind.INT);
    this.jumpCost = code.allocateLocal(TypeKind.INT);
    this.words = code.allocateLocal(TypeKind.REFERENCE);
    this.stored = code.allocateLocal(TypeKind.INT);
    this.access = code.allocateLocal(TypeKind.INT);
    this.laneCode = new LaneCode(code, lane, lane);
    this.registers = new SegmentRegisters(members, flow, binder, code, laneCode, segment);
    this.memory = new MemoryCode(members, registers, code, laneCode, words);
  }

  private List<Integer> accesses() {
    var pcs = new ArrayList<Integer>();
    for (int pc = segment.from(); pc < segment.to(); pc++) {
      var instruction = flow.code().get(pc);
      var semantics = instruction.form().semantics();
      if (!binder.isParameter(instruction)
          && (semantics instanceof Semantics.Load || semantics instanceof Semantics.Store)) {
        pcs.add(pc);
      }
    }
    return pcs;
  }

  void write() {
    findTargets();
    code.iload(FIRST).loadConstant(5).ishl().istore(lane);
    registers.copyArrays();
    loadParameters();
    code.iconst_0().istore(stored);
    code.aload(0).getfield(CompiledMembers.BASE, "jumpCost", CD_int).istore(jumpCost);
    int active = code.allocateLocal(TypeKind.REFERENCE);
    code.aload(0).getfield(CompiledMembers.BASE, "active", INTS).astore(active);
    code.aload(0).getfield(CompiledMembers.BASE, "words", INTS).astore(words);
    var exit = exitLocals();
    code.iload(END).loadConstant(5).ishl().istore(END);
    var next = code.newLabel();
    var done = code.newLabel();
    var top = code.newBoundLabel();
    code.iload(lane).iload(END).if_icmpge(done);
    code.aload(active);
    laneCode.loadElement(RegisterStorage.MASK);
    code.ifeq(next);
    enter();
    var begin = code.newBoundLabel();
    for (int pc = segment.from(); pc < segment.to(); pc++) {
      instruction(pc);
    }
    if (fallsThrough(segment.to() - 1)) {
      code.goto_(exit(segment.to()));
    }
    var end = code.newBoundLabel();
    leave(exit);
    code.labelBinding(next).iinc(lane, 1).goto_(top);
    if (!accesses.isEmpty()) {
      catchBailout(begin, end, exit);
    }
    code.labelBinding(done);
    reportStores();
    returnExit(exit);
  }

  // before the loop over lanes

  private void findTargets() {
    for (int pc = segment.from(); pc < segment.to(); pc++) {
      var instruction = flow.code().get(pc);
      if (instruction.form().semantics() instanceof Semantics.Branch) {
        int target = flow.target(instruction);
        if (segment.contains(target)) {
          targets.computeIfAbsent(target, _ -> code.newLabel());
          jumpsBackward |= target <= pc;
        }
      }
    }
  }

  /** Parameters are the same for all threads: they are loaded before the loop. */
  private void loadParameters() {
    for (int pc = segment.from(); pc < segment.to(); pc++) {
      var instruction = flow.code().get(pc);
      if (binder.isParameter(instruction)) {
        parameters.put(pc, memory.loadParameter(pc, instruction));
      }
    }
  }

  private ExitLocals exitLocals() {
    var exit =
        new ExitLocals(
            code.allocateLocal(TypeKind.INT),
            code.allocateLocal(TypeKind.INT),
            code.allocateLocal(TypeKind.INT));
    code.loadConstant(CompiledCode.DIVERGED).istore(exit.common);
    code.iconst_0().istore(exit.different);
    return exit;
  }

  // where a thread enters and leaves

  private void enter() {
    if (jumpsBackward) {
      code.loadConstant(CompiledCode.TURN).istore(remainingJumps);
    }
    if (!accesses.isEmpty()) {
      // at a bailout all these registers are stored, hence they need values before any access
      code.loadConstant(segment.from()).istore(access);
      registers.clearWritten(this::isLiveAtAccess);
    }
    var entries = segment.entries(flow);
    if (entries.size() == 1) {
      registers.loadLive(segment.from());
      return;
    }
    var cases = new ArrayList<SwitchCase>();
    entries.forEach(pc -> cases.add(SwitchCase.of(pc, code.newLabel())));
    code.iload(ENTRY).lookupswitch(cases.getFirst().target(), cases);
    // the first case comes last, as it falls through to its instruction
    for (var each : cases.reversed()) {
      code.labelBinding(each.target());
      registers.loadLive(each.caseValue());
      if (each.caseValue() != segment.from()) {
        code.goto_(targets.computeIfAbsent(each.caseValue(), _ -> code.newLabel()));
      }
    }
  }

  /** Whether the value of a register is needed after a bailout. */
  private boolean isLiveAtAccess(Register register) {
    return accesses.stream().anyMatch(pc -> flow.isLive(register, pc));
  }

  private Label exit(int pc) {
    return exits.computeIfAbsent(pc, _ -> code.newLabel());
  }

  private void leave(ExitLocals exit) {
    var leave = code.newLabel();
    exits.forEach((pc, label) -> {
      code.labelBinding(label);
      registers.storeWritten(register -> flow.isLive(register, pc));
      code.loadConstant((int) pc).istore(exit.pc).goto_(leave);
    });
    code.labelBinding(leave);
    if (exits.size() > 1 || !accesses.isEmpty()) {
      code.aload(0).getfield(CompiledMembers.BASE, "exits", INTS);
      code.iload(lane).iload(exit.pc).iastore();
    }
    var known = code.newLabel();
    code.iload(exit.common).ifge(known).iload(exit.pc).istore(exit.common);
    code.labelBinding(known).iload(exit.different);
    code.iload(exit.common).iload(exit.pc).ixor().ior().istore(exit.different);
  }

  /** Leaves the segment before the access that the current thread cannot execute. */
  private void catchBailout(Label begin, Label end, ExitLocals exit) {
    var handler = code.newBoundLabel();
    code.exceptionCatch(begin, end, handler, BAILOUT);
    code.exceptionCatch(begin, end, handler, OUT_OF_BOUNDS);
    code.pop();
    registers.storeWritten(this::isLiveAtAccess);
    code.aload(0).iload(lane).iload(access).iload(ENTRY).iload(END);
    code.invokevirtual(
        CompiledMembers.BASE,
        "bailOut",
        MethodTypeDesc.of(CD_void, CD_int, CD_int, CD_int, CD_int));
    code.iconst_1().istore(exit.different);
  }

  // after the loop over lanes

  /** Reports stores to the block, which detects by them whether its threads make progress. */
  private void reportStores() {
    var stores =
        segment.instructions(flow).stream()
            .filter(i -> i.form().semantics() instanceof Semantics.Store)
            .toList();
    if (!stores.isEmpty()) {
      var none = code.newLabel();
      code.iload(stored).ifeq(none);
      code.aload(0).getfield(CompiledMembers.BASE, "block", BLOCK);
      boolean local = stores.stream().allMatch(LoadStore::staysInside);
      code.invokevirtual(BLOCK, local ? "progress" : "stored", MethodTypeDesc.of(CD_void));
      code.labelBinding(none);
    }
  }

  private void returnExit(ExitLocals exit) {
    var same = code.newLabel();
    code.iload(exit.different).ifeq(same).loadConstant(CompiledCode.DIVERGED).ireturn();
    code.labelBinding(same).iload(exit.common).ireturn();
  }

  // instructions

  private boolean fallsThrough(int pc) {
    var instruction = flow.code().get(pc);
    return instruction.guard() != null
        || !(instruction.form().semantics() instanceof Semantics.Branch);
  }

  private void instruction(int pc) {
    var label = targets.get(pc);
    if (label != null) {
      code.labelBinding(label);
    }
    var instruction = flow.code().get(pc);
    var skip = code.newLabel();
    skipUnless(instruction.guard(), skip);
    switch (instruction.form().semantics()) {
      case Semantics.Branch _ -> branch(pc, flow.target(instruction));
      case Semantics.Load _ when binder.isParameter(instruction) -> {
        laneCode.load(Objects.requireNonNull(parameters.get(pc)));
        laneCode.store(registers.local((Register) instruction.operands().getFirst()));
      }
      case Semantics.Load _ -> {
        code.loadConstant(pc).istore(access);
        memory.load(pc, instruction);
      }
      case Semantics.Store _ -> {
        code.loadConstant(pc).istore(access);
        memory.store(pc, instruction);
        code.iconst_1().istore(stored);
      }
      case Semantics.AwaitPreviousGrid _, Semantics.LaunchDependents _, Semantics.NoEffect _ -> {}
      case Semantics.Pure _ -> compute(instruction);
      case Semantics.Computation _,
          Semantics.Access _,
          Semantics.Asynchronous _,
          Semantics.Completion _,
          Semantics.Fence _,
          Semantics.Barrier _,
          Semantics.WarpBarrier _,
          Semantics.ClusterArrive _,
          Semantics.ClusterWait _,
          Semantics.TensorMapUpdate _,
          Semantics.Control _ ->
          throw new IllegalStateException(instruction + " is not compiled");
    }
    code.labelBinding(skip);
  }

  private void skipUnless(@Nullable Guard guard, Label skip) {
    if (guard != null) {
      laneCode.load(registers.local(guard.predicate()));
      if (guard.negated()) {
        code.ifne(skip);
      } else {
        code.ifeq(skip);
      }
    }
  }

  /** A jump backward ends the thread's turn if it has no more jumps. */
  private void branch(int pc, int target) {
    var label = segment.contains(target) ? targets.get(target) : exit(target);
    if (segment.contains(target) && target <= pc) {
      code.iload(remainingJumps).iload(jumpCost).isub().dup().istore(remainingJumps).ifgt(label);
      code.aload(0).iconst_1().putfield(CompiledMembers.BASE, "turnEnded", CD_boolean);
      code.goto_(exit(target));
    } else {
      code.goto_(label);
    }
  }

  /** Computes the lane functions of an instruction. */
  private void compute(Instruction instruction) {
    var sources = Binder.operands(instruction, false);
    var types = LaneSemantics.types(instruction.form(), instruction.modifiers(), false);
    var operands = new ArrayList<LaneCode.Source>();
    for (int i = 0; i < sources.size(); i++) {
      var source = sources.get(i);
      var type = types.get(i);
      operands.add(carrier -> registers.push(source, type, carrier));
    }
    var destinations =
        Binder.operands(instruction, true).stream()
            .map(result -> registers.local((Register) result))
            .toList();
    // all sources are read before a register is written
    boolean direct = destinations.size() == 1;
    var results =
        direct
            ? destinations
            : destinations.stream().map(local -> laneCode.allocate(local.carrier())).toList();
    laneCode.compute(
        members.functions(instruction),
        (function, push) -> members.evaluate(code, function, push),
        operands,
        results);
    if (!direct) {
      for (int i = 0; i < results.size(); i++) {
        laneCode.load(results.get(i));
        laneCode.store(destinations.get(i));
      }
    }
  }
}
