package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.LaunchBounds;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Statement.Label;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Checks one kernel or function against the rules of {@link Verifier}. */
final class BodyVerifier {

  /** The maximum static shared memory of a kernel, in bytes (CUDA programming guide 16.2). */
  private static final int STATIC_SHARED_BYTES = 48 * 1024;

  private static final int MOST_THREADS = 1024;

  /** The maximum blocks of a cluster; some devices have at most 8 (CUDA programming guide 4.4). */
  private static final int MOST_BLOCKS = 16;

  /** The state spaces of variables whose names are generic addresses. */
  private static final List<Space> GENERIC = List.of(Space.GLOBAL, Space.SHARED, Space.LOCAL);

  private final Module module;
  private final Kernel code;
  private final String what;
  private final NameTable names;
  private final Set<String> labels = new TreeSet<>();
  private final List<Violation> faults = new ArrayList<>();
  private final List<Violation> warnings = new ArrayList<>();

  BodyVerifier(Module module, NameTable.OfModule shared, Kernel kernel) {
    this(module, shared, kernel, "kernel", List.of());
  }

  BodyVerifier(Module module, NameTable.OfModule shared, Function function) {
    this(module, shared, function.code(), "function", function.results());
  }

  private BodyVerifier(
      Module module, NameTable.OfModule shared, Kernel code, String what, List<Parameter> results) {
    this.module = module;
    this.code = code;
    this.what = what;
    this.names =
        new NameTable(
            shared,
            code,
            results,
            (kind, name) ->
                fault("declares " + kind + " " + name + ", but the name is already taken"));
  }

  List<Violation> check() {
    for (var statement : code.body()) {
      if (statement instanceof Label label && !labels.add(label.name())) {
        fault(label, "repeats a label; give it a unique name");
      }
    }
    checkLimits();
    for (var statement : code.body()) {
      switch (statement) {
        case Label _, Statement.Prototype _ -> {}
        case Statement.TargetList targets -> check(targets);
        case Instruction instruction -> check(instruction);
      }
    }
    return faults;
  }

  /** Returns accesses that are misaligned unless the variable happens to be better aligned. */
  List<Violation> warnings() {
    check();
    return warnings;
  }

  private void checkLimits() {
    if (code.staticSharedBytes() > STATIC_SHARED_BYTES) {
      fault(
          "has %d bytes of static shared memory, the maximum is %d; make an array dynamic"
              .formatted(code.staticSharedBytes(), STATIC_SHARED_BYTES));
    }
    long threads =
        code.launchBounds().requiredBlockShape().stream()
            .mapToLong(n -> n)
            .reduce(1, LaunchBounds::saturatedProduct);
    if (threads > MOST_THREADS) {
      fault("declares blocks of %d threads, the maximum is %d".formatted(threads, MOST_THREADS));
    }
    long blocks =
        code.launchBounds().clusterShape().stream()
            .mapToLong(n -> n)
            .reduce(1, LaunchBounds::saturatedProduct);
    if (blocks > MOST_BLOCKS) {
      fault("declares clusters of %d blocks, the maximum is %d".formatted(blocks, MOST_BLOCKS));
    }
    boolean clusters =
        !code.launchBounds().clusterShape().isEmpty()
            || code.launchBounds().explicitCluster()
            || code.launchBounds().maxClusterRank() > 0;
    if (clusters && !module.target().canRun(Target.SM_90)) {
      fault(
          "declares clusters, which need .target sm_90; the module has .target " + module.target());
    }
  }

  private void check(Statement.TargetList targets) {
    for (var name : targets.names()) {
      if (targets.functions() && names.function(name).isEmpty()) {
        fault(
            targets,
            "lists %s, which is not a function; the functions are %s"
                .formatted(name, names.functions()));
      } else if (!targets.functions() && !labels.contains(name)) {
        fault(targets, "lists %s, which is not a label; the labels are %s".formatted(name, labels));
      }
    }
  }

