package dev.athanor.service.grpc;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.common.util.concurrent.ListenableFuture;
import dev.athanor.api.v1.ListOpsRequest;
import dev.athanor.api.v1.ListOpsResponse;
import dev.athanor.api.v1.OpDescription;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.RunResponse;
import dev.athanor.service.security.Caller;
import dev.athanor.service.security.Callers;
import dev.athanor.service.security.Credentials;
import dev.athanor.service.security.RequestLimit;
import dev.athanor.service.security.Rules;
import dev.athanor.service.security.Scope;
import dev.athanor.service.tensor.QuotaSettings;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.testing.TestTier;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.grpc.server.exception.GrpcExceptionHandlerInterceptor;

/** Tests authentication and authorization, with services that return the tenant of the caller. */
class AccessTest {

  /** Accepts three keys. */
  private static final class Keys implements Callers {
    @Override
    public Caller identify(Credentials credentials) {
      if (credentials.apiKey().equals(List.of("writer"))
          || credentials.authorization().equals(List.of("Bearer writer"))) {
        return new Caller("w", new Tenant("alpha"), Set.of(Scope.OPS_RUN));
      }
      if (credentials.apiKey().equals(List.of("urgent"))) {
        return new Caller("u", new Tenant("gamma"), Set.of(Scope.OPS_RUN, Scope.PRIORITY));
      }
      if (credentials.apiKey().equals(List.of("reader"))) {
        return new Caller("r", new Tenant("beta"), Set.of(Scope.TENSORS_READ));
      }
      throw Callers.unauthenticated("this needs a key");
    }

    @Override
    public String challenge() {
      return Credentials.BEARER;
    }

    @Override
    public List<String> schemes() {
      return List.of();
    }

    @Override
    public String credential() {
      return "API key";
    }
  }

  private static final class TenantEcho extends OpsGrpc.OpsImplBase {
    private final Queue<StreamObserver<RunResponse>> waiting = new ConcurrentLinkedQueue<>();

    @Override
    public void list(ListOpsRequest request, StreamObserver<ListOpsResponse> answer) {
      answer.onNext(
          ListOpsResponse.newBuilder()
              .addOps(OpDescription.newBuilder().setName(GrpcCalls.tenant().name()))
              .build());
      answer.onCompleted();
    }

    @Override
    public void run(RunRequest request, StreamObserver<RunResponse> answer) {
      if (request.getOp().equals(WAIT)) {
        waiting.add(answer);
        return;
      }
      answer.onNext(
          RunResponse.newBuilder()
              .setOp(GrpcCalls.context().tenant().name())
              .setDevice(GrpcCalls.context().account())
              .build());
      answer.onCompleted();
    }
  }

  private static final class Healthy extends HealthGrpc.HealthImplBase {
    @Override
    public void check(HealthCheckRequest request, StreamObserver<HealthCheckResponse> answer) {
      answer.onNext(HealthCheckResponse.getDefaultInstance());
      answer.onCompleted();
    }
  }

  /** Each tenant may have half of these calls in progress. */
  private static final int CALLS = 32;

  private final RequestLimit requests = new RequestLimit(CALLS, new QuotaSettings(0.5, Map.of()));

  private static final char[] PASSWORD = "changeit".toCharArray();

  /** The op of calls that end only when they are canceled. */
  private static final String WAIT = "wait";

  private final TenantEcho echo = new TenantEcho();
  private @Nullable Server server;
  private @Nullable ManagedChannel channel;

  @BeforeEach
  void start() throws IOException {
    connect(
        serve(new Keys(), InsecureServerCredentials.create()), InsecureChannelCredentials.create());
  }

