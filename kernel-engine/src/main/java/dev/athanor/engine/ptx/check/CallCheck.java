package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Literals;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Variable;
import java.util.List;
import java.util.function.Consumer;

/** Checks calls against the signatures of functions and prototypes (PTX ISA 9.7.12.5). */
record CallCheck(NameTable names, Kernel code, Consumer<String> faults) {

  void check(Instruction call) {
    List<Operand> results = List.of();
    List<Operand> arguments = List.of();
    for (int i = 0; i < call.operands().size(); i++) {
      if (call.operands().get(i) instanceof Operand.Arguments list) {
        if (call.form().operands().get(i).isResult()) {
          results = list.list();
        } else {
          arguments = list.list();
        }
      }
    }
    for (var operand : call.operands()) {
      if (!(operand instanceof Operand.Symbol symbol)) {
        continue;
      }
      var function = names.function(symbol.name());
      if (function.isPresent()) {
        var f = function.get();
        check(arguments, f.code().parameters(), f.name(), "argument");
        check(results, f.results(), f.name(), "result");
      }
      for (var statement : code.body()) {
        if (statement instanceof Statement.Prototype p && p.name().equals(symbol.name())) {
          check(arguments, p.parameters(), p.name(), "argument");
          check(results, p.results(), p.name(), "result");
        }
      }
    }
  }

  private void check(List<Operand> given, List<Parameter> formal, String callee, String what) {
    if (given.size() != formal.size()) {
      faults.accept(
          "has %d %ss, but %s has %d".formatted(given.size(), what, callee, formal.size()));
      return;
    }
    for (int i = 0; i < given.size(); i++) {
      check(given.get(i), formal.get(i), what + " " + (i + 1) + " of " + callee);
    }
  }

  private void check(Operand given, Parameter formal, String what) {
    switch (given) {
      case Operand.Symbol s -> {
        var variable = names.variable(s.name()).filter(p -> p.space() == Space.PARAM);
        if (variable.isEmpty()) {
          faults.accept(
              "names %s as %s, which is not a variable in param memory; those are %s"
                  .formatted(s, what, names.in(List.of(Space.PARAM))));
        } else if (formal.count() != Variable.UNSIZED && variable.get().bytes() != formal.bytes()) {
          faults.accept(
              "uses %s, which has %d bytes, as %s, which has %d bytes"
                  .formatted(s, variable.get().bytes(), what, formal.bytes()));
        }
      }
      case Register r -> {
        boolean scalar = formal.count() == Variable.SCALAR;
        if (!scalar || !formal.type().fits(r.registerClass())) {
          faults.accept(
              "uses %s, a .%s register, as %s, which has the type .%s%s"
                  .formatted(
                      r,
                      r.registerClass().word(),
                      what,
                      formal.type().word(),
                      scalar ? "" : "[" + formal.count() + "]"));
        }
      }
      case Operand.Immediate literal -> {
        try {
          Literals.convert(formal.type(), literal);
        } catch (IllegalArgumentException e) {
          faults.accept("uses %s as %s: %s".formatted(literal, what, e.getMessage()));
        }
      }
      case Operand.Sink _ -> {}
      default -> faults.accept("cannot use %s as %s".formatted(given, what));
    }
  }
}
