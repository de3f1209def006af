package dev.athanor.service.forward;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Forwarding of REST requests to the replica that owns their tensors. Callers' credentials go with
 * them, to the addresses of {@code url} and to no others.
 *
 * @param url the REST interface of a replica, with {@code {replica}} in the place of the mark in
 *     its handles: {@code http://athanor-{replica}.athanor-headless:8080}. Part of the host must be
 *     fixed. Empty for no forwarding
 * @param connectTimeout how long a connection may take
 * @param answerTimeout how long the owner may take to begin its answer once it has the request
 * @param idleTimeout how long the owner may take no bytes of a request that it reads, or send none
 *     of an answer that it has begun
 * @param replayBytes how much of a body is kept so that it can be sent on when a handle in it turns
 *     out to be of another replica; a longer one is answered with wrong-replica. The copies of all
 *     requests together take at most 1/16 of the heap
 * @param maxRequests how many requests are forwarded at a time; others are answered with queue-full
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
    @NotNull @DefaultValue("2s") Duration connectTimeout,
    @NotNull @DefaultValue("5m") Duration answerTimeout,
    @NotNull @DefaultValue("1m") Duration idleTimeout,
    @NotNull @DefaultValue("1MB") DataSize replayBytes,
    @Min(1) @Max(65_536) @DefaultValue("256") int maxRequests) {}
