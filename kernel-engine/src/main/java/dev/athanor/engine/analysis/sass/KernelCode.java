package dev.athanor.engine.analysis.sass;

import dev.athanor.engine.analysis.Assembly.Usage;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.Occupancy;
import dev.athanor.engine.analysis.sass.Cubin.CodeSection;
import dev.athanor.engine.analysis.sass.SassInstruction.Indirect;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * The machine code of a kernel.
 *
 * @param usage registers, stack, spills and static shared memory, from the assembler's log
 * @param instructions all of them, with the functions it calls and without padding
 * @param loops the innermost ones, in the order of their addresses
 * @param indirectBranches branches to an address in a register; loops that only they reach are not
 *     found
 */
public record KernelCode(
    String name,
    Usage usage,
    InstructionCounts instructions,
    List<InnermostLoop> loops,
    int indirectBranches) {

  public KernelCode {
    loops = List.copyOf(loops);
  }

  static KernelCode of(CodeSection section, Usage usage) {
    var graph = new FlowGraph(section.instructions(), section.entries());
    var code = section.instructions().stream().filter(each -> each.opcode() != Opcode.NOP).toList();
    int indirect = (int) code.stream().filter(each -> each.flow() instanceof Indirect).count();
    return new KernelCode(
        section.name(),
        usage,
        InstructionCounts.of(code),
        NaturalLoops.innermost(graph).stream().map(loop -> loop(graph, loop)).toList(),
        indirect);
  }

  private static InnermostLoop loop(FlowGraph graph, BitSet numbers) {
    var code = new ArrayList<SassInstruction>();
    numbers.stream().forEach(number -> code.addAll(graph.blocks().get(number).instructions()));
    return new InnermostLoop(
        graph.blocks().get(numbers.nextSetBit(0)).start(),
        graph.blocks().get(numbers.length() - 1).end(),
        numbers.cardinality(),
        InstructionCounts.of(code));
  }

  /**
   * Returns how many blocks of the kernel a multiprocessor of a GPU holds.
   *
   * @param threads of a block
   * @param dynamicSharedBytes what a launch adds to the static shared memory
   */
  public Occupancy occupancy(Gpu gpu, int threads, int dynamicSharedBytes) {
    return gpu.occupancy(
        threads, usage.registers(), usage.staticSharedBytes() + dynamicSharedBytes);
  }
}
