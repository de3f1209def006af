package dev.athanor.engine.lift.emit;

import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.ArrayVariable;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Site;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.LaunchBounds;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.symbol.SymbolTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Leaves SSA form: writes the blocks of a kernel in order, each value in a virtual register of its
 * own, and the arguments of edges as copies. Copies that matter are left to the driver's assembler,
 * which rebuilds SSA form and allocates the hardware's registers.
 */
public final class KernelEmitter {
  /** Alignment of arrays in bytes: that of the largest vector load. */
  private static final int ALIGNMENT = 16;

  /** Name of the parameter that points to the fault record. */
  public static final String FAULT = "$fault_record";

  private final Graph graph;
  private final String name;
  private final int minBlocks;
  private final RegisterFile out = new RegisterFile();
  private final Operands operands = new Operands(out);
  private final Map<Block, String> labels = new HashMap<>();
  private final FaultCode faults = new FaultCode(out, operands);
  private final ValueEmitter values;
  private final Set<Edge> copiedEarly;

  /**
   * A kernel and what its launches need to know.
   *
   * @param sites the places that a fault record refers to
   * @param symbols for debuggers; without frames unless the kernel is debugged
   */
  public record Emitted(Kernel kernel, List<Site> sites, SymbolTable symbols) {}

  private KernelEmitter(Graph graph, String name, int minBlocks, Set<Edge> copiedEarly) {
    this.graph = graph;
    this.name = name;
    this.minBlocks = minBlocks;
    this.copiedEarly = copiedEarly;
    values = new ValueEmitter(graph.name(), out, operands, uses(graph));
  }

  /**
   * Returns the kernel. Edges of the graph are split.
   *
   * @param name of the kernel in PTX
   * @param minBlocks minimum number of blocks of a multiprocessor; 0 if none is declared
   */
  public static Emitted emit(Graph graph, String name, int minBlocks) {
    return new KernelEmitter(graph, name, minBlocks, splitEdges(graph)).run();
  }

  private static Set<Value> uses(Graph graph) {
    Set<Value> used = new HashSet<>();
    for (var block : graph.blocks()) {
      block.body().forEach(value -> used.addAll(value.inputs()));
      block.edges().forEach(edge -> used.addAll(edge.arguments()));
      if (block.end() instanceof Terminator.Branch branch) {
        used.add(branch.condition());
      }
    }
    return used;
  }

  /**
   * Moves the arguments of two-way branches to blocks of their own, but for edges back to the start
   * of a loop: their copies precede the branch if nothing after the loop needs the old values.
   */
  private static Set<Edge> splitEdges(Graph graph) {
    Set<Edge> copiedEarly = new HashSet<>();
    var live = new LiveValues(graph);
    Set<Block> before = new HashSet<>();
    for (var block : graph.blocks()) {
      before.add(block);
      if (block.end() instanceof Terminator.Branch(var condition, var yes, var no)) {
        for (var edge : List.of(yes, no)) {
          var other = edge == yes ? no : yes;
          if (before.contains(edge.target())
              && !copiedEarly.contains(other)
              && !edge.target().parameters().contains(condition)
              && !needs(other, edge.target().parameters(), live)) {
            copiedEarly.add(edge);
          }
        }
        Stream.of(yes, no)
            .filter(edge -> !copiedEarly.contains(edge))
            .forEach(KernelEmitter::split);
      }
    }
    return copiedEarly;
  }

  /** Returns whether values are needed after an edge. */
  private static boolean needs(Edge edge, List<Value> values, LiveValues live) {
    return values.stream()
        .anyMatch(v -> live.atStart(edge.target()).contains(v) || edge.arguments().contains(v));
  }

  private static void split(Edge edge) {
    if (!edge.arguments().isEmpty()) {
      var copies = new Block();
      copies.setEnd(new Terminator.Jump(new Edge(edge.target(), edge.arguments())));
      edge.setTarget(copies);
      edge.setArguments(List.of());
    }
  }

  private Emitted run() {
    var blocks = graph.blocks();
    blocks.forEach(block -> labels.put(block, "$b" + labels.size()));
    var targets = targets(blocks);
    for (int i = 0; i < blocks.size(); i++) {
      var block = blocks.get(i);
      if (targets.contains(block)) {
        out.label(label(block));
      }
      emit(block.body());
      end(block, i + 1 < blocks.size() ? blocks.get(i + 1) : null);
    }
    out.endFrames();
    var sites = faults.finish();
    return new Emitted(
        new Kernel(name, parameters(), shared(), locals(), bounds(), out.statements()),
        sites,
        new SymbolTable(out.frames(), graph.methodsWithoutVariables()));
  }

