package dev.athanor.cli.command;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.regex.Pattern;
import picocli.CommandLine;

/**
 * The result of a command. Its standard error lacks the reports of the progress, which only a
 * command of more than ten seconds writes, as any does on a slow machine.
 */
record CommandResult(int status, String out, String err) {

  private static final Pattern PROGRESS = Pattern.compile("(?m)^\\d+ of \\d+: .*\\R");

  static CommandResult of(CommandLine command, String... arguments) {
    var out = new StringWriter();
    var err = new StringWriter();
    int status =
        command.setOut(new PrintWriter(out)).setErr(new PrintWriter(err)).execute(arguments);
    return new CommandResult(
        status, out.toString(), PROGRESS.matcher(err.toString()).replaceAll(""));
  }
}
