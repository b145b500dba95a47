import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { run } from './command.mjs';
import { ROOT } from './paths.mjs';
import { SetupError, step } from './progress.mjs';

/** Whether a command is in a directory of programs, including those for root. */
function hasCommand(name) {
  const directories = [...(process.env.PATH ?? '').split(':').filter(Boolean), '/usr/local/sbin', '/usr/sbin', '/sbin'];
  return directories.some((directory) => existsSync(resolve(directory, name)));
}

/** Names of the packages in the given groups, except those replaced by a command that is already installed. */
export function packagesIn(groups) {
  return readFileSync(resolve(ROOT, 'scripts/debian-packages.txt'), 'utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter(Boolean)
    .map((line) => line.split(/\s+/))
    .filter(([, group, unless]) => groups.includes(group) && !(unless && hasCommand(unless.replace('unless:', ''))))
    .map(([name]) => name);
}

function missing(names) {
  const query = spawnSync('dpkg-query', ['-W', '-f', '$' + '{Package} $' + '{db:Status-Status}\n', ...names], {
    encoding: 'utf8',
  });
  if (query.error) {
    throw new SetupError(
      `This is not a Debian system (no dpkg-query). Install the equivalents of: ${names.join(', ')}.`,
    );
  }
  const installed = new Set();
  for (const line of query.stdout.split('\n')) {
    const [name, status] = line.split(' ');
    if (status === 'installed') installed.add(name);
  }
  return names.filter((name) => !installed.has(name));
}

/** Installs the missing packages of the groups. Does not start their services. Needs root only if one is missing. */
export async function debianPackages(groups) {
  const names = missing(packagesIn(groups));
  const isBroken = spawnSync('dpkg', ['--audit'], { encoding: 'utf8' }).stdout?.trim() !== '';
  if (names.length === 0 && !(isBroken && process.getuid?.() === 0)) return;
  if (process.getuid?.() !== 0) {
    throw new SetupError(
      `These Debian packages are missing and only root can install them: ${names.join(' ')}.\n` +
        `Run \`apt-get install --no-install-recommends ${names.join(' ')}\` as root, or this command as root.`,
    );
  }
  await step(`Debian packages (${names.length} missing)`, async (note) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', SYSTEMD_OFFLINE: '1', LC_ALL: 'C.UTF-8' };
    const lock = ['-o', 'DPkg::Lock::Timeout=600'];
    const whole = true;
    note('repairing an interrupted installation');
    await run('dpkg-configure', 'dpkg', ['--configure', '-a'], { env, whole });
    if (names.length === 0) return;
    note('reading lists');
    await run('apt-update', 'apt-get', [...lock, 'update'], { env });
    let done = 0;
    await run('apt-install', 'apt-get', [...lock, 'install', '-y', '--no-install-recommends', ...names], {
      env,
      whole,
      onLine: (line) => {
        const match = /^(Get:\d+|Unpacking|Setting up) (\S+)/.exec(line);
        if (match) note(`${match[1].startsWith('Get') ? 'downloading' : match[1].toLowerCase()}, ${++done}`);
      },
    });
    note('installed');
  });
  if (!existsSync('/usr/bin/redis-server'))
    throw new SetupError('redis-server is still missing after its installation.');
}
