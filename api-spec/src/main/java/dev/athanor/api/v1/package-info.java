/** The services and messages of package {@code athanor.v1}; messages neither take nor give null. */
@NullMarked
package dev.athanor.api.v1;

import org.jspecify.annotations.NullMarked;
