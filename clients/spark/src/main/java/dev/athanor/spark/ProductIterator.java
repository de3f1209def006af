package dev.athanor.spark;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import scala.collection.mutable.ArraySeq;

/** The rows of a partition with their products, computed in batches. */
final class ProductIterator implements Iterator<Row> {
  private final BatchProduct product;
  private int next;

  private ProductIterator(BatchProduct product) {
    this.product = product;
  }

  static Iterator<Row> of(
      Iterator<Row> rows, VectorColumn vectors, BroadcastMatrix weights, ProductOptions options) {
    return new ProductIterator(new BatchProduct(rows, vectors, weights, options));
  }

  @Override
  public boolean hasNext() {
    if (next == product.rows().size()) {
      next = 0;
      return product.nextBatch();
    }
    return true;
  }

  @Override
  public Row next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    var row = product.rows().get(next);
    var values = new Object[row.size() + 1];
    for (int i = 0; i < row.size(); i++) {
      values[i] = row.get(i);
    }
    values[row.size()] = new ArraySeq.ofFloat(product.result(next++));
    return RowFactory.create(values);
  }
}
