package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifier.Comparison;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.RuntimeFunction;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.Call;
import dev.athanor.engine.ptx.Semantics.Exit;
import dev.athanor.engine.ptx.Semantics.IndexedBranch;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Statement.Label;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.table.FunctionRows;
import dev.athanor.engine.ptx.table.InstructionTable;
import dev.athanor.engine.ptx.table.Instructions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The expansion of one kernel: replaces its calls and indexed branches. */
final class Expansion {

  private final CallTargets targets;
  private final Kernel kernel;
  private final CallPlan plan;
  private final ExpandedKernel out;
  private final ParameterPassing passing;
  private final Map<String, SharedBody> sharedBodies = new HashMap<>();

  /** The names in this kernel of each function's shared arrays, which all its copies use. */
  private final Map<String, Map<String, String>> sharedArrays = new HashMap<>();

  private int copies;

  Expansion(CallTargets targets, Module module, Kernel kernel) {
    this.targets = targets;
    this.kernel = kernel;
    this.plan = new CallPlan(targets, kernel);
    this.out = new ExpandedKernel(module, kernel);
    this.passing = new ParameterPassing(out);
  }

  Kernel result() {
    var own = out.section(() -> addStatements(BodyCopy.ofKernel(out, kernel)));
    var functions = new ArrayList<List<Statement>>();
    for (var name : plan.shared()) {
      var body = sharedBodies.get(name);
      if (body != null) {
        functions.add(out.section(() -> addSharedBody(body)));
      }
    }
    if (!functions.isEmpty()) {
      // functions precede their callers, so that threads reconverge after a divergent call
      var start = out.uniqueName("$start");
      out.jump(start, Source.UNKNOWN);
      functions.reversed().forEach(out::addAll);
      out.label(start, Source.UNKNOWN);
    }
    out.addAll(own);
    return out.result();
  }

  private void addStatements(BodyCopy copy) {
    var statements = copy.code().body();
    for (int i = 0; i < statements.size(); i++) {
      switch (statements.get(i)) {
        case Label label -> out.label(copy.symbol(label.name()), label.source());
        case Instruction given -> addInstruction(copy, given, i == statements.size() - 1);
        case Statement.Prototype _, Statement.TargetList _ -> {}
      }
    }
  }

  private void addInstruction(BodyCopy copy, Instruction given, boolean last) {
    var guard = copy.guard(given.guard());
    var end = copy.end();
    switch (given.form().semantics()) {
      case Call _ -> addCall(copy, given, guard);
      case IndexedBranch _ -> addIndexedBranch(copy, given, guard);
      case Exit exit when end != null && exit.returns() -> {
        if (!last || guard != null) {
          out.add(Instructions.branch(end, guard, given.source()));
        }
      }
      case Semantics.Computation _,
          Semantics.Access _,
          Semantics.Asynchronous _,
          Semantics.Completion _,
          Semantics.Synchronization _,
          Semantics.TensorMapUpdate _,
          Semantics.Control _,
          Semantics.NoEffect _ ->
          out.add(renamed(copy, given, guard));
    }
  }

  /** Returns an instruction with the operands of a copy. */
  private Instruction renamed(BodyCopy copy, Instruction given, @Nullable Guard guard) {
    var operands = new ArrayList<>(copy.operands(given.operands()));
    boolean movesToLocal =
        IntStream.range(0, operands.size())
            .anyMatch(i -> becomesLocal(given.operands().get(i), operands.get(i)));
    operands.replaceAll(o ->
        o instanceof Symbol s && targets.isFunction(s.name())
            ? new Operand.Immediate(Type.U64, targets.address(s.name()) + s.offset())
            : o);
    if (!movesToLocal && haveSameKinds(given.operands(), operands)) {
      return new Instruction(given.form(), given.modifiers(), operands, guard, given.source());
    }
    var modifiers = new ArrayList<Modifier>(given.modifiers().list());
    if (movesToLocal) {
      modifiers.replaceAll(m -> m == Space.PARAM ? Space.LOCAL : m);
    }
    return InstructionTable.instruction(
        given.form().mnemonic(), modifiers, operands, guard, given.source());
  }

  /** Whether an operand is an address in {@code .param} memory that becomes local memory. */
  private boolean becomesLocal(Operand given, Operand operand) {
    return given instanceof Operand.Address named
        && named.base() instanceof Symbol
        && operand instanceof Operand.Address address
        && !out.isParameter(address.base());
  }

