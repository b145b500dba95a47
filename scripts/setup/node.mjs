import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { run } from './command.mjs';
import { fingerprint, unlessDone } from './fingerprint.mjs';
import { ROOT } from './paths.mjs';
import { step } from './progress.mjs';

const BIN = resolve(ROOT, 'node_modules/.bin');

export async function npmPackages() {
  const manifests = [
    'package.json',
    'package-lock.json',
    'backend/*/package.json',
    'frontend/package.json',
    'agents/node/package.json',
    'e2e/package.json',
  ];
  const print = fingerprint(manifests, process.versions.modules);
  await unlessDone('npm', print, ['node_modules/.bin/tsc'], ({ halfMade }) =>
    step('npm packages', async () => {
      if (halfMade) removePackages();
      await run('npm-install', 'npm', ['install', '--no-save', '--no-audit', '--no-fund', '--include=dev'], {
        cwd: ROOT,
      });
    }),
  );
}

/** An interrupted npm leaves packages without some of their files, and the next one takes them for whole. */
function removePackages() {
  const manifests = execFileSync('git', ['ls-files', '--', 'package.json', '*/package.json'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const manifest of manifests.trim().split('\n'))
    rmSync(resolve(ROOT, dirname(manifest), 'node_modules'), { recursive: true, force: true });
}

/** Compiles server, planner and contract, then bundles agent and console side by side. */
export async function typeScript() {
  const print = fingerprint(['tsconfig*.json', 'backend', 'agents/node', 'frontend', 'package-lock.json']);
  const products = ['backend/server/dist/main.js', 'frontend/dist/index.html', 'agents/node/dist/agent.mjs'];
  await unlessDone('typescript', print, products, () =>
    step('Server, agent and console', async (note) => {
      note('compiling');
      await run('tsc', `${BIN}/tsc`, ['-b'], { cwd: ROOT });
      note('bundling');
      await Promise.all([
        run('agent-bundle', 'npm', ['run', 'bundle', '-w', 'agents/node'], { cwd: ROOT }),
        run('console-bundle', 'npm', ['run', 'build', '-w', 'frontend'], { cwd: ROOT }),
      ]);
    }),
  );
}
