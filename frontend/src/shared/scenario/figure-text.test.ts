import { describe, expect, it } from 'vitest';
import { barText, figureText, originText, ratioText } from './figure-text.js';

describe('figures of a run', () => {
  it.each([
    [2.5, 's', '2.5 s'],
    [0.2613, 'ms', '0.261 ms'],
    [898, 'Mbit/s', '898 Mbit/s'],
    [null, 's', '–'],
    [0, '', '0'],
    [1, 'ratio', '1'],
    [4, 'count', '4'],
  ])('tells %s %s as %s', (value, unit, text) => expect(figureText(value, unit)).toBe(text));

  it.each([
    [898, 901, '1×'],
    [898, 3.1, '< 0.01×'],
    [2.5, 2.75, '1.1×'],
    [null, 3, '–'],
    [0, 3, '–'],
    [5, 0, '0×'],
  ])('of %s published and %s here is %s', (published, here, text) => expect(ratioText({ published, here })).toBe(text));

  it.each([
    [null, ''],
    [{ least: null, most: 7 }, 'at most 7 s'],
    [{ least: 2, most: null }, 'at least 2 s'],
    [{ least: 0.9, most: 1.1 }, '0.9 to 1.1 s'],
    [{ least: 2, most: 2 }, '2 s'],
    [{ least: 0, most: 0 }, '0 s'],
  ])('with the bar %j must be %s', (bar, text) => expect(barText({ bar, unit: 's' })).toBe(text));

  it('say what is modelled', () => {
    expect(originText({ modelled: false, note: '', here: 1 })).toBe('measured');
    expect(originText({ modelled: true, note: 'the load', here: 1 })).toBe('modelled: the load');
    expect(originText({ modelled: false, note: 'the load', here: null })).toBe('not measured: the load');
  });
});
