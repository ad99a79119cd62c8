"""Measures the scenes that `run` played: pauses, loudness, voices, languages. Exits with 1 when something does not hold."""

import json
import re
import sys
from pathlib import Path

import numpy as np

from sound import cues, end, hold, loudness, pitch, read

stage = Path(sys.argv[1])

# In Hz: men speak below it, women above.
MAN_BELOW = 155


def width(words):
    return sum(2 if ord(sign) > 0x2E80 else 1 for sign in words)


def load(name):
    folder = stage / name
    records = [json.loads(line) for line in (folder / "played.jsonl").read_text().splitlines()]
    result = records[-1]
    clips = {r["line"]: r["clip"] for r in records if r["type"] == "clip_made"}
    narrated = {r["of"]: r["clip"] for r in records if r["type"] == "narrated"}
    failed = [r for r in records if r["type"] in ("clip_failed", "narration_failed")]
    hold(not failed, f"{name}: clips failed: {failed}")
    setup = records[0]["setup"]
    # Lines are counted from 1 in the order of the result.
    lines = [(line, clips.get(at)) for at, line in enumerate(result["lines"], 1)]
    return folder, setup, lines, narrated


def captions_hold(name, folder):
    shown = cues(folder / "mix.vtt")
    for begin, over, who, words in shown:
        free = [b for b, *_ in shown if b > begin]
        room = free[1] - begin if len(free) > 1 else 1e9
        needed = min(width(words) / 17, room)
        hold(over - begin >= needed - 0.01, f"{name}: {over - begin:.2f} s for «{words}»")
        at_once = sum(1 for b, e, *_ in shown if b <= begin < e)
        hold(at_once <= 2, f"{name}: {at_once} captions at {begin}")
        hold(who[:1] == who[:1].upper(), f"{name}: the captions call {who} so")
    named = re.findall(r"^(\S[^:\n]{0,30}): ", (folder / "mix.srt").read_text(), re.M)
    hold(len(named) == len(shown), f"{name}: a caption of the srt has no name")


def mix_holds(name, folder):
    data, rate = read(folder / "mix.wav")
    hold(np.abs(data).max() < 0.99, f"{name}: the mix is clipped")
    return np.abs(data).max(axis=1), rate


def gaps(samples, rate):
    """The silences in the mix, from where nothing is heard for 100 ms."""
    step = int(0.01 * rate)
    loud = [np.abs(samples[at : at + step]).max() > 0.004 for at in range(0, len(samples), step)]
    found, since = [], None
    for at, is_loud in enumerate(loud):
        if is_loud:
            if since is not None and at - since >= 10:
                found.append((since * 0.01, (at - since) * 0.01))
            since = None
        elif since is None:
            since = at
    return found


# The Apology: pauses, loudness, and women's and men's voices.
folder, setup, lines, _ = load("the-apology")
captions_hold("the-apology", folder)
samples, rate = mix_holds("the-apology", folder)
frames, range_lu, peak = loudness(folder / "mix.wav")
spoken = [(line, clip) for line, clip in lines if clip]
shown = cues(folder / "mix.vtt")
begins = []
for line, clip in spoken:
    # Its first caption: the words may be cut after it.
    is_its = lambda who, words: who.lower() == line["speaker"] and line["text"].startswith(words.rstrip("—")[:20])
    begins.append(next(b for b, _, who, words in shown if is_its(who, words)))
print("\nThe Apology, line by line: begins, pause before it, loudness (momentary, the highest), pitch, tone")
pauses, levels, by_speaker = [], [], {}
for at, (line, clip) in enumerate(spoken):
    over = begins[at] + clip["durationMs"] / 1000
    if at + 1 < len(spoken) and line.get("cutAfter"):
        over = begins[at + 1] + 0.2
    before = begins[at] - last if at else 0.0
    last = over
    level = max(m for t, m in frames if begins[at] + 0.4 <= t <= over + 0.05)
    levels.append(level)
    height = pitch(folder / "artifacts" / clip["path"])
    by_speaker.setdefault(line["speaker"], []).append(height)
    if at:
        pauses.append(before)
    print(f"  {line['speaker']:8} {begins[at]:7.2f} {before:6.2f} {level:7.1f} {height:6.1f} Hz  {line.get('tone', '')}")
