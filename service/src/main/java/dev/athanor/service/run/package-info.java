/** The one way to the device: admission, streams, deadlines, ops and transfers. */
@NullMarked
package dev.athanor.service.run;

import org.jspecify.annotations.NullMarked;
