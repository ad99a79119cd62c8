// Where the dots stand and how the arcs between them run. Over several columns the dots stand as the cards below them
// do, row by row; over one column they stand in a single row, with the arcs above.

export interface Point {
  x: number;
  y: number;
}

export interface Layout {
  height: number;
  points: Point[];
  columns: number;
  isRow: boolean;
}

export interface Arc {
  path: string;
  /** The head of the arrow, at the edge of the dot that it is to. */
  head: string;
}

/** The radius of a dot. */
export const DOT = 10;
const BOW = 26;
const ROW = 52;
const EDGE = DOT + BOW + 4;

/** How many cards stand beside each other. */
export function columnsFor(slots: number, width: number): number {
  if (width < 640 || slots < 2) return 1;
  if (width < 1000 || slots === 4) return 2;
  return Math.min(slots, 3);
}

export function layout(slots: number, columns: number, width: number): Layout {
  if (columns === 1 || slots <= columns) {
    const height = slots < 2 ? 2 * DOT + 8 : 92;
    const points = Array.from({ length: slots }, (_, at) => ({ x: ((at + 0.5) / slots) * width, y: height - DOT - 4 }));
    return { height, points, columns, isRow: true };
  }
  const rows = Math.ceil(slots / columns);
  const points = Array.from({ length: slots }, (_, at) => ({
    x: (((at % columns) + 0.5) / columns) * width,
    y: EDGE + Math.floor(at / columns) * ROW,
  }));
  return { height: 2 * EDGE + (rows - 1) * ROW, points, columns, isRow: false };
}

export function arc({ points, columns, isRow }: Layout, from: number, to: number): Arc {
  const [start, end] = [points[from]!, points[to]!];
  const control = isRow
    ? above(start, end, Math.abs(to - from), from > to)
    : beside(start, end, Math.abs((to % columns) - (from % columns)));
  const begin = towards(start, control, DOT + 1);
  const tip = towards(end, control, DOT + 2);
  const back = towards(end, control, DOT + 9);
  const [dx, dy] = [(tip.y - back.y) * 0.42, (back.x - tip.x) * 0.42];
  return {
    path: `M${at(begin)}Q${at(control)} ${at(back)}`,
    head: `${at(tip)} ${at({ x: back.x + dx, y: back.y + dy })} ${at({ x: back.x - dx, y: back.y - dy })}`,
  };
}

/** Higher the farther apart they are; the way back runs a little above the way there. */
function above(start: Point, end: Point, steps: number, isBack: boolean): Point {
  const height = Math.min(24 + steps * 22, 112) + (isBack ? 14 : 0);
  return { x: (start.x + end.x) / 2, y: Math.max(start.y - height, -50) };
}

/** To the left of the way, so that the way back is another. */
function beside(start: Point, end: Point, columnsApart: number): Point {
  const [dx, dy] = [end.x - start.x, end.y - start.y];
  const length = Math.hypot(dx, dy) || 1;
  // Across a row and over a column it runs between the dots that are in between, and has little room there.
  const isNarrow = columnsApart > 1 && dy !== 0;
  const bow = 2 * (isNarrow ? 5 : Math.min(Math.max(10 + length * 0.03, dy !== 0 && dx === 0 ? 18 : 0), BOW));
  return { x: (start.x + end.x) / 2 + (dy / length) * bow, y: (start.y + end.y) / 2 - (dx / length) * bow };
}

function towards(from: Point, to: Point, distance: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  return { x: from.x + ((to.x - from.x) / length) * distance, y: from.y + ((to.y - from.y) / length) * distance };
}

const at = ({ x, y }: Point) => `${x.toFixed(1)} ${y.toFixed(1)}`;
