@NullMarked
package dev.athanor.client;

import org.jspecify.annotations.NullMarked;
