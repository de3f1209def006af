package dev.athanor.cli.argument;

import static java.util.stream.Collectors.joining;

import dev.athanor.service.config.Spelling;
import java.util.Collection;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.OverwrittenOptionException;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Reports a usage error in one sentence: the given argument and what was expected. */
public final class UsageErrorHandler implements IParameterExceptionHandler {

  @Override
  public int handleParseException(ParameterException e, String[] arguments) {
    var command = e.getCommandLine();
    command
        .getErr()
        .printf("%s: %s%n", command.getCommandSpec().qualifiedName(), sentence(e, command));
    command.getErr().flush();
    return CommandLine.ExitCode.USAGE;
  }

  private static String sentence(ParameterException e, CommandLine command) {
    return switch (e) {
      case UnmatchedArgumentException unmatched ->
          unmatched(unmatched.getUnmatched().getFirst(), command);
      case MissingParameterException missing -> missing(missing, help(command));
      case OverwrittenOptionException twice ->
          "%s is given twice; it takes one value".formatted(name(twice.getOverwritten()));
      default -> {
        if (e.getArgSpec() != null && e.getValue() != null) {
          yield "%s %s: expected %s"
              .formatted(option(e.getArgSpec()), e.getValue(), values(e.getArgSpec()));
        }
        var message = String.valueOf(e.getMessage()).strip();
        yield message.equals("Missing required subcommand")
            ? "a command is missing; commands are "
                + String.join(", ", command.getSubcommands().keySet())
            : message.lines().findFirst().orElse("invalid arguments");
      }
    };
  }

  private static String help(CommandLine command) {
    return command.getCommandSpec().qualifiedName() + " --help";
  }

  private static String unmatched(String given, CommandLine command) {
    if (given.startsWith("-")) {
      var option = given.replaceFirst("=.*", "");
      return "unknown option %s; %s"
          .formatted(
              option,
              hint(
                  option,
                  command.getCommandSpec().optionsMap().keySet(),
                  help(command) + " lists the options"));
    }
    var commands = command.getSubcommands().keySet();
    return commands.isEmpty()
        ? "unexpected argument \"%s\"; see %s".formatted(given, help(command))
        : "unknown command \"%s\"; %s"
            .formatted(given, hint(given, commands, help(command) + " lists the commands"));
  }

  private static String missing(MissingParameterException e, String help) {
    var names = e.getMissing().stream().map(UsageErrorHandler::name).toList();
    return String.valueOf(e.getMessage()).startsWith("Missing required parameter for option")
        ? "a value is missing: %s".formatted(names.getFirst())
        : "%s %s missing; see %s"
            .formatted(String.join(" and ", names), names.size() == 1 ? "is" : "are", help);
  }

  private static String option(ArgSpec argument) {
    return argument instanceof OptionSpec option ? option.longestName() : argument.paramLabel();
  }

  private static String name(ArgSpec argument) {
    return argument instanceof OptionSpec && !argument.paramLabel().isEmpty()
        ? option(argument) + " " + argument.paramLabel()
        : option(argument);
  }

  private static String values(ArgSpec argument) {
    var type = argument.isMultiValue() ? argument.auxiliaryTypes()[0] : argument.type();
    if (type.isEnum()) {
      return Stream.of(type.getEnumConstants())
          .map(Object::toString)
          .collect(joining(", ", "one of ", ""));
    }
    return type == double.class || type == Double.class
        ? "a number"
        : type == int.class || type == Integer.class || type == long.class
            ? "a whole number"
            : argument.paramLabel();
  }

  /** Returns {@code did you mean X?} if a name resembles the given one, else the other hint. */
  public static String hint(String given, Collection<String> names, String otherwise) {
    return Spelling.closest(given, names).map("did you mean %s?"::formatted).orElse(otherwise);
  }
}
