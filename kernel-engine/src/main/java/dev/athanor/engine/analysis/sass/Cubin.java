package dev.athanor.engine.analysis.sass;

import dev.athanor.engine.analysis.sass.SassInstruction.Branch;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The machine code of a module.
 *
 * @param sm the target, compute capability times ten
 * @param kernels in the order of the symbol table
 */
public record Cubin(int sm, List<CodeSection> kernels) {

  /** The ABI version from which the flags have the target in their second byte. */
  private static final int ABI_OF_CUDA_13 = 8;

  private static final int OLDEST = 70;

  /** Shared memory that the system reserves in each block from sm_90 on. */
  private static final int RESERVED_SHARED = 1024;

  private static final int FRAME_SIZE = 0x11;
  private static final int REGISTER_COUNT = 0x2f;

  public Cubin {
    kernels = List.copyOf(kernels);
  }

  /**
   * The code of a kernel and of the functions that ptxas put behind it.
   *
   * @param registers of a thread
   * @param frameBytes stack of a thread, spilled registers included
   * @param staticSharedBytes of a block
   * @param entries addresses where functions start, the kernel's 0 included
   */
  public record CodeSection(
      String name,
      int registers,
      int frameBytes,
      int staticSharedBytes,
      List<SassInstruction> instructions,
      Set<Integer> entries) {

    public CodeSection {
      instructions = List.copyOf(instructions);
      entries = Set.copyOf(entries);
    }
  }

  /**
   * Reads a cubin of sm_70 or later.
   *
   * @throws CubinException if it is not one, or damaged
   */
  public static Cubin read(byte[] file) {
    var elf = new Elf(file);
    int sm = sm(elf);
    if (sm < OLDEST) {
      throw new CubinException(
          "The cubin is for sm_%d; code of sm_%d and later can be decoded.".formatted(sm, OLDEST));
    }
    var functions = elf.functions();
    var registers = attributes(elf, REGISTER_COUNT);
    var frames = attributes(elf, FRAME_SIZE);
    var kernels = new ArrayList<CodeSection>();
    for (var function : functions) {
      if (function.kernel()) {
        var text = ".text." + function.name();
        var section =
            elf.section(text)
                .orElseThrow(() ->
                    Elf.damaged("kernel %s has no section %s".formatted(function.name(), text)));
        var entries = new HashSet<>(Set.of(0));
        functions.stream()
            .filter(each -> each.section() == section.index())
            .filter(each -> each.value() >= 0 && each.value() < section.size())
            .forEach(each -> entries.add((int) each.value()));
        kernels.add(
            new CodeSection(
                function.name(),
                registers.getOrDefault(function.symbol(), 0),
                frames.getOrDefault(function.symbol(), 0),
                sharedBytes(elf, function.name(), sm),
                code(function.name(), elf.contents(section), sm),
                entries));
      }
    }
    return new Cubin(sm, kernels);
  }

  /** Returns the target, compute capability times ten. */
  static int sm(Elf elf) {
    return elf.abiVersion() < ABI_OF_CUDA_13 ? elf.flags() & 0xff : (elf.flags() >> 8) & 0xff;
  }

  private static List<SassInstruction> code(String kernel, ByteBuffer code, int sm) {
    if (code.limit() % SassInstruction.BYTES != 0) {
      throw Elf.damaged(
          "kernel %s has %d bytes of code, which is not a multiple of %d"
              .formatted(kernel, code.limit(), SassInstruction.BYTES));
    }
    var instructions = new SassDecoder(sm).decode(code);
    for (var each : instructions) {
      if (each.flow() instanceof Branch branch
          && (branch.target() < 0
              || branch.target() >= code.limit()
              || branch.target() % SassInstruction.BYTES != 0)) {
        throw Elf.damaged(
            "the branch at 0x%x of kernel %s does not lead to one of its instructions"
                .formatted(each.address(), kernel));
      }
    }
    return instructions;
  }

  /** Returns the static shared memory of a block. */
  static int sharedBytes(Elf elf, String kernel, int sm) {
    long bytes = elf.section(".nv.shared." + kernel).map(Elf.Section::size).orElse(0L);
    return Math.clamp(sm >= 90 ? bytes - RESERVED_SHARED : bytes, 0, Integer.MAX_VALUE);
  }

  /** Returns the values of an attribute of {@code .nv.info}, by symbol. */
  private static Map<Integer, Integer> attributes(Elf elf, int wanted) {
    var values = new HashMap<Integer, Integer>();
    for (var attribute : NvInfo.read(elf, ".nv.info")) {
      var value = attribute.value();
      if (attribute.number() == wanted && value.limit() == 2 * Integer.BYTES) {
        values.put(value.getInt(0), value.getInt(Integer.BYTES));
      }
    }
    return values;
  }
}
