package dev.athanor.cli.debug;

import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.ParameterException;

/** Parses a launch request as command line options. */
final class RequestWords {

  private RequestWords() {}

  /**
   * Sets the options of a command.
   *
   * @throws IllegalArgumentException if an option is missing or invalid
   */
  static <T> T read(T command, List<String> words) {
    try {
      new CommandLine(command).parseArgs(words.toArray(String[]::new));
      return command;
    } catch (MissingParameterException e) {
      var names =
          e.getMissing().stream()
              .map(each ->
                  each instanceof CommandLine.Model.OptionSpec option
                      ? "`" + option.longestName().substring(2) + "`"
                      : each.paramLabel())
              .toList();
      throw new IllegalArgumentException(
          "%s %s missing".formatted(String.join(" and ", names), names.size() == 1 ? "is" : "are"),
          e);
    } catch (ParameterException e) {
      throw sentence(e);
    }
  }

  /** Translates a failure of a command to the names of the request. */
  static IllegalArgumentException sentence(ParameterException e) {
    var argument = e.getArgSpec();
    var text =
        argument instanceof CommandLine.Model.OptionSpec option && e.getValue() != null
            ? "%s %s: expected a whole number".formatted(option.longestName(), e.getValue())
            : String.valueOf(e.getMessage());
    return new IllegalArgumentException(
        text.replaceAll("--arg\\b", "`args`").replaceAll("--([a-zA-Z]+)", "`$1`"), e);
  }
}
