package dev.athanor.service.grpc;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.services.HealthStatusManager;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.springframework.scheduling.annotation.Scheduled;

/**
 * Publishes readiness to the gRPC health service. {@code Check} sees changes immediately, {@code
 * Watch} after a short delay.
 */
class Readiness implements ServerInterceptor {

  private final BooleanSupplier isReady;
  private final HealthStatusManager manager;
  private final List<String> services;

  /**
   * @param services the service names to publish besides that of the whole server
   */
  Readiness(BooleanSupplier isReady, HealthStatusManager manager, List<String> services) {
    this.isReady = isReady;
    this.manager = manager;
    this.services = services;
    update();
  }

  @Scheduled(fixedDelayString = "PT0.2S")
  final void update() {
    var status = isReady.getAsBoolean() ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
    manager.setStatus(HealthStatusManager.SERVICE_NAME_ALL_SERVICES, status);
    services.forEach(service -> manager.setStatus(service, status));
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
    if (HealthGrpc.SERVICE_NAME.equals(call.getMethodDescriptor().getServiceName())) {
      update();
    }
    return next.startCall(call, metadata);
  }
}
