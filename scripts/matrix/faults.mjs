import { setTimeout as sleep } from 'node:timers/promises';
import { startOf } from './parts.mjs';

const FREEZE_MS = 8000;

/**
 * What may happen to a part. `strike(part, bench)` makes it happen and resolves when it is over: `{ mustTell }`, whether
 * the product must tell within `HUNG_MS` that the part, or what it carries, is wrong. A kill or a drift need not be told: it
 * may be mended before. Whatever it breaks for longer must not be called running, like everything else (`lies`).
 */
export const FAULTS = {
  kill: {
    of: (part) => (part.at ? ['kill'] : []),
    async strike(part, bench) {
      process.kill(part.at(bench), 'SIGKILL');
      await part.restarts?.(bench);
      return { mustTell: false };
    },
  },
  freeze: {
    of: (part) => (part.at ? ['freeze'] : []),
    async strike(part, bench) {
      const pid = part.at(bench);
      const start = startOf(pid);
      process.kill(pid, 'SIGSTOP');
      await sleep(FREEZE_MS);
      // What supervises the part may have replaced it.
      if (startOf(pid) === start) process.kill(pid, 'SIGCONT');
      return { mustTell: true };
    },
  },
  drift: {
    of: (part) => Object.keys(part.drifts ?? {}),
    async strike(part, bench, name) {
      await part.drifts[name](bench);
      return { mustTell: false };
    },
  },
};
