package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Kernel.SharedArray;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Prints a module as PTX text. Parsing the text and printing it again yields the same text. */
public final class Printer {
  private static final Pattern NUMBERED = Pattern.compile("(%?[A-Za-z_$]+)(0|[1-9]\\d{0,6})");

  private Printer() {}

  public static String print(Module module) {
    var out = new StringBuilder();
    out.append(".version ").append(module.version());
    out.append("\n.target ").append(module.target());
    out.append("\n.address_size 64\n");
    Stream.concat(module.functions().stream().map(Function::code), module.kernels().stream())
        .flatMap(kernel -> kernel.shared().stream())
        .filter(SharedArray::isModuleScope)
        .distinct()
        .forEach(array ->
            out.append(array.isDynamic() ? "\n.extern " : "\n").append(declaration(array)));
    // declared first: variables may hold addresses of functions, and functions may call each other
    module.functions().forEach(f -> out.append(head(f)).append(";\n"));
    module.variables().forEach(v -> out.append('\n').append(v).append('\n'));
    module.functions().stream()
        .filter(Function::isDefined)
        .forEach(f -> out.append(head(f)).append('\n').append(body(f.code())));
    module.kernels().forEach(kernel -> out.append(print(kernel)));
    return out.toString();
  }

  private static String head(Function function) {
    return "\n%s.func %s%s%s%s"
        .formatted(
            function.linkage().isEmpty() ? "" : "." + function.linkage() + " ",
            function.results().isEmpty() ? "" : "(" + list(function.results()) + ") ",
            function.name(),
            "(" + list(function.code().parameters()) + ")",
            function.returns() ? "" : " .noreturn");
  }

  private static String list(List<Kernel.Parameter> parameters) {
    return parameters.stream().map(Kernel.Parameter::toString).collect(Collectors.joining(", "));
  }

  private static String print(Kernel kernel) {
    var out = new StringBuilder();
    out.append("\n.visible .entry ").append(kernel.name()).append('(');
    out.append(
        kernel.parameters().stream().map(p -> "\n    " + p).collect(Collectors.joining(",")));
    out.append("\n)\n");
    limits(kernel.launchBounds(), out);
    return out.append(body(kernel)).toString();
  }

  private static void limits(LaunchBounds limits, StringBuilder out) {
    extents(".maxntid", limits.maxBlockShape(), out);
    extents(".reqntid", limits.requiredBlockShape(), out);
    number(".minnctapersm", limits.minBlocks(), out);
    number(".maxnreg", limits.maxRegisters(), out);
    out.append(limits.explicitCluster() ? ".explicitcluster\n" : "");
    extents(".reqnctapercluster", limits.clusterShape(), out);
    number(".maxclusterrank", limits.maxClusterRank(), out);
  }

  private static void extents(String directive, List<Integer> sizes, StringBuilder out) {
    if (!sizes.isEmpty()) {
      out.append(
          sizes.stream()
              .map(String::valueOf)
              .collect(Collectors.joining(", ", directive + " ", "\n")));
    }
  }

  private static void number(String directive, int number, StringBuilder out) {
    if (number > 0) {
      out.append(directive).append(' ').append(number).append('\n');
    }
  }

  private static String body(Kernel kernel) {
    var out = new StringBuilder("{\n");
    for (var array : kernel.shared()) {
      if (!array.isModuleScope()) {
        out.append("    ").append(declaration(array));
      }
    }
    kernel.declaredLocals().forEach(v -> out.append("    ").append(v).append('\n'));
    declarations(kernel).forEach(line -> out.append("    ").append(line).append('\n'));
    for (var statement : kernel.body()) {
      out.append(statement instanceof Statement.Label ? "" : "    ").append(statement).append('\n');
    }
    return out.append("}\n").toString();
  }

  private static String declaration(SharedArray array) {
    return ".shared .align "
        + array.alignment()
        + (" .b8 " + array.name())
        + ("[" + (array.isDynamic() ? "" : array.bytes()) + "];\n");
  }

  /**
   * Declares numbered registers as a range, such as {@code %r<12>}, unless several classes share
   * the prefix.
   */
  private static List<String> declarations(Kernel kernel) {
    var byPrefix = new TreeMap<String, List<Operand.Register>>();
    var single = new ArrayList<Operand.Register>();
    var given =
        kernel.parameters().stream().map(Kernel.Parameter::name).collect(Collectors.toSet());
    for (var register : kernel.registers()) {
      if (given.contains(register.name())) {
        continue;
      }
      var m = NUMBERED.matcher(register.name());
      if (m.matches()) {
        byPrefix.computeIfAbsent(m.group(1), _ -> new ArrayList<>()).add(register);
      } else {
        single.add(register);
      }
    }
    var ranges = new TreeMap<String, Map.Entry<RegisterClass, Integer>>();
    byPrefix.forEach((prefix, registers) -> {
      var registerClass = registers.getFirst().registerClass();
      if (registers.stream().allMatch(r -> r.registerClass() == registerClass)) {
        int count =
            1
                + registers.stream()
                    .mapToInt(r -> Integer.parseInt(r.name().substring(prefix.length())))
                    .max()
                    .orElseThrow();
        ranges.put(prefix, Map.entry(registerClass, count));
      } else {
        single.addAll(registers);
      }
    });
    var lines = new ArrayList<String>();
    ranges.forEach((prefix, e) ->
        lines.add(".reg ." + e.getKey().word() + " " + prefix + "<" + e.getValue() + ">;"));
    single.stream()
        .sorted(Comparator.comparing(Operand.Register::name))
        .forEach(r -> lines.add(".reg .%s %s;".formatted(r.registerClass().word(), r.name())));
    return lines;
  }
}
