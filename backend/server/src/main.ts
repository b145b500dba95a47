import { join } from 'node:path';
import { type Config, ConfigError, configFrom, HELP } from './platform/config.js';
import { makeLog } from './platform/log.js';

async function main(): Promise<void> {
  const [argument] = process.argv.slice(2);
  const config = configFrom(process.env);
  if (argument === '--help' || argument === '-h') return void console.log(HELP);
  if (argument === '--version') return void console.log(config.version);
  if (argument === '--new-secret') return newSecret(config);
  if (argument !== undefined) throw new ConfigError(`${argument} is not an option; see --help`);

  const log = makeLog(config.logLevel);
  process.on('unhandledRejection', (error) => log.error({ error }, 'unhandled rejection'));
  // Before anything starts that would outlive this process; a signal during start-up waits until it is complete.
  const signal = new Promise<NodeJS.Signals>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, resolve);
  });
  // Imported late because the framework takes a second to load.
  const { startServer } = await import('./server.js');
  const server = await startServer(config, log);
  // Not into logs, to which standard output may go.
  if (server.firstRunSecret)
    console.log(
      process.stdout.isTTY
        ? `first-run admin secret: ${server.firstRunSecret}`
        : `first-run admin secret: in ${join(config.stateDir, 'admin-secret')}`,
    );
  console.log(`listening at ${server.url}`);

  log.info({ signal: await signal }, 'stopping');
  try {
    await server.close();
  } catch (error) {
    log.error({ error }, 'could not stop cleanly');
    process.exit(1);
  }
  process.exit(0);
}

/** Replaces the admin secret and ends every session, of a server that is stopped. */
async function newSecret(config: Config): Promise<void> {
  const { Store } = await import('./platform/redis.js');
  const { claimRunDir } = await import('./platform/run-dir.js');
  const { renewAdminSecret } = await import('./modules/sessions/admin-secret.js');
  await claimRunDir(config.runDir);
  const store = await Store.open(config, makeLog(config.logLevel));
  try {
    await renewAdminSecret(store, config.stateDir);
    console.log(`a new admin secret is in ${join(config.stateDir, 'admin-secret')}; every session has ended`);
  } finally {
    await store.close();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof ConfigError ? `orrery-server: ${error.message}` : error);
  process.exit(error instanceof ConfigError ? 2 : 1);
});
