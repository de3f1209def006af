@NullMarked
package dev.athanor.vulkan;

import org.jspecify.annotations.NullMarked;
