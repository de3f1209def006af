package dev.athanor.service.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * A textual history of events and decisions. The first line, {@code policy NAME=VALUE …}, overrides
 * {@link #DEFAULTS}. The other lines have these forms:
 *
 * <pre>
 *   TIME submit ID [tenant= band= deadline= work= cost= bytes= device= batch=KEY:ROWS] | DECISIONS
 *   TIME ready DEVICE/STREAM | DECISIONS          TIME finished DEVICE/STREAM TOOK | DECISIONS
 *   TIME faulted DEVICE/STREAM | DECISIONS        TIME lost DEVICE | DECISIONS
 *   TIME cancel ID | DECISIONS                    TIME tick | DECISIONS
 *   TIME drain | DECISIONS                        is FACT … (see {@link #facts})
 * </pre>
 *
 * Times are in nanoseconds unless they have the unit us, ms or s.
 */
final class History {

  /** One device and one stream; all limits are large, and tickets do not age. */
  private static final String DEFAULTS =
      "devices=1 streams=1 bands=3 age=1000000s arrears=1000s tickets=1000 cost=1000s"
          + " bytes=1000000 launch=8 rows=1000 drainDelay=0 drainTimeout=1000s share=1 weights=";

  private final Scheduler scheduler;

  private History(String settings) {
    var given = named(DEFAULTS);
    var changes = named(settings);
    assertThat(given.keySet()).containsAll(changes.keySet());
    given.putAll(changes);
    scheduler =
        new Scheduler(
            new Policy(
                (int) number(given, "bands"),
                duration(given, "age"),
                duration(given, "arrears"),
                new Policy.Queue(
                    (int) number(given, "tickets"),
                    duration(given, "cost"),
                    number(given, "bytes")),
                new Policy.Launch((int) number(given, "launch"), number(given, "rows")),
                duration(given, "drainDelay"),
                duration(given, "drainTimeout"),
                new Shares(
                    Double.parseDouble(given.get("share")),
                    weights(Objects.requireNonNull(given.get("weights"))))),
            (int) number(given, "devices"),
            (int) number(given, "streams"));
  }

  /** One share for all tenants, and a weight of 1 unless given. */
  record Shares(double share, Map<String, Double> weights) implements TenantShares {
    @Override
    public double share(String tenant) {
      return share;
    }

    @Override
    public double weight(String tenant) {
      return weights.getOrDefault(tenant, 1.0);
    }
  }

  private static Map<String, Double> weights(String text) {
    return Arrays.stream(text.split(",", -1))
        .filter(each -> !each.isEmpty())
        .map(each -> each.split(":", 2))
        .collect(Collectors.toMap(each -> each[0], each -> Double.parseDouble(each[1])));
  }

  /** Replays a history and compares the whole text, so that differences are shown in place. */
  static void check(String text) {
    var lines = text.strip().lines().filter(line -> !line.isBlank()).toList();
    var first = lines.getFirst().strip();
    assertThat(first).startsWith("policy");
    var history = new History(first.substring("policy".length()));
    var rest = lines.subList(1, lines.size());
    assertThat(rest.stream().map(history::replay).collect(Collectors.joining("\n")))
        .isEqualTo(rest.stream().map(History::tidy).collect(Collectors.joining("\n")));
  }

  private static String tidy(String line) {
    return line.strip().replaceAll(" +", " ").replaceAll(" ?\\|$", "").replaceAll(" \\| ", " | ");
  }

  /** Replays a line and returns it with the actual decisions. */
  private String replay(String line) {
    var tidy = tidy(line);
    if (tidy.startsWith("is ")) {
      var facts = facts();
      return Arrays.stream(tidy.substring(3).split(" ", -1))
          .map(fact -> fact.replaceAll("=.*", ""))
          .map(name -> facts.containsKey(name) ? name + "=" + facts.get(name) : "no fact " + name)
          .collect(Collectors.joining(" ", "is ", ""));
    }
    var event = tidy.replaceAll(" \\| .*", "");
    var words = event.split(" ", -1);
    var decisions = scheduler.on(number(words[0]), event(words));
    return decisions.isEmpty()
        ? event
        : event
            + decisions.stream().map(History::text).collect(Collectors.joining("; ", " | ", ""));
  }

  private Map<String, String> facts() {
    var load = scheduler.load();
    long wake = scheduler.wake();
    return Map.of(
        "first", load(0),
        "quietest",
            scheduler.quietest(0).stream().mapToObj(Integer::toString).findFirst().orElse("none"),
        "ready", Boolean.toString(scheduler.isReady()),
        "phase", scheduler.phase().toString(),
        "wake", wake == Ticket.NEVER ? "never" : Long.toString(wake),
        "tickets", Integer.toString(load.tickets()),
        "cost", Long.toString(load.cost()),
        "bytes", Long.toString(load.hostBytes()),
        "busy", Integer.toString(load.busy()));
  }

  /** Returns the numbers of waiting tickets and busy streams of a device. */
  private String load(int device) {
    return scheduler.waiting(device) + "/" + scheduler.busy(device);
  }

  private static Event event(String[] words) {
    return switch (words[1]) {
      case "submit" -> new Event.Submit(ticket(words));
      case "ready" -> new Event.StreamReady(index(words, 0), index(words, 1));
      case "finished" -> new Event.Finished(index(words, 0), index(words, 1), number(words[3]));
      case "faulted" -> new Event.Faulted(index(words, 0), index(words, 1));
      case "lost" -> new Event.DeviceLost((int) number(words[2]));
      case "cancel" -> new Event.Cancel(number(words[2]));
      case "tick" -> new Event.Tick();
      case "drain" -> new Event.Drain();
      default -> throw new IllegalArgumentException(String.join(" ", words));
    };
  }

  private static int index(String[] words, int part) {
    return Integer.parseInt(words[2].split("/", -1)[part]);
  }

  private static Ticket ticket(String[] words) {
    var named = named(String.join(" ", List.of(words).subList(3, words.length)));
    var batch = named.getOrDefault("batch", "").split(":", -1);
    return new Ticket(
        number(words[2]),
        named.getOrDefault("tenant", "a"),
        Integer.parseInt(named.getOrDefault("band", "0")),
        named.containsKey("deadline") ? number(named, "deadline") : Ticket.NEVER,
        named.getOrDefault("work", "op"),
        number(named.getOrDefault("cost", "100")),
        number(named.getOrDefault("bytes", "0")),
        Integer.parseInt(named.getOrDefault("device", "0")),
        named.containsKey("continuation"),
        batch.length < 2 ? null : new Ticket.Batch(batch[0], number(batch[1])));
  }

  private static String text(Decision decision) {
    return switch (decision) {
      case Decision.Admitted(var ticket, long cost, long delay) ->
          "admit"
              + (cost == ticket.cost() ? "" : " cost=" + cost)
              + (delay == 0 ? "" : " delay=" + delay);
      case Decision.Refused(_, var reason, long retry) -> "refuse " + reason(reason, retry);
      case Decision.Started(int device, int stream, var tickets) ->
          "start %d/%d:%s".formatted(device, stream, ids(tickets));
      case Decision.Done(var ticket) -> "done " + ticket.id();
      case Decision.Expired(var ticket) -> "expire " + ticket.id();
      case Decision.Dropped(var ticket) -> "drop " + ticket.id();
      case Decision.Failed(var ticket, var reason, long retry) ->
          "fail %d %s".formatted(ticket.id(), reason(reason, retry));
      case Decision.Drained() -> "drained";
    };
  }

  private static String ids(List<Ticket> tickets) {
    return tickets.stream().map(t -> " " + t.id()).collect(Collectors.joining());
  }

  private static String reason(Decision.Reason reason, long retry) {
    return reason.toString().toLowerCase(Locale.ROOT).replace('_', '-')
        + (retry == 0 ? "" : " retry=" + retry);
  }

  private static Map<String, String> named(String text) {
    var named = new HashMap<String, String>();
    for (var word : text.strip().split(" ", -1)) {
      if (!word.isEmpty()) {
        var parts = word.split("=", 2);
        named.put(parts[0], parts[1]);
      }
    }
    return named;
  }

  private static Duration duration(Map<String, String> named, String name) {
    return Duration.ofNanos(number(named, name));
  }

  private static long number(Map<String, String> named, String name) {
    return number(named.getOrDefault(name, ""));
  }

  private static long number(String text) {
    var digits = text.replaceAll("[a-z]", "");
    return Long.parseLong(digits)
        * switch (text.substring(digits.length())) {
          case "us" -> 1_000L;
          case "ms" -> 1_000_000L;
          case "s" -> 1_000_000_000L;
          default -> 1L;
        };
  }
}
