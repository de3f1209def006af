package dev.athanor.ops;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A line of the ledger of machine code: a kernel and its entry for each target.
 *
 * @param hash of the kernel's PTX
 */
record LedgerLine(String hash, String kernel, List<LedgerEntry> entries) {

  LedgerLine {
    entries = List.copyOf(entries);
  }

  static LedgerLine parse(String text) {
    var parts = text.split(" +");
    return new LedgerLine(
        parts[0], parts[1], Stream.of(parts).skip(2).map(LedgerEntry::parse).toList());
  }

  /** Returns the entry for a compute capability. */
  Optional<LedgerEntry> entry(int sm) {
    return entries.stream().filter(each -> each.target().sm() == sm).findFirst();
  }

  @Override
  public String toString() {
    return "%s  %s  %s"
        .formatted(
            hash,
            kernel,
            entries.stream().map(LedgerEntry::toString).collect(Collectors.joining(" ")));
  }
}
