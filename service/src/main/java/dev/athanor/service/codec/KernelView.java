package dev.athanor.service.codec;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.athanor.engine.analysis.Liveness;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Target;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The JSON view of a kernel: its PTX and static properties.
 *
 * @param registersLive maximum number of live 32-bit registers per thread
 * @param predicatesLive maximum number of live predicates per thread
 * @param machineCode null unless requested
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record KernelView(
    String name,
    String version,
    String target,
    long instructions,
    int registersLive,
    int predicatesLive,
    int staticSharedBytes,
    int maxThreads,
    List<Line> lines,
    @Nullable MachineCodeView machineCode) {

  /**
   * A line of PTX.
   *
   * @param source the Java line that emitted it; null unless it is an instruction
   * @param live the number of live 32-bit registers before it; null unless it is an instruction
   */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Line(String text, @Nullable String source, @Nullable Integer live) {}

  public static KernelView of(Module module) {
    return of(module, null);
  }

  /**
   * Returns the view of a module of one kernel.
   *
   * @param target the target of the machine code; null for none
   */
  static KernelView of(Module module, @Nullable Target target) {
    var kernel = module.kernels().getFirst();
    var liveness = Liveness.of(kernel);
    return new KernelView(
        kernel.name(),
        module.version().toString(),
        module.target().toString(),
        kernel.instructions().count(),
        liveness.mostWords(),
        liveness.mostPredicates(),
        kernel.staticSharedBytes(),
        kernel.maxThreads(),
        lines(kernel, module, liveness),
        target == null ? null : MachineCodeView.of(module, kernel.name(), target));
  }

  /** Maps lines to statements, which are the last lines before the closing brace. */
  private static List<Line> lines(Kernel kernel, Module module, Liveness liveness) {
    var lines = module.toString().lines().toList();
    int first = lines.size() - 1 - kernel.body().size();
    return IntStream.range(0, lines.size())
        .mapToObj(i -> line(kernel, liveness, lines.get(i), i - first))
        .toList();
  }

  private static Line line(Kernel kernel, Liveness liveness, String text, int statement) {
    return statement >= 0
            && statement < kernel.body().size()
            && kernel.body().get(statement) instanceof Statement.Instruction instruction
        ? new Line(text, instruction.source().toString(), liveness.words(statement))
        : new Line(text, null, null);
  }
}
