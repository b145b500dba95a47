import type { ScenarioPlot, ScenarioReport } from '@orrery/contract';
import { toCsv } from '../../shared/files/csv.js';

/** The command that runs the scenario again with the same parameters. */
export function commandOf({ scenario_id, parameters }: Pick<ScenarioReport, 'scenario_id' | 'parameters'>): string {
  const settings = Object.entries(parameters).map(([key, value]) => `--set ${quoted(`${key}=${value}`)}`);
  return ['npm run scenario --', scenario_id, ...settings].join(' ');
}

/** Quoted for a shell. */
function quoted(text: string): string {
  return /^[\w=.,:/+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function figuresCsv({ figures }: Pick<ScenarioReport, 'figures'>): string {
  const head = ['figure', 'unit', 'published', 'here', 'source', 'modelled', 'least', 'most', 'pass', 'note'];
  const rows = figures.map(({ name, unit, published, here, source, modelled, bar, pass, note }) => [
    name,
    unit,
    published,
    here,
    source,
    String(modelled),
    bar?.least ?? null,
    bar?.most ?? null,
    pass === null ? null : String(pass),
    note,
  ]);
  return toCsv(head, rows);
}

/** One row per point of each series. */
export function plotCsv({ x, y, series }: ScenarioPlot): string {
  const name = ({ label, unit }: ScenarioPlot['x']) => (unit ? `${label} (${unit})` : label);
  const rows = series.flatMap(({ name, published, points }) =>
    points.map(([at, value]) => [name, published ? 'published' : 'here', at, value]),
  );
  return toCsv(['series', 'from', name(x), name(y)], rows);
}
