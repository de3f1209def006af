/** A client of the Athanor service: tensors on its devices, and operations on them. */
@NullMarked
package dev.athanor.client;

import org.jspecify.annotations.NullMarked;
