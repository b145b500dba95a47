import { SWITCH_DRIVER_TITLES, type SwitchNode, type SwitchState } from '@orrery/contract';
import { countText } from '../format/number.js';
import type { Status } from '../ui/status-badge.js';

/** State of a switch: as last reported, while its agent is connected. */
export function switchHealth({ connected, description, changing, lost, observed }: SwitchState): {
  status: Status;
  text: string;
} {
  if (lost) return { status: 'failed', text: 'lost' };
  if (!description) return { status: 'idle', text: 'never connected' };
  if (!connected)
    return { status: 'failed', text: changing === undefined ? 'disconnected' : 'disconnected, changing driver' };
  if (changing !== undefined) return { status: 'working', text: 'changing driver' };
  if (observed?.state === 'failed') return { status: 'failed', text: 'failed' };
  if (observed?.state === 'progressing') return { status: 'working', text: 'updating' };
  return observed ? { status: 'healthy', text: 'in sync' } : { status: 'stale', text: 'no report' };
}

/** What is done about a switch that is lost. */
export const AROUND_LOST = 'packets go around it where another way leads';

/** Whether what the agent last reported is about the switch as it is now. */
export const isReportCurrent = ({ connected, observed }: SwitchState): boolean =>
  connected && observed !== null && observed.state !== 'failed';

/** Whether the switch holds all that it is to hold, as its agent last reported. */
export const hasReached = ({ planned, observed }: SwitchState): boolean =>
  observed?.state === 'converged' && observed.generation === planned?.generation;

/** `42 of 42`: installed entries of the planned ones. */
export function installedText({ planned, observed }: SwitchState): string {
  const installed = countText(observed?.entries);
  return planned ? `${installed} of ${countText(planned.entries)}` : installed;
}

/** Share of the switch's capacity that the planned entries use; null: nothing planned. */
export const usedShare = ({ planned }: SwitchState): number | null =>
  planned && planned.available > 0 ? planned.entries / planned.available : null;

export const DRIVER_TITLES: Readonly<Record<SwitchNode['driver'], string>> = SWITCH_DRIVER_TITLES;
