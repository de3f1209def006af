package dev.athanor.service.replica;

import dev.athanor.service.tensor.Handles;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Objects;

/**
 * The addresses of replicas.
 *
 * @param handles handles with the URLs of replicas
 * @param resolver looks up addresses
 */
public record ReplicaHosts(Handles handles, Resolver resolver) {

  /** Looks up the addresses of a host. */
  public interface Resolver {
    InetAddress[] resolve(String host) throws UnknownHostException;
  }

  /** Returns the addresses of a replica; empty if it does not exist. */
  List<InetAddress> of(String id) {
    var url = Objects.requireNonNull(handles.url(id), "athanor.forward.url is set");
    return at(URI.create(url).getHost());
  }

  /** Returns the addresses of a host; empty if it does not exist. */
  List<InetAddress> at(String host) {
    try {
      return List.of(resolver.resolve(host));
    } catch (UnknownHostException _) {
      return List.of();
    }
  }
}