  private void check(Instruction instruction) {
    var since = instruction.since();
    boolean introduced =
        instruction.form().isIntroduced(module.version(), module.target(), instruction.modifiers());
    if (!introduced && since.version().compareTo(module.version()) > 0) {
      fault(
          instruction,
          "needs .version %s, the module has .version %s"
              .formatted(since.version(), module.version()));
    }
    if (!introduced && !module.target().canRun(since.target())) {
      fault(
          instruction,
          "needs .target %s, the module has .target %s".formatted(since.target(), module.target()));
    }
    if (instruction.form().isRemoved(module.version(), module.target())) {
      fault(
          instruction,
          "was removed: .version %s does not have it for %s; write %s"
              .formatted(module.version(), module.target(), instruction.form().replacement()));
    }
    var slots = instruction.form().operands();
    for (int i = 0; i < slots.size(); i++) {
      var operand = instruction.operands().get(i);
      if (slots.get(i).isInTensorMemory() && operand instanceof Operand.Address address) {
        checkTensorAddress(instruction, address);
      } else if (operand instanceof Operand.Address address) {
        checkAddress(instruction, address, space(instruction, slots.get(i)));
      } else {
        check(instruction, slots.get(i), operand);
      }
    }
    if (instruction.form().semantics() instanceof Semantics.Call) {
      new CallCheck(names, code, p -> fault(instruction, p)).check(instruction);
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
      case Operand.Symbol s -> checkSymbol(instruction, slot, s);
      case Operand.Negation n -> check(instruction, slot, n.register());
      case Operand.Tile t -> checkTile(instruction, t);
      case Operand.Immediate _,
          Operand.Element _,
          Operand.Sink _,
          Operand.Arguments _,
          Operand.Address _,
          SpecialRegister _ -> {}
    }
  }

  private void checkSymbol(Instruction instruction, OperandSlot slot, Operand.Symbol symbol) {
    var name = symbol.name();
    boolean hasAddress =
        slot.kind() == OperandSlot.Kind.SYMBOL || slot.kind() == OperandSlot.Kind.ARGUMENTS;
    if (symbol.offset() != 0 && !hasAddress) {
      fault(instruction, "adds an offset to %s, which is not a variable".formatted(name));
    }
    switch (slot.kind()) {
      case LABEL -> {
        if (!labels.contains(name)) {
          fault(
              instruction,
              "jumps to %s, which is not a label; the labels are %s".formatted(name, labels));
        }
      }
      case FUNCTION -> {
        if (names.function(name).isEmpty()) {
          fault(
              instruction,
              "calls %s, which is not a function; the functions are %s"
                  .formatted(name, names.functions()));
        }
      }
      case TARGETS -> {
        boolean call = instruction.form().semantics() instanceof Semantics.Call;
        boolean declared =
            code.body().stream()
                .anyMatch(s ->
                    (call && s instanceof Statement.Prototype p && p.name().equals(name))
                        || (s instanceof Statement.TargetList t
                            && t.functions() == call
                            && t.name().equals(name)));
        if (!declared) {
          fault(
              instruction,
              "names %s, which is not a %s"
                  .formatted(name, call ? ".callprototype or .calltargets" : ".branchtargets"));
        }
      }
      default -> {
        if (names.variable(name).isEmpty() && names.function(name).isEmpty()) {
          fault(
              instruction,
              "names %s, which is not a variable or function; declared are %s"
                  .formatted(name, names.all()));
        }
      }
    }
  }

  private void checkElement(Instruction instruction, OperandSlot slot, Operand element) {
    var semantics = instruction.form().semantics();
    boolean literal =
        (semantics instanceof Semantics.Pure
                || semantics instanceof Semantics.Store
                || !slot.allowed().isEmpty())
            && slot.kind() == OperandSlot.Kind.SOURCE
            && element instanceof Operand.Immediate;
    if (element instanceof Register) {
      check(instruction, slot, element);
    } else if (!literal && !(slot.isResult() && element instanceof Operand.Sink)) {
      fault(
          instruction,
          "operand %s must be %s, got the element %s"
              .formatted(slot.name(), slot.describe(instruction.modifiers()), element));
    }
  }

  /**
   * Whether a register suits a type. Loads, stores and conversions take registers wider than their
   * type (PTX ISA 9.4.1): untyped registers, and for untyped accesses any registers.
   */
  private static boolean fits(
      Instruction instruction, OperandSlot slot, Type type, Register register) {
    var registerClass = register.registerClass();
    if (type.fits(registerClass)) {
      return true;
    }
    boolean accesses =
        instruction.form().semantics() instanceof Semantics.Load
            || instruction.form().semantics() instanceof Semantics.Store;
    return (accesses || slot.isConverted())
        && type != Type.PRED
        && (registerClass.isBits() || (accesses && type.kind() == Type.Kind.BITS))
        && registerClass.bits() > type.bits();
  }

