package dev.athanor.engine.emulator;

import java.util.List;

/** Several observers as one. */
record Observers(List<Observer> all) implements Observer {

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
  public void touch(Touch touch) {
    all.forEach(observer -> observer.touch(touch));
  }
}
