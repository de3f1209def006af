/**
 * The services and messages of the Open Inference Protocol; messages neither take nor give null.
 */
@NullMarked
package dev.athanor.api.inference;

import org.jspecify.annotations.NullMarked;
