import type { ScenarioFigure } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { barText, figureText, judgementOf, missedText, originText, ratioText } from './figure-text.js';

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

  it('that miss their bars, and those that were not measured, are told of a run that completed', () => {
    const bar = { least: 1, most: null };
    const of = (here: number | null, pass: boolean | null) => ({ here, pass, bar }) as ScenarioFigure;
    const free = { ...of(1, null), bar: null };
    const told = (...figures: ScenarioFigure[]) => missedText({ state: 'completed', figures });
    expect(told(of(2, true), free)).toBeNull();
    expect(told(of(2, true), of(0, false), free)).toBe('1 of 2 bars missed');
    expect(told(of(0, false), of(null, false))).toBe('1 of 2 bars missed, 1 not measured');
    expect(told(of(null, false))).toBe('1 of 1 bar not measured');
    expect(missedText({ state: 'failed', figures: [of(0, false)] })).toBeNull();
    expect([of(2, true), of(0, false), of(null, false)].map(judgementOf)).toEqual(['met', 'violated', 'not measured']);
  });
});
