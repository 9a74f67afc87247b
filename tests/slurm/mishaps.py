"""What a job does: write its output, perhaps after a mishap."""

import time
from pathlib import Path

what, attempt = snakemake.wildcards.what, snakemake.params.attempt
with Path(snakemake.log[0]).open("a", encoding="utf-8") as log:
    print(f"attempt {attempt}", file=log, flush=True)
    match what:
        case "slow":
            Path(snakemake.output[0]).write_text("the first half\n", encoding="utf-8")
            time.sleep(30)
        case "failing":
            Path(snakemake.output[0]).write_text("half of it\n", encoding="utf-8")
            print("the disk of the moon is full", file=log, flush=True)
            raise SystemExit(3)
        case "greedy":  # too much for the first attempt; SLURM looks every second
            held = bytearray(700 * 2**20)
            held[::4096] = b"x" * len(held[::4096])
            time.sleep(6)
        case "endless":  # until it is stopped, however late that is
            while True:
                time.sleep(60)
Path(snakemake.output[0]).write_text(f"{what} at attempt {attempt}\n", encoding="utf-8")
