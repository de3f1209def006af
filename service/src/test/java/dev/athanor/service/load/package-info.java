@NullMarked
package dev.athanor.service.load;

import org.jspecify.annotations.NullMarked;
