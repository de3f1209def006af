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
 * Which functions of a kernel are cloned at each call, and which are shared: their code is there
 * once, and calls jump to it. Cloning is faster, but its code can grow exponentially with the depth
 * of the calls; with this plan it stays linear in the number of calls.
 */
final class CallPlan {

  /**
   * The statements, clones in it included, beyond which a function with several calls is shared.
   */
  private static final int MOST_CLONED = 512;

  /** How deep clones may be nested. */
  private static final int DEEPEST = 32;

  /** A call and a function that it may mean. */
  private record Edge(Instruction call, String callee) {}

  /** A function, or the kernel, whose calls are being followed. */
  private record Visit(String name, Iterator<Edge> calls) {}

  private final CallTargets targets;
  private final Map<String, List<Edge>> edges = new HashMap<>();
  private final List<String> calleesFirst = new ArrayList<>();
  private final Set<String> shared = new HashSet<>();

  /**
   * Plans the calls of a kernel.
   *
   * @throws IllegalArgumentException when functions call themselves, with their names
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
      if (depth > DEEPEST || (size > MOST_CLONED && sites.getOrDefault(name, 0) > 1)) {
        shared.add(name);
      }
    }
  }

  boolean isShared(String function) {
    return shared.contains(function);
  }

  /** The shared functions, each before those that it calls. */
  List<String> shared() {
    return calleesFirst.reversed().stream().filter(shared::contains).toList();
  }

  /** Finds all functions that can be reached; without recursion, since calls may be nested deep. */
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
        continue; // the expansion complains of it
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
            edge.call, "recurs, which is not supported: " + String.join(" calls ", cycle));
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
