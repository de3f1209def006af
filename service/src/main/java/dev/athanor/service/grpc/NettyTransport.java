package dev.athanor.service.grpc;

import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sockets and threads of the gRPC server. gRPC has no limit on connections; this transport
 * closes those beyond the limit as soon as they are accepted, so that their clients fail with
 * UNAVAILABLE and retry.
 */
final class NettyTransport implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(NettyTransport.class);

  private final MultiThreadIoEventLoopGroup acceptors = group("athanor-grpc-accept", 1);
  private final MultiThreadIoEventLoopGroup workers = group("athanor-grpc", 0);
  private final ConnectionLimiter limiter;

  /**
   * @param maxConnections the maximum number of open connections
   */
  NettyTransport(int maxConnections) {
    limiter = new ConnectionLimiter(maxConnections);
  }

  /**
   * @param threads the number of threads; 0 for Netty's default
   */
  private static MultiThreadIoEventLoopGroup group(String name, int threads) {
    return new MultiThreadIoEventLoopGroup(
        threads, new DefaultThreadFactory(name, true), NioIoHandler.newFactory());
  }

  void configure(NettyServerBuilder builder) {
    builder
        .bossEventLoopGroup(acceptors)
        .workerEventLoopGroup(workers)
        .channelFactory(this::newServerChannel);
  }

  private ServerChannel newServerChannel() {
    var channel = new NioServerSocketChannel();
    channel.pipeline().addLast(limiter);
    return channel;
  }

  @Override
  public void close() {
    var _ = acceptors.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    var _ = workers.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  /** Handles accepted connections before gRPC does. */
  @Sharable
  private static final class ConnectionLimiter extends ChannelInboundHandlerAdapter {

    private final int maxConnections;
    private final AtomicInteger open = new AtomicInteger();

    ConnectionLimiter(int maxConnections) {
      this.maxConnections = maxConnections;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object accepted) {
      var connection = (Channel) accepted;
      if (open.incrementAndGet() > maxConnections) {
        open.decrementAndGet();
        LOG.debug(
            "Closed a connection from {}: {} are open (athanor.grpc.max-connections)",
            connection.remoteAddress(),
            maxConnections);
        connection.unsafe().closeForcibly();
        return;
      }
      connection.closeFuture().addListener(closed -> open.decrementAndGet());
      context.fireChannelRead(connection);
    }
  }
}
