package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ServerInterceptors;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class ReadinessTest {

  private static ServingStatus check(HealthGrpc.HealthBlockingStub health, String service) {
    return health.check(HealthCheckRequest.newBuilder().setService(service).build()).getStatus();
  }

  @Test
  void checkAndWatchFollowReadiness() throws IOException {
    var ready = new AtomicBoolean();
    var manager = new HealthStatusManager();
    var readiness = new Readiness(ready::get, manager, List.of("a.Service"));
    var server =
        NettyServerBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                InsecureServerCredentials.create())
            .addService(ServerInterceptors.intercept(manager.getHealthService(), readiness))
            .build()
            .start();
    var channel =
        Grpc.newChannelBuilderForAddress(
                "127.0.0.1", server.getPort(), InsecureChannelCredentials.create())
            .build();
    try {
      var health = HealthGrpc.newBlockingStub(channel);
      var watched = health.watch(HealthCheckRequest.getDefaultInstance());
      assertThat(watched.next().getStatus()).isEqualTo(ServingStatus.NOT_SERVING);
      assertThat(check(health, "")).isEqualTo(ServingStatus.NOT_SERVING);
      assertThat(check(health, "a.Service")).isEqualTo(ServingStatus.NOT_SERVING);

      ready.set(true);
      readiness.update();
      assertThat(watched.next().getStatus()).isEqualTo(ServingStatus.SERVING);
      assertThat(check(health, "a.Service")).isEqualTo(ServingStatus.SERVING);

      ready.set(false); // without update()
      assertThat(check(health, "")).isEqualTo(ServingStatus.NOT_SERVING);
      assertThat(watched.next().getStatus()).isEqualTo(ServingStatus.NOT_SERVING);
    } finally {
      channel.shutdownNow();
      server.shutdownNow();
    }
  }
}
