/** Control characters, and those that change the direction of text, with which a program could write over what others say. */
const UNFIT = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

/** Words of a program, fit to be shown beside ours in one line. */
export function readable(text: string, most_chars: number): string {
  return text.replace(UNFIT, ' ').trim().slice(0, most_chars);
}
