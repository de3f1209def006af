package dev.athanor.service.grpc;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.security.Caller;
import dev.athanor.service.security.Callers;
import dev.athanor.service.security.Credentials;
import dev.athanor.service.security.RequestLimit;
import dev.athanor.service.security.Rules;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.net.InetSocketAddress;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Authentication and authorization of gRPC calls with {@link Callers} and {@link Rules}.
 * Credentials are checked only if the rule requires them, and before any message is read.
 */
@Order(Ordered.HIGHEST_PRECEDENCE + 10) // runs inside the exception handler
final class Access implements ServerInterceptor {

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> API_KEY =
      Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER);

  private final Callers callers;
  private final Rules rules;
  private final RequestLimit requests;

  Access(Callers callers, Rules rules, RequestLimit requests) {
    this.callers = callers;
    this.rules = rules;
    this.requests = requests;
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata metadata, ServerCallHandler<Q, A> next) {
    var rule =
        rules
            .rpc(call.getMethodDescriptor().getFullMethodName())
            .orElseThrow(() ->
                new Failure.Refused(Code.FORBIDDEN, "no access rule allows calls of this method"));
    if (rule.open()) {
      return next.startCall(call, metadata);
    }
    var caller =
        callers.identify(
            new Credentials(
                values(metadata, AUTHORIZATION),
                values(metadata, API_KEY),
                certificates(call),
                address(call)));
    if (!rule.admits(caller)) {
      throw callers.lacks(Objects.requireNonNull(rule.scope()), caller);
    }
    requests.begin(caller);
    try {
      var context = Context.current().withValue(GrpcCalls.CALLER, caller);
      return new Counted<>(Contexts.interceptCall(context, call, metadata, next), caller);
    } catch (RuntimeException | Error e) {
      requests.end(caller);
      throw e;
    }
  }

  /** Counts a call until it has ended. */
  private final class Counted<Q> extends SimpleForwardingServerCallListener<Q> {
    private final Caller caller;

    Counted(ServerCall.Listener<Q> listener, Caller caller) {
      super(listener);
      this.caller = caller;
    }

    @Override
    public void onComplete() {
      requests.end(caller);
      super.onComplete();
    }

    @Override
    public void onCancel() {
      requests.end(caller);
      super.onCancel();
    }
  }

  private static String address(ServerCall<?, ?> call) {
    return call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR)
            instanceof InetSocketAddress remote
        ? remote.getAddress().getHostAddress()
        : "";
  }

  private static List<String> values(Metadata metadata, Metadata.Key<String> key) {
    var values = new ArrayList<String>();
    var given = metadata.getAll(key);
    if (given != null) {
      given.forEach(values::add);
    }
    return values;
  }

  private static List<X509Certificate> certificates(ServerCall<?, ?> call) {
    var session = call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
    if (session == null) {
      return List.of();
    }
    var chain = new ArrayList<X509Certificate>();
    try {
      for (Certificate certificate : session.getPeerCertificates()) {
        if (certificate instanceof X509Certificate x509) {
          chain.add(x509);
        }
      }
      return chain;
    } catch (SSLPeerUnverifiedException e) {
      return List.of(); // the client presented no certificate
    }
  }
}
