package dev.athanor.engine.conformance;

import dev.athanor.engine.ptx.Form;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Opcodes;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Version;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * One instruction from registers to registers, in a kernel of its own: {@code kernel(.param .u64
 * in, .param .u64 out)}, where each thread reads a word of 8 bytes for each source, executes the
 * instruction, and writes a word for each result; the words of a thread follow one another.
 *
 * @param sources what it reads, the carry flag too
 * @param results what it writes, the carry flag too
 */
public record Probe(Instruction instruction, List<Value> sources, List<Value> results) {

  /** The bytes in memory of each value. */
  public static final int WORD = 8;

  /** The threads of each block. */
  static final int BLOCK = 128;

  /** Of a literal with more choices than these, so many are tried. */
  private static final int LITERALS = 5;

  /** What differs between devices, or is no number. */
  private static final Set<String> OPAQUE = Set.of("cvta", "isspacep", "createpolicy", "mapa");

  private static final Register CARRY_WORD = new Register(RegisterClass.B32, "%carry");

  /**
   * A register with a meaning.
   *
   * @param operand the letter of its operand in the manual
   */
  public record Value(String operand, Type type, Register register) {}

  public Probe {
    sources = List.copyOf(sources);
    results = List.copyOf(results);
  }

  /** A probe of every spelling of the table's rows that compute from registers to registers. */
  public static List<Probe> all(Target target) {
    var all = new ArrayList<Probe>();
    for (var form : Opcodes.all()) {
      if (!computes(form)) {
        continue;
      }
      for (var modifiers : form.everyModifiers()) {
        if (target.runs(form.since(modifiers).target())) {
          addTo(all, form, modifiers);
        }
      }
    }
    return all;
  }

  private static boolean computes(Form form) {
    boolean ofRegisters =
        form.semantics() instanceof Semantics.Pure
            || form.semantics() instanceof Semantics.Warp
            || form.semantics() instanceof Semantics.Converged;
    return ofRegisters
        && !OPAQUE.contains(form.mnemonic())
        && form.operands().stream()
            .allMatch(slot ->
                switch (slot.kind()) {
                  case RESULT, SOURCE, LITERAL -> true;
                  default -> false;
                });
  }

  /** One probe for each of some of the literals that the row may have. */
  private static void addTo(List<Probe> all, Form form, Modifiers modifiers) {
    int choices = form.operands().stream().mapToInt(slot -> literals(slot).size()).max().orElse(1);
    for (int choice = 0; choice < choices; choice++) {
      all.add(of(form, modifiers, choice));
    }
  }

