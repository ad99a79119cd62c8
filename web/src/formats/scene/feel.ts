// One word for a mood, and one for what is between two: the same words as in the core (`mood.rs`, `relations.rs`).

export interface Mood {
  /** From unpleasant to pleasant, -1000 to 1000. */
  valence: number;
  /** From still to stirred, 0 to 1000. */
  arousal: number;
}

export function moodWord({ valence, arousal }: Mood): string {
  if (valence <= -400) return arousal >= 600 ? "angry" : arousal >= 350 ? "upset" : "sad";
  if (valence <= -150) return arousal >= 330 ? "tense" : "low";
  if (valence < 150) return arousal >= 500 ? "agitated" : arousal >= 200 ? "alert" : "neutral";
  if (valence < 400) return arousal >= 450 ? "lively" : "calm";
  return arousal >= 550 ? "elated" : "warm";
}

/** What is between two, from -100 to 100. */
export function relationWord(value: number): string {
  if (value <= -60) return "hostile";
  if (value <= -20) return "strained";
  if (value < 20) return "even";
  return value < 60 ? "warm" : "close";
}

/** A change or a value with its sign, as it is printed. */
export function signed(value: number): string {
  return value < 0 ? `−${-value}` : value > 0 ? `+${value}` : "0";
}
