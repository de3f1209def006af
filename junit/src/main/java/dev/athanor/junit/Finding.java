package dev.athanor.junit;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.lift.CheckFailedException;
import dev.athanor.engine.ptx.Source;
import java.util.List;

/**
 * A finding in the terms of SARIF.
 *
 * @param rule the rule's ID: the kind of a report, or {@link #CHECK}
 * @param description the description of the rule
 * @param text the finding as one sentence, with its source line
 * @param places the source lines; both sides of a race
 */
record Finding(String rule, String description, String text, List<Place> places) {

  /** The rule of checks that the lifter adds to Java kernels. */
  static final String CHECK = "CHECK_FAILED";

  /**
   * A source line of the finding.
   *
   * @param text the description of the access
   */
  record Place(Source source, String text) {
    private static Place of(Report.Place place) {
      var origin = place.source().origin();
      return new Place(origin == null ? place.source() : origin, place.toString());
    }
  }

  Finding {
    places = List.copyOf(places);
  }

  static List<Finding> of(KernelFault fault) {
    return fault.findings().stream().map(Finding::of).toList();
  }

  private static Finding of(Report report) {
    var place = Place.of(report.place());
    var other = report.other();
    return new Finding(
        report.kind().name(),
        report.kind().description(),
        report.toString(),
        other == null ? List.of(place) : List.of(place, Place.of(other)));
  }

  static Finding of(CheckFailedException check) {
    var text = String.valueOf(check.getMessage());
    return new Finding(
        CHECK,
        "An array index of a Java kernel that is out of bounds, or an integer division by zero.",
        text,
        List.of(new Place(check.source(), text)));
  }
}
