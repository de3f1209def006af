package dev.athanor.junit;

import dev.athanor.engine.analysis.sass.CubinException;
import dev.athanor.engine.analysis.sass.CubinSignatures;
import dev.athanor.engine.analysis.sass.CubinSignatures.Signature;
import dev.athanor.engine.analysis.sass.FatBinary;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.KernelImage;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.text.Parser;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.opentest4j.TestAbortedException;

/**
 * A cubin, or a fat binary of cubins and PTX. GPUs run the cubin for their architecture; the
 * emulator runs the PTX of a fat binary, if it is not compressed.
 *
 * @param name file name for error messages
 */
record CubinFile(String name, List<FatBinary.Entry> entries) {

  private static final String REMEDY = "nvcc -fatbin -arch=%s -Xfatbin -compress-mode=none";

  CubinFile {
    entries = List.copyOf(entries);
  }

  /**
   * Reads a file.
   *
   * @throws IllegalArgumentException if it is neither a cubin nor a fat binary
   */
  static CubinFile read(String name, byte[] file) {
    try {
      return new CubinFile(
          name,
          FatBinary.isOne(file)
              ? FatBinary.read(file).entries()
              : List.of(new FatBinary.Entry(false, CubinSignatures.read(file).sm(), false, file)));
    } catch (CubinException e) {
      throw new IllegalArgumentException(
          "%s is neither a cubin nor a fat binary: %s".formatted(name, e.getMessage()), e);
    }
  }

  /**
   * Returns the PTX that runs on an emulated device.
   *
   * @throws TestAbortedException if there is none
   */
  Module ptx(Device device) {
    var ptx = entries.stream().filter(FatBinary.Entry::isPtx).toList();
    var readable = ptx.stream().filter(each -> !each.isCompressed()).findFirst();
    if (readable.isEmpty()) {
      var reason =
          "%s is not emulated: it has %s; compile it with `%s` to run its PTX"
              .formatted(
                  name,
                  ptx.isEmpty() ? "machine code only" : "compressed PTX",
                  REMEDY.formatted(device.capability().target()));
      System.getLogger(GpuTest.class.getName())
          .log(System.Logger.Level.WARNING, "SKIPPED: " + reason);
      throw new TestAbortedException(reason);
    }
    return Parser.parse(readable.get().text(), name);
  }

  /**
   * Returns a kernel of the cubin that runs on a GPU.
   *
   * @throws IllegalArgumentException if there is no cubin for it, or not exactly one such kernel
   */
  KernelImage image(Device gpu, String kernel) {
    int sm = gpu.capability().target().sm();
    var cubin =
        entries.stream()
            .filter(each -> !each.isPtx() && !each.isCompressed() && runsOn(each.sm(), sm))
            .findFirst()
            .orElseThrow(() ->
                new IllegalArgumentException(
                    "%s has no uncompressed cubin for %s, which is sm_%d; it has %s; compile it with `%s`"
                        .formatted(
                            name,
                            gpu.capability().name(),
                            sm,
                            describe(),
                            REMEDY.formatted("sm_" + sm))));
    return new KernelImage(cubin.contents(), signature(cubin.contents(), kernel));
  }

  /** Returns whether a GPU runs a cubin: same major version, and the GPU's minor is not lower. */
  private static boolean runsOn(int cubin, int gpu) {
    return cubin / 10 == gpu / 10 && cubin <= gpu;
  }

  private String describe() {
    return entries.stream()
        .map(each ->
            "%s%s for sm_%d"
                .formatted(
                    each.isCompressed() ? "compressed " : "",
                    each.isPtx() ? "PTX" : "machine code",
                    each.sm()))
        .collect(Collectors.joining(", "));
  }

  private Kernel signature(byte[] cubin, String wanted) {
    var kernels = CubinSignatures.read(cubin).kernels();
    return KernelNames.find(wanted, kernels, Signature::name)
        .map(CubinFile::kernel)
        .orElseThrow(() ->
            KernelNames.notFound(
                name, kernels.stream().map(Signature::name).toList(), "got \"" + wanted + "\""));
  }

  /** Returns a kernel without a body. Parameters have no types in machine code, only sizes. */
  static Kernel kernel(Signature signature) {
    var parameters = new ArrayList<Parameter>();
    for (int bytes : signature.parameterBytes()) {
      var name = "#" + (parameters.size() + 1);
      parameters.add(
          number(bytes)
              .map(type -> new Parameter(name, type))
              .orElseGet(() -> new Parameter(name, Type.B8, 1, bytes, false)));
    }
    var shared = new ArrayList<SharedArray>();
    if (signature.staticSharedBytes() > 0) {
      shared.add(new SharedArray("static", 1, signature.staticSharedBytes()));
    }
    shared.add(new SharedArray("dynamic", 1, SharedArray.DYNAMIC));
    return new Kernel(signature.name(), parameters, shared, 0, 0, List.of());
  }

  private static Optional<Type> number(int bytes) {
    return switch (bytes) {
      case 1 -> Optional.of(Type.B8);
      case 2 -> Optional.of(Type.B16);
      case 4 -> Optional.of(Type.B32);
      case 8 -> Optional.of(Type.B64);
      default -> Optional.empty();
    };
  }
}