  /** Returns the state space of an address; null = generic. */
  private static @Nullable Space space(Instruction instruction, OperandSlot slot) {
    var space = slot.space(instruction.modifiers());
    return space != null && space.isShared() ? Space.SHARED : space;
  }

  private void checkTile(Instruction instruction, Operand.Tile tile) {
    if (!(tile.map() instanceof Register r) || r.registerClass() != RegisterClass.B64) {
      fault(
          instruction,
          "the tensor map must be a .b64 register that holds its generic address, got "
              + tile.map());
    }
    for (var coordinate : tile.coordinates()) {
      if (!(coordinate instanceof Operand.Immediate)
          && !(coordinate instanceof Register c && c.registerClass() == RegisterClass.B32)) {
        fault(instruction, "a coordinate must be a .b32 register or a literal, got " + coordinate);
      }
    }
  }

  private void checkTensorAddress(Instruction instruction, Operand.Address address) {
    if (!(address.base() instanceof Register r) || r.registerClass() != RegisterClass.B32) {
      fault(
          instruction,
          "an address in tensor memory must be a .b32 register, got " + address.base());
    }
  }

  private void checkAddress(
      Instruction instruction, Operand.Address address, @Nullable Space space) {
    switch (address.base()) {
      case Register r -> {
        boolean narrow = space != null && space != Space.GLOBAL;
        if (r.registerClass() != RegisterClass.B64
            && !(narrow && r.registerClass() == RegisterClass.B32)) {
          fault(
              instruction,
              "%s must be a %s register, got %s, a .%s register"
                  .formatted(
                      space == null
                          ? "a generic address"
                          : "an address in " + space.word() + " memory",
                      narrow ? ".b32 or .b64" : ".b64",
                      r,
                      r.registerClass().word()));
        }
      }
      case Operand.Symbol s -> {
        var variable = names.variable(s.name());
        var in = space == null ? GENERIC : List.of(space);
        if (variable.isEmpty() || !in.contains(variable.get().space())) {
          fault(
              instruction,
              "names %s, which is not a variable in %s memory; those are %s"
                  .formatted(
                      s,
                      in.stream().map(Space::word).collect(Collectors.joining(" or ")),
                      names.in(in)));
        } else {
          checkRange(instruction, address, variable.get());
        }
      }
      default ->
          fault(
              instruction,
              "the base of an address must be a register or a variable, got " + address.base());
    }
  }

  private void checkRange(
      Instruction instruction, Operand.Address address, NameTable.Storage variable) {
    int size =
        switch (instruction.form().semantics()) {
          case Semantics.Load _, Semantics.Store _, Semantics.Atomic _ ->
              instruction.modifiers().type().map(Type::bytes).orElse(0)
                  * instruction.modifiers().vectorLength();
          case Semantics.AsyncCopy _ ->
              instruction.operands().get(2) instanceof Operand.Immediate n ? (int) n.bits() : 0;
          case Semantics.Computation _,
              Semantics.Access _,
              Semantics.Asynchronous _,
              Semantics.Completion _,
              Semantics.Synchronization _,
              Semantics.TensorMapUpdate _,
              Semantics.Control _,
              Semantics.NoEffect _ ->
              0;
        };
    if (size == 0) {
      return;
    }
    long last = address.offset() + size - 1;
    if (variable.bytes() != NameTable.OPEN && (address.offset() < 0 || last >= variable.bytes())) {
      fault(
          instruction,
          "accesses bytes %d..%d of %s, which has %d bytes"
              .formatted(address.offset(), last, address.base(), variable.bytes()));
    } else if (variable.alignment() % size != 0) {
      warnings.add(
          new Violation(
              instruction.source(),
              instruction.toString(),
              "accesses %d bytes of %s at once, which is aligned to %d; align it to %d"
                  .formatted(size, address.base(), variable.alignment(), size)));
    } else if (address.offset() % size != 0) {
      fault(
          instruction,
          "accesses %s at offset %d, which is not a multiple of %d"
              .formatted(address.base(), address.offset(), size));
    }
  }

  private void fault(Statement statement, String problem) {
    faults.add(new Violation(statement.source(), statement.toString(), problem));
  }

  private void fault(String problem) {
    faults.add(new Violation(Source.UNKNOWN, "", what + " " + code.name() + " " + problem));
  }
}
