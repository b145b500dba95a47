import type { TextMessage, TextValue } from './text-format.js';

/** By its name, or as JSON writes it. */
const valuesOf = (of: TextMessage, name: string): readonly TextValue[] =>
  of.get(name) ?? of.get(name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())) ?? [];

/** The messages of a field, by its name. */
export const messages = (of: TextMessage, name: string): TextMessage[] =>
  valuesOf(of, name).map((value) => {
    if (typeof value === 'string' || value instanceof Uint8Array) throw new Error(`${name} is not a message`);
    return value;
  });

/** In quotes. */
export function textIn(of: TextMessage, name: string): string | undefined {
  const value = valuesOf(of, name).at(-1);
  if (value !== undefined && !(value instanceof Uint8Array)) throw new Error(`${name} is not a text in quotes`);
  return value && new TextDecoder().decode(value);
}

/** Numbers and names of enumerations, which JSON has in quotes. */
export function wordIn(of: TextMessage, name: string): string | undefined {
  const value = valuesOf(of, name).at(-1);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value !== undefined && typeof value !== 'string') throw new Error(`${name} is a message`);
  return value;
}

export function number(of: TextMessage, name: string): number {
  const text = wordIn(of, name) ?? '0';
  const value = Number(text);
  if (text === '' || !Number.isSafeInteger(value)) throw new Error(`${name} ${text} is not a number`);
  return value;
}

/** Number and name of an object. */
export function preamble(of: TextMessage): { id: number; name: string } {
  const [found] = messages(of, 'preamble');
  const name = found && textIn(found, 'name');
  if (!found || !name) throw new Error('has an object without preamble and name');
  return { id: number(found, 'id'), name };
}
