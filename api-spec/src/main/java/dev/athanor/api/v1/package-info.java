/**
 * The services and messages of package {@code athanor.v1}. Messages neither accept nor return null.
 */
@NullMarked
package dev.athanor.api.v1;

import org.jspecify.annotations.NullMarked;
