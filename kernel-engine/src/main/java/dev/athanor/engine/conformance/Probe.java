package dev.athanor.engine.conformance;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.OperandSlot.Name;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Version;
import dev.athanor.engine.ptx.table.InstructionTable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A register-to-register instruction in its own kernel, {@code kernel(.param .u64 in, .param .u64
 * out)}. Each thread reads an 8-byte word per source, executes the instruction, and writes a word
 * per result. The words of a thread are contiguous.
 *
 * @param carryWriter instruction that writes the carry flag, if the probed one reads it
 * @param sources sources, including the carry flag
 * @param results results, including the carry flag as each instruction that reads it sees it
 */
public record Probe(
    Instruction instruction,
    Optional<CarryWriter> carryWriter,
    List<Value> sources,
    List<Value> results) {

  /** Bytes per value in memory. */
  public static final int WORD = 8;

  /** Threads per block. */
  static final int BLOCK = 128;

  /** The tile of warpgroup products to probe; both factors have the same size. */
  private static final String WARPGROUP_TILE = ".m64n64k";

  /** Maximum number of literals to try per operand. */
  private static final int LITERALS = 5;

  /** The source of the carry flag: any nonzero word sets it. */
  static final Register CARRY_WORD = new Register(RegisterClass.B32, "%carry");

  /** An instruction that writes the carry flag, with operands for which it is {@code word != 0}. */
  record CarryWriter(String opcode, List<Operand> sources) {
    static final List<CarryWriter> ALL =
        List.of(
            new CarryWriter("add.cc.u32", List.of(CARRY_WORD, Immediate.of(-1))),
            new CarryWriter("sub.cc.u32", List.of(CARRY_WORD, Immediate.of(1))),
            new CarryWriter(
                "mad.lo.cc.u32", List.of(CARRY_WORD, Immediate.of(1), Immediate.of(-1))));
  }

  /** An instruction that reads the carry flag, with operands for which the result is the flag. */
  record CarryReader(String opcode, List<Operand> sources, Register result) {
    static final List<CarryReader> ALL =
        List.of(
            new CarryReader("addc.u32", List.of(Immediate.of(0), Immediate.of(0)), flag(0)),
            new CarryReader("subc.u32", List.of(Immediate.of(0), Immediate.of(-1)), flag(1)),
            new CarryReader(
                "madc.lo.u32",
                List.of(Immediate.of(0), Immediate.of(0), Immediate.of(0)),
                flag(2)));

    private static Register flag(int number) {
      return new Register(RegisterClass.B32, "%carry" + number);
    }
  }

  /**
   * A register and its operand.
   *
   * @param operand operand; {@link Name#C} for the carry flag
   */
  public record Value(Name operand, Type type, Register register) {}

  public Probe {
    sources = List.copyOf(sources);
    results = List.copyOf(results);
  }

  /** Returns a probe for every spelling of the register-to-register rows. */
  public static List<Probe> all(Target target) {
    var all = new ArrayList<Probe>();
    for (var form : InstructionTable.all()) {
      boolean product = isSharedWarpgroupProduct(form);
      if (!computes(form) && !product) {
        continue;
      }
      for (var modifiers : form.allModifiers()) {
        if (!target.canRun(form.since(modifiers).target())
            || form.isRemoved(supportingVersion(target), target)) {
          continue;
        }
        if (!product) {
          addTo(all, form, modifiers);
        } else if (modifiers.toString().contains(WARPGROUP_TILE)) {
          all.add(warpgroupProduct(form, modifiers));
        }
      }
    }
    return all;
  }

  private static boolean computes(InstructionForm form) {
    boolean ofRegisters =
        form.semantics() instanceof Semantics.Pure
            || form.semantics() instanceof Semantics.Warp
            || form.semantics() instanceof Semantics.Converged;
    return ofRegisters
        && form.operands().stream().anyMatch(slot -> slot.kind() == OperandSlot.Kind.RESULT)
        && !form.facts().deviceSpecific()
        && form.operands().stream()
            .allMatch(slot ->
                switch (slot.kind()) {
                  case RESULT, SOURCE, LITERAL -> true;
                  default -> false;
                });
  }

  /** Returns whether the row is a warpgroup product with both factors in shared memory. */
  private static boolean isSharedWarpgroupProduct(InstructionForm form) {
    return form.semantics() instanceof Semantics.Wgmma
        && form.operands().stream()
            .anyMatch(slot -> slot.name() == Name.A && slot.length() == OperandSlot.SCALAR);
  }

  /**
   * Returns a probe of a warpgroup product. Its sources are two words of each factor per thread,
   * and the accumulators.
   */
  private static Probe warpgroupProduct(InstructionForm form, Modifiers modifiers) {
    var sums = values(form.operands().getFirst(), modifiers);
    var sources = new ArrayList<Value>();
    for (var factor : List.of(Name.A, Name.B)) {
      for (int i = 0; i < 2; i++) {
        sources.add(
            new Value(factor, Type.B64, new Register(RegisterClass.B64, "%" + factor.word() + i)));
      }
    }
    sources.addAll(sums);
    var operands = new ArrayList<Operand>();
    for (var slot : form.operands()) {
      operands.add(
          switch (slot.name()) {
            case D -> Operand.Vector.of(sums.stream().map(Value::register).toList());
            case A, B -> descriptor(slot.name());
            case TRANSPOSE_A, TRANSPOSE_B -> Immediate.of(0); // not transposed
            default -> Immediate.of(1); // accumulate, without negation
          });
    }
    return new Probe(
        InstructionTable.instruction(form.mnemonic() + modifiers, operands, null, Source.UNKNOWN),
        Optional.empty(),
        sources,
        sums);
  }

  /** Returns the register with the descriptor of a warpgroup product's factor. */
  static Register descriptor(Name factor) {
    return new Register(RegisterClass.B64, "%descriptor_" + factor.word());
  }

  /**
   * Adds a probe for each tried literal of the row, or for each writer of the flag that it reads.
   */
  private static void addTo(List<Probe> all, InstructionForm form, Modifiers modifiers) {
    if (readsCarry(form)) {
      for (var writer : CarryWriter.ALL) {
        all.add(of(form, modifiers, 0, Optional.of(writer)));
      }
      return;
    }
    int choices =
        form.operands().stream().mapToInt(slot -> literals(slot, 0).size()).max().orElse(1);
    for (int choice = 0; choice < choices; choice++) {
      all.add(of(form, modifiers, choice, Optional.empty()));
    }
  }

  private static Probe of(
      InstructionForm form, Modifiers modifiers, int choice, Optional<CarryWriter> carryWriter) {
    var operands = new ArrayList<Operand>();
    var sources = new ArrayList<Value>();
    var results = new ArrayList<Value>();
    for (var slot : form.operands()) {
      if (hasLiterals(slot)) {
        operands.add(literal(slot, modifiers, choice));
        continue;
      }
      var values = slot.kind() == OperandSlot.Kind.RESULT ? results : sources;
      var first = values(slot, modifiers);
      values.addAll(first);
      var registers = first.stream().map(Value::register).toList();
      Operand operand =
          slot.isVector(modifiers) ? Operand.Vector.of(registers) : registers.getFirst();
      if (slot.second() != null) {
        var second = values(slot.second(), modifiers);
        values.addAll(second);
        operand = new Operand.Pair(operand, second.getFirst().register());
      }
      operands.add(operand);
    }
    if (readsCarry(form)) {
      sources.add(new Value(Name.C, Type.PRED, CARRY_WORD));
    }
    if (!form.impliedRegisters(true).isEmpty()) {
      for (var reader : CarryReader.ALL) {
        results.add(new Value(Name.C, Type.B32, reader.result()));
      }
    }
    var instruction =
        InstructionTable.instruction(form.mnemonic() + modifiers, operands, null, Source.UNKNOWN);
    return new Probe(instruction, carryWriter, sources, results);
  }

  private static boolean readsCarry(InstructionForm form) {
    return !form.impliedRegisters(false).isEmpty();
  }

  private static List<Value> values(OperandSlot slot, Modifiers modifiers) {
    var type = slot.type(modifiers);
    int length = slot.length(modifiers);
    var values = new ArrayList<Value>();
    for (int i = 0; i < length; i++) {
      var name = "%" + initials(slot.name()) + (length == 1 ? "" : i);
      values.add(new Value(slot.name(), type, new Register(type.registerClass(), name)));
    }
    return values;
  }

  /** Returns the first letter of each part of a name. */
  private static String initials(Name name) {
    return Arrays.stream(name.word().split("_"))
        .map(part -> part.substring(0, 1))
        .collect(Collectors.joining());
  }

  private static boolean hasLiterals(OperandSlot slot) {
    return slot.kind() == OperandSlot.Kind.LITERAL || !slot.allowed().isEmpty();
  }

  private static Operand literal(OperandSlot slot, Modifiers modifiers, int choice) {
    var elements = new ArrayList<Operand>();
    for (int i = 0; i < slot.length(modifiers); i++) {
      var tried = literals(slot, i);
      elements.add(Immediate.of((int) (long) tried.get(choice % tried.size())));
    }
    return slot.isVector(modifiers) ? Operand.Vector.of(elements) : elements.getFirst();
  }

  /** Returns the literals to try in an element of a slot, in ascending order. */
  private static List<Long> literals(OperandSlot slot, int element) {
    var sorted = List.copyOf(slot.allowed(element));
    if (sorted.isEmpty()) {
      return List.of(1L);
    }
    int tried = Math.min(sorted.size(), LITERALS);
    var chosen = new ArrayList<Long>();
    for (int i = 0; i < tried; i++) {
      chosen.add(sorted.get(i * (sorted.size() - 1) / Math.max(1, tried - 1)));
    }
    return chosen;
  }

  /**
   * Returns the text of the instruction, with the writer of the carry flag that it reads; unique
   * among probes.
   */
  public String name() {
    var text = instruction.toString().strip();
    return carryWriter.map(writer -> text + " after " + writer.opcode()).orElse(text);
  }

  public String mnemonic() {
    return instruction.form().mnemonic();
  }

  /** Returns whether the lanes of a warp compute jointly. */
  boolean isWarpLevel() {
    return !(instruction.form().semantics() instanceof Semantics.Pure);
  }

  /** Returns whether a warp or warpgroup multiplies matrices. */
  boolean isMatrixProduct() {
    return isWarpgroupProduct()
        || (instruction.form().semantics() instanceof Semantics.Warp warp
            && warp.kind() == Semantics.WarpKind.MATRIX_PRODUCT);
  }

  boolean isWarpgroupProduct() {
    return instruction.form().semantics() instanceof Semantics.Wgmma;
  }

  Kernel kernel(String name) {
    return new ProbeKernel(this).kernel(name);
  }

  /** Returns a module of several probes, each in a kernel named by its index. */
  static Module module(List<Probe> probes, Target target) {
    var kernels = new ArrayList<Kernel>();
    for (int i = 0; i < probes.size(); i++) {
      kernels.add(probes.get(i).kernel(kernelName(i)));
    }
    var version =
        kernels.stream()
            .map(kernel -> Module.of(kernel).version())
            .reduce(supportingVersion(target), (a, b) -> a.compareTo(b) >= 0 ? a : b);
    return new Module(version, target, kernels);
  }

  static String kernelName(int number) {
    return "probe" + number;
  }

  /** Returns a version that supports the target. */
  private static Version supportingVersion(Target target) {
    return target.sm() >= 100 ? new Version(8, 6) : new Version(8, 0);
  }
}
