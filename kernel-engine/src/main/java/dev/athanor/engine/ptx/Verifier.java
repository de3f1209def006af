package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Statement.Label;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Checks a module against the table and reports every fault at once. The rules:
 *
 * <ul>
 *   <li>every operand is what its slot takes, and a register has the class that its type asks for;
 *   <li>{@code ld.param} names a parameter, a shared address a shared array, a branch a label, and
 *       no name is given twice;
 *   <li>a register is written on some path before it is read on that path; a write under a guard
 *       counts;
 *   <li>an offset from a named array or parameter stays inside it and is a multiple of the access's
 *       size;
 *   <li>the module's version and target have every instruction;
 *   <li>static shared memory is at most 48 KiB, and a block at most 1024 threads.
 * </ul>
 *
 * <p>Not checked here but by the emulator, as it runs: addresses, and barriers that not all threads
 * reach.
 */
public final class Verifier {

  /** The static shared memory that any kernel may have (PTX ISA, CUDA programming guide 16.2). */
  private static final int STATIC_SHARED_BYTES = 48 * 1024;

  private static final int MOST_THREADS = 1024;

  private final Module module;
  private final Kernel kernel;
  private final Set<String> labels = new TreeSet<>();
  private final List<Fault> faults = new ArrayList<>();

  private Verifier(Module module, Kernel kernel) {
    this.module = module;
    this.kernel = kernel;
  }

  /** The faults of a module, in the order of its text; none when it is right. */
  public static List<Fault> faults(Module module) {
    var faults = new ArrayList<Fault>();
    for (var kernel : module.kernels()) {
      faults.addAll(new Verifier(module, kernel).check());
    }
    return faults;
  }

  /**
   * Refuses a module that breaks a rule.
   *
   * @throws IllegalArgumentException with all faults
   */
  public static void verify(Module module) {
    var faults = faults(module);
    if (!faults.isEmpty()) {
      throw new IllegalArgumentException(
          String.join("\n", faults.stream().map(Fault::toString).toList()));
    }
  }

  private List<Fault> check() {
    var names = new HashSet<String>();
    for (int i = 0; i < kernel.body().size(); i++) {
      if (kernel.body().get(i) instanceof Label label) {
        labels.add(label.name());
        if (!names.add(label.name())) {
          fault(label, "is a label that is already there");
        }
      }
    }
    kernel.parameters().forEach(p -> unique(names, p.name(), "parameter"));
    kernel.shared().forEach(s -> unique(names, s.name(), "shared array"));
    if (kernel.staticSharedBytes() > STATIC_SHARED_BYTES) {
      fault(
          "has %d bytes of static shared memory, %d are the most; make an array dynamic"
              .formatted(kernel.staticSharedBytes(), STATIC_SHARED_BYTES));
    }
    if (kernel.maxThreads() > MOST_THREADS) {
      fault(
          "asks for blocks of %d threads, %d are the most"
              .formatted(kernel.maxThreads(), MOST_THREADS));
    }
    kernel.instructions().forEach(this::check);
    if (faults.isEmpty()) {
      checkDefinitions();
    }
    return faults;
  }

  private void unique(Set<String> names, String name, String what) {
    if (!names.add(name)) {
      fault("has a " + what + " " + name + ", a name that is already taken");
    }
  }

  private void check(Instruction instruction) {
    var since = instruction.since();
    if (since.version().compareTo(module.version()) > 0) {
      fault(
          instruction,
          "needs .version %s, the module says %s".formatted(since.version(), module.version()));
    }
    if (!module.target().runs(since.target())) {
      fault(
          instruction,
          "needs .target %s, the module says %s".formatted(since.target(), module.target()));
    }
    var slots = instruction.form().operands();
    for (int i = 0; i < slots.size(); i++) {
      check(instruction, slots.get(i), instruction.operands().get(i));
    }
  }

