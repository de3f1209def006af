package dev.athanor.ops.attention.decode;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.attention.AttentionReference;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

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

  static double[] decode(Map<String, HostTensor> inputs, Attributes attributes) {
    var p = DecodeProblem.of(HostTensor.types(inputs), attributes);
    var q = AttentionReference.read(inputs, "q");
    var k = AttentionReference.read(inputs, "kCache");
    var v = AttentionReference.read(inputs, "vCache");
    var out = new double[p.batch() * p.heads() * p.dv()];
    for (int row = 0; row < p.batch() * p.heads(); row++) {
      int sequence = row / p.heads();
      int sharedHead = row % p.heads() / (p.heads() / p.sharedHeads());
      int length = length(inputs, p, sequence);
      int from = p.from(length);
      var scores = new double[length - from];
      var values = new double[scores.length * p.dv()];
      for (int j = 0; j < scores.length; j++) {
        int key = cacheRow(inputs, p, sequence, sharedHead, from + j);
        scores[j] = p.scale() * AttentionReference.dot(q, row, k, key, p.d());
        System.arraycopy(v, key * p.dv(), values, j * p.dv(), p.dv());
      }
      AttentionReference.weigh(scores, values, 0, out, row, p.dv());
    }
    return out;
  }
}
