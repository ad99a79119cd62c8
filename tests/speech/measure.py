"""Measures the clips that `run` made: pitch, length, level, words. Exits with 1 when something does not hold."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from pocketsphinx import Decoder

from sound import end, hold, pitch, read

folder, sentence = Path(sys.argv[1]), sys.argv[2]


def heard_words(path):
    raw = subprocess.run(
        ["sox", str(path), "-t", "raw", "-r", "16000", "-e", "signed", "-b", "16", "-c", "1", "-"],
        capture_output=True,
        check=True,
    ).stdout
    decoder = Decoder(samprate=16000, loglevel="FATAL")
    decoder.start_utt()
    decoder.process_raw(raw, full_utt=True)
    decoder.end_utt()
    return decoder.hyp().hypstr.split() if decoder.hyp() else []


def share_heard(heard):
    """The share of the sentence's words that were heard in their order."""
    wanted = re.findall(r"[a-z']+", sentence.lower())
    table = np.zeros((len(wanted) + 1, len(heard) + 1), dtype=int)
    for i, word in enumerate(wanted):
        for j, other in enumerate(heard):
            table[i + 1, j + 1] = table[i, j] + 1 if word == other else max(table[i, j + 1], table[i + 1, j])
    return table[-1, -1] / len(wanted)


for engine in ["espeak", "kokoro"]:
    print(f"\n{engine}: profile, pitch Hz, length s, peak, LUFS, seconds per second, processor seconds per second, memory MB, words heard")
    clips = [json.loads(line) for line in (folder / f"{engine}.jsonl").read_text().splitlines()]
    measured, shares = [], []
    for clip in clips:
        samples, rate = read(clip["path"])
        name, length, peak = clip["profile"], len(samples) / rate, float(np.abs(samples).max())
        height = pitch(clip["path"])
        share = share_heard(heard_words(clip["path"]))
        shares.append(share)
        measured.append((name, height, length))
        print(
            f"  {name:20} {height:6.1f} {length:6.2f} {peak:5.2f} {clip['loudness_lufs']:6.1f}"
            f" {clip['real_time_factor']:6.3f} {clip['cpu_factor']:6.3f} {clip['peak_memory_mb']:5} {share:6.0%}"
        )
        hold(abs(length * 1000 - clip["duration_ms"]) <= 1, f"{name}: the told length is not the clip's")
        hold(np.sqrt((samples**2).mean()) > 0.01, f"{name} is silent")
        hold(peak < 0.95 and (np.abs(samples) > 0.99).sum() == 0, f"{name} is clipped")
        hold(abs(clip["loudness_lufs"] + 20) < 1, f"{name} is not as loud as the others")
        hold(height > 0, f"{name} has no pitch")
    hold(len(measured) >= 8, "there are fewer than eight profiles")
    closest = min(
        (max(abs(a[1] - b[1]) / min(a[1], b[1]), abs(a[2] - b[2]) / min(a[2], b[2])), a[0], b[0])
        for at, a in enumerate(measured)
        for b in measured[:at]
    )
    print(f"  closest two: {closest[1]} and {closest[2]}, {closest[0]:.1%} apart in pitch or length")
    hold(closest[0] > 0.03, f"{closest[1]} and {closest[2]} are hardly different")
    factors = [clip["real_time_factor"] for clip in clips[1:]]
    cpu = np.median([clip["cpu_factor"] for clip in clips[1:]])
    print(f"  real-time factor {np.median(factors):.3f}, processor {cpu:.3f} (medians, after the first clip)")
    print(f"  words heard: best {max(shares):.0%}, median {np.median(shares):.0%}")
    if engine == "kokoro":
        hold(max(shares) >= 0.8, "the recogniser does not read the best clip back")
        hold(np.median(shares) >= 0.6, "the recogniser does not read most clips back")

    told = (folder / f"{engine}-mix.txt").read_text()
    last = max(re.findall(r"--> 00:(\d\d):(\d\d\.\d\d\d)", told))
    over = int(last[0]) * 60 + float(last[1])
    samples, rate = read(folder / "clips" / f"{engine}-mix.wav")
    length = len(samples) / rate
    print(f"  mix: {length:.3f} s, captions end at {over:.3f} s")
    # The last caption stands until it can be read, and words may be spoken faster.
    hold(-0.05 < over - length < 1.2, "mix and captions differ in length")
    for ending in ["mp3", "opus"]:
        probe = subprocess.run(
            ["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", folder / "clips" / f"{engine}-mix.{ending}"],
            capture_output=True,
            check=True,
            text=True,
        )
        hold(abs(float(probe.stdout) - length) < 0.15, f"the {ending} has another length")

end("speech")
