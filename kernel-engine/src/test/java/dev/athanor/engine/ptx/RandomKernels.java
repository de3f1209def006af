package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Statement.Label;
import dev.athanor.engine.ptx.table.InstructionTable;
import dev.athanor.engine.ptx.table.TableWalk;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Random kernels from the table. They are well-typed, terminate, and have no undefined behavior:
 * registers are written before they are read, loops have fewer than 4 iterations, and accesses stay
 * in the thread's own memory. A seed always gives the same kernel.
 *
 * <p>{@code kernel(.param .u64 in, .param .u64 out)} runs in one block of at most {@link #THREADS}
 * threads. Each thread reads {@link #BYTES} bytes from {@code in + BYTES * %tid.x} and finally
 * writes all its registers, as many bytes, to {@code out}.
 */
public final class RandomKernels {

  /** Maximum number of threads. */
  public static final int THREADS = 64;

  /** Bytes that each thread reads and writes. */
  public static final int BYTES = 256;

  /** Bytes of shared memory per thread. */
  private static final int OWN = 64;

  private static final int REGISTERS = 5;
  private static final int DEEPEST = 3;

  /** Trip counts of loops, from 0 to 3 in each thread. */
  private static final List<Register> LIMITS =
      List.of(
          new Register(RegisterClass.B32, "%limit0"),
          new Register(RegisterClass.B32, "%limit1"),
          new Register(RegisterClass.B32, "%limit2"));

  /** Newest version that the bundled assembler supports. */
  private static final Version VERSION = new Version(8, 0);

  private static final Map<String, List<Instruction>> BY_MNEMONIC = byMnemonic();

  private final Random random;
  private final List<Statement> body = new ArrayList<>();
  private final Map<RegisterClass, List<Register>> registers = new EnumMap<>(RegisterClass.class);
  private final Register in = new Register(RegisterClass.B64, "%in");
  private final Register out = new Register(RegisterClass.B64, "%out");
  private final Register own = new Register(RegisterClass.B32, "%own");
  private int left;
  private int loops;
  private int labels;

  private RandomKernels(long seed) {
    random = new Random(seed);
    for (var registerClass : RegisterClass.values()) {
      var all = new ArrayList<Register>();
      for (int i = 0; i < REGISTERS; i++) {
        all.add(new Register(registerClass, registerClass.prefix() + i));
      }
      registers.put(registerClass, all);
    }
  }

  /** Returns the module of a seed; its kernel is named {@code random}. */
  public static Module module(long seed) {
    return new RandomKernels(seed).module();
  }

  /** Returns the candidate instructions, by name: rows that compute lane by lane. */
  private static Map<String, List<Instruction>> byMnemonic() {
    var all = new java.util.TreeMap<String, List<Instruction>>();
    for (var spelling : TableWalk.spellings()) {
      // addresses differ between devices, and a carry needs its counterpart
      boolean drawn =
          spelling.form().semantics() instanceof Semantics.Pure pure
              && pure.carry().equals(Semantics.Carry.NONE)
              && spelling.form().isSupported(VERSION, Target.SM_90, spelling.modifiers())
              && !spelling.opcode().startsWith("cvta")
              && !spelling.opcode().startsWith("isspacep")
              && !spelling.opcode().startsWith("createpolicy")
              && spelling.operands().stream().noneMatch(Symbol.class::isInstance);
      if (drawn) {
        all.computeIfAbsent(spelling.form().mnemonic(), _ -> new ArrayList<>()).add(spelling);
      }
    }
    return all;
  }

  private Module module() {
    begin();
    left = 20 + random.nextInt(80);
    while (left > 0) {
      block(DEEPEST);
    }
    end();
    var kernel =
        new Kernel(
            "random",
            List.of(new Kernel.Parameter("in", Type.U64), new Kernel.Parameter("out", Type.U64)),
            List.of(new Kernel.SharedArray("tile", 16, OWN * THREADS)),
            THREADS,
            0,
            body);
    return new Module(VERSION, Target.SM_90, List.of(kernel));
  }

  private void add(String opcode, Operand... operands) {
    add(opcode, null, operands);
  }

  private void add(String opcode, @Nullable Guard guard, Operand... operands) {
    body.add(InstructionTable.instruction(opcode, List.of(operands), guard, Source.UNKNOWN));
  }

  /** Initializes every register and the thread's shared memory. */
  private void begin() {
    var thread = new Register(RegisterClass.B32, "%thread");
    var offset = new Register(RegisterClass.B64, "%offset");
    add("mov.u32", thread, SpecialRegister.TID_X);
    add("mul.wide.u32", offset, thread, Immediate.of(BYTES));
    for (var pointer : List.of(in, out)) {
      add("ld.param.u64", pointer, new Address(new Symbol(pointer.name().substring(1)), 0));
      add("add.u64", pointer, pointer, offset);
    }
    add("mov.u32", own, new Symbol("tile"));
    add("mad.lo.u32", own, thread, Immediate.of(OWN), own);
    int at = 0;
    for (var registerClass : RegisterClass.values()) {
      for (var register : registers(registerClass)) {
        if (registerClass == RegisterClass.PRED) {
          var word = registers(RegisterClass.B32).getFirst();
          add("ld.global.u32", word, new Address(in, at));
          add("setp.lt.s32", register, word, Immediate.of(0));
          at += 4;
        } else {
          int bytes = registerClass.bits() / 8;
          at = Math.ceilDiv(at, bytes) * bytes;
          add("ld.global." + bits(registerClass), register, new Address(in, at));
          at += bytes;
        }
      }
    }
    for (var limit : LIMITS) {
      add("ld.global.u32", limit, new Address(in, at));
      add("and.b32", limit, limit, Immediate.of(3));
      at += 4;
    }
    var value = registers(RegisterClass.B64).getFirst();
    for (int i = 0; i < OWN; i += 8) {
      add("st.shared.b64", new Address(own, i), value);
    }
  }

  private static String bits(RegisterClass registerClass) {
    return "b" + registerClass.bits();
  }

  private void end() {
    int at = 0;
    for (var registerClass : RegisterClass.values()) {
      for (var register : registers(registerClass)) {
        if (registerClass == RegisterClass.PRED) {
          var word = new Register(RegisterClass.B32, "%word");
          add("selp.b32", word, Immediate.of(1), Immediate.of(0), register);
          add("st.global.u32", new Address(out, at), word);
          at += 4;
        } else {
          int bytes = registerClass.bits() / 8;
          at = Math.ceilDiv(at, bytes) * bytes;
          add("st.global." + bits(registerClass), new Address(out, at), register);
          at += bytes;
        }
      }
    }
    add("ret");
  }

  private List<Register> registers(RegisterClass registerClass) {
    return java.util.Objects.requireNonNull(registers.get(registerClass));
  }

  private <T> T any(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }

  private String label() {
    return "$L" + labels++;
  }

  private void label(String name) {
    body.add(new Label(name, Source.UNKNOWN));
  }

  /** Emits statements: mostly instructions, sometimes nested branches and loops. */
  private void block(int depth) {
    for (int statements = 1 + random.nextInt(12); statements > 0 && left > 0; statements--) {
      left--;
      int kind = random.nextInt(12);
      if (kind == 0 && depth > 0) {
        choice(depth);
      } else if (kind == 1 && depth > 0) {
        loop(depth);
      } else if (kind < 4) {
        access();
      } else {
        compute();
      }
    }
  }

  private Guard guard() {
    return new Guard(any(registers(RegisterClass.PRED)), random.nextBoolean());
  }

  private @Nullable Guard guardOrNone() {
    return random.nextInt(4) == 0 ? guard() : null;
  }

  private void choice(int depth) {
    var otherwise = label();
    var end = label();
    add("bra", guard(), new Symbol(otherwise));
    block(depth - 1);
    boolean two = random.nextBoolean();
    if (two) {
      add("bra", new Symbol(end));
    }
    label(otherwise);
    if (two) {
      block(depth - 1);
      label(end);
    }
  }

  /** Emits a loop with a trip count from the thread's input and a possible early exit. */
  private void loop(int depth) {
    var counter = new Register(RegisterClass.B32, "%counter" + loops);
    var more = new Register(RegisterClass.PRED, "%more" + loops++);
    var top = label();
    var end = label();
    add("mov.u32", counter, Immediate.of(0));
    label(top);
    block(depth - 1);
    if (random.nextBoolean()) {
      add("bra", guard(), new Symbol(end));
    }
    add("add.u32", counter, counter, Immediate.of(1));
    add("setp.lt.u32", more, counter, any(LIMITS));
    add("bra", new Guard(more, false), new Symbol(top));
    label(end);
  }

  /** Emits a load or store, possibly of a vector, in the thread's own memory. */
  private void access() {
    boolean load = random.nextBoolean();
    boolean shared = random.nextBoolean();
    var registerClass =
        any(List.of(RegisterClass.B16, RegisterClass.B32, RegisterClass.B64, RegisterClass.F32));
    int length = any(List.of(1, 1, 2, 4));
    int bytes = registerClass.bits() / 8;
    if (length * bytes > 16) {
      length = 1;
    }
    int slots = (shared ? OWN : BYTES) / (length * bytes);
    var address =
        new Address(shared ? own : load ? in : out, (long) random.nextInt(slots) * length * bytes);
    var elements = new ArrayList<Operand>();
    var free = new ArrayList<>(registers(registerClass));
    for (int i = 0; i < length; i++) {
      elements.add(free.remove(random.nextInt(free.size()))); // no duplicate registers
    }
    var value = length == 1 ? elements.getFirst() : Operand.Vector.of(elements);
    var opcode =
        (load ? "ld." : "st.")
            + (shared ? "shared." : "global.")
            + (length == 1 ? "" : "v" + length + ".")
            + bits(registerClass);
    var guard = guardOrNone();
    if (load) {
      add(opcode, guard, value, address);
    } else {
      add(opcode, guard, address, value);
    }
  }

  /** Emits an instruction; each name is equally likely. */
  private void compute() {
    var spelling =
        any(Objects.requireNonNull(BY_MNEMONIC.get(any(List.copyOf(BY_MNEMONIC.keySet())))));
    var form = spelling.form();
    var operands = new ArrayList<Operand>();
    for (int i = 0; i < form.operands().size(); i++) {
      operands.add(
          operand(form.operands().get(i), spelling.operands().get(i), spelling.modifiers()));
    }
    var guard = guardOrNone();
    body.add(InstructionTable.instruction(spelling.opcode(), operands, guard, Source.UNKNOWN));
  }

  private Operand operand(OperandSlot slot, Operand example, Modifiers modifiers) {
    return switch (example) {
      case Operand.Pair _ when slot.second() != null -> {
        var first = register(slot, modifiers, List.of());
        yield new Operand.Pair(
            first,
            register(java.util.Objects.requireNonNull(slot.second()), modifiers, List.of(first)));
      }
      case Operand.Vector v when !slot.allowed().isEmpty() ->
          Operand.Vector.of(
              IntStream.range(0, v.elements().size()).mapToObj(i -> permitted(slot, i)).toList());
      case Operand.Vector v -> {
        var elements = new ArrayList<Register>();
        v.elements().forEach(_ -> elements.add(register(slot, modifiers, elements)));
        yield Operand.Vector.of(elements);
      }
      case Register _ when slot.isResult() -> register(slot, modifiers, List.of());
      case Operand.Negation _ -> new Operand.Negation(any(registers(RegisterClass.PRED)));
      case Register _ ->
          slot.takesLiteral(modifiers) && random.nextInt(4) == 0
              ? literal(slot, modifiers)
              : register(slot, modifiers, List.of());
      case Immediate _ when !slot.allowed().isEmpty() -> permitted(slot, 0);
      case Immediate _ -> Immediate.of(random.nextInt(256));
      default -> example;
    };
  }

  /**
   * Returns a suitable register, of its class or of a bit class of its width, that is not excluded.
   */
  private Register register(OperandSlot slot, Modifiers modifiers, List<Register> but) {
    var type = slot.type(modifiers);
    var fitting = new ArrayList<Register>();
    registers.forEach((registerClass, all) -> {
      if (type.fits(registerClass)) {
        fitting.addAll(all);
      }
    });
    fitting.removeAll(but);
    return any(fitting);
  }

  private Immediate permitted(OperandSlot slot, int element) {
    return Immediate.of((int) (long) any(List.copyOf(slot.allowed(element))));
  }

  private Immediate literal(OperandSlot slot, Modifiers modifiers) {
    var type = slot.type(modifiers);
    if (!slot.allowed().isEmpty()) {
      return permitted(slot, 0);
    }
    if (type == Type.F32) {
      return Immediate.of(
          any(List.of(0f, -0f, 1f, -1.5f, 1e-40f, Float.MAX_VALUE, Float.NaN, random.nextFloat())));
    }
    if (type == Type.F64) {
      return Immediate.of(any(List.of(0.0, -1.0, 1e-310, Double.NaN, random.nextGaussian())));
    }
    return Immediate.of(any(List.of(0, 1, -1, 5, 31, 100, 127)));
  }
}
