package dev.athanor.service.replica;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import java.util.List;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Settings of forwarding: REST requests go to the replica that owns their tensors, with the
 * credentials of the caller, to the addresses of {@code url} and to no others.
 *
 * @param url URL of the REST interface of a replica, where {replica} stands for the id in its
 *     handles, such as http://athanor-{replica}.athanor-headless:8080. Part of the host must be
 *     fixed text. Empty disables forwarding.
 * @param replicas The ids of all replicas, this one included, such as 0,1,2: those that may hold
 *     copies of named tensors. If neither this nor discovery is set, the replicas do not know each
 *     other, and names belong to each replica alone.
 * @param discovery Host whose addresses are those of all replicas, such as a headless Service. Set
 *     it instead of replicas if their number changes; ids must then be ordinals from 0 to 255.
 * @param sslBundle Name of the Spring SSL bundle (spring.ssl.bundle) whose trust store verifies the
 *     other replicas' certificates. Empty uses the JVM's trust store.
 * @param connectTimeout How long connecting to the owner may take.
 * @param answerTimeout How long the owner may take to begin its answer after it received the
 *     request.
 * @param idleTimeout How long the owner may neither read more of the request nor send more of its
 *     answer.
 * @param replayBytes Largest body that is buffered so that it can be forwarded once a handle inside
 *     it turns out to belong to another replica. Larger ones are answered with wrong-replica. All
 *     buffers together use at most 1/16 of the heap.
 * @param maxRequests Maximum number of concurrently forwarded requests, which tenants share
 *     (athanor.quota.share). Others are answered with queue-full.
 */
public record ForwardSettings(
    @NotNull
        @Pattern(
            regexp =
                "(https?://([a-z0-9][a-z0-9.-]*\\{replica}[a-z0-9.-]*|\\{replica}[.-][a-z0-9][a-z0-9.-]*)(:\\d{1,5})?)?",
            message =
                "must be http:// or https://, a host in which {replica} stands once beside fixed text, and perhaps a port: http://athanor-{replica}.athanor-headless:8080")
        @DefaultValue("")
        String url,
    @NotNull
        @Pattern(
            regexp = "([a-z0-9]{1,16}(,[a-z0-9]{1,16}){0,255})?",
            message = "must be up to 256 ids of lower-case letters and digits: 0,1,2")
        @DefaultValue("")
        String replicas,
    @NotNull
        @Pattern(
            regexp = "([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?",
            message = "must be the name of a host: athanor-headless")
        @DefaultValue("")
        String discovery,
    @NotNull @DefaultValue("") String sslBundle,
    @NotNull @DefaultValue("2s") Duration connectTimeout,
    @NotNull @DefaultValue("5m") Duration answerTimeout,
    @NotNull @DefaultValue("1m") Duration idleTimeout,
    @NotNull @DefaultValue("1MB") DataSize replayBytes,
    @Min(1) @Max(65_536) @DefaultValue("256") int maxRequests) {
  /** The ids in {@code replicas}. */
  public List<String> ids() {
    return replicas.isEmpty() ? List.of() : List.of(replicas.split(",", -1));
  }
}
