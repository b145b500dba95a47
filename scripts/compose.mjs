import { spawnSync } from 'node:child_process';
import { freePort } from './bench/measure.mjs';
import { Client } from './client.mjs';
import { readCommandLine, runCommand } from './command-line.mjs';
import { packetsPerInstance } from './demo-chains.mjs';
import { isInterrupted, onInterrupt } from './interrupt.mjs';
import { browserProgram } from './pages.mjs';
import { endCommands, run } from './setup/command.mjs';
import { setUp } from './setup/main.mjs';
import { ROOT } from './setup/paths.mjs';
import { SetupError, step } from './setup/progress.mjs';

const WALKS = 'walk/walk.spec.ts,walk/containers.spec.ts,walk/images.spec.ts';

const HELP = `npm run test:compose [-- OPTIONS]

Builds the images of docker-compose.yml, brings the demo up with them beside whatever else runs, waits for packets, draws a chain in
a browser and follows its packets, brings it down and up again, takes it down and looks for what is left. Prints one JSON line.
Needs Docker, its plugin compose (v2.20 or newer) and a Chromium; ends with 2 if one is missing. Images are kept.

  --walks FILES   specs of e2e to run against it, separated by "," (default ${WALKS})
  --help          this text`;

const PROJECT = 'orrery-test-compose';
const LABEL = `label=com.docker.compose.project=${PROJECT}`;
const OLDEST_COMPOSE = [2, 20];
const UP_LIMIT_S = 900;
const CANNOT_RUN = 2;

/** What this machine lacks, in words for the user; null if nothing. */
function missing() {
  const ask = (...args) => spawnSync('docker', args, { encoding: 'utf8' });
  const client = ask('--version');
  if (client.error) return 'There is no Docker here: the command `docker` cannot be run.';
  const compose = ask('compose', 'version', '--short');
  if (compose.status !== 0) return "Docker's plugin compose (v2) is missing: `docker compose version` fails.";
  const [major, minor] = compose.stdout.trim().replace(/^v/, '').split('.').map(Number);
  if (major < OLDEST_COMPOSE[0] || (major === OLDEST_COMPOSE[0] && minor < OLDEST_COMPOSE[1]))
    return `Docker's plugin compose is ${compose.stdout.trim()}; ${OLDEST_COMPOSE.join('.')} or newer is needed.`;
  const engine = ask('version', '--format', '{{.Server.Version}}');
  if (engine.status !== 0) return `No Docker engine answers: ${engine.stderr.trim()}`;
  try {
    browserProgram();
  } catch (error) {
    return error.message;
  }
  return null;
}

