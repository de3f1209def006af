package dev.athanor.cli.command;

import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** The result of a command. */
record CommandResult(int status, String out, String err) {

  static CommandResult of(CommandLine command, String... arguments) {
    var out = new StringWriter();
    var err = new StringWriter();
    int status =
        command.setOut(new PrintWriter(out)).setErr(new PrintWriter(err)).execute(arguments);
    return new CommandResult(status, out.toString(), err.toString());
  }
}
