import { Pace } from './pace.js';

/** Largest message of an agent: the state of an NF, which the server asked for. */
export const REPLY_BYTES = 16 * 1024 * 1024;
/** Largest message that no call asked for. */
export const REPORT_BYTES = 2 * 1024 * 1024;
/** Invalid messages of one connection before it is closed. */
export const MAX_INVALID = 10;

/** What one node may send: beyond it the server reads no faster, and drops events. Lasts longer than its connections. */
export class AgentPace {
  readonly bytes = new Pace(4 * 1024 * 1024, 32 * 1024 * 1024);
  readonly messages = new Pace(200, 2000);
  readonly events = new Pace(20, 500);
}
