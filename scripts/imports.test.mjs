import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT } from './setup/paths.mjs';

const CONFIG = '.dependency-cruiser.cjs';
const PACKAGES = {
  contract: 'backend/contract',
  planner: 'backend/planner',
  server: 'backend/server',
  console: 'frontend',
  agent: 'agents/node',
  e2e: 'e2e',
};

const ONE_ENTRY = new Set(['contract', 'planner']);

/** [rule, file, its import]: each violates that rule. */
const WRONG = [
  ['no-cycles', 'backend/planner/src/return.ts', './turn.js'],
  ['no-folder-cycles-in-the-console', 'frontend/src/features/one/back/wrong.ts', '../forth/ok.js'],
  ['everything-resolves', 'agents/node/src/lost.ts', '@orrery/nowhere'],
  ['contract-imports-nothing-of-ours', 'backend/contract/src/wrong.ts', '@orrery/planner'],
  ['planner-imports-contract-only', 'backend/planner/src/wrong.ts', '@orrery/server/main'],
  ['planner-is-pure', 'backend/planner/src/reads.ts', 'node:fs'],
  ['planner-by-its-entry-only', 'backend/server/src/deep.ts', '../../planner/src/memo.js'],
  ['planner-by-its-entry-only', 'frontend/src/editor-model/deep.ts', '../../../backend/planner/dist/memo.js'],
  ['planner-by-its-entry-only', 'twin/tests/lab/deep.mjs', '../../../backend/planner/dist/memo.js'],
  ['planner-is-measured-by-its-entry', 'backend/planner/bench/deep.ts', '../src/memo.js'],
  ['server-imports-contract-and-planner', 'backend/server/src/wrong.ts', '@orrery/agent/agent'],
  ['server-imports-contract-and-planner', 'backend/server/src/near.ts', '../../../frontend/src/shared/ok.js'],
  ['server-modules-meet-through-ports', 'backend/server/src/modules/one/wrong.ts', '../two/ok.js'],
  ['ports-and-platform-know-no-module', 'backend/server/src/ports/wrong.ts', '../modules/two/ok.js'],
  ['ports-know-no-http', 'backend/server/src/ports/speaks.ts', '../platform/problem.js'],
  ['console-reaches-the-server-by-api-only', 'frontend/src/app/wrong.ts', '@orrery/server/main'],
  ['editor-model-imports-contract-and-planner', 'frontend/src/editor-model/wrong.ts', '../features/two/ok.js'],
  ['editor-model-without-react', 'frontend/src/editor-model/draws.ts', 'react'],
  ['pages-import-editor-model-and-shared', 'frontend/src/features/one/wrong.ts', '../two/ok.js'],
  ['pages-import-editor-model-and-shared', 'frontend/src/features/one/plans.ts', '@orrery/planner'],
  ['shared-knows-no-page', 'frontend/src/shared/wrong.ts', '../features/one/ok.js'],
  ['agent-imports-contract-only', 'agents/node/src/wrong.ts', '@orrery/planner'],
  ['agent-drivers-know-their-port-only', 'agents/node/src/drivers/one/wrong.ts', '../two/ok.js'],
  ['agent-drivers-know-their-port-only', 'agents/node/src/drivers/one/rules.ts', '../../reconcile/ok.js'],
  ['agent-driver-port-knows-no-driver', 'agents/node/src/drivers/wrong.ts', './two/ok.js'],
  ['e2e-uses-public-surfaces-only', 'e2e/walk/wrong.ts', '@orrery/planner'],
];

/** [file, its import]: allowed by the table. */
const RIGHT = [
  ['backend/planner/src/right.ts', '@orrery/contract'],
  ['backend/planner/bench/right.ts', '@orrery/planner'],
  ['backend/planner/bench/fixture.ts', '../src/testing/ok.js'],
  ['twin/tests/lab/right.mjs', '../../../backend/planner/dist/index.js'],
  ['backend/server/src/modules/one/right.ts', '@orrery/planner'],
  ['backend/server/src/modules/one/waits.ts', '../../ports/ok.js'],
  ['frontend/src/editor-model/right.ts', '@orrery/planner'],
  ['frontend/src/features/one/right.ts', '../../editor-model/ok.js'],
  ['frontend/src/shared/right.ts', '../editor-model/ok.js'],
  ['frontend/src/features/one/types.ts', '@orrery/contract'],
  ['frontend/src/app/right.ts', '../features/one/ok.js'],
  ['agents/node/src/drivers/one/right.ts', '../port.js'],
  ['agents/node/src/right.ts', '@orrery/contract'],
  ['e2e/walk/right.ts', '../../scripts/ok.mjs'],
];

