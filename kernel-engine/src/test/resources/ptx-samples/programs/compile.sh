#!/bin/sh
# Compiles the programs here with CUDA's nvcc (13.0 made the committed files): ./compile.sh
cd "$(dirname "$0")" || exit 1
for source in *.cu; do
  for target in sm_80 sm_90a; do
    nvcc -ptx -arch="$target" -o "${source%.cu}.$target.ptx" "$source" || exit 1
  done
done