  private void check(Instruction instruction, OperandSlot slot, Operand operand) {
    switch (operand) {
      case Register r -> {
        var type = slot.type(instruction.modifiers());
        if (!fits(instruction, slot, type, r)) {
          fault(
              instruction,
              "operand %s must be %s, got %s, a .%s register"
                  .formatted(
                      slot.name(),
                      slot.describe(instruction.modifiers()),
                      r,
                      r.registerClass().word()));
        }
      }
      case Operand.Vector v -> v.elements().forEach(e -> checkElement(instruction, slot, e));
      case Operand.Pair p -> {
        check(instruction, slot, p.first());
        if (slot.second() != null) {
          check(instruction, slot.second(), p.second());
        }
      }
      case Operand.Address a -> checkAddress(instruction, slot, a);
      case Operand.Symbol s -> {
        if (slot.kind() == OperandSlot.Kind.LABEL && !labels.contains(s.name())) {
          fault(
              instruction, "goes to %s, which is no label; the labels are %s".formatted(s, labels));
        } else if (slot.kind() == OperandSlot.Kind.SYMBOL && !isVariable(s.name())) {
          sharedArray(instruction, s);
        }
      }
      case Operand.Negation n -> check(instruction, slot, n.register());
      case Operand.Tile t -> checkTile(instruction, t);
      case Operand.Immediate _, Operand.Sink _, Operand.Arguments _, SpecialRegister _ -> {}
    }
  }

  private void checkTile(Instruction instruction, Operand.Tile tile) {
    if (!(tile.map() instanceof Register r) || r.registerClass() != RegisterClass.B64) {
      fault(
          instruction,
          "a tensor map is named by a .b64 register with its generic address, got " + tile.map());
    }
    for (var coordinate : tile.coordinates()) {
      if (!(coordinate instanceof Operand.Immediate)
          && !(coordinate instanceof Register c && c.registerClass() == RegisterClass.B32)) {
        fault(instruction, "a coordinate is a .b32 register or a literal, got " + coordinate);
      }
    }
  }

  private void checkElement(Instruction instruction, OperandSlot slot, Operand element) {
    boolean packed =
        instruction.form().semantics() instanceof Semantics.Pure
            && slot.kind() == OperandSlot.Kind.SOURCE
            && element instanceof Operand.Immediate;
    if (element instanceof Register) {
      check(instruction, slot, element);
    } else if (!packed) {
      fault(
          instruction,
          "operand %s must be %s, got %s in it"
              .formatted(slot.name(), slot.describe(instruction.modifiers()), element));
    }
  }

  /** Loads, stores and conversions take registers wider than an integer type (PTX ISA 9.4.1). */
  private static boolean fits(
      Instruction instruction, OperandSlot slot, Type type, Register register) {
    var registerClass = register.registerClass();
    if (type.fits(registerClass)) {
      return true;
    }
    boolean wide =
        switch (instruction.form().semantics()) {
          case Semantics.Load _, Semantics.Store _ -> true;
          default -> slot.isConverted();
        };
    return wide
        && slot.kind() != OperandSlot.Kind.MEMORY
        && type.kind() != Type.Kind.FLOAT
        && type != Type.PRED
        && registerClass.isBits()
        && registerClass.bits() > type.bits();
  }

  private void checkAddress(Instruction instruction, OperandSlot slot, Operand.Address address) {
    switch (address.base()) {
      case Register r -> {
        var space = space(instruction, slot);
        boolean small = space != null && space != Space.GLOBAL;
        if (r.registerClass() != RegisterClass.B64
            && !(small && r.registerClass() == RegisterClass.B32)) {
          fault(
              instruction,
              "%s is a %s register, got %s, a .%s register"
                  .formatted(
                      space == null
                          ? "a generic address"
                          : "an address in " + space.word() + " memory",
                      small ? ".b32 or .b64" : ".b64",
                      r,
                      r.registerClass().word()));
        }
      }
      case Operand.Symbol s -> checkSymbol(instruction, space(instruction, slot), s, address);
      case Operand.Immediate _,
          Operand.Address _,
          Operand.Vector _,
          Operand.Pair _,
          Operand.Sink _,
          Operand.Negation _,
          Operand.Tile _,
          Operand.Arguments _,
          SpecialRegister _ ->
          fault(
              instruction,
              "has an address whose base is "
                  + address.base()
                  + "; it must be a register or a name");
    }
  }

  /** The space of an address; null = generic. */
  private static @Nullable Space space(Instruction instruction, OperandSlot slot) {
    return slot.space(instruction.modifiers());
  }