  private Server serve(Callers callers, ServerCredentials credentials) throws IOException {
    var failures = new GrpcExceptionHandlerInterceptor(Statuses::of);
    var access = new Access(callers, new Rules(false), requests);
    var started =
        NettyServerBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), credentials)
            .addService(
                ServerInterceptors.interceptForward(echo, failures, access, new CallMetadata()))
            .addService(ServerInterceptors.interceptForward(new Healthy(), failures, access))
            .build()
            .start();
    server = started;
    return started;
  }

  private void connect(Server to, ChannelCredentials credentials) {
    channel = Grpc.newChannelBuilderForAddress("127.0.0.1", to.getPort(), credentials).build();
  }

  @AfterEach
  void stop() {
    requireNonNull(channel).shutdownNow();
    requireNonNull(server).shutdownNow();
  }

  private OpsGrpc.OpsBlockingStub ops(String... metadata) {
    var headers = new Metadata();
    for (int i = 0; i < metadata.length; i += 2) {
      headers.put(Metadata.Key.of(metadata[i], Metadata.ASCII_STRING_MARSHALLER), metadata[i + 1]);
    }
    return OpsGrpc.newBlockingStub(requireNonNull(channel))
        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  @Test
  void runsCallsAsTheCallersTenant() {
    var run = RunRequest.getDefaultInstance();
    assertThat(ops("x-api-key", "writer").run(run).getOp()).isEqualTo("alpha");
    assertThat(ops("authorization", "Bearer writer").run(run).getOp()).isEqualTo("alpha");
    assertThat(
            ops("x-api-key", "reader")
                .list(ListOpsRequest.getDefaultInstance())
                .getOps(0)
                .getName())
        .isEqualTo("beta");
  }

  @Test
  void rejectsUnauthenticatedCallers() {
    for (var stub :
        new OpsGrpc.OpsBlockingStub[] {
          ops(), ops("x-api-key", "guess"), ops("x-api-key", "writer", "x-api-key", "writer")
        }) {
      GrpcTest.refusal(() -> stub.list(ListOpsRequest.getDefaultInstance()))
          .is(Status.Code.UNAUTHENTICATED, "unauthenticated", null, "this needs a key");
    }
  }

  @Test
  void rejectsCallersWithoutTheScope() {
    GrpcTest.refusal(() -> ops("x-api-key", "reader").run(RunRequest.getDefaultInstance()))
        .is(
            Status.Code.PERMISSION_DENIED,
            "forbidden",
            null,
            "This request needs the scope ops:run; the API key has tensors:read.");
  }

  @Test
  void higherPrioritiesNeedTheScope() {
    var run = RunRequest.getDefaultInstance();
    for (var priority : List.of("1", "2")) {
      GrpcTest.refusal(() -> ops("x-api-key", "writer", "x-priority", priority).run(run))
          .is(
              Status.Code.PERMISSION_DENIED,
              "forbidden",
              "x-priority",
              "x-priority is %s; a priority higher than 3 requires the scope \"priority\", which the caller lacks"
                  .formatted(priority));
      assertThat(ops("x-api-key", "urgent", "x-priority", priority).run(run).getOp())
          .isEqualTo("gamma");
    }
    for (var priority : List.of("3", "4", "5")) {
      assertThat(ops("x-api-key", "writer", "x-priority", priority).run(run).getOp())
          .isEqualTo("alpha");
    }
  }

  @Test
  void withoutAuthenticationTheAddressIsCharged() throws IOException {
    stop();
    connect(
        serve(Callers.anonymous(), InsecureServerCredentials.create()),
        InsecureChannelCredentials.create());
    var response = ops().run(RunRequest.getDefaultInstance());
    assertThat(response.getOp()).isEqualTo("local");
    assertThat(response.getDevice()).isEqualTo("127.0.0.1");
  }

  @Test
  void tenantHoldsAtMostItsShareOfTheCalls() {
    var wait = RunRequest.newBuilder().setOp(WAIT).build();
    var run = RunRequest.getDefaultInstance();
    var held = new ArrayList<ListenableFuture<RunResponse>>();
    for (int i = 0; i < CALLS / 2; i++) {
      held.add(OpsGrpc.newFutureStub(ops("x-api-key", "writer").getChannel()).run(wait));
    }
    await().until(() -> echo.waiting.size() == CALLS / 2);
    GrpcTest.refusal(() -> ops("x-api-key", "writer").run(run))
        .is(
            Status.Code.RESOURCE_EXHAUSTED,
            "queue-full",
            null,
            "Too many requests: 16 of 32 are in progress (server.tomcat.max-connections), 16 of them for this tenant (athanor.quota.share). Retry after 1 s.");
    assertThat(ops("x-api-key", "urgent").run(run).getOp()).isEqualTo("gamma");
    probe();
    held.removeFirst().cancel(true);
    await()
        .untilAsserted(
            () -> assertThat(ops("x-api-key", "writer").run(run).getOp()).isEqualTo("alpha"));
    held.forEach(call -> call.cancel(true));
  }

  @Test
  void probesNeedNoAuthentication() {
    probe();
  }

  private void probe() {
    assertThat(
            HealthGrpc.newBlockingStub(requireNonNull(channel))
                .check(HealthCheckRequest.getDefaultInstance())
                .isInitialized())
        .isTrue();
  }

  // -- certificates

  /** Takes the tenant from the common name of the certificate. */
  private static final class CertificateCallers implements Callers {
    @Override
    public Caller identify(Credentials credentials) {
      if (credentials.certificates().isEmpty()) {
        throw Callers.unauthenticated("this needs a certificate");
      }
      var name = credentials.certificates().getFirst().getSubjectX500Principal().getName();
      return new Caller(name, new Tenant(name.substring("CN=".length())), Set.of(Scope.OPS_RUN));
    }

    @Override
    public String challenge() {
      return "Certificate";
    }

    @Override
    public List<String> schemes() {
      return List.of();
    }

    @Override
    public String credential() {
      return "client certificate";
    }
  }

  private static KeyStore keys(Path folder, String name, String alternative) throws Exception {
    var file = folder.resolve(name);
    var command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-genkeypair",
            "-alias",
            name,
            "-keyalg",
            "EC",
            "-dname",
            "CN=" + name,
            "-ext",
            "san=" + alternative,
            "-storetype",
            "PKCS12",
            "-storepass",
            "changeit",
            "-keystore",
            file.toString());
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    return KeyStore.getInstance(file.toFile(), PASSWORD);
  }

  private static KeyManager[] managers(KeyStore keys) throws GeneralSecurityException {
    var factory = KeyManagerFactory.getInstance("PKIX");
    factory.init(keys, PASSWORD);
    return factory.getKeyManagers();
  }

  private static TrustManager[] trusting(KeyStore keys, String name) throws Exception {
    var trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, PASSWORD);
    trusted.setCertificateEntry(name, keys.getCertificate(name));
    var factory = TrustManagerFactory.getInstance("PKIX");
    factory.init(trusted);
    return factory.getTrustManagers();
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void clientCertificateIdentifiesTheCaller(@TempDir Path folder) throws Exception {
    var own = keys(folder, "server", "ip:127.0.0.1");
    var lab = keys(folder, "lab", "dns:lab");
    stop();
    var started =
        serve(
            new CertificateCallers(),
            TlsServerCredentials.newBuilder()
                .keyManager(managers(own))
                .trustManager(trusting(lab, "lab"))
                .clientAuth(TlsServerCredentials.ClientAuth.OPTIONAL)
                .build());
    var trust = trusting(own, "server");
    connect(
        started,
        TlsChannelCredentials.newBuilder().keyManager(managers(lab)).trustManager(trust).build());
    assertThat(ops().run(RunRequest.getDefaultInstance()).getOp()).isEqualTo("lab");
    requireNonNull(channel).shutdownNow();
    connect(started, TlsChannelCredentials.newBuilder().trustManager(trust).build());
    GrpcTest.refusal(() -> ops().run(RunRequest.getDefaultInstance()))
        .is(Status.Code.UNAUTHENTICATED, "unauthenticated", null, "this needs a certificate");
  }
}
