import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { run } from './command.mjs';
import { fingerprint, isDone, unlessDone } from './fingerprint.mjs';
import { ROOT, VENV } from './paths.mjs';
import { step } from './progress.mjs';

/** Whether the environment's programs run this checkout's interpreter: in a copied or moved checkout they hold the other's path. */
export function runsHere(venv) {
  const pip = `${venv}/bin/pip`;
  return existsSync(pip) && readFileSync(pip, 'utf8').startsWith(`#!${venv}/bin/`);
}

/** Folder with the protocol files of P4Runtime, which come with a package of the environment. */
export function p4runtimeProtos() {
  const python = readdirSync(`${VENV}/lib`).find((name) => name.startsWith('python3'));
  return `${VENV}/lib/${python}/site-packages/finsy/proto`;
}

/** The twin's environment. With `test`, also the packages for the tests; that environment serves both. */
export async function pythonEnvironment(test) {
  const products = ['.venv/bin/python'];
  const sources = ['twin/requirements*.txt', 'twin/pyproject.toml', 'fpga/requirements.txt'];
  const printOf = (purpose) => fingerprint(sources, `${VENV} ${purpose}`);
  if (!test && isDone('python', printOf('test'), products)) return;
  await unlessDone('python', printOf(test ? 'test' : 'run'), products, ({ halfMade }) =>
    step('Python environment', async (note) => {
      note('making it');
      if (halfMade || !runsHere(VENV)) rmSync(VENV, { recursive: true, force: true });
      await run('venv', '/usr/bin/python3', ['-m', 'venv', '--system-site-packages', VENV]);
      note('installing packages');
      const requirements = test
        ? ['-r', 'twin/requirements-dev.txt', '-r', 'fpga/requirements.txt']
        : ['-r', 'twin/requirements.txt'];
      const install = ['install', '--disable-pip-version-check', '-q', ...requirements, '-e', 'twin'];
      await run('pip', `${VENV}/bin/pip`, install, { cwd: ROOT });
    }),
  );
}
