const HEAD = ['figure', 'published', 'here', 'unit', 'bar', 'source', 'note'];

const number = (value) => {
  if (value === null || value === undefined) return '';
  return Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
};

function barText({ bar, pass }) {
  if (!bar) return '';
  const { least, most } = bar;
  const range =
    least === null
      ? `<= ${number(most)}`
      : most === null
        ? `>= ${number(least)}`
        : `${number(least)} to ${number(most)}`;
  return `${range} ${pass ? 'yes' : 'NO'}`;
}

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

/** Whether the run completed and every figure is within its bar. */
export function isGood({ state, figures }) {
  return state === 'completed' && figures.every(({ pass }) => pass !== false);
}
