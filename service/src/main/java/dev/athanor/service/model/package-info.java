/** Models that clients store, and their weights. */
@NullMarked
package dev.athanor.service.model;

import org.jspecify.annotations.NullMarked;
