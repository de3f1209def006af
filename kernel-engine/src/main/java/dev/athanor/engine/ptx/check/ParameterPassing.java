package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Literals;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.table.Instructions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Passes arguments and results of calls. A copy for one call uses the caller's variables in local
 * memory; a shared body receives their addresses in registers. Values that the caller has in
 * registers, or the function expects there, are moved.
 */
final class ParameterPassing {

  private final ExpandedKernel out;

  /** The registers that hold addresses of parameters and results of shared bodies. */
  private final Set<Register> addresses = new HashSet<>();

  ParameterPassing(ExpandedKernel out) {
    this.out = out;
  }

  /** Binds the parameters and results of a copy to those of its only call. */
  void pass(CallSite site, Function function, BodyCopy callee) {
    for (int i = 0; i < site.arguments().size(); i++) {
      var formal = function.code().parameters().get(i);
      var actual = site.arguments().get(i);
      bind(callee, formal, actual);
      if (isMoved(formal, actual)) {
        move(callee.variable(formal), actual, formal.type(), site.source());
      }
    }
    for (int i = 0; i < site.results().size(); i++) {
      bind(callee, function.results().get(i), site.results().get(i));
    }
  }

  /** Moves the results of a copy to where its only call takes them. */
  void takeResults(CallSite site, Function function, BodyCopy callee) {
    for (int i = 0; i < site.results().size(); i++) {
      var formal = function.results().get(i);
      var actual = site.results().get(i);
      if (isMoved(formal, actual) && !(actual instanceof Operand.Sink)) {
        move(actual, callee.variable(formal), formal.type(), site.source());
      }
    }
  }

  /** Whether a value is moved, because formal and actual parameter are two variables. */
  private boolean isMoved(Parameter formal, Operand actual) {
    return formal.inRegister() || !(actual instanceof Symbol || isAddress(actual));
  }

  private void bind(BodyCopy callee, Parameter formal, Operand actual) {
    if (!isMoved(formal, actual)) {
      switch (actual) {
        case Register address -> callee.bind(formal, address);
        case Symbol variable -> callee.bind(formal, variable);
        default -> throw new IllegalStateException(actual + " is no variable");
      }
    } else if (!formal.inRegister()) {
      out.addLocal(callee.rename(formal.name()), formal);
    }
  }

  /** Lets a shared body find a parameter or result in memory through a new register. */
  void addAddress(BodyCopy shared, Parameter formal) {
    var address = out.uniqueRegister(RegisterClass.B64, "%address_of_" + formal.name());
    shared.bind(formal, address);
    addresses.add(address);
  }

  /**
   * Passes arguments to a shared body.
   *
   * @return the places where the results will be
   */
  List<Operand> passToShared(CallSite site, Function function, BodyCopy callee) {
    var source = site.source();
    for (int i = 0; i < site.arguments().size(); i++) {
      var formal = function.code().parameters().get(i);
      var actual = site.arguments().get(i);
      if (formal.inRegister()) {
        move(callee.register(formal), actual, formal.type(), source);
      } else {
        passAddress(callee.address(formal), inMemory(formal, actual, true, source), source);
      }
    }
    var places = new ArrayList<Operand>();
    for (int i = 0; i < site.results().size(); i++) {
      var formal = function.results().get(i);
      if (formal.inRegister()) {
        places.add(callee.register(formal));
      } else {
        places.add(inMemory(formal, site.results().get(i), false, source));
        passAddress(callee.address(formal), places.getLast(), source);
      }
    }
    return places;
  }

  /** Moves the results of a shared body to where a call takes them. */
  void takeFromShared(CallSite site, Function function, List<Operand> places) {
    for (int i = 0; i < site.results().size(); i++) {
      var formal = function.results().get(i);
      var actual = site.results().get(i);
      if (isMoved(formal, actual)
          && !actual.equals(places.get(i))
          && !(actual instanceof Operand.Sink)) {
        move(actual, places.get(i), formal.type(), site.source());
      }
    }
  }

  private void passAddress(@Nullable Register to, Operand variable, Source source) {
    if (to != null) {
      var type = variable instanceof Symbol ? Type.U64 : Type.B64;
      out.add(Instructions.move(type, to, variable, null, source));
    }
  }

