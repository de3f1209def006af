/**
 * The services and messages of the Open Inference Protocol. Messages neither accept nor return
 * null.
 */
@NullMarked
package dev.athanor.api.inference;

import org.jspecify.annotations.NullMarked;
