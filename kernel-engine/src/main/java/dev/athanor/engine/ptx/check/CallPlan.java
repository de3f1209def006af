package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Decides which functions of a kernel are inlined at each call, and which have one shared body, to
 * which calls jump. Inlined code is faster, but can grow exponentially with the depth of calls;
 * with this plan it grows linearly with the number of calls.
 */
final class CallPlan {

  /**
   * The maximum size of a function with several calls that is inlined, in statements after
   * inlining.
   */
  private static final int MOST_INLINED = 512;

  /** The maximum depth of nested inlined calls. */
  private static final int DEEPEST = 32;

  /** A call and a function that it may reach. */
  private record Edge(Instruction call, String callee) {}

  /** A function, or the kernel, and its calls that have not been visited. */
  private record Visit(String name, Iterator<Edge> calls) {}

  private final CallTargets targets;
  private final Map<String, List<Edge>> edges = new HashMap<>();
  private final List<String> calleesFirst = new ArrayList<>();
  private final Set<String> shared = new HashSet<>();

  /**
   * Plans the calls of a kernel.
   *
   * @throws IllegalArgumentException when a function is recursive, with the cycle of calls
   */
  CallPlan(CallTargets targets, Kernel kernel) {
    this.targets = targets;
    follow(kernel);
    var sites = new HashMap<String, Integer>();
    edges.values().forEach(calls -> calls.forEach(e -> sites.merge(e.callee, 1, Integer::sum)));
    var sizes = new HashMap<String, Long>();
    var depths = new HashMap<String, Integer>();
    for (var name : calleesFirst) {
      long size = targets.function(name).orElseThrow().code().body().size();
      int depth = 1;
      for (var edge : edges.getOrDefault(name, List.of())) {
        if (!shared.contains(edge.callee)) {
          size += sizes.getOrDefault(edge.callee, 0L);
          depth = Math.max(depth, 1 + depths.getOrDefault(edge.callee, 0));
        }
      }
      sizes.put(name, size);
      depths.put(name, depth);
      if (depth > DEEPEST || (size > MOST_INLINED && sites.getOrDefault(name, 0) > 1)) {
        shared.add(name);
      }
    }
  }

  boolean isShared(String function) {
    return shared.contains(function);
  }

  /** Returns the shared functions, callers before callees. */
  List<String> shared() {
    return calleesFirst.reversed().stream().filter(shared::contains).toList();
  }

  /** Visits all reachable functions, callees first; iterative, since calls may nest deeply. */
  private void follow(Kernel kernel) {
    Deque<Visit> open = new ArrayDeque<>();
    var begun = new HashSet<String>();
    open.push(new Visit("", edges(kernel).iterator()));
    while (!open.isEmpty()) {
      var visit = open.getFirst();
      if (!visit.calls.hasNext()) {
        open.pop();
        if (!open.isEmpty()) {
          calleesFirst.add(visit.name);
        }
        continue;
      }
      var edge = visit.calls.next();
      var callee = targets.function(edge.callee).filter(Function::isDefined);
      if (callee.isEmpty()) {
        continue; // the expansion reports it
      }
      if (begun.add(edge.callee)) {
        var calls = edges(callee.get().code());
        edges.put(edge.callee, calls);
        open.push(new Visit(edge.callee, calls.iterator()));
      } else if (open.stream().anyMatch(v -> v.name.equals(edge.callee))) {
        var cycle =
            new ArrayList<>(
                open.reversed().stream()
                    .map(Visit::name)
                    .dropWhile(name -> !name.equals(edge.callee))
                    .toList());
        cycle.add(edge.callee);
        throw CallTargets.refused(
            edge.call, "is recursive, which is not supported: " + String.join(" calls ", cycle));
      }
    }
  }

  private List<Edge> edges(Kernel code) {
    var all = new ArrayList<Edge>();
    code.instructions()
        .filter(i -> i.form().semantics() instanceof Semantics.Call)
        .forEach(i -> targets.callees(code, i).forEach(name -> all.add(new Edge(i, name))));
    return all;
  }
}
