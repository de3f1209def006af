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

/** Whether a call hands over and takes what its function says (PTX ISA 9.7.12.5). */
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
      faults.accept("has %d %ss, %s has %d".formatted(given.size(), what, callee, formal.size()));
      return;
    }
    for (int i = 0; i < given.size(); i++) {
      check(given.get(i), formal.get(i), what + " " + (i + 1) + " of " + callee);
    }
  }

  private void check(Operand given, Parameter formal, String what) {
    switch (given) {
      case Operand.Symbol s -> {
        var place = names.place(s.name()).filter(p -> p.space() == Space.PARAM);
        if (place.isEmpty()) {
          faults.accept(
              "names %s as %s, which is no variable in param memory; there are %s"
                  .formatted(s, what, names.in(Space.PARAM)));
        } else if (formal.count() != Variable.OPEN && place.get().bytes() != formal.bytes()) {
          faults.accept(
              "has %s of %d bytes as %s, which has %d"
                  .formatted(s, place.get().bytes(), what, formal.bytes()));
        }
      }
      case Register r -> {
        boolean scalar = formal.count() == Variable.SCALAR;
        if (!scalar || !formal.type().fits(r.registerClass())) {
          faults.accept(
              "has %s, a .%s register, as %s, which is .%s%s"
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
          Literals.as(formal.type(), literal);
        } catch (IllegalArgumentException e) {
          faults.accept("has %s as %s: %s".formatted(literal, what, e.getMessage()));
        }
      }
      case Operand.Sink _ -> {}
      default -> faults.accept("has %s as %s".formatted(given, what));
    }
  }
}
