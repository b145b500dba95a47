import { Agent } from './agent.js';
import { HELP, readOptions, UsageError } from './options.js';
import { log } from './platform/log.js';

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), process.env);
  if (!options) {
    console.log(HELP);
    return;
  }
  const agent = new Agent(options);
  let stopping = false;
  const stop = (signal: string) => {
    if (stopping) return;
    stopping = true;
    log('info', `${signal}: ends, and ${options.on_exit === 'keep' ? 'leaves' : 'stops'} what it runs`);
    agent.stop().then(
      () => process.exit(0),
      (error) => {
        log('error', String(error));
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  await agent.start();
  log('info', `agent of ${options.node} (${options.origin}) runs, process ${process.pid}`);
}

main().catch((error) => {
  if (error instanceof UsageError) console.error(`${error.message}\n\norrery-agent --help lists the flags.`);
  else log('error', error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exit(error instanceof UsageError ? 2 : 1);
});
