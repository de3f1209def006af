package dev.athanor.service.forward;

import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.http.Connections;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.Problems;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.replica.ForwardSettings;
import dev.athanor.service.replica.Peers;
import dev.athanor.service.replica.ReplicaClient;
import dev.athanor.service.tensor.Handles;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Forwards requests to the replica that owns their tensors or session: at once where the path or
 * the query names one of its handles or sessions, and when the request fails with {@link
 * Failure.WrongReplica} where the body does. A request is forwarded once at most, and only when its
 * caller is known here.
 */
@Order(Ordered.LOWEST_PRECEDENCE) // inside of Spring Security
public final class Forwarding extends OncePerRequestFilter {

  private static final Pattern IN_PATH =
      Pattern.compile("/(t_[0-9a-z_]+|(?<=/sessions/)s_[0-9a-z_]+)(?=/|$)");

  /** Names and scopes are labels, which may look like handles. */
  private static final Pattern IN_QUERY =
      Pattern.compile("(?:^|&)(?!name=|scope=)[^=&]*=(t_[0-9a-z_]+)(?=&|$)");

  /** The copies of bodies take at most this share of the heap. */
  private static final int SHARE = 16;

  private static final String DEADLINE = Forwarding.class.getName() + ".deadline";
  private static final String REPLAYABLE = ReplayableRequest.class.getName();

  private final ForwardSettings settings;
  private final Handles handles;
  private final long maxBodyBytes;
  private final boolean certificates;
  private final Forwarder forwarder;
  private final Peers peers;
  private final AtomicLong budget = new AtomicLong(Runtime.getRuntime().maxMemory() / SHARE);

  /**
   * @param peers the replicas that may have named tensors and models
   * @param certificates whether clients authenticate by certificates, which cannot be sent on
   */
  public Forwarding(
      ForwardSettings settings,
      ReplicaClient client,
      Peers peers,
      Handles handles,
      RestSettings rest,
      boolean certificates) {
    this.settings = settings;
    this.peers = peers;
    this.handles = handles;
    this.certificates = certificates;
    maxBodyBytes = rest.maxBodyBytes();
    forwarder = new Forwarder(client);
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    if (certificates || !HttpRequests.isCallerKnown(request) || HttpRequests.isForwarded(request)) {
      chain.doFilter(request, response);
      return;
    }
    String owner;
    try {
      request.setAttribute(DEADLINE, HttpRequests.deadline(request));
      owner = owner(request);
    } catch (Failure e) {
      Problems.write(request, response, e);
      return;
    }
    if (owner == null) {
      serve(request, response, chain);
    } else {
      forwardAtOnce(request, owner, response);
    }
  }

  private void forwardAtOnce(HttpServletRequest request, String owner, HttpServletResponse response)
      throws IOException {
    try {
      forward(request, owner, null, response);
    } catch (Failure e) {
      if (response.isCommitted()) {
        Connections.abortResponse();
      } else {
        Problems.write(request, response, e);
      }
    } catch (IOException e) {
      if (!response.isCommitted()) {
        throw e;
      }
      Connections.abortResponse();
    }
  }

  /**
   * Answers a request that failed since a tensor is another replica's: by that replica's answer
   * where it can be forwarded.
   *
   * @throws Failure what to answer instead
   */
  public void answer(
      Failure.WrongReplica failure, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    if (HttpRequests.isForwarded(request)) {
      throw failure.afterForwarding();
    }
    if (request.getAttribute(REPLAYABLE) instanceof ReplayableRequest replayable) {
      var copied = replayable.copied();
      if (copied != null) {
        forward(replayable.unwrapped(), failure.replica(), copied, response);
        return;
      }
    }
    throw failure;
  }

  /**
   * Answers a request that failed since this replica has no tensor or model of a name: by the
   * answer of one that has.
   *
   * @throws Failure what to answer instead
   */
  public void answer(
      Failure.UnknownName failure, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    if (peers.maxReplicas() == 1 || !HttpRequests.isCallerKnown(request)) {
      throw failure;
    }
    if (HttpRequests.isForwarded(request)) {
      throw failure.afterForwarding(handles.replica());
    }
    var entry = HttpRequests.entry(request).withDeadline(deadline(request));
    if (peers.locate(entry, failure) instanceof Failure.WrongReplica located) {
      answer(located, request, response);
    } else {
      throw failure;
    }
  }

  private static Deadline deadline(HttpServletRequest request) {
    return request.getAttribute(DEADLINE) instanceof Deadline known ? known : Deadline.none();
  }

  private void serve(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    if (request.getContentLengthLong() > settings.replayBytes().toBytes()) {
      chain.doFilter(request, response);
      return;
    }
    try (var replayable =
        new ReplayableRequest(request, settings.replayBytes().toBytes(), budget)) {
      request.setAttribute(REPLAYABLE, replayable);
      chain.doFilter(replayable, response);
    } finally {
      request.removeAttribute(REPLAYABLE);
    }
  }

  /**
   * The id of the other replica whose handle is in the path or the query; null where none is.
   *
   * @throws Failure.WrongReplica when there are handles of several replicas
   */
  private @Nullable String owner(HttpServletRequest request) {
    var owners = new TreeSet<String>();
    addOwners(IN_PATH, request.getRequestURI(), owners);
    if (request.getQueryString() != null) {
      addOwners(IN_QUERY, request.getQueryString(), owners);
    }
    var others = new TreeSet<>(owners);
    others.remove(handles.replica());
    if (others.isEmpty()) {
      return null;
    }
    if (owners.size() > 1) {
      throw Failure.WrongReplica.several(owners, others.first(), handles.url(others.first()));
    }
    return others.first();
  }

  private void addOwners(Pattern pattern, String text, Set<String> owners) {
    pattern
        .matcher(text)
        .results()
        .map(found -> found.group(1))
        .filter(id -> Handles.isHandle(id) || Handles.isSession(id))
        .map(handle -> handles.otherReplica(handle).orElse(handles.replica()))
        .forEach(owners::add);
  }

  /**
   * @param read what was read of the body already; null for nothing
   */
  private void forward(
      HttpServletRequest request,
      String owner,
      @Nullable InputStream read,
      HttpServletResponse response)
      throws IOException {
    ProcessorShares.leave(); // copying costs little, and waits for the other replica
    long length = request.getContentLengthLong();
    boolean hasBody = length > 0 || request.getHeader("Transfer-Encoding") != null;
    InputStream body = null;
    if (hasBody) {
      var rest = HttpRequests.packed(request, maxBodyBytes);
      body = read == null ? rest : new SequenceInputStream(read, rest);
    }
    var url = Objects.requireNonNull(handles.url(owner));
    forwarder.forward(request, owner, url, body, length, deadline(request), response);
  }
}
