#!/usr/bin/env bash
# One run of Tonnage split over the tasks of a Slurm job, and joined at its end.
#   sbatch --ntasks=4 deploy/slurm.sh scenario.toml results/whole
# srun starts all tasks or none, so that no part of the load is missing; an array starts whatever fits. The scenario
# needs a `seed`; the folders must be on a file system that all nodes share.
#SBATCH --job-name=tonnage
#SBATCH --ntasks=2
#SBATCH --cpus-per-task=1
set -euo pipefail

scenario=${1:?which scenario?}
out=${2:?which folder for the results?}
tonnage=${TONNAGE:-tonnage}
# Slack for every task to be up and ready; one that is late is refused, and its part of the load would be missing.
lead_s=${LEAD_S:-30}

start_at=$(date --utc --date="+$lead_s seconds" +%Y-%m-%dT%H:%M:%SZ)
mkdir -p "$(dirname "$out")"
# What is told is the whole: not the summary of a shard, nor its verdict (exit codes 4 and 5).
srun --kill-on-bad-exit=0 bash -c '
  "$0" run "$1" --shard auto --start-at "$2" --out "$3.shard-$SLURM_PROCID" --quiet >/dev/null || (($? == 4 || $? == 5))
' "$tonnage" "$scenario" "$start_at" "$out"
"$tonnage" merge "$out".shard-* --out "$out"
