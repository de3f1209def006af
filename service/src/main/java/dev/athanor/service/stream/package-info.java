/** Admission and streams: jobs wait in queues and run on the streams of devices. */
@NullMarked
package dev.athanor.service.stream;

import org.jspecify.annotations.NullMarked;
