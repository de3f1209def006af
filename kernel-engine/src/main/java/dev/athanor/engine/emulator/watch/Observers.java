package dev.athanor.engine.emulator.watch;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.List;

/** Several observers as one. */
public record Observers(List<Observer> all) implements Observer {

  @Override
  public void attach(BlockState state) {
    all.forEach(observer -> observer.attach(state));
  }

  @Override
  public void begin(long number) {
    all.forEach(observer -> observer.begin(number));
  }

  @Override
  public void end() {
    all.forEach(Observer::end);
  }

  @Override
  public void execute(int number, int warp, int active, int chosen) {
    all.forEach(observer -> observer.execute(number, warp, active, chosen));
  }

  @Override
  public void touch(MemoryRequest request) {
    all.forEach(observer -> observer.touch(request));
  }

  @Override
  public boolean watches(int number) {
    return all.stream().anyMatch(observer -> observer.watches(number));
  }

  @Override
  public void touched(MemoryRequest request) {
    all.forEach(observer -> observer.touched(request));
  }

  @Override
  public void allocated(Allocation heap, long offset, long bytes) {
    all.forEach(observer -> observer.allocated(heap, offset, bytes));
  }

  @Override
  public void synchronize(int warp, int lanes) {
    all.forEach(observer -> observer.synchronize(warp, lanes));
  }

  @Override
  public void arrive(int barrier, int warp) {
    all.forEach(observer -> observer.arrive(barrier, warp));
  }

  @Override
  public void open(int barrier, int waiting) {
    all.forEach(observer -> observer.open(barrier, waiting));
  }

  @Override
  public void joined(int warp, int lanes) {
    all.forEach(observer -> observer.joined(warp, lanes));
  }

  @Override
  public void found(Report report) {
    all.forEach(observer -> observer.found(report));
  }

  @Override
  public void failed(List<Report> reports) {
    all.forEach(observer -> observer.failed(reports));
  }

  @Override
  public void reportViolation(
      Report.Kind kind, int thread, Instruction instruction, String what, String remedy) {
    all.forEach(observer -> observer.reportViolation(kind, thread, instruction, what, remedy));
  }
}
