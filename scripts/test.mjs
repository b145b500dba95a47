import { readCommandLine, runCommand, UsageError } from './command-line.mjs';
import { isInterrupted } from './interrupt.mjs';
import { claimCheckout, setUpTasks } from './setup/main.mjs';
import { print, SetupError, step } from './setup/progress.mjs';
import { failuresIn, runStage } from './stage.mjs';
import { STAGES, TIMED_LANES } from './stages.mjs';
import { TaskGraph } from './task-graph.mjs';

const HELP = `npm test [-- --only STAGE[,STAGE]] [--limit MINUTES] [--help]

Sets up like \`npm run demo\`, then runs every test; each stage starts as soon as its parts are built.
Stages: ${STAGES.map(({ name }) => name).join(', ')}.
A stage that takes longer than the limit (60 minutes) is stopped and fails.`;

function options() {
  const config = {
    only: { type: 'string' },
    limit: { type: 'string', default: '60' },
    help: { type: 'boolean', default: false },
  };
  const { values } = readCommandLine({ options: config }, HELP);
  if (values.help) return { help: true };
  const only = values.only?.split(',') ?? STAGES.map(({ name }) => name);
  const unknown = only.filter((name) => !STAGES.some((stage) => stage.name === name));
  if (unknown.length > 0) throw new UsageError(`No such stage: ${unknown.join(', ')}.\n\n${HELP}`);
  const limitS = Number(values.limit) * 60;
  if (!(limitS > 0)) throw new UsageError(`--limit: ${values.limit} is not a number of minutes.\n\n${HELP}`);
  return { stages: STAGES.filter(({ name }) => only.includes(name)), limitS };
}

/** A stage as a task: its output is printed whole when it ends, so that concurrent stages do not mix theirs. */
function stageTask({ name, command, needs, lane = 'beside' }, limitS) {
  const run = () =>
    step(
      `Stage ${name}`,
      async () => {
        const result = await runStage({ name, command, background: !TIMED_LANES.includes(lane) }, limitS);
        print(`\n=== ${name}: ${command}\n${result.output}`);
        return result;
      },
      ({ ok }) => ok,
    );
  return { name: `stage ${name}`, needs, lane, run };
}

/** The task, telling its failure when it happens and not only at the end. */
const tellingFailure = (task) => ({
  ...task,
  run: () =>
    task.run().catch((error) => {
      if (!isInterrupted()) print(`\n${describe(error)}`);
      throw error;
    }),
});

async function main() {
  const { help, stages, limitS } = options();
  if (help) {
    console.log(HELP);
    return 0;
  }
  if (process.getuid?.() !== 0)
    throw new SetupError(
      'The tests of the twin, the agent and the browser create network namespaces: run this as root.',
    );

  const start = Date.now();
  const release = await claimCheckout();
  const parts = setUpTasks(
    'test',
    stages.flatMap(({ needs }) => needs),
  ).map(tellingFailure);
  const graph = new TaskGraph([...parts, ...stages.map((stage) => stageTask(stage, limitS))]).start();
  const outcomes = await graph.outcomes();
  await release();
  if (isInterrupted()) return 130;

  const setUpFailed = outcomes.find(({ name, ok, ran }) => !ok && ran && !name.startsWith('stage '));
  if (setUpFailed) console.error(`\n${describe(setUpFailed.error)}`);
  const rows = stages.map(({ name }) =>
    rowOf(
      name,
      outcomes.find((outcome) => outcome.name === `stage ${name}`),
    ),
  );
  console.log(`\n${rows.map(({ text }) => text).join('\n')}`);
  // Last, because of a long output often only the end is kept.
  for (const { name, ok, digest } of rows)
    if (!ok) console.log(`${name} failed:\n${digest.map((line) => `  ${line}`).join('\n')}`);
  console.log(`total ${((Date.now() - start) / 1000).toFixed(0)} s, set-up included`);
  const failed = rows.filter(({ ok }) => !ok).length;
  console.log(`stages: ${rows.length - failed} passed, ${failed} failed`);
  return failed === 0 && !setUpFailed ? 0 : 1;
}

function rowOf(name, { ok: ended, ran, value, error }) {
  if (!ran) return { name, ok: false, digest: ['its set-up failed'], text: `NOT RUN ${name}` };
  if (!ended) return { name, ok: false, digest: describe(error).split('\n'), text: `FAILED  ${name}` };
  const notes = [
    `${value.seconds.toFixed(0)} s`,
    ...(value.cpuSeconds === null ? [] : [`${value.cpuSeconds.toFixed(0)} s of CPU`]),
    ...(value.skipped > 0 ? [`${value.skipped} skipped`] : []),
    ...(value.timedOut ? ['over its time limit'] : []),
  ];
  const digest = value.ok ? [] : failuresIn(value.output);
  return { name, ok: value.ok, digest, text: `${value.ok ? 'passed ' : 'FAILED '} ${name} (${notes.join(', ')})` };
}

const describe = (error) => (error instanceof SetupError ? error.message : String(error.stack));

await runCommand(main);
