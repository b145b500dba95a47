import { ApiError } from './client.mjs';
import { runCommand, UsageError } from './command-line.mjs';
import { isInterrupted } from './interrupt.mjs';
import { readArguments, readParameters } from './scenario/arguments.mjs';
import { runScenario } from './scenario/follow.mjs';
import { isGood, missesOf, tableOf } from './scenario/report.mjs';
import { targetAt } from './scenario/target.mjs';
import { SetupError, step } from './setup/progress.mjs';

const HELP = `npm run scenario -- NAME [--set key=value]... [--json] [--url URL]
npm run scenario -- --list [--json]

Runs a scenario on the Orrery at URL or on this machine or, if none is running, on one of its own that is stopped afterwards.

  --set key=value   a parameter, can be repeated; --list shows the parameters
  --json            print the report as one JSON object instead of a table
  --list            print the scenarios and their parameters
  --url URL         a running server; its secret is read from ORRERY_SECRET
  --help            this text

Exit status: 0 every figure is within its bar, 1 the run failed or a figure is not, 2 the command line is invalid.`;

/** Its title, unit, values and what else the schema says of a parameter. */
function wordsOf({ title = '', unit, enum: values, description }) {
  const what = unit ? `${title} (${unit})` : title;
  return [what, values?.join(', '), description].filter(Boolean).join('; ');
}

function describe({ id, title, source, duration_s, role, needs, parameters }) {
  const lines = Object.entries(parameters.properties ?? {}).map(
    ([key, schema]) => `    --set ${`${key}=${schema.default}`.padEnd(32)} ${wordsOf(schema)}`,
  );
  const from = source ? ` (${source})` : '';
  return [
    `${id}: ${title}${from}, about ${duration_s} s`,
    `    needs ${[`the role ${role}`, ...needs].join('; ')}`,
    ...lines,
  ].join('\n');
}

async function runOn(target, { name, set, json }) {
  const { items } = await target.api('GET', '/scenarios?limit=1000');
  const scenario = items.find(({ id }) => id === name);
  if (!scenario) throw new UsageError(`No scenario ${name}; known scenarios: ${items.map(({ id }) => id).join(', ')}.`);
  const parameters = readParameters(set, scenario.parameters);
  await target.prepare();
  const report = await step(scenario.title, () => runScenario(target, name, parameters), isGood);
  const good = isGood(report);
  if (json) console.log(JSON.stringify({ ok: good, ...report }));
  else console.log(`\n${tableOf(report)}\n`);
  for (const miss of missesOf(report)) console.error(miss);
  return good ? 0 : 1;
}

async function list(target, { json }) {
  const { items } = await target.api('GET', '/scenarios?limit=1000');
  console.log(json ? JSON.stringify(items) : items.map(describe).join('\n\n'));
  return 0;
}

async function main() {
  const options = readArguments(process.argv.slice(2));
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  const target = await targetAt(options.url, { twin: !options.list });
  try {
    return await (options.list ? list(target, options) : runOn(target, options));
  } finally {
    if (!isInterrupted()) await target.stop();
  }
}

/** A refused parameter is the caller's fault; any other refusal is a failure of the run. */
function asUsage(error) {
  if (error instanceof UsageError) throw new UsageError(`${error.message}\n\n${HELP}`);
  if (error instanceof ApiError)
    throw error.status === 422 ? new UsageError(error.message) : new SetupError(error.message);
  throw error;
}

await runCommand(() => main().catch(asUsage));
