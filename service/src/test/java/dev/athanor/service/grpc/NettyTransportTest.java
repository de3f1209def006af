package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.service.Http2;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

class NettyTransportTest {

  @Test
  void closesConnectionsBeyondTheLimit() throws IOException {
    try (var transport = new NettyTransport(2)) {
      var builder =
          NettyServerBuilder.forAddress(
              new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
              InsecureServerCredentials.create());
      transport.configure(builder);
      var server = builder.build().start();
      try (var first = new Http2.Connection(server.getPort())) {
        assertThat(first.next(Http2.SETTINGS)).isNotNull();
        try (var second = new Http2.Connection(server.getPort())) {
          assertThat(second.next(Http2.SETTINGS)).isNotNull();
          assertThat(isServed(server)).isFalse();
        }
        await("the end of the second connection").until(() -> isServed(server));
        first.send(Http2.frame(Http2.PING, 0, 0, new byte[8]));
        assertThat(first.next(Http2.PING)).as("the first connection").isNotNull();
      } finally {
        server.shutdownNow();
      }
    }
  }

  private static boolean isServed(Server server) throws IOException {
    try (var connection = new Http2.Connection(server.getPort())) {
      return connection.next(Http2.SETTINGS) != null;
    }
  }
}