positive = [pause for pause in pauses if pause > 0]
print(f"  pauses {min(positive):.2f} to {max(positive):.2f} s, {len({round(p, 2) for p in positive})} different of {len(positive)}; cut: {min(pauses):.2f} s")
heard = [length for at, length in gaps(samples, rate)]
print(f"  silences in the samples: {min(heard):.2f} to {max(heard):.2f} s, standard deviation {np.std(heard):.2f} s")
print(f"  loudness of the lines {min(levels):.1f} to {max(levels):.1f} LUFS (momentary): range {max(levels) - min(levels):.1f} LU; LRA {range_lu:.1f} LU; true peak {peak:.1f} dBFS")
hold(max(positive) > 3 * min(positive), "pauses are all alike")
hold(len({round(p, 2) for p in positive}) >= len(positive) // 2, "pauses hardly differ")
hold(min(pauses) < 0, "the interruption does not come at once")
hold(max(levels) - min(levels) >= 6, "the loudness range is below 6 LU")
hold(peak < 0, "the mix clips")

voices = {agent["name"]: agent["voice"] for agent in setup["cast"]["agents"]}
hold(len(set(voices.values())) == len(voices), "two share a voice")
for who, heights in by_speaker.items():
    print(f"  {who:8} {voices[who]:20} {np.median(heights):6.1f} Hz over {len(heights)} clips")
hold(all(clip["engine"] == "kokoro" for _, clip in spoken), "Kokoro does not speak The Apology")
# Their files tell of a woman and two men. Every line is heard as one, whatever its tone.
hold(min(by_speaker["alice"]) > MAN_BELOW, "Alice does not sound like a woman")
hold(max(by_speaker["bob"] + by_speaker["charlie"]) < MAN_BELOW, "Bob or Charlie does not sound like a man")

# The scenes in German and Japanese: who speaks them, and for how long.
for name, language, per_second in [("das-rezept", "de", (8, 22)), ("ame-no-eki", "ja", (3, 11))]:
    folder, setup, lines, narrated = load(name)
    captions_hold(name, folder)
    mix_holds(name, folder)
    told = (folder / "told.txt").read_text()
    print(f"\n{name}: engine, seconds, signs a second, pitch")
    all_clips = [(line["speaker"], line["text"], clip) for line, clip in lines if clip]
    for who, text, clip in all_clips:
        length = clip["durationMs"] / 1000
        signs = len(re.sub(r"\W", "", text))
        print(f"  {who:8} {clip['engine']:8} {length:5.2f} s {signs / length:5.1f}  {pitch(folder / 'artifacts' / clip['path']):6.1f} Hz  {text[:40]}")
        hold(clip["engine"] == "espeak", f"{name}: {clip['engine']} speaks")
        hold(per_second[0] <= signs / length <= per_second[1], f"{name}: {length:.2f} s for «{text}»")
    for of, clip in narrated.items():
        print(f"  Narrator {clip['engine']:8} {clip['durationMs'] / 1000:5.2f} s  {clip['voice']}, of record {of}")
    hold(told.count("does not speak") == 1, f"{name}: that another engine speaks is told {told.count('does not speak')} times")
    spoken_lines = [line for line in lines if line[0]["kind"] in ("speak", "interrupt")]
    hold(len(all_clips) == len(spoken_lines), f"{name}: not every line has a clip")
    if name == "das-rezept":
        hold(len(narrated) >= 4, "the narrator is silent")
        voices = [agent["voice"] for agent in setup["cast"]["agents"]]
        hold(setup["format"]["narrator"] not in voices, "the narrator shares a voice")

end("scenes")
