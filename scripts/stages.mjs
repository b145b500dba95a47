import { ROOT, VENV } from './setup/paths.mjs';

const BIN = `${ROOT}/node_modules/.bin`;

/**
 * The stages of `npm test`, each one command line that prints its own result, with the parts of the set-up that it
 * needs.
 *
 * `timed` stages measure or wait for real time: one runs at a time. The others run beside them, also one at a time, at
 * low priority. Within a lane the longest come first, except those whose parts are built late.
 */
export const STAGES = [
  { name: 'format', needs: ['npm'], command: `${BIN}/biome ci --error-on-warnings .` },
  {
    name: 'imports',
    needs: ['typescript'],
    command: `${BIN}/depcruise --config .dependency-cruiser.cjs backend frontend/src agents/node e2e && node --test --test-reporter=dot scripts/imports.test.mjs scripts/typed-wire.test.mjs`,
  },
  { name: 'types', needs: ['typescript'], command: `${BIN}/tsc -b tsconfig.test.json` },
  {
    name: 'scripts',
    needs: ['npm'],
    command:
      'node --test --test-reporter=dot scripts/claim.test.mjs scripts/component-size.test.mjs scripts/cpp-lint.test.mjs scripts/scenario.test.mjs scripts/stage.test.mjs scripts/task-graph.test.mjs',
  },
  {
    name: 'python-lint',
    needs: ['python'],
    command: `${VENV}/bin/ruff check twin fpga && ${VENV}/bin/ruff format --check twin fpga && ${VENV}/bin/mypy --config-file twin/pyproject.toml twin/src/orrery_twin`,
  },
  {
    name: 'cpp-format',
    needs: ['debian'],
    command:
      "git ls-files -z 'agents/*.h' 'agents/*.cc' 'fpga/*.h' 'fpga/*.cc' 'twin/*.h' 'twin/*.cc' | xargs -0 clang-format-14 --dry-run --Werror",
  },
  { name: 'cpp-lint', needs: ['debian'], command: 'node scripts/cpp-lint.mjs' },
  {
    name: 'unit',
    needs: ['typescript'],
    command: `${BIN}/vitest run --project contract --project planner --project console --project console-model`,
  },
  {
    name: 'rtl',
    needs: ['python', 'engine-tests', 'boards'],
    command: `${VENV}/bin/python -m pytest fpga --ignore=fpga/board -q && ${VENV}/bin/python fpga/syn/run.py --check`,
  },
  {
    name: 'nf-cores',
    needs: ['sanitized'],
    command: 'meson test -C agents/build-asan --no-rebuild --print-errorlogs',
  },
  {
    name: 'linkd',
    needs: ['linkd-sanitized'],
    command: 'meson test -C twin/linkd/build-asan --no-rebuild --print-errorlogs',
  },
  {
    name: 'restarts',
    needs: ['debian', 'typescript'],
    command: `${BIN}/vitest run --project server restart.test`,
  },
  {
    name: 'e2e',
    timed: true,
    needs: ['typescript', 'python', 'engine', 'linkd', 'boards'],
    command: 'npm run --silent test -w e2e',
  },
  {
    name: 'services',
    timed: true,
    needs: ['typescript', 'python', 'engine', 'linkd', 'boards'],
    command: `${BIN}/vitest run --project server --project agent --exclude '**/*-restart.test.ts'`,
  },
  {
    name: 'twin',
    timed: true,
    needs: ['typescript', 'python', 'engine', 'linkd', 'boards'],
    command: `${VENV}/bin/python -m pytest twin -q`,
  },
  {
    name: 'boards',
    timed: true,
    needs: ['python', 'board-tests'],
    command: `meson test -C fpga/build --no-rebuild --print-errorlogs && ${VENV}/bin/python -m pytest fpga/board -q`,
  },
  {
    name: 'engine',
    timed: true,
    needs: ['engine-tests'],
    command: 'meson test -C agents/build --no-rebuild --print-errorlogs',
  },
];
