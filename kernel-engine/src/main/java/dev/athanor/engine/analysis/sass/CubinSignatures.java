package dev.athanor.engine.analysis.sass;

import java.util.List;
import java.util.TreeMap;

/**
 * What launches need to know about the kernels of a cubin. Unlike {@link Cubin}, the machine code
 * is not decoded.
 *
 * @param sm the target, compute capability times ten
 * @param kernels in the order of the symbol table
 */
public record CubinSignatures(int sm, List<Signature> kernels) {

  /** The attribute with the position and size of a parameter. */
  private static final int PARAMETER = 0x17;

  private static final int PARAMETER_BYTES = 12;
  private static final int ORDINAL = 4;
  private static final int SIZE = 8;
  private static final int SIZE_SHIFT = 18;

  /**
   * A kernel.
   *
   * @param parameterBytes sizes of the parameters, in their order
   * @param staticSharedBytes of a block
   */
  public record Signature(String name, List<Integer> parameterBytes, int staticSharedBytes) {
    public Signature {
      parameterBytes = List.copyOf(parameterBytes);
    }
  }

  public CubinSignatures {
    kernels = List.copyOf(kernels);
  }

  /**
   * Reads a cubin.
   *
   * @throws CubinException if it is not one, or damaged
   */
  public static CubinSignatures read(byte[] file) {
    var elf = new Elf(file);
    int sm = Cubin.sm(elf);
    return new CubinSignatures(
        sm,
        elf.functions().stream()
            .filter(Elf.Function::kernel)
            .map(each ->
                new Signature(
                    each.name(),
                    parameters(elf, each.name()),
                    Cubin.sharedBytes(elf, each.name(), sm)))
            .toList());
  }

  private static List<Integer> parameters(Elf elf, String kernel) {
    var sizes = new TreeMap<Integer, Integer>();
    for (var attribute : NvInfo.read(elf, ".nv.info." + kernel)) {
      var value = attribute.value();
      if (attribute.number() == PARAMETER && value.limit() == PARAMETER_BYTES) {
        sizes.put(value.getShort(ORDINAL) & 0xffff, value.getInt(SIZE) >>> SIZE_SHIFT);
      }
    }
    return List.copyOf(sizes.values());
  }
}
