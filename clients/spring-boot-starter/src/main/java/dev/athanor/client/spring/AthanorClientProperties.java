package dev.athanor.client.spring;

import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the client.
 *
 * @param url URL of the service: http://HOST:PORT, https://, grpc:// or grpcs://. Without it, no
 *     client is configured.
 * @param apiKey API key that authenticates requests.
 * @param deadline Maximum duration of a call, retries included.
 * @param maxRetries Maximum number of retries of a call. 0 disables retries.
 * @param lease Lease of tensors, which the client renews while they are open.
 * @param replicas URLs of replicas by name, for calls that the service rejects with wrong-replica.
 */
@ConfigurationProperties("athanor.client")
public record AthanorClientProperties(
    String url,
    @Nullable String apiKey,
    @DefaultValue("1m") Duration deadline,
    @DefaultValue("3") int maxRetries,
    @DefaultValue("10m") Duration lease,
    @DefaultValue Map<String, String> replicas) {}