  /**
   * Returns the variable in local memory that holds a parameter or result: the caller's variable,
   * or a new one for a value that the caller has elsewhere.
   */
  private Operand inMemory(Parameter formal, Operand actual, boolean filled, Source source) {
    boolean isParameter = out.isParameter(actual);
    if (isAddress(actual) || (actual instanceof Symbol && !isParameter)) {
      return actual;
    }
    var variable = out.addLocal(out.uniqueName(formal.name() + "$given"), formal);
    if (filled && isParameter) {
      copy(formal, actual, variable, source);
    } else if (filled) {
      move(variable, actual, formal.type(), source);
    }
    return variable;
  }

  /** Copies a parameter of the kernel to local memory. */
  private void copy(Parameter formal, Operand from, Operand to, Source source) {
    int bytes = Math.min(8, formal.alignment());
    var type = Instructions.bitType(8 * bytes);
    var value =
        out.uniqueRegister(
            bytes == 8 ? RegisterClass.B64 : bytes == 4 ? RegisterClass.B32 : RegisterClass.B16,
            "%copied");
    for (int at = 0; at < formal.bytes(); at += bytes) {
      out.add(Instructions.load(Space.PARAM, type, value, new Address(from, at), source));
      out.add(Instructions.store(Space.LOCAL, type, new Address(to, at), value, source));
    }
  }

  /**
   * Returns the variables that hold the arguments of a call of the device runtime, which takes all
   * of them in local memory.
   */
  List<Operand> passToRuntime(CallSite site, Function declared, BodyCopy callee) {
    var variables = new ArrayList<Operand>();
    for (int i = 0; i < site.arguments().size(); i++) {
      var formal = declared.code().parameters().get(i);
      var actual = site.arguments().get(i);
      variables.add(localVariable(callee, formal, actual));
      if (!isLocalVariable(actual)) {
        move(variables.getLast(), actual, formal.type(), site.source());
      }
    }
    return variables;
  }

  /** Returns the variables that take the results of a call of the device runtime. */
  List<Operand> runtimeResults(CallSite site, Function declared, BodyCopy callee) {
    var variables = new ArrayList<Operand>();
    for (int i = 0; i < site.results().size(); i++) {
      variables.add(localVariable(callee, declared.results().get(i), site.results().get(i)));
    }
    return variables;
  }

  /** Moves the results of the device runtime to where the call takes them. */
  void takeFromRuntime(CallSite site, Function declared, List<Operand> variables) {
    for (int i = 0; i < site.results().size(); i++) {
      var actual = site.results().get(i);
      if (!isLocalVariable(actual) && !(actual instanceof Operand.Sink)) {
        move(actual, variables.get(i), declared.results().get(i).type(), site.source());
      }
    }
  }

  private boolean isLocalVariable(Operand operand) {
    return operand instanceof Symbol && !out.isParameter(operand);
  }

  private Operand localVariable(BodyCopy callee, Parameter formal, Operand actual) {
    return isLocalVariable(actual) ? actual : out.addLocal(callee.rename(formal.name()), formal);
  }

  /** Whether an operand is a register that holds the address of a variable in local memory. */
  private boolean isAddress(Operand operand) {
    return operand instanceof Register register && addresses.contains(register);
  }

  /** Moves a value of a type between registers and variables. */
  private void move(Operand to, Operand from, Type type, Source source) {
    var bits = type == Type.PRED ? type : Instructions.bitType(type.bits());
    var value =
        from instanceof Operand.Immediate literal
            ? Literals.convert(bits, Literals.convert(type, literal))
            : from;
    if (to instanceof Symbol || isAddress(to)) {
      out.add(Instructions.store(Space.LOCAL, bits, new Address(to, 0), value, source));
    } else if (from instanceof Symbol || isAddress(from)) {
      var space = out.isParameter(from) ? Space.PARAM : Space.LOCAL;
      out.add(Instructions.load(space, bits, to, new Address(from, 0), source));
    } else {
      out.add(Instructions.move(bits, to, value, null, source));
    }
  }
}
