package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class StatusesTest {

  @ParameterizedTest
  @CsvSource({
    "MALFORMED_BODY, INVALID_ARGUMENT",
    "INVALID_TENSOR, INVALID_ARGUMENT",
    "SHAPE_MISMATCH, INVALID_ARGUMENT",
    "UNSUPPORTED_DTYPE, INVALID_ARGUMENT",
    "INVALID_ATTRIBUTE, INVALID_ARGUMENT",
    "MISSING_INPUT, INVALID_ARGUMENT",
    "UNKNOWN_FIELD, INVALID_ARGUMENT",
    "NOT_FOUND, NOT_FOUND",
    "UNKNOWN_OP, NOT_FOUND",
    "UNKNOWN_HANDLE, NOT_FOUND",
    "EXPIRED_HANDLE, NOT_FOUND",
    "WRONG_REPLICA, FAILED_PRECONDITION",
    "UNAUTHENTICATED, UNAUTHENTICATED",
    "FORBIDDEN, PERMISSION_DENIED",
    "METHOD_NOT_ALLOWED, UNIMPLEMENTED",
    "HANDLE_IN_USE, FAILED_PRECONDITION",
    "VERSION_MISMATCH, FAILED_PRECONDITION",
    "TOO_LARGE, RESOURCE_EXHAUSTED",
    "UNSUPPORTED_MEDIA_TYPE, INVALID_ARGUMENT",
    "NOT_ACCEPTABLE, INVALID_ARGUMENT",
    "RANGE_NOT_SATISFIABLE, OUT_OF_RANGE",
    "UNSUPPORTED_ON_DEVICE, FAILED_PRECONDITION",
    "IDEMPOTENCY_KEY_REUSED, ALREADY_EXISTS",
    "QUEUE_FULL, RESOURCE_EXHAUSTED",
    "QUOTA_EXCEEDED, RESOURCE_EXHAUSTED",
    "DRAINING, UNAVAILABLE",
    "IDENTITY_PROVIDER_UNAVAILABLE, UNAVAILABLE",
    "REPLICA_UNAVAILABLE, UNAVAILABLE",
    "DEVICE_LOST, UNAVAILABLE",
    "DEADLINE_EXCEEDED, DEADLINE_EXCEEDED",
    "CANCELLED, CANCELLED",
    "OUT_OF_DEVICE_MEMORY, RESOURCE_EXHAUSTED",
    "OUT_OF_HOST_MEMORY, RESOURCE_EXHAUSTED",
    "INTERNAL, INTERNAL"
  })
  void mapsEveryCodeToItsStatus(Code code, Status.Code status) {
    assertThat(Statuses.code(code)).isEqualTo(status);
  }

  @ParameterizedTest
  @EnumSource(Code.class)
  void reasonIsTheCode(Code code) {
    var refusal =
        GrpcTest.refusal(Statuses.of(new Failure.Refused(code, "inputs.a", "a is wrong")));
    refusal.is(Statuses.code(code), code.text(), "inputs.a", "a is wrong");
    assertThat(refusal.mayRetry()).isFalse();
  }

  @Test
  void retryableErrorsHaveRetryInfo() {
    var busy = new Failure.Busy(Code.QUEUE_FULL, "too much", Duration.ofMillis(1500));
    assertThat(GrpcTest.refusal(Statuses.of(busy)).mayRetry()).isTrue();
  }

  @Test
  void incompleteCopiesHaveRetryInfoIfReplicasAreBusy() {
    var done = List.of("0");
    var failed = List.of("1");
    var busy = new Failure.Incomplete(Code.REPLICA_UNAVAILABLE, "one is down", done, failed);
    assertThat(GrpcTest.refusal(Statuses.of(busy)).mayRetry()).isTrue();
    var refused = new Failure.Incomplete(Code.FORBIDDEN, "one refused", done, failed);
    assertThat(GrpcTest.refusal(Statuses.of(refused)).mayRetry()).isFalse();
  }

  @Test
  void outOfMemoryReportsSizes() {
    var refusal = GrpcTest.refusal(Statuses.of(new Failure.OutOfDeviceMemory(100, 40)));
    assertThat(refusal.status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(refusal.metadata())
        .containsEntry("requestedBytes", "100")
        .containsEntry("freeBytes", "40");
  }

  @Test
  void wrongReplicaNamesTheOwner() {
    var known =
        Failure.WrongReplica.of("inputs.a", "t_1", "2", "http://athanor-2.athanor-headless:8080");
    assertThat(GrpcTest.refusal(Statuses.of(known)).metadata())
        .containsEntry("replica", "2")
        .containsEntry("url", "http://athanor-2.athanor-headless:8080");
    var unknown = Failure.WrongReplica.of("inputs.a", "t_1", "2", null);
    assertThat(GrpcTest.refusal(Statuses.of(unknown)).metadata())
        .containsEntry("replica", "2")
        .doesNotContainKey("url");
  }

  @Test
  void internalErrorsShowOnlyTheirId() {
    var refusal = GrpcTest.refusal(Statuses.of(new IllegalStateException("secret of /etc/passwd")));
    assertThat(refusal.status()).isEqualTo(Status.Code.INTERNAL);
    assertThat(refusal.reason()).isEqualTo("internal");
    assertThat(refusal.message())
        .isEqualTo(
            "Internal error; see the log of the service for id " + refusal.metadata().get("id"));
  }
}