/** Everything that carries the label of this project, by kind and name. */
function remains() {
  const list = (kind, ...args) =>
    spawnSync('docker', [...args, '--filter', LABEL], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter(Boolean)
      .map((name) => `${kind} ${name}`);
  return [
    ...list('container', 'ps', '--all', '--format', '{{.Names}}'),
    ...list('network', 'network', 'ls', '--format', '{{.Name}}'),
    ...list('volume', 'volume', 'ls', '--format', '{{.Name}}'),
  ];
}

class Composed {
  constructor(port) {
    this.port = port;
    this.env = { ...process.env, ORRERY_PORT: String(port) };
  }

  /** It is asked to end, never killed: half of a change would be left. */
  run(args, onLine) {
    const command = ['compose', '--project-name', PROJECT, ...args];
    return run(`compose-${args[0]}`, 'docker', command, { cwd: ROOT, env: this.env, whole: true, onLine });
  }

  async up(title) {
    await step(title, () => this.run(['up', '--build', '--detach', '--wait', '--wait-timeout', String(UP_LIMIT_S)]));
  }

  async down(...args) {
    await step('Down', () => this.run(['down', '--timeout', '30', ...args]));
  }

  /** After an interrupt, when no command is started any more. */
  async abandon() {
    await endCommands();
    const command = ['compose', '--project-name', PROJECT, 'down', '--timeout', '5', '--volumes'];
    spawnSync('docker', command, { cwd: ROOT, env: this.env, stdio: 'ignore' });
    const left = remains();
    if (left.length > 0) throw new SetupError(`Left behind: ${left.join(', ')}`);
  }

  /** As a user finds it. */
  async secret() {
    const said = await this.run(['logs', '--no-log-prefix', 'demo']);
    const secret = /First-run admin secret\s+(\S+)/.exec(said)?.[1];
    if (!secret) throw new SetupError(`The log of the service demo has no secret:\n${said}`);
    return secret;
  }

  async client() {
    const client = new Client(`http://127.0.0.1:${this.port}`);
    await client.signIn(await this.secret());
    return client;
  }
}

/** Waits for counters of every NF beyond those that are known; returns the new ones. */
async function packetsMove(client) {
  const before = await packetsPerInstance(client);
  const deadline = Date.now() + 60_000;
  for (;;) {
    const now = await packetsPerInstance(client);
    const still = Object.keys(before).filter((id) => !(now[id] > before[id]));
    if (still.length === 0) return now;
    if (Date.now() > deadline) throw new SetupError(`No packets within a minute at ${still.join(', ')}.`);
    await new Promise((done) => setTimeout(done, 500));
  }
}

/** The walks want a rack without chains and applications. */
async function clear(client) {
  for (const { id } of (await client.api('GET', '/applications')).items)
    await client.api('DELETE', `/applications/${id}`);
  for (const { id, deployment_state: state } of (await client.api('GET', '/chains')).items) {
    if (state !== 'none') await client.operation((await client.api('DELETE', `/deployments/${id}`)).id);
    await client.api('DELETE', `/chains/${id}`);
  }
}

async function walk(composed, specs) {
  const env = { ...process.env, E2E_URL: `http://127.0.0.1:${composed.port}`, E2E_SECRET: await composed.secret() };
  await run('compose-walk', 'npx', ['playwright', 'test', ...specs], { cwd: `${ROOT}/e2e`, env });
}

async function main() {
  const { values } = readCommandLine(
    {
      options: {
        walks: { type: 'string', default: WALKS },
        help: { type: 'boolean', default: false },
      },
    },
    HELP,
  );
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const lack = missing();
  if (lack) {
    console.error(`npm run test:compose cannot run here. ${lack}`);
    return CANNOT_RUN;
  }
  await setUp('compose');
  const composed = new Composed(await freePort());
  onInterrupt(() => composed.abandon());
  const seconds = {};
  const timed = async (name, work) => {
    const start = performance.now();
    const result = await work();
    seconds[name] = Math.round((performance.now() - start) / 100) / 10;
    return result;
  };
  let packets = {};
  try {
    await composed.down('--volumes', '--remove-orphans');
    await timed('build', () => step('Images', (note) => composed.run(['build'], (line) => note(line.slice(0, 100)))));
    await timed('first_up', () => composed.up('First start, until packets have crossed every NF'));
    packets = await step('Packets move', async () => packetsMove(await composed.client()));
    await composed.down();
    await timed('second_up', () => composed.up('Second start'));
    await step('Packets move again', async () => packetsMove(await composed.client()));
    await step('A chain drawn in a browser', async () => {
      await clear(await composed.client());
      await timed('walk', () => walk(composed, values.walks.split(',').filter(Boolean)));
    });
    await composed.down('--volumes');
    const leftovers = remains();
    console.log(JSON.stringify({ ok: leftovers.length === 0, seconds, packets, leftovers }));
    return leftovers.length === 0 ? 0 : 1;
  } catch (error) {
    if (isInterrupted()) throw error;
    await composed.run(['logs', '--no-color']).catch(() => undefined);
    await composed.down('--volumes').catch(() => undefined);
    console.log(JSON.stringify({ ok: false, seconds, packets, failed: error.message }));
    throw error;
  }
}

await runCommand(main);