  /** Whether operands suit the row of the given ones, because none changed its kind. */
  private static boolean haveSameKinds(List<Operand> given, List<Operand> operands) {
    return IntStream.range(0, given.size())
        .allMatch(i -> given.get(i).getClass() == operands.get(i).getClass());
  }

  private void addIndexedBranch(BodyCopy copy, Instruction given, @Nullable Guard guard) {
    var source = given.source();
    var index = copy.operand(given.operands().getFirst());
    var hit = out.uniqueRegister(RegisterClass.PRED, "%case");
    var end = out.uniqueName("$cases");
    out.jumpUnless(guard, end, source);
    var labels = CallTargets.targets(copy.code(), given, false);
    for (int i = 0; i < labels.size(); i++) {
      out.add(
          Instructions.compare(
              Comparison.EQ, Type.U32, hit, index, Operand.Immediate.of(i), source));
      out.jumpIf(new Guard(hit, false), copy.symbol(labels.get(i)), source);
    }
    out.add(Instructions.trap(source));
    out.label(end, source);
  }

  private void addCall(BodyCopy copy, Instruction call, @Nullable Guard guard) {
    var site = CallSite.of(call, copy);
    var source = call.source();
    var end = out.uniqueName("$called");
    out.jumpUnless(guard, end, source);
    if (CallTargets.callee(call) instanceof Symbol name) {
      addCallOf(name.name(), site);
    } else {
      var pointer = copy.operand(CallTargets.callee(call));
      var other = out.uniqueRegister(RegisterClass.PRED, "%other");
      for (var candidate : targets.callees(copy.code(), call)) {
        var next = out.uniqueName("$not_" + candidate);
        var address = new Operand.Immediate(Type.U64, targets.address(candidate));
        out.add(Instructions.compare(Comparison.NE, Type.U64, other, pointer, address, source));
        out.jumpIf(new Guard(other, false), next, source);
        addCallOf(candidate, site);
        out.jump(end, source);
        out.label(next, source);
      }
      out.add(Instructions.trap(source));
    }
    out.label(end, source);
  }

  private void addCallOf(String name, CallSite site) {
    var declared = targets.function(name);
    var runtime = declared.filter(f -> !f.isDefined()).flatMap(_ -> RuntimeFunction.of(name));
    if (runtime.isPresent()) {
      addRuntimeCall(runtime.get(), declared.orElseThrow(), site);
      return;
    }
    var function =
        declared
            .filter(Function::isDefined)
            .orElseThrow(() ->
                CallTargets.refused(
                    site.call(),
                    "calls %s, which has no body in the module; define it, or call a function of the device runtime: %s"
                        .formatted(name, RuntimeFunction.symbols())));
    site.checkCounts(function);
    if (plan.isShared(name)) {
      sharedBodies
          .computeIfAbsent(name, _ -> new SharedBody(out, passing, function, ++copies))
          .call(site);
    } else {
      addCopy(function, site);
    }
  }

  private void addCopy(Function function, CallSite site) {
    var copy = BodyCopy.ofFunction(out, function.code(), ++copies);
    passing.pass(site, function, copy);
    declareNames(copy);
    addStatements(copy);
    addEnd(copy, site.source());
    passing.takeResults(site, function, copy);
  }

  private void addSharedBody(SharedBody shared) {
    declareNames(shared.copy());
    out.label(shared.entry(), Source.UNKNOWN);
    addStatements(shared.copy());
    addEnd(shared.copy(), Source.UNKNOWN);
    shared.jumpBack();
  }

  private void declareNames(BodyCopy copy) {
    var code = copy.code();
    copy.rename(sharedArrays.computeIfAbsent(code.name(), _ -> out.addShared(code)));
    copy.declareVariablesAndLabels();
  }

  /** Adds the label to which {@code ret} jumps. */
  private void addEnd(BodyCopy copy, Source source) {
    out.label(Objects.requireNonNull(copy.end()), source);
  }

  private static List<Integer> bytes(List<Parameter> parameters) {
    return parameters.stream().map(Parameter::bytes).toList();
  }

  private void addRuntimeCall(RuntimeFunction callee, Function declared, CallSite site) {
    if (!callee.matches(bytes(declared.results()), bytes(declared.code().parameters()))) {
      throw CallTargets.refused(
          site.call(), "does not fit the device runtime: " + callee.signature());
    }
    site.checkCounts(declared);
    var copy = BodyCopy.ofFunction(out, declared.code(), ++copies);
    var arguments = passing.passToRuntime(site, declared, copy);
    var results = passing.runtimeResults(site, declared, copy);
    out.add(FunctionRows.call(callee, site.call(), results, arguments));
    passing.takeFromRuntime(site, declared, results);
  }
}
