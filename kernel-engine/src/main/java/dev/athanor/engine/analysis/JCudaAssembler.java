package dev.athanor.engine.analysis;

import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.engine.ptx.text.PtxSyntaxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedDeque;

/**
 * NVIDIA's PTX compiler library of CUDA 12.0, which JCuda includes. It needs no driver, reads PTX
 * up to 8.0 and knows targets up to sm_90a. The library crashes on some texts that it should refuse
 * and on some kernels; it therefore runs in child processes, which are kept for later requests and
 * replaced after a crash.
 */
public final class JCudaAssembler implements Assembler {

  private static final String NAME = "nvPTXCompiler ";

  private static final String NOTE =
      "Athanor includes this assembler, of CUDA 12.0. If ptxas of a CUDA toolkit is on the PATH, it is"
          + " used instead.";

  private final ConcurrentLinkedDeque<PtxCompilerProcess> idle = new ConcurrentLinkedDeque<>();
  private final String name;

  private JCudaAssembler(PtxCompilerProcess first) {
    idle.add(first);
    name = NAME + first.version();
  }

  /** Returns the compiler if its library can be loaded: on Linux for x86-64. */
  public static Optional<JCudaAssembler> find() {
    return Once.FOUND;
  }

  private static final class Once {
    static final Optional<JCudaAssembler> FOUND = load();
  }

  private static Optional<JCudaAssembler> load() {
    try {
      return Optional.of(new JCudaAssembler(PtxCompilerProcess.start()));
    } catch (IOException e) {
      System.getLogger(JCudaAssembler.class.getName())
          .log(System.Logger.Level.DEBUG, "the PTX compiler library cannot be loaded", e);
      return Optional.empty();
    }
  }

  /** Returns how to get a newer assembler, if the named one is this. */
  public static Optional<String> note(String assembler) {
    return assembler.startsWith(NAME) ? Optional.of(NOTE) : Optional.empty();
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Assembly assemble(String ptx, Target target) {
    var process = idleProcess(target);
    PtxCompilerProcess.Answer answer;
    try {
      answer = process.assemble(ptx.getBytes(StandardCharsets.UTF_8), target);
    } catch (IOException e) {
      throw new AssemblyException(
          "%s crashed on the module for %s: %s.%s %s"
              .formatted(name, target, e.getMessage(), syntaxError(ptx), NOTE));
    }
    idle.push(process);
    if (!answer.accepted()) {
      throw new AssemblyException(name, target, answer.log());
    }
    return Assembly.read(answer.log(), answer.cubin());
  }

  private PtxCompilerProcess idleProcess(Target target) {
    var process = idle.poll();
    try {
      return process == null ? PtxCompilerProcess.start() : process;
    } catch (IOException e) {
      throw new AssemblyException(
          "%s cannot assemble the module for %s: %s".formatted(name, target, e.getMessage()));
    }
  }

  /** Returns what this engine's parser finds wrong, since the library has not said it. */
  private static String syntaxError(String ptx) {
    try {
      Parser.parse(ptx, "module.ptx");
      return "";
    } catch (PtxSyntaxException e) {
      return " The module is not valid: " + e.getMessage() + ".";
    }
  }
}
