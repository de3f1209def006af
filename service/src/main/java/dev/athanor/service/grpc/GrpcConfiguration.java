package dev.athanor.service.grpc;

import dev.athanor.api.inference.GRPCInferenceServiceGrpc;
import dev.athanor.api.v1.ModelsGrpc;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.TensorsGrpc;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.grpc.interceptor.EndOnce;
import dev.athanor.service.grpc.interceptor.MetadataChecks;
import dev.athanor.service.grpc.interceptor.TraceMetadata;
import dev.athanor.service.grpc.interceptor.TraceParents;
import dev.athanor.service.security.Callers;
import dev.athanor.service.security.ConnectionLimit;
import dev.athanor.service.security.RequestLimit;
import dev.athanor.service.security.Rules;
import io.grpc.ServerInterceptors;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.micrometer.core.instrument.binder.grpc.ObservationGrpcServerInterceptor;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
import java.util.concurrent.Executors;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerExecutorProvider;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties;
import org.springframework.boot.ssl.SslBundleRegistry;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;
import org.springframework.grpc.server.GlobalServerInterceptor;
import org.springframework.grpc.server.NettyGrpcServerFactory;
import org.springframework.grpc.server.ServerBuilderCustomizer;
import org.springframework.grpc.server.exception.GrpcExceptionHandler;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;
import org.springframework.grpc.server.service.DefaultGrpcServiceConfigurer;
import org.springframework.grpc.server.service.GrpcServiceConfigurer;
import org.springframework.grpc.server.service.GrpcServiceSpec;

/** Configures the gRPC server. */
@Configuration(proxyBeanMethods = false)
class GrpcConfiguration {

  /** Static, so that the post-processor exists before the properties that it changes. */
  @Bean
  static GrpcServerDefaults grpcServerDefaults(
      Environment environment,
      ObjectProvider<SslBundles> bundles,
      ObjectProvider<SslBundleRegistry> registry) {
    return new GrpcServerDefaults(
        environment,
        name -> ReloadableTls.register(bundles.getObject(), registry.getObject(), name));
  }

  /** Runs each call on a virtual thread, since calls wait for the device. */
  @Bean
  GrpcServerExecutorProvider callExecutor() {
    var executor = Executors.newVirtualThreadPerTaskExecutor();
    return () -> executor;
  }

  @Bean
  NettyTransport nettyTransport(GrpcSettings settings) {
    return new NettyTransport(ConnectionLimit.grpc(settings.maxConnections()).connections());
  }

  @Bean
  ServerBuilderCustomizer<NettyServerBuilder> transport(NettyTransport transport) {
    return transport::configure;
  }

  @Bean
  ServerBuilderCustomizer<NettyServerBuilder> callLimits(GrpcSettings settings) {
    return builder ->
        builder
            .maxConcurrentCallsPerConnection(settings.maxConcurrentCalls())
            .maxRstFramesPerWindow(settings.maxResets(), 10);
  }

  @Bean
  ServerBuilderCustomizer<NettyServerBuilder> unsupportedMethods() {
    return builder -> builder.fallbackHandlerRegistry(new UnsupportedMethods());
  }

  @Bean
  GrpcExceptionHandler failures() {
    return Statuses::of;
  }

  /**
   * Parses messages inside the interceptors, so that malformed messages are reported like any other
   * failure.
   */
  @Bean
  GrpcServiceConfigurer serviceConfigurer(ApplicationContext context) {
    var defaults = new DefaultGrpcServiceConfigurer(context);
    defaults.afterPropertiesSet();
    return (spec, factory) ->
        defaults.configure(
            new GrpcServiceSpec(
                () -> ServerInterceptors.useInputStreamMessages(spec.service().bindService()),
                spec.serviceInfo()),
            factory);
  }

  @Bean
  @GlobalServerInterceptor
  TraceParents traceParents() {
    return new TraceParents();
  }

  @Bean
  @GlobalServerInterceptor
  EndOnce endOnce() {
    return new EndOnce();
  }

  @Bean
  @GlobalServerInterceptor
  MetadataChecks metadataChecks() {
    return new MetadataChecks(GrpcSettings.MAX_METADATA);
  }

  /** Runs outside the exception handler, so that failures belong to the trace of their call. */
  @Bean
  @Order(Ordered.HIGHEST_PRECEDENCE)
  @GlobalServerInterceptor
  ObservationGrpcServerInterceptor grpcServerObservationInterceptor(ObservationRegistry registry) {
    return new ObservationGrpcServerInterceptor(registry);
  }

  @Bean
  @GlobalServerInterceptor
  TraceMetadata traceMetadata() {
    return new TraceMetadata();
  }

  @Bean
  @GlobalServerInterceptor
  Access grpcAccess(Callers callers, Rules rules, RequestLimit requests) {
    return new Access(callers, rules, requests);
  }

  @Bean
  @GlobalServerInterceptor
  CallMetadata callMetadata() {
    return new CallMetadata();
  }

  @Bean(destroyMethod = "enterTerminalState")
  HealthStatusManager healthStatusManager() {
    return new HealthStatusManager();
  }

  @Bean
  @GlobalServerInterceptor
  Readiness readiness(DeviceHealth health, HealthStatusManager manager) {
    return new Readiness(
        health::isReady,
        manager,
        List.of(
            OpsGrpc.SERVICE_NAME,
            TensorsGrpc.SERVICE_NAME,
            ModelsGrpc.SERVICE_NAME,
            GRPCInferenceServiceGrpc.SERVICE_NAME));
  }

  /**
   * Stops gRPC together with the web server, after draining, so that clients still receive errors.
   */
  @Bean
  GrpcServerLifecycle nettyGrpcServerLifecycle(
      NettyGrpcServerFactory factory,
      GrpcServerProperties properties,
      ApplicationEventPublisher publisher) {
    return new GrpcServerLifecycle(factory, properties.getShutdown().getGracePeriod(), publisher) {
      @Override
      public int getPhase() {
        return DEFAULT_PHASE - 1024;
      }
    };
  }
}