/** Targets of the imports above. */
const TARGETS = [
  'backend/contract/dist/index.js',
  'backend/planner/dist/index.js',
  'backend/planner/dist/memo.js',
  'backend/planner/src/memo.ts',
  'backend/planner/src/testing/ok.ts',
  'backend/server/dist/main.js',
  'agents/node/dist/agent.js',
  'backend/server/src/modules/two/ok.ts',
  'backend/server/src/platform/problem.ts',
  'backend/server/src/ports/ok.ts',
  'frontend/src/editor-model/ok.ts',
  'frontend/src/features/one/ok.ts',
  'frontend/src/features/two/ok.ts',
  'frontend/src/shared/ok.ts',
  'agents/node/src/drivers/port.ts',
  'agents/node/src/drivers/two/ok.ts',
  'agents/node/src/reconcile/ok.ts',
  'node_modules/react/index.js',
  'scripts/ok.mjs',
];

let copy;
let violations;

/** A small copy of the repository: the real rules and links between packages, with files from the lists above. */
before(() => {
  copy = mkdtempSync(join(tmpdir(), 'orrery-imports-'));
  const write = (file, text) => {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    writeFileSync(join(copy, file), text);
  };
  for (const file of [CONFIG, 'tsconfig.base.json']) cpSync(join(ROOT, file), join(copy, file));
  mkdirSync(join(copy, 'node_modules/@orrery'), { recursive: true });
  for (const [name, folder] of Object.entries(PACKAGES)) {
    const exports = ONE_ENTRY.has(name) ? './dist/index.js' : { './*': './dist/*.js' };
    write(`${folder}/package.json`, JSON.stringify({ name: `@orrery/${name}`, type: 'module', exports }));
    symlinkSync(join(copy, folder), join(copy, 'node_modules/@orrery', name));
  }
  write('node_modules/react/package.json', '{"name":"react","version":"0.0.0","main":"index.js"}');
  for (const file of TARGETS) write(file, 'export const ok = 1;\n');
  write('backend/planner/src/turn.ts', "import './return.js';\n");
  write('frontend/src/features/one/forth/ok.ts', '');
  write('frontend/src/features/one/forth/wrong.ts', "import '../back/ok.js';\n");
  write('frontend/src/features/one/back/ok.ts', '');
  for (const [file, target] of [...WRONG.map((each) => each.slice(1)), ...RIGHT]) write(file, `import '${target}';\n`);

  const { stdout, stderr } = spawnSync(
    join(ROOT, 'node_modules/.bin/depcruise'),
    ['--config', CONFIG, '--output-type', 'json', 'backend', 'frontend/src', 'agents/node', 'e2e', 'twin/tests'],
    { cwd: copy, encoding: 'utf8' },
  );
  assert.notEqual(stdout, '', stderr);
  violations = JSON.parse(stdout).summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`);
});

after(() => rmSync(copy, { recursive: true, force: true }));

for (const [rule, file, target] of WRONG) {
  test(`${rule}: ${file} must not import ${target}`, () => {
    // A rule about folders names the folder.
    const named = [file, dirname(file)].map((place) => `${rule}: ${place}`);
    assert.ok(
      named.some((each) => violations.includes(each)),
      violations.join('\n'),
    );
  });
}

test('what the table allows is accepted', () => {
  for (const [file] of RIGHT)
    assert.deepEqual(
      violations.filter((each) => each.endsWith(`: ${file}`)),
      [],
    );
});

test('every rule is tested', () => {
  const { forbidden } = createRequire(import.meta.url)(join(ROOT, CONFIG));
  assert.deepEqual([...new Set(WRONG.map(([rule]) => rule))].sort(), forbidden.map(({ name }) => name).sort());
});
