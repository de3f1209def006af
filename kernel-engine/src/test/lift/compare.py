"""Compares machine code of lifted kernels with nvcc's, statically.

Usage: compare.py TARGET CLASSPATH, with nvcc, ptxas, nvdisasm, cuobjdump and Java 25 on the PATH and
kernel-engine compiled with its tests. Prints a table of instructions (NOPs excluded) and registers.
"""
import os
import re
import subprocess
import sys
import tempfile

KERNELS = "saxpy siluGate softmax layerNorm product histogram reduce".split()


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def instructions(cubin):
    """Returns the number of instructions of each kernel."""
    counts, kernel = {}, None
    for line in run("nvdisasm", "-c", cubin).splitlines():
        section = re.match(r"\s*\.section\s+\.text\.(\w+)", line)
        if section:
            kernel = section.group(1)
            counts[kernel] = 0
        code = re.search(r"/\*[0-9a-f]+\*/\s+(.*?);", line)
        if kernel and code and not code.group(1).startswith("NOP"):
            counts[kernel] += 1
    return counts


def registers(cubin):
    """Returns the registers of each kernel."""
    text = run("cuobjdump", "-res-usage", cubin)
    return dict(re.findall(r"Function (\w+):\s+REG:(\d+)", text))


def main():
    target, classpath = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        cubin = os.path.join(directory, "code.cubin")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference.cu")
        run("nvcc", "-w", "-arch=" + target, "-fmad=false", "-cubin", "-o", cubin, source)
        theirs, their_registers = instructions(cubin), registers(cubin)
        print("| kernel | nvcc | lifted | registers, nvcc | registers, lifted |")
        print("| --- | --- | --- | --- | --- |")
        for kernel in KERNELS:
            ptx = os.path.join(directory, kernel + ".ptx")
            with open(ptx, "w") as out:
                out.write(run("java", "-cp", classpath, "dev.athanor.engine.lift.PrintKernel", kernel))
            run("ptxas", "-arch=" + target, "-o", cubin, ptx)
            ours, our_registers = instructions(cubin)[kernel], registers(cubin)[kernel]
            print(f"| {kernel} | {theirs[kernel]} | {ours} | {their_registers[kernel]} | {our_registers} |")


main()
