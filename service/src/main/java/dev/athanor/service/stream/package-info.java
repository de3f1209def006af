/** Admission of jobs and their execution on device streams. */
@NullMarked
package dev.athanor.service.stream;

import org.jspecify.annotations.NullMarked;
