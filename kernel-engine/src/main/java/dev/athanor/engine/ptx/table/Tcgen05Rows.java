package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.blackwell;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Semantics.TensorMemory;
import dev.athanor.engine.ptx.Semantics.TensorMemoryKind;
import java.util.ArrayList;
import java.util.List;

/** Tensor memory and the products in it (PTX ISA 9.7.16). */
final class Tcgen05Rows {

  static final List<InstructionForm> ALL = Row.forms(all());

  private static final String COLUMNS = "n:u32(32,64,128,256,512)";
  private static final int MOST_REGISTERS = 128;

  private Tcgen05Rows() {}

  private static List<Row> all() {
    var all = new ArrayList<Row>();
    // spotless:off
    all.add(row("9.7.16.7.1", "alloc.cta_group::1.sync.aligned{.shared::cta}.b32 [a], " + COLUMNS, TensorMemoryKind.ALLOCATE));
    all.add(row("9.7.16.7.2", "dealloc.cta_group::1.sync.aligned.b32 a, " + COLUMNS,               TensorMemoryKind.DEALLOCATE));
    all.add(row("9.7.16.7.3", "relinquish_alloc_permit.cta_group::1.sync.aligned",                 TensorMemoryKind.RELINQUISH));
    moves(all, "32x32b", 1);
    moves(all, "16x64b", 1);
    moves(all, "16x128b", 2);
    moves(all, "16x256b", 4);
    all.add(row("9.7.16.8.3", "wait::ld.sync.aligned",                                             TensorMemoryKind.WAIT_LOADS));
    all.add(row("9.7.16.8.3", "wait::st.sync.aligned",                                             TensorMemoryKind.WAIT_STORES));
    for (var a : List.of("a:b64", "[a]:tensor")) {
      all.add(row("9.7.16.10.9.1", "mma.cta_group::1.<kind::f16|kind::tf32|kind::f8f6f4|kind::i8> [d]:tensor, " + a + ", b:b64, idesc:b32, enable_input_d:pred(0,1)", TensorMemoryKind.MULTIPLY));
    }
    all.add(row("9.7.16.11.1", "<fence::before_thread_sync|fence::after_thread_sync>",                    TensorMemoryKind.FENCE));
    all.add(row("9.7.16.12.1", "commit.cta_group::1.mbarrier::arrive::one{.shared::cluster}.b64 [mbar]", TensorMemoryKind.COMMIT));
    // spotless:on
    return all;
  }

  /**
   * Adds the loads and stores of a shape, for each number of repetitions along the columns.
   *
   * @param registers number of registers of a thread without repetition
   */
  private static void moves(List<Row> all, String shape, int registers) {
    for (int count = 1; count * registers <= MOST_REGISTERS; count *= 2) {
      var word = ".sync.aligned.%s.x%d".formatted(shape, count);
      int length = count * registers;
      all.add(
          row(
              "9.7.16.8.1",
              "ld%s{.pack::16b}.b32 d:b32*%d, [a]:tensor".formatted(word, length),
              TensorMemoryKind.LOAD));
      all.add(
          row(
              "9.7.16.8.2",
              "st%s{.unpack::16b}.b32 [a]:tensor, b:b32*%d".formatted(word, length),
              TensorMemoryKind.STORE));
    }
  }

  private static Row row(String section, String syntax, TensorMemoryKind kind) {
    return blackwell(section, "8.6", "tcgen05." + syntax, new TensorMemory(kind));
  }
}
