package dev.athanor.cli.client;

import java.util.List;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * The number of requests of an op.
 *
 * @param requests all requests, including failed ones
 */
public record OpRequests(String op, long requests, long failed) {

  private static final Pattern SAMPLE =
      Pattern.compile("(?m)^athanor_op_requests_total\\{(.*)\\} (\\S+)$");
  private static final Pattern OP = Pattern.compile("\\bop=\"([^\"]*)\"");

  private OpRequests plus(OpRequests other) {
    return new OpRequests(op, requests + other.requests, failed + other.failed);
  }

  /**
   * Adds up the requests of each op, sorted by op.
   *
   * @param metrics in Prometheus format
   */
  public static List<OpRequests> parse(String metrics) {
    var ops = new TreeMap<String, OpRequests>();
    SAMPLE
        .matcher(metrics)
        .results()
        .forEach(sample -> {
          var labels = sample.group(1);
          var op = OP.matcher(labels);
          long count = (long) Double.parseDouble(sample.group(2));
          if (op.find() && count > 0) {
            long failed = labels.contains("outcome=\"ok\"") ? 0 : count;
            ops.merge(op.group(1), new OpRequests(op.group(1), count, failed), OpRequests::plus);
          }
        });
    return List.copyOf(ops.values());
  }
}
