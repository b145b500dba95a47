import { expect, it } from 'vitest';
import { commandOf, figuresCsv, plotCsv } from './report-files.js';

it('gives the command that repeats a run, quoted for a shell', () => {
  const parameters = { limit_bps: 4e6, loads: 'partial and full', fast: true, who: "it's" };
  expect(commandOf({ scenario_id: 'swap', parameters })).toBe(
    `npm run scenario -- swap --set limit_bps=4000000 --set 'loads=partial and full' --set fast=true --set 'who=it'\\''s'`,
  );
  expect(commandOf({ scenario_id: 'swap', parameters: {} })).toBe('npm run scenario -- swap');
});

it('writes figures with their bars, and nothing where there is none', () => {
  const figure = { name: 'a, b', unit: 's', published: null, here: 2, source: '', modelled: true, note: '' };
  const csv = figuresCsv({
    figures: [
      { ...figure, bar: { least: 1, most: null }, pass: true },
      { ...figure, bar: null, pass: null },
    ],
  });
  expect(csv.split('\r\n').slice(1)).toEqual(['"a, b",s,,2,,true,1,,true,', '"a, b",s,,2,,true,,,,']);
});

it('writes every point of a plot', () => {
  const points: [number, number][] = [
    [0, 1],
    [1, 2],
  ];
  const series = [{ name: 'here', published: false, modelled: false, points }];
  const axes = { x: { label: 'time', unit: 's' }, y: { label: 'ratio', unit: '' } };
  expect(plotCsv({ title: 't', source: '', ...axes, series }).split('\r\n')).toEqual([
    'series,from,time (s),ratio',
    'here,here,0,1',
    'here,here,1,2',
  ]);
});
