import { fingerprint, isDone, unlessDone } from './fingerprint.mjs';
import { ROOT, VENV } from './paths.mjs';
import { run, step } from './progress.mjs';

/** The twin's environment. With `test`, also the packages for the tests; that environment serves both. */
export async function pythonEnvironment(test) {
  const products = ['.venv/bin/python'];
  const print = fingerprint(['twin/requirements*.txt', 'twin/pyproject.toml', 'fpga/requirements.txt']);
  if (!test && isDone('python-dev', print, products)) return;
  await unlessDone(test ? 'python-dev' : 'python', print, products, () =>
    step('Python environment', async (note) => {
      note('making it');
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
