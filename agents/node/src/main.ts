import { Agent } from './agent.js';
import { HELP, readOptions, UsageError } from './options.js';
import { log } from './platform/log.js';
import { SwitchAgent } from './switch/switch-agent.js';
import { readSwitches } from './switch/switch-config.js';
import { readSwitchOptions, SWITCH_HELP } from './switch/switch-options.js';

/** What this process runs, and what happens to it on exit. */
interface Service {
  start(): Promise<void> | void;
  stop(): Promise<unknown>;
  readonly started: string;
  readonly ending: string;
}

function serverAgent(args: string[]): Service | null {
  const options = readOptions(args, process.env);
  if (!options) return null;
  const agent = new Agent(options);
  return {
    start: () => agent.start(),
    stop: () => agent.stop(),
    started: `agent of ${options.node} (${options.origin})`,
    ending: `${options.on_exit === 'keep' ? 'leaves' : 'stops'} what it runs`,
  };
}

function switchAgents(args: string[]): Service | null {
  const options = readSwitchOptions(args, process.env);
  if (!options) return null;
  const agents = switchesOf(options.switches).map((one) => ({ node: one.node, agent: new SwitchAgent(options, one) }));
  return {
    start: () => {
      for (const { agent } of agents) agent.start();
    },
    stop: () => Promise.all(agents.map(({ agent }) => agent.stop())),
    started: `agent of ${agents.map(({ node }) => node).join(', ')} (${options.origin})`,
    ending: 'leaves the switches as they are',
  };
}

function switchesOf(path: string) {
  try {
    return readSwitches(path);
  } catch (error) {
    throw new UsageError(`--switches ${(error as Error).message}`);
  }
}

async function main([first = '', ...rest]: string[]): Promise<void> {
  const isSwitches = first === 'switches';
  const service = isSwitches ? switchAgents(rest) : serverAgent([first, ...rest].filter((arg) => arg !== ''));
  if (!service) {
    console.log(isSwitches ? SWITCH_HELP : HELP);
    return;
  }
  let stopping = false;
  const stop = (signal: string) => {
    if (stopping) return;
    stopping = true;
    log('info', `${signal}: ends, and ${service.ending}`);
    service.stop().then(
      () => process.exit(0),
      (error) => {
        log('error', String(error));
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  await service.start();
  log('info', `${service.started} runs, process ${process.pid}`);
}

main(process.argv.slice(2)).catch((error) => {
  if (error instanceof UsageError) console.error(`${error.message}\n\norrery-agent --help lists the flags.`);
  else log('error', error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exit(error instanceof UsageError ? 2 : 1);
});
