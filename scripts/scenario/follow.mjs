import { onInterrupt } from '../interrupt.mjs';

const POLL_MS = 500;

/** Runs a scenario to its end and answers its report; each step is told on standard error when it is over. */
export async function runScenario(target, name, parameters = {}) {
  const { id } = await target.api('POST', `/scenarios/${name}/runs`, { parameters });
  onInterrupt(() => target.api('DELETE', `/scenario-runs/${id}`).catch(() => null));
  let told = -1;
  for (;;) {
    const run = await target.api('GET', `/scenario-runs/${id}`);
    for (const [index, { state, title, detail }] of run.steps.entries()) {
      if (index <= told || state === 'pending' || state === 'running') continue;
      process.stderr.write(`  ${state.padEnd(8)}${title}${detail ? `: ${detail}` : ''}\n`);
      told = index;
    }
    if (run.state !== 'running') return run;
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}
