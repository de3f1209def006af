package dev.athanor.ops.attention.decode;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.attention.AttentionReference;
import dev.athanor.ops.attention.Mask;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.TensorReader;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;

/** A simple reference implementation of attention over a cache in float64. */
final class DecodeReference {

  private DecodeReference() {}

  /** Returns the number of cached keys of a sequence. */
  private static int length(Map<String, HostTensor> inputs, DecodeProblem p, int sequence) {
    return Math.clamp(
        (long) AttentionReference.tensor(inputs, "lengths").get(sequence), 0, p.capacity());
  }

  /** Returns the cache row of a key of a head of a sequence. */
  private static int cacheRow(
      Map<String, HostTensor> inputs, DecodeProblem p, int sequence, int sharedHead, int key) {
    if (!p.paged()) {
      return (sequence * p.sharedHeads() + sharedHead) * p.capacity() + key;
    }
    int size = p.pages().blockSize();
    var table = AttentionReference.tensor(inputs, "blockTable");
    double entry = table.get((long) sequence * p.pages().maxBlocks() + key / size);
    int block = (int) Math.clamp(entry, 0, p.pages().blocks() - 1);
    return (block * p.sharedHeads() + sharedHead) * size + key % size;
  }

  /** Returns the valid cache rows of all sequences and heads. */
  static Set<Integer> cachedRows(Map<String, HostTensor> inputs, Attributes attributes) {
    var p = DecodeProblem.of(HostTensor.types(inputs), attributes);
    var rows = new HashSet<Integer>();
    for (int b = 0; b < p.batch(); b++) {
      for (int h = 0; h < p.sharedHeads(); h++) {
        for (int key = 0; key < length(inputs, p, b); key++) {
          rows.add(cacheRow(inputs, p, b, h, key));
        }
      }
    }
    return rows;
  }

  private static double bias(DecodeProblem p, Optional<TensorReader> mask, long maskRow, int key) {
    return mask.map(
            elements -> p.mask().orElseThrow().bias(elements.get(maskRow * p.capacity() + key)))
        .orElse(0.0);
  }

  static ReferenceOutput decode(Map<String, HostTensor> inputs, Attributes attributes) {
    var p = DecodeProblem.of(HostTensor.types(inputs), attributes);
    var q = TensorReader.of(inputs, "q");
    var k = TensorReader.of(inputs, "kCache");
    var v = TensorReader.of(inputs, "vCache");
    var mask = p.mask().map(_ -> TensorReader.of(inputs, Mask.NAME));
    return ReferenceOutput.ofRows(
        (long) p.batch() * p.heads() * p.queries(),
        p.dv(),
        row -> {
          int query = (int) (row % p.queries());
          int head = (int) (row / p.queries() % p.heads());
          int sequence = (int) (row / p.queries() / p.heads());
          int sharedHead = head / (p.heads() / p.sharedHeads());
          int length = length(inputs, p, sequence);
          long maskRow = p.mask().map(each -> each.row(sequence, head, query)).orElse(0L);
          var seen =
              IntStream.range(p.from(length, query), p.to(length, query))
                  .filter(key -> bias(p, mask, maskRow, key) != Double.NEGATIVE_INFINITY)
                  .toArray();
          IntToLongFunction cached = j -> cacheRow(inputs, p, sequence, sharedHead, seen[j]);
          var scores = new double[seen.length];
          for (int j = 0; j < scores.length; j++) {
            double product = AttentionReference.dot(q, row, k, cached.applyAsLong(j), p.d());
            scores[j] = p.scale() * product + bias(p, mask, maskRow, seen[j]);
          }
          return AttentionReference.mean(scores, v, cached, p.dv());
        });
  }
}
