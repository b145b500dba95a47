import { ROOT, VENV } from './setup/paths.mjs';

const BIN = `${ROOT}/node_modules/.bin`;

/** Lanes whose stages have normal priority. */
export const TIMED_LANES = ['twins', 'services'];

/**
 * The stages of `npm test`, each one command line that prints its own result, with the parts of the set-up that it
 * needs.
 *
 * Stages of a lane run one at a time, the lanes beside each other. In `TIMED_LANES` they judge by real time and
 * mostly wait; in the others they compute, with the lowest priority. Within a lane the longest come first, except those whose
 * parts are built late.
 */
export const STAGES = [
  { name: 'format', needs: ['npm'], command: `${BIN}/biome ci --error-on-warnings .` },
  {
    name: 'imports',
    needs: ['typescript'],
    command: `${BIN}/depcruise --config .dependency-cruiser.cjs backend frontend/src agents/node e2e twin/tests && node --test --test-reporter=dot scripts/bench.test.mjs scripts/imports.test.mjs scripts/typed-wire.test.mjs scripts/wall-clock.test.mjs`,
  },
  { name: 'types', needs: ['typescript'], command: `${BIN}/tsc -b tsconfig.test.json` },
  {
    name: 'scripts',
    needs: ['npm', 'debian'],
    command: 'node --test --test-reporter=dot scripts/*.test.mjs',
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
  { name: 'cpp-lint', needs: ['python'], command: 'node scripts/cpp-lint.mjs' },
  {
    name: 'unit',
    needs: ['typescript'],
    command: `${BIN}/vitest run --project contract --project planner --project console --project console-model`,
  },
  {
    name: 'rtl',
    lane: 'cores',
    needs: ['python', 'engine-tests', 'boards'],
    command: `${VENV}/bin/python -m pytest fpga --ignore=fpga/board -q && ${VENV}/bin/python fpga/syn/run.py --check`,
  },
  {
    name: 'nf-cores',
    lane: 'cores',
    needs: ['sanitized'],
    // Longer limits than on an idle machine: at the lowest priority these tests wait for those of other lanes.
    command: 'meson test -C agents/build-asan --no-rebuild --print-errorlogs --timeout-multiplier 5',
  },
  {
    name: 'linkd',
    lane: 'cores',
    needs: ['linkd-sanitized'],
    command: 'meson test -C twin/linkd/build-asan --no-rebuild --print-errorlogs --timeout-multiplier 5',
  },
  {
    name: 'flows',
    lane: 'cores',
    needs: ['flows-sanitized'],
    command: 'meson test -C twin/flows/build-asan --no-rebuild --print-errorlogs --timeout-multiplier 5',
  },
  {
    name: 'e2e',
    lane: 'twins',
    needs: ['typescript', 'python', 'engine', 'linkd', 'flows', 'p4-switch', 'boards'],
    command: 'npm run --silent test -w e2e',
  },
  {
    name: 'restarts',
    lane: 'services',
    needs: ['debian', 'typescript'],
    // Each of its tests restarts a server dozens of times.
    command: `${BIN}/vitest run --project server restart.test --testTimeout 600000`,
  },
  {
    name: 'services',
    lane: 'services',
    needs: ['typescript', 'python', 'engine', 'linkd', 'flows', 'p4-switch', 'boards'],
    command: `${BIN}/vitest run --maxWorkers 2 --project server --project agent --exclude '**/*-restart.test.ts'`,
  },
  {
    name: 'twin',
    lane: 'twins',
    needs: ['typescript', 'python', 'engine', 'linkd', 'flows', 'p4-switch', 'boards'],
    command: `${VENV}/bin/python -m pytest twin -q`,
  },
  {
    name: 'boards',
    lane: 'twins',
    needs: ['python', 'board-tests'],
    command: `meson test -C fpga/build --no-rebuild --print-errorlogs && ${VENV}/bin/python -m pytest fpga/board -q`,
  },
  {
    name: 'engine',
    lane: 'twins',
    needs: ['engine-tests'],
    command: 'meson test -C agents/build --no-rebuild --print-errorlogs',
  },
  {
    name: 'matrix',
    // It judges how long an outage takes: last, when little else runs.
    lane: 'services',
    needs: ['typescript', 'python', 'engine', 'linkd', 'flows', 'boards'],
    command: 'node scripts/matrix.mjs --selection --seed 1 --no-set-up',
  },
];
