package dev.athanor.spark;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.PriorityQueue;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;

/** The search for the best rows of one partition. */
final class PartitionSearch {

  /** A row's id and its score. The order is total, so the best {@code k} are well defined. */
  private record Candidate(float score, long id) {
    static final Comparator<Candidate> WORST_FIRST =
        Comparator.comparingDouble(Candidate::score)
            .thenComparing(Comparator.comparingLong(Candidate::id).reversed());
  }

  private final BatchProduct products;
  private final Metric metric;
  private final double[] queryNorms;
  private final int queries;

  /**
   * @param products the products of the partition's vectors; the first column has their ids
   * @param queries one query per row
   */
  PartitionSearch(BatchProduct products, Matrix queries, Metric metric) {
    this.products = products;
    this.metric = metric;
    this.queryNorms = metric.norms(queries, "query");
    this.queries = queries.rows();
  }

  /**
   * Returns the best {@code k} rows for each query, or all if the partition has fewer, as rows of
   * query, id and score.
   *
   * @throws IllegalArgumentException if a vector, an id or a score is invalid
   */
  Iterator<Row> best(int k) {
    var best = new ArrayList<PriorityQueue<Candidate>>();
    for (int query = 0; query < queries; query++) {
      best.add(new PriorityQueue<>(Candidate.WORST_FIRST));
    }
    while (products.nextBatch()) {
      for (int i = 0; i < products.rows().size(); i++) {
        offer(i, best, k);
      }
    }
    var rows = new ArrayList<Row>();
    for (int query = 0; query < queries; query++) {
      for (var candidate : best.get(query)) {
        rows.add(RowFactory.create(query, candidate.id, candidate.score));
      }
    }
    return rows.iterator();
  }

  private void offer(int i, List<PriorityQueue<Candidate>> best, int k) {
    var row = products.rows().get(i);
    if (row.isNullAt(0)) {
      throw new IllegalArgumentException(
          "The id is null in row %s; every row needs an id.".formatted(row));
    }
    long id = row.getLong(0);
    var dots = products.result(i);
    double norm = metric.norm(products.vector(i), () -> products.describe(i));
    for (int query = 0; query < queries; query++) {
      float score = metric.score(dots[query], norm, queryNorms[query]);
      if (!Float.isFinite(score)) {
        throw new IllegalArgumentException(
            "The score of %s with query %d is %s, beyond the range of f32; scale the vectors or the queries down."
                .formatted(products.describe(i), query, score));
      }
      var heap = best.get(query);
      var candidate = new Candidate(score, id);
      if (heap.size() < k) {
        heap.add(candidate);
      } else if (Candidate.WORST_FIRST.compare(candidate, heap.element()) > 0) {
        heap.remove();
        heap.add(candidate);
      }
    }
  }
}
