package dev.athanor.engine.emulator.jit;

import dev.athanor.engine.emulator.lanes.LaneCode;
import dev.athanor.engine.emulator.lanes.LaneCode.Local;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.program.Binder;
import dev.athanor.engine.emulator.program.ProgramFlow;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Emits the access of a segment to its operands. Registers are local variables while a thread is in
 * the segment: those that are live are loaded from their arrays where the thread enters, and those
 * that the segment writes are stored where it leaves.
 */
final class SegmentRegisters {

  private final CompiledMembers members;
  private final ProgramFlow flow;
  private final Binder binder;
  private final CodeBuilder code;
  private final LaneCode laneCode;
  private final Segment segment;
  private final Map<Register, Local> locals = new LinkedHashMap<>();
  private final Map<Operand, Integer> arrays = new HashMap<>();
  private final Set<Register> written = new LinkedHashSet<>();

  SegmentRegisters(
      CompiledMembers members,
      ProgramFlow flow,
      Binder binder,
      CodeBuilder code,
      LaneCode laneCode,
      Segment segment) {
    this.members = members;
    this.flow = flow;
    this.binder = binder;
    this.code = code;
    this.laneCode = laneCode;
    this.segment = segment;
    allocate();
  }

  /** Allocates local variables, first for the most used registers, as their code is short. */
  private void allocate() {
    var uses = new LinkedHashMap<Register, Integer>();
    for (var instruction : segment.instructions(flow)) {
      ProgramFlow.reads(instruction).forEach(r -> uses.merge(r, 1, Integer::sum));
      ProgramFlow.writes(instruction).forEach(r -> uses.merge(r, 1, Integer::sum));
      written.addAll(ProgramFlow.writes(instruction));
    }
    uses.entrySet().stream()
        .sorted(Map.Entry.<Register, Integer>comparingByValue(Comparator.reverseOrder()))
        .map(Map.Entry::getKey)
        .forEach(r -> locals.put(r, laneCode.allocate(storage(r).carrier())));
  }

  /** Copies the arrays to local variables: the JIT then checks bounds once for all lanes. */
  void copyArrays() {
    for (var instruction : segment.instructions(flow)) {
      for (var operand : Binder.operands(instruction, false)) {
        if (operand instanceof SpecialRegister special && !arrays.containsKey(special)) {
          members.registerArray(code, special);
          popArray(special);
        }
      }
    }
    for (var register : locals.keySet()) {
      members.registerArray(code, register);
      popArray(register);
    }
  }

  private void popArray(Operand register) {
    int local = code.allocateLocal(TypeKind.REFERENCE);
    code.astore(local);
    arrays.put(register, local);
  }

  private void pushArray(Operand register) {
    var local = arrays.get(register);
    if (local == null) {
      throw new IllegalStateException("no local variable for the array of " + register);
    }
    code.aload(local);
  }

  Local local(Register register) {
    var local = locals.get(register);
    if (local == null) {
      throw new IllegalStateException("no local variable for " + register);
    }
    return local;
  }

  private static RegisterStorage storage(Register register) {
    return RegisterStorage.of(register.registerClass());
  }

  /** Loads the registers that are live before an instruction. */
  void loadLive(int pc) {
    for (var register : locals.keySet()) {
      if (flow.isLive(register, pc)) {
        pushArray(register);
        laneCode.loadElement(storage(register));
        laneCode.store(local(register));
      }
    }
  }

  /** Stores the registers that the segment writes and that a condition selects. */
  void storeWritten(Predicate<Register> condition) {
    for (var register : written) {
      if (condition.test(register)) {
        pushArray(register);
        laneCode.storeElement(storage(register), local(register));
      }
    }
  }

  /** Sets the registers that the segment writes and that a condition selects to 0. */
  void clearWritten(Predicate<Register> condition) {
    for (var register : written) {
      if (condition.test(register)) {
        laneCode.clear(local(register));
      }
    }
  }

  /**
   * Pushes a source operand.
   *
   * @param type of the operand
   * @param carrier in which its value is pushed
   */
  void push(Operand operand, Type type, Class<?> carrier) {
    var scalar = binder.scalar(operand, type);
    if (scalar != null) {
      laneCode.constant(scalar);
      laneCode.convert(RegisterStorage.of(type.registerClass()).carrier(), carrier);
      return;
    }
    switch (operand) {
      case Register register -> laneCode.load(local(register), carrier);
      case SpecialRegister register -> {
        var storage = RegisterStorage.of(register.type().registerClass());
        pushArray(register);
        laneCode.loadElement(storage);
        laneCode.convert(storage.carrier(), carrier);
      }
      default -> throw new IllegalArgumentException(operand + " is no source operand");
    }
  }
}
