import { renameSync, writeFileSync } from 'node:fs';
import { readCommandLine, runCommand, UsageError } from './command-line.mjs';
import { onInterrupt } from './interrupt.mjs';
import { Bench } from './matrix/bench.mjs';
import { runCase } from './matrix/case.mjs';
import { choose, SELECTION } from './matrix/cases.mjs';
import { seconds } from './matrix/judge.mjs';
import { setUp } from './setup/main.mjs';
import { print } from './setup/progress.mjs';

const HELP = `npm run matrix -- [--seed N] [--only TEXT] [--cases N] [--selection] [--list] [--json FILE] [--no-set-up]

Starts a twin with traffic and makes things go wrong: each part x each phase of a change x kill, freeze for 8 s, drift.
After each case: nothing acknowledged is lost, API, engines and switch agree, packets flow, and meanwhile no chain that
carried nothing was called running.

  --seed N      order of the cases, and when the fault strikes (default: today's date)
  --only TEXT   cases whose name contains the text, such as "switch", "deploy x" or "freeze"
  --cases N     stop after so many
  --selection   a few cases, about a minute (also a stage of npm test)
  --list        print the names of the cases
  --json FILE   write one object a case
  --no-set-up   the checkout is set up, as in npm test`;

function options() {
  const config = {
    seed: { type: 'string', default: new Date().toISOString().slice(0, 10).replaceAll('-', '') },
    only: { type: 'string', default: '' },
    cases: { type: 'string', default: '0' },
    selection: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    json: { type: 'string' },
    'no-set-up': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  };
  const { values } = readCommandLine({ options: config }, HELP);
  const [seed, count] = ['seed', 'cases'].map((name) => {
    if (!/^\d{1,9}$/.test(values[name])) throw new UsageError(`--${name}: ${values[name]} is not a number.\n\n${HELP}`);
    return Number(values[name]);
  });
  return { ...values, isSetUp: values['no-set-up'], seed, count };
}

async function main() {
  const { seed, only, count, selection, list, json, help, isSetUp } = options();
  if (help) {
    console.log(HELP);
    return 0;
  }
  const chosen = choose(seed, selection ? SELECTION : null, only);
  const cases = count > 0 ? chosen.slice(0, count) : chosen;
  if (cases.length === 0) throw new UsageError(`No case is called like "${only}".\n\n${HELP}`);
  if (list) {
    for (const { name } of cases) console.log(name);
    return 0;
  }
  if (!isSetUp) await setUp('twin');
  const needs = new Set(cases.flatMap(({ part, phase }) => [part.needs, phase.needs]).filter(Boolean));
  let bench = new Bench(needs);
  onInterrupt(() => bench.stop());
  const results = [];
  try {
    await bench.start();
    for (const [index, one] of cases.entries()) {
      const failed = (error) => ({ outage_ms: 0, recovery_ms: null, broken: [error.message] });
      const result = await runCase(bench, one).catch(failed);
      results.push({ name: one.name, delay_ms: one.delay_ms, ...result });
      print(row(`${index + 1} of ${cases.length}`, results.at(-1)));
      if (result.broken.length === 0 || index + 1 === cases.length) continue;
      // What one case broke must not be blamed on the next.
      await bench.stop();
      renameSync(bench.stack.logFile, `${bench.stack.logFile}.${one.name.replaceAll(/[^a-z0-9]+/g, '-')}`);
      bench = new Bench(needs);
      await bench.start();
    }
  } finally {
    await bench.stop();
    if (json) writeFileSync(json, results.map((result) => `${JSON.stringify(result)}\n`).join(''));
  }
  console.log(`\n${table(results).join('\n')}`);
  const failed = results.filter(({ broken }) => broken.length > 0);
  console.log(`\nseed ${seed}: ${results.length} cases, ${failed.length} broke a promise`);
  for (const { name, broken } of failed) console.log(`  ${name}\n${broken.map((what) => `    ${what}`).join('\n')}`);
  return failed.length === 0 ? 0 : 1;
}

/** By part and fault over all phases: cases, the longest outage, and the longest time from the fault's end until all was well. */
function table(results) {
  const whatOf = ({ name }) => name.slice(0, name.indexOf(' x '));
  const longest = (all, key) => seconds(Math.max(...all.map((result) => result[key] ?? Number.POSITIVE_INFINITY)));
  const lines = [...new Set(results.map(whatOf))].sort().map((what) => {
    const all = results.filter((result) => whatOf(result) === what);
    return `| ${what} | ${all.length} | ${longest(all, 'outage_ms')} | ${longest(all, 'recovery_ms')} |`;
  });
  return ['| fault | cases | longest outage | well after |', '|---|---|---|---|', ...lines];
}

function row(at, { name, delay_ms, outage_ms, recovery_ms, broken }) {
  const times = `outage ${seconds(outage_ms)}, well after ${recovery_ms === null ? 'never' : seconds(recovery_ms)}`;
  return `${broken.length === 0 ? '✓' : '✗'} ${at} ${name} (after ${delay_ms} ms): ${times}${broken.map((what) => `\n    ${what}`).join('')}`;
}

await runCommand(main);
