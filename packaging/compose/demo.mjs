import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, until } from '../../scripts/client.mjs';
import { runCommand } from '../../scripts/command-line.mjs';
import {
  bringUpRack,
  declareApplications,
  deploy,
  loadChains,
  packetsPerInstance,
} from '../../scripts/demo-chains.mjs';
import { SetupError, step } from '../../scripts/setup/progress.mjs';

/**
 * Loads the demo into the server of docker-compose.yml as `npm run demo` does, once. It stays afterwards, since its health is how
 * Docker tells that packets have crossed every NF: `docker compose up --wait` ends then.
 */

const SERVER = process.env.ORRERY_URL ?? 'http://server:8080';
const CONSOLE = process.env.ORRERY_CONSOLE_URL ?? 'http://localhost:8080';
const SECRET_FILE = process.env.ORRERY_SECRET_FILE ?? '/var/lib/orrery/admin-secret';
/** The health check looks for it. */
const LOADED_FILE = '/tmp/loaded';
const A_DAY_MS = 86_400_000;
/** What an agent says of its Docker until it has tried it, which takes some seconds. */
const UNTRIED = 'has not been probed yet';
const TRIED_WITHIN_MS = 30_000;

async function signIn(client) {
  await until('start of the server', async () => ((await fetch(`${SERVER}/healthz`)).ok ? true : null));
  if (!existsSync(SECRET_FILE)) throw new SetupError(`There is no admin secret in ${SECRET_FILE}.`);
  const secret = readFileSync(SECRET_FILE, 'utf8').trim();
  await client.signIn(secret).catch((error) => {
    throw new SetupError(
      `The server refuses the secret in ${SECRET_FILE} (${error.message}): the volumes \`state\` and \`store\` are not of one start. \`docker compose down --volumes\` begins anew.`,
    );
  });
  return secret;
}

/** Fails with what the twin says, which is what the user has to act on. */
async function bringUp(client) {
  await bringUpRack(client).catch(async (error) => {
    const { daemon, detail, state } = await client.api('GET', '/twin');
    throw new SetupError(
      `${error.message}\nThe twin is ${state?.phase ?? daemon}: ${state?.error ?? detail ?? 'no reason given'}`,
    );
  });
}

/** What this machine or its Docker lacks, with what replaces it. */
async function tellLacks(client) {
  const found = async () => (await client.api('GET', '/capabilities')).items;
  const tried = async () => {
    const items = await found();
    return items.some(({ detail }) => detail.includes(UNTRIED)) ? null : items;
  };
  const items = await until('a look for Docker', tried, { timeoutMs: TRIED_WITHIN_MS }).catch(found);
  const lacks = items.filter(({ available, fallback }) => !available && fallback);
  const lines = lacks.map(({ title, detail, fallback }) => `  ${title}: ${detail}; instead: ${fallback}`);
  // What several servers of the twin lack is told once.
  console.log(['What this machine lacks (Capabilities in the console):', ...new Set(lines)].join('\n'));
}

async function main() {
  process.on('SIGTERM', () => process.exit(0));
  const client = new Client(SERVER);
  client.twin = process.env.ORRERY_TWIN !== 'off';
  const secret = await signIn(client);
  console.log(`\n  Orrery        ${CONSOLE}\n  First-run admin secret   ${secret}\n`);
  // Where a step fails, it may be for want of something.
  await load(client).finally(() =>
    tellLacks(client).catch((error) => console.log(`What this machine lacks is not known: ${error.message}`)),
  );
  writeFileSync(LOADED_FILE, '');
  for (;;) await sleep(A_DAY_MS);
}

async function load(client) {
  const rack = client.twin ? 'Twin: switch, servers, hosts, agents' : 'Infrastructure to plan on';
  await step(rack, () => bringUp(client));
  const chains = await step('Demo chains', () => loadChains(client));
  if (!client.twin) return;
  await step('Deployment', () => deploy(client, chains));
  await step('Applications', () => declareApplications(client));
  await step('Packets through every NF', () => packetsPerInstance(client));
}

await runCommand(main);