  private static Probe of(Form form, Modifiers modifiers, int choice) {
    var operands = new ArrayList<Operand>();
    var sources = new ArrayList<Value>();
    var results = new ArrayList<Value>();
    for (var slot : form.operands()) {
      var literals = literals(slot);
      if (!literals.getFirst().isEmpty()) {
        operands.add(Immediate.of(Integer.parseInt(literals.get(choice % literals.size()))));
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
    form.implied(false).forEach(_ -> sources.add(new Value("carry", Type.PRED, CARRY_WORD)));
    form.implied(true).forEach(_ -> results.add(new Value("carry", Type.PRED, CARRY_WORD)));
    var instruction =
        Opcodes.instruction(form.mnemonic() + modifiers, operands, null, Source.UNKNOWN);
    return new Probe(instruction, sources, results);
  }

  private static List<Value> values(OperandSlot slot, Modifiers modifiers) {
    var type = slot.type(modifiers);
    int length = slot.length(modifiers);
    var values = new ArrayList<Value>();
    for (int i = 0; i < length; i++) {
      var name = "%" + slot.name() + (length == 1 ? "" : i);
      values.add(new Value(slot.name(), type, new Register(type.registerClass(), name)));
    }
    return values;
  }

  /**
   * The literals to try in a slot, from the least to the greatest; an empty text stands for none.
   */
  private static List<String> literals(OperandSlot slot) {
    if (slot.allowed().isEmpty()) {
      return List.of(slot.kind() == OperandSlot.Kind.LITERAL ? "1" : "");
    }
    var sorted = slot.allowed().stream().sorted().toList();
    int tried = Math.min(sorted.size(), LITERALS);
    var chosen = new ArrayList<String>();
    for (int i = 0; i < tried; i++) {
      chosen.add(Long.toString(sorted.get(i * (sorted.size() - 1) / Math.max(1, tried - 1))));
    }
    return chosen;
  }

  /** The instruction as it is written in the kernel, which tells it from all others. */
  public String name() {
    return instruction.toString().strip();
  }

  public String mnemonic() {
    return instruction.form().mnemonic();
  }

  /** Whether the lanes of a warp compute together. */
  boolean isOfWarp() {
    return !(instruction.form().semantics() instanceof Semantics.Pure);
  }

  Kernel kernel(String name) {
    return new Body(this).kernel(name);
  }

  /** One module of several probes, each in the kernel that its number gives the name. */
  static Module module(List<Probe> probes, Target target) {
    var kernels = new ArrayList<Kernel>();
    for (int i = 0; i < probes.size(); i++) {
      kernels.add(probes.get(i).kernel(kernelName(i)));
    }
    var version =
        kernels.stream()
            .map(kernel -> Module.of(kernel).version())
            .reduce(oldest(target), (a, b) -> a.compareTo(b) >= 0 ? a : b);
    return new Module(version, target, kernels);
  }

  static String kernelName(int number) {
    return "probe" + number;
  }

  /** A version that has the target. */
  private static Version oldest(Target target) {
    return target.sm() >= 100 ? new Version(8, 6) : new Version(8, 0);
  }

  /** Writes the kernel. */
  private static final class Body {
    private static final Register IN = new Register(RegisterClass.B64, "%in");
    private static final Register OUT = new Register(RegisterClass.B64, "%out");

    private final Probe probe;
    private final List<Statement> statements = new ArrayList<>();

    Body(Probe probe) {
      this.probe = probe;
    }

    Kernel kernel(String name) {
      var thread = new Register(RegisterClass.B32, "%thread");
      var block = new Register(RegisterClass.B32, "%block");
      add("mov.u32", thread, SpecialRegister.TID_X);
      add("mov.u32", block, SpecialRegister.CTAID_X);
      add("mad.lo.u32", thread, block, Immediate.of(BLOCK), thread);
      pointer(IN, thread, probe.sources().size());
      pointer(OUT, thread, probe.results().size());
      for (int i = 0; i < probe.sources().size(); i++) {
        load(probe.sources().get(i), i * WORD);
      }
      statements.add(probe.instruction());
      if (probe.results().stream().anyMatch(value -> value.register().equals(CARRY_WORD))) {
        // a borrow is read by what borrows, as the manual does not mix the two
        add(borrows() ? "subc.u32" : "addc.u32", CARRY_WORD, Immediate.of(0), Immediate.of(0));
      }
      for (int i = 0; i < probe.results().size(); i++) {
        store(probe.results().get(i), i * WORD);
      }
      add("ret");
      return new Kernel(
          name,
          List.of(new Kernel.Parameter("in", Type.U64), new Kernel.Parameter("out", Type.U64)),
          List.of(),
          BLOCK,
          0,
          statements);
    }

    private void add(String opcode, Operand... operands) {
      statements.add(Opcodes.instruction(opcode, List.of(operands), null, Source.UNKNOWN));
    }

    private void pointer(Register register, Register thread, int words) {
      add("ld.param.u64", register, new Address(new Symbol(register.name().substring(1)), 0));
      add("mad.wide.u32", register, thread, Immediate.of(words * WORD), register);
    }

    private void load(Value value, int at) {
      var register = value.register();
      if (value.type() != Type.PRED) {
        add("ld.global." + bits(register), register, new Address(IN, at));
        return;
      }
      var word = new Register(RegisterClass.B32, "%word" + at);
      add("ld.global.b32", word, new Address(IN, at));
      if (register.equals(CARRY_WORD)) { // any word but 0 sets it
        var unused = new Register(RegisterClass.B32, "%unused");
        if (borrows()) {
          add("sub.cc.u32", unused, Immediate.of(0), word);
        } else {
          add("add.cc.u32", unused, word, Immediate.of(-1));
        }
      } else {
        add("setp.ne.u32", register, word, Immediate.of(0));
      }
    }

    private boolean borrows() {
      return probe.mnemonic().startsWith("sub");
    }

    private void store(Value value, int at) {
      var register = value.register();
      if (register.registerClass() == RegisterClass.PRED) {
        var word = new Register(RegisterClass.B32, "%answer" + at);
        add("selp.b32", word, Immediate.of(1), Immediate.of(0), register);
        add("st.global.b32", new Address(OUT, at), word);
      } else {
        add("st.global." + bits(register), new Address(OUT, at), register);
      }
    }

    private static String bits(Register register) {
      return "b" + register.registerClass().bits();
    }
  }
}
