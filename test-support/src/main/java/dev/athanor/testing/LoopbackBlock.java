package dev.athanor.testing;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Loopback addresses with a common port, for processes that must know each other's address before
 * they start.
 *
 * <p>No other process can take these addresses. This object listens on the port at 127.0.0.1 until
 * it is closed, so the system gives the port to nobody who binds a free port of 127.0.0.1 or of all
 * addresses; other blocks therefore have other ports. The addresses themselves are drawn from
 * 127.0.0.0/8, where nobody else binds a free port.
 */
public final class LoopbackBlock implements AutoCloseable {

  private final ServerSocket reservation;
  private final String prefix;

  /** Reserves a port. */
  public LoopbackBlock() throws IOException {
    reservation = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    var random = ThreadLocalRandom.current();
    prefix = "127.%d.%d.".formatted(random.nextInt(1, 255), random.nextInt(1, 255));
  }

  /**
   * Returns an address of the block.
   *
   * @param last its last number, or a placeholder for it
   */
  public String host(String last) {
    return prefix + last;
  }

  /** Returns an address of the block with the port. */
  public String address(String last) {
    return host(last) + ":" + port();
  }

  public int port() {
    return reservation.getLocalPort();
  }

  @Override
  public void close() throws IOException {
    reservation.close();
  }
}