  private void emit(List<Value> body) {
    for (int i = 0; i < body.size(); i++) {
      var value = body.get(i);
      if (value.is(Op.CHECK)) {
        int start = i;
        while (i + 1 < body.size() && body.get(i + 1).is(Op.CHECK)) {
          i++;
        }
        faults.check(body.subList(start, i + 1));
      } else {
        out.setSource(value.source());
        values.emit(value);
      }
    }
  }

  private String label(Block block) {
    return labels.getOrDefault(block, "");
  }

  private static Set<Block> targets(List<Block> blocks) {
    Set<Block> found = new HashSet<>();
    blocks.forEach(block -> found.addAll(block.successors()));
    return found;
  }

  private void end(Block block, @Nullable Block next) {
    switch (block.end()) {
      case Terminator.Return _ -> out.emit("ret");
      case Terminator.Jump(var edge) -> {
        copy(edge);
        if (edge.target() != next) {
          out.branch(null, label(edge.target()));
        }
      }
      case Terminator.Branch(var condition, var yes, var no) -> {
        var predicate = operands.inRegister(condition);
        block.edges().stream().filter(copiedEarly::contains).forEach(this::copy);
        if (yes.target() == next) {
          out.branch(new Guard(predicate, true), label(no.target()));
        } else {
          out.branch(new Guard(predicate, false), label(yes.target()));
          if (no.target() != next) {
            out.branch(null, label(no.target()));
          }
        }
      }
    }
    out.setSource(Source.UNKNOWN);
  }

  private void copy(Edge edge) {
    new ParallelCopy(operands).emit(edge.target().parameters(), edge.arguments());
  }

  /** Returns the parameters: those of the method in order, then used lengths, then the record. */
  private List<Kernel.Parameter> parameters() {
    var found = new ArrayList<Kernel.Parameter>();
    for (var argument : graph.arguments()) {
      found.add(
          new Kernel.Parameter(
              argument.parameterName(),
              switch (argument.kind()) {
                case SCALAR -> argument.number().value().ptx();
                case ARRAY, SEGMENT -> Type.U64;
              }));
    }
    for (var argument : graph.arguments()) {
      switch (argument.kind()) {
        case ARRAY -> found.add(new Kernel.Parameter(argument.lengthName(), Type.S32));
        case SEGMENT -> found.add(new Kernel.Parameter(argument.lengthName(), Type.S64));
        case SCALAR -> {}
      }
    }
    if (faults.isUsed()) {
      found.add(new Kernel.Parameter(FAULT, Type.U64));
    }
    return found;
  }

  private Stream<ArrayVariable> arrays(Access.Space space) {
    return graph.arrays().stream().filter(array -> array.space() == space);
  }

  private List<Variable> locals() {
    var local =
        arrays(Access.Space.LOCAL)
            .map(array ->
                new Variable(
                    "",
                    Modifier.Space.LOCAL,
                    ALIGNMENT,
                    Type.B8,
                    array.name(),
                    Math.max(1, Math.toIntExact(array.bytes())),
                    List.of()));
    var used =
        graph.blocks().stream()
            .flatMap(block -> block.body().stream())
            .filter(value -> value.is(Op.ARRAY))
            .map(value -> value.attribute(ArrayVariable.class))
            .collect(Collectors.toSet());
    var constants = arrays(Access.Space.CONST).filter(used::contains).map(this::constant);
    return Stream.of(local, out.variables().stream(), constants).flatMap(each -> each).toList();
  }

  private Variable constant(ArrayVariable array) {
    var numbers =
        IntStream.range(0, array.length())
            .mapToObj(i -> operands.of(array.constant(i)))
            .map(number -> new Variable.Initializer("", false, (Immediate) number))
            .toList();
    return new Variable(
        "",
        Modifier.Space.CONST,
        ALIGNMENT,
        array.element().memory(),
        array.name(),
        Math.max(1, array.length()),
        numbers);
  }

  private List<Kernel.SharedArray> shared() {
    return arrays(Access.Space.SHARED)
        .map(array ->
            new Kernel.SharedArray(
                array.name(),
                ALIGNMENT,
                array.length() == ArrayVariable.DYNAMIC
                    ? Kernel.SharedArray.DYNAMIC
                    : Math.toIntExact(array.bytes())))
        .distinct()
        .toList();
  }

  private LaunchBounds bounds() {
    return new LaunchBounds(List.of(), graph.blockShape(), minBlocks, 0);
  }
}
