package dev.athanor.engine.conformance;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.OperandSlot.Name;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.table.InstructionTable;
import java.util.ArrayList;
import java.util.List;

/** Writes the kernel of a probe. */
final class ProbeKernel {
  private static final Register IN = new Register(RegisterClass.B64, "%in");
  private static final Register OUT = new Register(RegisterClass.B64, "%out");

  private static final String FACTOR_A = "factor_a";
  private static final String FACTOR_B = "factor_b";

  /** Bytes of each factor that a thread provides. */
  private static final int CHUNK = 16;

  /** Descriptor strides: 128 bytes between core matrices along K, 256 bytes along M or N. */
  private static final long STRIDES = (128L >> 4) << 16 | (256L >> 4) << 32;

  private final Probe probe;
  private final List<Statement> statements = new ArrayList<>();

  ProbeKernel(Probe probe) {
    this.probe = probe;
  }

  Kernel kernel(String name) {
    var thread = new Register(RegisterClass.B32, "%thread");
    var block = new Register(RegisterClass.B32, "%block");
    add("mov.u32", thread, SpecialRegister.TID_X);
    add("mov.u32", block, SpecialRegister.CTAID_X);
    add("mad.lo.u32", thread, block, Immediate.of(Probe.BLOCK), thread);
    pointer(IN, thread, probe.sources().size());
    pointer(OUT, thread, probe.results().size());
    for (int i = 0; i < probe.sources().size(); i++) {
      load(probe.sources().get(i), i * Probe.WORD);
    }
    probe
        .carryWriter()
        .ifPresent(writer ->
            add(writer.opcode(), new Register(RegisterClass.B32, "%unused"), writer.sources()));
    if (probe.isWarpgroupProduct()) {
      product();
    } else {
      statements.add(probe.instruction());
    }
    for (var reader : Probe.CarryReader.ALL) {
      if (probe.results().stream().anyMatch(value -> value.register().equals(reader.result()))) {
        add(reader.opcode(), reader.result(), reader.sources());
      }
    }
    for (int i = 0; i < probe.results().size(); i++) {
      store(probe.results().get(i), i * Probe.WORD);
    }
    add("ret");
    return new Kernel(
        name,
        List.of(new Kernel.Parameter("in", Type.U64), new Kernel.Parameter("out", Type.U64)),
        probe.isWarpgroupProduct() ? List.of(shared(FACTOR_A), shared(FACTOR_B)) : List.of(),
        Probe.BLOCK,
        0,
        statements);
  }

  private static SharedArray shared(String name) {
    return new SharedArray(name, 128, Probe.BLOCK * CHUNK);
  }

  /**
   * Emits a warpgroup product. Each thread writes a 16-byte chunk of each factor to shared memory.
   * 8 chunks form a core matrix, and pairs of core matrices along K are contiguous (PTX ISA
   * 9.7.15.5.1, without swizzle).
   */
  private void product() {
    for (var operand : List.of(Name.A, Name.B)) {
      var factor = operand == Name.A ? FACTOR_A : FACTOR_B;
      var at = new Register(RegisterClass.B32, "%at_" + factor);
      var own = new Register(RegisterClass.B32, "%own_" + factor);
      var chunk =
          probe.sources().stream()
              .filter(value -> value.operand() == operand)
              .map(Probe.Value::register)
              .toList();
      add("mov.u32", at, new Symbol(factor));
      add("mov.u32", own, SpecialRegister.TID_X);
      add("mad.lo.u32", own, own, Immediate.of(CHUNK), at);
      add("st.shared.v2.b64", new Address(own, 0), Operand.Vector.of(chunk));
      var descriptor = Probe.descriptor(operand);
      add("shr.u32", at, at, Immediate.of(4));
      add("cvt.u64.u32", descriptor, at);
      add("or.b64", descriptor, descriptor, new Immediate(Type.B64, STRIDES));
    }
    add("fence.proxy.async");
    add("bar.sync", Immediate.of(0));
    add("wgmma.fence.sync.aligned");
    statements.add(probe.instruction());
    add("wgmma.commit_group.sync.aligned");
    add("wgmma.wait_group.sync.aligned", Immediate.of(0));
  }

  private void add(String opcode, Operand... operands) {
    statements.add(InstructionTable.instruction(opcode, List.of(operands), null, Source.UNKNOWN));
  }

  private void add(String opcode, Register result, List<Operand> sources) {
    var operands = new ArrayList<Operand>(List.of(result));
    operands.addAll(sources);
    add(opcode, operands.toArray(Operand[]::new));
  }

  private void pointer(Register register, Register thread, int words) {
    add("ld.param.u64", register, new Address(new Symbol(register.name().substring(1)), 0));
    add("mad.wide.u32", register, thread, Immediate.of(words * Probe.WORD), register);
  }

  private void load(Probe.Value value, int at) {
    var register = value.register();
    if (register.registerClass() != RegisterClass.PRED) {
      add("ld.global." + bits(register), register, new Address(IN, at));
      return;
    }
    var word = new Register(RegisterClass.B32, "%word" + at);
    add("ld.global.b32", word, new Address(IN, at));
    add("setp.ne.u32", register, word, Immediate.of(0));
  }

  private void store(Probe.Value value, int at) {
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
