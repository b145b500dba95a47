import { parseArgs } from 'node:util';
import { setUp } from './setup/main.mjs';
import { ROOT, VENV } from './setup/paths.mjs';
import { SetupError } from './setup/progress.mjs';
import { runStage } from './stage.mjs';

const BIN = `${ROOT}/node_modules/.bin`;

/** In the order of running: the cheap and telling first. Each is one command line that prints its own result. */
const STAGES = [
  ['format', `${BIN}/biome ci --error-on-warnings .`],
  [
    'imports',
    `${BIN}/depcruise --config .dependency-cruiser.cjs backend frontend/src agents/node e2e && node --test --test-reporter=dot scripts/imports.test.mjs`,
  ],
  [
    'python-lint',
    `${VENV}/bin/ruff check twin fpga && ${VENV}/bin/ruff format --check twin fpga && ${VENV}/bin/mypy --config-file twin/pyproject.toml twin/src/orrery_twin`,
  ],
  [
    'cpp-format',
    "git ls-files -z 'agents/*.h' 'agents/*.cc' 'fpga/*.h' 'fpga/*.cc' | xargs -0 clang-format-14 --dry-run --Werror",
  ],
  ['scripts', 'node --test --test-reporter=dot scripts/claim.test.mjs scripts/stage.test.mjs'],
  ['unit', `${BIN}/vitest run`],
  ['nf-cores', 'meson test -C agents/build-asan --print-errorlogs'],
  ['engine', 'meson test -C agents/build --print-errorlogs'],
  ['rtl', `${VENV}/bin/python -m pytest fpga --ignore=fpga/board -q && ${VENV}/bin/python fpga/syn/run.py --check`],
  ['boards', `meson test -C fpga/build --print-errorlogs && ${VENV}/bin/python -m pytest fpga/board -q`],
  ['twin', `${VENV}/bin/python -m pytest twin -q`],
  ['e2e', 'npm run --silent test -w e2e'],
];

const HELP = `npm test [-- --only STAGE[,STAGE]] [--limit MINUTES] [--help]

Sets up like \`npm run demo\`, then runs every test. Stages: ${STAGES.map(([name]) => name).join(', ')}.
A stage that takes longer than the limit (25 minutes) is ended and has failed.`;

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      limit: { type: 'string', default: '25' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const only = values.only?.split(',');
  const unknown = only?.filter((name) => !STAGES.some(([stage]) => stage === name));
  const minutes = Number(values.limit);
  if (!(minutes > 0)) throw new SetupError(`--limit: ${values.limit} is not a number of minutes.\n\n${HELP}`);
  if (unknown?.length) throw new SetupError(`No such stage: ${unknown.join(', ')}.\n\n${HELP}`);

  if (process.getuid?.() !== 0) {
    throw new SetupError('The tests of the twin, the agent and the browser make network namespaces: run this as root.');
  }
  await setUp({ twin: true, test: true });
  const results = [];
  for (const stage of STAGES) if (!only || only.includes(stage[0])) results.push(await runStage(stage, minutes * 60));
  console.log('');
  for (const { name, ok, timedOut, seconds } of results)
    console.log(
      `${ok ? 'passed' : 'FAILED'}  ${name} (${seconds.toFixed(1)} s${timedOut ? ', over its time limit' : ''})`,
    );
  const failed = results.filter(({ ok }) => !ok).length;
  console.log(`stages: ${results.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

main().then(
  (code) => process.exit(code),
  (error) => {
    console.error(error instanceof SetupError ? `\n${error.message}` : error);
    process.exit(1);
  },
);
