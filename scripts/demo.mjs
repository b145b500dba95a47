import { createServer } from 'node:net';
import { readCommandLine, runCommand, UsageError } from './command-line.mjs';
import {
  boardsUp,
  bringUpRack,
  declareApplications,
  deploy,
  judgedSlos,
  loadChains,
  packetsPerInstance,
} from './demo-chains.mjs';
import { isInterrupted, onInterrupt } from './interrupt.mjs';
import { browserProgram, everyPage } from './pages.mjs';
import { setUp } from './setup/main.mjs';
import { SetupError, step } from './setup/progress.mjs';
import { Stack } from './stack.mjs';

const HELP = `npm run demo [-- OPTIONS]

Installs and builds what is missing, starts Orrery with its twin, deploys the demo chains and sends traffic through them.

  --no-twin     the console with planning only; needs no root
  --check       start everything, wait for packets, met SLOs and every page in a browser, print one JSON line, stop everything
  --empty       do not load the demo chains and applications
  --port N      port of the console on 127.0.0.1 (default 8080; 0 chooses a free one)
  --help        this text`;

function options() {
  const config = {
    'no-twin': { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    empty: { type: 'boolean', default: false },
    port: { type: 'string', default: process.env.ORRERY_PORT ?? '8080' },
    help: { type: 'boolean', default: false },
  };
  const { values } = readCommandLine({ options: config }, HELP);
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw new UsageError(`--port: ${values.port} is not a port number\n\n${HELP}`);
  return { ...values, port };
}

/** The port, or a free one for 0. Throws if it is in use. */
function choosePort(port) {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) =>
      reject(
        new SetupError(
          `Port ${port} of 127.0.0.1 cannot be used (${error.code}): choose another with \`-- --port N\`.`,
        ),
      ),
    );
    probe.listen(port, '127.0.0.1', () => {
      const { port: got } = probe.address();
      probe.close(() => resolve(got));
    });
  });
}

async function main() {
  const { 'no-twin': noTwin, check, empty, port: wantedPort, help } = options();
  if (help) {
    console.log(HELP);
    return 0;
  }
  const twin = !noTwin;
  if (twin && process.getuid?.() !== 0) {
    throw new SetupError(
      'The twin creates network namespaces, which needs root: run this as root, or `npm run demo -- --no-twin` for the console with planning.',
    );
  }
  const seconds = {};
  const timed = async (name, title, work) => {
    const start = performance.now();
    const result = await step(title, work);
    seconds[name] = Math.round(performance.now() - start) / 1000;
    return result;
  };

  const stack = new Stack({ purpose: check ? 'check' : 'demo', twin });
  await stack.claim();
  onInterrupt(() => stack.stop());

  try {
    const begin = performance.now();
    if (!check && wantedPort !== 0) await choosePort(wantedPort);
    const { later } = await setUp(twin ? 'demo' : 'planning', { browser: check });
    const browser = check ? browserProgram() : null;
    seconds.setup = Math.round(performance.now() - begin) / 1000;
    stack.port = await choosePort(check ? 0 : wantedPort);
    await timed('server', 'Server and store', () => stack.start());
    await timed('twin', twin ? 'Twin: switch, servers, hosts, agents' : 'Infrastructure to plan on', () =>
      bringUpRack(stack),
    );
    let report = {};
    if (!empty) {
      const chains = await timed('chains', 'Demo chains', () => loadChains(stack));
      if (twin) {
        await timed('deploy', 'Deployment', () => deploy(stack, chains));
        await timed('applications', 'Applications', () => declareApplications(stack));
        if (check) {
          const packets = await timed('packets', 'Packets through every NF', () => packetsPerInstance(stack));
          const slos = await timed('slos', 'SLOs measured and met', () => judgedSlos(stack));
          report = {
            packets,
            slos: slos.map(({ chain_id, slo_id, target, predicted, measured, unit, state }) => ({
              chain_id,
              slo_id,
              target,
              predicted,
              measured,
              unit,
              state,
            })),
          };
        }
      }
    }
    if (check) {
      await timed('boards', 'FPGA boards', async () => {
        await later;
        if (twin) await boardsUp(stack);
      });
      const pages = await timed('pages', 'Every page', () => everyPage(stack, browser));
      await timed('down', 'Taking everything down', () => stack.stop());
      const leftovers = await stack.leftovers();
      const unmet = (report.slos ?? []).filter(({ state }) => state !== 'met');
      const ok = leftovers.length === 0 && unmet.length === 0;
      const failed = unmet.map(({ chain_id, slo_id, state }) => `SLO ${slo_id} of ${chain_id} is ${state}`);
      console.log(
        JSON.stringify({ ok, twin, seconds, ...report, pages, leftovers, failed: failed.join('; ') || null }),
      );
      return ok ? 0 : 1;
    }
    console.log(
      `\n  Orrery        ${stack.url}\n  First-run admin secret   ${stack.secret}\n\n  Ctrl-C takes everything down.`,
    );
    later.catch((error) => {
      if (!isInterrupted()) console.error(`\nFPGA boards or the built-in P4 switch are missing: ${error.message}`);
    });
    const code = await stack.exited;
    throw new SetupError(
      `The server ended with ${code}, and the twin with it; its log is ${stack.logFile}.\nDeployments are kept: \`npm run demo\` starts them again.`,
    );
  } catch (error) {
    if (isInterrupted()) throw error;
    await stack.stop({ keepState: true });
    if (check) console.error(`\nIts logs: ${stack.logFile} and ${stack.stateDir}`);
    if (check) console.log(JSON.stringify({ ok: false, twin, seconds, failed: error.message }));
    throw error;
  }
}

await runCommand(main);
