package dev.athanor.engine.debug;

import dev.athanor.engine.device.Report.Place;

/** A lane at an instruction, as a report names it. */
record Lane(Place place) {

  /** Returns whether the lane is about to execute the instruction. */
  boolean executes(Moment moment) {
    var instruction = moment.instruction();
    if (!instruction.source().equals(place.source())
        || !moment.includes(place.warp())
        || ((moment.lanes(place.warp()) >>> place.lane()) & 1) == 0) {
      return false;
    }
    return moment.place(place.warp(), place.lane()).equals(place);
  }
}
