package dev.athanor.service.rest;

import dev.athanor.ops.Catalogue;
import dev.athanor.service.metrics.Metrics;
import java.io.IOException;

/** Counts requests to run something by how they end. */
final class Outcomes {

  /** A request. */
  interface Request {
    void serve() throws IOException;
  }

  private Outcomes() {}

  /** The label of an op; names that nobody knows share one, or clients could grow the metrics. */
  static String label(Catalogue catalogue, String op) {
    return catalogue.find(op).isPresent() ? op : "unknown";
  }

  /** Serves a request that counts under a label. */
  static void count(Metrics metrics, String label, Request request) throws IOException {
    try {
      request.serve();
      metrics.request(label, "ok");
    } catch (IOException | RuntimeException | Error e) {
      metrics.failed(label, e);
      throw e;
    }
  }
}
