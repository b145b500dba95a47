import { cpus } from 'node:os';
import { bench as boards } from './bench/boards.mjs';
import { bench as containers } from './bench/containers.mjs';
import { bench as dataplane } from './bench/dataplane.mjs';
import { bench as deploy } from './bench/deploy.mjs';
import { bench as fabric } from './bench/fabric.mjs';
import { bench as loops } from './bench/loops.mjs';
import { bench as migration } from './bench/migration.mjs';
import { bench as native } from './bench/native.mjs';
import { bench as planner } from './bench/planner.mjs';
import { bench as twin } from './bench/twin.mjs';
import { readCommandLine, runCommand, UsageError } from './command-line.mjs';
import { setUp } from './setup/main.mjs';
import { SetupError } from './setup/progress.mjs';

/** All except those with `twin: false` run the twin or reserve memory, which needs root. */
const BENCHES = { planner, dataplane, migration, native, containers, boards, deploy, twin, fabric, loops };

const HELP = `npm run bench -- NAME [--json]

${Object.entries(BENCHES)
  .map(([name, { title }]) => `  ${name.padEnd(10)} ${title}`)
  .join('\n')}
  all        all of them

Prints a table, or with --json one object per figure: {name, value, unit, better, bar, baseline, ratio, pass}.`;

/** Derives the remaining fields of a figure: the ratio to the baseline and, unless it is known already, whether the bar is met. */
function complete({ name, value, unit, better, bar = null, baseline = null, pass }) {
  const ratio = baseline && value !== null ? value / baseline : null;
  return {
    name,
    value,
    unit,
    better,
    bar,
    baseline,
    ratio,
    pass: pass === undefined ? meets(value, better, bar) : pass,
  };
}

function meets(value, better, bar) {
  if (bar === null) return null;
  if (value === null) return false;
  return better === 'lower' ? value <= bar : value >= bar;
}

const number = (value) => (value === null ? '' : value >= 100 ? value.toFixed(0) : value.toPrecision(3));

function table(figures) {
  const head = ['figure', 'value', 'unit', 'better', 'bar', 'baseline', 'ratio', 'pass'];
  const rows = figures.map((f) => [
    f.name,
    number(f.value),
    f.unit,
    f.better ?? '',
    number(f.bar),
    number(f.baseline),
    number(f.ratio),
    f.pass === null ? '' : f.pass ? 'yes' : 'NO',
  ]);
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

async function main() {
  const options = { json: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } };
  const { values, positionals } = readCommandLine({ allowPositionals: true, options }, HELP);
  const [name, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`One benchmark at a time, or all: ${positionals.join(' ')}\n\n${HELP}`);
  if (values.help || !name) {
    console.log(HELP);
    return values.help ? 0 : 2;
  }
  if (name !== 'all' && !BENCHES[name]) throw new UsageError(`No such benchmark: ${name}.\n\n${HELP}`);
  const chosen = name === 'all' ? Object.values(BENCHES) : [BENCHES[name]];
  const needsTwin = chosen.some((bench) => bench.twin !== false);
  if (needsTwin && process.getuid?.() !== 0)
    throw new SetupError('This benchmark runs the twin or reserves memory, which needs root.');
  await setUp(needsTwin ? 'bench' : 'planning');
  const figures = [];
  for (const { run } of chosen) {
    for (const figure of await run()) figures.push(complete(figure));
  }
  if (values.json) for (const figure of figures) console.log(JSON.stringify(figure));
  else
    console.log(
      `\n${new Date().toISOString().slice(0, 10)}, ${cpus().length} x ${cpus()[0].model}\n\n${table(figures)}`,
    );
  return figures.some((figure) => figure.pass === false) ? 1 : 0;
}

await runCommand(main);
