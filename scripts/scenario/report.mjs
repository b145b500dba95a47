const HEAD = ['figure', 'published', 'here', 'unit', 'bar', 'source', 'note'];

const number = (value) => {
  if (value === null || value === undefined) return '';
  return Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
};

function rangeText({ least, most }) {
  if (least === null) return `<= ${number(most)}`;
  return most === null ? `>= ${number(least)}` : `${number(least)} to ${number(most)}`;
}

const barText = ({ bar, pass }) => (bar ? `${rangeText(bar)} ${pass ? 'yes' : 'NO'}` : '');

/** The table *published | here* of a run. */
export function tableOf({ figures }) {
  const rows = figures.map((figure) => [
    figure.name,
    number(figure.published),
    number(figure.here),
    figure.unit,
    barText(figure),
    figure.source,
    [figure.modelled ? 'modelled' : '', figure.note].filter(Boolean).join(': '),
  ]);
  const widths = HEAD.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)));
  return [HEAD, ...rows]
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A line for each figure that misses its bar, or why the run did not complete. */
export function missesOf({ state, detail, figures }) {
  if (state !== 'completed') return [`The run ${state}${detail ? `: ${detail}` : ''}`];
  return figures
    .filter(({ pass }) => pass === false)
    .map(
      ({ name, here, unit, bar, note }) =>
        `${name}: ${number(here)} ${unit}, must be ${rangeText(bar)}${note ? ` (${note})` : ''}`,
    );
}

/** Whether the run completed and every figure is within its bar. */
export function isGood({ state, figures }) {
  return state === 'completed' && figures.every(({ pass }) => pass !== false);
}
