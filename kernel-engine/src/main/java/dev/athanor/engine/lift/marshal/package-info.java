/** The arguments of launches as memory of the host. */
@NullMarked
package dev.athanor.engine.lift.marshal;

import org.jspecify.annotations.NullMarked;
