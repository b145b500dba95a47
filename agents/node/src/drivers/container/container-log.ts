import { type InstanceLog, LOG_LINE_CHARS, type LogRequest } from '@orrery/contract';
import { readable } from '../../platform/readable.js';

const LINE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z ?(.*)$/;

/** Docker's lines with their times, as told to the server. `lines` has one more than asked for if there were more. */
export function logOf(lines: readonly string[], { lines: most, after }: LogRequest): InstanceLog {
  const later = lines.map(read).filter(({ at }) => after === undefined || at === null || at > wide(after));
  const told = later.slice(-most);
  return {
    lines: told.map(({ t_ms, text }) => ({ t_ms, text })),
    next: narrow(told.findLast(({ at }) => at !== null)?.at) ?? after ?? null,
    missed: later.length > told.length,
  };
}

function read(line: string): { at: string | null; t_ms: number | null; text: string } {
  const [, second, fraction = '', text] = LINE.exec(line) ?? [];
  if (second === undefined) return { at: null, t_ms: null, text: readable(line, LOG_LINE_CHARS) };
  const seconds = Date.parse(`${second}Z`) / 1000;
  const at = wide(`${seconds}.${fraction.padEnd(9, '0')}`);
  const t_ms = seconds * 1000 + Number(`0.${fraction || '0'}`) * 1000;
  return { at, t_ms, text: readable(text ?? '', LOG_LINE_CHARS) };
}

/** With as many digits everywhere, so that a later position is also the greater text. */
const wide = (position: string): string => position.padStart(22, '0');

const narrow = (at: string | null | undefined): string | null => at?.replace(/^0+(?=\d)/, '') ?? null;
