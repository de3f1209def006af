package dev.athanor.cli.debug;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.eclipse.lsp4j.debug.launch.DSPLauncher;

/** Serves clients of the Debug Adapter Protocol, each with a session of its own. */
public final class DebugServer implements AutoCloseable {

  private static final int BACKLOG = 8;

  private final ServerSocket socket;

  /**
   * Listens on a port of the loopback interface.
   *
   * @param port 0 = any free port
   * @throws IOException if the port is in use
   */
  public DebugServer(int port) throws IOException {
    socket = new ServerSocket(port, BACKLOG, InetAddress.getLoopbackAddress());
  }

  public int port() {
    return socket.getLocalPort();
  }

  /** Serves clients until the server is closed. */
  public void serve() {
    while (!socket.isClosed()) {
      try {
        var client = socket.accept();
        Thread.ofPlatform().daemon().name("debug-client").start(() -> serve(client));
      } catch (IOException e) {
        if (!socket.isClosed()) {
          throw new UncheckedIOException(e);
        }
      }
    }
  }

  private static void serve(Socket client) {
    try (client) {
      client.setTcpNoDelay(true);
      serve(client.getInputStream(), client.getOutputStream());
    } catch (IOException e) {
      // the client has disconnected, which ends the session
      return;
    }
  }

  /** Serves one client until it closes its stream. */
  public static void serve(InputStream in, OutputStream out) {
    ExecutorService reader =
        Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().factory());
    try (var adapter = new DebugAdapter()) {
      var launcher = DSPLauncher.createServerLauncher(adapter, in, out, reader, adapter::inOrder);
      adapter.connect(launcher.getRemoteProxy());
      launcher.startListening().get();
    } catch (ExecutionException | CancellationException e) {
      // the stream ended within a message
      return;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      reader.shutdownNow();
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
