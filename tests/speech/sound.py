"""What can be measured of a clip or a mix, and what has to hold of it. For `measure.py` and `scenes.py`."""

import re
import subprocess
import sys
import wave

import numpy as np

failures = []


def hold(is_so, what):
    """Notes a failure; all are told at the end."""
    if not is_so:
        failures.append(what)


def end(name):
    """Tells what does not hold, and exits with 1 if anything does not."""
    print()
    for failure in failures:
        print("FAILED:", failure)
    print(f"{name}: " + ("failed" if failures else "all holds"))
    sys.exit(1 if failures else 0)


def read(path):
    """The samples of a WAV, a column for each channel, and their rate."""
    with wave.open(str(path)) as clip:
        assert clip.getsampwidth() == 2, path
        data = np.frombuffer(clip.readframes(clip.getnframes()), dtype="<i2").astype(float) / 32768
        return data.reshape(-1, clip.getnchannels()), clip.getframerate()


def pitch(path):
    """The fundamental frequency: the median over voiced frames of the strongest period between 60 and 400 Hz."""
    data, rate = read(path)
    samples, size, pitches = data.mean(axis=1), int(0.04 * rate), []
    for start in range(0, len(samples) - size, size // 2):
        frame = samples[start : start + size]
        if np.sqrt((frame**2).mean()) < 0.02:
            continue
        frame = frame - frame.mean()
        auto = np.correlate(frame, frame, "full")[size - 1 :]
        low, high = int(rate / 400), int(rate / 60)
        peak = low + int(np.argmax(auto[low:high]))
        if auto[peak] > 0.45 * auto[0]:
            pitches.append(rate / peak)
    return float(np.median(pitches)) if pitches else 0.0


def loudness(path):
    """Momentary loudness (EBU R128, 400 ms) at every 100 ms; the loudness range and the true peak of the file."""
    told = subprocess.run(
        ["ffmpeg", "-nostdin", "-hide_banner", "-i", path, "-af", "ebur128=peak=true:framelog=info", "-f", "null", "-"],
        capture_output=True, text=True, check=True,
    ).stderr
    times = [(float(t), float(m)) for t, m in re.findall(r"t: *([\d.]+) .*?M: *(-?[\d.]+|nan)", told) if m != "nan"]
    range_lu = float(re.findall(r"LRA: *([\d.]+) LU", told)[-1])
    peak = float(re.findall(r"Peak: *(-?[\d.]+) dBFS", told)[-1])
    return times, range_lu, peak


def seconds(stamp):
    hours, minutes, rest = stamp.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest.replace(",", "."))


def cues(path):
    """Beginning, end, name and words of every caption."""
    found = re.findall(r"(\S+) --> (\S+)\n<v ([^>]*)>(.*)\n", path.read_text())
    return [(seconds(begin), seconds(end), name, words) for begin, end, name, words in found]
