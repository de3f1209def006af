@NullMarked
package dev.athanor.client.spring;

import org.jspecify.annotations.NullMarked;
