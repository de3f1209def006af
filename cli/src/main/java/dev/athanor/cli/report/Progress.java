package dev.athanor.cli.report;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Reports the progress of a long command on standard error: on a terminal, in one line that is
 * overwritten; otherwise, in a new line every ten seconds.
 */
public final class Progress implements AutoCloseable {

  private static final Duration ON_TERMINAL = Duration.ofMillis(100);
  private static final Duration ELSEWHERE = Duration.ofSeconds(10);

  private final PrintWriter err;
  private final boolean terminal;
  private long last = System.nanoTime();
  private int shown;

  public Progress(PrintWriter err) {
    this(err, errorIsTerminal());
  }

  public Progress(PrintWriter err, boolean terminal) {
    this.err = err;
    this.terminal = terminal;
  }

  /** Asks Linux, because Java has a console only if input and output are terminals, too. */
  private static boolean errorIsTerminal() {
    try {
      var device = Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString();
      return device.startsWith("/dev/pts/") || device.startsWith("/dev/tty");
    } catch (IOException e) {
      return false;
    }
  }

  /** Reports the progress unless the last report is too recent. */
  public void at(int done, int total, String what) {
    var pause = terminal ? ON_TERMINAL : ELSEWHERE;
    if (System.nanoTime() - last < pause.toNanos()) {
      return;
    }
    last = System.nanoTime();
    var line = "%d of %d: %s".formatted(done, total, what);
    if (terminal) {
      var fitting = line.length() > 79 ? line.substring(0, 79) : line;
      err.print("\r" + fitting + " ".repeat(Math.max(0, shown - fitting.length())));
      shown = fitting.length();
    } else {
      err.println(line);
    }
    err.flush();
  }

  /** Erases the line from the terminal. */
  @Override
  public void close() {
    if (shown > 0) {
      err.print("\r" + " ".repeat(shown) + "\r");
      err.flush();
      shown = 0;
    }
  }
}
