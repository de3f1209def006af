package dev.athanor.engine.emulator.program;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.async.AsyncState;
import dev.athanor.engine.emulator.memory.ModuleVariables;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.table.InstructionTable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** A decoded kernel with resolved labels. */
public final class Program {

  /** Maximum local memory of a thread on any device (CUDA programming guide 16.2). */
  private static final int MAX_LOCAL_BYTES = 512 << 10;

  private final Kernel written;
  private final Set<Integer> added = new HashSet<>();
  private final Kernel kernel;

  /** The addresses of local variables, shared arrays and parameters in their state spaces. */
  private final Map<String, Integer> offsets = new HashMap<>();

  private final ModuleVariables variables;
  private final Set<SpecialRegister> special;
  private final Set<Operand.Register> registers;
  private final List<Instruction> instructions = new ArrayList<>();
  private final Map<String, Integer> labels = new HashMap<>();

  /**
   * Decodes a kernel.
   *
   * @param variables the variables of its module
   * @throws IllegalArgumentException if the kernel cannot be executed
   */
  public Program(Kernel given, ModuleVariables variables) {
    this.written = given;
    var additions = Collections.<Instruction>newSetFromMap(new IdentityHashMap<>());
    this.kernel =
        AwaitedProducts.in(
            CanonicalNans.in(Normalizer.normal(given, additions), additions), additions);
    if (kernel.localBytes() > MAX_LOCAL_BYTES) {
      throw new IllegalArgumentException(
          "kernel %s takes %d bytes of local memory per thread; the maximum is %d; use fewer or smaller .local arrays"
              .formatted(kernel.name(), kernel.localBytes(), MAX_LOCAL_BYTES));
    }
    offsets.putAll(kernel.parameterOffsets());
    offsets.putAll(kernel.sharedOffsets());
    offsets.putAll(kernel.localOffsets());
    this.variables = variables;
    this.special =
        kernel
            .instructions()
            .flatMap(i -> i.operands().stream())
            .filter(SpecialRegister.class::isInstance)
            .map(SpecialRegister.class::cast)
            .collect(Collectors.toUnmodifiableSet());
    var all = new LinkedHashSet<>(kernel.registers());
    all.add(Operand.Register.CARRY);
    this.registers = Collections.unmodifiableSet(all);
    for (var statement : kernel.body()) {
      switch (statement) {
        case Statement.Label label -> {
          if (labels.put(label.name(), instructions.size()) != null) {
            throw new IllegalArgumentException(
                "label %s is defined again at %s".formatted(label.name(), label.source()));
          }
        }
        case Instruction instruction -> {
          if (additions.contains(instruction)) {
            added.add(instructions.size());
          }
          instructions.add(instruction);
        }
        case Statement.Prototype _, Statement.TargetList _ -> {}
      }
    }
    // control returns at the end of the body
    var end = InstructionTable.find("ret", List.of());
    instructions.add(new Instruction(end.form(), end.modifiers(), List.of(), null, Source.UNKNOWN));
  }

  /** Returns the kernel as given. */
  public Kernel written() {
    return written;
  }

  /** Returns the kernel as executed, after normalization. */
  public Kernel kernel() {
    return kernel;
  }

  /** Returns the indices of instructions that normalization added and that observers do not see. */
  public Set<Integer> added() {
    return added;
  }

  public ModuleVariables variables() {
    return variables;
  }

  public List<Instruction> instructions() {
    return instructions;
  }

  /**
   * Returns the address of a variable, array or parameter in its state space.
   *
   * @throws IllegalArgumentException if there is none of this name
   */
  long address(String name) {
    var own = offsets.get(name);
    if (own != null) {
      return own;
    }
    return variables
        .address(name)
        .orElseThrow(() -> new IllegalArgumentException("no such variable: " + name));
  }

  /** Returns registers for blocks of a shape. */
  public Registers registers(Dim3 shape) {
    return new Registers(registers, special, (int) Math.ceilDiv(shape.count(), Warps.SIZE));
  }

  /** Returns a binder for a block. */
  public Binder binder(Block block, AsyncState async) {
    return new Binder(this, labels, block, async);
  }

  /** Returns the control flow and live registers of the instructions. */
  public ProgramFlow flow() {
    return new ProgramFlow(instructions, labels);
  }
}
