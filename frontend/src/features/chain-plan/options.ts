import type { PlanOptions } from '@orrery/contract';
import { DEFAULT_OPTIONS, DIMENSIONS, MODES } from '../../shared/plan/plan-choices.js';

const NAMES = Object.keys(DEFAULT_OPTIONS) as (keyof PlanOptions)[];

function isLegal(name: keyof PlanOptions, value: string): boolean {
  if (name === 'seed') return /^\d{1,9}$/.test(value);
  const choices = name === 'scheduling_mode' ? MODES : DIMENSIONS[name].choices;
  return choices.some((choice) => choice.value === value);
}

/** The options in a URL; missing or invalid ones have their defaults. */
export function optionsOf(search: URLSearchParams): PlanOptions {
  const asked = NAMES.flatMap((name) => {
    const value = search.get(name);
    return value !== null && isLegal(name, value) ? [[name, name === 'seed' ? Number(value) : value]] : [];
  });
  return { ...DEFAULT_OPTIONS, ...Object.fromEntries(asked) };
}

/** The URL with other options; defaults are omitted. */
export function withOptions(search: URLSearchParams, options: PlanOptions): URLSearchParams {
  const after = new URLSearchParams(search);
  for (const name of NAMES) {
    if (options[name] === DEFAULT_OPTIONS[name]) after.delete(name);
    else after.set(name, String(options[name]));
  }
  return after;
}

export function areDefault(options: PlanOptions): boolean {
  return NAMES.every((name) => options[name] === DEFAULT_OPTIONS[name]);
}
