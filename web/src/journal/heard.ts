// What is heard of a line: up to the words after which somebody came in. It mirrors the core's `text/cut.rs`: a test
// compares the two.

/** A line as far as it was heard: one that somebody came into ends there with a dash. */
export function heard({ text, cut }: { text: string; cut?: { after: string } }): string {
  const end = cut && cutAfter(text, cut.after);
  return end === undefined ? text : `${text.slice(0, end).replace(NO_WORD_AT_THE_END, "")}—`;
}

/** What is heard of a text in any case: its first word, and the sign that it goes on. */
export function beginning(text: string): string {
  const [first, second] = words(text);
  return first && second ? `${text.slice(0, first.end)} …` : text;
}

/** Whether somebody could come into it. */
export function hasRest(text: string): boolean {
  return words(text).length > 1;
}

/** Where an interruption cuts a line: after the first place that has the phrase. Only the words count. */
function cutAfter(line: string, phrase: string): number | undefined {
  const wanted = words(phrase);
  const said = words(line);
  if (wanted.length === 0) return undefined;
  const at = said.findIndex((_, from) => wanted.every(({ plain }, place) => said[from + place]?.plain === plain));
  return at < 0 ? undefined : said[at + wanted.length - 1]?.end;
}

interface Word {
  /** In small letters. */
  plain: string;
  end: number;
}

function words(text: string): Word[] {
  const words: Word[] = [];
  let isOpen = false;
  let at = 0;
  for (const c of text) {
    const end = (at += c.length);
    const last = isOpen ? words.at(-1) : undefined;
    if (LETTER.test(c)) {
      const alone = ALONE.test(c);
      if (last && !alone) {
        last.plain += c.toLowerCase();
        last.end = end;
      } else {
        words.push({ plain: c.toLowerCase(), end });
      }
      isOpen = !alone;
    } else if (MARK.test(c)) {
      // It belongs to the letter before it.
      if (last) {
        last.plain += c;
        last.end = end;
      }
    } else {
      // An apostrophe neither ends a word nor is part of it.
      isOpen &&= JOINS.test(c);
    }
  }
  return words;
}

const LETTER = /[\p{Alphabetic}\p{N}]/u;
const NO_WORD_AT_THE_END = /[^\p{Alphabetic}\p{N}]+$/u;
const JOINS = /['’ʼ\u00ad\u200b-\u200d]/;
/** Accents and vowel signs that combine with the letter before them and are no letters themselves. */
const MARK = /[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff\ufe00-\ufe0f]/;
/** Signs of scripts that are written without spaces between words. */
const ALONE =
  /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]/u;
