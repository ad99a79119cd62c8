// The little Markdown that models write, as a tree of plain values. Nothing of it is ever HTML: what is not known
// stays text, and a link is one only where it leads to a web page.
import { inert } from "../words";

export type Inline =
  | { is: "text"; text: string }
  | { is: "strong" | "em"; inside: Inline[] }
  | { is: "code"; text: string }
  | { is: "link"; text: string; href: string };

export type Block =
  | { is: "paragraph"; inside: Inline[] }
  | { is: "heading"; inside: Inline[] }
  | { is: "list"; ordered: boolean; start: number; items: Inline[][] }
  | { is: "quote"; inside: Inline[] }
  | { is: "code"; text: string };

const ITEM = /^\s{0,3}(?:[-*+]|(\d{1,3})[.)])\s+(.*)$/;

/** A text cut into its blocks. */
export function blocks(text: string): Block[] {
  const found: Block[] = [];
  const lines = inert(text.replace(/\r\n?/g, "\n")).split("\n");
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) found.push({ is: "paragraph", inside: inline(paragraph.join("\n")) });
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    if (/^\s{0,3}```/.test(line)) {
      flush();
      const code: string[] = [];
      while (++at < lines.length && !/^\s{0,3}```\s*$/.test(lines[at]!)) code.push(lines[at]!);
      found.push({ is: "code", text: code.join("\n") });
      continue;
    }
    const item = ITEM.exec(line);
    const heading = /^\s{0,3}#{1,6}\s+(.*?)#*\s*$/.exec(line);
    const quote = /^\s{0,3}>\s?(.*)$/.exec(line);
    if (item) {
      flush();
      const last = found.at(-1);
      const ordered = item[1] !== undefined;
      const inside = inline(item[2]!);
      if (last?.is === "list" && last.ordered === ordered) last.items.push(inside);
      else found.push({ is: "list", ordered, start: Number(item[1] ?? 1), items: [inside] });
    } else if (heading) {
      flush();
      found.push({ is: "heading", inside: inline(heading[1]!) });
    } else if (quote) {
      flush();
      found.push({ is: "quote", inside: inline(quote[1]!) });
    } else if (line.trim() === "") {
      flush();
    } else {
      paragraph.push(line);
    }
  }
  flush();
  return found;
}

// Code, strong, emphasis, links. Each is bounded, so that no text makes it slow.
const INLINE =
  /`([^`\n]{1,400})`|\*\*([^*\n]{1,800})\*\*|(?<![\w*])\*([^*\s][^*\n]{0,400})\*(?!\w)|(?<!\w)_([^_\s][^_\n]{0,400})_(?!\w)|\[([^\]\n]{1,200})\]\(([^()\s]{1,500})\)/g;

export function inline(text: string): Inline[] {
  const found: Inline[] = [];
  const plain = (text: string) => {
    if (text) found.push({ is: "text", text });
  };
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    plain(text.slice(at, match.index));
    at = match.index + match[0].length;
    const [, code, strong, star, under, label, href] = match;
    const em = star ?? under;
    if (code !== undefined) found.push({ is: "code", text: code });
    else if (strong !== undefined) found.push({ is: "strong", inside: inline(strong) });
    else if (em !== undefined) found.push({ is: "em", inside: inline(em) });
    else if (label !== undefined && href !== undefined && isPage(href)) found.push({ is: "link", text: label, href });
    else plain(match[0]);
  }
  plain(text.slice(at));
  return found;
}

function isPage(href: string): boolean {
  try {
    const { protocol } = new URL(href);
    return protocol === "https:" || protocol === "http:";
  } catch {
    return false;
  }
}
