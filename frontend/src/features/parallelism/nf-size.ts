/** Texts of an NF's box, from the top; `name` shares its lines with an icon and a state. */
export interface NfTexts {
  readonly name: string;
  readonly kind: string;
  /** Null: it is not shown. */
  readonly place: string | null;
}

const LINE_H = 17;
/** With borders and padding. */
const FRAME = { width: 19, height: 7 };
/** Icon and state, with the gaps to the name. */
const MARKS_W = 38;
/** Of a character of 12px, in wide fonts. */
const CHARACTER_W = 7.2;
/** A longer word, with what stands beside it, is broken within. */
const LONGEST_WORD_W = 200;
/** Without and with its place: there a sparkline needs room, too. */
const WIDTHS = { plain: 152, placed: 168 } as const;

/** Size of the box that shows all of its texts, in as many lines as they need; the last line is its rate. */
export function nfSize({ name, kind, place }: NfTexts): { width: number; height: number } {
  const least = place === null ? WIDTHS.plain : WIDTHS.placed;
  const words = [...wordsOf(name).map((word) => width(word) + MARKS_W), ...wordsOf(kind).map(width)];
  const inner = Math.ceil(Math.max(least - FRAME.width, ...words.map((word) => Math.min(word, LONGEST_WORD_W))));
  const lines =
    linesIn(name, inner - MARKS_W) + linesIn(kind, inner) + (place === null ? 0 : linesIn(place, inner)) + 1;
  return { width: inner + FRAME.width, height: lines * LINE_H + FRAME.height };
}

const width = (text: string) => text.length * CHARACTER_W;

const wordsOf = (text: string) => text.split(/(?<=[\s-])/);

/** Lines that a text takes in a width, broken at spaces and hyphens, and within words that are longer. */
function linesIn(text: string, room: number): number {
  const most = Math.max(1, Math.floor(room / CHARACTER_W));
  let lines = 1;
  let used = 0;
  for (const word of wordsOf(text)) {
    const needed = word.trimEnd().length;
    if (used > 0 && used + needed > most) {
      lines++;
      used = 0;
    }
    // What a long word leaves in its last line.
    lines += Math.ceil(Math.max(1, needed) / most) - 1;
    used = needed > most ? needed % most || most : used + word.length;
  }
  return lines;
}
