import { describe, expect, it } from 'vitest';
import { DEFAULT_OPTIONS } from '../../shared/plan/plan-choices.js';
import { areDefault, optionsOf, withOptions } from './options.js';

describe('optionsOf', () => {
  it('reads what the address says and takes the rest as by default', () => {
    const options = optionsOf(new URLSearchParams('tab=compare&strategy=first-fit&seed=7'));
    expect(options).toEqual({ ...DEFAULT_OPTIONS, strategy: 'first-fit', seed: 7 });
  });

  it('passes over what no plan can be made with', () => {
    expect(optionsOf(new URLSearchParams('strategy=best&seed=-1&scheduling_mode=wild'))).toEqual(DEFAULT_OPTIONS);
  });
});

describe('withOptions', () => {
  it('writes what differs, leaves out what does not, and keeps the rest of the address', () => {
    const search = new URLSearchParams('tab=why&chaining=random');
    const after = withOptions(search, { ...DEFAULT_OPTIONS, scheduling_mode: 'free' });
    expect(after.toString()).toBe('tab=why&scheduling_mode=free');
    expect(areDefault(optionsOf(after))).toBe(false);
    expect(areDefault(optionsOf(withOptions(after, DEFAULT_OPTIONS)))).toBe(true);
  });
});
