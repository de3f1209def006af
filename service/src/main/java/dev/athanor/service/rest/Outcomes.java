package dev.athanor.service.rest;

import dev.athanor.ops.Catalogue;
import dev.athanor.service.http.Problems;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.tensor.Tenant;
import java.io.IOException;

/** Records the outcomes of run requests. */
final class Outcomes {

  /** A request. */
  interface Request {
    void serve() throws IOException;
  }

  private Outcomes() {}

  /**
   * Returns the metric label of an op. Unknown names share one label, so that clients cannot create
   * metrics.
   */
  static String label(Catalogue catalogue, String op) {
    return catalogue.find(op).isPresent() ? op : "unknown";
  }

  /** Serves a request and records its outcome. */
  static void count(Metrics metrics, Tenant tenant, String label, Request request)
      throws IOException {
    try {
      request.serve();
      metrics.succeeded(label);
    } catch (IOException | RuntimeException | Error e) {
      metrics.failed(tenant, label, Problems.ofClient(e).<Throwable>map(each -> each).orElse(e));
      throw e;
    }
  }
}