  private void checkSymbol(
      Instruction instruction, @Nullable Space space, Operand.Symbol symbol, Operand.Address at) {
    if (space == Space.PARAM) {
      kernel.parameters().stream()
          .filter(p -> p.name().equals(symbol.name()))
          .findFirst()
          .ifPresentOrElse(
              p -> checkRange(instruction, at, p.bytes()),
              () ->
                  fault(
                      instruction,
                      "reads %s, which is no parameter; the parameters are %s"
                          .formatted(
                              symbol, kernel.parameters().stream().map(Parameter::name).toList())));
    } else if (space != null && space.isShared()) {
      var array = sharedArray(instruction, symbol);
      if (array != null && !array.isDynamic()) {
        checkRange(instruction, at, array.bytes());
      }
    } else {
      var in = space == null ? Space.GLOBAL : space;
      var variables = in == Space.LOCAL ? kernel.locals() : module.variables();
      var found =
          variables.stream()
              .filter(v -> v.space() == in && v.name().equals(symbol.name()))
              .findFirst();
      if (found.isEmpty()) {
        fault(
            instruction,
            "names %s, but there is no such variable in %s memory".formatted(symbol, in.word()));
      } else if (found.get().count() != Variable.OPEN) {
        checkRange(instruction, at, found.get().bytes());
      }
    }
  }

  private boolean isVariable(String name) {
    return Stream.of(module.variables(), kernel.locals())
            .flatMap(List::stream)
            .anyMatch(v -> v.name().equals(name))
        || kernel.parameters().stream().anyMatch(p -> p.name().equals(name));
  }

  private @Nullable SharedArray sharedArray(Instruction instruction, Operand.Symbol symbol) {
    var found = kernel.shared().stream().filter(a -> a.name().equals(symbol.name())).findFirst();
    if (found.isEmpty()) {
      fault(
          instruction,
          "names %s, which is no shared array; the arrays are %s"
              .formatted(symbol, kernel.shared().stream().map(SharedArray::name).toList()));
    }
    return found.orElse(null);
  }

  private void checkRange(Instruction instruction, Operand.Address address, long bytes) {
    var type = instruction.modifiers().type();
    if (type.isEmpty()) {
      return;
    }
    int size = type.get().bytes() * instruction.modifiers().vectorLength();
    if (address.offset() < 0 || address.offset() + size > bytes) {
      fault(
          instruction,
          "touches bytes %d..%d of %s, which has %d"
              .formatted(address.offset(), address.offset() + size - 1, address.base(), bytes));
    } else if (address.offset() % size != 0) {
      fault(
          instruction,
          "touches %s at offset %d, which is no multiple of %d"
              .formatted(address.base(), address.offset(), size));
    }
  }

  /**
   * Forward data flow: which registers have been written when a statement is reached, whichever
   * way.
   */
  private void checkDefinitions() {
    var body = kernel.body();
    var flow = ControlFlow.of(kernel);
    var numbers = new HashMap<Register, Integer>();
    kernel.registers().forEach(r -> numbers.put(r, numbers.size()));
    numbers.put(Register.CARRY, numbers.size());
    var written = new BitSet[body.size()];
    var pending = new ArrayList<Integer>();
    if (!body.isEmpty()) {
      written[0] = new BitSet();
      pending.add(0);
    }
    while (!pending.isEmpty()) {
      int at = pending.removeLast();
      var after = (BitSet) written[at].clone();
      if (body.get(at) instanceof Instruction i) {
        i.writes().forEach(r -> after.set(number(numbers, r)));
        i.form().implied(true).forEach(r -> after.set(number(numbers, r)));
      }
      for (int successor : flow.successors(at)) {
        if (written[successor] == null) {
          written[successor] = (BitSet) after.clone();
          pending.add(successor);
        } else {
          int before = written[successor].cardinality();
          written[successor].and(after);
          if (written[successor].cardinality() != before) {
            pending.add(successor);
          }
        }
      }
    }
    for (int at = 0; at < body.size(); at++) {
      if (written[at] != null && body.get(at) instanceof Instruction i) {
        var read = new LinkedHashSet<>(i.reads());
        read.addAll(i.form().implied(false));
        for (var register : read) {
          if (!written[at].get(number(numbers, register))) {
            fault(i, "reads " + register + ", which is not written on every way here");
          }
        }
      }
    }
  }

  private static int number(Map<Register, Integer> numbers, Register register) {
    return Objects.requireNonNull(numbers.get(register), register::toString);
  }

  private void fault(Statement statement, String problem) {
    faults.add(new Fault(statement.source(), statement.toString(), problem));
  }

  private void fault(String problem) {
    faults.add(new Fault(Source.UNKNOWN, "", "kernel " + kernel.name() + " " + problem));
  }
}
