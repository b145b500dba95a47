import type { Deployment, NfInstance } from '@orrery/contract';

/** State of an NF as it is shown: what runs in a chain that loses packets is not well, whatever its process says. */
export type ShownState = NfInstance['state'] | 'degraded';

/** `chain`: state of the deployment that the NF belongs to. */
export function shownState(state: NfInstance['state'], chain: Deployment['state'] | 'none' | undefined): ShownState {
  return state === 'running' && chain === 'degraded' ? 'degraded' : state;
}

/** Words for the state of an NF. */
export const SHOWN_WORDS: Partial<Record<ShownState, string>> = { degraded: 'runs, its chain is degraded' };
